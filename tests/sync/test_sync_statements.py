"""Statements that change tables: the target equals SELECT after each of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import duckdb
import pytest
from deltalake.exceptions import TableNotFoundError
from pyiceberg.exceptions import NoSuchTableError

import binarrow
from binarrow.syncing.structures import existing_tables
from support.sync_source import Source, each_kind, two_kinds

ALTERED = (
    "ADD COLUMN c INT",
    "ADD COLUMN c INT NOT NULL",
    "ADD COLUMN c INT NOT NULL DEFAULT 7 FIRST",
    "ADD COLUMN c VARCHAR(9) NOT NULL DEFAULT 'it''s' AFTER id",
    "ADD COLUMN c DECIMAL(9,3) DEFAULT 1.50",
    "ADD COLUMN c YEAR DEFAULT '70'",
    "ADD COLUMN c DATETIME DEFAULT CURRENT_TIMESTAMP",
    "ADD COLUMN c CHAR(4) DEFAULT 'a '",
    "ADD COLUMN c ENUM('x','y') NOT NULL",
    "ADD COLUMN c DOUBLE DEFAULT 0.1",
    "ADD COLUMN c INT AS (v * 2) STORED",
    "DROP COLUMN w",
    "DROP COLUMN w, ADD COLUMN w BIGINT DEFAULT 3",
    "RENAME COLUMN v TO x",
    "CHANGE v w INT, CHANGE w v INT AFTER id",
    "RENAME COLUMN v TO w, RENAME COLUMN w TO v",
    "CHANGE v x BIGINT",
    "MODIFY v BIGINT UNSIGNED",
    "MODIFY v VARCHAR(20)",
    "MODIFY v DOUBLE",
    "MODIFY s VARCHAR(100) CHARACTER SET utf8mb4",
    "MODIFY v TINYINT",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)",
    "CHANGE id number BIGINT NOT NULL",
    "ADD KEY (v)",
    "ENGINE=BLACKHOLE",
    "ENGINE=MyISAM",
    "COMMENT='x'",
    "CONVERT TO CHARACTER SET utf8mb4",
)


@pytest.fixture
def table(source: Source) -> Source:
    source.execute(
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT, w INT, s VARCHAR(20))",
        "INSERT INTO t VALUES (1, 10, 100, 'a'), (2, 20, 200, 'b'), (3, 30, NULL, NULL)",
    )
    source.sync()
    source.check("shop.t")
    return source


@pytest.mark.each_target
@each_kind
def test_alter_table(table: Source) -> None:
    """Each statement in a table of its own, in one run, with rows before and after it."""
    altered = [one for one in ALTERED if not table.server.is_mariadb or "BLACKHOLE" not in one]
    for number in range(len(altered)):
        table.execute(f"CREATE TABLE a{number} LIKE t", f"INSERT INTO a{number} SELECT * FROM t")
    table.sync()
    for number, clauses in enumerate(altered):
        table.execute(
            f"UPDATE a{number} SET s = 'before' WHERE id = 2",
            f"ALTER TABLE a{number} {clauses}",
            f"UPDATE a{number} SET s = 'after' WHERE s = 'a'",
        )
    table.sync()
    table.check(*(f"shop.a{number}" for number in range(len(altered))))


def test_statements_without_rows_after_them(table: Source) -> None:
    table.execute("ALTER TABLE t ADD COLUMN c INT DEFAULT 5")
    table.sync()
    table.check("shop.t")


@two_kinds
def test_truncate(table: Source) -> None:
    table.execute(
        "UPDATE t SET v = 1",
        "TRUNCATE t",
        "INSERT INTO t VALUES (9, 9, 9, 'x')",
    )
    table.sync()
    table.check("shop.t")
    table.execute("TRUNCATE t")
    table.sync()
    table.check("shop.t")


def test_truncate_by_policy(table: Source) -> None:
    before = table.read("shop.t")
    table.execute("TRUNCATE t")
    with pytest.raises(binarrow.SyncError, match=r"shop\.t was emptied"):
        table.sync(on_truncate="fail")
    table.sync(on_truncate="keep")
    assert table.read("shop.t") == before


@two_kinds
def test_drop(table: Source) -> None:
    before = table.read("shop.t")
    table.execute("DROP TABLE t")
    with pytest.raises(binarrow.SyncError, match=r"shop\.t was dropped"):
        table.sync(on_drop="fail")
    summary = table.sync()
    assert summary.tables["shop", "t"].status == "dropped"
    assert table.read("shop.t") == before
    table.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, other TEXT)", "INSERT INTO t VALUES (5, 'x')"
    )
    summary = table.sync()
    assert summary.tables["shop", "t"].status == "followed"
    table.check("shop.t")
    table.execute("DROP TABLE t", "CREATE TABLE u (id INT PRIMARY KEY)")
    table.sync(on_drop="drop")
    with pytest.raises((duckdb.CatalogException, TableNotFoundError, NoSuchTableError)):
        table.read("shop.t")
    table.check("shop.u")


def test_drop_database(table: Source) -> None:
    table.execute(
        "DROP DATABASE shop",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.n (id INT PRIMARY KEY)",
        "USE shop",
    )
    summary = table.sync()
    assert summary.tables["shop", "t"].status == "dropped"
    table.check("shop.n")


@two_kinds
@pytest.mark.parametrize(
    "statements",
    [
        ["RENAME TABLE t TO n", "INSERT INTO n VALUES (8, 8, 8, '8')"],
        ["ALTER TABLE t RENAME TO n, ADD COLUMN c INT DEFAULT 4"],
        [
            "CREATE TABLE n LIKE t",
            "INSERT INTO n SELECT id + 50, v, w, s FROM t",
            "RENAME TABLE t TO x, n TO t, x TO n",
        ],
        [
            "CREATE TABLE crm.n LIKE t",
            "INSERT INTO crm.n SELECT id + 50, v, w, s FROM t",
            "RENAME TABLE t TO crm.x, crm.n TO t, crm.x TO n",
        ],
        ["CREATE TABLE n SELECT * FROM t WHERE FALSE", "ALTER TABLE n ADD PRIMARY KEY (id)"],
    ],
    ids=["rename", "alter", "swap", "other database", "select"],
)
def test_rename(table: Source, statements: list[str]) -> None:
    table.execute("CREATE DATABASE crm")
    if "SELECT * FROM t WHERE FALSE" in statements[0]:
        table.execute("CREATE TABLE n (PRIMARY KEY (id)) SELECT * FROM t WHERE FALSE")
    else:
        table.execute("UPDATE t SET v = 77 WHERE id = 1", *statements)
    table.sync()
    table.check(
        "shop.n", *(["shop.t"] if "swap" in str(statements) or len(statements) == 3 else [])
    )


def test_a_table_that_is_replaced_when_its_load_starts(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is missing when the stream starts, and exists again when sync asks for the reason."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    created = "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 7)"
    for name, *statements in (
        ("commits", "DROP TABLE t"),
        ("follower", created, "INSERT INTO t (id) VALUES (2)"),
    ):
        module = import_module(f"binarrow.syncing.{name}")
        monkeypatch.setattr(module, "existing_tables", around(source, *statements, when=name))
    source.sync()
    source.check("shop.t")


def around(source: Source, *statements: str, when: str) -> Callable[..., object]:
    """Returns a function that asks for tables. Its first call also executes statements."""
    left = [*statements]

    def ask(*arguments: Any) -> object:
        found = existing_tables(*arguments)
        source.execute(*left)
        left.clear()
        return found if when == "commits" else existing_tables(*arguments)

    return ask


def test_create_table_select(table: Source) -> None:
    table.execute(
        "CREATE TABLE n (PRIMARY KEY (id)) SELECT id, s FROM t",
        "UPDATE n SET s = 'new' WHERE id = 2",
        "CREATE TABLE IF NOT EXISTS n (id INT PRIMARY KEY)",
        "CREATE TABLE later (id INT PRIMARY KEY)",
    )
    if table.server.is_mariadb:
        table.execute("CREATE OR REPLACE TABLE t (PRIMARY KEY (id)) SELECT id, 5 AS v FROM n")
    table.sync()
    table.check("shop.n", "shop.later", "shop.t")


def test_partitions(table: Source) -> None:
    table.execute(
        "CREATE TABLE p (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id)"
        " (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (100))",
        "INSERT INTO p VALUES (1, 1), (2, 2), (50, 50), (51, 51)",
    )
    table.sync()
    table.execute(
        "CREATE TABLE e (id INT PRIMARY KEY, v INT)",
        "INSERT INTO e VALUES (3, 3)",
        "ALTER TABLE p EXCHANGE PARTITION a WITH TABLE e",
        "ALTER TABLE p TRUNCATE PARTITION b",
        "INSERT INTO p VALUES (60, 60)",
    )
    table.sync()
    table.check("shop.p", "shop.e")


def test_schema_changes_fail(table: Source) -> None:
    table.execute("UPDATE t SET v = 5 WHERE id = 1", "ALTER TABLE t ADD KEY (v)")
    table.sync(schema_changes="fail")
    table.execute("ALTER TABLE t ADD COLUMN c INT")
    with pytest.raises(binarrow.SyncError, match=r"shop\.t has other columns"):
        table.sync(schema_changes="fail")
    table.sync()
    table.check("shop.t")


@two_kinds
def test_online_schema_change(table: Source) -> None:
    """A swap as gh-ost makes it, with and without the ghost table being followed."""
    for tables in ("shop.*", "shop.t"):
        table.execute(
            "create /* gh-ost */ table _t_gho like t",
            "alter /* gh-ost */ table _t_gho add column c int default 3, modify v bigint",
            "insert /* gh-ost */ into _t_gho (id, v, w, s) select id, v, w, s from t",
            "rename /* gh-ost */ table t to _t_del, _t_gho to t",
            "drop /* gh-ost */ table _t_del",
            "UPDATE t SET s = 'after' WHERE id = 3",
        )
        table.sync(tables=tables)
        table.check("shop.t")
        table.execute("ALTER TABLE t DROP COLUMN c")


def test_tables_change_between_runs(table: Source) -> None:
    table.execute(
        "CREATE DATABASE crm",
        "CREATE TABLE crm.p (id INT PRIMARY KEY, n TEXT)",
        "INSERT INTO crm.p VALUES (1, 'x')",
        "UPDATE t SET v = 1 WHERE id = 2",
    )
    table.sync(tables=["shop.*", "crm.*"])
    table.check("shop.t", "crm.p")
    summary = table.sync(tables="crm.*")
    assert summary.tables["shop", "t"].status == "left out"
    table.execute("DELETE FROM t WHERE id = 1", "INSERT INTO crm.p VALUES (2, 'y')")
    table.sync(tables="crm.*")
    table.check("crm.p")
    table.sync(tables="shop.*,crm.*")
    table.check("shop.t", "crm.p")


def test_sequences_and_views(table: Source) -> None:
    """They are no tables."""
    table.execute("CREATE VIEW seen AS SELECT id FROM t")
    if table.server.is_mariadb:
        table.execute("CREATE SEQUENCE numbers", "SELECT NEXT VALUE FOR numbers")
    table.execute("UPDATE t SET v = 4 WHERE id = 1", "RENAME TABLE seen TO viewed")
    table.sync()
    table.check("shop.t")
    other = table.other()
    assert [*other.sync().tables] == [("shop", "t")]


def test_a_key_with_a_computed_column(table: Source) -> None:
    if not table.server.is_mariadb:
        return
    table.execute(
        "CREATE TABLE versions (id INT, b TIMESTAMP(6) GENERATED ALWAYS AS ROW START,"
        " e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PRIMARY KEY (id, e),"
        " PERIOD FOR SYSTEM_TIME (b, e)) WITH SYSTEM VERSIONING"
    )
    other = table.other()
    with pytest.raises(binarrow.SyncError, match=r"shop\.versions: MariaDB computes the column e"):
        other.sync()
    other.sync(exclude_tables="shop.versions")


def test_settings_are_checked(table: Source) -> None:
    other = table.other()
    table.execute("SET GLOBAL binlog_row_image = MINIMAL")
    with pytest.raises(binarrow.SyncError, match="SET GLOBAL binlog_row_image = FULL"):
        other.sync()
    table.execute("SET GLOBAL binlog_row_image = FULL")
    assert other.last_commit is None


def test_the_stored_history_stays_small(table: Source) -> None:
    """The target has the structures at its position, and not all statements since it was created."""
    for number in range(4):
        altered = [f"ALTER TABLE t ADD c{number}{one} INT" for one in range(9)]
        table.execute(*altered[number:], "UPDATE t SET v = v + 1")
        table.sync()
    with duckdb.connect(str(table.file)) as file:
        stored = file.execute("SELECT file FROM _binarrow.structures").fetchall()
    history = table.folder / "stored.db"
    history.write_bytes(stored[0][0])
    with binarrow.SchemaHistory.open(history) as opened:
        assert len([*opened.changes()]) == 6  # of the last run
        found = opened.find("shop", "t")
        assert found
        assert found.columns[-1].name == "c38"
    table.execute("ALTER TABLE t DROP COLUMN c03", "UPDATE t SET v = v + 1")
    table.sync()
    table.check("shop.t")


@pytest.mark.parametrize("kind", ["delta"])
def test_tables_that_are_read_again_together(table: Source) -> None:
    """In a mirror, several statements after which tables are read again cause one load, not one load each."""
    table.execute("CREATE TABLE u LIKE t", "INSERT INTO u SELECT * FROM t")
    table.sync()
    table.execute(
        "ALTER TABLE t ADD x DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
        "UPDATE t SET v = v + 1 WHERE id = 1",
        "ALTER TABLE u MODIFY s VARCHAR(20) DEFAULT 'x', MODIFY v TINYINT",
        "DELETE FROM u WHERE id = 2",
        "RENAME TABLE u TO w, t TO u, w TO t",
        "ALTER TABLE t ADD y DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
        "INSERT INTO t (id) VALUES (9)",
    )
    summary = table.sync()
    table.check("shop.t", "shop.u")
    assert [one.loads for one in summary.tables.values()] == [1, 1]
    assert summary.commits <= 3
