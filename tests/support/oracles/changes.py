"""Changes of a read in words."""

from __future__ import annotations

from collections.abc import Sequence

from binarrow import Change, ChangeBatch, SchemaChange, Transaction, Truncate


def shown(change: Change) -> str:
    """An item in words; of a batch, table and rows."""
    match change:
        case ChangeBatch():
            return f"{change.table} {change.num_rows}"
        case SchemaChange():
            names = " ".join(change.tables) or change.database
            return f"{change.kind} {names}" + (f" by {change.tool}" if change.tool else "")
        case Truncate():
            return f"truncate {change.database}.{change.table}"
        case Transaction():
            rows = "" if change.rows is None else f" {change.rows}"
            state = "" if change.xid is None else f" {change.xid} {change.xa_state}"
            return f"{change.kind}{rows}{state}"
    return "heartbeat"


def joined(changes: Sequence[Change]) -> list[str]:
    """In words, with one line for all batches between two items: their number does not count."""
    lines: list[str] = []
    tables: set[str] = set()
    rows = 0

    def flush() -> None:
        nonlocal rows
        if rows:
            lines.append(f"{tables.pop() if len(tables) == 1 else 'rows'} {rows}")
        tables.clear()
        rows = 0

    for change in changes:
        if isinstance(change, ChangeBatch):
            tables.add(change.table)
            rows += change.num_rows
        else:
            flush()
            lines.append(shown(change))
    flush()
    return lines
