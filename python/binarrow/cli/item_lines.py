"""Formats items that are not rows as lines: text for people, or one JSON object each."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

from binarrow import Heartbeat, SchemaChange, SkippedStatement, Transaction, Truncate
from binarrow.cli.change_lines import lag
from binarrow.cli.output import json_text, on_one_line

Item: TypeAlias = SchemaChange | Truncate | SkippedStatement | Transaction | Heartbeat


def json_item(item: Item, now: int) -> str:
    """Formats an item as one JSON object; ``item`` is its kind."""
    record: dict[str, Any] = {"item": _name(item), **_fields(item)}
    if not isinstance(item, Heartbeat):
        committed = item.commit_timestamp
        record["committed"] = committed.isoformat(timespec="microseconds")
        record["lag_us"] = now - _micros(committed)
    record["position"] = str(item.position)
    return json_text(record)


def text_item(item: Item, now: int, *, in_seconds: bool) -> str:
    """Formats an item as a line for people, in the columns of changes."""
    time, late = "", ""
    if not isinstance(item, Heartbeat):
        time = f"{item.commit_timestamp:%Y-%m-%dT%H:%M:%S.%f}"
        late = lag(now - _micros(item.commit_timestamp), in_seconds=in_seconds)
    table, kind, rest = _words(item)
    return f"{time:26}  {late:>8}  {on_one_line(table):24} {kind:7} {on_one_line(rest)}".rstrip()


def _name(item: Item) -> str:
    match item:
        case SchemaChange():
            return "schema_change"
        case Truncate():
            return "truncate"
        case SkippedStatement():
            return "skipped_statement"
        case Transaction():
            return "transaction"
        case _:
            return "heartbeat"


def _fields(item: Item) -> dict[str, Any]:
    match item:
        case SchemaChange():
            return {
                "kind": item.kind,
                "database": item.database,
                "tables": list(item.tables),
                "statement": item.statement,
                "tool": item.tool,
            }
        case Truncate():
            return {"table": f"{item.database}.{item.table}"}
        case SkippedStatement():
            return {"database": item.database, "statement": item.statement}
        case Transaction():
            return {
                "kind": item.kind,
                "gtid": item.gtid,
                "rows": item.rows,
                "xa_state": item.xa_state,
                "xid": item.xid,
            }
        case _:
            return {}


def _words(item: Item) -> tuple[str, str, str]:
    """Returns the table, the kind, and the rest of the line."""
    match item:
        case SchemaChange():
            tool = f" ({item.tool})" if item.tool else ""
            return ",".join(item.tables) or item.database, item.kind, item.statement + tool
        case Truncate():
            return f"{item.database}.{item.table}", "truncate", ""
        case SkippedStatement():
            return item.database, "skipped", item.statement
        case Transaction():
            rows = None if item.rows is None else f"{item.rows} rows"
            xa = None if item.xid is None else f"XA {item.xid} {item.xa_state}"
            return "", item.kind, " ".join(word for word in (item.gtid, rows, xa) if word)
        case _:
            return "", "heartbeat", str(item.position)


def _micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)
