"""Targets whose rows can be read, with the position of the same commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.syncing.operations import Record, State


class Snapshot(Protocol):
    """A commit of a target. Other commits do not change it."""

    @property
    def stored(self) -> tuple[State, bytes] | None:
        """The committed state and structures; None if no sync has committed."""

    def rows(self, record: Record, near: Sequence[pa.Table] = ()) -> Iterator[pa.RecordBatch]:
        """Returns the rows of a table, with the columns of the record in their order.

        Args:
            record: The table. Its schema may contain only some of the columns.
            near: If there are any, only rows are needed that have the values of a row in one of
                these tables. The result may contain other rows, too.

        Raises:
            TargetDiffersError: The table or a column does not exist.
        """


@runtime_checkable
class ReadableTarget(Protocol):
    """A target whose rows can be read."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Returns the last commit."""


__all__ = ["ReadableTarget", "Snapshot"]
