"""Cells of Arrow arrays as plain Python values that compare bit for bit.

Both type profiles give the same values, and so does `oracle.py` for what a server selects:

* floats as the bytes of a double, vectors as the bytes of their floats;
* decimals and integers as numbers; text as `str`, everything binary as `bytes`;
* dates as ordinal days, moments as microseconds since 1970, times as microseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

Cell = Any
EPOCH_DAY = date(1970, 1, 1).toordinal()


def column_cells(array: pa.Array, field: pa.Field) -> list[Cell]:
    """The cells of a column; the field's metadata contains its MySQL type."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.dictionary_decode(), kind.value_type
    if pa.types.is_temporal(kind):
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return _mapped(array.cast(width), _days if pa.types.is_date32(kind) else None)
    if pa.types.is_floating(kind):
        return _mapped(array, double)
    if pa.types.is_list(kind):
        return _mapped(array, floats)
    if pa.types.is_string(kind) and sql_type(field).startswith("decimal"):
        return _mapped(array, Decimal)
    return _mapped(array, None)


def sql_type(field: pa.Field) -> str:
    return str((field.metadata or {}).get(b"mysql.type", b"").decode())


def double(number: float) -> bytes:
    return struct.pack(">d", number)


def floats(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def _days(days: int) -> int:
    return days + EPOCH_DAY


def _mapped(array: pa.Array, function: Callable[[Any], Cell] | None) -> list[Cell]:
    cells: list[Cell] = array.to_pylist()
    if function is None:
        return cells
    return [None if cell is None else function(cell) for cell in cells]
