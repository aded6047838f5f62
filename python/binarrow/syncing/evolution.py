"""The columns of a target after an ALTER TABLE of the source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from binarrow.syncing.operations import NewColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa

    from binarrow._native import Column, TableSchema

NUMBER = re.compile(r"'?([+-]?\d+(\.\d+)?)'?")
TEXT = re.compile(r"'((?:[^'\\]|'')*)'")


@dataclass(frozen=True)
class Columns:
    """The columns after a statement."""

    all: tuple[NewColumn, ...]
    unknown: tuple[str, ...]
    """Those whose values in existing rows are not known. They are NULL until the rows are read."""


def evolved(
    before: pa.Schema,
    after: pa.Schema,
    table: TableSchema,
    renamed: Mapping[str, str],
    unknown: Collection[str] = (),
) -> Columns | None:
    """Returns the columns after a statement; None if the target cannot keep the rows.

    Args:
        before: The columns of the target.
        after: The columns that it gets.
        table: The structure after the statement.
        renamed: The new and the old names of columns, in lower case.
        unknown: Columns of the target whose values are not known in all rows.
    """
    old = {field.name.lower(): field for field in before}
    described = {column.name: column for column in table.columns}
    taken = set(renamed.values())
    columns, still_unknown = [], []
    for field in after:
        name = field.name.lower()
        source = renamed.get(name, name)
        known = old.get(source) if name in renamed or source not in taken else None
        if known is None:
            is_certain, value = filled(described[field.name], field)
            if not is_certain:
                still_unknown.append(field.name)
            columns.append(NewColumn(field, None, value))
        elif known.type != field.type and not keeps_values(known.type, field.type):
            return None
        else:
            columns.append(NewColumn(field, known.name))
            if known.name in unknown:
                still_unknown.append(field.name)
    if {*still_unknown} & {*table.row_key}:
        return None  # rows cannot be found by a key whose values are not known
    return Columns(tuple(columns), tuple(still_unknown))


def retained(before: pa.Schema, columns: tuple[NewColumn, ...]) -> tuple[NewColumn, ...] | None:
    """Returns columns, and those of a table with versions of rows that the source does not have.

    None if one of these has the name of another column.
    """
    used = {column.source for column in columns}
    names = {column.field.name.lower() for column in columns}
    rest = [NewColumn(field, field.name) for field in before if field.name not in used]
    if any(column.field.name.lower() in names for column in rest):
        return None
    return (*columns, *rest)


def extended(before: pa.Schema, after: pa.Schema) -> tuple[NewColumn, ...] | None:
    """Returns the columns of both schemas; None if the types of a column do not fit."""
    import pyarrow as pa

    new = {field.name.lower(): field for field in after}
    columns = []
    for field in before:
        found = new.pop(field.name.lower(), field)
        if found.type == field.type or keeps_values(field.type, found.type):
            columns.append(NewColumn(pa.field(field.name, found.type), field.name))
        else:
            return None
    columns += [NewColumn(field, None) for field in new.values()]
    return tuple(columns)


def keeps_values(before: pa.DataType, after: pa.DataType) -> bool:
    """True if a target converts all values as the server does."""
    import pyarrow as pa

    types = pa.types
    if types.is_integer(before) and types.is_integer(after):
        return True  # the values stay, so all of them fit
    if types.is_decimal(before) and types.is_decimal(after):
        digits = before.precision - before.scale <= after.precision - after.scale
        return digits and bool(before.scale <= after.scale)
    return bool(types.is_float32(before) and types.is_float64(after))


def filled(column: Column, field: pa.Field) -> tuple[bool, Any]:
    """Returns the value of an added column in existing rows, and whether it is certain."""
    if column.generated is not None or column.auto_increment:
        return False, None
    if column.default is None:
        return (True, None) if column.nullable else implicit(column, field)
    value = constant(column, column.default, field)
    return value is not None, value


def constant(column: Column, default: str, field: pa.Field) -> int | Decimal | str | None:
    """Returns the value of a DEFAULT; None if it is not certain."""
    import pyarrow as pa

    kind = column.type.lower()
    number, text = NUMBER.fullmatch(default), TEXT.fullmatch(default)
    if kind.startswith("year"):  # the server reads '70' as 1970
        return None
    if number is not None and pa.types.is_integer(field.type) and number[2] is None:
        return int(number[1])
    if number is not None and pa.types.is_decimal(field.type):
        return Decimal(number[1]) if len(number[2] or ".") - 1 <= field.type.scale else None
    # Trailing spaces of CHAR are removed, and ENUM has the letter case of its member.
    is_text = pa.types.is_string(field.type) and kind.startswith(("varchar", "char", "enum"))
    if text is None or not is_text or not text[1].isascii() or text[1] != text[1].rstrip():
        return None
    value = text[1].replace("''", "'")
    return value if not column.members or value in column.members else None


def implicit(column: Column, field: pa.Field) -> tuple[bool, Any]:
    """Returns the value of a column that is NOT NULL and has no DEFAULT, if it is certain."""
    import pyarrow as pa

    if pa.types.is_integer(field.type) and not column.type.lower().startswith("year"):
        return True, 0
    if pa.types.is_string(field.type) and column.type.lower().startswith(("varchar", "char")):
        return True, ""
    return False, None


__all__ = ["Columns", "evolved", "extended", "filled", "keeps_values", "retained"]
