"""`binarrow.spark.sync` with `mode="scd2"`: the versions valid at a moment are the rows that SELECT returned then."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from binarrow.spark.live.read_limit import IS_LIMITED
from binarrow.spark.syncing import batch
from support.oracles.valid_rows import last_version
from support.servers.servers import Server
from support.spark_sync import LOADED, OTHER, WAIT, CrashError, Synced, Writer


class Versions:
    """A target with versions of rows, and what SELECT returned at some moments."""

    def __init__(self, synced: Synced) -> None:
        self.synced = synced
        self.moments: list[tuple[int, str, list[str], Counter[Any]]] = []

    def note(self, *tables: str) -> None:
        """Stores the current rows of tables. The server must not be in use."""
        server = self.synced.server
        for table in tables:
            columns = [row[0] for row in server.query(f"SHOW COLUMNS FROM shop.{table}")]
            rows = Counter(map(tuple, server.query(f"SELECT * FROM shop.{table}")))
            self.moments.append((last_version(server), table, columns, rows))

    def check(self) -> None:
        """Compares the versions that were valid at the moments with SELECT."""
        versions = {
            table: [
                {name.lower(): value for name, value in row.asDict().items()}
                for row in self.synced.frame(table).collect()
            ]
            for table in {table for _, table, _, _ in self.moments}
        }
        for number, (version, table, columns, wanted) in enumerate(self.moments):
            valid = [
                tuple(row[column.lower()] for column in columns)
                for row in versions[table]
                if row["_valid_from_version"] <= version
                and (row["_valid_to_version"] is None or row["_valid_to_version"] > version)
            ]
            assert Counter(valid) == wanted, (number, table)

    def check_order(self, table: str, *key: str) -> None:
        """Checks that the versions of a key are one after the other, and at most one is current."""
        of_key: dict[Any, list[tuple[int, int]]] = {}
        for row in self.synced.frame(table).collect():
            assert (row._valid_to is None) == (row._valid_to_version is None)
            end = 1 << 62 if row._valid_to is None else row._valid_to_version
            of_key.setdefault(tuple(row[one] for one in key), []).append(
                (row._valid_from_version, end)
            )
        for ranges in map(sorted, of_key.values()):
            assert all(begin <= end for begin, end in ranges)
            assert all(one[1] <= other[0] for one, other in pairwise(ranges))


def run_with_crashes(synced: Synced, monkeypatch: pytest.MonkeyPatch, crashes: list[str]) -> None:
    """Stops a batch before and after the commit of the second table that it changes."""
    write, written = batch.write_versions, 0

    def write_or_crash(*arguments: Any) -> None:
        nonlocal written
        written += 1
        is_second = bool(crashes) and written == 2
        if is_second and crashes[0] == "before":
            raise CrashError
        write(*arguments)
        if is_second:
            raise CrashError

    monkeypatch.setattr(batch, "write_versions", write_or_crash)
    while crashes:
        written = 0
        query = synced.start(once=True)
        with pytest.raises(Exception, match="CrashError"):
            query.awaitTermination(WAIT)
        crashes.pop(0)
    synced.run()


@pytest.mark.parametrize("server", OTHER, indirect=True)
def test_versions(
    lake: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, statements without rows, and columns; batches are stopped before and after a commit."""
    server.execute(
        "CREATE DATABASE crm",
        "GRANT SELECT ON crm.* TO live@'%'",
        "CREATE TABLE crm.people (id INT PRIMARY KEY)",
        "INSERT INTO crm.people VALUES (1), (2)",
    )
    writer = Writer(server, 5)
    writer.play(40)
    synced = Synced(lake, server, tmp_path, mode="scd2", **LOADED)
    versions = Versions(synced)
    tables = ("orders", "users", "visits")
    if IS_LIMITED:
        synced.run()
    versions.note(*tables)
    for number in range(6):
        writer.play(random.Random(number).choice((1, 8)))
        versions.note(*tables)
        if number == 2:
            server.execute(
                "TRUNCATE shop.visits",
                "BEGIN",
                "INSERT INTO shop.visits VALUES (7, 'a', 0.5)",
                *["UPDATE shop.visits SET size = size + 1 WHERE id = 7"] * 2,
                "DELETE FROM shop.visits WHERE id = 7",
                "COMMIT",
                "INSERT INTO shop.visits VALUES (7, 'b', 0.5), (8, 'c', 1)",
            )
            versions.note(*tables)
            server.execute("TRUNCATE shop.visits")
    run_with_crashes(synced, monkeypatch, ["before", "after"])
    versions.check()
    in_transaction = (
        synced.frame("visits")
        .where("id = 7 AND page = 'a'")
        .selectExpr("_valid_from_version = _valid_to_version AND _valid_from = _valid_to")
    )
    assert [row[0] for row in in_transaction.collect()] == [True] * 3
    for table, key in {"orders": ["id"], "users": ["name", "town"], "visits": ["id"]}.items():
        versions.check_order(table, *key)

    server.execute(
        "UPDATE shop.orders SET total = 7 WHERE id < 50",
        "ALTER TABLE shop.orders ADD COLUMN extra INT NOT NULL DEFAULT 5, DROP COLUMN status",
        "INSERT INTO shop.orders VALUES (1000, 1, NULL, 6)",
        "INSERT INTO shop.visits VALUES (9, 'before', 1)",
        "ALTER TABLE shop.visits RENAME COLUMN page TO Page",
        "INSERT INTO shop.visits VALUES (10, 'after', 1)",
        "UPDATE shop.users SET n = 3",
        "DROP TABLE shop.users",
        "DROP DATABASE crm",
        "TRUNCATE shop.empty",
    )
    versions.moments = [one for one in versions.moments if one[1] != "users"]
    versions.note("orders", "visits")
    synced.run()
    versions.check()
    current = synced.frame("orders").where("_valid_to IS NULL")
    listed = server.query("SELECT id, total, at, extra FROM shop.orders")
    found = current.selectExpr("id", "total", "at", "extra", "status").collect()
    assert Counter(row[:4] for row in map(tuple, found)) == Counter(map(tuple, listed))
    assert {
        row.extra for row in synced.frame("orders").where("_valid_to IS NOT NULL").collect()
    } == {None}
    users = synced.frame("users").collect()
    assert users
    assert all(row._valid_to_version is not None for row in users)
    assert max(row._valid_to_version for row in users) > versions.moments[0][0]
    people = lake.spark.table(synced.name("people", "crm")).collect()
    assert {(row.id, row._valid_to is None) for row in people} == {(1, False), (2, False)}
