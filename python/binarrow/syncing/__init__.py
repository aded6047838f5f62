"""A database in a target, kept up to date: existing rows, then the changes of the log."""

from binarrow.syncing.errors import SyncError, TargetBusyError
from binarrow.syncing.progress import SyncProgress, SyncStats, TableProgress
from binarrow.syncing.summary import SyncedTable, SyncSummary
from binarrow.syncing.sync import sync

__all__ = [
    "SyncError",
    "SyncProgress",
    "SyncStats",
    "SyncSummary",
    "SyncedTable",
    "TableProgress",
    "TargetBusyError",
    "sync",
]
