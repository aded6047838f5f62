"""SQL expressions about changes: their order, their rows, and the columns of their images."""

from __future__ import annotations

from collections.abc import Sequence

from binarrow.spark.mirror.changes import Changes
from binarrow.sql import quoted_name


def place_of(changes: Changes) -> str:
    """The place of a change in the log: later changes have a larger one."""
    return f"struct({changes.envelope('commit_version')}, {changes.envelope('change_ordinal')})"


def row_of(changes: Changes) -> str:
    """The row of a change: a struct of `_0`, `_1`, ..."""
    return struct_of(changes, range(len(changes.fields)))


def struct_of(changes: Changes, places: Sequence[int]) -> str:
    """A struct of columns, by their places in the table."""
    names = (quoted_name(changes.fields[place].name) for place in places)
    return f"struct({', '.join(f'{name} AS _{i}' for i, name in enumerate(names))})"


def is_one_of(kind: str, kinds: Sequence[str]) -> str:
    """A condition: the type of a change is one of several."""
    return f"({kind} IN {tuple(kinds)})"


def contains(bits: str, place: int) -> str:
    """A condition: an image contains a column. Bits start with the lowest of each byte."""
    byte = f"CAST(conv(hex(substring({bits}, {place // 8 + 1}, 1)), 16, 10) AS int)"
    return f"({byte} & {1 << place % 8}) <> 0"
