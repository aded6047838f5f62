"""A consumer that keeps each batch with its position in one transaction, and can be killed at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import binarrow
from binarrow import ChangeBatch, Position, SchemaChange, SchemaHistory, Truncate, TypeOptions

TABLES = """
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER PRIMARY KEY, run INTEGER, kind TEXT, name TEXT, version INTEGER, text TEXT, data BLOB
);
CREATE TABLE IF NOT EXISTS place (one INTEGER PRIMARY KEY CHECK (one = 1), position TEXT);
CREATE TABLE IF NOT EXISTS failures (text TEXT);
"""

NOT_CONNECTED = 3
"""The exit code where the connection could not be made."""


@dataclass(frozen=True)
class Task:
    """The task of one consumer; it can be sent to another process."""

    store: str
    run: int
    port: int
    connect: dict[str, Any]
    stream: dict[str, Any]
    history: str | None
    batches: int | None
    """The number of changes after which it ends; None to continue until it is killed or reaches the end."""


@dataclass(frozen=True)
class Kept:
    """A stored change: rows of one table, or an item."""

    run: int
    kind: str
    name: str
    version: int
    text: str
    data: bytes

    @property
    def database(self) -> str:
        return self.name.split("\0")[0]

    @property
    def table(self) -> str:
        return self.name.split("\0")[1]

    def to_pyarrow(self) -> pa.RecordBatch:
        return pa.ipc.open_stream(self.data).read_next_batch()


def kept(change: Any, run: int = 0) -> Kept:
    """Converts a change to its stored form."""
    match change:
        case ChangeBatch():
            rows = change.to_pyarrow()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_batch(rows)
            name = f"{change.database}\0{change.table}"
            return Kept(run, "rows", name, 0, "", sink.getvalue().to_pybytes())
        case Truncate():
            name = f"{change.database}\0{change.table}"
            return Kept(run, "truncate", name, change.commit_version, "", b"")
        case SchemaChange():
            text = json.dumps([change.kind, list(change.tables), change.statement])
            return Kept(run, "ddl", change.database, change.commit_version, text, b"")
    message = f"what is {type(change).__name__}?"
    raise AssertionError(message)


def open_store(path: str) -> sqlite3.Connection:
    """The store; committed data remains even if this process is killed."""
    store = sqlite3.connect(path, isolation_level=None, timeout=30)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = OFF")
    store.executescript(TABLES)
    return store


def position_of(store: sqlite3.Connection) -> Position:
    [(text,)] = store.execute("SELECT position FROM place").fetchall()
    return Position.from_json(text)


def keep(store: sqlite3.Connection, one: Kept, position: Position) -> None:
    """Stores a change and the position after it in one transaction."""
    store.execute("BEGIN")
    row = (one.run, one.kind, one.name, one.version, one.text, one.data)
    store.execute(
        "INSERT INTO changes (run, kind, name, version, text, data) VALUES (?, ?, ?, ?, ?, ?)", row
    )
    store.execute("UPDATE place SET position = ?", (position.to_json(),))
    store.execute("COMMIT")


def all_kept(path: str) -> Iterator[Kept]:
    with contextlib.closing(open_store(path)) as store:
        query = "SELECT run, kind, name, version, text, data FROM changes ORDER BY number"
        for row in store.execute(query):
            yield Kept(*row)


def consume(task: Task) -> None:
    """Continues from the stored position, and ends the process."""
    store = open_store(task.store)
    try:
        keywords = dict(task.stream)
        if "json" in keywords:
            keywords["types"] = TypeOptions(json=keywords.pop("json"))
        with contextlib.ExitStack() as stack:
            if task.history is not None:
                keywords["history"] = stack.enter_context(SchemaHistory.open(task.history))
            try:
                server = binarrow.connect(host="127.0.0.1", port=task.port, **task.connect)
                stack.enter_context(server)
                stream = stack.enter_context(server.stream(position_of(store), **keywords))
            except binarrow.ConnectionLostError:
                os._exit(NOT_CONNECTED)
            for number, change in enumerate(stream, 1):
                one = kept(change, task.run)
                keep(store, one, change.position)
                if one.kind == "rows" and one.table == "mark":
                    break
                if number == task.batches:
                    break
    except BaseException:  # noqa: BLE001 - the test shows it
        text = f"{Path(task.store).name}, run {task.run}: {traceback.format_exc()}"
        store.execute("INSERT INTO failures VALUES (?)", (text,))
        os._exit(1)
    os._exit(0)
