"""A stream whose rows are ranges of the log, as text without secrets.

For each batch, the driver decides whether tasks write the changes of its ranges into files, or
return them as documents.
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
    """The format ``binarrow``, with ranges of the log instead of changes. Only `sync` uses it."""

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
    """Plans micro-batches like another reader. Its tasks return their ranges, not the changes."""

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
    """Returns the partition that `range_text` has converted to text, with its login."""
    stored = json.loads(text)
    if "log" in stored:
        return LivePartition(LiveRange(**stored["log"]), login)
    return RowsPartition(RowsRange(**stored["rows"]), **stored["settings"], target=login)


_ROWS_SETTINGS = ("position", "locks", "chunk_rows", "max_rows_per_second")
