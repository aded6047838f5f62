"""The changes since the last commit, in bounded memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.operations import (
    Append,
    Clear,
    Create,
    Drop,
    Operation,
    Record,
    Rename,
    Versions,
    Write,
)
from binarrow.syncing.reduce import reduced
from binarrow.syncing.rows import check_keys, with_envelope
from binarrow.syncing.versions import versions

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.syncing.settings import Settings


class Pending:
    """Operations of the next commit. Rows of a table are collected until it has another one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._operations: list[Operation] = []
        self._batches: dict[Name, tuple[Record, list[pa.RecordBatch]]] = {}
        self._rows = self._bytes = 0
        self._since = time.monotonic()

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to commit."""
        return not self._operations and not self._batches

    @property
    def is_full(self) -> bool:
        """True if no more rows may be added before a commit."""
        limits = self._settings
        return self._rows >= limits.max_rows_per_commit or self._bytes >= limits.max_bytes

    @property
    def is_due(self) -> bool:
        """True if it is time for a commit."""
        return self.is_full or time.monotonic() - self._since >= self._settings.every

    def is_larger_than(self, multiple: int, rows: int) -> bool:
        """True if the rows are more than a multiple of the limits, and more than this number.

        The number does not apply to the limit of bytes.
        """
        limits = self._settings
        has_more = self._rows > max(multiple * limits.max_rows_per_commit, rows)
        return has_more or self._bytes > multiple * limits.max_bytes

    def has_operation(self, name: Name) -> bool:
        """True if the next commit has operations of a table besides its last rows."""
        return any(
            operation.name == name or (isinstance(operation, Rename) and operation.to == name)
            for operation in self._operations
        )

    def rows(self, record: Record) -> pa.Table:
        """Returns the last rows of a table, in the order of the log."""
        import pyarrow as pa

        _, batches = self._batches.get(record.name, (record, []))
        return pa.Table.from_batches(batches, with_envelope(record.schema)).combine_chunks()

    def remove_rows(self, name: Name) -> None:
        """Removes the last rows of a table."""
        for batch in self._batches.pop(name, (None, []))[1]:
            self._rows -= batch.num_rows
            self._bytes -= batch.nbytes

    def replace_rows(self, record: Record, rows: pa.Table) -> None:
        """Replaces the last rows of a table."""
        self.remove_rows(record.name)
        for batch in rows.to_batches():
            self.add_rows(record, batch)

    def add_rows(self, record: Record, batch: pa.RecordBatch) -> None:
        """Adds changes of a table, in the order of the log.

        Rows are reduced together only if they are compared in the same way: rows of a table that
        has another key now, or other columns, are rows of another operation.
        """
        earlier = self._batches.get(record.name)
        if earlier is not None and not _has_same_rows(earlier[0], record):
            self.finish(record.name)
        self._batches.setdefault(record.name, (record, []))[1].append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes

    def add(self, operation: Operation) -> None:
        """Adds an operation after the rows that its table has so far."""
        name = operation.name
        if isinstance(operation, Clear | Create | Drop) and self._settings.mode == "mirror":
            self._batches.pop(name, None)
        else:
            self.finish(name)
        if isinstance(operation, Rename):
            self._batches.pop(operation.to, None)  # it is replaced
        self._operations.append(operation)

    def take(self) -> list[Operation]:
        """Returns the operations, and begins the next commit."""
        for name in list(self._batches):
            self.finish(name)
        operations, self._operations = self._operations, []
        self._rows = self._bytes = 0
        self._since = time.monotonic()
        return operations

    def finish(self, name: Name) -> None:
        """Ends the rows of a table: later ones are of another table with the name."""
        import pyarrow as pa

        if name not in self._batches:
            return
        record, batches = self._batches.pop(name)
        changes = pa.Table.from_batches(batches)
        if self._settings.mode == "history":
            self._operations.append(Append(name, changes))
            return
        if not record.key:
            raise TableError(name, f"{shown(name)} has no key: see mode='history'")
        check_keys(name, changes.select(record.key), changes)
        if self._settings.mode == "scd2":
            self._operations.append(Versions(name, record.key, *versions(changes, record.key)))
            return
        self._operations.append(
            Write(name, record.key, *reduced(changes, record.key, record.schema.names))
        )


def _has_same_rows(record: Record, other: Record) -> bool:
    """True if the changes of both have the same columns and the same key."""
    return record.key == other.key and record.schema == other.schema


__all__ = ["Pending"]
