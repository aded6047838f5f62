"""The current rows of a table of a target, as the source has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from binarrow.syncing.rows import FROM_VERSION, TO_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.syncing.operations import Record
    from binarrow.syncing.snapshot import Snapshot

MICROSECONDS_PER_DAY = 86_400_000_000
"""DuckDB divides a duration into days and nanoseconds."""


def current_rows(
    target: Snapshot, record: Record, near: Sequence[pa.Table] = (), *, has_versions: bool
) -> Iterator[pa.Table]:
    """Returns rows of the target, without earlier versions of them.

    While a table is read again, versions that began before that end when they are read.

    Args:
        target: A commit of the target.
        record: The table. Its schema may contain only some of the columns.
        near: See :meth:`Snapshot.rows`.
        has_versions: True if the target has earlier versions of rows, too.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = record.schema
    if has_versions:
        added = [pa.field(name, pa.int64()) for name in (FROM_VERSION, TO_VERSION)]
        record = replace(record, schema=pa.schema([*schema, *added]))
    for batch in target.rows(record, near):
        rows = pa.Table.from_batches([batch])
        if has_versions:
            is_new = pc.greater_equal(rows.column(FROM_VERSION), record.read_again_from)
            rows = rows.filter(pc.and_(is_new, pc.is_null(rows.column(TO_VERSION))))
            rows = rows.select(schema.names)
        columns = zip(rows.columns, schema, strict=True)
        yield pa.table([_plain(column, one.type) for column, one in columns], schema=schema)


def _plain(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Converts values of the target, which has intervals for durations."""
    import pyarrow as pa

    if not pa.types.is_interval(column.type):
        return column.cast(kind)
    values = [
        None if one is None else one.days * MICROSECONDS_PER_DAY + one.nanoseconds // 1000
        for one in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(values, pa.int64()).cast(kind)])


__all__ = ["current_rows"]
