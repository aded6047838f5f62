"""Operations in files, from which a target applies them again after a crash."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from binarrow.syncing.names import Name
from binarrow.syncing.operations import (
    Alter,
    Append,
    Clear,
    Create,
    Drop,
    End,
    NewColumn,
    Operation,
    Rename,
    Versions,
    Write,
)
from binarrow.syncing.schema_text import schema_of_text, text_of_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from binarrow.syncing.state_folder import StateFolder

VALUES = {"integer": int, "decimal": Decimal, "text": str}
"""The types of a default value, by their names in a file."""


def write_operations(
    operations: Sequence[Operation], state: StateFolder, folder: str
) -> list[dict[str, Any]]:
    """Writes the rows of operations into files of a new folder, and returns the rest as JSON.

    Raises:
        OSError: The folder is not writable, or the disk is full.
    """
    state.begin_folder(folder)
    written = []
    for number, operation in enumerate(operations):
        files = {
            part: f"{number}-{part}.arrow"
            for part in ("rows", "deleted", "ended")
            if hasattr(operation, part)
        }
        for part, file in files.items():
            state.write_rows(f"{folder}/{file}", getattr(operation, part))
        written.append({"table": operation.name, **files, **_details(operation)})
    state.end_folder(folder)
    return written


def _details(operation: Operation) -> dict[str, Any]:
    details: dict[str, Any] = {"do": type(operation).__name__.lower()}
    match operation:
        case Write(_, key):
            details["key"] = key
        case Versions(_, key):
            details["key"] = key
        case End(_, time, version, before):
            details |= {"time": time.isoformat(), "version": version, "before": before}
        case Create(_, schema):
            details["columns"] = text_of_schema(schema)
        case Rename(_, to):
            details["to"] = to
        case Alter(_, columns):
            details["columns"] = [_column(one) for one in columns]
            details["fills_current"] = operation.fills_current
    return details


def _column(column: NewColumn) -> dict[str, Any]:
    import pyarrow as pa

    found: dict[str, Any] = {
        "field": text_of_schema(pa.schema([column.field])),
        "source": column.source,
    }
    if column.value is not None:
        kind = next(name for name, kind in VALUES.items() if type(column.value) is kind)
        found["value"] = [kind, str(column.value)]
    return found


def read_operation(written: dict[str, Any], state: StateFolder, folder: str) -> Operation:
    """Returns an operation that `write_operations` has written."""
    rows_of = partial(_rows, written, state, folder)
    name: Name = (written["table"][0], written["table"][1])
    found: Operation
    match written["do"]:
        case "write":
            found = Write(name, tuple(written["key"]), rows_of("rows"), rows_of("deleted"))
        case "versions":
            found = Versions(name, tuple(written["key"]), rows_of("rows"), rows_of("ended"))
        case "end":
            time = datetime.fromisoformat(written["time"])
            found = End(name, time, written["version"], written["before"])
        case "append":
            found = Append(name, rows_of("rows"))
        case "create":
            found = Create(name, schema_of_text(written["columns"]))
        case "clear":
            found = Clear(name)
        case "drop":
            found = Drop(name)
        case "rename":
            found = Rename(name, (written["to"][0], written["to"][1]))
        case "alter":
            columns = tuple(_column_of(one) for one in written["columns"])
            found = Alter(name, columns, written["fills_current"])
        case other:
            raise ValueError(f"unknown operation {other!r}")
    return found


def _rows(written: dict[str, Any], state: StateFolder, folder: str, part: str) -> pa.Table:
    return state.read_rows(f"{folder}/{written[part]}")


def _column_of(written: dict[str, Any]) -> NewColumn:
    kind, text = written.get("value", (None, None))
    field = schema_of_text(written["field"]).field(0)
    return NewColumn(field, written["source"], VALUES[kind](text) if kind else None)


__all__ = ["read_operation", "write_operations"]
