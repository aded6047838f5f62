"""A range of a table's existing rows, which one task reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.datasource import InputPartition

from binarrow import BinlogReader, Position, read_binlog
from binarrow._native import LiveLog
from binarrow.server.target import Target


@dataclass(frozen=True)
class RowsRange:
    """Rows of a table between two keys. Keys are JSON, and are not shown."""

    table: str
    number: int
    """The number of its first chunk."""
    after: str | None = field(repr=False)
    """The key after which it begins; None for the first rows."""
    upto: str | None = field(repr=False)
    """The key with which it ends; None for the last rows."""


@dataclass
class RowsPartition(InputPartition):
    """The partition of a task: a range of rows, and the login. Spark pickles it for this task."""

    range: RowsRange
    position: str | None
    """The position of the rows: the start of the batch; None for those of their snapshots."""
    locks: str | None
    chunk_rows: int
    max_rows_per_second: int | None
    """The part of this task."""
    target: Target = field(repr=False)

    def read(self, reconnect: float, options: Mapping[str, Any]) -> BinlogReader:
        """Starts to read the rows, over its own connection."""
        rows = LiveLog.rows(
            self.target.connection_spec(),
            self.range.table,
            after=self.range.after,
            upto=self.range.upto,
            number=self.range.number,
            position=None if self.position is None else Position.from_json(self.position),
            locks=self.locks,
            chunk_rows=self.chunk_rows,
            max_rows_per_second=self.max_rows_per_second,
            reconnect=reconnect,
        )
        return read_binlog(rows, **options)
