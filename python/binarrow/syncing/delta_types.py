"""The types in which Delta tables store values. None is changed; other types are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from binarrow.syncing.errors import SyncError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.operations import Alter, Append, Create, Operation, Write

if TYPE_CHECKING:
    import pyarrow as pa

NOT_IN_NAMES = " ,;{}()\n\t=`"
"""Characters that a column cannot have in its name; the last one is a limit of the library."""


def storable(operation: Operation) -> Operation:
    """Returns an operation with the columns and values that a Delta table stores.

    Raises:
        SyncError: A Delta table cannot have a column.
    """
    name = operation.name
    match operation:
        case Write():
            rows, deleted = _converted(name, operation.rows), _converted(name, operation.deleted)
            return replace(operation, rows=rows, deleted=deleted)
        case Append():
            return replace(operation, rows=_converted(name, operation.rows))
        case Create():
            return replace(operation, schema=stored_schema(name, operation.schema))
        case Alter(_, columns):
            schema = stored_schema(name, _schema_of(columns))
            fields = zip(columns, schema, strict=True)
            return Alter(name, tuple(replace(one, field=field) for one, field in fields))
    return operation


def stored_schema(name: Name, schema: pa.Schema) -> pa.Schema:
    """Returns the columns of a Delta table.

    Raises:
        SyncError: A Delta table cannot have a column.
    """
    import pyarrow as pa

    fields = []
    for field in schema:
        if any(letter in field.name for letter in NOT_IN_NAMES):
            raise SyncError(
                f"{shown(name)} has a column {field.name!r}, which has a character that Delta does"
                " not permit in a name: rename it, or leave the table out with exclude_tables"
            )
        kind = stored_type(field.type)
        if kind is None:
            raise SyncError(
                f"{shown(name)}: the column {field.name} has the type {field.type}, which Delta"
                " cannot store: leave the table out with exclude_tables"
            )
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def stored_type(kind: pa.DataType) -> pa.DataType | None:
    """Returns the type that holds all values of a type; None if Delta has none."""
    import pyarrow as pa

    types = pa.types
    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.duration("us"): pa.int64(),
    }
    if kind in wider:
        return wider[kind]
    if isinstance(kind, pa.BaseExtensionType):
        return stored_type(kind.storage_type)
    if types.is_list(kind):
        value = stored_type(kind.value_type)
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


def _converted(name: Name, rows: pa.Table) -> pa.Table:
    return rows.cast(stored_schema(name, rows.schema))


def _schema_of(columns: tuple[object, ...]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([column.field for column in columns])  # type: ignore[attr-defined]


__all__ = ["storable", "stored_schema", "stored_type"]
