"""Compares the end of a history with the current tables of a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from binarrow._native import Position, SchemaError, TableSchema
from binarrow.history.diff import Difference, differences
from binarrow.history.schema_history import SchemaHistory

if TYPE_CHECKING:
    from binarrow.server.server import Server

SYSTEM_DATABASES = ("mysql", "sys", "information_schema", "performance_schema")


@dataclass(frozen=True)
class HistoryCheck:
    """The result of a comparison."""

    position: Position
    """The position at which the structures were compared."""
    tables: int
    """The number of the server's tables that were compared."""
    differences: tuple[tuple[str, Difference], ...]
    """``database.table`` and a difference: ``before`` is the history's structure, ``after`` the
    server's."""


def check_history(
    history: SchemaHistory, server: Server, *, tables: str | Sequence[str] | None = None
) -> HistoryCheck:
    """Follows the log from the history's end to its present end, then compares the structures.

    Raises:
        SchemaError: The history is empty, or of another log.
        PositionPurgedError: The server no longer has the log from the history's end on.
    """
    if not history.covered:
        raise SchemaError("the history is empty: take a baseline first")
    taken = server.schemas(tables=tables)
    # A read that starts after the history's end first follows the log up to its start.
    with server.stream(taken.position, stop=taken.position, history=history) as stream:
        for _ in stream:
            pass
    patterns = [tables] if isinstance(tables, str) else list(tables or ())
    with SchemaHistory.open("memory:") as now:
        now.baseline(taken.script, taken.position)
        there = now.tables()
        here = {
            table: why
            for table, why in history.tables(taken.position).items()
            if table in there or _is_wanted(table, patterns)
        }
        found = [
            (table, one)
            for table in sorted({*there, *here})
            for one in _compared(table, here, history, now, taken.position)
        ]
    return HistoryCheck(taken.position, len(there), tuple(found))


def _is_wanted(table: str, patterns: list[str]) -> bool:
    if not patterns:
        return table.partition(".")[0] not in SYSTEM_DATABASES
    return any(fnmatchcase(table, pattern.replace("[", "[[]")) for pattern in patterns)


def _compared(
    table: str,
    here: dict[str, str | None],
    history: SchemaHistory,
    now: SchemaHistory,
    position: Position,
) -> Iterator[Difference]:
    database, _, name = table.partition(".")
    if (why := here.get(table)) is not None:
        yield Difference("changed", "table", f"unknown: {why}", "known")
        return
    before: TableSchema | None = history.find(database, name, position)
    yield from differences(before, now.find(database, name))


__all__ = ["HistoryCheck", "check_history"]
