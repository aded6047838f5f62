"""The existing rows of a query with ``startingOffsets=snapshot``: which chunks a batch reads.

A batch of the load reads some chunks, and the log from its start on. Its start is the position of
the rows: a SELECT then sees all transactions before it. Changes after it that the rows contain
already come again, in this batch or a later one, and have a higher version.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from binarrow import ConfigError, Position, SchemaError
from binarrow._native import selected_tables
from binarrow.spark.live.login import with_secret
from binarrow.spark.live.row_ranges import RowChunks, TableChunks
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
        """Divides the rows, before the first batch. Keeps a division that is stored already.

        Raises:
            ConfigError: There is no such table, one has no key, or the state is that of others.
        """
        if self._state.exists():
            self._stored()
            return
        self._store(self._divided(needs_key=True))

    def chunks_after(self, first: int, limit: tuple[str, int]) -> int:
        """Returns the number of chunks that are read after a batch from the chunk `first` on."""
        kind, size = limit
        if kind == "all":
            return self.count
        rows = self._live.chunk_rows
        most = size // rows if kind == "rows" else self._live.num_partitions * CHUNKS_OF_TASK
        return min(self.count, first + max(1, most))

    @property
    def count(self) -> int:
        """The number of chunks."""
        return self._stored().count

    def has_replaced_tables(self) -> bool:
        """Checks whether tables were replaced since their rows were divided.

        These are divided again, and their chunks are added. They must be read after the statements
        that replaced the tables.
        """
        rows = self._live.chunk_rows
        chunks = self._stored()
        spec = self._live.target.connection_spec
        found = self._log.ask(lambda _: chunks.replaced(spec(), rows))
        if found is None:
            return False
        names = ", ".join(each.table for each in found.tables[len(chunks.tables) :])
        LOG.warning(
            "a statement replaced or changed tables while their existing rows were read. All rows"
            " are read again of: %s",
            names,
        )
        self._store(found)
        return True

    def partitions(self, first: int, stop: int | None, start: Position) -> list[RowsPartition]:
        """Returns the ranges of a batch, whose log begins at `start`."""
        chunks = self._stored()
        last = chunks.count if stop is None else stop
        if last > chunks.count:
            raise ConfigError(
                f"the state of the load, {self._state.name}, is older than the checkpoint: use the"
                " file with which the query ran, or start with a new checkpoint"
            )
        return self._partitions(chunks, first, last, start.to_json())

    def all_partitions(self) -> list[RowsPartition]:
        """Returns the ranges of all rows, for a batch query."""
        chunks = self._divided(needs_key=False)
        return self._partitions(chunks, 0, chunks.count, None)

    def check_unchanged(self) -> None:
        """Checks at the end of a load in one batch that no table was replaced in the meantime.

        Raises:
            SchemaError: One was.
        """
        if self.has_replaced_tables():
            raise SchemaError(
                spark_message(
                    "a statement replaced or changed tables while their existing rows were read:"
                    " start with a new checkpoint and a new ⟦snapshot_state_file⟧"
                )
            )

    def _partitions(
        self, chunks: RowChunks, first: int, stop: int, position: str | None
    ) -> list[RowsPartition]:
        target = with_secret(self._live.target)
        return [
            RowsPartition(each, position, self._live.locks, self._live.chunk_rows, target)
            for each in chunks.ranges(first, stop, self._live.num_partitions)
        ]

    def _divided(self, *, needs_key: bool) -> RowChunks:
        options, rows = self._options, self._live.chunk_rows

        def divide() -> RowChunks:
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
            return RowChunks(
                options.name,
                tuple(TableChunks.of(spec, name, rows, needs_key=needs_key) for name in names),
            )

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
