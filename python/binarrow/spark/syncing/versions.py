"""Writes the versions of rows that a batch begins and ends, in one commit.

Each change ends the version of its key that was current before it, and each but a delete begins
one. A statement that empties the table ends all current versions.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import types as t

from binarrow import SchemaError
from binarrow.spark.mirror.changes import OLD, TRUNCATE, Changes
from binarrow.spark.mirror.columns import compare
from binarrow.spark.mirror.expressions import is_one_of, row_of, struct_of
from binarrow.spark.mirror.summary import summarize
from binarrow.spark.mirror.table import named_view
from binarrow.spark.syncing.numbered import numbered
from binarrow.sql import quoted_name
from binarrow.syncing.rows import FROM_VERSION, TO_VERSION, VALID_FROM, VALID_TO, VALIDITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from binarrow.spark.mirror.columns import Difference
    from binarrow.spark.mirror.table import TableMirror

VALIDITY_FIELDS = (
    t.StructField(VALID_FROM, t.TimestampType()),
    t.StructField(VALID_TO, t.TimestampType()),
    t.StructField(FROM_VERSION, t.LongType()),
    t.StructField(TO_VERSION, t.LongType()),
)
"""The columns that a table with versions of rows has besides its own."""

IS_CURRENT = f"t.{TO_VERSION} IS NULL"
"""A condition: the version of a row in the target `t` has not ended."""

_MOMENT = "struct<version: bigint, ordinal: bigint, time: timestamp>"


def write_versions(
    mirror: TableMirror, rows: DataFrame, key: Sequence[str], query: str, batch_id: int
) -> None:
    """Writes the versions of a batch, and adds columns that the table lacks.

    Args:
        mirror: The table in the target.
        rows: The changes of the batch, with the envelope.
        key: The columns that identify a row.
        query: The id of the query.
        batch_id: The number of the batch.

    Raises:
        SchemaError: The changes do not match the table.
    """
    changes = Changes.of(rows, key, "_")
    found = summarize(changes, "null")
    difference = compare(mirror.name, _own(mirror), changes, "null")
    mirror.evolve(difference)
    if not found.rows:
        return
    if found.has_null_keys:
        raise SchemaError(
            f"{mirror.name}: a column of the key is NULL in a change, because zero dates become"
            " NULL in the target: leave the table out with exclude_tables, or use mode='history'"
        )
    emptied = _moments_of_truncates(changes) if found.truncated_at is not None else []
    source = _ends_and_versions(changes, emptied)
    with numbered(mirror, query, batch_id) as is_new, named_view(source) as view:
        if is_new:
            first = emptied[0] if emptied else None
            mirror.spark.sql(_merge_sql(mirror.name, changes, difference, view, first))


def replace_versions(
    mirror: TableMirror, rows: DataFrame, key: Sequence[str], version: int, time: datetime
) -> None:
    """Ends all current versions, and begins a version of each row, in one commit.

    Args:
        mirror: The table in the target.
        rows: All rows of the table, with the envelope.
        key: The columns that identify a row.
        version: The version with which versions end and begin.
        time: The time of it.

    Raises:
        SchemaError: The columns do not match the table.
    """
    changes = Changes.of(rows, key, "_")
    difference = compare(mirror.name, _own(mirror), changes, "null")
    mirror.evolve(difference)
    micros = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    at = f"timestamp_micros({micros}L)"
    source = changes.frame.selectExpr(
        f"{struct_of(changes, changes.keys)} AS key",
        f"{row_of(changes)} AS row",
        f"{changes.envelope('commit_version')} IS NULL AS is_end",  # of no row
    )
    columns = {quoted_name(held): place for held, place in difference.places.items()}
    by_place = {place: held for held, place in columns.items()}
    on = " AND ".join(f"t.{by_place[p]} = s.key._{i}" for i, p in enumerate(changes.keys))
    values = {**{held: f"s.row._{place}" for held, place in columns.items()}}
    values |= {VALID_FROM: at, FROM_VERSION: f"{version}L"}
    with named_view(source) as view:
        mirror.spark.sql(
            f"MERGE INTO {mirror.name} t USING {view} s ON {on} AND s.is_end"
            f" WHEN NOT MATCHED THEN INSERT ({', '.join(values)})"
            f" VALUES ({', '.join(values.values())})"
            f" WHEN NOT MATCHED BY SOURCE AND {IS_CURRENT}"
            f" THEN UPDATE SET t.{VALID_TO} = {at}, t.{TO_VERSION} = {version}L"
        )


def has_versions_since(mirror: TableMirror, version: int) -> bool:
    """True if a version of a row begins or ends at a version of the log, or after it."""
    since = f"{FROM_VERSION} >= {version}L OR {TO_VERSION} >= {version}L"
    return not mirror.spark.table(mirror.name).where(since).isEmpty()


def _own(mirror: TableMirror) -> t.StructType:
    """Returns the columns of a table, without those of versions of rows."""
    held = mirror.schema()
    assert held is not None  # noqa: S101 - it was created
    return t.StructType([field for field in held.fields if field.name not in VALIDITY])


def _moments_of_truncates(changes: Changes) -> list[str]:
    """Returns the places and times of the statements that empty the table, in order, as SQL."""
    names = ("commit_version", "change_ordinal")
    place = ", ".join(changes.envelope(name) for name in names)
    time = f"unix_micros({changes.envelope('commit_timestamp')})"
    kind = changes.envelope("change_type")
    found = changes.frame.where(f"{kind} = '{TRUNCATE}'").selectExpr(f"struct({place}, {time})")
    moments = sorted(tuple(row[0]) for row in found.collect())
    return [
        f"CAST(struct({version}L, {ordinal}L, timestamp_micros({micros}L)) AS {_MOMENT})"
        for version, ordinal, micros in moments
    ]


def _ends_and_versions(changes: Changes, emptied: Sequence[str]) -> DataFrame:
    """Returns the ends of versions in the target, and the versions that begin in the batch.

    An end has a `key`; a version has none, so that no row of the target matches it.
    """
    kind = changes.envelope("change_type")
    names = ("commit_version", "change_ordinal", "commit_timestamp")
    moment = ", ".join(changes.envelope(name) for name in names)
    steps = changes.frame.where(f"{kind} <> '{TRUNCATE}'").selectExpr(
        f"{struct_of(changes, changes.keys)} AS key",
        f"{row_of(changes)} AS row",
        f"{is_one_of(kind, OLD)} AS is_deleted",
        f"CAST(struct({moment}) AS {_MOMENT}) AS moment",
    )
    window = "OVER (PARTITION BY key ORDER BY moment.version, moment.ordinal)"
    next_emptied = _first_after("moment", emptied)
    ordered = steps.selectExpr(
        "*",
        f"row_number() {window} = 1 AS is_first",
        f"least(lead(moment) {window}, {next_emptied}) AS end",
    )
    first_end = f"least(moment, {emptied[0]})" if emptied else "moment"
    ends = ordered.where("is_first").selectExpr(
        "key", "NULL AS row", "NULL AS moment", f"{first_end} AS end"
    )
    return (
        ordered.where("NOT is_deleted")
        .selectExpr("NULL AS key", "row", "moment", "end")
        .unionAll(ends)
    )


def _first_after(moment: str, emptied: Sequence[str]) -> str:
    """Returns the first of the moments `emptied` that is after a moment, as SQL."""
    if not emptied:
        return f"CAST(NULL AS {_MOMENT})"
    later = f"struct(e.version, e.ordinal) > struct({moment}.version, {moment}.ordinal)"
    return f"get(filter(array({', '.join(emptied)}), e -> {later}), 0)"


def _merge_sql(
    name: str, changes: Changes, difference: Difference, view: str, emptied: str | None
) -> str:
    columns = {quoted_name(held): place for held, place in difference.places.items()}
    by_place = {place: held for held, place in columns.items()}
    on = " AND ".join(f"t.{by_place[p]} = s.key._{i}" for i, p in enumerate(changes.keys))
    begins = {
        VALID_FROM: "s.moment.time",
        VALID_TO: "s.end.time",
        FROM_VERSION: "s.moment.version",
        TO_VERSION: "s.end.version",
    }
    values = {**{held: f"s.row._{place}" for held, place in columns.items()}, **begins}
    ends = "UPDATE SET t.{} = {}.time, t.{} = {}.version"
    sql = (
        f"MERGE INTO {name} t USING {view} s ON {on} AND {IS_CURRENT}"
        f" WHEN MATCHED THEN {ends.format(VALID_TO, 's.end', TO_VERSION, 's.end')}"
        f" WHEN NOT MATCHED AND s.moment IS NOT NULL"
        f" THEN INSERT ({', '.join(values)}) VALUES ({', '.join(values.values())})"
    )
    if emptied is not None:
        sql += (
            f" WHEN NOT MATCHED BY SOURCE AND {IS_CURRENT}"
            f" THEN {ends.format(VALID_TO, emptied, TO_VERSION, emptied)}"
        )
    return sql


__all__ = [
    "IS_CURRENT",
    "VALIDITY_FIELDS",
    "has_versions_since",
    "replace_versions",
    "write_versions",
]
