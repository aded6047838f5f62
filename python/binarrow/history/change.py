"""The entries of a history, and the ranges of logs that it covers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from binarrow._native import ConfigError, Position

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class CoveredRange:
    """A part of a server's log. The history has all statements of this part.

        for covered in history.covered:
            print(covered.start, covered.stop)

    Attributes:
        start: The position of its first baseline.
        stop: The position up to which the log was read.
        server: The server's id, as :attr:`Position.server`; None if the log was read from files.
    """

    start: Position
    stop: Position
    server: str | None


@dataclass(frozen=True)
class HistoryChange:
    """An entry of a history: a statement in the log, or a baseline.

        for change in history.changes("shop", "orders"):
            print(change.committed, change.statement)

    Attributes:
        position: The position from which the entry applies: the end of the statement's transaction.
        kind: ``"statement"`` or ``"baseline"``.
        committed: The time at which the statement was committed, or the baseline was taken.
        database: The statement's default database; empty if it had none.
        statement: The statement; for a baseline, all its CREATE statements. Strings that may be
            passwords of other servers (``CONNECTION=`` of a FEDERATED table, for example) are
            ``'***'``.
        tables: The tables that it changed, as ``database.table``. Empty for a baseline, unless the
            baseline contains only some tables.
        unknown: The tables whose structure is unknown from this position, each with the reason.
    """

    position: Position
    kind: Literal["statement", "baseline"]
    committed: datetime
    database: str
    statement: str = field(repr=False)
    tables: tuple[str, ...]
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def followed(self) -> bool:
        """True if its complete effect is known."""
        return not self.unknown


def concerns(change: HistoryChange, database: str | None, table: str | None) -> bool:
    """True if the entry changed tables of the database, or this table of it."""
    if database is None:
        return True
    if change.kind == "baseline" and not change.tables:
        return True
    all_tables = f"{database}.*"
    names = [name for name in change.tables if name.startswith(f"{database}.")]
    return bool(names) if table is None else f"{database}.{table}" in names or all_tables in names


def change_of_native(found: dict[str, Any]) -> HistoryChange:
    """Converts an entry as the extension module returns it."""
    committed = EPOCH + timedelta(microseconds=found.pop("timestamp"))
    return HistoryChange(committed=committed, **found)


def unix_microseconds(time: datetime) -> int:
    """Returns the microseconds since 1970 in UTC.

    Raises:
        ConfigError: The time has no time zone.
    """
    if time.tzinfo is None:
        raise ConfigError("a datetime needs a time zone: datetime(..., tzinfo=timezone.utc)")
    return (time - EPOCH) // timedelta(microseconds=1)
