"""Compares keys of the target with those of the source, while sync follows the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from binarrow._native import BinarrowError, ConfigError
from binarrow.syncing.errors import SourceBehindError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.reduce import VERSION, numbers_of
from binarrow.syncing.rows import conformed
from binarrow.syncing.source_rows import contains, end_of, rows_after
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import Position
    from binarrow.server import Server
    from binarrow.syncing.operations import Record
    from binarrow.syncing.pending import Pending

LOG = logging.getLogger("binarrow.sync")

MAX_BYTES = 128 << 20
"""The largest size of the keys of one side, and of the keys that change meanwhile."""


class CannotCompareError(Exception):
    """A table cannot be compared. The message says why."""


@dataclass(frozen=True)
class SourceKeys:
    """The keys that the source had."""

    keys: pa.Table
    after: int
    """The version up to which the source had all changes."""
    until: Position
    """A position after which it had no change."""


@dataclass
class ComparedTable:
    """A table of the target."""

    record: Record
    keys: pa.Table
    """The keys of its rows after a commit."""
    changed: list[pa.Table] = field(default_factory=list)
    """The keys of later changes, with their versions."""
    source: SourceKeys | CannotCompareError | None = None

    def add_changes(self, record: Record, pending: Pending) -> None:
        """Adds changes of the next commit.

        Raises:
            CannotCompareError: There are too many changes, or other operations.
        """
        if pending.has_operation(record.name) or not self._fits(record):
            raise CannotCompareError("its columns changed while its keys were compared")
        changes = pending.rows(record)
        if changes.num_rows:
            self.changed.append(changes.select([*record.key, VERSION]))
            if sum(one.nbytes for one in self.changed) > MAX_BYTES:
                raise CannotCompareError("too many rows changed while its keys were compared")

    def _fits(self, record: Record) -> bool:
        """True if the columns of the key are still the same."""
        names = record.key
        return names == self.record.key and all(
            record.schema.field(name).type == self.keys.schema.field(name).type for name in names
        )

    def absent(self) -> tuple[pa.Table, int]:
        """Returns the keys that the source does not have any more, and its version then.

        A key that the log has mentioned since then is not one of them.

        Raises:
            CannotCompareError: The keys of the source are not known.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        source = self.source
        if not isinstance(source, SourceKeys):
            raise source or CannotCompareError("its keys are not known")
        names = [*self.record.key]
        empty = self.keys.slice(0, 0).append_column(VERSION, pa.array([], pa.int64()))
        changed = pa.concat_tables([empty, *self.changed])
        is_later = pc.greater(changed.column(VERSION), source.after)
        later = changed.filter(is_later).select(names)
        earlier = changed.filter(pc.invert(is_later)).select(names)
        keys = pa.concat_tables([self.keys, earlier])
        own, others = numbers_of(keys, pa.concat_tables([source.keys, later]))
        absent = keys.filter(pc.invert(pc.is_in(own, value_set=others)))
        return absent.group_by(names).aggregate([]), source.after


class Comparison:
    """A thread that reads the keys of tables from the source."""

    def __init__(
        self,
        server: Server,
        tables: Mapping[Name, ComparedTable],
        position: Position,
        *,
        locks: Literal["brief"] | None,
        max_rows_per_second: int | None,
    ) -> None:
        """Starts to read.

        Args:
            server: The source.
            tables: The tables, with their keys in the target at the last commit.
            position: The position of this commit.
            locks: See :meth:`Server.read_table`.
            max_rows_per_second: See :meth:`Server.read_table`.
        """
        self.tables = dict(tables)
        self._server = server
        self._own: Server | None = None
        self._position = position
        self._locks = locks
        self._max_rows_per_second = max_rows_per_second
        self._is_cancelled = False
        self._has_ended = threading.Event()
        self._read = [*tables.values()]
        threading.Thread(target=self._run, name="binarrow-compare", daemon=True).start()

    def cancel(self) -> None:
        """Ends the thread. The result is not needed."""
        self._is_cancelled = True
        if self._own is not None:
            self._own.close()  # ends a question that waits

    def wait(self, seconds: float) -> bool:
        """Waits for the keys of the source; returns True if they have been read."""
        return self._has_ended.wait(seconds)

    @property
    def until(self) -> Position | None:
        """The position that the log must be read to; None if it is not known."""
        if not self._has_ended.is_set():
            return None
        found = [one.source for one in self.tables.values()]
        try:
            return max((one.until for one in found if isinstance(one, SourceKeys)), default=None)
        except ConfigError:  # of several servers
            return None

    def is_complete(self, position: Position) -> bool:
        """True if the keys were read, and if the log was read to a position after that."""
        if not self._has_ended.is_set():
            return False
        for table in self.tables.values():
            if isinstance(table.source, SourceKeys):
                try:
                    if not contains(position, table.source.until):
                        return False
                except SourceBehindError as error:
                    table.source = CannotCompareError(str(error))
        return True

    def _run(self) -> None:
        try:
            self._own = self._server.another()
            for table in self._read:
                if self._is_cancelled:
                    return
                table.source = self._source_keys(self._own, table.record)
        except BinarrowError:
            LOG.debug("the keys of the source cannot be compared", exc_info=True)
        finally:
            self._has_ended.set()
            if self._own is not None:
                self._own.close()

    def _source_keys(self, server: Server, record: Record) -> SourceKeys | CannotCompareError:
        try:
            return self._keys(server, record)
        except CannotCompareError as error:
            return error
        except BinarrowError:
            LOG.debug("the keys of %s cannot be read", shown(record.name), exc_info=True)
            return CannotCompareError("its keys cannot be read")

    def _keys(self, server: Server, record: Record) -> SourceKeys:
        import pyarrow as pa

        schema = pa.schema([record.schema.field(name) for name in record.key])
        with rows_after(
            server,
            record.name,
            record.key,
            self._position,
            locks=self._locks,
            max_rows_per_second=self._max_rows_per_second,
        ) as rows:
            start, until = rows.position, end_of(rows, server)
            if start is None or until is None:
                raise CannotCompareError("the position of a snapshot is not known")
            after = -1
            if start.server == self._position.server and start.file:
                shift = self._position.version_shift
                after = version_before(start.replace(version_shift=shift))
            found = limited(
                pa.Table.from_batches([conformed(record.name, batch, schema)]).select(record.key)
                for batch in rows
                if not self._is_cancelled
            )
        return SourceKeys(pa.concat_tables([schema.empty_table(), *found]), after, until)


def limited(tables: Iterable[pa.Table], size: int = 0) -> list[pa.Table]:
    """Returns tables that are in memory together.

    Args:
        tables: The tables.
        size: The number of bytes of other tables.

    Raises:
        CannotCompareError: They are too large.
    """
    found: list[pa.Table] = []
    for one in tables:
        size += one.nbytes
        if size > MAX_BYTES:
            raise CannotCompareError("its keys are too large to be compared")
        found.append(one)
    return found


__all__ = ["CannotCompareError", "ComparedTable", "Comparison", "limited"]
