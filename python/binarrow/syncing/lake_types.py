"""The types in which tables of a lake store values. None is changed; other types are refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.operations import Alter, Append, Create, Operation, Versions, Write

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Format:
    """The limits of the tables of a format."""

    title: str
    not_in_names: str
    """Characters that a column cannot have in its name."""
    smallest_bits: int
    """The bits of the smallest integer."""


def storable(kind: Format, operation: Operation) -> Operation:
    """Returns an operation with the columns and values that a table stores.

    Raises:
        TableError: The table cannot have a column.
    """
    name = operation.name
    match operation:
        case Write():
            rows, deleted = (
                _converted(kind, name, operation.rows),
                _converted(kind, name, operation.deleted),
            )
            return replace(operation, rows=rows, deleted=deleted)
        case Versions():
            rows, ended = (
                _converted(kind, name, operation.rows),
                _converted(kind, name, operation.ended),
            )
            return replace(operation, rows=rows, ended=ended)
        case Append():
            return replace(operation, rows=_converted(kind, name, operation.rows))
        case Create():
            return replace(operation, schema=stored_schema(kind, name, operation.schema))
        case Alter(_, columns):
            schema = stored_schema(kind, name, _schema_of(columns))
            fields = zip(columns, schema, strict=True)
            columns = tuple(replace(one, field=field) for one, field in fields)
            return replace(operation, columns=columns)
    return operation


def stored_schema(kind: Format, name: Name, schema: pa.Schema) -> pa.Schema:
    """Returns the columns of a table.

    Raises:
        TableError: The table cannot have a column.
    """
    import pyarrow as pa

    fields = []
    for field in schema:
        if any(letter in field.name for letter in kind.not_in_names):
            raise TableError(
                name,
                f"{shown(name)} has a column {field.name!r}, which has a character that"
                f" {kind.title} does not permit in a name: rename it, or leave the table out with"
                " exclude_tables",
            )
        stored = stored_type(field.type, kind.smallest_bits)
        if stored is None:
            raise TableError(
                name,
                f"{shown(name)}: the column {field.name} has the type {field.type}, which"
                f" {kind.title} cannot store: leave the table out with exclude_tables",
            )
        fields.append(pa.field(field.name, stored))
    return pa.schema(fields)


def stored_type(kind: pa.DataType, smallest_bits: int) -> pa.DataType | None:
    """Returns the type that holds all values of a type; None if there is none."""
    import pyarrow as pa

    types = pa.types
    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.duration("us"): pa.int64(),
    }
    kind = wider.get(kind, kind)
    if types.is_signed_integer(kind) and kind.bit_width < smallest_bits:
        return pa.int32()
    if isinstance(kind, pa.BaseExtensionType):
        return stored_type(kind.storage_type, smallest_bits)
    if types.is_list(kind):
        value = stored_type(kind.value_type, smallest_bits)
        return None if value is None else pa.list_(pa.field("element", value))
    if types.is_timestamp(kind):
        return kind if kind.unit == "us" and kind.tz in {None, "UTC"} else None
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    same = (
        types.is_signed_integer(kind)
        or types.is_boolean(kind)
        or types.is_float32(kind)
        or types.is_float64(kind)
        or types.is_decimal128(kind)
        or types.is_date32(kind)
        or types.is_string(kind)
        or types.is_binary(kind)
    )
    return kind if same else None


def _converted(kind: Format, name: Name, rows: pa.Table) -> pa.Table:
    import pyarrow as pa

    schema = stored_schema(kind, name, rows.schema)
    try:
        return rows.cast(schema)
    except pa.ArrowInvalid:
        raise TableError(
            name, f"{shown(name)}: {kind.title} cannot store a value: leave the table out"
        ) from None


def _schema_of(columns: tuple[object, ...]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([column.field for column in columns])  # type: ignore[attr-defined]


__all__ = ["Format", "storable", "stored_schema", "stored_type"]
