"""The order of the changes of several tables."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from binarrow.syncing.reduce import ORDINAL, TIME, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

AT = "\0at"
"""A column with a number for the place of a change, in the order of the log. It is not stored, and
a column of MySQL cannot have this name."""


class Clock:
    """The places of changes: transactions in the order of commits, and ordinals inside of them."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = pa.concat_tables([one.select([VERSION, ORDINAL, TIME]) for one in tables])
        found = rows.group_by(VERSION).aggregate([(TIME, "max")]).sort_by(VERSION)
        self._versions = found.column(VERSION).combine_chunks()
        self._times = found.column(f"{TIME}_max").combine_chunks()
        ordinals = pc.unique(rows.column(ORDINAL))
        self._ordinals = ordinals.take(pc.array_sort_indices(ordinals))
        self._sorted: list[int] = self._ordinals.to_pylist()

    def numbers(self, version: int, ordinals: tuple[int, int]) -> range:
        """Returns the numbers of the places from an ordinal of a transaction to another one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        rank: int = pc.index(self._versions, pa.scalar(version, pa.int64())).as_py()
        if rank < 0:
            return range(0)
        first = rank * len(self._sorted)
        begin, end = bisect_left(self._sorted, ordinals[0]), bisect_right(self._sorted, ordinals[1])
        return range(first + begin, first + end)

    def with_numbers(self, changes: pa.Table) -> pa.Table:
        """Adds the column AT to changes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ranks = pc.index_in(changes.column(VERSION), value_set=self._versions).cast(pa.int64())
        own = pc.index_in(changes.column(ORDINAL), value_set=self._ordinals).cast(pa.int64())
        return changes.append_column(AT, pc.add(pc.multiply(ranks, len(self._sorted)), own))

    def merged(self, changes: pa.Table, others: Iterable[pa.Table]) -> pa.Table:
        """Adds changes to those of the log, each at the number in its column AT.

        Args:
            changes: The changes of the log, with the column AT.
            others: Changes that are not in the log. They may lack columns.
        """
        import pyarrow as pa

        schema = changes.drop_columns(AT).schema
        parts = [changes, *(self._completed(one, changes.schema) for one in others)]
        return pa.concat_tables(parts).sort_by(AT).select(schema.names)

    def _completed(self, changes: pa.Table, schema: pa.Schema) -> pa.Table:
        """Returns changes with all columns: those of the envelope, and NULL for others."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = changes.column(AT).combine_chunks()
        ranks = pc.divide(numbers, len(self._sorted))
        own = pc.subtract(numbers, pc.multiply(ranks, len(self._sorted)))
        known = {one: changes.column(one) for one in changes.column_names}
        known |= {
            VERSION: self._versions.take(ranks),
            TIME: self._times.take(ranks),
            ORDINAL: self._ordinals.take(own),
        }
        columns = [
            known[one.name] if one.name in known else pa.nulls(changes.num_rows, one.type)
            for one in schema
        ]
        return pa.Table.from_arrays(columns, schema=schema)


__all__ = ["AT", "Clock"]
