"""Repairs tables after changes that foreign keys made, and that the log does not contain.

They are for effects that sync cannot compute. If these are deletes only, the keys of the target at
a commit are compared with those of a later snapshot of the source, while sync follows the log. A
row that the source did not have then, and that the log does not mention after that, was deleted.
Other tables are read again.

While tables are being loaded, the rows that connect a deleted row with its descendants may not be
in the target, so that descendants are not found. Their tables are repaired too.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from binarrow.syncing.comparison import CannotCompareError, ComparedTable, Comparison, limited
from binarrow.syncing.current_rows import current_rows
from binarrow.syncing.errors import TargetDiffersError
from binarrow.syncing.names import Name, shown, split
from binarrow.syncing.reduce import CHANGE, ORDINAL, TIME, VERSION
from binarrow.syncing.rows import conformed, with_envelope
from binarrow.syncing.snapshot import ReadableTarget
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from binarrow._native import Position
    from binarrow.server import Server
    from binarrow.syncing.operations import Operation, Record
    from binarrow.syncing.pending import Pending
    from binarrow.syncing.settings import Settings
    from binarrow.syncing.snapshot import Snapshot
    from binarrow.syncing.summary import SyncSummary
    from binarrow.syncing.target import Target

LOG = logging.getLogger("binarrow.sync")

PAUSE = 9
"""The pause after a comparison, as a multiple of its duration."""


class FollowedTables(Protocol):
    """The tables of a target, as :class:`binarrow.syncing.tables.Tables` has them."""

    settings: Settings
    target: Target
    summary: SyncSummary
    pending: Pending
    records: dict[Name, Record]
    reloads: set[Name]

    def followed(self, name: Name) -> Record | None:
        """Returns a table whose changes are applied."""

    def is_emptied(self, name: Name) -> bool:
        """True if the next commit removes the rows of a table and begins to load it."""

    def put(self, record: Record, *operations: Operation) -> None:
        """Sets the state of a table, and adds operations on it."""

    def reload(self, name: Name, why: str) -> None:
        """Reads the rows of a table again, after the next commit."""


class Repairs:
    """The tables to repair. Until then, they are incomplete."""

    def __init__(self, tables: FollowedTables) -> None:
        self._tables = tables
        self._to_reload: set[Name] = set()
        """Tables to read again after all loads."""
        self._to_compare: dict[Name, int] = {}
        """Tables that lack nothing but deletes, with the version of the last one of these."""
        self._comparison: Comparison | None = None
        self._start = self._next = 0.0
        """The time of the last comparison, and the time before which no other one starts."""

    def clear(self) -> None:
        """Forgets all tables."""
        self._to_reload.clear()
        self._to_compare.clear()
        if self._comparison is not None:
            self._comparison.cancel()
        self._comparison = None

    def add(
        self, name: Name, why: str, version: int, *, lacks_deletes: bool, is_loading: bool
    ) -> None:
        """Adds a table.

        Args:
            name: The table.
            why: The reason for the repair.
            version: The version of the last change whose effects are not known.
            lacks_deletes: True if all rows that the source has are correct in the target.
            is_loading: True if the table is to be read again after all loads, not now.
        """
        tables = self._tables
        is_comparable = lacks_deletes and self.can_compare
        if not (is_comparable or is_loading):
            tables.reload(name, why)
        elif not tables.is_emptied(name):
            record = tables.records[name]
            how = "its keys are compared with the source"
            if is_comparable:
                self._to_compare[name] = max(version, self._to_compare.get(name, -1))
            else:
                self._to_reload.add(name)
                how = "its rows are read again when all tables are loaded"
            if record.status != "incomplete":
                LOG.warning("%s: %s: %s", shown(name), why, how)
                tables.put(replace(record, status="incomplete", lacks_deletes=is_comparable))
            elif not is_comparable:
                tables.put(replace(record, lacks_deletes=False))

    @property
    def can_compare(self) -> bool:
        """True if keys can be compared: not if rows may have to stay that TRUNCATE removes."""
        settings, target = self._tables.settings, self._tables.target
        is_mirror = settings.mode != "history" and isinstance(target, ReadableTarget)
        return is_mirror and settings.on_truncate == "apply"

    def has(self, name: Name) -> bool:
        """True if a table is to be repaired."""
        return name in self._to_reload or self.lacks_deletes(name)

    def lacks_deletes(self, name: Name) -> bool:
        """True if a comparison of its keys is sufficient to repair a table."""
        if name in self._to_reload:
            return False
        is_compared = self._comparison is not None and name in self._comparison.tables
        return name in self._to_compare or is_compared

    @property
    def is_waiting(self) -> bool:
        """True if tables are to be compared."""
        return bool(self._to_compare) or self._comparison is not None

    @property
    def until(self) -> Position | None:
        """The position that the log must be read to; None if it is not known."""
        return None if self._comparison is None else self._comparison.until

    def wait(self, seconds: float) -> bool:
        """Waits for the keys of the source; returns True if no thread reads them."""
        return self._comparison is None or self._comparison.wait(seconds)

    # ------------------------------------------------------------------------- before a commit

    def is_due(self, position: Position | None) -> bool:
        """True if a commit would end a comparison, or begin one."""
        if position is None:
            return False
        if self._comparison is not None:
            return self._comparison.is_complete(position)
        return bool(self._comparable(position))

    def note_changes(self) -> None:
        """Notes the keys that the log contains, before effects of foreign keys are added to it."""
        tables, compared = self._tables, self._comparison
        if compared is None:
            return
        for name, table in list(compared.tables.items()):
            record = tables.followed(name)
            try:
                if record is None or tables.is_emptied(name):
                    del compared.tables[name]
                else:
                    table.add_changes(record, tables.pending)
            except CannotCompareError as error:
                del compared.tables[name]
                self._reload(name, str(error))

    def prepare(self, position: Position) -> None:
        """Adds deletes to the commit at a position, and begins to read tables after it."""
        compared = self._comparison
        if compared is not None and compared.is_complete(position):
            self._comparison = None
            now = time.monotonic()
            self._next = max(self._next, now + PAUSE * (now - self._start))
            for name, table in compared.tables.items():
                self._end(name, table, position)
        if position.loading is None:
            for name in sorted(self._to_reload):
                self._reload(name, "all other tables are loaded")
            self._to_reload.clear()

    def _reload(self, name: Name, why: str) -> None:
        self._to_compare.pop(name, None)
        if self._tables.followed(name):
            self._tables.reload(name, why)

    def _end(self, name: Name, table: ComparedTable, position: Position) -> None:
        try:
            keys, version = table.absent()
        except CannotCompareError as error:
            self._reload(name, str(error))
            return
        if self._to_compare.get(name, version) <= version:
            self._to_compare.pop(name, None)
        record = self._tables.records[name]
        self._tables.summary.of(name).comparisons += 1
        LOG.info("%s: foreign keys deleted %d rows", shown(name), keys.num_rows)
        if not self.has(name) and record.lacks_deletes:
            self._tables.put(replace(record, status="followed", lacks_deletes=False))
        for batch in self._deletes(record, keys, position):
            self._tables.pending.add_rows(record, batch)

    def _deletes(self, record: Record, keys: pa.Table, position: Position) -> list[pa.RecordBatch]:
        import pyarrow as pa

        wanted = with_envelope(record.schema)
        moment = self._tables.summary.last_change or datetime.now(UTC)
        values = {CHANGE: "delete", VERSION: version_before(position), TIME: moment, ORDINAL: 0}
        for name, value in values.items():
            column = pa.repeat(pa.scalar(value, wanted.field(name).type), keys.num_rows)
            keys = keys.append_column(name, column)
        return [conformed(record.name, one, record.schema) for one in keys.to_batches()]

    # -------------------------------------------------------------------------- after a commit

    def compare(self, server: Server, position: Position) -> None:
        """Begins to compare keys of the target with those of the source.

        Args:
            server: The source.
            position: The position of the last commit.
        """
        names = self._comparable(position)
        if self._comparison is not None or not names:
            return
        settings = self._tables.settings
        self._start = time.monotonic()
        self._next = self._start + settings.every
        tables = self._of_target(names)
        if tables:
            self._comparison = Comparison(
                server,
                tables,
                position,
                locks=settings.locks,
                max_rows_per_second=settings.max_rows_per_second,
            )

    def _comparable(self, position: Position) -> list[Name]:
        """Returns the tables whose keys can be compared now, after a commit at a position."""
        # In a part of a transaction, the target has rows that a snapshot does not have yet.
        is_early = not self._tables.settings.once and time.monotonic() < self._next
        if position.ahead or is_early:
            return []
        loading = {split(text) for text in position.loading or ()}
        return sorted({*self._to_compare} - loading - self._tables.reloads)

    def _of_target(self, names: Sequence[Name]) -> dict[Name, ComparedTable]:
        """Returns keys of the target: of one table, and of others that are in memory with it."""
        found: dict[Name, ComparedTable] = {}
        store, size = self._tables.target, 0
        assert isinstance(store, ReadableTarget)  # noqa: S101 - add() has checked it
        with store.snapshot() as target:
            for name in names:
                record = self._tables.followed(name)
                if record is None:
                    del self._to_compare[name]
                    continue
                try:
                    keys = self._keys(target, record, size)
                except (CannotCompareError, TargetDiffersError) as error:
                    if size and isinstance(error, CannotCompareError):
                        break  # the others are compared later
                    self._reload(name, str(error))
                    continue
                del self._to_compare[name]
                size += keys.nbytes
                found[name] = ComparedTable(record, keys)
        return found

    def _keys(self, target: Snapshot, record: Record, size: int) -> pa.Table:
        import pyarrow as pa

        schema = pa.schema([record.schema.field(name) for name in record.key])
        has_versions = self._tables.settings.mode == "scd2"
        rows = current_rows(target, replace(record, schema=schema), has_versions=has_versions)
        return pa.concat_tables([schema.empty_table(), *limited(rows, size)])


__all__ = ["Repairs"]
