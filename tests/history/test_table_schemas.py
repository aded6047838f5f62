"""`TableSchema` is the same from every source: a server, all schemas of a server, a history, a read.

The oracle of its properties is information_schema.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import Column, Key, SchemaHistory, TableSchema
from support.logged import database
from support.servers.servers import Server
from support.workloads.metadata_tables import (
    EVERYWHERE,
    MARIADB,
    MYSQL,
    MYSQL_5_7,
    SINCE_5_7,
    logged_tables,
    session_value,
)
from support.workloads.table import quote

SERVERS = pytest.mark.parametrize(
    "server", ["mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.5"], indirect=True
)

ATTRIBUTES = {
    "widths": """a TINYINT(1), b TINYINT(1) UNSIGNED, c TINYINT(4), d INT(5), e INT(5) ZEROFILL, f BIGINT ZEROFILL,
        g FLOAT(7,2), h DOUBLE(9,3) ZEROFILL, i DECIMAL(5,1) ZEROFILL, j SMALLINT UNSIGNED, k MEDIUMINT(3) UNSIGNED,
        l FLOAT(30), m REAL, n YEAR, o BOOL, p INTEGER, q SERIAL""",
    "defaults": """a INT DEFAULT 5, b INT DEFAULT NULL, c VARCHAR(9) DEFAULT 'it''s', d VARCHAR(9) DEFAULT 'NULL',
        e INT NOT NULL, f DECIMAL(9,2) DEFAULT 1, g BIT(3) DEFAULT b'101', h INT NOT NULL AUTO_INCREMENT,
        i TIMESTAMP NULL DEFAULT NULL, j TIMESTAMP NULL DEFAULT NOW(), k TIMESTAMP(3) NULL DEFAULT NOW(3) ON UPDATE NOW(3),
        l DATETIME ON UPDATE CURRENT_TIMESTAMP, m ENUM('x','y') NOT NULL DEFAULT 'y', n INT COMMENT 'a comment',
        o VARCHAR(9) DEFAULT '', KEY (h)) COMMENT 'of the table' -- """,
    "stamps": "a TIMESTAMP, b TIMESTAMP(2) NOT NULL, c TIMESTAMP NULL, d INT",
    "later_stamps": "d INT, a TIMESTAMP NULL, b TIMESTAMP",
    "keys": """a INT NOT NULL, b VARCHAR(20) NOT NULL, c INT, PRIMARY KEY (a, b), UNIQUE KEY u (b(5), c), UNIQUE (b), KEY (c),
        FULLTEXT KEY words (b)""",
    "no_primary": "a INT NOT NULL, b INT, c VARCHAR(9) NOT NULL, UNIQUE (b), UNIQUE (c(3)), UNIQUE (a)",
}

OF_MYSQL_8 = {
    "expressions": "a INT DEFAULT (1 + 1), b VARCHAR(36) DEFAULT (uuid()), c INT AS (a + 1) STORED, KEY k (a) INVISIBLE"
}

OF_MARIADB = {
    "compressed": "a VARCHAR(20) COMPRESSED, b TEXT COMPRESSED, c VARBINARY(9) COMPRESSED, d INT DEFAULT (1 + 1)",
    "own_versions": """a INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
        PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING -- """,
}

# The log contains nothing of these.
ONLY_DECLARED = ("auto_increment", "on_update", "generated", "default", "has_default", "comment")


def tables_of(server: Server) -> dict[str, str]:
    if server.is_mariadb:
        own = MARIADB | OF_MARIADB
        if server.flavor == "mariadb-10.5":
            own = {name: text for name, text in own.items() if name != "addresses"}
    else:
        own = MYSQL_5_7 if server.is_old else MYSQL | OF_MYSQL_8
    tables = EVERYWHERE | SINCE_5_7 | ATTRIBUTES | own
    if server.flavor in ("mysql-5.7", "mariadb-10.5"):  # they lose a member that is a NUL
        tables["lists"] = tables["lists"].replace(",'\\0'", "")
    return tables


@pytest.fixture
def followed(server: Server, tmp_path: Path) -> Iterator[tuple[Server, SchemaHistory]]:
    """A database, and a history of it that begins before its tables."""
    with (
        database(server, "described"),
        binarrow.connect(socket=str(server.socket), user="root") as connection,
        SchemaHistory.open(tmp_path / "followed.db") as history,
    ):
        history.baseline(connection)
        yield server, history


def plain(table: TableSchema) -> TableSchema:
    """Without the hidden columns of long unique keys, which only rows have."""
    fields = arguments(table)
    fields["columns"] = [c for c in table.columns if not c.name.startswith("DB_ROW_HASH_")]
    return TableSchema(**fields)


def arguments(table: TableSchema) -> dict[str, Any]:
    return table.to_dict() | {"columns": table.columns, "keys": table.keys}


@SERVERS
def test_every_source_gives_the_same(followed: tuple[Server, SchemaHistory]) -> None:
    server, history = followed
    tables = tables_of(server)
    with binarrow.connect(socket=str(server.socket), user="root") as connection:
        files = [str(path) for path in logged_tables(server, tables)]
        shown = {name: connection.describe(f"described.{name}") for name in tables}
        all_schemas = connection.schemas(tables="described.*")
        at = all_schemas.position
        start = history.position
        assert start is not None
        with connection.stream(start, stop=at, history=history, tables="described.*") as stream:
            for _ in stream:
                pass
        with SchemaHistory.open("memory:") as taken:
            taken.baseline(connection)
            for name, table in shown.items():
                assert taken.find("described", name) == table, name
                assert all_schemas.find("described", name) == table, name
                assert history.find("described", name, at) == table, name
        assert set(all_schemas.tables) == set(shown.values())
        assert repr(all_schemas) == f"<TableSchemas of {len(tables)} tables at {at}>"
        assert all(f">described.{name}</td>" in all_schemas._repr_html_() for name in tables)
        assert all_schemas.find("described", "none") is None
    with binarrow.read_binlog(files, tables="described.*", schemas=list(shown.values())) as reader:
        read = {change.table: change.table_schema for change in reader}
    assert {name: plain(table) for name, table in read.items()} == shown
    assert all(table.create_statement is None for table in read.values())


@SERVERS
def test_a_log_without_names(server: Server) -> None:
    """Properties that the log leaves out come from `schemas`; otherwise they are None."""
    tables = tables_of(server)
    old = server.is_old
    with (
        binarrow.connect(socket=str(server.socket), user="root") as connection,
        database(server, "described"),
    ):
        levels = ["FULL"] if old else ["FULL", "MINIMAL"]
        for level in levels:
            if not old:
                server.execute(f"SET GLOBAL binlog_row_metadata = {level}")
            try:
                server.execute(*(f"DROP TABLE IF EXISTS {quote(name)}" for name in tables))
                files = [str(path) for path in logged_tables(server, tables)]
            finally:
                if not old:
                    server.execute("SET GLOBAL binlog_row_metadata = FULL")
            shown = {name: connection.describe(f"described.{name}") for name in tables}
            with binarrow.read_binlog(
                files, tables="described.*", schemas=connection.schemas(tables="described.*")
            ) as reader:
                for change in reader:
                    assert plain(change.table_schema) == shown[change.table], (level, change.table)
            with binarrow.read_binlog(files, tables="described.*", column_names="none") as reader:
                for change in reader:
                    table = change.table_schema
                    assert table.comment is None
                    assert_contained(
                        table, shown[change.table], has_names=level == "FULL" and not old
                    )


def assert_contained(logged: TableSchema, shown: TableSchema, *, has_names: bool) -> None:
    """Every property that is not None is that of the server."""
    for number, (column, wanted) in enumerate(zip(logged.columns, shown.columns, strict=False), 1):
        assert column.name == (wanted.name if has_names else f"@{number}")
        for name in ONLY_DECLARED:
            assert getattr(column, name) is None, name
        assert column.nullable == wanted.nullable
        for name in ("unsigned", "visible", "members", "charset"):
            assert getattr(column, name) in (None, getattr(wanted, name)), (shown.table, wanted)
    if has_names:
        assert [key.kind for key in logged.keys] in ([], ["primary"])
        assert logged.row_key in ((), shown.row_key)
    else:
        assert logged.keys == ()


@SERVERS
def test_information_schema(server: Server) -> None:
    with (
        database(server, "described"),
        session_value(server, "sql_mode", "''"),
        binarrow.connect(socket=str(server.socket), user="root") as connection,
    ):
        for name, text in tables_of(server).items():
            server.execute(f"CREATE TABLE {quote(name)} ({text})")
            table = connection.describe(f"described.{name}")
            rows = server.query(
                "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, COLUMN_DEFAULT, EXTRA,"
                " COLUMN_COMMENT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'described'"
                f" AND TABLE_NAME = {_text(name)} ORDER BY ORDINAL_POSITION"
            )
            columns = {column.name: column for column in table.columns}
            assert set(columns) - {row[0] for row in rows} <= {"row_start", "row_end"}, name
            for column_name, kind, nullable, charset, collation, default, extra, comment in rows:
                column = columns[column_name]
                place = (name, column)
                words = extra.upper()
                assert column.type == kind, place
                assert column.nullable == (nullable == "YES"), place
                is_binary = column.collation == "binary" and collation is None  # an ENUM of MySQL
                found = (None, None) if is_binary else (column.charset, column.collation)
                assert found == (_utf8mb3(charset), _utf8mb3(collation)), place
                is_null = default is None or (default == "NULL" and server.is_mariadb)
                is_made = "GENERATED" in words or "AUTO_INCREMENT" in words
                assert column.has_default == (not is_null or is_made), place
                assert column.auto_increment == ("AUTO_INCREMENT" in words), place
                assert (column.on_update is not None) == ("ON UPDATE" in words), place
                if column.on_update is not None:
                    assert column.on_update in words.replace("()", ""), place
                assert column.visible == ("INVISIBLE" not in words), place
                assert (column.generated == "virtual") == ("VIRTUAL" in words), place
                assert column.comment == comment, place


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _utf8mb3(name: str | None) -> str | None:
    return name if name is None or not (name + "_").startswith("utf8_") else f"utf8mb3{name[4:]}"


def test_a_schema_is_a_value() -> None:
    column = Column("state", "enum('a')", nullable=False, members=["a"], default="'a'")
    key = Key("PRIMARY", "primary", ["state"], identifies_rows=True)
    table = TableSchema("shop", "orders", [column], [key], create_statement="CREATE TABLE secret")
    assert pickle.loads(pickle.dumps(table)) == table
    assert pickle.loads(pickle.dumps(table)).create_statement == "CREATE TABLE secret"
    assert (column.members, column.has_default, key.prefixes) == (("a",), True, (0,))
    assert (table.primary_key, table.row_key, table.unique_keys) == (("state",), ("state",), (key,))
    assert table.to_dict()["columns"] == [column.to_dict()]
    assert TableSchema("shop", "orders", (column,), (key,)) == table
    assert hash(TableSchema("shop", "orders", (column,), (key,))) == hash(table)
    assert TableSchema("shop", "orders", [column]) != table
    assert "secret" not in repr(table)
    other = Column("state", "enum('a')", nullable=False, members=["a"], default="('a')")
    assert other == column
    assert Column("state", "enum('a')", nullable=False, members=["a"]) != column
    unknown = Column("@1", "int", nullable=True, unsigned=None, auto_increment=None)
    assert unknown.has_default is None
    with pytest.raises(AttributeError):
        column.name = "other"  # type: ignore[misc]
    with pytest.raises(binarrow.ConfigError, match="generated must be one of virtual, stored"):
        Column("a", "int", nullable=True, generated="always")  # type: ignore[arg-type]
    with pytest.raises(binarrow.ConfigError, match="kind must be one of primary"):
        Key("k", "spatial", ["a"])  # type: ignore[arg-type]
    with pytest.raises(binarrow.ConfigError, match="one number for each column"):
        Key("k", "index", ["a", "b"], prefixes=[1])
    with pytest.raises(binarrow.ConfigError, match="was read from the log"):
        binarrow.read_binlog(b"", schemas=TableSchema("shop", "orders", [column]))
