"""The keys of tables: those in CREATE TABLE text, compared with those of the servers.

Servers sort keys, and use the first unique one of complete columns that are NOT NULL as the primary key if there is none;
`information_schema` and the log's metadata call it that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pytest

import binarrow
from support.logged import database, logged, rows
from support.servers.servers import Server

# Each table's elements, and its handle key.
TABLES = {
    "primary_first": ("a INT NOT NULL UNIQUE, b INT PRIMARY KEY", ("b",)),
    "not_null": ("a INT NOT NULL, b INT, UNIQUE x (b), UNIQUE y (a)", ("a",)),
    "inline": ("a INT NOT NULL, b INT NOT NULL UNIQUE, UNIQUE y (a)", ("b",)),
    "named": ("a INT NOT NULL, b INT NOT NULL, CONSTRAINT c UNIQUE (b), UNIQUE INDEX (a)", ("b",)),
    "prefix": ("a VARCHAR(9) NOT NULL, b INT, UNIQUE x (b), UNIQUE y (a(3))", ("a",)),
    "prefix_last": ("a VARCHAR(9) NOT NULL, b INT NOT NULL, UNIQUE (a(3)), UNIQUE (b)", ("b",)),
    "several": (
        "a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, KEY (a), UNIQUE z (c, b), UNIQUE y (b)",
        ("c", "b"),
    ),
    "half_null": ("a INT NOT NULL, b INT, UNIQUE (a, b)", ()),
    "serial_number": ("a INT, b SERIAL", ("b",)),
    "none": ("a INT NOT NULL, b INT, KEY (a)", ()),
}

OF_MYSQL = {
    "computed": (
        (
            "a INT NOT NULL, v INT AS (a + 1) VIRTUAL NOT NULL, s INT AS (a + 2) STORED NOT NULL,"
            " UNIQUE x (v), UNIQUE y (s)"
        ),
        ("s",),
    ),
    "never_stored": ("a INT NOT NULL, v INT AS (a + 1) VIRTUAL NOT NULL, UNIQUE x (v)", ()),
    "expression": ("a INT NOT NULL, UNIQUE x ((a + 1)), UNIQUE y (a)", ("a",)),
}

OF_MARIADB = {
    "long_text": ("a TEXT NOT NULL, UNIQUE x (a)", ("a",)),
    "long_text_first": ("a TEXT NOT NULL, b INT NOT NULL, UNIQUE x (a), UNIQUE y (b)", ("b",)),
}

PRIMARY = (
    "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'keyed'"
    " AND TABLE_NAME = '{table}' AND COLUMN_KEY = 'PRI'"
)


@pytest.fixture(scope="module", params=["mysql", "mariadb_11_8"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server: Server = request.getfixturevalue(str(request.param))
    user = "CREATE USER IF NOT EXISTS reader@'%' IDENTIFIED BY 'k'"
    server.execute(user, "GRANT SELECT ON *.* TO reader@'%'")
    yield server
    server.execute("DROP USER reader@'%'")


def test_handle_keys(server: Server) -> None:
    tables = TABLES | (OF_MARIADB if server.is_mariadb else OF_MYSQL)
    statements = {name: f"CREATE TABLE {name} ({text})" for name, (text, _) in tables.items()}
    at = {"host": "127.0.0.1", "port": server.port, "user": "reader", "password": "k"}
    with (
        database(server, "keyed", *statements.values()),
        binarrow.connect(**at, allow_public_key_retrieval=True) as connection,
    ):
        filled = [name for name in PROMOTED if name in tables]
        inserts = [f"INSERT INTO {name} (a) VALUES (1)" for name in filled]
        files = logged(server, *inserts)
        server.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
        less = logged(server, *inserts_again(inserts))
        server.execute("SET GLOBAL binlog_row_metadata = FULL")
        for name, (_, key) in tables.items():
            told = connection.describe(f"keyed.{name}")
            assert told.row_key == key, name
            shown = re.findall(r"(?m)^  (?:UNIQUE KEY `(\w+)`|PRIMARY)", told.create_statement)
            assert [key.name for key in told.unique_keys] == [each or "PRIMARY" for each in shown]
            promoted = {row[0] for row in server.query(PRIMARY.format(table=name))}
            assert promoted in (set(key), set()), name
    # What was typed, not what the server shows, says the same as the log.
    for name in filled:
        typed = {f"keyed.{name}": f"{statements[name]} CHARSET utf8mb4"}
        from_log = binarrow.infer_schema([str(path) for path in files], f"keyed.{name}")
        from_text = binarrow.infer_schema(
            [str(path) for path in less], f"keyed.{name}", schemas=typed
        )
        assert primary_key(from_text) == primary_key(from_log) == tables[name][1]


def test_a_key_that_only_the_structure_tells(server: Server) -> None:
    """The log names no key; the first unique one without NULL identifies rows."""
    table = f"CREATE TABLE prefix ({TABLES['prefix'][0]})"
    with database(server, "keyed", table):
        (shown,) = server.query("SHOW CREATE TABLE prefix")
        insert = "INSERT INTO prefix VALUES ('abcd', 1)"
        files = logged(server, insert, "UPDATE prefix SET b = 2", "DELETE FROM prefix")
    update = ("update_postimage", "abcd", 2)
    for schemas, expected in (
        ({"keyed.prefix": shown[1]}, [update, ("delete", "abcd", None)]),
        # The complete row is the key: an update of anything changes it.
        (None, [("delete", "abcd", 1), ("insert", "abcd", 2), ("delete", "abcd", 2)]),
    ):
        found = rows(files, "keyed.prefix", schemas=schemas, old_value=False)
        assert found == [("insert", "abcd", 1), *expected]


PROMOTED = ("not_null", "computed", "expression")
"""Tables that take a value for `a` alone, and whose unique key the log calls primary."""


def inserts_again(inserts: list[str]) -> list[str]:
    return [insert.replace("(1)", "(2)") for insert in inserts]


def primary_key(schema: pa.Schema) -> tuple[str, ...]:
    return tuple(
        each.name for each in schema if each.metadata and b"mysql.primary_key" in each.metadata
    )
