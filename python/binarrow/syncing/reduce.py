"""Reduces changes to the latest one of each key, with Arrow's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

CHANGE = "_change_type"
"""The envelope column with the kind of a change."""

VERSION = "_commit_version"
"""The envelope column with the place of the transaction in the order of commits."""

ORDINAL = "_change_ordinal"
"""The envelope column with the place of a change in its transaction."""

TIME = "_commit_timestamp"
"""The envelope column with the time of the commit."""

DELETED = ("delete", "update_preimage")


def reduced(
    changes: pa.Table, key: Sequence[str], columns: Sequence[str]
) -> tuple[pa.Table, pa.Table]:
    """Returns the rows that exist after changes, and the keys of those that do not.

    Only the last change of each key counts. Without earlier ones, and without deletes, the rows are
    not copied.

    Args:
        changes: Changes in the order of the log.
        key: The columns that identify a row.
        columns: The columns of the rows that exist.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    is_deleted = pc.is_in(changes.column(CHANGE), value_set=pa.array(DELETED))
    is_last = _last(changes, key)
    rows, keys = changes.select([*columns]), changes.select([*key])
    if is_last is None and not pc.any(is_deleted).as_py():
        return rows, keys.slice(0, 0)
    exists = pc.invert(is_deleted)
    if is_last is not None:
        exists, is_deleted = pc.and_(exists, is_last), pc.and_(is_deleted, is_last)
    return rows.filter(exists), keys.filter(is_deleted)


def _last(changes: pa.Table, key: Sequence[str]) -> pa.Array | None:
    """Returns a column that is true for the last change of each key; None if it is always true."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = changes.num_rows
    if count <= 1:
        return None
    numbers, place = key_numbers(changes, key), places(count)
    keys = pa.table([numbers, place], ["number", "place"])
    # One thread is faster: the groups are small, and are not merged.
    found = keys.group_by("number", use_threads=False).aggregate([("place", "max")])
    if found.num_rows == count:
        return None
    in_order = found.take(pc.sort_indices(found.column("number")))
    last = in_order.column("place_max").combine_chunks()
    return pc.equal(last.take(numbers), place)


def key_numbers(rows: pa.Table, key: Sequence[str]) -> pa.Array:
    """Returns a number for each row, which is the same for rows with the same key.

    The numbers of n different keys are 0 to n - 1.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pa.nulls(0)
    for place, name in enumerate(key):
        found = rows.column(name).combine_chunks().dictionary_encode()
        own = found.indices.cast(pa.int64())
        if place > 0:
            pairs = pc.add(pc.multiply(numbers, len(found.dictionary)), own)
            own = pairs.dictionary_encode().indices.cast(pa.int64())
        numbers = own
    return numbers


def numbers_of(rows: pa.Table, others: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Returns numbers for the rows of two tables, which are the same for the same values.

    The columns are those of the second table. Rows with NULL have the number NULL.
    """
    import pyarrow as pa

    names = others.column_names
    both = pa.concat_tables([rows.select(names), others])
    numbers = key_numbers(both, names)
    return numbers.slice(0, rows.num_rows), numbers.slice(rows.num_rows)


def places(count: int) -> pa.Array:
    """Returns the numbers from 0 to `count` - 1, without a loop in Python."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ones = pa.repeat(pa.scalar(1, pa.int64()), count)
    return pc.subtract(pc.cumulative_sum(ones), 1)


__all__ = ["CHANGE", "ORDINAL", "TIME", "VERSION", "key_numbers", "numbers_of", "places", "reduced"]
