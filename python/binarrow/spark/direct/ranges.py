"""A stream whose rows are the ranges of the log that other tasks read, as text without secrets.

The driver decides for each batch how its ranges are read: into files, or as documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from binarrow.spark.datasource import BinarrowDataSource
from binarrow.spark.live.live_range import LivePartition, LiveRange
from binarrow.spark.live.rows_partition import RowsPartition, RowsRange
from binarrow.spark.live.stream_reader import LiveStreamReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from binarrow.server.target import Target

FORMAT = "binarrow_ranges"

COLUMN = "range"


class RangesSource(BinarrowDataSource):
    """The format ``binarrow``, with ranges instead of their changes. Only `sync` uses it."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return FORMAT

    def schema(self) -> StructType:
        """Returns the schema of ranges."""
        from pyspark.sql.types import StringType, StructField, StructType

        self._is_schema_given = False
        return StructType([StructField(COLUMN, StringType())])

    def streamReader(self, schema: StructType) -> RangesReader:  # noqa: N802, ARG002
        """Returns the reader for a streaming query."""
        return RangesReader(super().streamReader(super().schema()))


class RangesReader(LiveStreamReader):
    """Plans micro-batches like another reader, whose tasks return their ranges."""

    def __init__(self, reader: LiveStreamReader) -> None:
        self.__dict__ |= reader.__dict__

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Returns the range of a partition."""
        import pyarrow as pa

        texts = [] if type(partition) is InputPartition else [range_text(partition)]
        yield pa.record_batch({COLUMN: pa.array(texts, pa.string())})


def range_text(partition: InputPartition) -> str:
    """Returns the range of a partition as text, without its login."""
    if isinstance(partition, LivePartition):
        return json.dumps({"log": asdict(partition.range)})
    assert isinstance(partition, RowsPartition)  # noqa: S101 - a batch has no other partitions
    settings = {name: getattr(partition, name) for name in _ROWS_SETTINGS}
    return json.dumps({"rows": asdict(partition.range), "settings": settings})


def partition_of(text: str, login: Target) -> LivePartition | RowsPartition:
    """Returns the partition with a range, for a task that logs in."""
    stored = json.loads(text)
    if "log" in stored:
        return LivePartition(LiveRange(**stored["log"]), login)
    return RowsPartition(RowsRange(**stored["rows"]), **stored["settings"], target=login)


_ROWS_SETTINGS = ("position", "locks", "chunk_rows", "max_rows_per_second")
