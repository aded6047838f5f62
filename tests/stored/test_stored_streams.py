"""State of programs that read servers, stored by each version: the current code continues, and the rows equal SELECT.

`tests/fixtures/stored/README.md` describes them. Most servers have changed since, and the positions `failover` are of
a server that does not exist any more.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import binarrow
from binarrow import FileCheckpoint, Position
from binarrow.server.certificate_check import Certificate, check_server
from support.archives import unpack
from support.oracles.compare import assert_same_tables
from support.oracles.oracle import select
from support.oracles.replay import replay
from support.servers.servers import Server
from support.stored import streams
from support.stored.consumer import READ, Consumer, check_loaded, connected
from support.stored.orders import TABLES
from support.stored.servers import STORED, RecordedServers

ARCHIVES = sorted(STORED.glob("*/streams/[!s]*.tar.xz"))  # neither servers nor Spark's
ALL = [f"shop.{table}" for table in TABLES]


@dataclass
class Stored:
    """The files that programs have stored, and their recorded server."""

    folder: Path
    server: Server

    def consumer(self, name: str) -> Consumer:
        return Consumer(self.folder / name)


def name_of(archive: Path) -> str:
    return archive.name.removesuffix(".tar.xz")


def consumers() -> list[Any]:
    """Returns an archive and the name of a folder with batches for each program."""
    found = []
    for archive in ARCHIVES:
        with tarfile.open(archive) as files:
            names = {Path(name).parent.name for name in files.getnames() if name.endswith(".json")}
        for name in sorted(names - {"", "history"}):
            version = archive.parts[-3]
            found.append(pytest.param(archive, name, id=f"{version}-{name_of(archive)}-{name}"))
    return found


each_server = pytest.mark.parametrize(
    "archive", ARCHIVES, ids=lambda path: f"{path.parts[-3]}-{name_of(path)}"
)


@pytest.fixture
def stored(archive: Path, tmp_path: Path, recorded_servers: RecordedServers) -> Stored:
    unpack(archive, tmp_path)
    return Stored(tmp_path, recorded_servers.of(archive.parent, name_of(archive)))


@pytest.mark.parametrize(("archive", "name"), consumers())
def test_a_stream_continues(stored: Stored, name: str) -> None:
    """Each change is returned once, and a load continues after the last row."""
    consumer = stored.consumer(name)
    assert consumer.batches
    start: Any = Position.from_json(consumer.position)
    keywords: dict[str, Any] = {}
    is_load = consumer.description["kind"] == "load"
    if is_load:
        keywords = {**streams.CHUNKS}
        assert start.loading
    if name == "gtid-set":
        start = start.gtid_set
    if (consumer.folder / streams.CHECKPOINT).exists() and name != "gtid-set":
        keywords["checkpoint"] = FileCheckpoint(consumer.folder / streams.CHECKPOINT)
        start = "latest"  # only for a checkpoint without a position
    if (consumer.folder / streams.CERTIFICATE).exists():
        keywords["certificate"] = consumer.folder / streams.CERTIFICATE
    source = connected(stored.server)
    with source.stream(start, stop="end", **keywords, **READ) as changes:
        for batch in changes:
            consumer.add(batch)
        stats, end = changes.stats(), changes.position
    if is_load:
        check_loaded(consumer.batches, stored.server, *ALL)
        assert end is not None
        assert end.loading is None
        assert stats["loaded_rows"] > 0
    else:
        selected = {table: select(stored.server, table) for table in ALL}
        assert_same_tables(replay(consumer.batches), selected, {})
    if "certificate" in keywords:
        check_certificate(keywords["certificate"], source, "shop.orders", "shop.later")
    if "checkpoint" in keywords:
        with source.stream(checkpoint=keywords["checkpoint"], stop="end", **READ) as changes:
            assert [batch.num_rows for batch in changes] == []


def check_certificate(path: Path, source: binarrow.Server, *tables: str) -> None:
    """Checks that the rows of tables are those of a certificate."""
    grades = {
        result.table: result.grade
        for result in check_server(Certificate(path), source, locks="brief")
    }
    assert {table: grades[table] for table in ("", *tables)} == dict.fromkeys(("", *tables), "ok")
    assert "error" not in grades.values(), grades


@each_server
def test_a_certificate(stored: Stored) -> None:
    check_certificate(
        stored.folder / streams.CERTIFICATE, connected(stored.server), *streams.CERTIFIED
    )


@each_server
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_stored_rows(stored: Stored, form: str) -> None:
    """The changes since are applied to the rows of a file."""
    folder, source = stored.folder / "rows", connected(stored.server)
    place = (folder / "position.txt").read_text()
    end = source.range_end(source.position(), stop=source.position())
    flags = ("--rows", str(folder / f"orders.{form}"), "--rows-position", place)
    streams.at(
        stored.server, f"{end.file}:{end.offset}", *flags, "--to", str(folder / "now.parquet")
    )
    found = parquet.read_table(folder / "now.parquet").to_pylist()
    selected = source.read_table("shop.orders", envelope=[]).read_all().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == selected
    assert found != parquet.read_table(folder / "orders.parquet").to_pylist()


@each_server
@pytest.mark.parametrize("place", ["file", "server"])
def test_a_history(stored: Stored, place: str) -> None:
    """It names the columns of rows that the log does not describe, before and after the stored position."""
    consumer = stored.consumer("history")
    url = streams.store_url(stored.server)
    if place == "file":
        url = f"sqlite:///{consumer.folder}/history.db"
    middle = Position.from_json(consumer.position)
    with streams.open_history(url) as history:
        source = connected(stored.server)
        before = history.find("old", "t", middle)
        assert before is not None
        assert [column.name for column in before.columns] == ["id", "n", "kind"]
        count = len(consumer.batches)
        with source.stream(middle, stop="end", history=history, **streams.OLD) as changes:
            for batch in changes:
                consumer.add(batch)
        assert len(consumer.batches) > count
        selected = {"old.t": select(stored.server, "old.t")}
        assert_same_tables(replay(consumer.batches), selected, {})
        with source.stream("earliest", stop="end", history=history, **streams.OLD) as changes:
            assert_same_tables(replay(changes), selected, {})
        assert history.find("old", "t", middle) == before
