"""The chunks into which the existing rows of tables are divided. Tasks read them in parallel.

The chunks of all tables are numbered in one sequence. A table that is replaced while its rows are
read gets new chunks, after all others; its earlier ones are not read any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from binarrow import ConfigError, Position
from binarrow._native import ConnectionSpec, table_ranges
from binarrow.spark.grouping import grouped
from binarrow.spark.live.log_files import place_of
from binarrow.spark.live.rows_partition import RowsRange
from binarrow.spark.messages import spark_message
from binarrow.stored_forms import LOAD_CHUNKS

DROPPED = ""
"""The identity of a table that does not exist any more."""


@dataclass(frozen=True)
class TableChunks:
    """The chunks of one table: each ends at a key, and the last one has no end."""

    table: str
    identity: str
    """The table, as distinct from another one that gets its name."""
    ends: tuple[str, ...] = field(repr=False)
    """The keys at which the chunks end, as JSON."""
    since: str = ""
    """The end of the log after the table was found: a batch that begins earlier must not read it.

    Empty without a log.
    """

    @classmethod
    def of(
        cls,
        spec: ConnectionSpec,
        tables: Sequence[str],
        rows: int,
        *,
        needs_key: bool,
    ) -> list[TableChunks]:
        """Divides tables into chunks of about `rows` rows.

        Raises:
            ConfigError: A table has no key, and one is needed.
        """
        found = []
        ranges = table_ranges(spec, tables, rows)
        for table, (identity, has_key, ends) in zip(tables, ranges, strict=True):
            if needs_key and not has_key:
                raise ConfigError(
                    spark_message(
                        f"{table} has no key by which its rows can be read in parts, so a task that"
                        " is repeated would return rows twice: add a primary key of numbers, texts"
                        " or dates, or leave the table out (⟦exclude_tables⟧)"
                    )
                )
            found.append(cls(table, identity, tuple(ends)))
        return found

    @classmethod
    def unused(cls, count: int) -> TableChunks:
        """Returns chunks of no table, whose numbers are not used again."""
        return cls("", DROPPED, ("",) * (count - 1))

    @property
    def count(self) -> int:
        """The number of chunks."""
        return len(self.ends) + 1

    def not_before(self, end: Position) -> TableChunks:
        """Returns the chunks with the end of the log after the table was found."""
        return replace(self, since=end.to_json())

    def is_comparable(self, end: Position) -> bool:
        """True if the end of the log, when the table was found, can be compared with another."""
        since = Position.from_json(self.since)
        return (since.server, since.version_shift) == (end.server, end.version_shift)

    def is_readable(self, start: Position) -> bool:
        """True if a batch that begins at `start` may read the rows."""
        since = Position.from_json(self.since)
        return since.server == start.server and place_of(start) >= place_of(since)

    def range(self, first: int, stop: int, number: int) -> RowsRange:
        """Returns the rows of the chunks from `first` to before `stop`, of this table."""
        after = self.ends[first - 1] if first > 0 else None
        upto = self.ends[stop - 1] if stop <= len(self.ends) else None
        return RowsRange(self.table, number, after, upto)


@dataclass(frozen=True)
class RowChunks:
    """The chunks of all tables of a query."""

    selected: str
    """The tables, as the options name them."""
    tables: tuple[TableChunks, ...]
    is_unchanged: bool | None = None
    """True if no table was replaced until the end of the load; None if that is not known yet."""
    searched: str = ""
    """The position up to which the log was searched for statements that replace tables.

    Empty without a log.
    """

    @property
    def count(self) -> int:
        """The number of chunks."""
        return sum(each.count for each in self.tables)

    @property
    def current(self) -> dict[str, TableChunks]:
        """The chunks of each table that are read: the last ones."""
        return {each.table: each for each in self.tables if each.table}

    def ranges(self, first: int, stop: int, most: int) -> list[RowsRange]:
        """Returns the rows of the chunks from `first` to before `stop`, in at most `most` ranges.

        There are more ranges if there are more tables.
        """
        found = [chunk for chunk in self.chunks(first, stop) if self.is_read(chunk[0])]
        return [
            joined
            for group in grouped([1] * len(found), most)
            for joined in _joined(found[group.start : group.stop])
        ]

    def readable(self, first: int, stop: int, start: Position) -> int:
        """Returns the end of the chunks from `first` on that a batch at `start` may read."""
        for table, _, number in self.chunks(first, stop):
            if self.is_read(table) and not table.is_readable(start):
                return number
        return stop

    def is_read(self, table: TableChunks) -> bool:
        """True if the chunks of a table are read: they are its last ones, and it exists."""
        return table is self.current.get(table.table) and table.identity != DROPPED

    def read_again(self, tables: Sequence[TableChunks]) -> RowChunks:
        """Returns the chunks with others for some of the tables."""
        return replace(self, tables=(*self.tables, *tables))

    def with_current(self, tables: Mapping[str, TableChunks]) -> RowChunks:
        """Returns the chunks with others instead of the current ones of some tables."""
        current = self.current
        return replace(
            self,
            tables=tuple(
                tables.get(each.table, each) if each is current.get(each.table) else each
                for each in self.tables
            ),
        )

    def to_json(self) -> str:
        """Returns the stored form, which contains keys of rows."""
        tables = [{**each.__dict__, "ends": list(each.ends)} for each in self.tables]
        stored = {**self.__dict__, **LOAD_CHUNKS.stamp, "tables": tables}
        return json.dumps(stored)

    @classmethod
    def from_json(cls, text: str, shown: str = "the state of a load") -> RowChunks:
        """Parses the stored form, whose place is `shown` in messages.

        Raises:
            LaterVersionError: A later version of binarrow has stored it.
            ValueError: It is something else.
        """
        stored = LOAD_CHUNKS.parse(text, shown)
        tables = tuple(map(_table, stored["tables"]))
        return cls(stored["selected"], tables, stored["is_unchanged"], stored.get("searched", ""))

    def chunks(self, first: int, stop: int) -> Iterator[tuple[TableChunks, int, int]]:
        """Returns each chunk: its table, its number in the table, and its number."""
        begin = 0
        for table in self.tables:
            for number in range(max(first, begin), min(stop, begin + table.count)):
                yield table, number - begin, number
            begin += table.count


def _joined(chunks: Sequence[tuple[TableChunks, int, int]]) -> Iterator[RowsRange]:
    """Joins consecutive chunks of the same table to one range."""
    first = 0
    for place, (table, own, _) in enumerate(chunks):
        is_last = place + 1 == len(chunks) or chunks[place + 1][0] is not table
        if is_last:
            _, begin, number = chunks[first]
            yield table.range(begin, own + 1, number)
            first = place + 1


def _table(stored: Mapping[str, Any]) -> TableChunks:
    return TableChunks(**{**stored, "ends": tuple(stored["ends"])})
