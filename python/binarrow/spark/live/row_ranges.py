"""The chunks into which the existing rows of tables are divided. Tasks read them in parallel.

The chunks of all tables are numbered in one sequence. A table that is replaced while its rows are
read gets new chunks, after all others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from binarrow import ConfigError
from binarrow._native import ConnectionSpec, table_identity, table_ranges
from binarrow.spark.grouping import grouped
from binarrow.spark.live.rows_partition import RowsRange
from binarrow.spark.messages import spark_message

VERSION = 1
"""The version of the stored form."""


@dataclass(frozen=True)
class TableChunks:
    """The chunks of one table: each ends at a key, and the last one has no end."""

    table: str
    identity: str
    """The table, as distinct from another one that gets its name."""
    ends: tuple[str, ...] = field(repr=False)
    """The keys at which the chunks end, as JSON."""

    @classmethod
    def of(cls, spec: ConnectionSpec, table: str, rows: int, *, needs_key: bool) -> TableChunks:
        """Divides a table into chunks of about `rows` rows.

        Raises:
            ConfigError: The table has no key, and one is needed.
        """
        identity, has_key, ends = table_ranges(spec, table, rows)
        if needs_key and not has_key:
            raise ConfigError(
                spark_message(
                    f"{table} has no key by which its rows can be read in parts, so a task that is"
                    " repeated would return rows twice: add a primary key, or leave the table out"
                    " (⟦exclude_tables⟧)"
                )
            )
        return cls(table, identity, tuple(ends))

    @property
    def count(self) -> int:
        """The number of chunks."""
        return len(self.ends) + 1

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

    @property
    def count(self) -> int:
        """The number of chunks."""
        return sum(each.count for each in self.tables)

    def ranges(self, first: int, stop: int, most: int) -> list[RowsRange]:
        """Returns the rows of the chunks from `first` to before `stop`, in at most `most` ranges.

        There are more ranges if there are more tables.
        """
        found = list(self._chunks(first, stop))
        return [
            joined
            for group in grouped([1] * len(found), most)
            for joined in _joined(found[group.start : group.stop])
        ]

    def replaced(self, spec: ConnectionSpec, rows: int) -> RowChunks | None:
        """Returns the chunks with new ones for tables that are not the same any more, if any are.

        A table that does not exist any more needs none.
        """
        current = {each.table: each for each in self.tables}  # the last of each name
        changed = [
            TableChunks.of(spec, table, rows, needs_key=True)
            for table, chunks in current.items()
            if table_identity(spec, table) not in (None, chunks.identity)
        ]
        return RowChunks(self.selected, (*self.tables, *changed)) if changed else None

    def to_json(self) -> str:
        """Returns the stored form, which contains keys of rows."""
        tables = [
            {"table": each.table, "identity": each.identity, "ends": list(each.ends)}
            for each in self.tables
        ]
        return json.dumps({"v": VERSION, "selected": self.selected, "tables": tables})

    @classmethod
    def from_json(cls, text: str) -> RowChunks:
        """Parses the stored form.

        Raises:
            ValueError: It is not one of this version.
        """
        stored = json.loads(text)
        if not isinstance(stored, dict) or stored.get("v") != VERSION:
            raise ValueError("it is not a file of this version of binarrow")
        tables = tuple(map(_table, stored["tables"]))
        return cls(stored["selected"], tables)

    def _chunks(self, first: int, stop: int) -> Iterator[tuple[TableChunks, int, int]]:
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
    return TableChunks(stored["table"], stored["identity"], tuple(stored["ends"]))
