"""Appends changes to a table once, although a batch may be written twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binarrow.spark.mirror.changes import Changes
from binarrow.spark.mirror.columns import compare
from binarrow.spark.syncing.numbered import numbered
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

    from binarrow.spark.mirror.columns import Difference
    from binarrow.spark.mirror.table import TableMirror


def append(mirror: TableMirror, rows: DataFrame, query: str, batch_id: int) -> None:
    """Appends the rows of a batch, and adds columns that the table lacks."""
    ordered = _ordered(mirror, rows)
    with numbered(mirror, query, batch_id) as is_new:
        if is_new:
            ordered.writeTo(mirror.name).append()


def append_rows(mirror: TableMirror, rows: DataFrame) -> None:
    """Appends rows that are in no batch, and adds columns that the table lacks."""
    _ordered(mirror, rows).writeTo(mirror.name).append()


def _ordered(mirror: TableMirror, rows: DataFrame) -> DataFrame:
    """Adds columns that a table lacks, and returns rows with the columns of the table."""
    fields = tuple(rows.schema.fields)
    difference = evolve(mirror, fields)
    return rows.selectExpr(
        *(
            f"CAST({_value(fields, difference.places.get(field.name))}"
            f" AS {field.dataType.simpleString()}) AS {quoted_name(field.name)}"
            for field in difference.evolved.fields
        )
    )


def evolve(mirror: TableMirror, fields: tuple[StructField, ...]) -> Difference:
    """Adds the columns that changes have and a table lacks, and widens types."""
    held = mirror.spark.table(mirror.name)
    case = mirror.spark.conf.get("spark.sql.caseSensitive")
    changes = Changes(held, fields, (), "_", has_present=False, is_case_sensitive=case == "true")
    difference = compare(mirror.name, held.schema, changes, "null")
    mirror.evolve(difference)
    return difference


def _value(fields: Sequence[StructField], place: int | None) -> str:
    return "NULL" if place is None else quoted_name(fields[place].name)


__all__ = ["append", "append_rows", "evolve"]
