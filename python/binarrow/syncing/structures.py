"""The structures of the source's tables at each position of the log.

A table history in a file beside the target. The target contains a copy of the file, which is
committed with the rows: a sync that starts again begins with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from binarrow._native import BinarrowError, Position, SchemaError, TableSchema, TypeOptions
from binarrow.history import SchemaHistory
from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, Selection, shown, split
from binarrow.syncing.rows import ADDED, PRESENT, plain

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.server import Server
    from binarrow.syncing.settings import Mode, Settings

TYPES = TypeOptions(enum="text")
"""The types of the change stream."""


class Structures:
    """The structures of tables, from a history that this object keeps."""

    def __init__(
        self,
        file: Path,
        stored: bytes | None,
        *,
        is_mariadb: bool,
        committed: Position | None = None,
    ) -> None:
        """Opens the copy in a target, whose position is `committed`, or creates a new history.

        Raises:
            LaterVersionError: A later version of binarrow has written the copy.
        """
        self._file = file
        self._remove()
        if stored is not None:
            file.write_bytes(stored)
        try:
            self.history = SchemaHistory.open(self._file)
        except BinarrowError:
            self._remove()
            raise
        self._is_mariadb = is_mariadb
        self._copied = committed
        """A position. The last copy contains all statements before it."""
        self._ranges = len(self.history.covered)
        """The number of ranges of logs in the last copy."""

    def _place(self, position: Position) -> Position | None:
        """Returns the position, or the end of its log in the history if it is after this end.

        The copy in a target has no statement between the end and the position of the target.
        """
        covered = self.history.covered
        stop = next((one.stop for one in covered[::-1] if one.stop.server == position.server), None)
        if stop is None:  # in the log of another server, whose GTIDs the history has
            return position.base if covered and position.gtid_set is not None else None
        return stop if _is_after(position, stop) else position.base

    def tables(self, position: Position, selection: Selection) -> list[Name]:
        """Returns the selected tables that exist at a position."""
        names = [split(text) for text in self.history.tables(self._place(position))]
        selected = sorted(name for name in names if selection.has(name))
        if not self._is_mariadb:
            return selected
        found = {name: self.find(name, position) for name in selected}
        return [name for name, table in found.items() if table and not is_sequence(table)]

    def find(self, name: Name, position: Position) -> TableSchema | None:
        """Returns a table at a position; None if there is no such table."""
        return self.history.find(*name, self._place(position))

    def snapshot(self, name: Name, position: Position) -> str:
        """Returns the structure of a table at a position, for :meth:`Server.range`."""
        place = self._place(position) or self.history.covered[-1].stop
        return self.history.schema_snapshot(place, place, tables=shown(name))

    def columns(self, table: TableSchema, position: Position) -> pa.Schema:
        """Returns the columns of a table that the target has, with their types."""
        native = self.history.__binarrow_history__()
        schema = native.arrow_schema(table.database, table.table, TYPES, self._place(position))
        if schema is None:
            raise SchemaError(f"the history has no table {table.database}.{table.table}")
        return plain(schema, self.left_out(table))

    def of_batch(self, batch: pa.RecordBatch, left_out: Sequence[str]) -> pa.Schema:
        """Returns the columns of a table that the target has, from a batch of its changes."""
        return plain(batch.schema, [*ADDED, PRESENT, *left_out])

    def left_out(self, table: TableSchema) -> list[str]:
        """Returns the columns that the target does not have: those that MariaDB computes.

        Their values are not always in MariaDB's log.
        """
        if not self._is_mariadb:
            return []
        return [column.name for column in table.columns if column.generated is not None]

    def check_key(self, table: TableSchema, mode: Mode) -> None:
        """Checks that the rows of a table can be identified.

        Raises:
            TableError: It is to be mirrored, and has no key that the log contains.
        """
        name = (table.database, table.table)
        if mode != "history" and not table.row_key:
            raise TableError(
                name,
                f"{table.database}.{table.table} has no primary key and no unique key of columns"
                " that are NOT NULL, so its rows cannot be identified: add a key, leave the table"
                " out (exclude_tables), or use mode='history'",
            )
        computed = sorted({*table.row_key} & {*self.left_out(table)})
        if mode != "history" and computed:
            raise TableError(
                name,
                f"{table.database}.{table.table}: MariaDB computes the column {computed[0]} of the"
                " key, and its log does not always contain the values: leave the table out"
                " (exclude_tables), or use mode='history'",
            )

    def _remove(self) -> None:
        for ending in ("", "-wal", "-shm", ".copy", ".default.lock"):
            self._file.with_name(self._file.name + ending).unlink(missing_ok=True)

    def copy(self, position: Position, committed: Position | None) -> bytes | None:
        """Returns a copy of the file; None if the last copy has all statements up to a position.

        Args:
            position: The position of the commit that will contain the copy.
            committed: The position of the last commit; None if there is none. A sync never
                continues before it, so the copy has no statements before it: its size does not grow
                with the age of the target.
        """
        if len(self.history.covered) == self._ranges and not self._has_changes(position):
            return None
        if committed is not None:
            self._prune(committed)
        copy = self._file.with_name(self._file.name + ".copy")
        copy.unlink(missing_ok=True)
        self.history.__binarrow_history__().copy_to(copy)
        self._copied, self._ranges = position, len(self.history.covered)
        return copy.read_bytes()

    def _prune(self, before: Position) -> None:
        """Removes the statements before a position, if the history has its log."""
        last = self.history.covered[-1]
        place = self._place(before)
        if place is not None and last.start.server == place.server and _is_after(place, last.start):
            self.history.prune(place)

    def _has_changes(self, position: Position) -> bool:
        """True if there are statements in a position's log before it that the last copy lacks."""
        if self._copied is None or self._copied.server != position.server:
            return True
        changes = self.history.changes(start=self._place(self._copied), stop=self._place(position))
        return any(one.position.server == position.server for one in changes)

    def extend(self, position: Position) -> None:
        """Moves the end of the history to a position of the target, to continue on another server.

        The copy in a target has all statements before its position, but ends at the last of them:
        a position of another server, after the end, would not be found by its GTIDs.
        """
        self.history.__binarrow_history__().extend(position)

    def copy_again(self) -> None:
        """Forgets the last copy, because it was not committed."""
        self._copied = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.history.close()
        self._remove()


def _is_after(position: Position, other: Position) -> bool:
    """True if a position is after another one of the same log."""
    first, second = ((one.file_number or 0, one.offset) for one in (position, other))
    return first > second


def existing_tables(server: Server, settings: Settings) -> list[TableSchema]:
    """Returns the selected tables that the server has now."""
    tables = server.schemas(**settings.selected).tables
    return [table for table in tables if not is_sequence(table)]


SEQUENCE = (
    "next_not_cached_value",
    "minimum_value",
    "maximum_value",
    "start_value",
    "increment",
    "cache_size",
    "cycle_option",
    "cycle_count",
)
"""The columns of a sequence of MariaDB."""


def is_sequence(table: TableSchema) -> bool:
    """True if it is not a table, but a sequence of MariaDB, whose log contains a row of it."""
    return tuple(column.name for column in table.columns) == SEQUENCE and not table.row_key


__all__ = ["TYPES", "Structures", "existing_tables", "is_sequence"]
