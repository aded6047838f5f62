"""The versions of rows between two commits, with Arrow's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binarrow.syncing.reduce import CHANGE, DELETED, TIME, VERSION, key_numbers, places
from binarrow.syncing.rows import ADDED, FROM_VERSION, TO_VERSION, VALID_FROM, VALID_TO

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from binarrow._native import Position
    from binarrow.syncing.operations import Alter, End, NewColumn


def versions(changes: pa.Table, key: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Returns the versions that changes begin, and the keys whose current versions they end.

    Each change ends the version of its key that was current before it. The changes are in the
    order of the log, and each but a delete is one version.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    count = changes.num_rows
    numbers = key_numbers(changes, key)
    order = pc.array_sort_indices(pc.add(pc.multiply(numbers, count), places(count)))
    changes, numbers = changes.take(order).combine_chunks(), numbers.take(order)
    is_same = pc.equal(numbers.slice(1), numbers.slice(0, max(count - 1, 0)))
    has_next = pa.concat_arrays([is_same, pa.array([False])])
    is_first = pa.concat_arrays([pa.array([True]), pc.invert(is_same)])
    times, numbers_of_commits = (changes.column(name) for name in (TIME, VERSION))
    begins = {VALID_FROM: times, FROM_VERSION: numbers_of_commits}
    ends = {
        VALID_TO: _following(times, has_next),
        TO_VERSION: _following(numbers_of_commits, has_next),
    }
    rows = changes.drop_columns([*ADDED])
    for name in (VALID_FROM, VALID_TO, FROM_VERSION, TO_VERSION):
        rows = rows.append_column(name, {**begins, **ends}[name])
    is_deleted = pc.is_in(changes.column(CHANGE), value_set=pa.array(DELETED))
    ended = changes.select([*key]).append_column(VALID_TO, times)
    ended = ended.append_column(TO_VERSION, numbers_of_commits)
    return rows.filter(pc.invert(is_deleted)), ended.filter(is_first)


def version_before(position: Position) -> int:
    """Returns the version of the last change before a position."""
    number = (position.file_number or 0) + position.version_shift
    return (number << 40 | position.offset) - 1


def added_values(
    change: Alter, column: NewColumn, rows: pa.RecordBatch | pa.Table
) -> pa.Array | pa.ChunkedArray:
    """Returns the values of an added column in existing rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    value = pa.scalar(column.value, column.field.type)
    if not change.fills_current:
        return pa.repeat(value, rows.num_rows)
    return pc.if_else(pc.is_null(rows.column(TO_VERSION)), value, pa.scalar(None, value.type))


def ended(rows: pa.Table, change: End) -> pa.Table | None:
    """Returns rows after the end of current ones; None if there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_ended = pc.is_null(rows.column(TO_VERSION))
    if change.before is not None:
        is_ended = pc.and_(is_ended, pc.less(rows.column(FROM_VERSION), change.before))
    if not pc.any(is_ended).as_py():
        return None
    for name, value in ((VALID_TO, change.time), (TO_VERSION, change.version)):
        column = rows.column(name)
        values = pc.if_else(is_ended, pa.scalar(value, column.type), column)
        rows = rows.set_column(rows.column_names.index(name), name, values)
    return rows


def _following(column: pa.ChunkedArray, has_next: pa.Array) -> pa.Array:
    """Returns the value of the next row, or NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    none = pa.nulls(1, values.type)
    return pc.if_else(has_next, pa.concat_arrays([values.slice(1), none]), pa.scalar(None))


__all__ = ["added_values", "ended", "version_before", "versions"]
