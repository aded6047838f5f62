"""`binarrow.sync` with `mode="scd2"`: the versions valid at a moment are the rows of SELECT then."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import pytest

import binarrow
from support.oracles.duckdb_tables import Rows
from support.oracles.valid_rows import (
    Moment,
    check_current,
    check_moments,
    last_version,
    moment,
    valid_rows,
)
from support.sync_source import Source, each_kind, two_kinds
from support.workloads.sync_storm import TABLES, Storm, created

SCD2: dict[str, Any] = {"mode": "scd2"}

ROWS = (
    ["UPDATE t SET v = 11 WHERE id = 1", "UPDATE t SET v = 12 WHERE id = 1"],
    ["BEGIN", "UPDATE t SET v = 13 WHERE id = 1", "UPDATE t SET v = 14 WHERE id = 1", "COMMIT"],
    ["UPDATE t SET id = 7 WHERE id = 2", "UPDATE t SET id = 2, v = 22 WHERE id = 7"],
    ["DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES (3, 'B', 31, NULL)"],
    ["BEGIN", "DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES (3, 'B', 32, 'x')", "COMMIT"],
    ["INSERT INTO t VALUES (4, 'd', 1, ''), (5, 'e', 1, 'ü')", "UPDATE t SET v = v + 1"],
    ["UPDATE t SET k = UPPER(k)", "DELETE FROM t WHERE id IN (1, 4)"],
    ["BEGIN", "INSERT INTO t VALUES (9, '', 0, NULL)", "DELETE FROM t WHERE id = 9", "COMMIT"],
    ["REPLACE INTO t VALUES (5, 'E', 5, 'r')"],
    ["TRUNCATE t"],
    ["INSERT INTO t VALUES (5, 'E', 5, 'again')"],
)
"""Statements, after each of which the rows are compared."""


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute(
        "CREATE TABLE t (id INT, k VARCHAR(9) COLLATE utf8mb4_bin, v INT, s VARCHAR(20),"
        " PRIMARY KEY (k, id))",
        "INSERT INTO t VALUES (1, 'a', 10, 'x'), (2, 'b', 20, 'y'), (3, 'B', 30, NULL)",
    )
    source.sync(**SCD2)
    return source


def check_order(versions: Rows, *key: str) -> None:
    """Checks that the versions of a key are one after the other, and at most one is current."""
    of_key: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for row in versions.elements():
        cells = dict(row)
        end = cells["_valid_to_version"]
        assert (end == "NULL") == (cells["_valid_to"] == "NULL")
        last = 1 << 62 if end == "NULL" else int(end)
        of_key[tuple(cells[one] for one in key)].append((int(cells["_valid_from_version"]), last))
    for ranges in of_key.values():
        ordered = sorted(ranges)
        assert all(begin <= end for begin, end in ordered)
        assert all(one[1] <= other[0] for one, other in pairwise(ordered))


@each_kind
@pytest.mark.parametrize("every", [0, 60])
def test_rows(shop: Source, every: int) -> None:
    moments = [moment(shop, "shop.t")]
    for number, statements in enumerate(ROWS):
        shop.execute(*statements)
        moments.append(moment(shop, "shop.t"))
        if every == 0 and number % 3 == 0:
            shop.sync(every=0, **SCD2)
    shop.sync(every=every, **SCD2)
    assert shop.sync(**SCD2).changes == 0
    check_moments(shop, moments)
    check_current(shop, "shop.t")
    check_order(shop.read("shop.t"), "id", "k")


@two_kinds
def test_each_change_is_one_version(shop: Source) -> None:
    """Also several changes in one commit, and in one transaction."""
    shop.execute("BEGIN", *["UPDATE t SET v = v + 1"] * 3, "COMMIT", "UPDATE t SET v = 0")
    shop.sync(**SCD2)
    values = [int(dict(row)["v"]) for row in shop.read("shop.t").elements()]
    assert Counter(values) == Counter([10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33, 0, 0, 0])
    [times] = {
        (dict(row)["_valid_from"], dict(row)["_valid_from_version"])
        for row in shop.read("shop.t").elements()
        if dict(row)["v"] == "0"
    }
    ends = {
        (dict(row)["_valid_to"], dict(row)["_valid_to_version"])
        for row in shop.read("shop.t").elements()
        if dict(row)["v"] in {"13", "23", "33"}
    }
    assert ends == {times}


def test_the_history_gives_the_same_rows(shop: Source) -> None:
    """A replay of the mode `history` up to each commit gives the versions valid after it."""
    other = shop.other()
    other.sync(mode="history")
    start = last_version(shop.server)
    for statements in ROWS[:-2]:
        shop.execute(*statements)
    shop.sync(every=0, **SCD2)
    other.sync(mode="history")
    versions = shop.read("shop.t")
    changes = [dict(row) for row in other.read("shop.t").elements()]
    changes.sort(key=lambda one: (int(one["_commit_version"]), int(one["_change_ordinal"])))
    rows: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
    replayed: dict[int, Rows] = {}
    for change in changes:
        cells = tuple((name, cell) for name, cell in change.items() if not name.startswith("_"))
        key = (change["id"], change["k"])
        if change["_change_type"] in {"delete", "update_preimage"}:
            del rows[key]
        else:
            rows[key] = cells
        replayed[int(change["_commit_version"])] = Counter(rows.values())
    compared = 0
    for version, wanted in replayed.items():
        if version > start:
            assert valid_rows(versions, version, ("id", "k", "v", "s")) == wanted
            compared += 1
    assert compared > 12


ALTERED = (
    "ADD COLUMN c INT",
    "ADD COLUMN c INT NOT NULL DEFAULT 7 FIRST",
    "ADD COLUMN c VARCHAR(9) NOT NULL DEFAULT 'it''s' AFTER id",
    "ADD COLUMN c DECIMAL(9,3) DEFAULT 1.50",
    "ADD COLUMN c DATETIME DEFAULT CURRENT_TIMESTAMP",
    "ADD COLUMN c DOUBLE DEFAULT 0.1",
    "DROP COLUMN w",
    "DROP COLUMN w, ADD COLUMN w BIGINT DEFAULT 3",
    "RENAME COLUMN v TO x",
    "CHANGE v w INT, CHANGE w v INT AFTER id",
    "CHANGE v x BIGINT",
    "MODIFY v BIGINT UNSIGNED",
    "MODIFY s VARCHAR(100) CHARACTER SET utf8mb4",
    "MODIFY v TINYINT",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)",
    "CHANGE id number BIGINT NOT NULL",
    "ADD KEY (v)",
    "CONVERT TO CHARACTER SET utf8mb4",
)


@pytest.mark.each_target
@each_kind
def test_alter_table(source: Source) -> None:
    """Each statement in a table of its own, with rows before and after it."""
    tables = [f"a{number}" for number in range(len(ALTERED))]
    for table in tables:
        source.execute(
            f"CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, v INT, w INT, s VARCHAR(20))",
            f"INSERT INTO {table} VALUES (1, 10, 100, 'a'), (2, 20, 200, 'b'), (3, 30, NULL, NULL)",
        )
    source.sync(**SCD2)
    moments: list[Moment] = []
    for table, clauses in zip(tables, ALTERED, strict=True):
        source.execute(f"UPDATE {table} SET s = 'before' WHERE id = 2")
        is_renamed = "CHANGE" in clauses or "RENAME" in clauses
        if not is_renamed:
            moments.append(moment(source, f"shop.{table}"))
        source.execute(f"ALTER TABLE {table} {clauses}")
        source.execute(f"UPDATE {table} SET s = 'after' WHERE s = 'a'")
    source.sync(**SCD2)
    names = [f"shop.{table}" for table in tables]
    check_current(source, *names)
    check_moments(source, moments)
    added = {(dict(row)["s"], dict(row)["c"]) for row in source.read("shop.a1").elements()}
    assert added == {("a", "7"), ("b", "NULL"), ("before", "7"), ("NULL", "7"), ("after", "7")}


@two_kinds
def test_columns_that_come_back(source: Source) -> None:
    """A dropped column stays in earlier versions; a new column of its name has its own values."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)", "INSERT INTO t VALUES (1, 1, 1)"
    )
    source.sync(**SCD2)
    for statement in (
        "ALTER TABLE t DROP COLUMN w",
        "ALTER TABLE t ADD COLUMN w INT DEFAULT 5",
        "UPDATE t SET w = 6",
        "ALTER TABLE t DROP COLUMN w",
        "ALTER TABLE t RENAME COLUMN v TO w",
        "INSERT INTO t VALUES (2, 2)",
        "ALTER TABLE t ADD COLUMN v INT DEFAULT 8",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (w, id)",
        "UPDATE t SET v = 9",
    ):
        source.execute(statement)
        source.sync(**SCD2)
        check_current(source, "shop.t")


@each_kind
def test_tables_that_are_replaced(shop: Source) -> None:
    """Versions end when their table is dropped or renamed, and remain."""
    before = moment(shop, "shop.t")
    shop.execute("DROP TABLE t")
    summary = shop.sync(on_drop="drop", **SCD2)
    assert summary.tables["shop", "t"].status == "dropped"
    assert valid_rows(shop.read("shop.t"), None, ("id",)).total() == 0
    shop.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, k VARCHAR(9), v BIGINT, s VARCHAR(20), n INT)",
        "INSERT INTO t VALUES (1, 'n', 1, 's', 5)",
        "CREATE TABLE u LIKE t",
        "INSERT INTO u VALUES (1, 'u', 2, 'u', 6)",
        "UPDATE u SET v = 3",
    )
    shop.sync(**SCD2)
    check_current(shop, "shop.t", "shop.u")
    between = moment(shop, "shop.t", "shop.u")
    shop.execute("RENAME TABLE t TO x, u TO t, x TO u", "UPDATE t SET v = 4")
    shop.sync(**SCD2)
    check_current(shop, "shop.t", "shop.u")
    check_moments(shop, [before, between])
    check_order(shop.read("shop.t"), "id", "k")


@each_kind
def test_reload(shop: Source) -> None:
    """Rows that are read again get a new version, which follows the one before it.

    The version of a row that is not found ends, although the log does not contain a delete.
    """
    for _ in range(2):
        before = moment(shop, "shop.t")
        summary = shop.sync(reload="shop.t", **SCD2)
        assert summary.tables["shop", "t"].loads == 1
        check_current(shop, "shop.t")
        check_moments(shop, [before])
        check_order(shop.read("shop.t"), "id", "k")
        shop.execute("DELETE FROM t WHERE id = 2", "UPDATE t SET v = v + 1")
    shop.sync(**SCD2)
    shop.execute("SET SESSION sql_log_bin = 0", "DELETE FROM t WHERE id = 3")
    shop.execute("SET SESSION sql_log_bin = 1")
    shop.sync(reload="shop.t", **SCD2)
    check_current(shop, "shop.t")


@two_kinds
def test_foreign_keys(source: Source) -> None:
    """Versions end with the delete of the row that they refer to, all of them in one commit."""
    source.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES a (id)"
        " ON DELETE CASCADE)",
        "CREATE TABLE c (id INT PRIMARY KEY, a INT, b INT,"
        " FOREIGN KEY (a) REFERENCES a (id) ON DELETE SET NULL,"
        " FOREIGN KEY (b) REFERENCES b (id) ON DELETE SET NULL)",
        "INSERT INTO a VALUES (1), (2), (3)",
        "INSERT INTO b VALUES (1, 1), (2, 2), (3, NULL)",
        "INSERT INTO c VALUES (1, 1, 1), (2, 2, 3), (3, 2, 1)",
    )
    source.sync(**SCD2)
    tables = ("shop.a", "shop.b", "shop.c")
    moments = [moment(source, *tables)]
    for statement in (
        "DELETE FROM a WHERE id = 1",
        "INSERT INTO a VALUES (1)",
        "INSERT INTO b VALUES (1, 1), (4, 3)",
        "UPDATE c SET a = 1, b = 1 WHERE id < 3",
        "DELETE FROM b WHERE id = 1",
        "DELETE FROM a WHERE id = 2",
        "DELETE FROM a WHERE id = 1",
    ):
        source.execute(statement)
        moments.append(moment(source, *tables))
    summary = source.sync(**SCD2)
    check_current(source, *tables)
    check_moments(source, moments)
    assert not any(one.loads for one in summary.tables.values())


@each_kind
def test_a_large_load(source: Source) -> None:
    """Versions that begin in several commits of a load, while rows change."""
    rows = ", ".join(f"({number}, {number % 7})" for number in range(3000))
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", f"INSERT INTO t VALUES {rows}")
    source.sync(every=0, **SCD2)
    source.execute("UPDATE t SET v = v + 1 WHERE id % 3 = 0", "DELETE FROM t WHERE v = 2")
    source.sync(every=0, **SCD2)
    check_current(source, "shop.t")
    check_order(source.read("shop.t"), "id")


@two_kinds
def test_sessions_that_write(source: Source) -> None:
    """Random changes while sync runs again and again."""
    source.execute(*(created(table) for table in TABLES))
    names = [f"shop.{table}" for table in TABLES]
    storms = [Storm(source.server, seed, alters=False) for seed in (1, 2)]
    for storm in storms:
        storm.start()
    for _ in range(3):
        source.sync(every=0.1, tables=names, **SCD2)
    moments = []
    for storm in storms:
        storm.end()
    moments.append(moment(source, *names))
    source.execute(*(f"UPDATE {table} SET a = 5 WHERE id < 50" for table in TABLES))
    source.sync(tables=names, reload="shop.s1", **SCD2)
    check_current(source, *names)
    check_moments(source, moments)
    for name in names:
        check_order(source.read(name), "id")
    assert sum(source.read(name).total() for name in names) > 300


def test_what_is_refused(source: Source) -> None:
    source.execute("CREATE TABLE t (id INT, _valid_to INT)")
    with pytest.raises(binarrow.SyncError, match="has no primary key"):
        source.sync(**SCD2)
    source.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    with pytest.raises(binarrow.SyncError, match="has a column _valid_to"):
        source.sync(**SCD2)
    source.sync(exclude_tables="shop.x", tables="shop.*", on_table_error="park", **SCD2)
    with pytest.raises(binarrow.SyncError, match="mode='scd2'"):
        source.sync(mode="history")
    with pytest.raises(binarrow.ConfigError, match="mode='history'"):
        binarrow.sync(source.url, f"parquet+file:///{source.folder}/p", **SCD2)


@pytest.mark.parametrize("mode", ["history", "scd2"])
@pytest.mark.parametrize("kind", ["duckdb"])
def test_changes_after_a_statement_that_needs_a_load(source: Source, mode: Any) -> None:
    """The load begins at once, so changes after the statement in the same run are not left out."""
    source.execute(
        "CREATE TABLE a (id INT PRIMARY KEY, v INT)",
        "INSERT INTO a VALUES (1, 1)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
    )
    source.sync(mode=mode, tables="shop.b,shop.other")
    source.execute(
        "INSERT INTO other VALUES (1)",
        "RENAME TABLE a TO b",
        "UPDATE b SET v = 2",
        "UPDATE b SET v = 3",
        "DELETE FROM b",
    )
    source.sync(mode=mode, tables="shop.b,shop.other")
    found = {int(dict(row)["v"]) for row in source.read("shop.b").elements()}
    assert {2, 3} <= found
