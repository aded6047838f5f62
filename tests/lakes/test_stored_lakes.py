"""Targets and checkpoints in Delta and Iceberg that each version has stored: the current code continues, and they equal SELECT.

`tests/fixtures/stored/README.md` describes them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from binarrow.spark.live.read_limit import IS_LIMITED
from support.archives import unpack
from support.servers.servers import Server
from support.stored.consumer import connected
from support.stored.lake_syncs import SERVERS, Target, use_catalog
from support.stored.servers import STORED, RecordedServers
from support.stored.spark_streams import Query, renew_identities
from support.stored.target import ROOT, reserved

IS_ADDED = "_change_type IN ('insert', 'update_postimage')"

VERSIONS = sorted(path.parent.name for path in STORED.glob("*/lakes"))


@pytest.fixture(scope="module")
def recorded_servers() -> Iterator[RecordedServers]:
    with RecordedServers.opened() as servers:
        yield servers


@dataclass
class Stored:
    """The targets of a format that a version has stored, and their recorded server."""

    lake: Any
    folder: Path
    server: Server

    def target(self, moment: str) -> Target:
        return Target(self.lake.spark, self.lake.format, self.server, moment, self.folder)


@pytest.fixture(params=VERSIONS)
def stored(
    request: pytest.FixtureRequest, lake: Any, recorded_servers: RecordedServers, tmp_path: Path
) -> Iterator[Stored]:
    version = STORED / request.param / "lakes"
    for path in version.glob(f"{lake.format}-*.tar.xz"):
        unpack(path, tmp_path / path.name.removesuffix(".tar.xz").removeprefix(f"{lake.format}-"))
    server = recorded_servers.of(version, SERVERS[lake.format])
    if lake.format == "delta":
        yield Stored(lake, tmp_path, server)
        return
    with reserved(tmp_path):
        yield Stored(lake, ROOT, server)


def selected(server: Server, table: str) -> tuple[list[str], Counter[Any]]:
    """The names of the columns of a table, and its rows."""
    names = [row[0] for row in server.query(f"SHOW COLUMNS FROM shop.{table}")]
    return names, Counter(server.query(f"SELECT {', '.join(names)} FROM shop.{table}"))


def check(target: Target, *tables: str) -> None:
    """Compares the current rows of tables with SELECT."""
    where = "_valid_to_version IS NULL" if target.mode == "scd2" else "true"
    for table in tables:
        names, rows = selected(target.server, table)
        assert target.rows(table, *names, where=where) == rows, table


def test_a_load_continues(stored: Stored) -> None:
    """A table stays parked until it is loaded again."""
    target = stored.target("loading")
    state = Path(f"{target.checkpoint}.rows.json")
    tables = renew_identities(state, stored.server)
    assert target.is_loading()
    assert target.run() > 0
    check(target, "orders", "codes")
    assert target.parked() == ["shop.later"]
    assert (7, 7) in target.rows("later", "id", "v")  # the server has deleted this row
    assert json.loads(state.read_text())["tables"] == tables
    target.run(reload="shop.later")
    check(target, *target.tables)


@pytest.mark.parametrize("moment", ["columns", "scd2"])
def test_new_columns_are_filled(stored: Stored, moment: str) -> None:
    """A table that was dropped is there again, and columns that were dropped keep their values."""
    target = stored.target(moment)
    earlier = {row[0] for row in target.rows("items", "sku")}
    assert len(earlier) > 1
    assert target.run() > 0
    check(target, *target.tables)
    assert {row[0] for row in target.rows("items", "sku")} - {None} == earlier
    assert "fill" not in target.properties("items")
    if moment == "columns":
        return
    for table in target.tables:
        check_versions(target, table)


def check_versions(target: Target, table: str) -> None:
    """Checks that the versions of a key follow each other."""
    key = [
        row[0] for row in target.server.query(f"SHOW COLUMNS FROM shop.{table}") if row[3] == "PRI"
    ]
    ends: dict[Any, int] = {}
    versions = target.rows(table, "_valid_from_version", "_valid_to_version", *key).elements()
    for begin, end, *values in sorted(versions, key=lambda row: row[0]):
        assert begin >= ends.get(tuple(values), 0), (table, values)
        ends[tuple(values)] = 1 << 62 if end is None else end


def test_each_change_is_there_once(stored: Stored) -> None:
    target = stored.target("history")
    assert target.run() > 0
    place = ("_change_type", "_commit_version", "_change_ordinal")
    for table in target.tables:
        with connected(stored.server).stream(
            "earliest", stop="end", tables=f"shop.{table}"
        ) as changes:
            logged = [row for batch in changes for row in batch.to_pyarrow().to_pylist()]
        expected = Counter(tuple(row[name] for name in place) for row in logged)
        assert len(expected) > 3
        assert target.rows(table, *place) == expected, table
    for table, *columns in (
        ("pending", "id", "v", "w"),
        ("entries", "day", "v"),
        ("kinds", "id", "vc"),
    ):
        added = target.rows(table, *columns, where=IS_ADDED)
        removed = target.rows(table, *columns, where=f"NOT {IS_ADDED}")
        rows = stored.server.query(f"SELECT {', '.join(columns)} FROM shop.{table}")
        assert removed
        assert added == removed + Counter(rows), table


def test_a_mirror(stored: Stored) -> None:
    """A batch is repeated that the mirror contains already."""
    spark, form = stored.lake.spark, stored.lake.format
    if form == "iceberg":
        use_catalog(spark, "mirror")
    query = Query(spark, stored.server, stored.folder / "mirror", "mirror", form)
    for _ in range(1 if IS_LIMITED else 2):  # before Spark 4.2, a run may end with a repeated batch
        query.run()
    assert query.rows() == stored.server.query("SELECT * FROM shop.orders ORDER BY id")
