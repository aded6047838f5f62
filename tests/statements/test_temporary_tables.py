"""Statements about temporary tables that have the name of a table which is read.

Under STATEMENT, and in MariaDB and MySQL 5 also under MIXED, such statements are logged, and the name does not show that the
table is a temporary one. The mirror must equal what SELECT returns, or the read ends with an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

import binarrow
from support.extent import IS_ALL
from support.servers.servers import ALL_FLAVORS, Server, Session

FLAVORS = ALL_FLAVORS if IS_ALL else ("mysql-5.7", "mariadb-11.8")
on_each = pytest.mark.parametrize("server", FLAVORS, indirect=True)

Truncates = Literal["error", "emit", "skip"]

TABLE = "CREATE TABLE t (id DECIMAL(9,0) PRIMARY KEY)"
OURS = "CREATE TEMPORARY TABLE t (id DECIMAL(9,0) PRIMARY KEY, a INT)"
CHANGES = [
    "TRUNCATE TABLE t",
    "TRUNCATE temporary.t",
    "ALTER TABLE t DROP COLUMN a, ADD COLUMN a INT",
    "ALTER TABLE t RENAME TO u",
    "CREATE INDEX i ON t (a)",
]


@pytest.fixture
def session(server: Server) -> Iterator[Session]:
    """A connection to an empty database, under STATEMENT."""
    server.execute("CREATE DATABASE temporary")
    session = server.connect(database="temporary")
    session.execute(
        "SET autocommit = 1", TABLE, "SET SESSION binlog_format = ROW", "INSERT INTO t VALUES (1)"
    )
    yield session
    session.close_and_wait()  # the server logs DROP TEMPORARY TABLE at the end of a session
    server.execute("DROP DATABASE temporary")


def log_of(server: Server, session: Session, *statements: str) -> str:
    """The log of the statements, and of a row after them."""
    server.flush_binlog()
    session.execute(*statements)
    server.execute("SET SESSION binlog_format = ROW", "INSERT INTO temporary.t VALUES (2)")
    return str(server.flush_binlog())


def mirrored(*logs: str, truncates: Truncates = "emit", **keywords: Any) -> set[int]:
    """The rows of the table, which had the row 1 before."""
    reader = binarrow.read_binlog(
        list(logs),
        tables="temporary.t",
        types="spark",
        column_names="positional",
        gaps="allow",
        **keywords,
    )
    rows = {1}
    for batch in reader.nested_json(truncates=truncates):
        for row in batch.to_pylist():
            if row["_op"] == "t":
                rows.clear()
            else:
                rows.add(2)
    return rows


def selected(server: Server) -> set[int]:
    return {int(row[0]) for row in server.query("SELECT * FROM temporary.t")}


@pytest.mark.parametrize("binlog_format", ["STATEMENT", "MIXED", "ROW"])
@on_each
def test_the_table_keeps_its_rows(server: Server, session: Session, binlog_format: str) -> None:
    for change in CHANGES:
        log = log_of(server, session, f"SET SESSION binlog_format = {binlog_format}", OURS, change)
        name = "u" if "RENAME" in change else "t"
        session.execute(f"DROP TEMPORARY TABLE {name}")
        both: tuple[Truncates, ...] = ("emit", "error")
        for truncates in both:
            assert mirrored(log, truncates=truncates) == selected(server) == {1, 2}, change
        server.execute("DELETE FROM temporary.t WHERE id = 2")


@on_each
def test_the_table_itself_afterwards(server: Server, session: Session) -> None:
    """Statements of another connection, and of this one without the temporary table, concern the table."""
    text = "SET SESSION binlog_format = STATEMENT"
    log = log_of(server, session, text, OURS, "TRUNCATE t", "DROP TEMPORARY TABLE t", "TRUNCATE t")
    assert mirrored(log) == selected(server) == {2}
    session.execute(OURS)
    other = server.connect(database="temporary")
    other.execute("INSERT INTO t VALUES (1)")
    log = log_of(server, other, text, "TRUNCATE t")
    assert mirrored(log) == selected(server) == {2}
    other.close()
    session.execute("DROP TEMPORARY TABLE t", "INSERT INTO t VALUES (1)")


@on_each
def test_a_connection_that_ends(server: Server, session: Session) -> None:
    """The server drops its temporary tables, and logs this."""
    ending = server.connect(database="temporary")
    ending.execute("SET SESSION binlog_format = STATEMENT")
    log = log_of(server, ending, OURS, "TRUNCATE t")
    ending.close()
    later = log_of(server, session, "SET SESSION binlog_format = STATEMENT", "TRUNCATE t")
    assert mirrored(log, later) == selected(server) == {2}


@on_each
def test_a_read_that_starts_later(server: Server, session: Session) -> None:
    """The log before it contains the CREATE TEMPORARY TABLE: the read cannot know which table is meant."""
    session.execute("SET SESSION binlog_format = STATEMENT", OURS)
    log = log_of(server, session, "TRUNCATE t")
    session.execute("DROP TEMPORARY TABLE t")
    both: tuple[Truncates, ...] = ("emit", "error")
    for truncates in both:
        with pytest.raises(binarrow.SchemaError, match="temporary table"):
            mirrored(log, truncates=truncates, statements="skip")
    with pytest.warns(binarrow.BinarrowWarning, match="temporary table"):
        assert mirrored(log, truncates="skip", statements="skip") == {1, 2}
    assert selected(server) == {1, 2}


@on_each
def test_a_routine_with_a_temporary_table(server: Server, session: Session) -> None:
    """Servers mark all later statements of the routine as if they used the temporary table."""
    session.execute(
        "CREATE PROCEDURE p() BEGIN CREATE TEMPORARY TABLE w (a INT); INSERT INTO w VALUES (1); TRUNCATE t;"
        " DROP TEMPORARY TABLE w; END"
    )
    log = log_of(server, session, "SET SESSION binlog_format = ROW", "CALL p()")
    assert mirrored(log) == selected(server) == {2}


@on_each
def test_a_rename(server: Server, session: Session) -> None:
    """MariaDB renames the temporary table; MySQL the other one."""
    own = [] if server.is_mariadb else [TABLE]
    text = "SET SESSION binlog_format = STATEMENT"
    log = log_of(server, session, text, OURS, "RENAME TABLE t TO u", *own)
    assert mirrored(log) == selected(server) == ({1, 2} if server.is_mariadb else {2})


@on_each
def test_structures(server: Server, session: Session) -> None:
    """A history does not follow the structure of the temporary table."""
    history = binarrow.SchemaHistory.open("memory:")
    first = server.flush_binlog().name
    with binarrow.connect(socket=str(server.socket), user="root") as connection:
        history.baseline(connection)
    log = log_of(
        server,
        session,
        "SET SESSION binlog_format = STATEMENT",
        OURS,
        "ALTER TABLE t CHANGE id no DECIMAL(9,0), DROP a",
    )
    logs = [str(path) for path in server.binlog_files()[:-1] if path.name > first]
    assert log == logs[-1]
    [batch] = binarrow.read_binlog(logs, tables="temporary.t", history=history)
    assert batch.to_pyarrow().column("id").to_pylist() == [2]


@pytest.mark.parametrize("server", ["mysql-5.7"])
def test_a_restart(server: str) -> None:
    """Temporary tables end with it, and the log does not contain this."""
    with Server.start(server) as started:
        started.execute("CREATE DATABASE temporary", "USE temporary", TABLE)
        started.execute(
            "CREATE PROCEDURE p() BEGIN CREATE TEMPORARY TABLE w (a INT); INSERT INTO w VALUES (1);"
            " TRUNCATE t; DROP TEMPORARY TABLE w; END"
        )
        started.execute("INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS")
        first = started.binlog_files()[-1]
        started.execute("SET SESSION binlog_format = STATEMENT, pseudo_thread_id = 77", OURS)
        started.restart(crash=True)
        started.execute("USE temporary", "SET SESSION pseudo_thread_id = 77", "CALL p()")
        started.execute("INSERT INTO t VALUES (2)")
        started.flush_binlog()
        logs = [str(path) for path in started.binlog_files()[:-1] if path >= first]
        assert mirrored(*logs) == selected(started) == {2}
