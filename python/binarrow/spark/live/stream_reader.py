"""The streaming reader: plans micro-batches on the driver, and reads their rows in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from binarrow import Position
from binarrow.spark.live.lag import Lag
from binarrow.spark.live.live_range import RangeReader
from binarrow.spark.live.offset import (
    Offset,
    chunks_of,
    chunks_of_batch,
    end_of_batch,
    initial,
    offset_of,
    position_of,
    start_of_batch,
)
from binarrow.spark.live.planner import Planner
from binarrow.spark.live.read_limit import (
    IS_LIMITED,
    SupportsTriggerAvailableNow,
    default_read_limit,
)
from binarrow.spark.messages import naming_options

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.source_options import SourceOptions


class LiveStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads one table's changes as they are committed.

    Spark creates it in several processes: one on the driver plans the batches, another creates the
    state for tasks. Only that state is pickled.
    """

    def __init__(self, options: SourceOptions, live: LiveOptions, schema: pa.Schema) -> None:
        self._live = live
        self._planner = Planner(options, live, schema)
        self._lag = Lag(self._planner.log)
        self._reader = RangeReader.of(options, schema, live, is_stream=True)
        self._initial: Offset | None = None
        self._last_head: Position | None = None
        self._loads_at_once = False

    @naming_options()
    def initialOffset(self) -> Offset:  # noqa: N802
        """Returns the start of a query without a checkpoint. Spark asks twice for the same one."""
        if self._initial is None:
            if self._live.loads:
                load = self._planner.load
                # Before Spark 4.2 each process asks, and the first batch reads all rows.
                (load.begin if IS_LIMITED else load.begin_at_once)()
                self._initial = initial(self._planner.start("latest"), loads=True)
            else:
                self._initial = initial(self._planner.start(self._live.starting("latest")))
        return self._initial

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """Returns how much a batch reads."""
        live = self._live
        return default_read_limit(live.num_partitions, live.max_bytes, live.max_rows)

    @naming_options()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Stores the current end of the log, at which the last batch ends."""
        self._last_head = self._planner.log.head()

    @naming_options()
    def latestOffset(self, start: Any = None, limit: Any = None) -> Offset:  # noqa: N802
        """Returns the end of the next batch."""
        if start is None:  # before Spark 4.2: read to the end of the log
            # Any batch may be the first: each end contains the start of the query.
            first = self.initialOffset()
            return self._planned(end_of_batch(first, self._planner.log.head()))
        head = self._last_head or self._planner.log.head()
        end = self._planner.next_offset(start, head, limit)
        if self._last_head is not None and chunks_of(start) is not None:
            # The rows are as new as the current end of the log.
            self._last_head = self._planner.log.head()
        return self._planned(end)

    def _planned(self, end: Offset) -> Offset:
        """Notes the end of a batch, for the lag."""
        self._lag.planned(position_of(end), is_loading=chunks_of(end) is not None)
        return end

    @naming_options()
    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """Returns the end of the log and the lag, which Spark shows in the query's progress."""
        return {**offset_of(self._planner.log.head()), **self._lag.report()}

    @naming_options()
    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Returns the ranges between two offsets."""
        first, stop = start_of_batch(start, end), position_of(end)
        chunks = chunks_of_batch(start, end)
        rows = [] if chunks is None else self._planner.load.partitions(*chunks, first)
        # Spark before 4.2 reads all rows in the first batch.
        self._loads_at_once = chunks is not None and chunks[0] == 0 and chunks[1] is None
        return [*rows, *self._planner.partitions(first, stop)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Reads the changes of a range in log order, or the rows of a range."""
        return self._reader.read(partition)

    def commit(self, end: Offset) -> None:
        """Called after each batch, and before Spark 4.2 the only call between the batches."""
        if self._loads_at_once and chunks_of(end) is None:
            self._loads_at_once = False
            self._planner.load.check_unchanged(is_end=True)

    def stop(self) -> None:
        """Closes connections. If Spark does not call it, the process ends instead."""
        self._planner.close()

    def __getstate__(self) -> dict[str, Any]:
        """The state that tasks need: no connection, and no password."""
        return {"_reader": self._reader}
