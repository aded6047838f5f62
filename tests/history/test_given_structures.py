"""Structures that were given and are wrong, if the log itself does not show it."""

from __future__ import annotations

import pytest

import binarrow
from support.servers.servers import Server


def test_a_wrong_structure_is_named_as_the_cause(mariadb_11_8: Server) -> None:
    """The log does not contain the precision of old temporal types, which determines their number of bytes."""
    session = mariadb_11_8.connect()
    session.execute(
        "SET GLOBAL mysql56_temporal_format = OFF",
        "SET GLOBAL binlog_row_metadata = NO_LOG",
        "CREATE DATABASE given",
    )
    try:
        mariadb_11_8.flush_binlog()
        session.execute(
            "CREATE TABLE given.t (id INT NOT NULL, at DATETIME(3) NOT NULL, note VARCHAR(9) NOT NULL)",
            "INSERT INTO given.t VALUES (1, '2026-01-02 03:04:05.678', 'x')",
        )
        path = mariadb_11_8.flush_binlog()
    finally:
        session.execute(
            "SET GLOBAL mysql56_temporal_format = ON",
            "SET GLOBAL binlog_row_metadata = FULL",
            "DROP DATABASE given",
        )
        session.close()

    def read(precision: int) -> list[dict[str, object]]:
        columns = f"id INT NOT NULL, at DATETIME({precision}) NOT NULL, note VARCHAR(9) NOT NULL"
        schemas = {"given.t": f"CREATE TABLE t ({columns}) DEFAULT CHARSET=utf8mb4"}
        with binarrow.read_binlog(str(path), tables="given.t", schemas=schemas, envelope=[]) as one:
            return [row for batch in one for row in batch.to_pyarrow().to_pylist()]

    [row] = read(3)
    assert row["note"] == "x"
    message = "probable cause is that the structure of the table given with schemas="
    with pytest.raises(binarrow.MalformedBinlogError, match=message):
        read(6)


def test_the_lag_is_known_with_the_first_batch(mysql: Server) -> None:
    session = mysql.connect()
    session.execute("CREATE DATABASE late", "CREATE TABLE late.t (id INT PRIMARY KEY)")
    with binarrow.connect(socket=str(mysql.socket), user="root") as connection:
        start = connection.position()
        session.execute(f"INSERT INTO late.t VALUES {', '.join(f'({n})' for n in range(20))}")
        with connection.stream(start, tables="late.t", batch_rows=5) as stream:
            batch = next(stream)
            stats = stream.stats()
            assert stats["rows"] == batch.num_rows == 5
            assert 0 <= stats["lag_seconds"] < 60
    session.execute("DROP DATABASE late")
    session.close()
