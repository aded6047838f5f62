"""Targets of `binarrow sync` that each version has written: the current code continues, and they equal SELECT.

`tests/fixtures/stored/README.md` describes them. The servers have changed since, and some statements are executed
after the recorded log.
"""

from __future__ import annotations

import fnmatch
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import binarrow
from support.archives import unpack
from support.servers.s3 import S3
from support.stored.rows import check_rows, check_versions_once
from support.stored.servers import STORED, RecordedServers
from support.stored.target import ROOT, Target, read_description, reserved, stored_position
from support.sync_source import SECRET, Source

ARCHIVES = sorted(STORED.glob("*/sync/*.tar.xz"))


@dataclass
class Stored:
    """A target of `binarrow sync`, and its recorded server."""

    target: Target
    source: Source

    def sync(self, **keywords: Any) -> binarrow.SyncSummary:
        """Continues to the end of the log, with the tables that the target had."""
        return self.source.sync(
            mode=self.target.mode,
            exclude_tables=self.target.exclude_tables or None,
            on_table_error="park",
            locks="brief",  # after an XA COMMIT, positions of snapshots are not exact without it
            **keywords,
        )

    def with_status(self, *statuses: str) -> set[str]:
        """Returns the tables that had a status at the end of the stored sync."""
        return {name for name, status in self.target.statuses.items() if status in statuses}

    def followed(self) -> list[str]:
        """Returns the tables of the server that are to equal SELECT now."""
        tables = {f"shop.{name}" for (name,) in self.source.server.query("SHOW TABLES FROM shop")}
        return sorted(tables - {*self.target.exclude_tables} - self.with_status("parked"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of the target, at the place at which it was written."""
    with reserved(tmp_path):
        yield ROOT


@pytest.fixture(params=ARCHIVES, ids=lambda path: f"{path.parts[-3]}-{path.name.partition('.')[0]}")
def stored(
    request: pytest.FixtureRequest,
    folder: Path,
    tmp_path: Path,
    recorded_servers: RecordedServers,
    monkeypatch: pytest.MonkeyPatch,
) -> Stored:
    archive: Path = request.param
    name = archive.name.partition(".")[0]
    unpack(archive, folder / name)
    target = read_description(folder / name)
    server = recorded_servers.of(archive.parents[1], target.server)
    target.use_catalog(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store: S3 | None = None
    if target.kind == "delta+s3":
        store = request.getfixturevalue("s3")
        store.use(monkeypatch)
        target.upload(store)
    password = tmp_path / "password"
    password.write_text(SECRET)
    password.chmod(0o600)
    return Stored(target, target.source(server, password, store))


def test_continues(stored: Stored) -> None:
    """Each change is applied once, loads and repairs continue, and tables stay parked until they are loaded again."""
    source, target = stored.source, stored.target
    position = stored_position(target)
    check_stored(target, position)
    parked = stored.with_status("parked")
    before = {table: source.read(table) for table in parked}
    progress = binarrow.SyncProgress()
    summary = stored.sync(progress=progress)
    check_rows(source, target.mode, *stored.followed())
    reasons = {".".join(name): one.reason for name, one in summary.tables.items() if one.reason}
    assert reasons == {table: target.reasons[table] for table in parked}
    assert {table: source.read(table) for table in parked} == before
    if (target.mode, target.moment) == ("scd2", "transaction"):
        check_versions_once(source, *stored.followed())
    if target.moment == "loading":
        check_load(stored, position, progress)
    check_repairs(stored, summary)
    if target.moment == "loading":
        summary = stored.sync(reload=[*parked])
        assert {one.status for one in summary.tables.values()} <= {"followed", "dropped"}
        check_rows(source, target.mode, *parked)


def check_stored(target: Target, position: dict[str, Any]) -> None:
    """The target is in the middle of its work: the following checks prove nothing otherwise."""
    if target.moment == "first-load":
        assert "incomplete" in target.statuses.values()
        return
    assert position["prepared"], "no XA transaction is prepared"
    if target.moment == "transaction":
        assert any("changes" in one for one in position["ahead"]), "no transaction is divided"
        names = {path.name for path in target.folder.rglob("*")}
        pattern = {"duckdb": "copy.duckdb", "parquet": ".part-*"}.get(target.kind, "commit-*")
        assert fnmatch.filter(names, pattern), "the last commit is complete"


def check_load(stored: Stored, position: dict[str, Any], progress: binarrow.SyncProgress) -> None:
    """Only the rows of `shops` that the position does not contain were read."""
    [table] = [one for one in position["load"]["tables"] if one["table"] == "shops"]
    last = int(bytes.fromhex(table["after"]["values"][0]))
    [(rest,)] = stored.source.server.query(f"SELECT COUNT(*) FROM shop.shops WHERE id > {last}")
    assert last > 0
    assert progress.stats().tables["shop", "shops"].loaded == rest


def check_repairs(stored: Stored, summary: binarrow.SyncSummary) -> None:
    """Keys of `visits` are compared, and the rows of `staff` are read again."""
    if "shop.visits" in stored.with_status("incomplete"):
        visits, staff = summary.of(("shop", "visits")), summary.of(("shop", "staff"))
        assert (visits.loads, visits.comparisons > 0, staff.loads > 0) == (0, True, True)
