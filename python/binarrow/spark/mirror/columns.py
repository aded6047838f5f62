"""A target's columns beside those of the changes: what is added or widened, what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.sql import types as t

from binarrow import SchemaError
from binarrow.spark.mirror.changes import Changes, find
from binarrow.spark.schema import HAS_DEFAULT, NULLABLE

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType


@dataclass(frozen=True)
class Difference:
    """What a target must become before the changes fit."""

    added: tuple[StructField, ...]
    filled: tuple[str, ...]
    """Those added that the source may have filled in its own rows: NOT NULL, or with a DEFAULT."""
    widened: tuple[StructField, ...]
    """Under the names that the target has."""
    evolved: StructType
    """The target's columns afterwards."""
    places: dict[str, int]
    """For each of them that the changes have, its place there."""


def compare(
    target: str, found: StructType, changes: Changes, missing: Literal["error", "null"]
) -> Difference:
    """Compares by name, as Spark is set to.

    Raises:
        SchemaError: The target has columns that the changes lack, or of types that do not fit.
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
                f" {field.dataType.simpleString()} in the changes: alter the target's column so"
                " that it holds both, or make the mirror anew under another name"
            )
        widened.append(_plain(held.name, field.dataType))
    lacking = [name for name in found.names if name not in places]
    if lacking and missing == "error":
        raise SchemaError(
            f"{target} has columns that the changes lack: {', '.join(lacking)}. If the source has"
            " dropped them, drop them in the target too, or keep what they hold with"
            f" missing_columns='null': new rows are NULL there{_or_renamed(added)}"
        )
    wider = {field.name: field for field in widened}
    evolved = [*(wider.get(field.name, field) for field in found.fields), *added]
    new = t.StructType(evolved)
    return Difference(tuple(added), tuple(filled), tuple(widened), new, places)


def _or_renamed(added: Sequence[StructField]) -> str:
    names = ", ".join(field.name for field in added)
    return (
        f". If one has got a new name ({names}), rename it in the target instead" if added else ""
    )


def check_added(target: str, difference: Difference) -> None:
    """Whether a target with rows can get the columns that it lacks.

    Raises:
        SchemaError: The source has filled some of them in rows that do not change.
    """
    if not difference.filled:
        return
    by_name = {field.name: field for field in difference.added}
    columns = ", ".join(
        f"{name} {by_name[name].dataType.simpleString()}" for name in difference.filled
    )
    raise SchemaError(
        f"{target} lacks columns that the source has filled in its rows, or may have, for they are"
        f" NOT NULL, or nothing says that they have no DEFAULT: {columns}. Its log does not tell"
        " the values. Fill them in yourself:"
        f" ALTER TABLE {target} ADD COLUMNS ({columns}), then UPDATE it with the source's values"
        " (DEFAULT), and start again with the same checkpoint; or make the mirror anew, the one way"
        " where it is Parquet; or let them be NULL with backfilled_columns='null'"
    )


def may_be_filled(field: StructField) -> bool:
    """Whether a row that is inserted may get a value there that no image tells."""
    told = field.metadata or {}
    return told.get(NULLABLE) == "false" or told.get(HAS_DEFAULT) != "false"


def mirror_schema(changes: Changes) -> StructType:
    """The schema of a target that is made: the table's own columns."""
    return t.StructType([_plain(field.name, field.dataType) for field in changes.fields])


def fits(narrow: DataType, wide: DataType) -> bool:
    """Whether every value of the one type has an equal one in the other."""
    if narrow.simpleString() == wide.simpleString():
        return True
    if isinstance(narrow, tuple(_DIGITS)) and isinstance(wide, t.DecimalType):
        return wide.precision - wide.scale >= _DIGITS[type(narrow)]
    if isinstance(narrow, t.DecimalType) and isinstance(wide, t.DecimalType):
        whole = narrow.precision - narrow.scale
        return wide.scale >= narrow.scale and wide.precision - wide.scale >= whole
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
