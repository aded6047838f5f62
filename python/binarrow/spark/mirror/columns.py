"""Compares a target's columns with those of the changes: added, widened, incompatible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.sql import types as t

from binarrow import SchemaError
from binarrow.spark.messages import spark_message
from binarrow.spark.mirror.changes import Changes, find
from binarrow.spark.schema import HAS_DEFAULT, NULLABLE

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType


@dataclass(frozen=True)
class Difference:
    """The changes of a target's schema that a batch of changes needs."""

    added: tuple[StructField, ...]
    filled: tuple[str, ...]
    """Added columns that the source may have back-filled: NOT NULL, or with a DEFAULT."""
    widened: tuple[StructField, ...]
    """By their names in the target."""
    evolved: StructType
    """The target's columns afterwards."""
    places: dict[str, int]
    """The index of each target column in the changes, if it is there."""


def compare(
    target: str, found: StructType, changes: Changes, missing: Literal["error", "null"]
) -> Difference:
    """Compares columns by name, with case sensitivity as set in Spark.

    Raises:
        SchemaError: The target has columns that the changes lack, or columns of other types.
    """
    added: list[StructField] = []
    filled: list[str] = []
    widened: list[StructField] = []
    places: dict[str, int] = {}
    for place, field in enumerate(changes.fields):
        held = find(found, field.name, is_case_sensitive=changes.is_case_sensitive)
        places[field.name if held is None else held.name] = place
        if held is None:
            added.append(_plain(field.name, field.dataType))
            if may_be_filled(field):
                filled.append(field.name)
            continue
        if fits(field.dataType, held.dataType):
            continue
        if not fits(held.dataType, field.dataType):
            raise SchemaError(
                f"column {held.name} of {target} is {held.dataType.simpleString()} and"
                f" {field.dataType.simpleString()} in the changes: alter the target's column to a"
                " type for both, or create the mirror again under another name"
            )
        widened.append(_plain(held.name, field.dataType))
    lacking = [name for name in found.names if name not in places]
    if lacking and missing == "error":
        raise SchemaError(
            spark_message(
                f"{target} has columns that the changes lack: {', '.join(lacking)}. If the source"
                " has dropped them, drop them in the target too, or keep their values with"
                f" ⟦missing_columns=null⟧ (NULL in new rows){_or_renamed(added)}"
            )
        )
    wider = {field.name: field for field in widened}
    evolved = [*(wider.get(field.name, field) for field in found.fields), *added]
    new = t.StructType(evolved)
    return Difference(tuple(added), tuple(filled), tuple(widened), new, places)


def _or_renamed(added: Sequence[StructField]) -> str:
    names = ", ".join(field.name for field in added)
    return f". If one was renamed ({names}), rename it in the target instead" if added else ""


def check_added(target: str, difference: Difference) -> None:
    """Checks that the missing columns can be added to a target with rows.

    Raises:
        SchemaError: The source may have back-filled one of them in existing rows.
    """
    if not difference.filled:
        return
    by_name = {field.name: field for field in difference.added}
    columns = ", ".join(
        f"{name} {by_name[name].dataType.simpleString()}" for name in difference.filled
    )
    raise SchemaError(
        spark_message(
            f"{target} lacks columns that the source may have back-filled in existing rows, because"
            f" they are NOT NULL, or are not known to have no DEFAULT: {columns}. The log does not"
            " contain these values. Fill them in yourself:"
            f" ALTER TABLE {target} ADD COLUMNS ({columns}), then UPDATE it with the source's"
            " values (DEFAULT), and restart with the same checkpoint; or create the mirror again"
            " (the only way for Parquet); or store NULL with ⟦backfilled_columns=null⟧"
        )
    )


def may_be_filled(field: StructField) -> bool:
    """True if the server may store a value for the column that no row image contains."""
    metadata = field.metadata or {}
    return metadata.get(NULLABLE) == "false" or metadata.get(HAS_DEFAULT) != "false"


def mirror_schema(changes: Changes) -> StructType:
    """The schema of a new target: the table's own columns."""
    return t.StructType([_plain(field.name, field.dataType) for field in changes.fields])


def fits(narrow: DataType, wide: DataType) -> bool:
    """True if every value of the first type has an equal value in the second."""
    if narrow.simpleString() == wide.simpleString():
        return True
    if isinstance(narrow, tuple(_DIGITS)) and isinstance(wide, t.DecimalType):
        return wide.precision - wide.scale >= _DIGITS[type(narrow)]
    if isinstance(narrow, t.DecimalType) and isinstance(wide, t.DecimalType):
        integer_digits = narrow.precision - narrow.scale
        return wide.scale >= narrow.scale and wide.precision - wide.scale >= integer_digits
    return type(wide) in _WIDER.get(type(narrow), ())


def _plain(name: str, data_type: DataType) -> StructField:
    return t.StructField(name, data_type, nullable=True)


_DIGITS: dict[type[DataType], int] = {
    t.ByteType: 3,
    t.ShortType: 5,
    t.IntegerType: 10,
    t.LongType: 19,
}

_WIDER: dict[type[DataType], tuple[type[DataType], ...]] = {
    t.ByteType: (t.ShortType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType),
    t.ShortType: (t.IntegerType, t.LongType, t.FloatType, t.DoubleType),
    t.IntegerType: (t.LongType, t.DoubleType),
    t.FloatType: (t.DoubleType,),
    t.DateType: (t.TimestampNTZType,),
}
