"""Changes, applied in order by MERGE, make what the source holds: in DuckDB, in Spark, and in a dict."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import mirror
import pytest

import binarrow
from binarrow.spark import apply_changes, read_mirror, register
from support.servers.servers import Server
from support.workloads.key_workload import COLUMNS, DATABASE, KEYS, KeyWorkload

TRANSACTIONS = 50
IMAGES = {"FULL": ("FULL",), "MINIMAL": ("MINIMAL",), "mixed": ("FULL", "MINIMAL", "NOBLOB")}
COMPRESSED = {
    False: ("SET SESSION binlog_transaction_compression = ",),
    True: ("SET GLOBAL log_bin_compress = ",),
}
"""With mixed images the log is compressed too: the statement that sets this, by whether the server is MariaDB."""
ENVELOPE = ("change_type", "commit_version", "change_ordinal", "present")
TABLE = "(area INT, code VARCHAR, n INT, note VARCHAR)"
CHOICES = list(itertools.product((True, False), (True, False)))  # old_value, split_key_updates

Rows = list[tuple[Any, ...]]


@dataclass
class Played:
    """A log, and what the tables held at its end."""

    log: str
    schemas: dict[str, str]
    content: dict[str, Counter[tuple[Any, ...]]]

    def batches(self, table: str | None = None, **keywords: Any) -> binarrow.BinlogReader:
        """The changes, in batches of a few rows."""
        own = {"envelope": ENVELOPE, "schemas": self.schemas, "batch_rows": 12, **keywords}
        return binarrow.read_binlog(self.log, tables=f"{DATABASE}.{table or '*'}", **own)


@contextmanager
def play(server: Server, images: str, transactions: int) -> Iterator[Played]:
    """Plays the workload, in a file of the log that holds nothing else."""
    session = server.connect()
    compressed = COMPRESSED[server.is_mariadb] if images == "mixed" else ()
    session.execute(*(f"{setting}ON" for setting in compressed))
    workload = KeyWorkload(session, IMAGES[images])
    schemas = workload.begin()
    server.flush_binlog()
    workload.run(transactions)
    log = str(server.flush_binlog())
    content = {table: Counter(workload.content(table)) for table in KEYS}
    session.execute(*(f"{setting}OFF" for setting in compressed), f"DROP DATABASE {DATABASE}")
    session.close()
    assert workload.played > workload.refused
    assert len([rows for rows in content.values() if rows]) >= 3
    yield Played(log, schemas, content)


@pytest.fixture(
    scope="module", params=list(itertools.product(("mysql", "mariadb_11_8"), IMAGES)), ids="-".join
)
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    flavor, images = request.param
    with play(request.getfixturevalue(flavor), images, TRANSACTIONS) as played:
        yield played


def only(played: Played, request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["played"][1])


@pytest.mark.parametrize(("old_value", "split"), CHOICES)
def test_in_duckdb(played: Played, request: Any, old_value: bool, split: bool) -> None:
    """Complete rows by the last change of each key; partial ones folded; rows without a key counted."""
    images = only(played, request)
    duck = duckdb.connect()
    for table, key in KEYS.items():
        duck.execute(
            f"CREATE TABLE {table} {TABLE.replace(')', '' if key else ', copies INT)')}{')' if key else ''}"
        )
    ways = ("merge", "fold") if images == "FULL" else ("fold",)
    for way in ways:
        for table in KEYS:
            duck.execute(f"TRUNCATE {table}")
        batches = 0
        for batch in played.batches(old_value=old_value, split_key_updates=split):
            key, changes = KEYS[batch.table], batch.to_pyarrow()
            if not key:
                mirror.count(duck, batch.table, changes)
            elif way == "merge":
                mirror.merge(duck, batch.table, key, changes)
            else:
                mirror.fold(duck, batch.table, key, changes)
            batches += 1
        assert batches > 10
        for table, expected in played.content.items():
            assert held(duck, table) == expected, (way, table)


def held(duck: duckdb.DuckDBPyConnection, table: str) -> Counter[tuple[Any, ...]]:
    rows = duck.execute(f"FROM {table}").fetchall()
    if KEYS[table]:
        return Counter(rows)
    found: Counter[tuple[Any, ...]] = Counter()
    for *row, copies in rows:
        found[tuple(row)] += copies
    assert len(found) == len(rows)
    return found


class DictMirror:
    """A table as a dict of its rows by key, or as a multiset of rows if it has none."""

    def __init__(self, key: tuple[str, ...]) -> None:
        self.key = key
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.counted: Counter[tuple[Any, ...]] = Counter()
        self.moving: tuple[Any, ...] = ()

    def apply(self, row: dict[str, Any]) -> None:
        """`c`, `u` or `d`. A `d` and an `u` of one place are an update that moves a row to another key."""
        before, after, operation = row["before"], row["after"], row["_op"]
        place = (row["_commit_version"], row["_change_ordinal"] // 2)
        was: dict[str, Any] = {}
        if before is not None:
            was = self.take(before)
        elif operation == "u":
            was = self.moving[1] if self.moving[:1] == (place,) else self.take(after)
        self.moving = (place, was) if operation == "d" else ()
        if after is not None:
            bits = row["_present_after"]
            holds = {n: a for i, (n, a) in enumerate(after.items()) if bits[i // 8] >> i % 8 & 1}
            self.put(dict.fromkeys(COLUMNS) | was | holds)

    def take(self, image: dict[str, Any]) -> dict[str, Any]:
        if self.key:
            return self.rows.pop(tuple(image[name] for name in self.key))
        whole = tuple(image.values())
        assert self.counted[whole] > 0
        self.counted[whole] -= 1
        return image

    def put(self, row: dict[str, Any]) -> None:
        if not self.key:
            self.counted[tuple(row.values())] += 1
            return
        key = tuple(row[name] for name in self.key)
        assert key not in self.rows
        self.rows[key] = row

    def content(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row.values()) for row in self.rows.values()) + self.counted


@pytest.mark.parametrize(("old_value", "split"), CHOICES)
def test_nested_in_a_dict(played: Played, old_value: bool, split: bool) -> None:
    """Strictly: a row that goes is there, one that comes is not."""
    tables = {table: DictMirror(key) for table, key in KEYS.items()}
    envelope = ("commit_version", "change_ordinal", "present")
    for batch in played.batches(
        layout="nested", old_value=old_value, split_key_updates=split, envelope=envelope
    ):
        for row in batch.to_pyarrow().to_pylist():
            tables[batch.table].apply(row)
    for table, expected in played.content.items():
        assert tables[table].content() == expected, table


def test_in_spark(mysql: Server, spark: Any, tmp_path: Path) -> None:
    """Like the previous test, with `apply_changes`, in two micro-batches."""
    folder = str(tmp_path / "mirror")
    with play(mysql, "FULL", 45) as played:
        register(spark)
        changes = (
            spark.read.format("binarrow")
            .option("table", f"{DATABASE}.by_both")
            .option("envelope", ",".join(ENVELOPE))
            .load(played.log)
        )
        rows = changes.toArrow()
        versions = sorted(set(rows["_commit_version"].to_pylist()))
        assert len(versions) > 3
        middle = versions[len(versions) // 2]
        changes = spark.createDataFrame(rows, changes.schema)
        apply = apply_changes(folder, KEYS["by_both"], format="parquet")
        for part in (f"_commit_version < {middle}", f"_commit_version >= {middle}"):
            apply(changes.where(part))
        mirrored = read_mirror(spark, folder).collect()
        assert Counter(tuple(row) for row in mirrored) == played.content["by_both"]
