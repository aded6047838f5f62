"""The log of statements on a server: a helper for tests whose rows are written by hand.

files = logged(server, "INSERT INTO small.t VALUES (1)")
assert rows(files, "small.t") == [("insert", 1)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import binarrow
from support.servers.servers import Server
from support.workloads.table import quote

Rows = list[tuple[Any, ...]]


@contextmanager
def database(server: Server, name: str, *statements: str) -> Iterator[str]:
    """A database of the test's own, selected in the server's own session."""
    server.execute(f"DROP DATABASE IF EXISTS {quote(name)}")
    server.execute(f"CREATE DATABASE {quote(name)} CHARACTER SET utf8mb4", f"USE {quote(name)}")
    server.execute(*statements)
    try:
        yield name
    finally:
        server.execute(f"DROP DATABASE {quote(name)}")


@contextmanager
def logging(server: Server) -> Iterator[list[Path]]:
    """The list holds, afterwards, the closed files that were written meanwhile."""
    server.flush_binlog()
    before = len(server.binlog_files()) - 1
    files: list[Path] = []
    yield files
    server.flush_binlog()
    files.extend(server.binlog_files()[before:-1])


def logged(server: Server, *statements: str) -> list[Path]:
    """Runs statements; gives the closed files with what they logged."""
    with logging(server) as files:
        server.execute(*statements)
    return files


def read(files: Sequence[Path], tables: str, **keywords: Any) -> binarrow.BinlogReader:
    return binarrow.read_binlog([str(path) for path in files], tables=tables, **keywords)


def rows(files: Sequence[Path], tables: str, **keywords: Any) -> Rows:
    """Each change as its kind and its cells."""
    return rows_of(read(files, tables, **keywords))


def rows_of(batches: Iterable[binarrow.ChangeBatch]) -> Rows:
    found: Rows = []
    for batch in batches:
        data = batch.to_pyarrow()
        kinds = data.column("_change_type").to_pylist()
        own = [i for i, name in enumerate(data.schema.names) if not name.startswith("_")]
        found += zip(kinds, *(data.column(index).to_pylist() for index in own), strict=True)
    return found


def cells_of(batches: Iterable[binarrow.ChangeBatch], column: str) -> list[Any]:
    return [cell for batch in batches for cell in batch.to_pyarrow().column(column).to_pylist()]
