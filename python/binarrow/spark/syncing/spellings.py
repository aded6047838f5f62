"""Rows that were logged before a statement changed the letter case of a column's name.

Column names are case-insensitive in MySQL and, by default, in Spark. Names in documents of rows are
case-sensitive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import StructField, StructType

from binarrow import SchemaError
from binarrow.spark.nested_json import table_of
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CASE = "spark.sql.caseSensitive"


def other_spellings(own: Iterable[str], logged: Iterable[str]) -> dict[str, str]:
    """Returns the names that rows have for columns, by these names in other letter case.

    Args:
        own: The names of a table's columns.
        logged: The names of the columns of rows.
    """
    names = {name.lower(): name for name in own}
    others = {name: names[name.lower()] for name in sorted(logged) if name.lower() in names}
    return {name: of for name, of in others.items() if name != of}


def rows_of(
    frame: DataFrame, table: str, schema: StructType, spellings: Mapping[str, str]
) -> DataFrame:
    """Returns the rows of a table as :func:`table_of`, whose columns may have other spellings.

    Args:
        frame: Changes of several tables.
        table: ``database.table``.
        schema: The schema of the result.
        spellings: The result of :func:`other_spellings`.

    Raises:
        SchemaError: There are other spellings, and the session is one of Spark Connect.
    """
    if not spellings:
        return table_of(frame, table, schema)
    if "connect" in type(frame).__module__:
        raise SchemaError(
            f"{table}: the letter case of the column {next(iter(spellings))} has changed, which"
            " cannot be read with Spark Connect: run the query in a classic session until the log"
            " after the statement is reached"
        )
    found = [StructField(name, schema[of].dataType) for name, of in spellings.items()]
    conf = frame.sparkSession.conf
    before = str(conf.get(_CASE))
    conf.set(_CASE, "true")
    try:  # Spark resolves names when a frame is created.
        rows = table_of(frame, table, StructType([*schema.fields, *found]))
        return rows.select(*(_column(rows, field, spellings) for field in schema.fields))
    finally:
        conf.set(_CASE, before)


def _column(rows: DataFrame, field: StructField, spellings: Mapping[str, str]) -> Column:
    from pyspark.sql.functions import coalesce, col

    names = [field.name, *(name for name, of in spellings.items() if of == field.name)]
    columns = [col(quoted_name(name)) for name in names]
    metadata = rows.schema[field.name].metadata
    return coalesce(*columns).alias(field.name, metadata=metadata)


__all__ = ["other_spellings", "rows_of"]
