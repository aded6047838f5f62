"""Formats changes as lines: text for people, or one JSON object each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from binarrow.cli.output import json_text, on_one_line
from binarrow.cli.writer import cell_as_json

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow import ChangeBatch

ENVELOPE = ("change_type", "commit_timestamp", "present")
"""The envelope columns that are printed."""

PREFIX = "binarrow "
"""The prefix of their names, which the columns of a table are unlikely to have."""

TIME_WIDTH = 26
"""The width of the column of times."""

ORDINAL = b"mysql.ordinal_position"
"""Key of a field's metadata: the column's number in its table, which is also that of its bit in
``present``."""

SECOND = 1_000_000


@dataclass(frozen=True)
class Change:
    """One change: an inserted or deleted row, or the row before and after an update."""

    kind: str
    """``insert``, ``update`` or ``delete``."""
    committed: int
    """Microseconds since 1970 UTC."""
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    details: dict[str, Any] = field(default_factory=dict)
    """The other columns of the envelope."""


def changes_of(batch: ChangeBatch, rows: pa.RecordBatch | None = None) -> Iterator[Change]:
    """Returns the changes of a batch; the two rows of an update are one change.

    Columns that a row image lacks are left out.

    Args:
        batch: The batch, with the columns of ENVELOPE, and PREFIX before their names.
        rows: Some of its rows, instead of all.
    """
    import pyarrow as pa

    places = [int(each.metadata[ORDINAL]) - 1 for each in batch.schema if _is_own(each)]

    data = batch.to_pyarrow() if rows is None else rows
    own = len(places)
    names = data.schema.names[:own]
    kinds, committed, present = (data.column(f"{PREFIX}{name}") for name in ENVELOPE)
    others = {
        name.removeprefix(PREFIX): data.column(name).to_pylist()
        for name in data.schema.names[own:]
        if name.removeprefix(PREFIX) not in ENVELOPE
    }
    row_details = (
        dict(zip(others, each, strict=True)) for each in zip(*others.values(), strict=True)
    )
    rows_of_table = (
        zip(*(_cells(column) for column in data.columns[:own]), strict=True) if own else ()
    )
    before: dict[str, Any] | None = None
    for kind, micros, held, row, details in zip(
        kinds.to_pylist(),
        committed.cast(pa.int64()).to_pylist(),
        present.to_pylist(),
        rows_of_table,
        row_details if others else ({} for _ in range(data.num_rows)),
        strict=True,
    ):
        cells = {
            name: cell
            for place, name, cell in zip(places, names, row, strict=True)
            if held[place // 8] >> place % 8 & 1
        }
        match kind:
            case "update_preimage":
                before = cells
            case "update_postimage":
                yield Change("update", micros, before, cells, details)
                before = None
            case "insert":
                yield Change(kind, micros, None, cells, details)
            case _:
                yield Change(kind, micros, cells, None, details)


def _is_own(field: pa.Field) -> bool:
    return ORDINAL in (field.metadata or {})


def row_cells(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Returns the cells of each row, by the names of their columns."""
    names = batch.schema.names
    for row in zip(*(_cells(column) for column in batch.columns), strict=True):
        yield dict(zip(names, row, strict=True))


def key_of(batch: ChangeBatch) -> frozenset[str]:
    """Returns the columns of the primary key; empty if the log does not contain them."""
    return frozenset(
        field.name for field in batch.schema if b"mysql.primary_key" in (field.metadata or {})
    )


def head(zone: tzinfo | None) -> str:
    """Returns the header line, which names the zone of the times."""
    committed = f"committed ({zone or 'local'})"
    return f"{committed:{TIME_WIDTH}}  {'lag':>8}  {'table':24} {'change':7} values"


def json_line(table: str, change: Change, now: int, zone: tzinfo | None) -> str:
    """Formats a change as one JSON object."""
    committed = datetime.fromtimestamp(change.committed / SECOND, UTC).astimezone(zone)
    record: dict[str, Any] = {
        "table": table,
        "change": change.kind,
        "committed": committed.isoformat(timespec="microseconds"),
        "lag_us": now - change.committed,
        "before": change.before,
        "after": change.after,
    }
    return json_text(record, cell_as_json)


def text_line(
    table: str,
    change: Change,
    now: int,
    key: frozenset[str],
    zone: tzinfo | None,
    *,
    in_seconds: bool,
) -> str:
    """Formats a change as a line for people: for an update, the key and the changed columns."""
    committed = datetime.fromtimestamp(change.committed / SECOND, UTC).astimezone(zone)
    values = (
        _update(change, key) if change.kind == "update" else _row(change.after or change.before)
    )
    return (
        f"{committed:%Y-%m-%dT%H:%M:%S.%f}  {lag(now - change.committed, in_seconds=in_seconds):>8}"
        f"  {on_one_line(table):24} {change.kind:7} {values}"
    ).rstrip()


def lag(micros: int, *, in_seconds: bool) -> str:
    """Formats a lag in a suitable unit; in seconds if the server logs times in seconds only."""
    if in_seconds or abs(micros) >= 100 * SECOND:
        return "< 1 s" if 0 <= micros < SECOND else f"{micros / SECOND:.0f} s"
    if abs(micros) >= SECOND:
        return f"{micros / SECOND:.1f} s"
    return f"{micros / 1000:.1f} ms"


def shown_cells(cells: dict[str, Any] | None) -> list[str]:
    """Formats the cells of a row for people: ``total=12.50``."""
    return [f"{on_one_line(name)}={_shown(cell)}" for name, cell in (cells or {}).items()]


def _row(cells: dict[str, Any] | None) -> str:
    return " ".join(shown_cells(cells))


def _update(change: Change, key: frozenset[str]) -> str:
    before, after = change.before or {}, change.after or {}
    shown = []
    for name in dict.fromkeys([*before, *after]):
        old, new = (_shown(row[name]) if name in row else None for row in (before, after))
        if new is None:
            # Only the before image has it: with MINIMAL images that is the key.
            shown.append(f"{on_one_line(name)}={old}")
        elif old is None or old == new:
            if old is None or name in key or not key:
                shown.append(f"{on_one_line(name)}={new}")
        else:
            shown.append(f"{on_one_line(name)}={old}→{new}")
    return " ".join(shown)


def _shown(cell: Any) -> str:
    if isinstance(cell, bytes):
        return f"0x{cell.hex()}"
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, int | float | Decimal):
        return str(cell)
    if isinstance(cell, list):
        return json.dumps(cell)
    return "NULL" if cell is None else f"'{_escaped(str(cell))}'"


def _escaped(text: str) -> str:
    """Escapes line breaks and control characters, so that the text can be restored."""
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def _cells(column: pa.Array) -> list[Any]:
    import pyarrow as pa

    try:
        cells: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        # Python's dates begin with the year 1, MySQL's with 0.
        cells = column.cast(pa.string()).to_pylist()
    return cells
