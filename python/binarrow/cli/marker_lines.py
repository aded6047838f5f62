"""Formats markers, which are not rows, as lines: text for people, or one JSON object each."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any, TypeAlias

from binarrow import (
    Heartbeat,
    SchemaChange,
    SkippedStatement,
    Transaction,
    Truncate,
    UnloggedChange,
)
from binarrow.cli.change_lines import lag
from binarrow.cli.output import json_text, on_one_line

Marker: TypeAlias = (
    SchemaChange | Truncate | SkippedStatement | UnloggedChange | Transaction | Heartbeat
)


def json_marker(marker: Marker, now: int, zone: tzinfo | None) -> str:
    """Formats a marker as one JSON object; ``marker`` is its kind."""
    record: dict[str, Any] = {"marker": _name(marker), **_fields(marker)}
    if not isinstance(marker, Heartbeat):
        committed = marker.commit_timestamp.astimezone(zone)
        record["committed"] = committed.isoformat(timespec="microseconds")
        record["lag_us"] = now - _micros(committed)
    record["position"] = str(marker.position)
    return json_text(record)


def text_marker(marker: Marker, now: int, zone: tzinfo | None, *, in_seconds: bool) -> str:
    """Formats a marker as a line for people, in the columns of changes."""
    time, late = "", ""
    if not isinstance(marker, Heartbeat):
        time = f"{marker.commit_timestamp.astimezone(zone):%Y-%m-%dT%H:%M:%S.%f}"
        late = lag(now - _micros(marker.commit_timestamp), in_seconds=in_seconds)
    table, kind, rest = _words(marker)
    return f"{time:26}  {late:>8}  {on_one_line(table):24} {kind:7} {on_one_line(rest)}".rstrip()


def _name(marker: Marker) -> str:
    match marker:
        case SchemaChange():
            return "schema_change"
        case Truncate():
            return "truncate"
        case SkippedStatement():
            return "skipped_statement"
        case UnloggedChange():
            return "unlogged_change"
        case Transaction():
            return "transaction"
        case _:
            return "heartbeat"


def _fields(marker: Marker) -> dict[str, Any]:
    match marker:
        case SchemaChange():
            return {
                "kind": marker.kind,
                "database": marker.database,
                "tables": list(marker.tables),
                "statement": marker.statement,
                "tool": marker.tool,
            }
        case Truncate():
            return {"table": f"{marker.database}.{marker.table}"}
        case SkippedStatement():
            return {"database": marker.database, "statement": marker.statement}
        case UnloggedChange():
            return {
                "table": f"{marker.database}.{marker.table}",
                "operation": marker.operation,
                "changed_tables": list(marker.changed_tables),
            }
        case Transaction():
            return {
                "kind": marker.kind,
                "gtid": marker.gtid,
                "rows": marker.rows,
                "xa_state": marker.xa_state,
                "xid": marker.xid,
            }
        case _:
            return {}


def _words(marker: Marker) -> tuple[str, str, str]:
    """Returns the table, the kind, and the rest of the line."""
    match marker:
        case SchemaChange():
            tool = f" ({marker.tool})" if marker.tool else ""
            return ",".join(marker.tables) or marker.database, marker.kind, marker.statement + tool
        case Truncate():
            return f"{marker.database}.{marker.table}", "truncate", ""
        case SkippedStatement():
            return marker.database, "skipped", marker.statement
        case UnloggedChange():
            changed = ", ".join(marker.changed_tables) or "tables that are not known"
            return f"{marker.database}.{marker.table}", "unlogged", f"rows of {changed} may change"
        case Transaction():
            rows = None if marker.rows is None else f"{marker.rows} rows"
            xa = None if marker.xid is None else f"XA {marker.xid} {marker.xa_state}"
            return "", marker.kind, " ".join(word for word in (marker.gtid, rows, xa) if word)
        case _:
            return "", "heartbeat", str(marker.position)


def _micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)
