"""Representations of objects in notebooks: HTML, as ``_repr_html_`` returns it.

Cells of a batch are shown, because the user asks for them. ``repr()``, messages and logs contain
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from binarrow._native import (
    BinlogReader,
    ChangeBatch,
    Column,
    Position,
    TableReader,
    TableRows,
    TableSchema,
    TableSchemas,
)

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS = 10
MAX_COLUMNS = 20
MAX_CELL = 80
"""The maximum number of characters of a cell, a name or a type."""
MAX_ITEMS = 20
"""The maximum number of items of a list or struct in a cell."""
MAX_FACT = 300
MAX_ROWS_OF_STRUCTURES = 200
"""The maximum number of columns, keys or tables that a structure shows."""

# Colors are those of the page, light or dark.
LINE = "1px solid rgba(128, 128, 128, 0.4)"
TABLE = "border-collapse: collapse; margin: 0.3em 0; color: inherit; background: transparent"
CELL = f"text-align: left; vertical-align: top; padding: 0.15em 0.6em; border-bottom: {LINE}"
NUMBER = CELL.replace("left", "right", 1)
FAINT = "opacity: 0.65; font-weight: normal"


def html_of(value: object) -> str:
    """Returns an object of the extension module as HTML."""
    match value:
        case ChangeBatch():
            return batch_html(value)
        case Position():
            return card("Position", position_facts(value))
        case BinlogReader() | TableReader():
            return card(type(value).__name__, reader_facts(value))
        case TableRows():
            return card("TableRows", rows_facts(value))
        case TableSchema():
            return structure_html(value)
        case TableSchemas():
            return structures_html(value)
    raise TypeError(type(value).__name__)


def card(title: str, facts: Iterable[tuple[str, object]]) -> str:
    """Returns a title and a table of facts. Facts that are None or empty are left out."""
    rows = "".join(
        f'<tr><th style="{CELL}; {FAINT}">{escape(name)}</th>'
        f'<td style="{CELL}">{escape(shortened(str(fact), MAX_FACT))}</td></tr>'
        for name, fact in facts
        if fact is not None and fact != ""
    )
    return f'{_title(title)}<table style="{TABLE}">{rows}</table>'


def position_facts(position: Position | None) -> Iterator[tuple[str, object]]:
    """The properties of a position."""
    if position is None:
        return
    if position.file:
        yield "file", position.file
        yield "offset", f"{position.offset:,}"
    yield "server", position.server
    yield "GTID set", position.gtid_set
    yield "tables ahead", ", ".join(position.ahead)
    yield "visible to SELECT", position.visible_to_select


def reader_facts(reader: BinlogReader[Any] | TableReader) -> Iterator[tuple[str, object]]:
    """The state of a reader, without a read."""
    stats = reader.stats()
    yield "state", "closed" if reader.closed else "open"
    yield "position", reader.position
    for name in ("batches", "rows", "bytes_read", "bytes_total", "reconnects"):
        if stats.get(name) is not None:
            yield name.replace("_", " "), f"{stats[name]:,}"
    if stats.get("lag_seconds") is not None:
        yield "lag", f"{stats['lag_seconds']:.3f} s"
    yield "last commit", stats.get("last_commit")


def rows_facts(rows: TableRows) -> Iterator[tuple[str, object]]:
    """The progress of a read of a table."""
    yield "position", rows.position
    if rows.position is not None:
        yield "exact", "yes" if rows.is_exact else "no"
    yield "rows", f"{rows.rows:,}"
    yield "estimated rows", f"{rows.estimated_rows:,}"
    yield "columns", f"{len(rows.schema):,}"


def structure_html(table: TableSchema) -> str:
    """Returns the columns and keys of a table."""
    columns = [
        (column.name, column.type, "" if column.nullable else "NOT NULL", *_column_notes(column))
        for column in table.columns
    ]
    keys = [(key.name, key.kind, ", ".join(key.columns)) for key in table.keys]
    parts = [_rows_html(("column", "type", "NULL", "default", "comment"), columns)]
    if keys:
        parts.append(_rows_html(("key", "kind", "columns"), keys))
    return "".join([_title(f"{table.database}.{table.table}", table.comment or ""), *parts])


def structures_html(schemas: TableSchemas) -> str:
    """Returns the names, columns and keys of tables."""
    tables = schemas.tables
    rows = [
        (f"{one.database}.{one.table}", f"{len(one.columns):,}", ", ".join(one.row_key))
        for one in tables
    ]
    about = f"{_count(len(tables), 'table')} at {schemas.position}"
    return _title("TableSchemas", about) + _rows_html(("table", "columns", "row key"), rows)


def _column_notes(column: Column) -> tuple[str, str]:
    """The default of a column, or how it is generated, and its comment."""
    if column.generated is not None:
        return f"generated, {column.generated}", column.comment or ""
    if column.auto_increment:
        return "AUTO_INCREMENT", column.comment or ""
    return column.default or "", column.comment or ""


def _rows_html(head: Iterable[str], rows: Sequence[Iterable[str | None]]) -> str:
    """Returns a table of texts: of its rows the first ones."""
    names = "".join(f'<th style="{CELL}; {FAINT}">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL}">{escape(shortened(cell or ""))}</td>' for cell in row)
        + "</tr>"
        for row in rows[:MAX_ROWS_OF_STRUCTURES]
    )
    more = len(rows) - MAX_ROWS_OF_STRUCTURES
    end = f'<div style="{FAINT}">… {more:,} more</div>' if more > 0 else ""
    return (
        f'<table style="{TABLE}"><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>{end}'
    )


def batch_html(change: ChangeBatch) -> str:
    """Returns the first rows of a batch as a table."""
    batch = change.to_pyarrow()
    rows, columns = batch.num_rows, batch.num_columns
    shown = _shown_columns(columns)
    fields = [None if place is None else batch.schema.field(place) for place in shown]
    head = "".join(_head(field) for field in fields)
    numbers = [field is not None and _is_number(field.type) for field in fields]
    body = "".join(
        "<tr>"
        + "".join(
            _cell(None if place is None else batch.column(place)[row], is_number=is_number)
            for place, is_number in zip(shown, numbers, strict=True)
        )
        + "</tr>"
        for row in range(min(rows, MAX_ROWS))
    )
    title = f"{change.database}.{change.table}"
    about = f"{_count(rows, 'row')}, {_count(columns, 'column')}, position {change.position}"
    notes = [f"{rows - MAX_ROWS:,} more rows"] if rows > MAX_ROWS else []
    notes += [f"{columns - MAX_COLUMNS:,} more columns"] if columns > MAX_COLUMNS else []
    end = f'<div style="{FAINT}">… {" and ".join(notes)}</div>' if notes else ""
    return (
        f'{_title(title, about)}<div style="overflow-x: auto; max-width: 100%">'
        f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f"{end}"
    )


def shortened(text: str, longest: int = MAX_CELL) -> str:
    """Returns the text, cut at a number of characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _title(title: str, about: str = "") -> str:
    more = f' <span style="{FAINT}">{escape(shortened(about, MAX_FACT))}</span>' if about else ""
    return f"<div><strong>{escape(shortened(title))}</strong>{more}</div>"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _shown_columns(count: int) -> list[int | None]:
    """The places of the columns that are shown; None is a gap. The last ones are the envelope."""
    if count <= MAX_COLUMNS:
        return list(range(count))
    half = MAX_COLUMNS // 2
    return [*range(half), None, *range(count - half, count)]


def _head(field: pa.Field | None) -> str:
    if field is None:
        return f'<th style="{CELL}">…</th>'
    name, kind = escape(shortened(field.name)), escape(shortened(str(field.type), MAX_CELL // 2))
    side = NUMBER if _is_number(field.type) else CELL
    return f'<th style="{side}">{name}<br><span style="{FAINT}">{kind}</span></th>'


def _cell(scalar: pa.Scalar | None, *, is_number: bool) -> str:
    if scalar is None:
        return f'<td style="{CELL}">…</td>'
    if not scalar.is_valid:
        return f'<td style="{NUMBER if is_number else CELL}; {FAINT}">NULL</td>'
    return f'<td style="{NUMBER if is_number else CELL}">{escape(shortened(_text(scalar)))}</td>'


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _text(scalar: pa.Scalar) -> str:
    """Returns a cell as text. Only the start of a long value is converted."""
    import pyarrow as pa

    match scalar:
        case _ if not scalar.is_valid:
            text = "NULL"
        case pa.ExtensionScalar() | pa.DictionaryScalar():
            text = _text(scalar.value)
        case pa.StructScalar():
            count = scalar.type.num_fields
            items = (
                f"{scalar.type.field(place).name}: {_text(scalar[place])}"
                for place in range(min(count, MAX_ITEMS))
            )
            text = f"{{{_joined(items, count)}}}"
        case pa.ListScalar() | pa.LargeListScalar() | pa.FixedSizeListScalar():
            count = len(scalar.values)
            items = (_text(scalar.values[place]) for place in range(min(count, MAX_ITEMS)))
            text = f"[{_joined(items, count)}]"
        case pa.StringScalar() | pa.LargeStringScalar() | pa.StringViewScalar():
            start = scalar.as_buffer()[: 4 * (MAX_CELL + 1)]
            text = start.to_pybytes().decode(errors="ignore")
        case pa.BinaryScalar() | pa.LargeBinaryScalar() | pa.BinaryViewScalar():
            text = f"0x{scalar.as_buffer()[:MAX_CELL].to_pybytes().hex()}"
        case _:
            text = str(scalar)
    return text


def _joined(items: Iterable[str], count: int) -> str:
    """Joins the items until a cell is full."""
    texts: list[str] = []
    length = 0
    for item in items:
        texts.append(item)
        length += len(item)
        if length > MAX_CELL:
            break
    return ", ".join([*texts, *(["…"] if len(texts) < count else [])])


__all__ = ["card", "html_of", "position_facts", "reader_facts"]
