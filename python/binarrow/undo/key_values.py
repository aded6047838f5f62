"""Values of keys: which are certainly equal on the server, and which may be.

Text is equal by its collation. So text is compared only if it consists of letters and digits that
no collation of MySQL or MariaDB takes for others, except for their case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Values: TypeAlias = tuple[Any, ...]
"""The values of the columns of a key."""

EXACT = frozenset(
    (
        *("tinyint", "smallint", "mediumint", "int", "bigint", "decimal"),
        *("date", "datetime", "timestamp", "binary", "varbinary", "uuid", "inet4", "inet6"),
    )
)
"""Types whose values are equal if they are the same, and only then."""

TEXT = frozenset(("char", "varchar"))

PLAIN = re.compile(rb"[0-9A-Ga-gK-Tk-tW-XZw-xz_.-]+")
"""Text that is equal only to itself, in any case. Some collations take I for J or Y, U for V."""


def are_comparable(own: Sequence[pa.Field], others: Sequence[pa.Field]) -> bool:
    """True if values of columns are compared as `folded` does."""
    pairs = [(_type(one), _type(other)) for one, other in zip(own, others, strict=True)]
    return bool(pairs) and all(
        (_word(one) in EXACT and one == other) or (_word(one) in TEXT and _word(other) in TEXT)
        for one, other in pairs
    )


def are_text(fields: Sequence[pa.Field]) -> tuple[bool, ...]:
    """Returns for each column whether it contains text."""
    return tuple(_word(_type(field)) in TEXT for field in fields)


def folded(values: Values, text: Sequence[bool]) -> Values | None:
    """Returns the same for all values that may be equal to these; None if it is not known.

    Args:
        values: The values, of which none is None.
        text: `are_text` of the columns.
    """
    found: list[Any] = []
    for value, is_text in zip(values, text, strict=True):
        if is_text and not PLAIN.fullmatch(value):
            return None
        found.append(value.lower() if is_text else value)
    return tuple(found)


def _type(field: pa.Field) -> str:
    found: bytes = (field.metadata or {}).get(b"mysql.type", b"")
    return found.decode()


def _word(mysql_type: str) -> str:
    return mysql_type.partition("(")[0].partition(" ")[0]


__all__ = ["Values", "are_comparable", "are_text", "folded"]
