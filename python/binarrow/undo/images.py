"""The rows of a batch in the nested layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from binarrow.undo.key_values import Values

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import ChangeBatch


class Rows:
    """The rows of a batch, before and after the changes."""

    def __init__(self, batch: ChangeBatch) -> None:
        self.batch = batch
        self.data: pa.RecordBatch = batch.to_pyarrow()
        self._cells: dict[tuple[str, str], list[Any]] = {}
        self._lists: dict[str, list[Any]] = {}
        self._sides: dict[str, list[bool]] = {}

    @property
    def structure(self) -> pa.StructType:
        """The columns of the table."""
        structure: pa.StructType = self.data.schema.field("before").type
        return structure

    def places(self) -> Iterable[tuple[int, int]]:
        """Returns the version and the ordinal of each change."""
        return zip(self._list("_commit_version"), self._list("_change_ordinal"), strict=True)

    def has(self, side: str, row: int) -> bool:
        """True if a change has a row before it, or after it."""
        if side not in self._sides:
            self._sides[side] = self.data.column(side).is_valid().to_pylist()
        found: list[bool] = self._sides[side]
        return found[row]

    def side(self, row: int) -> str:
        """Returns the last side that a change has."""
        return "after" if self.has("after", row) else "before"

    def is_full(self, side: str, row: int) -> bool:
        """True if the log contains all columns of a row."""
        present = int.from_bytes(self._list(f"_present_{side}")[row], "little")
        columns: int = self.structure.num_fields
        return present == (1 << columns) - 1

    def values(self, side: str, row: int, columns: Sequence[str]) -> Values:
        """Returns values of a row."""
        return tuple(self._column(side, column)[row] for column in columns)

    def _column(self, side: str, column: str) -> list[Any]:
        cells = self._cells.get((side, column))
        if cells is None:
            cells = self.data.column(side).field(column).to_pylist()
            self._cells[side, column] = cells
        return cells

    def _list(self, name: str) -> list[Any]:
        found = self._lists.get(name)
        if found is None:
            found = self._lists[name] = self.data.column(name).to_pylist()
        return found


def cells(batch: ChangeBatch, side: str, row: int, columns: Sequence[str]) -> Values:
    """Returns values of one row of a batch."""
    image = batch.to_pyarrow().column(side)
    return tuple(image.field(column)[row].as_py() for column in columns)


__all__ = ["Rows", "cells"]
