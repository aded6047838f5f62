"""The columns of Iceberg tables, and changes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids, schema_to_pyarrow

from binarrow.syncing.versions import added_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction

    from binarrow.syncing.operations import Alter, NewColumn


def columns_of(schema: Schema) -> pa.Schema:
    """Returns the columns of a table as Arrow types, as `storable` does."""
    import pyarrow as pa

    same = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    fields = []
    for field in schema_to_pyarrow(schema, include_field_ids=False):
        kind = same.get(field.type, field.type)
        if pa.types.is_large_list(kind):
            kind = pa.list_(kind.value_field)
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def replaced(table: Table, schema: pa.Schema) -> Callable[[Transaction], None]:
    """Returns a change that removes all columns, and adds others."""
    names = [field.name for field in table.schema().fields]
    return lambda transaction: _change_columns(transaction, names, {}, schema)


def renamed(
    before: pa.Schema, columns: tuple[NewColumn, ...]
) -> Callable[[Transaction], None] | None:
    """Returns a change of columns that leaves all files as they are; None if there is none."""
    import pyarrow as pa

    kept = {column.source: column.field for column in columns if column.source is not None}
    removed = [name for name in before.names if name not in kept]
    names = {name: field.name for name, field in kept.items() if name != field.name}
    added = pa.schema([column.field for column in columns if column.source is None])
    taken = {name.lower() for name in kept}
    is_simple = (
        all(before.field(name).type == field.type for name, field in kept.items())
        and not any(name.lower() in taken for name in (*names.values(), *added.names))
        and all(column.value is None for column in columns)
    )
    if not is_simple:
        return None
    return lambda transaction: _change_columns(transaction, removed, names, added)


def _change_columns(
    transaction: Transaction, removed: list[str], names: Mapping[str, str], added: pa.Schema
) -> None:
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for name in removed:
            update.delete_column((name,))
    with transaction.update_schema() as update:
        for old, new in names.items():
            update.rename_column((old,), new)
    with transaction.update_schema() as update:
        for field in _pyarrow_to_schema_without_ids(added).fields:
            update.add_column((field.name,), field.field_type)


def altered(rows: pa.Table, change: Alter, schema: pa.Schema) -> pa.Table:
    """Returns the rows of a file with other columns."""
    import pyarrow as pa

    found: list[Any] = [
        added_values(change, column, rows)
        if column.source is None
        else rows.column(column.source).cast(column.field.type)
        for column in change.columns
    ]
    return pa.table(found, schema=schema)


__all__ = ["altered", "columns_of", "renamed", "replaced"]
