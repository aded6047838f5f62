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


def latest(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Returns the last change of each key. The changes are in the order of the log."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = changes.num_rows
    if count <= 1:
        return changes
    place = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count))
    columns = [changes.column(name).combine_chunks() for name in key]
    names = [f"key{index}" for index in range(len(columns))]
    keys = pa.table([*columns, place], [*names, "place"])
    last = keys.group_by(names).aggregate([("place", "max")]).column("place_max")
    if len(last) == count:
        return changes
    order = pc.array_sort_indices(last.combine_chunks())
    return changes.take(pc.subtract(last.combine_chunks().take(order), 1))


def divided(changes: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Returns the rows that exist afterwards, and those that are deleted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_deleted = pc.is_in(changes.column(CHANGE), value_set=pa.array(DELETED))
    return changes.filter(pc.invert(is_deleted)), changes.filter(is_deleted)


__all__ = ["CHANGE", "ORDINAL", "TIME", "VERSION", "divided", "latest"]
