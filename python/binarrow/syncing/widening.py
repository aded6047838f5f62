"""The changes of a table's columns after which all earlier values fit.

The list contains the changes that are permitted. Any other change is not. The new type of a column
is the same type or one of these; its character set stays, and NULL stays permitted.

| before | after |
|---|---|
| integer | larger integer; UNSIGNED to larger signed |
| DECIMAL | DECIMAL with as many digits on both sides of the point; UNSIGNED to signed |
| FLOAT | DOUBLE, both without digits |
| CHAR, VARCHAR, TEXT | the same type, as long; CHAR to VARCHAR; both to TEXT or larger |
| VARBINARY, BLOB | the same type, as long |
| BINARY, VARBINARY | VARBINARY as long; BLOB or larger |
| ENUM, SET | the same members, and others at the end |
| BIT | BIT with as many bits |
| DATETIME, TIMESTAMP, TIME | the same type with as many digits of a second |

<https://dev.mysql.com/doc/refman/8.4/en/data-types.html>
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from binarrow._native import Column, TableSchema

INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
TEXTS = ("tinytext", "text", "mediumtext", "longtext")
BLOBS = ("tinyblob", "blob", "mediumblob", "longblob")
"""Types of the same kind, the smallest first."""

LONGER = {
    "char": ("char", "varchar"),
    "varchar": ("varchar",),
    "binary": ("varbinary",),
    "varbinary": ("varbinary",),
    "bit": ("bit",),
    "datetime": ("datetime",),
    "timestamp": ("timestamp",),
    "time": ("time",),
}
"""For types with one number, the types that hold all values if their number is not smaller.

BINARY is not in the list of BINARY: values are filled with zeros up to the new length.
"""

LARGE = {"char": TEXTS[1:], "varchar": TEXTS[1:], "binary": BLOBS[1:], "varbinary": BLOBS[1:]}
"""Types without a number that hold all values: a row has at most 65,535 bytes, as TEXT."""

DEFAULTS = {"char": 1, "binary": 1, "bit": 1}
"""The numbers of types that are written without one; 0 for others, as digits of a second."""

TYPE = re.compile(r"(\w+)(?:\(([\d,]+)\))?( unsigned)?( zerofill)?")


def refusal(
    before: TableSchema,
    after: TableSchema,
    renamed: Mapping[str, str] | None = None,
    *,
    changes_rows: bool = False,
) -> str | None:
    """Returns why a change of columns is not permitted; None if it only adds and widens columns.

    Args:
        before: The structure before the statement.
        after: The structure after it.
        renamed: The new and the old names of columns that the statement renames, in lower case.
        changes_rows: True if the statement changes existing values, for example because it drops
            a column and adds another one of the name.
    """
    old = {column.name: column for column in before.columns}
    new = {column.name: column for column in after.columns}
    for to, name in (renamed or {}).items():
        if to != name:
            return f"the column {name} is renamed to {to}"
    for name, column in old.items():
        if name not in new:
            return f"the column {name} is dropped or renamed"
        why = narrowed(column, new[name])
        if why is not None:
            return why
    for name, column in new.items():
        is_filled = column.nullable or column.default is not None or column.generated is not None
        if name not in old and not is_filled:
            return f"the new column {name} is NOT NULL and has no DEFAULT"
    is_same = [*map(_values, old.values())] == [_values(new[name]) for name in old]
    if changes_rows and not (is_same and len(old) == len(new)):
        return "the statement changes existing values"
    return None


def _values(column: Column) -> tuple[object, ...]:
    """Returns what determines the values that a column can have."""
    return column.type, column.charset, column.nullable, column.generated


def narrowed(before: Column, after: Column) -> str | None:
    """Returns why a column may not hold all its values any more, or gets others."""
    name = before.name
    if before.generated != after.generated:
        return f"the column {name} is computed by other rules"
    if before.nullable and not after.nullable:
        return f"the column {name} becomes NOT NULL"
    if not holds_all(before, after):
        return f"the column {name} gets the type {_brief(after)}, not {_brief(before)}"
    if before.charset != after.charset:
        return f"the column {name} gets the character set {after.charset or 'binary'}"
    return None


def holds_all(before: Column, after: Column) -> bool:
    """True if a type holds all values of another one, which stay as they are."""
    if before.members or after.members:
        one, other = before.members or (), after.members or ()
        return _word(before) == _word(after) and other[: len(one)] == one
    if before.type.lower() == after.type.lower():
        return True
    old, new = _parsed(before), _parsed(after)
    if old is None or new is None:
        return False
    return any(old.word in words and holds(old, new) for words, holds in RULES)


@dataclass(frozen=True)
class _Type:
    """A type as SHOW CREATE TABLE writes it."""

    word: str
    numbers: tuple[int, ...]
    is_unsigned: bool

    @property
    def length(self) -> int:
        """The number of characters, bytes, bits or digits."""
        return self.numbers[0] if self.numbers else DEFAULTS.get(self.word, 0)

    @property
    def decimal(self) -> tuple[int, int]:
        """The digits of a DECIMAL, and those after the point."""
        digits, scale, *_ = (*self.numbers, 0) if self.numbers else (10, 0)
        return digits, scale


def _holds_integer(old: _Type, new: _Type) -> bool:
    if new.word not in INTEGERS:
        return False
    size, to = INTEGERS.index(old.word), INTEGERS.index(new.word)
    if old.is_unsigned == new.is_unsigned:
        return size <= to
    return old.is_unsigned and size < to


def _holds_decimal(old: _Type, new: _Type) -> bool:
    (digits, scale), (to_digits, to_scale) = old.decimal, new.decimal
    has_digits = scale <= to_scale and digits - scale <= to_digits - to_scale
    return new.word == old.word and has_digits and (old.is_unsigned or not new.is_unsigned)


def _holds_float(old: _Type, new: _Type) -> bool:
    has_sign = old.is_unsigned or not new.is_unsigned
    return new.word in {old.word, "double"} and not old.numbers and not new.numbers and has_sign


def _holds_text(old: _Type, new: _Type) -> bool:
    words = TEXTS if old.word in TEXTS else BLOBS
    return new.word in words[words.index(old.word) :]


def _holds_length(old: _Type, new: _Type) -> bool:
    if new.word in LONGER[old.word]:
        return old.length <= new.length
    return new.word in LARGE.get(old.word, ())


RULES: tuple[tuple[Collection[str], Callable[[_Type, _Type], bool]], ...] = (
    (INTEGERS, _holds_integer),
    (("decimal",), _holds_decimal),
    (("float", "double"), _holds_float),
    ((*TEXTS, *BLOBS), _holds_text),
    (LONGER, _holds_length),
)
"""For types, the function that compares them with another one."""


def _parsed(column: Column) -> _Type | None:
    found = TYPE.fullmatch(column.type.lower())
    if found is None:
        return None
    numbers = tuple(int(one) for one in (found[2] or "").split(",") if one)
    return _Type(found[1], numbers, found[3] is not None)


def _word(column: Column) -> str:
    return column.type.lower().partition("(")[0]


def _brief(column: Column) -> str:
    """Returns a type without the members of ENUM and SET."""
    return f"{_word(column)}(...)".upper() if column.members else column.type.upper()


__all__ = ["holds_all", "narrowed", "refusal"]
