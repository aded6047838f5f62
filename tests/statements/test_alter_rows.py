"""ALTER TABLE that changes existing rows is an error with truncates="error", because the log has no row events for it.

Each clause runs on a table with rows. What the table holds before and after decides; a clause that keeps the rows must
not be an error. On MySQL 9.7 and MariaDB 11.8; `BINARROW_TESTS=all` takes all servers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest

import binarrow
from support.extent import IS_ALL
from support.servers.servers import ALL_FLAVORS, Server, Session

FLAVORS = ALL_FLAVORS if IS_ALL else ("mysql", "mariadb-11.8")
on_every_server = pytest.mark.parametrize("server", FLAVORS, indirect=True)

PLAIN = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, s VARCHAR(9) CHARACTER SET utf8mb4, w INT)"
)
GENERATED = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, s INT, w INT, g INT AS (v + 1) STORED)"
)
PARTS = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, s INT, w INT) PARTITION BY RANGE (id)"
    " (PARTITION p VALUES LESS THAN (2), PARTITION q VALUES LESS THAN (99))"
)
VERSIONED = "CREATE TABLE t (id INT PRIMARY KEY, v INT, s INT, w INT) WITH SYSTEM VERSIONING"
IGNORE = "ALTER IGNORE TABLE t "
ALTER = "ALTER TABLE t "

# Statements that change rows, and their descriptions in the error.
CHANGES = [
    (PLAIN, ALTER + "ENGINE=BLACKHOLE", "ENGINE=BLACKHOLE"),
    (
        PLAIN,
        ALTER + "DROP COLUMN v, ADD COLUMN v INT NOT NULL DEFAULT 0 AFTER id",
        "takes the name",
    ),
    (PLAIN, ALTER + "CHANGE v x INT NOT NULL, CHANGE w v INT, CHANGE s w INT", "takes the name"),
    (PLAIN, ALTER + "RENAME COLUMN w TO v, RENAME COLUMN v TO w", "takes the name"),
    (GENERATED, ALTER + "MODIFY g INT AS (v + 2) STORED", "generated"),
    (PLAIN, "SET sql_mode=''; " + ALTER + "CONVERT TO CHARACTER SET latin1", "CONVERT"),
    (PLAIN, ALTER + "CONVERT TO CHARACTER SET binary", "CONVERT"),
    (PLAIN, IGNORE + "ADD UNIQUE KEY (v)", "ALTER IGNORE"),
    (PARTS, ALTER + "DROP PARTITION p", "DROP PARTITION"),
    (PARTS, ALTER + "TRUNCATE PARTITION p, q", "TRUNCATE PARTITION"),
    (PLAIN, ALTER + "DISCARD TABLESPACE", "DISCARD TABLESPACE"),
    (VERSIONED, ALTER + "DROP SYSTEM VERSIONING", "DROP SYSTEM VERSIONING"),
]

HARMLESS = [
    (PLAIN, ALTER + "ADD COLUMN x INT"),
    (PLAIN, ALTER + "ADD KEY k (v), COMMENT 'ENGINE=BLACKHOLE'"),
    (PLAIN, ALTER + "ADD UNIQUE KEY k (id, v), ADD CONSTRAINT c CHECK (v > 0)"),
    (PLAIN, ALTER + "MODIFY v BIGINT NOT NULL"),
    (PLAIN, ALTER + "MODIFY s VARCHAR(20) CHARACTER SET utf8mb4 COMMENT 'x' FIRST"),
    (PLAIN, ALTER + "CHANGE v V INT NOT NULL, CHANGE s s VARCHAR(99) CHARACTER SET utf8mb4"),
    (PLAIN, ALTER + "ALTER v SET DEFAULT 5"),
    (PLAIN, ALTER + "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
    (PLAIN, "SET sql_mode='STRICT_TRANS_TABLES'; " + ALTER + "CONVERT TO CHARACTER SET utf8"),
    (PLAIN, ALTER + "DEFAULT CHARACTER SET latin1"),
    (PLAIN, ALTER + "ENGINE=InnoDB, FORCE"),
    (PLAIN, ALTER + "ENGINE=MyISAM"),
    (PLAIN, ALTER + "ENGINE=MEMORY"),
    (PLAIN, ALTER + "ROW_FORMAT=COMPACT AUTO_INCREMENT=9 STATS_PERSISTENT=1"),
    (PLAIN, ALTER + "ORDER BY v, id"),
    (PLAIN, ALTER + "DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)"),
    (PLAIN, ALTER + "PARTITION BY HASH (id) PARTITIONS 2"),
    (PARTS, ALTER + "ADD PARTITION (PARTITION r VALUES LESS THAN (999))"),
    (PARTS, ALTER + "REORGANIZE PARTITION p, q INTO (PARTITION r VALUES LESS THAN (99))"),
    (PARTS, ALTER + "REBUILD PARTITION ALL"),
    (PARTS, ALTER + "ANALYZE PARTITION p, q"),
    (PARTS, ALTER + "REMOVE PARTITIONING"),
    (PLAIN, ALTER + "ADD SYSTEM VERSIONING"),
]


@pytest.fixture
def session(server: Server) -> Iterator[Session]:
    server.execute("DROP DATABASE IF EXISTS altered", "CREATE DATABASE altered")
    session = server.connect(database="altered")
    yield session
    session.close()
    server.execute("DROP DATABASE altered")


def fill(session: Session, table: str) -> None:
    # In the log, this DROP would be of the table that is read.
    session.execute("SET sql_mode = DEFAULT, sql_log_bin = 0", "DROP TABLE IF EXISTS t")
    session.execute("SET sql_log_bin = 1", table)
    text = "'日本'" if "VARCHAR" in table else "5"
    session.execute(f"INSERT INTO t (id, v, s, w) VALUES (1, 1, {text}, 5), (2, 1, {text}, 5)")


def contents(session: Session, columns: str) -> object:
    """The rows of the table, in the columns that it had before."""
    try:
        return session.query(f"SELECT {columns} FROM t ORDER BY id")
    except pymysql.err.Error as error:
        return str(error)


def played(server: Server, session: Session, table: str, sql: str) -> tuple[str, bool] | None:
    """A log with the statement, and True if rows changed; None if the server does not accept it."""
    server.flush_binlog()
    fill(session, table)
    columns = "id, v, s, w, g" if table is GENERATED else "id, v, s, w"
    before = contents(session, columns)
    try:
        session.execute(*sql.split("; "))
    except pymysql.err.Error:
        return None
    return str(server.flush_binlog()), contents(session, columns) != before


def read(server: Server, log: str, truncates: str, table: str = PLAIN):
    # MySQL 5 logs no names.
    schemas = {"altered.t": table} if server.is_old else None
    reader = binarrow.read_binlog(
        log, tables="altered.t", types="spark", gaps="allow", schemas=schemas
    )
    return reader.nested_json(truncates=truncates).read_all()


@on_every_server
def test_clauses_that_change_rows(server, session):
    known = 0
    for table, sql, by in CHANGES:
        try:
            found = played(server, session, table, sql)
        except pymysql.err.Error:
            continue  # a table that this server does not know
        if found is None:
            continue
        known += 1
        log, has_changed = found
        assert has_changed or table is VERSIONED, sql
        with pytest.raises(binarrow.SchemaError, match=by):
            read(server, log, "error", table)
    assert known >= 6


@on_every_server
def test_clauses_that_keep_rows(server, session):
    known = 0
    for table, sql in HARMLESS:
        try:
            found = played(server, session, table, sql)
        except pymysql.err.Error:
            continue
        if found is None:
            continue
        known += 1
        log, has_changed = found
        assert not has_changed, sql
        read(server, log, "error", table)
    assert known >= 16


@pytest.mark.parametrize("server", ["mysql"], indirect=True)
def test_a_blackhole_is_followed_as_an_emptied_table(server, session):
    server.flush_binlog()
    fill(session, PLAIN)
    session.execute(ALTER + "ENGINE=BLACKHOLE")
    log = str(server.flush_binlog())
    assert read(server, log, "emit")["_op"].to_pylist() == ["c", "c", "t"]
