"""Statements that a server logs as text: each that changes rows is an error, and none that does not.

Each statement of both grammars runs under STATEMENT and MIXED, with comments of all forms. On MySQL 9.7 and MariaDB 11.8;
`BINARROW_TESTS=all` takes all servers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle

import pymysql
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli.app import app
from support.extent import IS_ALL
from support.servers.servers import ALL_FLAVORS, Server, Session
from support.workloads.logged_statements import (
    CHANGES,
    COMMENTS,
    HARMLESS,
    MARIADB_COMMENTS,
    RESET,
    SETUP,
    TABLES,
    Statement,
)

DATABASE = "texts"
FLAVORS = ALL_FLAVORS if IS_ALL else ("mysql", "mariadb-11.8")

SCHEMAS = f"USE {DATABASE}; {'; '.join(TABLES)};"
"""MySQL 5 does not log the names of columns."""

pytestmark = pytest.mark.parametrize("server", FLAVORS, indirect=True)


@pytest.fixture
def session(server: Server, tmp_path) -> Iterator[Session]:
    """A session in the test's own database, which logs to a new file."""
    server.execute(
        f"DROP DATABASE IF EXISTS {DATABASE}",
        f"CREATE DATABASE {DATABASE}",
        "SET GLOBAL log_bin_trust_function_creators = 1, local_infile = 1",
    )
    (tmp_path / "rows").write_text("3\t3\n")
    session = server.connect(database=DATABASE, local_infile=True)
    session.execute(*SETUP)
    server.flush_binlog()
    yield session
    session.close()
    server.execute(
        f"DROP DATABASE {DATABASE}",
        "SET GLOBAL log_bin_trust_function_creators = 0, local_infile = 0",
    )


def state(session: Session) -> list[object]:
    """The rows of the tables that statements change."""
    tables = session.query(
        "SELECT table_name FROM information_schema.tables"
        f" WHERE table_schema = '{DATABASE}' AND table_name IN ('t', 'u', 'm', 'made') ORDER BY 1"
    )
    return [(name, session.query(f"SELECT * FROM {DATABASE}.{name}")) for (name,) in tables]


def place(session: Session) -> str:
    """The end of the log."""
    for words in ("BINARY LOG STATUS", "MASTER STATUS"):
        try:
            row = session.query(f"SHOW {words}")[0]
        except pymysql.err.Error:
            continue
        return f"{row[0]}:{row[1]}"
    raise AssertionError


def reader_of(server: Server, start: str, stop: str, **keywords):
    log = str(server.datadir / start.partition(":")[0])
    return binarrow.read_binlog(
        log, start=start, stop=stop, schemas=SCHEMAS, gaps="allow", **keywords
    )


def forms(server: Server) -> tuple[str, ...]:
    """The forms of comments that the server supports."""
    return (*COMMENTS, *MARIADB_COMMENTS) if server.is_mariadb else COMMENTS


def with_comments(server: Server, statements: list[Statement]) -> list[str]:
    """Each statement that the server accepts, with each form of comment in turn."""
    own = [each.sql for each in statements if each.is_for(server.flavor)]
    return [form.format(sql) for sql, form in zip(own, cycle(forms(server)), strict=False)]


@pytest.mark.parametrize("binlog_format", ["STATEMENT", "MIXED"])
def test_statements_that_change_rows(server, session, binlog_format, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    counted = 0
    with_all_forms = [form.format(CHANGES[0].sql) for form in forms(server)]
    for sql in with_all_forms + with_comments(server, CHANGES):
        session.execute("SET SESSION binlog_format = ROW", *RESET)
        before, start = state(session), place(session)
        session.execute(f"SET SESSION binlog_format = {binlog_format}")
        try:
            session.query(sql)
        except pymysql.err.Error as error:
            # Two of the comments hide all of the statement from one of the servers.
            pytest.fail(f"{sql!r}: {error}")
        after, stop = state(session), place(session)
        assert before != after, sql
        with reader_of(
            server, start, stop, statements="skip", include=["skipped_statement"]
        ) as reader:
            found = list(reader)
        skipped = [each for each in found if isinstance(each, binarrow.SkippedStatement)]
        rows = sum(each.num_rows for each in found if isinstance(each, binarrow.ChangeBatch))
        assert reader.stats()["statements_skipped"] == len(skipped)
        assert skipped or rows, sql
        if binlog_format == "STATEMENT":
            assert skipped, sql
        counted += len(skipped)
        if skipped:
            with pytest.raises(binarrow.UnsupportedEventError, match="logged as text"):
                list(reader_of(server, start, stop))
    assert counted > 10, "MIXED logs most of them as text"


@pytest.mark.parametrize("binlog_format", ["ROW", "STATEMENT", "MIXED"])
def test_statements_that_change_no_rows(server, session, binlog_format):
    session.execute("SET SESSION binlog_format = ROW", *RESET)
    before, start = state(session), place(session)
    session.execute(f"SET SESSION binlog_format = {binlog_format}")
    for form in forms(server):
        session.query(form.format("CREATE TABLE IF NOT EXISTS again (id INT)"))
        session.query(form.format("DROP TABLE IF EXISTS again"))
    for sql in with_comments(server, HARMLESS):
        session.query(sql)
    assert state(session) == before
    stop = place(session)
    list(reader_of(server, start, stop))
    with reader_of(server, start, stop, include=["schema_change"]) as reader:
        assert len(list(reader)) > 20


def test_what_is_passed_over(server, session):
    start = place(session)
    session.execute("INSERT INTO t VALUES (1, 1)", "SET SESSION binlog_format = STATEMENT")
    session.execute("BEGIN", "INSERT INTO t VALUES (2, 2)", "UPDATE t SET v = 7654321", "COMMIT")
    session.execute("SET SESSION binlog_format = ROW", "INSERT INTO t VALUES (3, 3)")
    stop = place(session)
    with pytest.raises(binarrow.UnsupportedEventError, match="statements=skip") as caught:
        list(reader_of(server, start, stop))
    assert "7654321" not in str(caught.value)
    with pytest.raises(binarrow.ConfigError, match="statements='skip'"):
        reader_of(server, start, stop, include=["skipped_statement"])
    with pytest.raises(binarrow.ConfigError, match="statements='skip'"):
        reader_of(server, start, stop, skip_events=[2])
    for segment_bytes in (1, 1 << 20):
        with reader_of(
            server,
            start,
            stop,
            statements="skip",
            include=["skipped_statement", "transaction"],
            segment_bytes=segment_bytes,
        ) as reader:
            found = list(reader)
        skipped = [each for each in found if isinstance(each, binarrow.SkippedStatement)]
        assert [each.statement for each in skipped] == [
            "INSERT INTO t VALUES (2, 2)",
            "UPDATE t SET v = 7654321",
        ]
        assert {each.database for each in skipped} == {DATABASE}
        assert not any("7654321" in repr(each) for each in found)
        assert sum(isinstance(each, binarrow.ChangeBatch) for each in found) == 2
        assert reader.stats()["statements_skipped"] == 2
        marks = [each.kind for each in found if isinstance(each, binarrow.Transaction)]
        assert marks == ["begin", "end"] * 3
        assert skipped[0].commit_version == skipped[1].commit_version > found[0].commit_version


def test_on_the_command_line(server, session):
    server.flush_binlog()
    session.execute("SET SESSION binlog_format = STATEMENT", "INSERT INTO t VALUES (2, 2)")
    session.execute("SET SESSION binlog_format = ROW", "INSERT INTO t VALUES (3, 3)")
    log = str(server.flush_binlog())

    def run(*more: str):
        return CliRunner().invoke(app, ["stats", log, *more])

    assert run("--statements", "error").exit_code != 0
    stats = json.loads(run("--format", "json").stdout)
    assert (stats["rows"], stats["statements_skipped"]) == (1, 1)
    assert "1 statements that may change rows" in run().stdout
