"""The existing rows of a query with ``startingOffsets=snapshot``: which chunks a batch reads.

A batch of the load reads some chunks, and the log from its start on. Its start is the position of
the rows: a SELECT then sees all transactions before it. Changes after it that the rows contain
already come again, in this batch or a later one, and have a higher version.

A table may be replaced meanwhile (RENAME, DROP and CREATE, another key). This is found before each
batch. All its rows are then read again, in a batch that begins after the statement.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from binarrow import (
    ConfigError,
    Position,
    PositionPurgedError,
    SchemaError,
    ServerIdentityError,
)
from binarrow._native import selected_tables, table_identities
from binarrow.spark.live.login import with_secret
from binarrow.spark.live.row_ranges import DROPPED, RowChunks, TableChunks
from binarrow.spark.live.rows_partition import RowsPartition
from binarrow.spark.live.state_file import StateFile
from binarrow.spark.messages import spark_message

if TYPE_CHECKING:
    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.live.server_log import ServerLog
    from binarrow.spark.source_options import SourceOptions

LOG = logging.getLogger("binarrow.spark")

CHUNKS_OF_TASK = 4
"""Chunks of a task in a batch of a stream: a batch has a fixed cost, and is repeated as one."""


class Load:
    """Plans the existing rows of a query on the driver."""

    def __init__(self, options: SourceOptions, live: LiveOptions, log: ServerLog) -> None:
        self._options = options
        self._live = live
        self._log = log
        self._state = StateFile(live.state_file)
        self._chunks: RowChunks | None = None

    def begin(self) -> None:
        """Divides the rows, before the position at which the query begins is determined.

        Raises:
            ConfigError: There is no such table, one has no key, or the state is that of others.
        """
        chunks = RowChunks(self._options.name, ())
        if self._state.exists() and self._stored().count > 0:
            # A first batch that was planned before has numbers of these chunks.
            chunks = chunks.read_again([TableChunks.unused(self._stored().count)])
        searched = self._log.new_head()
        tables = self._divided(needs_key=True)
        end = self._log.new_head()
        chunks = chunks.read_again([each.not_before(end) for each in tables])
        self._store(replace(chunks, searched=searched.to_json()))

    def begin_at_once(self) -> None:
        """Divides the rows for a load in one batch. Each process calls it.

        Raises:
            SchemaError: A table was replaced during the load.
        """
        if not self._state.exists():
            self.begin()
        elif self._stored().is_unchanged is not True:
            self.check_unchanged(is_end=False)

    def next_chunks(self, first: int, start: Position, limit: tuple[str, int]) -> int | None:
        """Returns the number of chunks after the batch that begins at `start`; None for all."""
        self._update(start)
        chunks = self._stored()
        if first >= chunks.count:
            return None
        kind, size = limit
        stop = chunks.count
        if kind != "all":
            rows = self._live.chunk_rows
            most = size // rows if kind == "rows" else self._live.num_partitions * CHUNKS_OF_TASK
            stop = min(stop, first + max(1, most))
        if start.server != self._log.server:
            return first  # the batch ends at a position of this server
        return chunks.readable(first, stop, start)

    def partitions(self, first: int, stop: int | None, start: Position) -> list[RowsPartition]:
        """Returns the ranges of a batch, whose log begins at `start`.

        A `stop` of None is that of the last batch, which has no chunks, or of a load in one batch.
        """
        if stop is None and first > 0:
            return []
        if stop is None:
            self._check_first()
        else:
            self._update(start)
        chunks = self._stored()
        last = chunks.count if stop is None else stop
        if last > chunks.count:
            raise ConfigError(
                f"the state of the load, {self._state.name}, is older than the checkpoint: use the"
                " file with which the query ran, or start with a new checkpoint"
            )
        if stop is not None and chunks.readable(first, last, start) < last:
            # The batch is repeated, after a failover or a statement that replaced a table.
            late = [
                table.table
                for table, _, _ in chunks.chunks(first, last)
                if chunks.is_read(table) and not table.is_readable(start)
            ]
            self._read_again(late, start)
            chunks = self._stored()
        return self._partitions(chunks, first, last, start.to_json())

    def all_partitions(self) -> list[RowsPartition]:
        """Returns the ranges of all rows, for a batch query."""
        chunks = RowChunks(self._options.name, tuple(self._divided(needs_key=False)))
        return self._partitions(chunks, 0, chunks.count, None)

    def _check_first(self) -> None:
        """Checks the division before a load in one batch.

        Raises:
            ConfigError: It is that of another load, which is complete.
            SchemaError: A table was replaced since.
        """
        if self._stored().is_unchanged:
            raise ConfigError(
                spark_message(
                    f"{self._state.name} is the state of a load that is complete: name another file"
                    " in ⟦snapshot_state_file⟧"
                )
            )
        self.check_unchanged(is_end=False)

    def check_unchanged(self, *, is_end: bool) -> None:
        """Checks that no table was replaced until now in a load in one batch.

        Raises:
            SchemaError: One was.
        """
        chunks = self._stored()
        if chunks.is_unchanged is None:
            self._update(None)
            found, known = (
                [(each.table, each.identity) for each in one.tables]
                for one in (self._stored(), chunks)
            )
            if found != known or is_end:
                chunks = replace(self._stored(), is_unchanged=found == known)
                self._store(chunks)
        if chunks.is_unchanged is False:
            raise SchemaError(
                spark_message(
                    "a statement replaced or changed tables while their existing rows were read:"
                    " start the query with a new checkpoint, and with another file for"
                    " ⟦snapshot_state_file⟧"
                )
            )

    def _update(self, start: Position | None) -> None:
        """Finds tables that were replaced since their rows were divided, or are dropped."""
        searched = self._log.new_head()
        replaced = self._replaced(searched)
        chunks = self._stored()
        current = chunks.current
        spec = self._live.target.connection_spec
        found = self._log.ask(lambda _: table_identities(spec(), list(current)))
        now = dict(zip(current, found, strict=True))
        dropped = [
            table
            for table, identity in now.items()
            if identity is None and current[table].identity != DROPPED
        ]
        if dropped:
            LOG.warning(
                "these tables were dropped or renamed while their existing rows were read: %s",
                ", ".join(dropped),
            )
            self._store(
                chunks.with_current(
                    {name: replace(current[name], identity=DROPPED) for name in dropped}
                )
            )
        end = self._end(start)
        # After a failover, the tables are those of another server.
        moved = {
            table: each.not_before(end)
            for table, each in self._stored().current.items()
            if not each.is_comparable(end)
        }
        if moved:
            self._store(self._stored().with_current(moved))
        self._read_again(
            [
                table
                for table, identity in now.items()
                if identity is not None
                and (table in replaced or identity != current[table].identity)
            ],
            start,
        )
        self._store(replace(self._stored(), searched=searched.to_json()))

    def _replaced(self, end: Position) -> list[str]:
        """Returns the tables that statements may have replaced up to a position.

        The log shows them: tables that were created in the same second have the same identity.
        """
        chunks = self._stored()
        names = list(chunks.current)
        if not chunks.searched:
            return names  # an earlier version stored the state
        try:
            return self._log.replaced(names, Position.from_json(chunks.searched), end)
        except (PositionPurgedError, ServerIdentityError):
            return names

    def _end(self, start: Position | None) -> Position:
        """Returns the end of the log now, in the order of the positions of a batch's start."""
        end = self._log.new_head()
        is_shifted = start is not None and start.server == end.server
        return end.replace(version_shift=start.version_shift) if start and is_shifted else end

    def _read_again(self, tables: list[str], start: Position | None) -> None:
        """Divides tables again. Their rows must be read after the end of the log now."""
        names = list(dict.fromkeys(tables))
        if not names:
            return
        LOG.warning("all existing rows are read again of: %s", ", ".join(names))
        spec, rows = self._live.target.connection_spec, self._live.chunk_rows
        again = self._log.ask(lambda _: TableChunks.of(spec(), names, rows, needs_key=True))
        end = self._end(start)  # after the statements that replaced them
        self._store(self._stored().read_again([each.not_before(end) for each in again]))

    def _partitions(
        self, chunks: RowChunks, first: int, stop: int, position: str | None
    ) -> list[RowsPartition]:
        target, live = with_secret(self._live.target), self._live
        ranges = chunks.ranges(first, stop, live.num_partitions)
        limit = live.max_rows_per_second
        # All tasks may run at once.
        each = None if limit is None else max(1, limit // max(1, len(ranges)))
        return [
            RowsPartition(one, position, live.locks, live.chunk_rows, each, target)
            for one in ranges
        ]

    def _divided(self, *, needs_key: bool) -> list[TableChunks]:
        options, rows = self._options, self._live.chunk_rows

        def divide() -> list[TableChunks]:
            spec = self._live.target.connection_spec()
            names = [options.table] if options.table is not None else []
            if options.table is None:
                left_out = options.read.get("exclude_tables", ())
                names = selected_tables(spec, list(options.tables), list(left_out))
            if not names:
                raise ConfigError(
                    f"no table of the server matches {options.name}, or the user has no SELECT on"
                    " them"
                )
            return TableChunks.of(spec, names, rows, needs_key=needs_key)

        return self._log.ask(lambda _: divide())

    def _stored(self) -> RowChunks:
        if self._chunks is None:
            self._chunks = self._state.load()
        if self._chunks.selected != self._options.name:
            raise ConfigError(
                f"{self._state.name} is the state of a load of {self._chunks.selected}, and this"
                f" query reads {self._options.name}: each query needs a file of its own"
            )
        return self._chunks

    def _store(self, chunks: RowChunks) -> None:
        self._state.save(chunks)
        self._chunks = chunks
