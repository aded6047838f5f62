"""Names in statements whose letter case differs from the names in row events (`lower_case_table_names`).

A server with `lower_case_table_names=1` logs row events with lower-case names, and statements as they were typed. A mirror
that follows its log must equal what SELECT returns, or the read ends with an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest

import binarrow
from support import live
from support.extent import IS_ALL
from support.servers.servers import Server

FLAVORS = ("mysql-5.7", "mariadb-11.8")
if IS_ALL:
    FLAVORS = ("mysql", "mysql-5.7", "mysql-5.6", "mariadb-11.8", "mariadb-10.11", "mariadb-10.5")

ORDERS = "CREATE TABLE Shop.Orders (Id DECIMAL(9,0) PRIMARY KEY)"
NAMES = {"column_names": "positional"}  # MySQL 5 logs none
ONE_COLUMN = {**NAMES, "envelope": "change_type"}


@pytest.fixture(scope="module", params=FLAVORS)
def folding(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that stores names of tables in lower case."""
    with live.server(request.param, "--lower-case-table-names=1") as server:
        yield server


@pytest.fixture
def shop(folding: Server) -> Iterator[Server]:
    folding.execute("CREATE DATABASE Shop", ORDERS, "INSERT INTO SHOP.ORDERS VALUES (1)")
    folding.flush_binlog()
    yield folding
    folding.execute("DROP DATABASE IF EXISTS Shop")


EMPTY = [
    ["TRUNCATE TABLE Shop.ORDERS"],
    ["USE Shop", "TRUNCATE Orders"],
    ["DROP TABLE SHOP.Orders", ORDERS],
    ["RENAME TABLE Shop.Orders TO Shop.Gone", ORDERS],
    ["ALTER TABLE SHOP.orders RENAME TO Shop.Gone", ORDERS],
    ["DROP DATABASE SHOP", "CREATE DATABASE sHoP", ORDERS],
]
REPLACE = [
    [
        "CREATE TABLE SHOP.Other LIKE Shop.Orders",
        "INSERT INTO SHOP.Other VALUES (8)",
        "RENAME TABLE Shop.Orders TO Shop.Gone, Shop.Other TO Shop.ORDERS",
    ],
    [
        "ALTER TABLE Shop.Orders DROP PRIMARY KEY, DROP COLUMN Id, ADD COLUMN ID DECIMAL(9,0) PRIMARY KEY"
    ],
]
KEEP = [
    ["ALTER TABLE Shop.Orders COMMENT 'x'", "OPTIMIZE TABLE SHOP.ORDERS"],
]


def played(server: Server, statements: list[str], table: str = "Shop.ORDERS") -> list[str]:
    """The files of the log with the statements between two rows; the database is as before."""
    first = server.binlog_files()[-1]
    server.execute(
        f"INSERT INTO {table} VALUES (2)", *statements, f"INSERT INTO {table} VALUES (3)"
    )
    server.flush_binlog()
    return [str(path) for path in server.binlog_files()[:-1] if path >= first]


def schema(server: Server, column: str = "Id") -> pa.Schema:
    """The schema of a table with one column."""
    name = "@1" if server.is_old else column
    return pa.schema([(name, pa.decimal128(9, 0)), ("_change_type", pa.string())])


def mirrored(batches: Iterable[pa.RecordBatch], rows: set[int]) -> set[int]:
    """The rows after the changes of one table."""
    for batch in batches:
        for number, kind in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if kind == "truncate":
                rows.clear()
            else:
                assert kind == "insert"
                rows.add(int(number))
    return rows


def documents(batches: Iterable[pa.RecordBatch], rows: set[int]) -> set[int]:
    """The rows of shop.orders after the changes of several tables."""
    for batch in batches:
        for row in batch.to_pylist():
            assert row["_database"] == "shop"
            if row["_table"] not in (None, "orders"):
                continue
            if row["_op"] == "t":
                rows.clear()
            else:
                [number] = json.loads(row["after"]).values()
                rows.add(int(number))
    return rows


def selected(server: Server) -> set[int]:
    return {row[0] for row in server.query("SELECT * FROM shop.orders")}


@pytest.mark.parametrize("statements", [*EMPTY, *KEEP], ids=lambda case: case[0])
def test_a_mirror_of_a_server(shop: Server, statements: list[str]) -> None:
    with live.reach(shop) as connection:
        start = connection.position()
        played(shop, statements)
        stop = connection.position()
        for tables in ("shop.orders", "Shop.Orders", "SHOP.O*"):
            with connection.stream(
                start, stop=stop, tables=tables, types="spark", **NAMES
            ) as stream:
                found = documents(stream.nested_json(truncates="emit"), {1})
            assert found == selected(shop)
        for name in ("shop.orders", "Shop.ORDERS"):
            with connection.stream(start, stop=stop, **ONE_COLUMN) as stream:
                table = stream.table(name, schema=schema(shop), truncates="emit")
                assert mirrored(table, {1}) == selected(shop)


@pytest.mark.parametrize("statements", REPLACE, ids=lambda case: case[0])
def test_other_rows_in_a_mirror_of_a_server(shop: Server, statements: list[str]) -> None:
    with live.reach(shop) as connection:
        start = connection.position()
        shop.execute("INSERT INTO shop.orders VALUES (2)")
        shop.execute("DELETE FROM shop.orders WHERE Id = 2", *statements)
        stop = connection.position()
        with (
            connection.stream(
                start, stop=stop, tables="shop.orders", types="spark", **NAMES
            ) as stream,
            pytest.raises(binarrow.SchemaError, match="gets other rows"),
        ):
            stream.nested_json(truncates="emit").read_all()


def test_items_of_a_server(shop: Server) -> None:
    """Items have the names of the row events."""
    with live.reach(shop) as connection:
        start = connection.position()
        played(shop, ["TRUNCATE Shop.ORDERS", "ALTER TABLE SHOP.Orders COMMENT 'x'"])
        stop = connection.position()
        include = ["truncate", "schema_change"]
        with connection.stream(
            start, stop=stop, tables="Shop.Orders", include=include, **NAMES
        ) as stream:
            kinds = [
                (item.database, item.table) if isinstance(item, binarrow.Truncate) else item.tables
                for item in stream
                if not isinstance(item, binarrow.ChangeBatch)
            ]
    assert kinds[0] == ("shop", "orders")


@pytest.mark.parametrize("statements", [*EMPTY[:2], *EMPTY[3:5]], ids=lambda case: case[0])
def test_files_do_not_show_it(shop: Server, statements: list[str]) -> None:
    log = played(shop, statements)

    def table(truncates: str, **keywords: object) -> binarrow.TableReader:
        reader = binarrow.read_binlog(log, **ONE_COLUMN, **keywords)
        return reader.table("shop.orders", schema=schema(shop), truncates=truncates)

    def all_tables(truncates: str, **keywords: object) -> binarrow.TableReader:
        # The new name of a renamed table is not read: its rows are not in the log.
        own = {"exclude_tables": ["*.Gone", "*.gone"], "types": "spark", **NAMES}
        reader = binarrow.read_binlog(log, **own, **keywords)
        return reader.nested_json(truncates=truncates)

    for truncates in ("error", "emit"):
        for read in (table, all_tables):
            with pytest.raises(binarrow.SchemaError, match="lower_case_table_names"):
                read(truncates).read_all()
    with pytest.warns(binarrow.BinarrowWarning, match="lower_case_table_names"):
        assert mirrored(table("skip"), {1}) == {1, 2, 3}
    for case in (1, 2):
        assert mirrored(table("emit", lower_case_table_names=case), {1}) == selected(shop)
        found = documents(all_tables("emit", lower_case_table_names=case), {1})
        assert found == selected(shop)


def test_a_history_of_the_server(shop: Server) -> None:
    """Its baseline contains the variable."""
    history = binarrow.SchemaHistory.open("memory:")
    with binarrow.connect(socket=str(shop.socket), user="root") as connection:
        start = history.baseline(connection)
    log = played(
        shop, ["ALTER TABLE SHOP.Orders CHANGE Id No DECIMAL(9,0)", "TRUNCATE Shop.ORDERS"]
    )
    reader = binarrow.read_binlog(log, start=start, history=history, types="spark")
    rows = reader.nested_json(truncates="emit").read_all().to_pylist()
    assert [(row["_table"], row["after"]) for row in rows] == [
        ("orders", '{"Id":2}'),
        ("orders", None),
        ("orders", '{"No":3}'),
    ]


def test_structures_of_files(shop: Server) -> None:
    """Structures from text do not contain the variable: such a statement makes the structure of the table unknown."""
    if not shop.is_old:
        least = "NO_LOG" if shop.is_mariadb else "MINIMAL"
        shop.execute(f"SET GLOBAL binlog_row_metadata = {least}")
    history = binarrow.SchemaHistory.open("memory:")
    with binarrow.connect(socket=str(shop.socket), user="root") as connection:
        start = connection.position()
    own = ORDERS.replace("Shop.Orders", "shop.orders")
    history.baseline(f"{own};", start, server=shop.flavor)
    log = played(shop, ["ALTER TABLE SHOP.Orders CHANGE Id No DECIMAL(9,0)"])
    reader = binarrow.read_binlog(
        log, start=start, tables="shop.orders", history=history, types="spark"
    )
    with pytest.raises(binarrow.SchemaError, match="lower_case_table_names"):
        reader.nested_json().read_all()
    if not shop.is_old:
        shop.execute("SET GLOBAL binlog_row_metadata = FULL")


def test_files_with_the_statement_first(shop: Server) -> None:
    """The rows that show the other spelling are after the statement."""
    first = shop.binlog_files()[-1]
    shop.execute("TRUNCATE SHOP.ORDERS", "INSERT INTO Shop.Orders VALUES (5)")
    shop.flush_binlog()
    log = [str(path) for path in shop.binlog_files()[:-1] if path >= first]
    reader = binarrow.read_binlog(log, types="spark", **NAMES)
    with pytest.raises(binarrow.SchemaError, match="lower_case_table_names"):
        reader.nested_json(truncates="emit").read_all()


def test_a_database_in_other_letters(shop: Server) -> None:
    log = played(shop, ["DROP DATABASE SHOP", "CREATE DATABASE sHoP", ORDERS])
    for tables in ("shop.*", None):
        reader = binarrow.read_binlog(log, tables=tables, types="spark", **NAMES)
        with pytest.raises(binarrow.SchemaError, match="lower_case_table_names"):
            reader.nested_json(truncates="emit").read_all()


def test_items_of_files(shop: Server) -> None:
    log = played(shop, ["TRUNCATE Shop.ORDERS"])
    reader = binarrow.read_binlog(log, tables="shop.orders", include="truncate", **NAMES)
    with pytest.warns(binarrow.BinarrowWarning, match="lower_case_table_names"):
        found = [item for item in reader if isinstance(item, binarrow.Truncate)]
    assert [(item.database, item.table) for item in found] == [("Shop", "ORDERS")]


@pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)
def test_two_tables_whose_names_differ_by_case(server: Server) -> None:
    """With `lower_case_table_names=0`, the default on Linux, `Orders` and `orders` are two tables."""
    server.execute("CREATE DATABASE shop")
    try:
        server.execute("CREATE TABLE shop.orders (id DECIMAL(9,0) PRIMARY KEY)")
        server.execute("CREATE TABLE shop.Orders (id DECIMAL(9,0) PRIMARY KEY)")
        server.flush_binlog()
        server.execute(
            "INSERT INTO shop.Orders VALUES (1)",
            "INSERT INTO shop.orders VALUES (1)",
            "TRUNCATE shop.Orders",
            "INSERT INTO shop.Orders VALUES (2)",
        )
        log = str(server.flush_binlog())
        rows = {}
        for name in ("shop.orders", "shop.Orders"):
            for case in (None, 0):
                reader = binarrow.read_binlog(log, lower_case_table_names=case, **ONE_COLUMN)
                table = reader.table(name, schema=schema(server, "id"), truncates="emit")
                rows[name, case] = mirrored(table, set())
        assert rows == {
            ("shop.orders", None): {1},
            ("shop.orders", 0): {1},
            ("shop.Orders", None): {2},
            ("shop.Orders", 0): {2},
        }
        for tables in ("shop.*", None):
            reader = binarrow.read_binlog(log, tables=tables, types="spark", **NAMES)
            found = reader.nested_json(truncates="emit").read_all().to_pylist()
            assert [(row["_table"], row["_op"]) for row in found] == [
                ("Orders", "c"),
                ("orders", "c"),
                ("Orders", "t"),
                ("Orders", "c"),
            ]
    finally:
        server.execute("DROP DATABASE shop")


@pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)
def test_capital_letters_are_no_reason_for_an_alarm(server: Server) -> None:
    """One table, and the log of a server that takes names as they are."""
    server.execute("CREATE DATABASE Shop", "CREATE TABLE Shop.Orders (id DECIMAL(9,0) PRIMARY KEY)")
    try:
        server.flush_binlog()
        server.execute("TRUNCATE Shop.Orders", "INSERT INTO Shop.Orders VALUES (1)")
        log = str(server.flush_binlog())
        reader = binarrow.read_binlog(log, types="spark", **NAMES)
        found = reader.nested_json(truncates="emit").read_all().to_pylist()
        assert [(row["_table"], row["_op"]) for row in found] == [("Orders", "t"), ("Orders", "c")]
        reader = binarrow.read_binlog(log, **ONE_COLUMN)
        table = reader.table("Shop.Orders", schema=schema(server, "id"), truncates="emit")
        assert mirrored(table, {9}) == {1}
    finally:
        server.execute("DROP DATABASE Shop")
