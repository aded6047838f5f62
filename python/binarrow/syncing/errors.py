"""Errors of a sync."""

from __future__ import annotations

from binarrow._native import BinarrowError
from binarrow.syncing.names import Name


class SyncError(BinarrowError):
    """A sync cannot start or continue. The target contains the rows up to its last commit."""


class TableError(SyncError):
    """A table cannot be synced; others can.

    Attributes:
        table: The database and the name of the table.
    """

    table: Name

    def __init__(self, table: Name, message: str) -> None:
        super().__init__(message)
        self.table = table


class TargetBusyError(SyncError):
    """Another process uses the target."""


class TargetDiffersError(SyncError):
    """A table of the target, or a column of it, does not exist."""


class SourceBehindError(SyncError):
    """The source does not show that it has all transactions that the target contains."""


class UnknownEffectsError(Exception):
    """The effects of a delete cannot be computed, or not in one commit."""


__all__ = [
    "SourceBehindError",
    "SyncError",
    "TableError",
    "TargetBusyError",
    "TargetDiffersError",
    "UnknownEffectsError",
]
