"""`binarrow.sync`: the rows of the target equal SELECT, for values and keys of each type."""

from __future__ import annotations

import pytest

import binarrow
from support.sync_source import Source, each_kind, two_kinds

TYPES = {
    "ti": ("TINYINT", "-128", "127"),
    "tu": ("TINYINT UNSIGNED", "0", "255"),
    "sm": ("SMALLINT", "-32768", "32767"),
    "md": ("MEDIUMINT UNSIGNED", "0", "16777215"),
    "it": ("INT UNSIGNED", "0", "4294967295"),
    "bi": ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    "bu": ("BIGINT UNSIGNED", "0", "18446744073709551615"),
    "fl": ("FLOAT", "-1.5", "0.25"),
    "db": ("DOUBLE", "-1.7976931348623157e308", "0.1"),
    "de": ("DECIMAL(38,10)", "-1234567890123456789012345678.0123456789", "0"),
    "dx": (
        "DECIMAL(65,30)",
        "-12345678901234567890123456789012345.000000000000000000000000000001",
        "1",
    ),
    "b1": ("BIT(1)", "0", "1"),
    "b9": ("BIT(9)", "0", "511"),
    "da": ("DATE", "'1000-01-01'", "'9999-12-31'"),
    "dt": ("DATETIME(6)", "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"),
    "ts": ("TIMESTAMP(3) NULL", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.999'"),
    "tm": ("TIME(6)", "'-838:59:59'", "'838:59:59'"),
    "ye": ("YEAR", "1901", "2155"),
    "ch": ("CHAR(5)", "''", "'a b'"),
    "vc": ("VARCHAR(50) CHARACTER SET utf8mb4", "'🎉 ü'", "'x '"),
    "la": ("VARCHAR(50) CHARACTER SET latin1", "'ü'", "'y'"),
    "vb": ("VARBINARY(9)", "X'00FF'", "X''"),
    "bl": ("BLOB", "X'0001'", "X'FE'"),
    "tx": ("LONGTEXT", "REPEAT('x', 70000)", "''"),
    "en": ("ENUM('a','B','it''s')", "'B'", "3"),
    "se": ("SET('a','b','c')", "'a,c'", "''"),
    "js": ("JSON", """'{"a": [1, 2.5, null], "b": "x"}'""", "'[]'"),
}
"""Columns of each type: the type, and two values."""


@two_kinds
def test_load_and_follow(source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), d DECIMAL(10,2), at DATETIME(3))",
        "INSERT INTO t VALUES (1, 'a', 1.5, '2026-01-02 03:04:05.678'), (2, NULL, NULL, NULL)",
        "CREATE TABLE none (id INT PRIMARY KEY)",
    )
    summary = source.sync()
    assert summary.changes == 2
    source.check("shop.t", "shop.none")
    source.execute(
        "UPDATE t SET v = 'b' WHERE id = 2",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t (id) VALUES (3)",
        "UPDATE t SET id = 5 WHERE id = 3",
    )
    summary = source.sync()
    assert summary.position is not None
    assert summary.position.loading is None
    source.check("shop.t", "shop.none")
    assert source.sync().changes == 0


@pytest.mark.each_target
@each_kind
def test_types(source: Source) -> None:
    """Loaded and logged values of each type, and NULL."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in TYPES.items())
    low = ", ".join(values[1] for values in TYPES.values())
    high = ", ".join(values[2] for values in TYPES.values())
    changed = ", ".join(f"{name} = {values[2]}" for name, values in TYPES.items())
    source.execute(
        f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) CHARACTER SET utf8mb4",
        f"INSERT INTO t VALUES (1, {low}), (2, {high})",
        "INSERT INTO t (id) VALUES (3)",
    )
    source.sync()
    source.check("shop.t")
    source.execute(
        f"INSERT INTO t VALUES (4, {low})",
        f"UPDATE t SET {changed} WHERE id IN (1, 3)",
        "INSERT INTO t (id) VALUES (5)",
    )
    source.sync()
    source.check("shop.t")


@pytest.mark.each_target
@each_kind
def test_keys(source: Source) -> None:
    """Keys of several columns, of text that only letter case distinguishes, and unique keys."""
    source.execute(
        "CREATE TABLE a (x VARCHAR(9) COLLATE utf8mb4_bin, y DECIMAL(5,2), v INT, PRIMARY KEY (y, x))",
        "CREATE TABLE b (u VARBINARY(4) NOT NULL, v INT, UNIQUE (u))",
        "CREATE TABLE c (d DATE, t DATETIME(6), b BIT(7), e ENUM('a','b'), v INT, PRIMARY KEY (d, t, b, e))",
        "CREATE TABLE d (n VARCHAR(9) PRIMARY KEY, v INT) COLLATE utf8mb4_general_ci",
        "INSERT INTO a VALUES ('a', 1, 1), ('A', 1, 1), ('a', 2, 1)",
        "INSERT INTO b VALUES (X'00', 1), (X'0000', 1)",
        "INSERT INTO c VALUES ('2026-01-01', '2026-01-01 00:00:00.000001', 5, 'a', 1)",
        "INSERT INTO d VALUES ('a', 1), ('ü', 2)",
    )
    source.sync()
    source.execute(
        "UPDATE a SET v = v + 1 WHERE y = 1",
        "UPDATE a SET x = 'B' WHERE y = 2",
        "DELETE FROM b WHERE u = X'0000'",
        "UPDATE c SET v = 2, e = 'b'",
        "UPDATE d SET n = 'A' WHERE n = 'a'",
        "UPDATE d SET v = 3",
    )
    source.sync()
    source.check("shop.a", "shop.b", "shop.c", "shop.d")


def test_many_commits(source: Source) -> None:
    """Commits by number of rows, in the middle of transactions, with the same keys again."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    source.sync()
    values = ", ".join(f"({number}, 0)" for number in range(5000))
    source.execute(
        f"INSERT INTO t VALUES {values}",
        *(f"UPDATE t SET v = v + 1 WHERE id % {step} = 0" for step in range(2, 9)),
        "DELETE FROM t WHERE id % 11 = 0",
    )
    summary = source.sync(every=3600, max_rows_per_commit=1000)
    assert summary.commits >= summary.changes // 2000
    assert summary.commits <= summary.changes // 1000 + 1
    source.check("shop.t")


@each_kind
def test_history(source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1)",
    )
    source.sync(mode="history")
    source.execute(
        "UPDATE t SET v = 2",
        "ALTER TABLE t ADD COLUMN c INT DEFAULT 9, RENAME COLUMN v TO w",
        "UPDATE t SET w = 3",
        "TRUNCATE t",
        "INSERT INTO t VALUES (5, 5, 5)",
    )
    source.sync(mode="history")
    rows = source.read("shop.t")
    found = [dict(row) for row in rows.elements()]
    found.sort(key=lambda row: (int(row["_commit_version"]), int(row["_change_ordinal"])))
    assert [(row["_change_type"], row["id"], row["v"], row["w"], row["c"]) for row in found] == [
        ("insert", "1", "1", "NULL", "NULL"),
        ("update_preimage", "1", "1", "NULL", "NULL"),
        ("update_postimage", "1", "2", "NULL", "NULL"),
        ("update_preimage", "1", "NULL", "2", "9"),
        ("update_postimage", "1", "NULL", "3", "9"),
        ("truncate", "NULL", "NULL", "NULL", "NULL"),
        ("insert", "5", "NULL", "5", "5"),
    ]


@two_kinds
def test_structures_are_in_the_target(source: Source) -> None:
    """A sync that was stopped before ALTER TABLE decodes the rows before it."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1, 2, 3)"
    )
    source.sync()
    source.execute(
        "UPDATE t SET a = 5",
        "ALTER TABLE t DROP COLUMN a, ADD COLUMN c INT FIRST",
        "UPDATE t SET c = 6",
        "ALTER TABLE t RENAME COLUMN b TO a",
        "UPDATE t SET a = 7",
        "ALTER TABLE t DROP COLUMN c",
    )
    source.sync()
    source.check("shop.t")


def test_generated_columns(source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, g INT AS (v * 2) STORED, w INT AS (v + 1) VIRTUAL)",
        "INSERT INTO t (id, v) VALUES (1, 1)",
    )
    source.sync()
    source.check("shop.t")
    source.execute("UPDATE t SET v = 5", "INSERT INTO t (id, v) VALUES (2, 2)")
    source.sync()
    source.check("shop.t")
    assert binarrow.SyncError.__mro__[1] is binarrow.BinarrowError


@two_kinds
def test_history_of_a_table_without_key(source: Source) -> None:
    source.execute(
        "GRANT RELOAD ON *.* TO mirror@'%'",
        "CREATE TABLE t (v INT)",
        "INSERT INTO t VALUES (1), (1), (2)",
        "CREATE TABLE k (id INT PRIMARY KEY)",
        "INSERT INTO k VALUES (1)",
    )
    source.sync(mode="history", locks="brief")
    source.execute("INSERT INTO t VALUES (1), (3)", "DELETE FROM t WHERE v = 2")
    source.sync(mode="history", locks="brief")
    source.sync(mode="history", locks="brief")
    rows = [dict(row) for row in source.read("shop.t").elements()]
    found = sorted((row["_change_type"], row["v"]) for row in rows)
    inserted = [("insert", value) for value in ("1", "1", "1", "2", "3")]
    assert found == [("delete", "2"), *inserted]
    assert source.read("shop.k").total() == 1


def test_partial_row_images(source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)", "INSERT INTO t VALUES (1, 1, 1)"
    )
    source.sync()
    source.execute(
        "SET SESSION binlog_row_image = MINIMAL",
        "UPDATE t SET v = 2",
        "SET SESSION binlog_row_image = FULL",
    )
    with pytest.raises(binarrow.SyncError, match="binlog_row_image=FULL"):
        source.sync()
