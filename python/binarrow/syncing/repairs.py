"""Repairs tables after changes that foreign keys made, and that the log does not contain.

They are for effects that sync cannot compute. If these are deletes only, the keys of the target are
compared with those of a snapshot of the source, which is a little later. A row that the source did
not have then, and that the log does not mention between the two, was deleted before. Other tables
are read again.

While tables are being loaded, the rows that connect a deleted row with its descendants may not be
in the target, so that descendants are not found. Their tables are repaired after the loads.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from binarrow._native import ConnectionLostError, SchemaError, ServerError
from binarrow.syncing.current_rows import current_rows
from binarrow.syncing.errors import SourceBehindError, TargetDiffersError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.reduce import CHANGE, ORDINAL, TIME, VERSION, numbers_of
from binarrow.syncing.rows import conformed, with_envelope
from binarrow.syncing.snapshot import ReadableTarget
from binarrow.syncing.source_rows import contains, end_of, rows_after
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from binarrow._native import Position
    from binarrow.server import Server
    from binarrow.syncing.operations import Record
    from binarrow.syncing.tables import Tables

LOG = logging.getLogger("binarrow.sync")

MAX_BYTES = 128 << 20
"""The largest size of the keys of a table that are compared. The rows of larger tables are read
again."""

LATER = "its rows are read again when all tables are loaded"


class TooLargeError(Exception):
    """The keys of a table do not fit into memory."""


class StoppedError(Exception):
    """The sync is to end. At the next start, incomplete tables are loaded again."""


@dataclass
class Absent:
    """Rows that the target had at a commit, and a later snapshot of the source did not."""

    keys: pa.Table
    """Their keys, without those that the log has mentioned since the commit."""
    until: Position
    """A position after all transactions of the snapshot."""


class Repairs:
    """The tables to repair. Until then, they are incomplete."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._to_reload: set[Name] = set()
        """Tables to read again after all loads."""
        self._to_compare: set[Name] = set()
        """Tables that lack nothing but deletes."""
        self._absent: dict[Name, Absent] = {}

    def clear(self) -> None:
        """Forgets all tables."""
        self._to_reload.clear()
        self._to_compare.clear()
        self._absent.clear()

    def add(self, name: Name, why: str, *, lacks_deletes_only: bool, is_loading: bool) -> None:
        """Adds a table.

        Args:
            name: The table.
            why: The reason for the repair.
            lacks_deletes_only: True if all rows that the source has are correct in the target.
            is_loading: True if the table is to be read again after all loads, not now.
        """
        tables = self._tables
        # Rows that TRUNCATE removes may have to stay, and the log does not mention them.
        is_comparable = lacks_deletes_only and tables.settings.on_truncate == "apply"
        if not (is_comparable or is_loading) or not self._may_compare:
            tables.reload(name, why)
        elif not tables.is_emptied(name):
            (self._to_compare if is_comparable else self._to_reload).add(name)
            record = tables.records[name]
            if record.status != "incomplete":
                how = "its keys are compared with the source" if is_comparable else LATER
                LOG.warning("%s: %s: %s", shown(name), why, how)
                tables.put(replace(record, status="incomplete"))

    def has(self, name: Name) -> bool:
        """True if a table is to be repaired."""
        return name in self._to_reload or name in self._to_compare or name in self._absent

    @property
    def _may_compare(self) -> bool:
        tables = self._tables
        return tables.settings.mode != "history" and isinstance(tables.target, ReadableTarget)

    # ------------------------------------------------------------------------- before a commit

    def note_changes(self, position: Position) -> None:
        """Notes the keys that the log contains, before effects of foreign keys are added to it."""
        import pyarrow.compute as pc

        tables = self._tables
        for name, absent in list(self._absent.items()):
            record = tables.followed(name)
            if record is None or tables.is_emptied(name):
                del self._absent[name]
            elif tables.pending.has_operation(name) or not _is_known(absent.until, position):
                del self._absent[name]
                tables.reload(name, "its keys could not be compared with the source")
            else:
                changed = tables.pending.rows(record).select(record.key)
                numbers, mentioned = numbers_of(absent.keys, changed)
                is_other = pc.invert(pc.is_in(numbers, value_set=mentioned))
                absent.keys = absent.keys.filter(is_other)

    def prepare(self, position: Position) -> None:
        """Adds deletes to the commit at a position, and begins to read tables after it."""
        for name, absent in list(self._absent.items()):
            if contains(position, absent.until):
                del self._absent[name]
                self._delete(self._tables.records[name], absent.keys, position)
        if position.loading is None:
            for name in self._take(self._to_reload):
                self._to_compare.discard(name)
                self._tables.reload(name, "all other tables are loaded")

    def is_due(self, position: Position | None) -> bool:
        """True if a commit at a position would end a comparison."""
        return position is not None and any(
            not _is_known(one.until, position) or contains(position, one.until)
            for one in self._absent.values()
        )

    @property
    def is_waiting(self) -> bool:
        """True if the log must be read to a later position."""
        return bool(self._absent)

    def _delete(self, record: Record, keys: pa.Table, position: Position) -> None:
        LOG.info("%s: foreign keys deleted %d rows", shown(record.name), keys.num_rows)
        self._note_complete(record)
        for batch in self._deletes(record, keys, position):
            self._tables.pending.add_rows(record, batch)

    def _deletes(self, record: Record, keys: pa.Table, position: Position) -> list[pa.RecordBatch]:
        import pyarrow as pa

        wanted = with_envelope(record.schema)
        time = self._tables.summary.last_change or datetime.now(UTC)
        values = {CHANGE: "delete", VERSION: version_before(position), TIME: time, ORDINAL: 0}
        for name, value in values.items():
            column = pa.repeat(pa.scalar(value, wanted.field(name).type), keys.num_rows)
            keys = keys.append_column(name, column)
        return [conformed(record.name, one, record.schema) for one in keys.to_batches()]

    def _note_complete(self, record: Record) -> None:
        if not self.has(record.name):
            self._tables.put(replace(record, status="followed"))

    # -------------------------------------------------------------------------- after a commit

    def compare(self, server: Server, position: Position) -> bool:
        """Compares keys of the target with those of the source.

        Args:
            server: The source.
            position: The position of the last commit.

        Returns:
            True if another commit is necessary now.
        """
        # In a part of a transaction, the target has rows that a snapshot does not have yet.
        if position.loading is not None or position.ahead:
            return False
        names = self._take(self._to_compare)
        for name in names:
            record = self._tables.records[name]
            try:
                absent = self._compared(server, record, position)
            except StoppedError:
                return False
            except TooLargeError:
                self._tables.reload(name, "its keys are too large to be compared")
            except (SourceBehindError, TargetDiffersError) as error:
                self._tables.reload(name, str(error))
            except (ConnectionLostError, SchemaError, ServerError):
                self._tables.reload(name, "its keys cannot be read")
            else:
                self._tables.summary.of(name).comparisons += 1
                if absent.keys.num_rows:
                    self._absent[name] = absent
                else:
                    self._note_complete(record)
        return any(name not in self._absent for name in names)

    def _take(self, names: set[Name]) -> list[Name]:
        found = sorted(name for name in names if self._tables.followed(name))
        names.clear()
        return found

    def _compared(self, server: Server, record: Record, position: Position) -> Absent:
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = self._keys_of_target(record)
        settings, schema = self._tables.settings, record.schema
        with rows_after(
            server,
            record.name,
            record.key,
            position,
            locks=settings.locks,
            max_rows_per_second=settings.max_rows_per_second,
        ) as rows:
            own = self._limited(
                pa.Table.from_batches([conformed(record.name, batch, schema)]).select(record.key)
                for batch in rows
            )
            until = end_of(rows, server)
        if until is None:
            raise SourceBehindError("the position of a snapshot is not known")
        numbers, existing = numbers_of(keys, pa.concat_tables([keys.slice(0, 0), *own]))
        return Absent(keys.filter(pc.invert(pc.is_in(numbers, value_set=existing))), until)

    def _keys_of_target(self, record: Record) -> pa.Table:
        import pyarrow as pa

        store, has_versions = self._tables.target, self._tables.settings.mode == "scd2"
        assert isinstance(store, ReadableTarget)  # noqa: S101 - add() has checked it
        schema = pa.schema([record.schema.field(name) for name in record.key])
        with store.snapshot() as target:
            keys = replace(record, schema=schema)
            found = self._limited(current_rows(target, keys, has_versions=has_versions))
        return pa.concat_tables([schema.empty_table(), *found])

    def _limited(self, tables: Iterable[pa.Table]) -> list[pa.Table]:
        """Returns tables whose sum is in memory.

        Raises:
            TooLargeError: The sum exceeds the limit.
            StoppedError: The sync is to end.
        """
        found: list[pa.Table] = []
        size = 0
        for one in tables:
            size += one.nbytes
            if size > MAX_BYTES:
                raise TooLargeError
            if self._tables.settings.is_stopped():
                raise StoppedError
            found.append(one)
        return found


def _is_known(until: Position, position: Position) -> bool:
    """True if it is known which of two positions is the later one."""
    try:
        contains(position, until)
    except SourceBehindError:
        return False
    return True


__all__ = ["Repairs"]
