"""Is a table history what a server has? Its end, and the server's tables of now, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from binarrow._native import Position, SchemaError
from binarrow.history import SchemaHistory, TableSchema
from binarrow.table_diff import differences

if TYPE_CHECKING:
    from binarrow.server import Server


@dataclass(frozen=True)
class HistoryCheck:
    """What a comparison found."""

    position: Position
    """The place of the log at which the two were compared."""
    tables: int
    """How many tables the server has, of those that were asked for."""
    differences: tuple[tuple[str, dict[str, Any]], ...]
    """``database.table``, and what is different: before is the history's, after the server's."""


def check_history(
    history: SchemaHistory, server: Server, *, tables: str | Sequence[str] | None = None
) -> HistoryCheck:
    """Follows the log from the history's end to now, and compares what it has then.

    Raises:
        SchemaError: The history is empty, or of another log.
        PositionPurgedError: The server no longer has the log from the history's end on.
    """
    if not history.covered:
        raise SchemaError("the history is empty: take a baseline first")
    taken = server._spec.baseline(tables=tables)
    # A read that begins behind the history's end follows the log up to its start first.
    with server.stream(taken.position, stop=taken.position, history=history) as stream:
        for _ in stream:
            pass
    flavor = "mariadb" if server.flavor == "mariadb" else "mysql"
    with SchemaHistory.open("memory:") as now:
        now.baseline(taken.script, taken.position, server=f"{flavor}-{taken.version}")
        there = now.tables()
        here = history.tables(taken.position)
        found = []
        for table in sorted({*there, *_wanted(history, here, tables)}):
            found += [
                (table, what) for what in _compared(history, now, table, here, taken.position)
            ]
    return HistoryCheck(taken.position, len(there), tuple(found))
