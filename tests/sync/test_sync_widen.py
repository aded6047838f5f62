"""`schema_changes="widen"`: wider types and new columns are applied, any other change is refused before it."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import binarrow
from binarrow.syncing import tables
from binarrow.syncing.schema_text import schema_of_text, text_of_schema
from support import live
from support.sync_source import Source, two_kinds

COLUMNS = (
    "id INT NOT NULL PRIMARY KEY, i INT, u INT UNSIGNED, d DECIMAL(6,2), f FLOAT, c CHAR(4), v VARCHAR(9),"
    " x TINYTEXT, b VARBINARY(4), n BINARY(4), y TINYBLOB, e ENUM('p','q'), s SET('p','q'), t DATETIME(2),"
    " k TIMESTAMP(0) NULL, o TIME(1), w BIT(3), r INT NOT NULL, l VARCHAR(9) CHARACTER SET latin1"
)
VALUES = (
    (
        "1, -7, 4000000000, -1234.56, 0.25, 'a', 'ü', 'x', X'0001', X'01', X'FF', 'q', 'p,q',"
        " '2020-02-29 01:02:03.45', '2020-01-01 00:00:01', '-10:00:00.5', b'101', 5, 'é'"
    ),
    (
        "2, NULL, 0, 0.01, -1.5, '', '', '', '', '', '', 'p', '', '1999-12-31 23:59:59.99', NULL,"
        " '800:00:00.1', b'0', -5, ''"
    ),
)

PERMITTED = (
    "ADD COLUMN a INT",
    "ADD COLUMN a INT NOT NULL DEFAULT 7 FIRST, ADD COLUMN z VARCHAR(9) DEFAULT 'z' AFTER i",
    "ADD COLUMN a DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP",
    "ADD COLUMN a BIGINT AS (i + 1) STORED",
    "MODIFY i BIGINT",
    "MODIFY u BIGINT",
    "MODIFY u BIGINT UNSIGNED",
    "MODIFY d DECIMAL(9,4)",
    "MODIFY d DECIMAL(7,3)",
    "MODIFY d DECIMAL(40,2)",
    "MODIFY f DOUBLE",
    "MODIFY c CHAR(200)",
    "MODIFY c VARCHAR(4)",
    "MODIFY c TEXT",
    "MODIFY v VARCHAR(300)",
    "MODIFY v MEDIUMTEXT",
    "MODIFY x LONGTEXT",
    "MODIFY b VARBINARY(300)",
    "MODIFY b BLOB",
    "MODIFY n VARBINARY(4)",
    "MODIFY y MEDIUMBLOB",
    "MODIFY e ENUM('p','q','r')",
    "MODIFY s SET('p','q','r','t','u','v','w','x','y')",
    "MODIFY t DATETIME(6)",
    "MODIFY k TIMESTAMP(3) NULL",
    "MODIFY o TIME(6)",
    "MODIFY w BIT(40)",
    "MODIFY r INT NULL",
    "MODIFY r BIGINT NULL, ADD COLUMN a INT, MODIFY d DECIMAL(8,3)",
    "ADD KEY (i)",
    "COMMENT='x'",
    "MODIFY i INT DEFAULT 9 FIRST",
)

REFUSED = (
    ("DROP COLUMN i", "the column i is dropped"),
    ("DROP COLUMN i, ADD COLUMN i BIGINT", "changes existing values"),
    ("RENAME COLUMN i TO a", "the column i is renamed to a"),
    ("CHANGE i a BIGINT", "the column i is renamed to a"),
    ("CHANGE i u INT UNSIGNED, CHANGE u i INT UNSIGNED", "is renamed"),
    ("ADD COLUMN a INT NOT NULL", "the new column a is NOT NULL"),
    ("MODIFY r SMALLINT NOT NULL", "gets the type SMALLINT"),
    ("MODIFY r INT UNSIGNED", "gets the type INT"),
    ("MODIFY u INT", "gets the type INT"),
    ("MODIFY i VARCHAR(30)", "gets the type VARCHAR(30), not INT"),
    ("MODIFY i DOUBLE", "gets the type DOUBLE"),
    ("MODIFY d DECIMAL(7,4)", "gets the type DECIMAL(7,4)"),
    ("MODIFY d DECIMAL(9,1)", "gets the type DECIMAL(9,1)"),
    ("MODIFY d DOUBLE", "gets the type DOUBLE"),
    ("MODIFY c CHAR(1)", "gets the type CHAR(1)"),
    ("MODIFY v VARCHAR(8)", "gets the type VARCHAR(8)"),
    ("MODIFY v CHAR(9)", "gets the type CHAR(9)"),
    ("MODIFY v TINYTEXT", "gets the type TINYTEXT"),
    ("MODIFY v VARCHAR(9) CHARACTER SET utf16", "the character set utf16"),
    ("MODIFY l VARCHAR(9) CHARACTER SET utf8mb4", "the character set utf8mb4"),
    ("MODIFY v VARBINARY(90)", "gets the type VARBINARY(90)"),
    ("MODIFY b VARCHAR(90)", "gets the type VARCHAR(90)"),
    ("MODIFY n BINARY(9)", "gets the type BINARY(9)"),
    ("MODIFY e ENUM('q','p')", "gets the type ENUM(...)"),
    ("MODIFY e ENUM('a','p','q')", "gets the type ENUM(...)"),
    ("MODIFY e SET('p','q')", "gets the type SET(...)"),
    ("MODIFY s SET('q','p')", "gets the type SET(...)"),
    ("MODIFY t DATETIME(0)", "gets the type DATETIME"),
    ("MODIFY t DATE", "gets the type DATE"),
    ("MODIFY w BIT(3) NOT NULL DEFAULT b'1'", "becomes NOT NULL"),
    ("MODIFY t DATETIME(2) NOT NULL", "becomes NOT NULL"),
)


@two_kinds
def test_changes(source: Source) -> None:
    """Each statement in a table of its own, in one run, with rows before and after it."""
    statements = [*((one, "") for one in PERMITTED), *REFUSED]
    if source.kind != "duckdb":
        statements = statements[::3]
    tables = {f"t{number}": one for number, one in enumerate(statements)}
    rows = ", ".join(f"({values})" for values in VALUES)
    for table in tables:
        source.execute(f"CREATE TABLE {table} ({COLUMNS})", f"INSERT INTO {table} VALUES {rows}")
    source.sync()
    before = {}
    for table, (clauses, words) in tables.items():
        source.execute(f"UPDATE {table} SET r = 6 WHERE id = 2")
        if clauses == "MODIFY f DOUBLE":
            source.execute(f"UPDATE {table} SET f = 0.1 WHERE id = 1")
        before[table] = source.selected(f"shop.{table}")
        source.execute(
            f"SET SESSION sql_mode = '{'' if words else 'STRICT_TRANS_TABLES'}'",
            f"ALTER TABLE {table} {clauses}",
            f"UPDATE {table} SET s = 'p' WHERE id = 1",
        )
    reasons = parked(source.sync(schema_changes="widen", on_table_error="park"))
    assert reasons.keys() == {table for table, (_, words) in tables.items() if words}, reasons
    for table, reason in reasons.items():
        clauses, words = tables[table]
        assert words in reason, (clauses, reason)
        assert f"shop.{table} was altered at" in reason
        assert (
            f"schema_changes='follow', or load the table again with reload='shop.{table}'" in reason
        )
        assert source.read(f"shop.{table}") == before[table], clauses
    source.check(*(f"shop.{table}" for table in tables if table not in reasons))
    source.sync(schema_changes="widen", reload=[f"shop.{table}" for table in reasons])
    source.check(*(f"shop.{table}" for table in tables))


def parked(summary: binarrow.SyncSummary) -> dict[str, str]:
    """The tables that are parked, with the reasons."""
    return {name[1]: one.reason for name, one in summary.tables.items() if one.status == "parked"}


@pytest.mark.parametrize("policy", ["widen", "fail"])
def test_an_error_and_the_ways_to_continue(source: Source, policy: str) -> None:
    """The target has the rows of the last commit; a load, or `follow`, continues after the statement."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)",
        "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)",
    )
    source.sync()
    for clauses, given in (("DROP COLUMN w", {"reload": "shop.t"}), ("CHANGE v w INT", {})):
        before = source.selected("shop.t")
        source.execute(
            "UPDATE t SET v = v + 1", f"ALTER TABLE t {clauses}", "INSERT INTO t (id) VALUES (3)"
        )
        for _ in range(2):
            with pytest.raises(
                binarrow.SyncError, match=r"shop\.t (was altered|has other columns)"
            ):
                source.sync(schema_changes=policy)
            assert source.read("shop.t") == before
        source.sync(**{"schema_changes": policy if given else "follow", **given})
        source.check("shop.t")
        source.execute("DELETE FROM t WHERE id = 3")
        source.sync()


def test_only_a_load_that_runs_permits_a_statement(source: Source) -> None:
    """A table that was loaded again in this run has the same policy as the others afterwards."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1)",
        "CREATE TABLE u (id INT PRIMARY KEY)",
    )
    source.sync()
    given = {"schema_changes": "widen", "reload": "shop.t", "on_table_error": "park"}
    with source.syncing(**given) as progress:
        live.until(lambda: progress.stats().complete_through)
        source.execute("ALTER TABLE t DROP COLUMN v", "INSERT INTO u VALUES (1)")
        live.until(lambda: progress.stats().tables["shop", "t"].status == "parked")


def test_an_online_schema_change(source: Source) -> None:
    """The structures before and after the exchange of names are compared."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)", "INSERT INTO t VALUES (1, 1, 1)"
    )
    source.sync(tables="shop.t")
    for clauses in ("ADD COLUMN c INT DEFAULT 3, MODIFY v BIGINT", "DROP COLUMN v"):
        source.execute(
            "create /* gh-ost */ table _t_gho like t",
            f"alter /* gh-ost */ table _t_gho {clauses}",
            "insert /* gh-ost */ into _t_gho (id, w) select id, w from t",
            "rename /* gh-ost */ table t to _t_del, _t_gho to t",
            "drop /* gh-ost */ table _t_del",
        )
        if "DROP" in clauses:
            with pytest.raises(binarrow.SyncError, match="the column v is dropped"):
                source.sync(tables="shop.t", schema_changes="widen")
        else:
            source.sync(tables="shop.t", schema_changes="widen")
            source.check("shop.t")


def test_rows_with_other_columns_than_expected(source: Source) -> None:
    """The table is read again with the columns of its rows, once: not again and again."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    source.sync()
    with duckdb.connect(str(source.file)) as file:
        [(text,)] = file.sql("SELECT columns FROM _binarrow.tables").fetchall()
        schema = schema_of_text(text)
        other = schema.set(1, pa.field("v", pa.int64()))
        file.execute("UPDATE _binarrow.tables SET columns = ?", [text_of_schema(other)])
    source.execute("INSERT INTO t VALUES (2, 2)")
    summary = source.sync()
    assert summary.tables["shop", "t"].loads == 1
    source.check("shop.t")
    source.execute("INSERT INTO t VALUES (3, 3)")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "fits", lambda *_: False)
        with pytest.raises(binarrow.SyncError, match="also after they were read again"):
            source.sync()
    source.sync()
    source.check("shop.t")
