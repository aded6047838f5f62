"""Folds changes whose row images are not complete: each column has its own last change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from binarrow import SchemaError
from binarrow.spark.mirror.changes import NEW, OLD, Changes
from binarrow.spark.mirror.expressions import contains, is_one_of, row_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def fold_partial(changes: Changes) -> DataFrame:
    """Folds images with missing columns: takes each column from the last change that contains it.

    `problem` is the reason why a key cannot be folded; NULL if it can.
    """
    steps = _steps(_pairs(changes), changes)
    columns = range(len(changes.fields))
    by_key = steps.groupBy("key").agg(
        f.max_by("step", "place").alias("step"),
        f.max_by("step", f.expr("CASE WHEN step <> 'set' THEN place END")).alias("began"),
        f.max("problem").alias("problem"),
        *(
            f.max_by(
                f"row._{i}", f.expr(f"CASE WHEN step <> 'set' OR known[{i}] THEN place END")
            ).alias(f"c{i}")
            for i in columns
        ),
        *(f.expr(f"bool_or(step <> 'set' OR known[{i}])").alias(f"h{i}") for i in columns),
    )
    values = ", ".join(f"c{i} AS _{i}" for i in columns)
    known = ", ".join(f"h{i}" for i in columns)
    return by_key.selectExpr(
        "key",
        f"struct({values}) AS row",
        "step = 'deleted' AS is_deleted",
        f"CASE WHEN began IS NULL THEN array({known}) END AS known",
        "CASE WHEN step = 'set' AND began = 'deleted' THEN 'deleted' ELSE problem END AS problem",
    )


def check_folded(folded: DataFrame) -> None:
    """Checks that all keys could be folded.

    Raises:
        SchemaError: One could not. The message contains the reason and the solution.
    """
    found = (
        folded.groupBy("problem").count().where("problem IS NOT NULL").orderBy("problem").first()
    )
    if found is None:
        return
    raise SchemaError(_PROBLEMS[found.problem].format(keys=found["count"]))


_PROBLEMS = {
    "moved": (
        "{keys} rows get another key in updates whose row images are not complete: only the row"
        " of the old key has the missing values. Log full images"
        " (SET PERSIST binlog_row_image = FULL; MySQL 5.7 and MariaDB: SET GLOBAL, and the option"
        " file), and create the mirror again from a position after these changes"
    ),
    "deleted": (
        "{keys} rows are changed after they were deleted: the changes are incomplete or out of"
        " order; pass all operations of one stream to apply_changes"
    ),
}


def _pairs(changes: Changes) -> DataFrame:
    """Returns one row per change, with the before image and the after image, if logged."""
    kind, ordinal = changes.envelope("change_type"), changes.envelope("change_ordinal")
    bits = changes.envelope("present")
    known = ", ".join(contains(bits, place) for place in range(len(changes.fields)))
    halves = changes.frame.selectExpr(
        f"{changes.envelope('commit_version')} AS version",
        f"{ordinal} div 2 AS pair",
        f"{kind} AS kind",
        f"{row_of(changes)} AS row",
        f"array({known}) AS known",
    )
    old, new = is_one_of("kind", OLD), is_one_of("kind", NEW)
    return halves.groupBy("version", "pair").agg(
        _only(f"CASE WHEN {old} THEN struct(row, known) END").alias("old"),
        _only(f"CASE WHEN {new} THEN struct(kind, row, known) END").alias("new"),
    )


def _steps(pairs: DataFrame, changes: Changes) -> DataFrame:
    """Returns the effect of each change on a key.

    `step` is `deleted`, `new` (all columns are logged, or NULL), or `set` (some columns are).
    """
    columns = range(len(changes.fields))
    # A column that the after image leaves out has its value from the before image.
    values = ", ".join(
        f"CASE WHEN new.known[{i}] OR old IS NULL THEN new.row._{i} ELSE old.row._{i} END AS _{i}"
        for i in columns
    )
    known = ", ".join(f"new.known[{i}] OR coalesce(old.known[{i}], false)" for i in columns)
    filled = pairs.selectExpr(
        "version",
        "pair",
        f"CASE WHEN old IS NOT NULL THEN {_key_of('old.row', changes)} END AS was",
        "new.kind AS kind",
        f"CASE WHEN new IS NOT NULL THEN struct({values}) END AS row",
        f"CASE WHEN new IS NOT NULL THEN array({known}) END AS known",
    )
    keyed = filled.selectExpr(
        "*", f"CASE WHEN kind IS NOT NULL THEN {_key_of('row', changes)} END AS is"
    ).selectExpr(
        "*", "was IS NOT NULL AND NOT was <=> is AS moves", "forall(known, k -> k) AS complete"
    )
    deleted = keyed.where("moves").selectExpr(
        "was AS key",
        "struct(version, pair, 0 AS half) AS place",
        "'deleted' AS step",
        "NULL AS row",
        "NULL AS known",
        "CAST(NULL AS string) AS problem",
    )
    stored = keyed.where("kind IS NOT NULL").selectExpr(
        "is AS key",
        "struct(version, pair, 1 AS half) AS place",
        "CASE WHEN kind = 'insert' OR complete THEN 'new' ELSE 'set' END AS step",
        "row",
        "known",
        "CASE WHEN moves AND kind <> 'insert' AND NOT complete THEN 'moved' END AS problem",
    )
    return deleted.unionAll(stored)


def _only(sql: str) -> Column:
    """The one value of a group that is not NULL."""
    return f.first(f.expr(sql), ignorenulls=True)


def _key_of(row: str, changes: Changes) -> str:
    parts = (f"{row}._{place} AS _{i}" for i, place in enumerate(changes.keys))
    return f"struct({', '.join(parts)})"
