"""Every change of a column's type by MODIFY, with values at the edges: if values change, the reader must report the column.

The values before are those of the INSERT in the log. The values after are those of the row images of an UPDATE that changes
another column. Both are values of binarrow, so that the comparison is the one that a mirror would make. On MySQL 9.7 and
MariaDB 11.8, and with a part of the types and values; `BINARROW_TESTS=all` takes all of them on all servers.
"""

from __future__ import annotations

import os
import random
import re
import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

import pymysql
import pytest

import binarrow
from binarrow import SchemaHistory
from support.extent import IS_ALL
from support.servers.servers import ALL_FLAVORS, Server, Session
from support.workloads.altered_types import FAMILIES

SEED = int(os.environ.get("BINARROW_SEED", "1"))
SHARE = 0.06
FLAVORS = ALL_FLAVORS if IS_ALL else ("mysql", "mariadb-11.8")

# Changes that must not be reported, whatever the `sql_mode`.
SILENT = {
    ("INT", "BIGINT"),
    ("TINYINT", "INT"),
    ("MEDIUMINT UNSIGNED", "INT UNSIGNED"),
    ("MEDIUMINT UNSIGNED", "BIGINT"),
    ("INT", "DECIMAL(22,2)"),
    ("DECIMAL(6,2)", "DECIMAL(12,4)"),
    ("FLOAT", "DOUBLE"),
    ("DOUBLE(10,2)", "DOUBLE"),
    ("BIT(1)", "BIT(8)"),
    ("DATE", "DATETIME"),
    ("DATETIME", "DATETIME(6)"),
    ("TIMESTAMP NULL", "TIMESTAMP(6) NULL"),
    ("TIME(2)", "TIME(6)"),
    ("VARCHAR(3) CHARACTER SET utf8mb4", "VARCHAR(10) CHARACTER SET utf8mb4"),
    ("VARCHAR(10) CHARACTER SET utf8mb4", "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
    ("VARCHAR(10) CHARACTER SET latin1", "VARCHAR(10) CHARACTER SET utf8mb4"),
    ("VARCHAR(10) CHARACTER SET utf8mb4", "TEXT CHARACTER SET utf8mb4"),
    ("CHAR(3) CHARACTER SET utf8mb4", "VARCHAR(10) CHARACTER SET utf8mb4"),
    ("TEXT CHARACTER SET utf8mb4", "LONGTEXT CHARACTER SET utf8mb4"),
    ("ENUM('a','b','c')", "ENUM('a','b','c','d')"),
    ("SET('a','b','c')", "SET('a','b','c','d')"),
    ("VARBINARY(3)", "VARBINARY(5)"),
    ("BINARY(3)", "VARBINARY(9)"),
    ("BLOB", "LONGBLOB"),
}


def altered(
    session: Session, table: str, before: str, values: Sequence[str], afters: Sequence[str]
) -> dict[str, str]:
    """Plays a table with one column for each type after. Returns the types that the server accepted, by column."""
    columns = [f"c{index}" for index in range(len(afters))]
    definitions = ", ".join(f"{column} {before}" for column in columns)
    session.execute(
        f"CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, k INT, {definitions})"
        " ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
    )
    mode = session.query("SELECT @@sql_mode")[0][0]
    session.execute("SET sql_mode = ''")
    for value in values:
        session.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join([value] * len(columns))})"
        )
    session.execute(f"SET sql_mode = '{mode}'")
    accepted = {}
    for column, after in zip(columns, afters, strict=True):
        try:
            session.execute(f"ALTER TABLE {table} MODIFY {column} {after}")
        except pymysql.err.Error:
            continue
        accepted[column] = after
    session.execute("SET sql_mode = ''", f"UPDATE {table} SET k = 1", f"SET sql_mode = '{mode}'")
    return accepted


def storable(session: Session, before: str, values: Sequence[str]) -> list[str]:
    """The values that the server accepts for a type."""
    session.execute("SET sql_log_bin = 0", "DROP TABLE IF EXISTS trial")
    found = []
    try:
        session.execute(f"CREATE TABLE trial (c {before})")
        for value in values:
            try:
                session.execute(f"INSERT INTO trial VALUES ({value})")
                found.append(value)
            except pymysql.err.Error:
                pass
        session.execute("DROP TABLE trial")
    except pymysql.err.Error:
        pass
    session.execute("SET sql_log_bin = 1")
    return found


def plain(value: Any) -> Any:
    """A value for a comparison: the same date and the same number are one value in all types."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value


# Of a table: its rows by their ids, as they were inserted, and as they were before the update.
Images = tuple[dict[int, dict[str, Any]], dict[int, dict[str, Any]]]


def images(reader: binarrow.BinlogReader) -> dict[str, Images]:
    """The images of all tables."""
    found: dict[str, Images] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for batch in reader:
            inserted, updated = found.setdefault(batch.table, ({}, {}))
            for row in batch.to_pyarrow().to_pylist():
                if row["_change_type"] == "insert":
                    inserted[row["id"]] = row
                elif row["_change_type"] == "update_preimage":
                    updated[row["id"]] = row
    return found


def reported(reader: binarrow.BinlogReader) -> dict[tuple[str, str], str]:
    """By table and column, why the reader reports the column."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader.nested_json(truncates="skip").read_all()
    columns = {}
    for warning in caught:
        table = re.match(r"the rows of table types\.(t\d+) ", str(warning.message))
        for column, why in re.findall(r"column `(c\d+)` ([^;`]*)", str(warning.message)):
            assert table
            columns[table[1], column] = why
    return columns


@pytest.fixture(params=FLAVORS)
def session(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Session]]:
    name = str(request.param).replace("-", "_").replace(".", "_")
    server: Server = request.getfixturevalue(name)
    server.execute("DROP DATABASE IF EXISTS types", "CREATE DATABASE types CHARACTER SET utf8mb4")
    if server.flavor == "mysql-5.6":
        # In the older format, a row with 20 long columns of one table is too large.
        server.execute("SET GLOBAL innodb_file_format = Barracuda")
    session = server.connect(database="types")
    session.execute("SET time_zone = '+05:00'")
    yield server, session
    session.close()
    server.execute("DROP DATABASE types")


@pytest.mark.parametrize("mode", ["", "STRICT_TRANS_TABLES"])
def test_values_that_change_are_reported(session: tuple[Server, Session], mode: str) -> None:
    server, own = session
    history = SchemaHistory.open("memory:")
    server.flush_binlog()
    with binarrow.connect(socket=str(server.socket), user="root") as connection:
        history.baseline(connection)
    plays: list[tuple[str, str, dict[str, str]]] = []
    draw = random.Random(SEED)
    for befores, values, afters in FAMILIES:
        for before in befores:
            own.execute("SET sql_mode = ''")
            known = storable(own, before, values)
            targets = [
                after
                for after in afters
                if IS_ALL or (before, after) in SILENT or draw.random() < SHARE
            ]
            if not known or not targets:
                continue
            # A value that does not fit hides the others under a strict sql_mode.
            groups = [known[:4] if mode and not IS_ALL else known]
            if mode and IS_ALL:
                groups += [[value] for value in known]
            for group in groups:
                table = f"t{len(plays)}"
                own.execute(f"SET sql_mode = '{mode}'")
                plays.append((table, before, altered(own, table, before, group, targets)))
    log = str(server.flush_binlog())
    types = binarrow.TypeOptions(profile="spark", invalid_text="replace")
    keywords: dict[str, Any] = {"tables": "types.*", "types": types}
    by_history = {**keywords, "history": history, "start": history.covered[0].start}
    rows = images(binarrow.read_binlog(log, **by_history, envelope=["change_type"]))
    ways = {"history": reported(binarrow.read_binlog(log, **by_history))}
    if not server.is_old:
        ways["log"] = reported(binarrow.read_binlog(log, **keywords))
    silent, alarms, changes = set(), set(), 0
    for table, before, accepted in plays:
        inserted, found = rows[table]
        assert inserted.keys() == found.keys()
        for column, after in accepted.items():
            pairs = [(inserted[key][column], found[key][column]) for key in inserted]
            other = [pair for pair in pairs if plain(pair[0]) != plain(pair[1])]
            changes += bool(other)
            for way, columns in ways.items():
                why = columns.get((table, column))
                case = (way, before, after, why, other[:3])
                assert why or not other, case
                assert "the type before" not in (why or ""), case
                assert not why or (before, after) not in SILENT, case
                (alarms if why else silent).add((before, after))
    print(
        f"\n{server.flavor} {mode}: {len(plays)} tables, {changes} changes, {len(silent)} silent pairs, {len(alarms)} alarms"
    )
    assert len(SILENT & silent) >= len(SILENT) - 2
    assert changes >= 5
