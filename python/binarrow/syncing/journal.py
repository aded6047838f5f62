"""Operations in files, from which a target applies them again after a crash."""

from __future__ import annotations

import os
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binarrow.atomic_file import sync
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

VALUES = {"integer": int, "decimal": Decimal, "text": str}
"""The types of a default value, by their names in a file."""


def write_operations(operations: Sequence[Operation], folder: Path) -> list[dict[str, Any]]:
    """Writes the rows of operations into files of a new folder, and returns the rest as JSON.

    Raises:
        OSError: The folder is not writable, or the disk is full.
    """
    folder.mkdir(parents=True)
    written = []
    for number, operation in enumerate(operations):
        files = {
            part: f"{number}-{part}.arrow"
            for part in ("rows", "deleted", "ended")
            if hasattr(operation, part)
        }
        for part, file in files.items():
            _write(folder / file, getattr(operation, part))
        written.append({"table": operation.name, **files, **_details(operation)})
    sync(folder)
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


def read_operation(written: dict[str, Any], folder: Path) -> Operation:
    """Returns an operation that `write_operations` has written."""
    name: Name = (written["table"][0], written["table"][1])
    found: Operation
    match written["do"]:
        case "write":
            rows, deleted = (_read(folder / written[part]) for part in ("rows", "deleted"))
            found = Write(name, tuple(written["key"]), rows, deleted)
        case "versions":
            rows, ended = (_read(folder / written[part]) for part in ("rows", "ended"))
            found = Versions(name, tuple(written["key"]), rows, ended)
        case "end":
            time = datetime.fromisoformat(written["time"])
            found = End(name, time, written["version"], written["before"])
        case "append":
            found = Append(name, _read(folder / written["rows"]))
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


def _column_of(written: dict[str, Any]) -> NewColumn:
    kind, text = written.get("value", (None, None))
    field = schema_of_text(written["field"]).field(0)
    return NewColumn(field, written["source"], VALUES[kind](text) if kind else None)


def _write(file: Path, rows: pa.Table) -> None:
    import pyarrow as pa

    with file.open("wb") as output:
        with pa.ipc.new_file(output, rows.schema) as writer:
            writer.write_table(rows)
        output.flush()
        os.fsync(output.fileno())


def _read(file: Path) -> pa.Table:
    import pyarrow as pa

    with pa.OSFile(str(file)) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


__all__ = ["read_operation", "write_operations"]
