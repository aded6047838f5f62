"""A part of a server's log between two transaction ends, which one task reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql.datasource import InputPartition

from binarrow import BinlogReader, Position, read_binlog
from binarrow._native import LiveLog
from binarrow.server.target import Target
from binarrow.spark.live.patience import patiently
from binarrow.spark.live.rows_partition import RowsPartition
from binarrow.spark.messages import naming_options
from binarrow.spark.options import TASK_DEFAULTS
from binarrow.spark.table_batches import Truncates, decode_table

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.source_options import SourceOptions


@dataclass(frozen=True)
class LiveRange:
    """A range between two positions, both stored as text by :meth:`Position.to_json`."""

    start: str
    stop: str
    history: str | None = None
    """The structures of tables in the range, if there is a history."""

    def to_json(self) -> str:
        """Returns the range as text, without secrets."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> LiveRange:
        """Parses the text of :meth:`to_json`."""
        return cls(**json.loads(text))

    def read(
        self, target: Target, heartbeat: float, reconnect: float, options: Mapping[str, Any]
    ) -> BinlogReader:
        """Starts to read the range, over its own connections."""
        spec = target.connection_spec()

        def begin() -> BinlogReader:
            log = LiveLog.between(
                spec,
                Position.from_json(self.start),
                Position.from_json(self.stop),
                schema_snapshot=self.history,
                heartbeat=heartbeat,
                reconnect=reconnect,
            )
            return read_binlog(log, **options)  # this connects

        return patiently(begin, reconnect)


@dataclass
class LivePartition(InputPartition):
    """The partition of a task: a range, and the login. Spark pickles it for this task only."""

    range: LiveRange
    target: Target = field(repr=False)


@dataclass(frozen=True)
class RangeReader:
    """The settings with which all tasks decode their ranges. Contains no password."""

    table: str | None
    schema: pa.Schema
    on_schema_change: Literal["error", "conform", "evolve"]
    truncates: Truncates
    heartbeat: float
    reconnect: float
    read_options: dict[str, Any] = field(repr=False)  # it may contain a salt

    @classmethod
    def of(
        cls,
        options: SourceOptions,
        schema: pa.Schema,
        live: LiveOptions,
        *,
        is_stream: bool,
    ) -> RangeReader:
        """Creates the reader for a query's options. A stream reports unknown values as errors."""
        own = {"partial_images": "error"} if is_stream else {}
        return cls(
            table=options.table,
            schema=schema,
            on_schema_change=options.on_schema_change,
            truncates=options.truncates or ("error" if is_stream else "skip"),
            heartbeat=live.heartbeat,
            reconnect=live.reconnect,
            read_options={**TASK_DEFAULTS, **own, **options.read},
        )

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Reads the rows of a partition, in log order."""
        with naming_options():
            if isinstance(partition, RowsPartition):
                reader = partition.read(self.reconnect, self.read_options)
            elif isinstance(partition, LivePartition):
                reader = partition.range.read(
                    partition.target, self.heartbeat, self.reconnect, self.read_options
                )
            else:
                return  # Spark's partition of an empty batch
            yield from decode_table(
                [reader], self.table, self.schema, self.on_schema_change, self.truncates
            )
