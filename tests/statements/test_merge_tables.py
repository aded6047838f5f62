"""MERGE tables, whose rows are those of other tables, and REPAIR TABLE, which may remove rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import pytest

import binarrow
from support.extent import IS_ALL
from support.servers.servers import ALL_FLAVORS, Server

FLAVORS = ALL_FLAVORS if IS_ALL else ("mysql", "mariadb-11.8")
pytestmark = pytest.mark.parametrize("server", FLAVORS, indirect=True)

COLUMNS = "(id DECIMAL(9,0) NOT NULL, v DECIMAL(9,0), KEY (id))"
MERGE = f"CREATE TABLE merged.m {COLUMNS} ENGINE=MERGE UNION=(a, b) INSERT_METHOD=LAST"
WRITES = (
    "INSERT INTO m VALUES (1, 1)",
    "UPDATE m SET v = 2",
    "REPLACE INTO m VALUES (2, 2)",
    "DELETE FROM m",
)


@pytest.fixture
def merged(server: Server) -> Iterator[Server]:
    """Two tables, and a MERGE table of both."""
    server.execute("CREATE DATABASE merged", "USE merged")
    server.execute(f"CREATE TABLE a {COLUMNS} ENGINE=MyISAM", "CREATE TABLE b LIKE a", MERGE)
    yield server
    server.execute("DROP DATABASE merged")


def log_of(server: Server, *statements: str) -> str:
    server.flush_binlog()
    server.execute("USE merged", *statements)
    return str(server.flush_binlog())


def mirror(
    log: str,
    tables: str,
    truncates: Literal["error", "emit", "skip"] = "error",
    **keywords: Any,
) -> list[str]:
    """Reads a mirror; returns the warnings."""
    reader = binarrow.read_binlog(
        log, tables=tables, types="spark", column_names="positional", **keywords
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader.nested_json(truncates=truncates).read_all()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("write", WRITES)
def test_rows_under_the_name_of_the_merge_table(merged: Server, write: str) -> None:
    merged.execute("INSERT INTO merged.b VALUES (3, 3)")
    log = log_of(merged, write)
    of_tables = {
        "merged.b": f"CREATE TABLE b {COLUMNS} ENGINE=MyISAM",
        "merged.a": f"CREATE TABLE a {COLUMNS} ENGINE=MyISAM",
    }
    with pytest.raises(binarrow.UnsupportedEventError, match="which is a MERGE table"):
        mirror(log, "merged.b", schemas={**of_tables, "merged.m": MERGE})
    # Of a DELETE in MariaDB, it is an error like the action of a foreign key.
    reaction = "warn" if "DELETE" in write and merged.is_mariadb else None
    [warning] = mirror(log, "merged.b", unlogged_changes=reaction)
    assert "If merged.m is a MERGE table, rows of merged.b may change" in warning
    assert mirror(log, "merged.b", unlogged_changes="ignore") == []
    with pytest.raises(binarrow.UnsupportedEventError, match=r"If merged\.m is a MERGE table"):
        mirror(log, "merged.b", unlogged_changes="error")
    # Another engine, or a table that is not read.
    plain = MERGE.partition(" ENGINE")[0]
    assert mirror(log, "merged.b", schemas={**of_tables, "merged.m": plain}) == []
    assert mirror(log, "merged.c", schemas={"merged.m": MERGE})[:1] != [warning]


def test_a_history_contains_the_engine(merged: Server) -> None:
    history = binarrow.SchemaHistory.open("memory:")
    first = merged.flush_binlog().name
    with binarrow.connect(socket=str(merged.socket), user="root") as connection:
        history.baseline(connection)
    log_of(merged, "INSERT INTO m VALUES (1, 1)")
    logs: Any = [str(path) for path in merged.binlog_files()[:-1] if path.name > first]
    with pytest.raises(binarrow.UnsupportedEventError, match="which is a MERGE table"):
        mirror(logs, "merged.b", history=history)


def test_rows_under_the_own_name(merged: Server) -> None:
    log = log_of(merged, "INSERT INTO b VALUES (1, 1)", "UPDATE b SET v = 2")
    assert mirror(log, "merged.b") == []


def test_other_tables_that_a_statement_opens(merged: Server) -> None:
    """A trigger, and a statement of two tables, with other columns."""
    merged.execute("CREATE TABLE merged.t (id DECIMAL(9,0) PRIMARY KEY) ENGINE=MyISAM")
    trigger = (
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW"
        " BEGIN IF NEW.id > 5 THEN INSERT INTO b VALUES (9, 9); END IF; END"
    )
    log = log_of(
        merged,
        trigger,
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (6)",
        "UPDATE t, b SET t.id = 7, b.v = b.v WHERE t.id = 1",
    )
    assert not any("MERGE" in warning for warning in mirror(log, "merged.b"))


def test_repair(merged: Server) -> None:
    log = log_of(merged, "REPAIR TABLE a, b", "INSERT INTO b VALUES (1, 1)", "REPAIR TABLE b QUICK")
    for truncates in ("error", "emit", "skip"):
        [warning] = mirror(log, "merged.b", truncates)  # type: ignore[arg-type]
        assert "merged.b gets other rows by REPAIR TABLE" in warning
        assert len(mirror(log, "merged.*", truncates)) == 2  # type: ignore[arg-type]
        assert mirror(log, "merged.c", truncates) == []  # type: ignore[arg-type]
    log = log_of(
        merged,
        "REPAIR NO_WRITE_TO_BINLOG TABLE b",
        "CHECK TABLE b",
        "ANALYZE TABLE b",
        "OPTIMIZE TABLE b",
    )
    assert mirror(log, "merged.b") == []
