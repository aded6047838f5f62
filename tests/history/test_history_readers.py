"""Many processes read one server with one history: one writes it, the others follow the log in their own memory."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import Position, SchemaHistory
from support import live
from support.servers.servers import Server

FLAVORS = pytest.mark.parametrize(
    "live_server", ["mysql", "mysql-5.7", "mariadb-11.8"], indirect=True
)
STORES = pytest.mark.parametrize("store", ["file", "server"])

PROCESSES = 8

Rows = list[tuple[dict[str, Any], ...]]


@pytest.fixture
def server(live_server: Server) -> Iterator[Server]:
    """A server whose log names no columns, with an account that may read structures and keep a history."""
    session = live_server.connect()
    session.execute(
        "CREATE USER many@'%' IDENTIFIED BY 'm4ny'",
        "GRANT ALL ON *.* TO many@'%'",
        "CREATE DATABASE many CHARACTER SET utf8mb4",
        "CREATE DATABASE kept",
    )
    if not live_server.is_old:
        least = "NO_LOG" if live_server.is_mariadb else "MINIMAL"
        session.execute(f"SET GLOBAL binlog_row_metadata = {least}")
    live_server.flush_binlog()
    yield live_server
    if not live_server.is_old:
        session.execute("SET GLOBAL binlog_row_metadata = FULL")
    session.execute("DROP DATABASE many", "DROP DATABASE kept", "DROP USER many@'%'")
    session.close()


def url_of(store: str, server: Server, folder: Path) -> str:
    keywords = "allow_public_key_retrieval=true"
    return {
        "file": f"sqlite:///{folder}/history.db",
        "server": f"mysql://many:m4ny@127.0.0.1:{server.port}/kept?{keywords}",
    }[store]


def reach(server: Server) -> binarrow.Server:
    return live.reach(server, user="many", password="m4ny")


def covered(url: str) -> tuple[binarrow.CoveredRange, ...]:
    with SchemaHistory.open(url) as history:
        return history.covered


class Shop:
    """A table whose columns change all the time, and the rows that a reader must return."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.names = ["id"]
        self.rows: list[dict[str, Any]] = []
        server.execute("CREATE TABLE many.t (id INT PRIMARY KEY)")

    def insert(self) -> None:
        row = {name: len(self.rows) * 100 + place for place, name in enumerate(self.names)}
        values = ", ".join(str(row[name]) for name in self.names)
        self.server.execute(f"INSERT INTO many.t VALUES ({values})")
        self.rows.append(row)

    def alter(self) -> None:
        """Renames all columns but the key, and adds one at the front."""
        number = len(self.names)
        self.server.execute(f"ALTER TABLE many.t ADD COLUMN c{number} INT FIRST")
        self.names.insert(0, f"c{number}")

    def work(self, count: int) -> None:
        for _ in range(count):
            self.insert()
            self.alter()
            self.insert()

    def end(self) -> None:
        self.server.execute("CREATE TABLE many.done (id INT)", "INSERT INTO many.done VALUES (1)")


PROCESS = """
import json, sys
import binarrow

way, port, url, start = sys.argv[1:]
start = binarrow.Position.from_json(start)
server = binarrow.connect(
    host="127.0.0.1", port=int(port), user="many", password="m4ny", allow_public_key_retrieval=True
)
options = {"tables": "many.*", "envelope": []}
rows = []

def take(batch):
    if batch.table == "done":
        return True
    rows.extend(batch.to_pyarrow().to_pylist())

print("ready", flush=True)
input()
if way == "stream":
    with server.stream(start, history=url, **options) as stream:
        for batch in stream:
            if take(batch):
                break
        print(json.dumps(rows), flush=True)
        input()  # the writer stays the writer
else:  # as Spark's driver and its tasks do
    input()
    with binarrow.SchemaHistory.open(url) as history:
        stop = server.position()
        middle = server.range_end(start, stop=stop, max_bytes=1500, history=history)
        server.range_end(middle, stop=stop, history=history)
        for first, last in ((start, middle), (middle, stop)):
            snapshot = history.schema_snapshot(first, last)
            with server.range(first, last, schema_snapshot=snapshot, **options) as stream:
                for batch in stream:
                    take(batch)
        print(json.dumps(rows), flush=True)
        input()
"""


class Process:
    def __init__(self, way: str, server: Server, url: str, start: Position) -> None:
        arguments = [way, str(server.port), url, start.to_json()]
        pipe = subprocess.PIPE
        self.way = way
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROCESS, *arguments],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    def said(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(self._process.communicate()[1])
        return line

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self) -> None:
        errors = self._process.communicate("\n", timeout=30)[1]
        assert self._process.returncode == 0, errors

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@FLAVORS
@STORES
def test_eight_processes_begin_one_history_at_once(
    server: Server, tmp_path: Path, store: str
) -> None:
    """Tables change before the first baseline; those that are read change as soon as the history exists."""
    url = url_of(store, server, tmp_path)
    shop = Shop(server)
    shop.alter()
    with reach(server) as connection:
        start = connection.position()
    shop.insert()
    server.execute("CREATE TABLE many.other (id INT)", "DROP TABLE many.other")
    shop.insert()
    ways = ["stream", "plan"] * (PROCESSES // 2)
    with contextlib.ExitStack() as stack:
        processes = [Process(way, server, url, start) for way in ways]
        for process in processes:
            stack.callback(process.kill)
        for process in processes:
            assert process.said() == "ready\n"
        for process in processes:
            process.go()
        live.until(lambda: covered(url))
        shop.work(6)
        shop.end()
        for process in processes:
            if process.way == "plan":
                process.go()
        for process in processes:
            assert json.loads(process.said()) == shop.rows, process.way
        for process in processes:
            process.end()
    # The stored history is complete without the rows of the followers.
    with SchemaHistory.open(url) as history, reach(server) as connection:
        assert history.find("many", "t", start) is not None
        with connection.stream(start, stop="end", history=history, tables="many.t") as stream:
            rows = [row for batch in stream for row in batch.to_pyarrow().to_pylist()]
    assert [{name: row[name] for name in row if name[0] != "_"} for row in rows] == shop.rows


@FLAVORS
@STORES
def test_a_reader_is_ahead_of_the_writer_and_takes_over(
    server: Server, tmp_path: Path, store: str
) -> None:
    """Each history has a lock of its own, as those of two processes have."""
    url = url_of(store, server, tmp_path)
    shop = Shop(server)
    with reach(server) as connection:
        start = connection.position()
        with SchemaHistory.open(url) as history:
            history.baseline(connection)
        writer, reader = SchemaHistory.open(url), SchemaHistory.open(url)
        options = {"tables": "many.t", "envelope": []}
        slow = connection.stream(start, history=writer, threads=1, **options)
        quick = connection.stream(start, history=reader, **options)
        rows: list[dict[str, Any]] = []

        def read() -> bool:
            batch = quick.poll(1.0)
            rows.extend(batch.to_pyarrow().to_pylist() if batch is not None else [])
            return rows == shop.rows

        shop.work(1)
        assert next(slow).num_rows == 1  # it has the lock, and is not read any further
        for _ in range(3):
            shop.work(2)
            live.until(read)
        # Both know of all of it; the writer alone stores it.
        assert reader.find("many", "t", quick.position) is not None
        with pytest.raises(binarrow.ConfigError, match="is written by process"):
            reader.baseline(connection)
        slow.close()
        writer.close()
        shop.work(1)

        def is_stored() -> bool:
            shop.work(1)  # statements are stored at once, and how far the log was read later
            live.until(read)
            found = covered(url)
            return (
                bool(found)
                and quick.position is not None
                and ((found[-1].stop.file, found[-1].stop.offset) >= (end.file, end.offset))
            )

        end = connection.position()
        live.until(is_stored)
        live.until(read)
        quick.close()
        reader.close()
        with SchemaHistory.open(url) as other:
            table = other.find("many", "t")
            assert table is not None
            assert [column.name for column in table.columns] == shop.names
            count = sum(change.kind == "statement" for change in other.changes("many", "t"))
            assert count == len(shop.names) - 1  # each once, whoever wrote it
