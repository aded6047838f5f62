"""Columns whose values in existing rows are not in the log: rows are read again by key, and stay in the target."""

from __future__ import annotations

import logging
import random
import re
import threading
from collections import Counter
from contextlib import closing, suppress

import pymysql
import pytest

import binarrow
from support.oracles.duckdb_tables import Rows
from support.servers.servers import Session
from support.sync_source import Source, two_kinds

SERVERS = ["mysql"]
ROWS = 2000
FIRST = 1000
"""The first key. Later inserts have smaller and larger keys."""


class Writer(threading.Thread):
    """Inserts, updates and deletes rows, and changes their keys, until `end` is called."""

    def __init__(self, source: Source) -> None:
        super().__init__(daemon=True)
        self._session = Session(source.server, database="shop")
        self._ends = threading.Event()
        self.statements = 0

    def run(self) -> None:
        chosen = random.Random(5)
        with closing(self._session) as session:
            while not self._ends.wait(0.002):
                key, other = (chosen.randrange(2 * FIRST + ROWS) for _ in range(2))
                statement = chosen.choice(
                    [
                        f"INSERT INTO t (id, v) VALUES ({key}, 1)",
                        f"UPDATE t SET v = v + 1 WHERE id BETWEEN {key} AND {key + 20}",
                        f"UPDATE t SET id = {other} WHERE id = {key}",
                        f"DELETE FROM t WHERE id = {key}",
                        f"UPDATE t SET uid = 'own' WHERE id = {key}",
                    ]
                )
                with suppress(pymysql.err.MySQLError):  # a key that exists
                    session.execute(statement)
                    self.statements += 1

    def end(self) -> None:
        self._ends.set()
        self.join()


def filled(source: Source) -> None:
    """Creates a table with rows, and syncs it."""
    values = ", ".join(f"({FIRST + number}, {number})" for number in range(ROWS))
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", f"INSERT INTO t VALUES {values}")
    source.sync()


@two_kinds
def test_rows_stay_and_change_while_they_are_read(
    source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    filled(source)
    source.execute("ALTER TABLE t ADD COLUMN uid VARCHAR(36) DEFAULT (CONCAT('n', id))")
    counts: list[int] = []

    def count(_: binarrow.SyncSummary) -> None:
        counts.append(len(source.read("shop.t")))

    writer = Writer(source)
    writer.start()
    try:
        with caplog.at_level(logging.WARNING, logger="binarrow.sync"):
            summary = source.sync(every=0.2, max_rows_per_second=1500, on_commit=count)
    finally:
        writer.end()
    assert summary.tables["shop", "t"].loads == 1
    assert "shop.t: the log does not contain the values of uid in existing rows" in caplog.text
    assert len(counts) > 2
    assert min(counts) > ROWS // 2
    assert writer.statements > 100
    source.sync()
    source.check("shop.t")


STATEMENTS = (
    ["ALTER TABLE t ADD COLUMN w INT DEFAULT 3, RENAME COLUMN uid TO u"],
    ["ALTER TABLE t DROP COLUMN uid"],
    ["ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (uid)"],
    ["TRUNCATE t", "INSERT INTO t (id) VALUES (1)"],
    ["ALTER TABLE t MODIFY v TINYINT UNSIGNED"],
    ["RENAME TABLE t TO u", "CREATE TABLE t LIKE u", "INSERT INTO t (id) VALUES (3)"],
    [
        "CREATE TABLE u LIKE t",
        "ALTER TABLE u ADD COLUMN other CHAR(36) DEFAULT (CONCAT('o', id))",
        "INSERT INTO u (id) VALUES (7)",
        "RENAME TABLE t TO moved, u TO t, moved TO u",
        "UPDATE u SET v = 1 WHERE id < 50",
    ],
    ["DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY, x INT)"],
)
"""Statements on the table `t`. `t` and `u` are replaced by the names of other tables."""


@pytest.mark.parametrize("is_later", [False, True], ids=["same commit", "during the load"])
def test_statements_after_it(source: Source, *, is_later: bool) -> None:
    tables = [f"t{number}" for number in range(len(STATEMENTS))]
    values = ", ".join(f"({number}, {number % 100})" for number in range(200))
    for table in tables:
        source.execute(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT)",
            f"INSERT INTO {table} VALUES {values}",
        )
    source.sync()
    for table in tables:
        source.execute(
            f"ALTER TABLE {table} ADD COLUMN uid CHAR(36) NOT NULL DEFAULT (CONCAT('n', id))",
            f"UPDATE {table} SET v = 5 WHERE id < 9",
        )
    left = [
        re.sub(r"\b([tu]|moved)\b(?!')", rf"\g<1>{number}", one)
        for number, statements in enumerate(STATEMENTS)
        for one in statements
    ]

    def execute(_: object = None) -> None:
        source.execute(*left)
        left.clear()

    if is_later:
        source.sync(every=0.2, max_rows_per_second=1200, on_commit=execute)
    else:
        execute()
    source.sync()
    source.check(*(f"shop.{table}" for table in tables), "shop.u5", "shop.u6")


def test_a_key_that_is_added(source: Source) -> None:
    """Rows cannot be found by a key whose values are not known."""
    filled(source)
    source.execute(
        "ALTER TABLE t ADD COLUMN uid CHAR(36) NOT NULL DEFAULT (CONCAT('n', id)),"
        " DROP PRIMARY KEY, ADD PRIMARY KEY (uid)",
        "UPDATE t SET v = 5 WHERE id < 1010",
    )
    source.sync()
    source.check("shop.t")


ADDED = "ADD COLUMN uid CHAR(36) NOT NULL DEFAULT (CONCAT('n', id))"


def without_uid(rows: Rows) -> Rows:
    """Returns rows without the column whose values may not be known."""
    return Counter(tuple(cell for cell in row if cell[0] != "uid") for row in rows.elements())


@two_kinds
def test_a_table_that_is_dropped_before_its_load_starts(
    source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    """The commit after the ALTER TABLE cannot read it any more. Its rows stay, as after any DROP."""
    filled(source)
    source.execute(
        f"ALTER TABLE t {ADDED}",
        f"UPDATE t SET v = -1 WHERE id < {FIRST + 5}",
        "INSERT INTO t (id, v) VALUES (1, 1)",
    )
    wanted = without_uid(source.selected("shop.t"))
    source.execute("DROP TABLE t")
    with caplog.at_level(logging.WARNING, logger="binarrow.sync"):
        summary = source.sync(max_rows_per_commit=1)
    assert "shop.t was dropped: its rows stay in the target" in caplog.text
    assert (summary.tables["shop", "t"].loads, summary.commits > 2) == (0, True)
    assert without_uid(source.read("shop.t")) == wanted


def test_a_key_of_a_table_that_does_not_exist_any_more(source: Source) -> None:
    """Its rows cannot be found by a key whose values are not known: no row is there twice."""
    filled(source)
    source.execute(
        f"ALTER TABLE t {ADDED}",
        "INSERT INTO t (id, v) VALUES (1, 1), (2, 2)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (uid)",
        f"UPDATE t SET v = v + 1 WHERE id < {FIRST + 5}",
        "DROP TABLE t",
    )
    source.sync(max_rows_per_commit=1)
    found = source.read("shop.t")
    keys = Counter(dict(row)["id"] for row in found.elements())
    assert max(keys.values(), default=1) == 1


@two_kinds
def test_loads_that_begin_again_because_a_table_was_dropped(source: Source) -> None:
    filled(source)
    source.execute("CREATE TABLE u LIKE t", "INSERT INTO u SELECT * FROM t")
    source.sync()
    source.execute(f"ALTER TABLE t {ADDED}", f"ALTER TABLE u {ADDED}")
    loading, counts = threading.Event(), []

    def stop(summary: binarrow.SyncSummary) -> None:
        if summary.position is not None and summary.position.loading:
            loading.set()

    source.sync(every=0.1, max_rows_per_second=1000, on_commit=stop, is_stopped=loading.is_set)
    assert loading.is_set()
    source.execute("DROP TABLE u")

    def count(_: binarrow.SyncSummary) -> None:
        counts.append([source.read(f"shop.{table}").total() for table in "tu"])

    summary = source.sync(on_commit=count)
    assert summary.tables["shop", "t"].loads == 1
    source.check("shop.t")
    assert {*map(tuple, counts)} == {(ROWS, ROWS)}
