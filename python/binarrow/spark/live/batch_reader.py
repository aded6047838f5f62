"""The batch reader of a server: reads its log between two places, or the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from binarrow.spark.live.live_range import RangeReader
from binarrow.spark.live.planner import Planner
from binarrow.spark.messages import naming_options

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.source_options import SourceOptions


class LiveBatchReader(DataSourceReader):
    """Reads one table's changes that are in the log when the query is planned, or its rows."""

    def __init__(self, options: SourceOptions, live: LiveOptions, schema: pa.Schema) -> None:
        self._live = live
        self._planner = Planner(options, live, schema)
        self._reader = RangeReader.of(options, schema, live, is_stream=False)

    @naming_options()
    def partitions(self) -> Sequence[InputPartition]:
        """Returns the ranges of the log or of the rows: at most ``numPartitions``."""
        try:
            if self._live.loads:
                return self._planner.load.all_partitions()
            stop = self._planner.end(self._live.ending())
            start = self._planner.start(self._live.starting("earliest"))
            return self._planner.partitions(start, stop)
        finally:
            self._planner.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Reads the changes of a range in log order, or the rows of a range."""
        return self._reader.read(partition)

    def __getstate__(self) -> dict[str, Any]:
        """The state that tasks need: no connection, and no password."""
        return {"_reader": self._reader}
