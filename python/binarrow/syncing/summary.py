"""The result of a sync."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from binarrow._native import Position
    from binarrow.syncing.names import Name
    from binarrow.syncing.operations import Record


@dataclass
class SyncedTable:
    """A table in the result of :func:`binarrow.sync`.

    Attributes:
        status: ``"followed"``, ``"incomplete"`` (rows are still to be loaded), ``"dropped"`` (the
            server no longer has it), ``"left out"`` (``tables`` no longer selects it) or
            ``"parked"`` (it is not followed because of an error). The rows of the last three remain
            in the target.
        reason: The error after which the table was parked; empty if it is not parked.
        changes: The number of rows that were loaded, or that the log contains.
        loads: The number of times that its existing rows were read in this run.
        comparisons: The number of times that its keys were compared with those of the source,
            because foreign keys may have deleted rows and the log does not contain this.
    """

    status: str = "followed"
    reason: str = ""
    changes: int = 0
    loads: int = 0
    comparisons: int = 0


@dataclass
class SyncSummary:
    """The result of :func:`binarrow.sync`.

    Attributes:
        tables: The tables in the target, by database and name.
        position: The position in the log up to which the target contains the changes.
        changes: The number of rows of all tables.
        commits: The number of commits.
        last_change: The time of the last change in the target, in UTC; None before the first one.
        complete_through: The time of the server up to which the target contains all commits, in
            UTC; None while rows are loaded.
        seconds: The duration.
    """

    tables: dict[Name, SyncedTable] = field(default_factory=dict)
    position: Position | None = None
    changes: int = 0
    commits: int = 0
    last_change: datetime | None = None
    complete_through: datetime | None = None
    seconds: float = 0.0

    def of(self, name: Name) -> SyncedTable:
        """Returns the entry of a table."""
        return self.tables.setdefault(name, SyncedTable())

    def note(self, records: Iterable[Record]) -> None:
        """Sets the status of tables."""
        for record in records:
            table = self.of(record.name)
            table.status, table.reason = record.status, record.reason


__all__ = ["SyncSummary", "SyncedTable"]
