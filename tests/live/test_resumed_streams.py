"""A stream that is stopped after any batch and resumed at its position gives each row once: from the server, and from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import Position
from support.logged import database
from support.servers.servers import Server

pytestmark = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)

WAYS: list[dict[str, Any]] = [
    {"threads": 1, "segment_bytes": 2000, "batch_rows": 7},
    {"threads": 2, "segment_bytes": 64 << 10, "batch_rows": 1000},
    {"threads": 4, "segment_bytes": 8 << 20, "batch_rows": 50},
    {"threads": 4, "segment_bytes": 2000, "batch_rows": 65_536},
    {"threads": 2, "segment_bytes": 8 << 20, "batch_rows": 65_536},
]


@pytest.fixture
def once(server: Server) -> Iterator[tuple[Server, binarrow.Server, Position, Path]]:
    """A server that logs three tables in transactions of all sizes, some of them XA or compressed."""
    with database(server, "once"):
        for name in "abc":
            server.execute(f"CREATE TABLE once.{name} (id INT PRIMARY KEY, v VARCHAR(100))")
        server.execute(
            "CREATE USER once@'%' IDENTIFIED BY '0nce'",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO once@'%'",
        )
        file = server.flush_binlog()
        with binarrow.connect(
            host="127.0.0.1",
            port=server.port,
            user="once",
            password="0nce",
            allow_public_key_retrieval=True,
        ) as reached:
            before = reached.position()
            play(server)
            server.flush_binlog()
            yield server, reached, before, file
        server.execute("DROP USER once@'%'")


def play(server: Server) -> None:
    session = server.connect()
    number = 0

    def some(table: str, count: int) -> str:
        nonlocal number
        rows = ", ".join(f"({number + at}, REPEAT('x', 60))" for at in range(count))
        number += count
        return f"INSERT INTO once.{table} VALUES {rows}"

    for size in (1, 3, 2, 40, 1, 300, 2):
        if size == 3 and server.flavor == "mysql":
            session.execute("SET binlog_transaction_compression = ON")
        session.execute("BEGIN", some("a", size), some("b", size), some("a", 2))
        session.execute(f"UPDATE once.a SET v = 'y' WHERE id % 3 = 0 AND id > {number - size}")
        session.execute(some("c", 1), "COMMIT")
        if size == 2 and server.flavor == "mysql":
            session.execute("SET binlog_transaction_compression = OFF")
    session.execute("XA START 'once'", some("a", 30), some("b", 30), "XA END 'once'")
    session.execute("XA PREPARE 'once'")
    server.execute(some("b", 2), some("a", 1))
    session.execute("XA COMMIT 'once'")
    server.execute(some("c", 2), "DELETE FROM once.a WHERE id % 5 = 0", some("a", 1))
    session.close()


Row = tuple[Any, ...]


def rows_of(change: binarrow.ChangeBatch) -> list[Row]:
    columns = change.to_pyarrow().to_pydict()
    return [(change.table, *row) for row in zip(*columns.values(), strict=True)]


def by_table(rows: list[Row]) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {}
    for row in rows:
        tables.setdefault(row[0], []).append(row)
    return tables


def test_every_batch_is_a_place_to_resume_at(
    once: tuple[Server, binarrow.Server, Position, Path],
) -> None:
    server, reached, before, _ = once
    paths = [str(path) for path in server.binlog_files() if path.name >= before.file]

    def live(start: Position, way: dict[str, Any]) -> binarrow.Stream[binarrow.ChangeBatch]:
        return reached.stream(start, stop="end", tables="once.*", **way)

    def files(start: Position, way: dict[str, Any]) -> binarrow.BinlogReader[binarrow.ChangeBatch]:
        return binarrow.read_binlog(paths, start=start, tables="once.*", gaps="allow", **way)

    whole = by_table([row for change in live(before, {}) for row in rows_of(change)])
    assert sum(map(len, whole.values())) > 800
    resumed = 0
    for index, way in enumerate(WAYS):
        rows: list[Row] = []
        ends: list[tuple[int, Position]] = []
        with live(before, way) as changes:
            for change in changes:
                rows += rows_of(change)
                assert changes.position == change.position
                ends.append((len(rows), Position.from_json(change.position.to_json())))
        assert by_table(rows) == whole
        step = max(len(ends) // 5, 1)
        for number, (end, position) in enumerate([*ends[::step], ends[-1]]):
            other = WAYS[(index + number + 1) % len(WAYS)]
            for read in (live, files) if number % 2 else (files,):
                rest = [row for change in read(position, other) for row in rows_of(change)]
                assert by_table(rest) == by_table(rows[end:]), (way, other, position.to_json())
            resumed += bool(position.ahead)
    assert resumed > 10


def test_a_consumer_that_runs_once_for_each_batch(
    once: tuple[Server, binarrow.Server, Position, Path],
) -> None:
    _, reached, before, _ = once
    with reached.stream(before, stop="end", tables="once.*") as changes:
        whole = by_table([row for change in changes for row in rows_of(change)])
    rows: list[Row] = []
    runs, stored = 0, before.to_json()
    while True:
        start = Position.from_json(stored)
        with reached.stream(start, stop="end", tables="once.*", batch_rows=150) as changes:
            change = next(changes, None)
            if change is None:
                break
            rows += rows_of(change)
            stored = change.position.to_json()
        runs += 1
    assert runs > 8
    assert by_table(rows) == whole
