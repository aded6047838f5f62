"""A program that stores the batches of a stream with its position, and may be stopped after any batch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import binarrow
from support.oracles.compare import assert_same_rows
from support.oracles.oracle import select
from support.oracles.replay import ENVELOPE, Names, Row, changes_of, remapped
from support.servers.servers import Server
from support.sync_source import SECRET

POSITION, DESCRIPTION = "position.json", "description.json"
"""The files of a folder with stored batches."""

READ: dict[str, Any] = {"envelope": ENVELOPE, "tables": "shop.*"}

SMALL: dict[str, Any] = {"batch_rows": 4, "segment_bytes": 1500}
"""Batches that are so small that some end inside a transaction."""


@dataclass(frozen=True)
class StoredBatch:
    """A batch in a file, whose name has its number and its table."""

    path: Path

    @property
    def database(self) -> str:
        return self.path.name.split(".")[1]

    @property
    def table(self) -> str:
        return self.path.name.split(".")[2]

    def to_pyarrow(self) -> pa.RecordBatch:
        return pa.ipc.open_stream(self.path.read_bytes()).read_next_batch()


@dataclass
class Consumer:
    """The stored batches in a folder."""

    folder: Path
    batches: list[StoredBatch] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.batches = [StoredBatch(path) for path in sorted(self.folder.glob("*.arrow"))]

    @property
    def description(self) -> dict[str, Any]:
        """The notes of the time when the batches were stored."""
        noted: dict[str, Any] = json.loads((self.folder / DESCRIPTION).read_text())
        return noted

    @property
    def position(self) -> str:
        """The text of the stored position."""
        return (self.folder / POSITION).read_text()

    def add(self, batch: binarrow.ChangeBatch) -> None:
        """Stores a batch, and the position after it."""
        name = f"{len(self.batches):04}.{batch.database}.{batch.table}.arrow"
        rows = batch.to_pyarrow()
        with pa.ipc.new_stream(self.folder / name, rows.schema) as file:
            file.write_batch(rows)
        self.batches.append(StoredBatch(self.folder / name))
        (self.folder / POSITION).write_text(batch.position.to_json())

    def add_until(
        self, batches: Iterable[binarrow.ChangeBatch], is_last: Callable[[dict[str, Any]], bool]
    ) -> None:
        """Stores batches until the stored form of a position fulfils a condition."""
        for batch in batches:
            self.add(batch)
            if is_last(json.loads(self.position)):
                return
        raise AssertionError(f"the log has no such position: {self.folder.name}")

    def note(self, **details: Any) -> None:
        """Writes the description."""
        (self.folder / DESCRIPTION).write_text(json.dumps(details, indent=1))


def connected(*servers: Server) -> binarrow.Server:
    """Returns a connection with the account of the recorded servers."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    url = f"mysql://mirror@{hosts}/?tls=disabled&allow_public_key_retrieval=1"
    return binarrow.connect(url, password=SECRET)


def check_loaded(batches: Iterable[Any], server: Server, *tables: str) -> None:
    """Compares the rows of a load, and their changes, with SELECT.

    A change may be of a row that is not loaded yet. Rows without a key are counted.
    """
    current: dict[str, dict[Row, tuple[Names, Row]]] = {}
    counts: dict[str, Counter[Row]] = {}
    for batch in batches:
        changes = changes_of(batch)
        for change in changes.items:
            is_added = change.kind in ("insert", "update_postimage")
            if not changes.key:
                rows = counts.setdefault(changes.table, Counter())
                rows[change.row] += 1 if is_added else -1
                continue
            key = tuple(change.row[changes.names.index(name)] for name in changes.key)
            keyed = current.setdefault(changes.table, {})
            keyed.pop(key, None)
            if is_added:
                keyed[key] = (changes.names, change.row)
    for table in tables:
        selected = select(server, table)
        names = selected.names
        found = [remapped(row, own, names) for own, row in current.get(table, {}).values()]
        counted = counts.get(table, Counter())
        assert min(counted.values(), default=0) >= 0, table
        assert_same_rows(table, names, found or list(counted.elements()), selected.rows)
