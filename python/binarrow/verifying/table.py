"""Compares a table of a server with that of a target.

The target's rows are read first, at its committed position P; then a snapshot of the server, which
is at P or later. The log between them determines which rows the server had at P.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from binarrow._native import (
    BinarrowError,
    ChosenRows,
    ConfigError,
    ConnectionLostError,
    Position,
    PositionPurgedError,
    RowSums,
    hash_rows,
)
from binarrow.syncing.errors import TargetBusyError, TargetDiffersError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.rows import conformed
from binarrow.syncing.source_rows import end_of, rows_after
from binarrow.syncing.structures import Structures
from binarrow.verifying.changes import LoggedChanges
from binarrow.verifying.errors import InconclusiveError
from binarrow.verifying.result import DifferingKey, VerifiedTable, VerifyProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pyarrow as pa

    from binarrow._native import TableRows
    from binarrow.server import Server
    from binarrow.syncing.operations import Record
    from binarrow.syncing.snapshot import ReadableTarget

MAX_ROWS = 200_000
"""The number of rows that are compared one by one; the keys of their parts are in memory."""

MAX_KEYS = 100
"""The number of keys in a result."""


@dataclass(frozen=True)
class Settings:
    """The settings of a comparison, as :func:`binarrow.verify` describes them."""

    locks: Literal["brief"] | None = None
    max_rows_per_second: int | None = None
    show_keys: bool = False
    on_progress: Callable[[VerifyProgress], object] = lambda _: None


@dataclass
class Side:
    """The rows of one side: sums of all rows, or the rows of some parts."""

    rows: RowSums | ChosenRows
    chosen: ChosenRows | None = None
    keys: list[pa.RecordBatch] = field(default_factory=list)
    count: int = 0

    @classmethod
    def of(cls, parts: Sequence[int] | None) -> Side:
        """Returns a side without rows; ``parts`` is None for the sums of all rows."""
        if parts is None:
            return cls(RowSums())
        chosen = ChosenRows(parts)
        return cls(chosen, chosen)

    def add(self, batch: pa.RecordBatch, key: Sequence[str], *changes: Any) -> None:
        """Adds rows."""
        keys = batch.select(key)
        self.rows.add(keys, batch, *changes)
        self.count += batch.num_rows
        if self.chosen is not None:
            self.keys.append(keys.filter(self.chosen.has(keys)))


class TableComparison:
    """The comparison of one table."""

    def __init__(
        self,
        server: Server,
        target: ReadableTarget,
        name: Name,
        settings: Settings,
        folder: Path,
    ) -> None:
        self._server = server
        self._target = target
        self._name = name
        self._settings = settings
        self._folder = folder
        self._unknown_member = ""
        """A column of type ENUM or SET whose members the server does not show."""
        self.result = VerifiedTable()

    def run(self) -> VerifiedTable:
        """Compares the sums of all parts, then the rows of parts that differ.

        Raises:
            ConnectionLostError: The server cannot be reached.
            TargetBusyError: Another process uses the target.
        """
        try:
            parts = self._differing_parts()
            if parts:
                self._compare_rows(parts)
            else:
                self.result.result = "MATCH"
        except TargetDiffersError as error:
            self.result.result, self.result.reason = "MISMATCH", str(error)
        except (ConnectionLostError, TargetBusyError, ConfigError):
            raise
        except PositionPurgedError as error:
            self.result.reason = (
                f"the server has purged its log after the target's position ({error})"
            )
        except BinarrowError as error:
            self.result.reason = str(error)
        return self.result

    def _differing_parts(self) -> dict[int, int]:
        """Returns the parts whose sums differ, with their numbers of rows."""
        source, target, changes = self._read(None)
        assert isinstance(source.rows, RowSums)  # noqa: S101 - of Side.of(None)
        assert isinstance(target.rows, RowSums)  # noqa: S101
        source.rows.roll_back(changes.rows)
        self.result.source_rows = source.rows.rows
        self.result.target_rows = target.rows.rows
        parts = dict(source.rows.differing(target.rows))
        for part in changes.rows.contradicted_parts():
            parts.setdefault(part, 0)
        return parts

    def _compare_rows(self, parts: dict[int, int]) -> None:
        """Reads the rows of parts again, and compares them one by one."""
        wanted: list[int] = []
        count = 0
        for part, rows in sorted(parts.items()):
            count += rows
            if wanted and count > MAX_ROWS:
                self.result.is_complete = False
                break
            wanted.append(part)
        source, target, changes = self._read(wanted)
        if source.chosen is None or target.chosen is None:
            return
        source.chosen.roll_back(changes.rows)
        found = source.chosen.differences(target.chosen, changes.rows)
        if not found:
            raise InconclusiveError(
                "rows differed, and did not when they were read again: the target or the server"
                " has changed. Verify again"
            )
        if changes.images and self._unknown_member:
            raise InconclusiveError(
                f"a member of the column {self._unknown_member} contains '?', which SHOW CREATE"
                " TABLE also prints for other characters: the values in the log are not certain."
                " Run binarrow sync, then verify while the table does not change; or set"
                " binlog_row_metadata=FULL"
            )
        self.result.result = "MISMATCH"
        for _, difference in found:
            self.result.differences[difference] += 1
        if self._settings.show_keys:
            batches = [*source.keys, *target.keys, *changes.keys]
            kinds = dict(found[:MAX_KEYS])
            self.result.keys = [DifferingKey(kinds[one], key) for one, key in named(kinds, batches)]

    # -------------------------------------------------------------------------- both sides

    def _read(self, parts: list[int] | None) -> tuple[Side, Side, LoggedChanges]:
        target, source = Side.of(parts), Side.of(parts)
        record, position, structures = self._read_target(target)
        self.result.position = position.base
        with rows_after(
            self._server,
            self._name,
            record.schema.names,
            position,
            locks=self._settings.locks,
            max_rows_per_second=self._settings.max_rows_per_second,
        ) as rows:
            # The server executes the query when its first rows are there.
            first = next(rows, None)
            changes = LoggedChanges(record, source.chosen)
            self._read_log(changes, position, rows, structures)
            self._check_columns(record)
            for batch in chain([] if first is None else [first], rows):
                own = conformed(self._name, batch, record.schema).select(record.schema.names)
                source.add(own, record.key, changes.rows)
                self._show("source", source.count, rows.estimated_rows)
        return source, target, changes

    def _read_target(self, side: Side) -> tuple[Record, Position, bytes]:
        with self._target.snapshot() as snapshot:
            if snapshot.stored is None:
                raise InconclusiveError("the target has been removed")
            state, structures = snapshot.stored
            record = state.records.get(self._name)
            if record is None:
                raise InconclusiveError("sync has not copied the table into the target")
            if record.status != "followed":
                raise InconclusiveError(STATUS[record.status])
            if state.position.loading is not None:
                raise InconclusiveError("the initial load is not complete: run binarrow sync")
            if not record.key:
                raise InconclusiveError("the table has no key")
            for batch in snapshot.rows(record):
                side.add(batch, record.key)
                self._show("target", side.count)
            return record, state.position, structures

    def _read_log(
        self, changes: LoggedChanges, position: Position, rows: TableRows, structures: bytes
    ) -> None:
        """Reads the changes after the target's position that the snapshot may contain."""
        snapshot, end = rows.position, end_of(rows, self._server)
        if snapshot is None or end is None:
            raise InconclusiveError("the position of a snapshot is not known")
        if position == snapshot == end:
            return
        is_mariadb = self._server.flavor == "mariadb"
        with Structures(self._folder / "tables.db", structures, is_mariadb=is_mariadb) as history:
            structure = history.snapshot(self._name, position)
        if position != snapshot:
            stop = snapshot
            if position.server == snapshot.server:
                stop = snapshot.replace(version_shift=position.version_shift)
            changes.read(self._server, position, stop, structure, self._show_log)
        if end != snapshot:
            changes.rows.reach_uncertain()
            changes.read(self._server, snapshot, end, structure, self._show_log)

    def _check_columns(self, record: Record) -> None:
        """Checks that the target has all columns of the server."""
        stored = {name.lower() for name in record.schema.names}
        is_mariadb = self._server.flavor == "mariadb"
        for column in self._server.describe(shown(self._name)).columns:
            if any("?" in member for member in column.members or ()):
                self._unknown_member = column.name
            is_left_out = is_mariadb and column.generated is not None
            if column.name.lower() not in stored and not is_left_out:
                raise InconclusiveError(
                    f"the target does not have the column {column.name}, and the log has no"
                    " statement that adds it"
                )

    def _show_log(self, rows: int) -> None:
        self._show("log", rows)

    def _show(self, side: Literal["target", "log", "source"], rows: int, estimate: int = 0) -> None:
        self._settings.on_progress(VerifyProgress(self._name, side, rows, estimate))


STATUS = {
    "parked": "the table is parked after an error, and the target keeps its rows",
    "incomplete": "the initial load or a repair of the table is not complete: run binarrow sync",
    "dropped": "the server has dropped the table, and the target keeps its rows",
    "left out": "sync does not select the table any more, and the target keeps its rows",
}


def named(
    kinds: dict[int, Any], batches: Sequence[pa.RecordBatch]
) -> list[tuple[int, dict[str, Any]]]:
    """Returns the keys with these hashes."""
    found: dict[int, dict[str, Any]] = {}
    for batch in batches:
        for place, one in enumerate(hash_rows(batch)):
            if one in kinds and one not in found:
                row = batch.slice(place, 1)
                cells = zip(row.schema.names, row.columns, strict=True)
                found[one] = {name: _cell(column) for name, column in cells}
    return list(found.items())


def _cell(column: pa.Array) -> Any:
    import pyarrow as pa

    try:
        return column[0].as_py()
    except (ValueError, OverflowError):
        # Python's dates begin with the year 1, MySQL's with 0.
        return column.cast(pa.string())[0].as_py()


__all__ = ["Settings", "TableComparison"]
