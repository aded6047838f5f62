"""A part of a server's log between two transaction ends, which one task reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql.datasource import InputPartition

from binarrow import BinlogReader, Position, read_binlog
from binarrow.server.target import Target
from binarrow.spark.live.patience import patiently
from binarrow.spark.messages import naming_options
from binarrow.spark.options import TASK_DEFAULTS
from binarrow.spark.table_batches import decode_table

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.source_options import SourceOptions


@dataclass(frozen=True)
class LiveRange:
    """From one position to another, both stored as :meth:`Position.to_json` writes them."""

    start: str
    stop: str
    history: str | None = None
    """The structures of tables at its start, where a history is given."""

    def to_json(self) -> str:
        """The range as text, without anything secret."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> LiveRange:
        """The range that :meth:`to_json` stored."""
        return cls(**json.loads(text))

    def read(
        self, target: Target, heartbeat: float, reconnect: float, options: Mapping[str, Any]
    ) -> BinlogReader:
        """Begins to read it, over connections of its own."""
        spec = target.connection_spec()

        def begin() -> BinlogReader:
            log = spec.range(
                Position.from_json(self.start),
                Position.from_json(self.stop),
                history_part=self.history,
                heartbeat=heartbeat,
                reconnect=reconnect,
            )
            return read_binlog(log, **options)  # this connects

        return patiently(begin, reconnect)


@dataclass
class LivePartition(InputPartition):
    """What a task gets: a range, and how to log in. Spark pickles it for the task alone."""

    range: LiveRange
    target: Target = field(repr=False)


@dataclass(frozen=True)
class RangeReader:
    """What tasks share: how a range is decoded. It holds no password."""

    table: str | None
    schema: pa.Schema
    on_schema_change: Literal["error", "conform", "evolve"]
    truncates: Literal["error", "emit", "skip"]
    heartbeat: float
    reconnect: float
    read_options: dict[str, Any] = field(repr=False)  # it may hold a salt

    @classmethod
    def of(
        cls,
        options: SourceOptions,
        schema: pa.Schema,
        live: LiveOptions,
        *,
        is_stream: bool,
    ) -> RangeReader:
        """The one for a query's options. What a stream cannot tell is an error by default."""
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
        """The rows of a partition, in log order."""
        if not isinstance(partition, LivePartition):
            return  # Spark's for a batch of nothing
        with naming_options():
            reader = partition.range.read(
                partition.target, self.heartbeat, self.reconnect, self.read_options
            )
            yield from decode_table(
                [reader], self.table, self.schema, self.on_schema_change, self.truncates
            )
