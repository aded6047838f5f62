"""The streaming reader: where micro-batches end, on the driver, and their rows, in tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from binarrow import Position
from binarrow.server import Server
from binarrow.spark.decoder import decode_table
from binarrow.spark.live.live_range import LivePartition, LiveRange, with_secret
from binarrow.spark.live.offset import (
    Offset,
    end_of_batch,
    initial,
    offset_of,
    position_of,
    start_of_batch,
)
from binarrow.spark.options import TASK_DEFAULTS

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.source_options import SourceOptions

POLL_INTERVAL = 0.5
"""Seconds between two questions for the end of the log: an idle query asks all the time."""


class LiveStreamReader(DataSourceStreamReader):
    """One table's changes as they are committed."""

    def __init__(self, options: SourceOptions, live: LiveOptions, target: pa.Schema) -> None:
        self._options = options
        self._live = live
        self._target = target
        self._server: Server | None = None
        self._head: tuple[float, Position] | None = None
        self._initial: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """Where a query begins that has no checkpoint: Spark asks twice, and must hear the same."""
        if self._initial is None:
            self._initial = initial(self._end_of_log())
        return self._initial

    def latestOffset(self, start: Any = None, limit: Any = None) -> Offset:  # noqa: N802, ARG002
        """Where the next batch ends."""
        return end_of_batch(start, self._end_of_log())

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """Where the log ends: what is still to be read."""
        return offset_of(self._end_of_log())

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The ranges between two offsets."""
        first, last = start_of_batch(start, end), position_of(end)
        if first == last:
            return []
        whole = LiveRange(first.to_json(), last.to_json())
        return [LivePartition(whole, with_secret(self._live.target))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range, in log order."""
        if not isinstance(partition, LivePartition):
            return
        options = {**TASK_DEFAULTS, **self._options.read}
        stream = partition.range.read(partition.target, options)
        yield from decode_table(
            [stream], self._options.table, self._target, self._options.on_schema_change
        )

    def _end_of_log(self) -> Position:
        now = time.monotonic()
        if self._head is None or now - self._head[0] >= POLL_INTERVAL:
            if self._server is None:
                self._server = Server(self._live.target)
            self._head = (now, self._server.position())
        return self._head[1]

    def __getstate__(self) -> dict[str, Any]:
        """Without the connection: tasks make their own."""
        return {**self.__dict__, "_server": None, "_head": None}
