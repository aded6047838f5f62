"""`on_table_error="park"`: an error of one table does not stop the others, and it can be loaded again."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import binarrow
from support.oracles.duckdb_tables import read_source, read_target
from support.oracles.iceberg_tables import catalog_of
from support.servers.servers import Server
from support.sync_source import Source, each_kind, two_kinds

PARKS = {"on_table_error": "park"}
FAILS = {"schema_changes": "fail", "on_truncate": "fail", "on_drop": "fail", **PARKS}


@pytest.fixture
def shop(source: Source) -> Source:
    """Two tables in the target."""
    source.execute(
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 10), (2, 20)",
        "CREATE TABLE u LIKE t",
        "INSERT INTO u SELECT * FROM t",
    )
    source.sync()
    return source


def parked(summary: binarrow.SyncSummary) -> dict[str, str]:
    """The tables that are parked, with the reasons."""
    return {
        ".".join(name): one.reason for name, one in summary.tables.items() if one.status == "parked"
    }


def check_parked(source: Source, reasons: dict[str, str], **keywords: Any) -> None:
    """Syncs: these tables are parked, in this run and in the next one."""
    for _ in range(2):
        found = parked(source.sync(**{**FAILS, **keywords}))
        assert found.keys() == reasons.keys()
        for table, words in reasons.items():
            assert words in found[table]


def change_all(server: Server, tables: Iterable[str]) -> None:
    for table in tables:
        server.execute(f"UPDATE {table} SET v = v + 1", f"DELETE FROM {table} WHERE id = 2")


STATEMENTS = {
    "added": ("ALTER TABLE added ADD COLUMN c INT DEFAULT 5", "has other columns"),
    "keyless": ("ALTER TABLE keyless DROP PRIMARY KEY", "has no primary key"),
    "emptied": ("TRUNCATE emptied", "was emptied"),
    "dropped": ("DROP TABLE dropped", "was dropped"),
}
"""For each table, a statement that the options do not permit, and words of the reason."""


@each_kind
def test_statements(shop: Source) -> None:
    """The target has all changes before the statement, and none after it, until a reload."""
    for table in STATEMENTS:
        shop.execute(f"CREATE TABLE {table} LIKE t", f"INSERT INTO {table} SELECT * FROM t")
    shop.sync()
    before = {}
    for table, (statement, _) in STATEMENTS.items():
        shop.execute(f"UPDATE {table} SET v = 11 WHERE id = 1")
        before[table] = read_source(shop.server, f"shop.{table}")
        shop.execute(statement, "UPDATE u SET v = v + 1")
        if table != "dropped":
            shop.execute(f"INSERT INTO {table} (id) VALUES (9)")
    reasons = {f"shop.{table}": words for table, (_, words) in STATEMENTS.items()}
    check_parked(shop, reasons)
    shop.execute(
        "CREATE TABLE dropped (id INT PRIMARY KEY, s TEXT)",
        "INSERT INTO dropped VALUES (1, '')",
        "ALTER TABLE keyless ADD PRIMARY KEY (id)",
    )
    check_parked(shop, reasons)
    assert {table: shop.read(f"shop.{table}") for table in STATEMENTS} == before
    shop.check("shop.u")
    assert parked(shop.sync(reload="shop.*")) == {}
    for table in STATEMENTS:
        shop.execute(f"UPDATE {table} SET id = 5 WHERE id = 1")
    shop.sync()
    shop.check("shop.u", *reasons)


@two_kinds
def test_each_table_of_a_statement(shop: Source) -> None:
    before = shop.read("shop.t")
    shop.execute("CREATE TABLE w LIKE t", "DROP TABLE t, w", "DELETE FROM u WHERE id = 1")
    summary = shop.sync(on_drop="fail", **PARKS)
    assert [*parked(summary)] == ["shop.t", "shop.w"]
    shop.check("shop.u")
    assert shop.read("shop.t") == before


@two_kinds
@pytest.mark.parametrize("on_drop", ["keep", "fail"])
def test_renames(shop: Source, on_drop: str) -> None:
    """A parked table that gets another name is a new table, and its old name is dropped."""
    before = shop.read("shop.t")
    shop.execute("TRUNCATE t", "INSERT INTO t VALUES (7, 7)")
    check_parked(shop, {"shop.t": "was emptied"})
    shop.execute(
        "CREATE TABLE n (id INT PRIMARY KEY, v INT)",
        "INSERT INTO n VALUES (8, 8)",
        "RENAME TABLE t TO old, n TO t",
        "ALTER TABLE u RENAME TO moved",
        "INSERT INTO t VALUES (9, 9)",
        "INSERT INTO old VALUES (9, 9)",
    )
    if on_drop == "keep":
        check_parked(shop, {}, on_drop=on_drop)
    else:
        check_parked(shop, {"shop.t": "was emptied", "shop.n": "was renamed to shop.t"})
        assert shop.read("shop.t") == before
        shop.sync(reload="shop.t", on_table_error="park")
    shop.check("shop.t", "shop.old", "shop.moved")


@two_kinds
def test_drops(shop: Source) -> None:
    """The option for DROP is applied to parked tables too, except "fail"."""
    shop.execute("TRUNCATE t", "TRUNCATE u")
    reasons = {"shop.t": "was emptied", "shop.u": "was emptied"}
    check_parked(shop, reasons)
    shop.execute("DROP TABLE t")
    check_parked(shop, reasons)
    shop.execute("CREATE TABLE t (id INT PRIMARY KEY)", "DROP TABLE t, u")
    check_parked(shop, {}, on_drop="keep")
    assert shop.read("shop.t").total() == 2
    shop.execute("CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (4)")
    shop.sync()
    shop.check("shop.u")


@each_kind
def test_rows_that_cannot_be_stored(shop: Source) -> None:
    """A date that is zero in a key is found when the changes of a commit are reduced."""
    shop.execute(
        "CREATE TABLE d (day DATE PRIMARY KEY, v INT)",
        "INSERT INTO d VALUES ('2020-01-01', 1)",
    )
    shop.sync()
    before = shop.read("shop.d")
    shop.execute(
        "SET SESSION sql_mode = ''",
        "INSERT INTO d VALUES ('0000-00-00', 2)",
        "RENAME TABLE u TO n",
        "INSERT INTO n VALUES (3, 3)",
    )
    change_all(shop.server, ["shop.t", "shop.n"])
    check_parked(shop, {"shop.d": "is NULL in a row"})
    assert shop.read("shop.d") == before
    shop.check("shop.t", "shop.n")
    found = parked(shop.sync(reload="shop.*", **PARKS))  # it fails again
    assert [*found] == ["shop.d"]
    shop.check("shop.t", "shop.n")
    shop.execute("DELETE FROM d WHERE v = 2", "INSERT INTO d VALUES ('2020-01-02', 2)")
    check_parked(shop, {"shop.d": "is NULL in a row"})
    shop.sync(reload="shop.d")
    shop.check("shop.d")


def test_a_new_target(source: Source) -> None:
    """Tables that cannot be synced are parked before the first commit."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1)",
        "CREATE TABLE n (v INT)",
        "CREATE TABLE e (id INT PRIMARY KEY, _commit_version INT)",
    )
    reasons = {"shop.n": "has no primary key", "shop.e": "the envelope"}
    check_parked(source, reasons)
    source.check("shop.t")
    source.execute("ALTER TABLE n ADD PRIMARY KEY (v)", "INSERT INTO n VALUES (4)")
    assert [*parked(source.sync(reload="shop.*", **PARKS))] == ["shop.e"]
    source.check("shop.t", "shop.n")


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_column_that_the_format_does_not_permit(source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1)",
        "CREATE TABLE n (id INT PRIMARY KEY, `a.b;c` INT)",
    )
    check_parked(source, {"shop.n": "a character that"})
    source.execute(
        "CREATE TABLE m LIKE n",
        "INSERT INTO m VALUES (1, 1)",
        "RENAME TABLE m TO o",
        "INSERT INTO t VALUES (2, 2)",
    )
    words = "a character that"
    check_parked(source, {"shop.n": words, "shop.o": words}, on_drop="keep")
    source.execute("ALTER TABLE n CHANGE `a.b;c` c INT", "INSERT INTO n VALUES (5, 5)")
    check_parked(source, {"shop.o": words}, reload="shop.n", on_drop="keep")
    source.check("shop.t", "shop.n")


def test_names_that_are_taken(shop: Source) -> None:
    with duckdb.connect(str(shop.file)) as file:
        file.execute("CREATE TABLE shop.other (x INT)")
        file.execute("INSERT INTO shop.other VALUES (1)")
    shop.execute(
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "INSERT INTO other VALUES (1), (2)",
        "INSERT INTO t VALUES (3, 3)",
    )
    reasons = {"shop.other": "that no sync created"}
    if not shop.server.is_mariadb:
        shop.execute("CREATE TABLE T (id INT PRIMARY KEY)", "INSERT INTO T VALUES (1)")
        reasons["shop.T"] = "differ only in letter case"
    check_parked(shop, reasons)
    shop.check("shop.t", "shop.u")
    assert parked(shop.sync(reload="shop.other", **PARKS)).keys() == reasons.keys()
    assert read_target(shop.file, "shop.other").total() == 1
    with duckdb.connect(str(shop.file)) as file:
        file.execute("DROP TABLE shop.other")
    shop.sync(reload="shop.other", **PARKS)
    shop.check("shop.other")


@each_kind
def test_a_table_that_another_program_has_changed(shop: Source) -> None:
    """It is found when the commit is written, or after it."""
    other = pa.table({"x": [1, 2]})
    if shop.kind == "duckdb":
        with duckdb.connect(str(shop.file)) as file:
            file.execute("CREATE OR REPLACE TABLE shop.t (x INT)")
    elif shop.kind == "delta":
        shutil.rmtree(shop.file / "shop" / "t")
        write_deltalake(str(shop.file / "shop" / "t"), other)
    else:
        catalog = catalog_of(shop.file)
        catalog.drop_table("shop.t")
        catalog.create_table("shop.t", other.schema).append(other)
    change_all(shop.server, ["t", "u"])
    with pytest.raises(binarrow.SyncError, match=r"shop\.t"):
        shop.sync()
    assert [*parked(shop.sync(**PARKS))] == ["shop.t"]
    shop.check("shop.u")
    change_all(shop.server, ["t", "u"])
    shop.sync(**PARKS)
    shop.check("shop.u")
    shop.sync(reload="shop.t")
    shop.check("shop.t", "shop.u")


@two_kinds
def test_foreign_keys(source: Source) -> None:
    """The rows of children are those of SELECT when a parent or a child is parked."""
    source.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY, a INT, v INT,"
        " FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE)",
        "CREATE TABLE c (id INT PRIMARY KEY, b INT, v INT,"
        " FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE)",
        "INSERT INTO a VALUES (1), (2), (3), (4), (5)",
        "INSERT INTO b VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0), (5, 5, 0)",
        "INSERT INTO c VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0), (5, 5, 0)",
    )
    source.sync()
    tables = ("a", "b", "c")
    for number, table in enumerate(tables, 1):
        source.execute(
            f"ALTER TABLE {table} ADD COLUMN x INT", f"DELETE FROM a WHERE id = {number}"
        )
        check_parked(source, {f"shop.{table}": "has other columns"}, schema_changes="fail")
        source.execute(
            f"DELETE FROM a WHERE id = {number + 1}", f"INSERT INTO a (id) VALUES ({number + 20})"
        )
        check_parked(source, {f"shop.{table}": "has other columns"}, schema_changes="fail")
        source.check(*(f"shop.{one}" for one in tables if one != table))
        source.sync(reload=f"shop.{table}")
        source.check(*(f"shop.{one}" for one in tables))
        source.execute(
            f"INSERT INTO a (id) VALUES ({number})",
            f"INSERT INTO b (id, a) VALUES ({number + 9}, {number + 2})",
        )


def test_histories(source: Source) -> None:
    """The history has the changes up to the error, and after a reload the rows of that time."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1)",
        "CREATE TABLE k (v INT)",
        "INSERT INTO k VALUES (1)",
    )
    given = {"mode": "history", "locks": "brief", **FAILS}
    source.execute("GRANT RELOAD ON *.* TO mirror@'%'")
    source.sync(**given)
    source.execute("UPDATE t SET v = 2", "TRUNCATE t", "INSERT INTO t VALUES (2, 2)", "TRUNCATE k")
    assert [*parked(source.sync(**given))] == ["shop.k", "shop.t"]
    kinds = [dict(row)["_change_type"] for row in source.read("shop.t").elements()]
    assert sorted(kinds) == ["insert", "update_postimage", "update_preimage"]
    summary = source.sync(reload="shop.*", **given)
    assert "cannot be loaded again" in parked(summary)["shop.k"]
    assert len(parked(summary)) == 1
    kinds = [dict(row)["_change_type"] for row in source.read("shop.t").elements()]
    assert sorted(kinds) == ["insert", "insert", "update_postimage", "update_preimage"]
    source.execute("DROP TABLE k", "CREATE TABLE k (v INT)", "INSERT INTO k VALUES (1)")
    assert parked(source.sync(reload="shop.k", **{**given, "on_drop": "keep"})) == {}
    assert source.read("shop.k").total() == 2


def test_reload_of_other_tables(shop: Source) -> None:
    """Tables that are not parked can be loaded again too."""
    with duckdb.connect(str(shop.file)) as file:
        file.execute("DELETE FROM shop.t; UPDATE shop.u SET v = 0")
    shop.execute("INSERT INTO t VALUES (3, 3)")
    summary = shop.sync(reload=["shop.t", "shop.x*"])
    assert (summary.tables["shop", "t"].loads, summary.tables["shop", "u"].loads) == (1, 0)
    shop.check("shop.t")
    shop.sync(reload="*.u")
    shop.check("shop.u")
    with pytest.raises(binarrow.SyncError, match="no table that reload= and tables= select"):
        shop.sync(reload="shop.none")


def test_a_parked_table_that_is_not_selected(shop: Source) -> None:
    """It is left out, and loaded when it is selected again."""
    shop.execute("TRUNCATE t")
    check_parked(shop, {"shop.t": "was emptied"})
    summary = shop.sync(tables="shop.u")
    assert summary.tables["shop", "t"].status == "left out"
    assert parked(shop.sync()) == {}
    shop.check("shop.t", "shop.u")


UNKNOWN = "X'D2'"
"""A byte that is no character of the character set greek, which a column accepts all the same."""


@two_kinds
def test_rows_that_cannot_be_decoded(shop: Source) -> None:
    """An error of the stream names its table: the rows of others in the same transaction are not lost."""
    shop.execute(
        "CREATE TABLE g (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET greek, v INT)",
        "INSERT INTO g VALUES (1, 'a', 1), (2, 'b', 2)",
    )
    shop.sync()
    before = shop.read("shop.g")
    shop.execute(
        "BEGIN",
        "UPDATE t SET v = 11 WHERE id = 1",
        f"INSERT INTO g VALUES (3, {UNKNOWN}, 3)",
        "INSERT INTO u VALUES (3, 3)",
        "COMMIT",
        "UPDATE u SET v = 12 WHERE id = 1",
    )
    change_all(shop.server, ["shop.t", "shop.g"])
    with pytest.raises(binarrow.BinarrowError, match="column s") as caught:
        shop.sync()
    assert caught.value.table == ("shop", "g")
    assert shop.read("shop.g") == before
    check_parked(shop, {"shop.g": "column s"})
    shop.check("shop.t", "shop.u")
    assert shop.read("shop.g") == before
    change_all(shop.server, ["shop.u", "shop.g"])
    check_parked(shop, {"shop.g": "column s"})
    shop.check("shop.t", "shop.u")
    assert [*parked(shop.sync(reload="shop.g", **PARKS))] == ["shop.g"]  # the row still exists
    shop.execute("DELETE FROM g WHERE id = 3", "UPDATE t SET v = 13")
    assert parked(shop.sync(reload="shop.g", **PARKS)) == {}
    shop.check("shop.t", "shop.u", "shop.g")


@two_kinds
def test_rows_that_cannot_be_loaded(source: Source) -> None:
    """A table that fails during the load of several: the others are loaded completely."""
    values = ", ".join(f"({number}, {number})" for number in range(3000))
    for table in "abcd":
        source.execute(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT)",
            f"INSERT INTO {table} VALUES {values}",
        )
    source.execute(
        "ALTER TABLE b ADD COLUMN s VARCHAR(9) CHARACTER SET greek",
        f"UPDATE b SET s = {UNKNOWN} WHERE id = 2500",
    )
    check_parked(source, {"shop.b": "column s"}, every=0.1)
    source.check("shop.a", "shop.c", "shop.d")
    source.execute("UPDATE b SET s = NULL", "DELETE FROM a WHERE id < 10")
    source.sync(reload="shop.b")
    source.check("shop.a", "shop.b", "shop.c", "shop.d")


def test_a_name_that_is_a_pattern(shop: Source) -> None:
    """It is not excluded by its name, which other tables have too: the sync ends."""
    shop.execute(
        "CREATE TABLE `g*` (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET greek)",
        "CREATE TABLE gold (id INT PRIMARY KEY)",
    )
    shop.sync()
    shop.execute(f"INSERT INTO `g*` VALUES (1, {UNKNOWN})", "INSERT INTO gold VALUES (1)")
    with pytest.raises(binarrow.BinarrowError, match="column s"):
        shop.sync(**PARKS)
    summary = shop.sync(exclude_tables="shop.g?")
    assert summary.tables["shop", "g*"].status == "left out"
    shop.check("shop.gold")


@two_kinds
def test_rows_of_a_parent_that_cannot_be_decoded(source: Source) -> None:
    """The children of a table that the stream leaves out have the rows of SELECT."""
    source.execute(
        "CREATE TABLE a (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET greek)",
        "CREATE TABLE b (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE)",
        "INSERT INTO a VALUES (1, ''), (2, ''), (3, '')",
        "INSERT INTO b VALUES (1, 1), (2, 2), (3, 3)",
    )
    source.sync()
    source.execute(
        "DELETE FROM a WHERE id = 1",
        f"UPDATE a SET s = {UNKNOWN} WHERE id = 2",
        "DELETE FROM a WHERE id = 3",
    )
    check_parked(source, {"shop.a": "column s"})
    source.check("shop.b")
    source.execute(
        "DELETE FROM a WHERE id = 2", "INSERT INTO a VALUES (4, '')", "INSERT INTO b VALUES (4, 4)"
    )
    check_parked(source, {"shop.a": "column s"})
    source.check("shop.b")
