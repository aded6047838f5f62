"""Targets that can be compared: the rows of a table, with the position of the same commit."""

from __future__ import annotations

from collections.abc import Iterator
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

    def rows(self, record: Record) -> Iterator[pa.RecordBatch]:
        """Returns the rows of a table, with the columns of the record in their order.

        Raises:
            TargetDiffersError: The table or a column does not exist.
        """


@runtime_checkable
class ComparableTarget(Protocol):
    """A target whose rows can be read."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Returns the last commit."""


__all__ = ["ComparableTarget", "Snapshot"]
