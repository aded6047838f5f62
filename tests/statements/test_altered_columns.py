"""ALTER TABLE that changes the values of columns in existing rows: an error with truncates="error".

The types before a statement come from the rows before it in the log, or from a table history.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa
import pymysql
import pytest

import binarrow
from binarrow import SchemaHistory
from support.servers.servers import Server, Session

on_servers = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)

STRICT = "STRICT_TRANS_TABLES"

# Definition of the columns, values of one row, sql_mode, statement, words of the error.
CHANGES = [
    ("v DATETIME(6)", "'2026-01-02 03:04:05.678'", STRICT, "MODIFY v DATETIME", "type that may"),
    ("v TIMESTAMP(6)", "'2026-01-02 03:04:05.6'", STRICT, "CHANGE v w TIMESTAMP", "type that may"),
    ("v DOUBLE", "1.23456", STRICT, "MODIFY v DOUBLE(10,2)", "type that may"),
    ("v FLOAT", "1.23456", STRICT, "MODIFY v FLOAT(10,2)", "type that may"),
    ("v DECIMAL(12,4)", "1.2345", STRICT, "MODIFY v DECIMAL(12,2)", "type that may"),
    ("v DATETIME", "'2026-01-02 03:04:05'", STRICT, "MODIFY v DATE", "type that may"),
    ("v BINARY(3)", "'a'", STRICT, "MODIFY v BINARY(5)", "type that may"),
    ("v VARBINARY(3)", "'a'", STRICT, "MODIFY v BINARY(3)", "type that may"),
    ("v VARCHAR(5)", "'a '", STRICT, "MODIFY v CHAR(5)", "type that may"),
    ("v VARCHAR(5)", "'a  '", "", "MODIFY v VARCHAR(1)", "type that may"),
    ("v SET('a','b')", "'a,b'", STRICT, "MODIFY v SET('b','a')", "type that may"),
    ("v VARBINARY(5)", "'a'", STRICT, "MODIFY v VARCHAR(5)", "type that may"),
    ("v INT", "NULL", "", "MODIFY v INT NOT NULL", "NOT NULL"),
    ("v INT", "NULL", "", "ADD PRIMARY KEY (v)", "NOT NULL"),
    ("v INT", "-5", "", "MODIFY v INT UNSIGNED", "type that may"),
    ("v INT", "70000", "", "MODIFY v SMALLINT", "type that may"),
    ("v VARCHAR(9)", "'日本'", "", "MODIFY v VARCHAR(9) CHARACTER SET latin1", "type that may"),
    ("v INT NOT NULL", "0", STRICT, "MODIFY v INT AUTO_INCREMENT UNIQUE", "AUTO_INCREMENT"),
    ("v ENUM('a','b')", "'b'", "", "MODIFY v ENUM('a')", "type that may"),
]

# Statements that keep all values.
HARMLESS = [
    ("v DATETIME(6)", "'2026-01-02 03:04:05.678'", "", "MODIFY v DATETIME(6) COMMENT 'DATETIME'"),
    ("v DATETIME", "'2026-01-02 03:04:05'", "", "MODIFY v DATETIME(6) DEFAULT NULL FIRST"),
    ("v INT NOT NULL", "5", "", "MODIFY v BIGINT NULL DEFAULT 7 AFTER id"),
    ("v INT", "5", STRICT, "MODIFY v INT UNSIGNED NOT NULL"),
    ("v INT NOT NULL", "5", "", "ADD UNIQUE (v), MODIFY v INT NOT NULL COMMENT 'x'"),
    ("v DECIMAL(6,2) UNSIGNED", "1.25", "", "CHANGE v w DECIMAL(8,3) UNSIGNED"),
    ("v VARCHAR(5)", "'a '", "", "MODIFY v VARCHAR(300) CHARACTER SET utf8mb4"),
    ("v VARCHAR(5)", "'é '", STRICT, "MODIFY v VARCHAR(5) NOT NULL"),
    ("v VARCHAR(5)", "'é '", STRICT, "MODIFY v MEDIUMTEXT"),
    ("v TEXT", "'é '", STRICT, "MODIFY v TEXT COMMENT 'x'"),
    ("v CHAR(5) CHARACTER SET latin1", "'é'", STRICT, "MODIFY v VARCHAR(5) CHARACTER SET utf8mb4"),
    ("v ENUM('a','b')", "'b'", "", "MODIFY v ENUM('a','b','c') CHARACTER SET utf8mb4"),
    ("v ENUM('a','b')", "'b'", STRICT, "MODIFY v ENUM('x','b','a')"),
    ("v BINARY(3)", "'a'", "", "MODIFY v BINARY(3) NULL COMMENT 'x'"),
    ("v JSON", "'[1]'", "", "MODIFY v JSON COMMENT 'x'"),
    ("v TIMESTAMP NULL", "'2026-01-02'", "", "MODIFY v TIMESTAMP(3) NULL"),
    ("v YEAR", "2026", "", "MODIFY v YEAR NULL"),
    ("v BIT(3)", "5", "", "MODIFY v BIT(5)"),
    ("v POINT", "POINT(1, 2)", "", "MODIFY v GEOMETRY"),
    ("v INT", "5", "", "ALTER v SET DEFAULT 5, ORDER BY v"),
]

# Only a history has what decides them.
BY_HISTORY = [
    (
        "v DECIMAL(6,2), g VARCHAR(9) AS (CONCAT(v)) STORED",
        "1.25",
        "MODIFY v DECIMAL(8,3)",
        "generated from",
    ),
    ("v INT NOT NULL AUTO_INCREMENT UNIQUE", "5", "MODIFY v BIGINT NOT NULL AUTO_INCREMENT", None),
    ("v DOUBLE(10,2)", "1.25", "MODIFY v DOUBLE(10,2) COMMENT 'x'", None),
    ("v INT, g INT AS (v + 1) STORED", "5", "MODIFY v INT(9) COMMENT 'x'", None),
    ("v INT AS (id + 1) STORED, w INT", None, "MODIFY w BIGINT", None),
]


@pytest.fixture
def session(server: Server) -> Iterator[Session]:
    server.execute(
        "DROP DATABASE IF EXISTS altered", "CREATE DATABASE altered CHARACTER SET utf8mb4"
    )
    session = server.connect(database="altered")
    yield session
    session.close()
    server.execute("DROP DATABASE altered")


class Play:
    """Plays statements into a file of the log. Each table has its own name, so that all of them share one file."""

    def __init__(self, server: Server, session: Session) -> None:
        self.server, self.session, self.count = server, session, 0
        self.history = SchemaHistory.open("memory:")
        server.flush_binlog()
        with binarrow.connect(socket=str(server.socket), user="root") as connection:
            self.history.baseline(connection)
        self.log: str | list[str] = ""

    def table(self, columns: str, values: str | None) -> str:
        name, self.count = f"t{self.count}", self.count + 1
        into = columns.split(maxsplit=1)[0] if values else "w"
        self.session.execute(
            "SET sql_mode = 'NO_ENGINE_SUBSTITUTION'",
            f"CREATE TABLE {name} (id INT NOT NULL, {columns}) DEFAULT CHARACTER SET utf8mb4",
            f"INSERT INTO {name} (id, {into}) VALUES (1, {values or 5})",
        )
        return name

    def alter(self, table: str, mode: str, *clauses: str) -> bool:
        try:
            self.session.execute(
                f"SET sql_mode = '{mode}'", *(f"ALTER TABLE {table} {one}" for one in clauses)
            )
        except pymysql.err.Error:
            return False
        return True

    def end(self) -> None:
        self.log = str(self.server.flush_binlog())

    def read(
        self, table: str, truncates: Literal["error", "skip"] = "error", **keywords: Any
    ) -> pa.Table:
        options: dict[str, Any] = {"tables": f"altered.{table}", "types": "spark", **keywords}
        return binarrow.read_binlog(self.log, **options).nested_json(truncates=truncates).read_all()

    @property
    def by_history(self) -> dict[str, Any]:
        return {"history": self.history, "start": self.history.covered[0].start}


@on_servers
def test_types_that_change_values(server: Server, session: Session) -> None:
    play = Play(server, session)
    cases = []
    for columns, values, mode, clause, words in CHANGES:
        table = play.table(columns, values)
        assert play.alter(table, mode, clause), clause
        cases.append((table, clause, words))
    play.end()
    for table, clause, words in cases:
        for keywords in ({}, play.by_history):
            with pytest.raises(
                binarrow.SchemaError, match=f"may get other values by ALTER.*{words}"
            ):
                pytest.fail(f"{clause}: {play.read(table, **keywords).num_rows} rows")
            with pytest.warns(binarrow.BinarrowWarning, match=words):
                assert play.read(table, "skip", **keywords).num_rows == 1


@on_servers
def test_types_that_keep_values(server: Server, session: Session) -> None:
    play = Play(server, session)
    cases = []
    for columns, values, mode, clause in HARMLESS:
        table = play.table(columns, values)
        assert play.alter(table, mode, clause), clause
        cases.append(table)
    play.end()
    for table in cases:
        assert play.read(table).num_rows == 1
        assert play.read(table, **play.by_history).num_rows == 1


@on_servers
def test_what_only_a_history_decides(server: Server, session: Session) -> None:
    play = Play(server, session)
    cases = []
    for columns, values, clause, words in BY_HISTORY:
        table = play.table(columns, values)
        assert play.alter(table, STRICT, clause), clause
        cases.append((table, words))
    play.end()
    for table, words in cases:
        if words is None:
            assert play.read(table, **play.by_history).num_rows == 1
        else:
            with pytest.raises(binarrow.SchemaError, match=words):
                play.read(table, **play.by_history)


@on_servers
def test_a_type_before_that_is_not_known(server: Server, session: Session) -> None:
    """No row of the table before the statement: an error that names the remedy, unless a history is given."""
    play = Play(server, session)
    table = play.table("v INT NOT NULL", "5")
    before = str(server.flush_binlog())
    assert play.alter(table, STRICT, "MODIFY v BIGINT NOT NULL")
    session.execute(f"INSERT INTO {table} VALUES (2, 6)")
    play.end()
    after = str(play.log)
    words = r"the log does not contain the type before \(a table history has it: history=\)"
    with pytest.raises(binarrow.SchemaError, match=words):
        play.read(table)
    with pytest.warns(binarrow.BinarrowWarning, match=words):
        assert play.read(table, "skip").num_rows == 1
    play.log = [before, after]
    assert play.read(table).num_rows == 2
    assert play.read(table, **play.by_history).num_rows == 2
    play.log = after
    assert play.read(table, history=play.history).num_rows == 1


@on_servers
def test_names_that_other_columns_had(server: Server, session: Session) -> None:
    """In several statements, without a row between them."""
    play = Play(server, session)
    columns, values = "a INT, b INT, v INT", "1"
    cases = [
        (play.table(columns, values), ["DROP v", "ADD v INT"], ["v"]),
        (play.table(columns, values), ["DROP v", "ADD w INT", "CHANGE w v INT"], ["v"]),
        (
            play.table(columns, values),
            ["CHANGE a x INT", "CHANGE b a INT", "CHANGE x b INT"],
            ["a"],
        ),
        (
            play.table(columns, values),
            ["RENAME COLUMN a TO x", "RENAME COLUMN x TO a", "MODIFY a BIGINT"],
            [],
        ),
        (play.table(columns, values), ["ADD w INT", "DROP w"], []),
        (play.table(columns, values), ["DROP v"], []),
    ]
    for table, clauses, _ in cases:
        assert play.alter(table, STRICT, *clauses)
    play.end()
    wanted = pa.schema([("id", pa.int32()), ("a", pa.int64()), ("b", pa.int32())])
    for table, _, taken in cases:
        for keywords in ({}, play.by_history):
            if taken:
                words = (
                    f"column `{taken[0]}` takes the name of a column that was removed or renamed"
                )
                with pytest.raises(binarrow.SchemaError, match=words):
                    play.read(table, **keywords)
            else:
                assert play.read(table, **keywords).num_rows == 1
        # A mirror without the column.
        reader = binarrow.read_binlog(play.log, envelope=[])
        conformed = reader.table(
            f"altered.{table}", schema=wanted, on_schema_change="conform", truncates="error"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if taken == ["a"]:
                with pytest.raises(binarrow.SchemaError, match="takes the name"):
                    conformed.read_all()
            else:
                assert conformed.read_all().num_rows == 1


@on_servers
def test_copies_of_online_schema_change_tools(server: Server, session: Session) -> None:
    """The tool converts the values while it copies the rows, with INSERT IGNORE."""
    play = Play(server, session)
    cases = []
    for columns, values, clause, words in [
        ("v DATETIME(6)", "'2026-01-02 03:04:05.678'", "MODIFY v DATETIME", "type that may"),
        ("v INT", "70000", "MODIFY v SMALLINT", "type that may"),
        ("v INT", "5", "MODIFY v BIGINT, ADD w INT", None),
        ("v INT", "5", "ADD w INT", None),
        ("v VARCHAR(5)", "'é'", "MODIFY v TEXT, MODIFY id BIGINT", None),
        ("v VARCHAR(5) NOT NULL", "'é'", "MODIFY v VARCHAR(2)", "type that may"),
    ]:
        table = play.table(columns, values)
        copy = f"_{table}_gho"
        session.execute(
            f"CREATE TABLE {copy} LIKE {table}",
            f"ALTER TABLE {copy} {clause}",
            f"INSERT IGNORE INTO {copy} (id, v) SELECT id, v FROM {table}",
            f"rename /* gh-ost */ table {table} to _{table}_del, {copy} to {table}",
        )
        cases.append((table, words))
    play.end()
    for table, words in cases:
        for keywords in ({}, play.by_history):
            if words:
                with pytest.raises(binarrow.SchemaError, match=words):
                    play.read(table, **keywords)
            else:
                assert play.read(table, **keywords).num_rows == 1
    with pytest.warns(binarrow.BinarrowWarning, match="`v` gets the character set of the table"):
        play.read(cases[4][0])


@on_servers
def test_auto_increment_of_a_primary_key(server: Server, session: Session) -> None:
    """A key that grows is nearly always AUTO_INCREMENT already: a warning, because the log does not contain it."""
    play = Play(server, session)
    cases = [
        ("INT AUTO_INCREMENT", STRICT, "MODIFY id BIGINT NOT NULL AUTO_INCREMENT", "warning"),
        ("INT UNSIGNED", STRICT, "CHANGE id id BIGINT UNSIGNED AUTO_INCREMENT", "warning"),
        ("INT AUTO_INCREMENT", "", "MODIFY id SMALLINT NOT NULL AUTO_INCREMENT", "error"),
        ("INT", STRICT, "MODIFY v INT NOT NULL AUTO_INCREMENT UNIQUE", "error"),
    ]
    for index, (key, mode, clause, _) in enumerate(cases):
        session.execute(
            f"CREATE TABLE key{index} (id {key} PRIMARY KEY, v INT NOT NULL)",
            f"INSERT INTO key{index} VALUES (1, 5)",
        )
        assert play.alter(f"key{index}", mode, clause)
    play.end()
    words = "the log does not contain whether it was before|type that may"
    for index, (_, _, _, outcome) in enumerate(cases):
        if outcome == "warning":
            with pytest.warns(binarrow.BinarrowWarning, match=words):
                assert play.read(f"key{index}").num_rows == 1
        else:
            with pytest.raises(binarrow.SchemaError, match=words):
                play.read(f"key{index}")
    assert play.read("key0", **play.by_history).num_rows == 1
    with pytest.raises(binarrow.SchemaError, match="becomes AUTO_INCREMENT"):
        play.read("key1", **play.by_history)
