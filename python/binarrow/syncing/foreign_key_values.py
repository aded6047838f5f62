"""Values of foreign keys that can be compared as the server compares them.

Integers and binary strings are equal on the server if they are equal in Arrow. Texts can be equal
there although they differ: in the letter case, in spaces at the end, in accents. So the effects on
a text are only known if no value differs from another one in such a way.

With the collations listed here, texts of printable ASCII characters that are equal are the same,
except for the letter case and spaces at the end. Other collations have more rules: I and J are the
same letter in `utf8mb4_roman_ci`.

<https://dev.mysql.com/doc/refman/8.4/en/charset-collation-effect.html>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binarrow.syncing.errors import UnknownEffectsError
from binarrow.syncing.reduce import numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from binarrow._native import Column

COLLATIONS = frozenset(
    [
        *("ascii_general_ci", "ascii_bin"),
        *("latin1_swedish_ci", "latin1_general_ci", "latin1_general_cs", "latin1_bin"),
        *(
            f"{charset}_{name}"
            for charset in ("utf8", "utf8mb3", "utf8mb4")
            for name in ("bin", "general_ci", "unicode_ci", "unicode_520_ci")
        ),
        *(f"utf8mb4_0900_{name}" for name in ("ai_ci", "as_ci", "as_cs", "bin")),
        *(
            f"{charset}_uca1400_{name}"
            for charset in ("utf8mb3", "utf8mb4")
            for name in ("ai_ci", "ai_cs", "as_ci", "as_cs")
        ),
    ]
)
"""The collations with which texts are compared here."""

OTHER = "[^ -~]"
"""A character that is not a printable one of ASCII."""


def is_comparable(kind: pa.DataType, column: Column) -> bool:
    """True if values of a column can be compared.

    Args:
        kind: The type in which its values are stored.
        column: The column of the source.
    """
    import pyarrow as pa

    if pa.types.is_string(kind):
        return column.collation in COLLATIONS and column.type.startswith(("char", "varchar"))
    return bool(pa.types.is_integer(kind) or pa.types.is_binary(kind))


def without_texts(values: pa.Table) -> pa.Table:
    """Returns the columns of which equal values are the same."""
    texts = set(_texts(values))
    return values.select([name for name in values.column_names if name not in texts])


def matching_numbers(rows: pa.Table, values: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Returns numbers for rows and for values, which are the same for values that match.

    The columns are those of the values. Rows with NULL have the number NULL.

    Raises:
        UnknownEffectsError: Texts differ that may match.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names, texts = values.column_names, _texts(values)
    if not texts:
        return numbers_of(rows, values)
    rows = rows.select(names)
    for column in (one.column(name) for one in (rows, values) for name in texts):
        if pc.any(pc.match_substring_regex(column, OTHER)).as_py():
            raise UnknownEffectsError
    own, others = numbers_of(_folded(rows, texts), _folded(values, texts))
    found = rows.filter(pc.is_in(own, value_set=others.drop_null()))
    found = pa.concat_tables([found, values])
    if _count(found) != _count(_folded(found, texts)):
        raise UnknownEffectsError
    return own, others


def _texts(values: pa.Table) -> list[str]:
    import pyarrow as pa

    return [one.name for one in values.schema if pa.types.is_string(one.type)]


def _folded(rows: pa.Table, texts: Sequence[str]) -> pa.Table:
    """Returns texts in lower case and without spaces at the end."""
    import pyarrow.compute as pc

    for name in texts:
        folded = pc.ascii_lower(pc.ascii_rtrim(rows.column(name), characters=" "))
        rows = rows.set_column(rows.column_names.index(name), name, folded)
    return rows


def _count(rows: pa.Table) -> int:
    count: int = rows.group_by(rows.column_names).aggregate([]).num_rows
    return count


__all__ = ["COLLATIONS", "is_comparable", "matching_numbers", "without_texts"]
