"""The smallest and the largest values of columns, with which files are left out of a read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Bounds: TypeAlias = dict[str, tuple[Any, Any]]
"""The bounds of columns. There are none of columns whose statistics may be inexact."""


def bounds_of(rows: pa.Table) -> Bounds:
    """Returns the bounds of rows, which have the types of the target."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: Bounds = {}
    for name in rows.column_names:
        column = rows.column(name)
        if pa.types.is_integer(column.type) or pa.types.is_date(column.type):
            both = pc.min_max(column).as_py()
            if both["min"] is not None:
                found[name] = (both["min"], both["max"])
    return found


__all__ = ["Bounds", "bounds_of"]
