"""Folds a batch: reduces the changes of each key to the state of its row after the last one.

A folded frame has the columns `key` and `row` (structs of `_0`, `_1`, ...), `is_deleted`, and
`known`: one boolean per column of the row, true if its value is known; NULL if all values are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as f

from binarrow import ConfigError, SchemaError
from binarrow.spark.messages import spark_message
from binarrow.spark.mirror.changes import NEW, OLD, TRUNCATE, Changes
from binarrow.spark.mirror.columns import may_be_filled
from binarrow.spark.schema import GENERATED
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from binarrow.spark.mirror.columns import Difference


@dataclass(frozen=True)
class Summary:
    """Properties of a batch, found in one pass over it."""

    rows: int
    truncated_at: tuple[int, int] | None
    """Version and ordinal of the last change that empties the table."""
    has_null_keys: bool
    is_partial: bool
    """True if a row image lacks columns that the mirror needs."""


def summarize(changes: Changes, backfilled_columns: Literal["error", "null"]) -> Summary:
    """Checks and summarizes the changes in one pass.

    Raises:
        ConfigError, SchemaError: The changes cannot be applied to a mirror.
    """
    kind, version, ordinal = (
        changes.envelope(name) for name in ("change_type", "commit_version", "change_ordinal")
    )
    is_new, is_old = _is_one_of(kind, NEW), _is_one_of(kind, OLD)
    key_is_null = " OR ".join(f"{quoted_name(name)} IS NULL" for name in changes.key_names)
    sums = {
        "rows": "count(*)",
        "unknown_types": f"count_if(NOT coalesce({kind} IN {(*NEW, *OLD, TRUNCATE)}, false))",
        "unplaced": f"count_if({version} IS NULL OR {ordinal} IS NULL)",
        "truncated_at": f"max(CASE WHEN {kind} = '{TRUNCATE}'"
        f" THEN struct({version} AS version, {ordinal} AS ordinal) END)",
        "null_keys": f"count_if({kind} <> '{TRUNCATE}' AND ({key_is_null}))",
    }
    if changes.is_other_key:
        sums["unpaired"] = (
            f"count_if({kind} = 'update_postimage') > count_if({kind} = 'update_preimage')"
        )
    if changes.has_present:
        bits = changes.envelope("present")
        width, all_bits = (len(changes.fields) + 7) // 8, _all_bits(len(changes.fields))
        keyed = " AND ".join(_contains(bits, place) for place in changes.keys)
        sums["other_bits"] = f"count_if({is_new} OR {is_old}) - count_if(length({bits}) = {width})"
        sums["without_key"] = f"count_if({is_old} AND NOT coalesce({keyed}, false))"
        sums["partial_updates"] = (
            f"count_if({kind} = 'update_postimage' AND {bits} <> X'{all_bits}')"
        )
        key_is_null = f"({key_is_null}) AND {keyed}"
        computed = [
            f"NOT {_contains(bits, place)}"
            for place, field in enumerate(changes.fields)
            if GENERATED in (field.metadata or {})
        ]
        if computed and backfilled_columns == "error":
            leaves_out = f"{kind} = 'update_postimage' AND ({' OR '.join(computed)})"
            sums["omit_generated"] = f"count_if({leaves_out})"
        sums["partial_inserts"] = f"count_if({kind} = 'insert' AND {bits} <> X'{all_bits}')"
    if changes.is_primary_key:
        sums["impossible"] = f"count_if({kind} <> '{TRUNCATE}' AND ({key_is_null}))"
    found = changes.frame.select(*(f.expr(sql).alias(name) for name, sql in sums.items())).first()
    assert found is not None  # noqa: S101 - a sum over no rows is a row
    _check(changes, found)
    if changes.has_present and found.partial_inserts and backfilled_columns == "error":
        _check_omitted(changes)
    return Summary(
        rows=found.rows,
        truncated_at=None if found.truncated_at is None else tuple(found.truncated_at),
        has_null_keys=found.null_keys > 0,
        is_partial=changes.has_present and found.partial_updates > 0,
    )


def _check(changes: Changes, found: Row) -> None:
    if found.unknown_types:
        raise ConfigError(
            f"{found.unknown_types} rows have an unknown {changes.prefix}change_type; expected one"
            f" of {', '.join((*NEW, *OLD, TRUNCATE))}"
        )
    if found.unplaced:
        raise ConfigError(
            f"{found.unplaced} changes have no {changes.prefix}commit_version or"
            f" {changes.prefix}change_ordinal, so their order is unknown"
        )
    if changes.is_other_key and found.unpaired:
        raise ConfigError(
            spark_message(
                "updates without their old rows do not show whether one changes"
                f" {', '.join(changes.key_names)}: read with ⟦old_value=True⟧, or use the primary"
                " key"
            )
        )
    if changes.is_primary_key and found.impossible:
        raise SchemaError(
            spark_message(
                f"{found.impossible} changes have NULL in the primary key"
                f" ({', '.join(changes.key_names)}), so different rows would be merged into one:"
                " read zero dates with ⟦zero_dates=text⟧, and do not mask columns of the key"
            )
        )
    if not changes.has_present:
        return
    if found.other_bits:
        raise ConfigError(
            f"{changes.prefix}present has bits for other columns than those of the changes: pass"
            " all columns of the table to apply_changes, in the order in which they were read"
        )
    if "omit_generated" in found and found.omit_generated:
        raise SchemaError(
            spark_message(
                f"{found.omit_generated} updates leave out columns that MariaDB computes, even if"
                " their values change: exclude these columns with ⟦columns⟧, which lists the"
                " others; or keep their old values with ⟦backfilled_columns=null⟧"
            )
        )
    if found.without_key:
        raise SchemaError(
            f"{found.without_key} row images do not contain the key"
            f" ({', '.join(changes.key_names)}): with binlog_row_image MINIMAL or NOBLOB the server"
            " logs the primary key, so name its columns"
        )


def _check_omitted(changes: Changes) -> None:
    """Raises an error if inserted rows leave out columns that the source may have filled in."""
    kind, bits = changes.envelope("change_type"), changes.envelope("present")
    columns = [(i, field.name) for i, field in enumerate(changes.fields) if may_be_filled(field)]
    inserted = changes.frame.where(f"{kind} = 'insert'")
    held = inserted.selectExpr(*(f"bool_and({_contains(bits, place)})" for place, _ in columns))
    found = held.first() if columns else None
    omitted = [name for (_, name), is_held in zip(columns, found or (), strict=True) if not is_held]
    if omitted:
        raise SchemaError(
            spark_message(
                f"inserted rows leave out {', '.join(omitted)}, which the source may have filled in"
                " (DEFAULT): the rows were logged before the column was added, or the server logs"
                " only the columns that an INSERT names (binlog_row_image=MINIMAL; FULL logs all)."
                " Create the mirror again from a position after these changes; or store NULL with"
                " ⟦backfilled_columns=null⟧, and update these rows yourself"
            )
        )


@contextmanager
def fold(changes: Changes, summary: Summary) -> Iterator[DataFrame]:
    """Returns the final state of each key, from the changes after the table was last emptied.

    Raises:
        SchemaError: A change cannot be folded. The message contains the reason and the solution.
    """
    if summary.truncated_at is not None:
        version, ordinal = summary.truncated_at
        later = changes.frame.where(f"{_place(changes)} > struct({version}L, {ordinal}L)")
        changes = replace(changes, frame=later)
    if not summary.is_partial:
        yield _fold_complete(changes)
        return
    folded = _fold_partial(changes).persist()
    try:
        _check_folded(folded)
        yield folded
    finally:
        folded.unpersist()


@dataclass(frozen=True)
class Folded:
    """A folded frame, `s` in SQL, and the settings that a target needs to merge it."""

    frame: DataFrame
    changes: Changes
    summary: Summary
    difference: Difference
    missing_rows: Literal["error", "ignore"]

    @property
    def replaces_all(self) -> bool:
        """True if the frame replaces the content of the target: the table was emptied first."""
        return self.summary.truncated_at is not None

    @property
    def is_inserted(self) -> str:
        """A SQL condition: a key that the target does not have is inserted."""
        if self.missing_rows == "ignore":
            return "(NOT s.is_deleted AND s.known IS NULL)"
        return "NOT s.is_deleted"

    def value(self, place: int, before: str) -> str:
        """The value of a column in an existing row, as SQL."""
        new = f"s.row._{place}"
        if not self.summary.is_partial:
            return new
        return f"CASE WHEN s.known IS NULL OR s.known[{place}] THEN {new} ELSE {before} END"

    def new_value(self, place: int) -> str:
        """The value of a column in a new row, as SQL."""
        new = f"s.row._{place}"
        if not self.summary.is_partial or place != self.changes.keys[0]:
            return new
        return f"CASE WHEN s.known IS NULL THEN {new} ELSE raise_error('{MISSING_ROW}') END"


MISSING_ROW = "a change contains only a part of a row that the mirror does not have"
"""The error of a merge, in SQL."""

COMPLETE_FIRST_LOAD = (
    "complete the first load before you apply changes; or, if the first load is newer than the"
    " changes, set ⟦missing_rows=ignore⟧"
)


def _fold_complete(changes: Changes) -> DataFrame:
    """Folds complete row images: the last change of each key is its final state."""
    kind = changes.envelope("change_type")
    last = changes.frame.selectExpr(
        f"{_struct(changes, changes.keys)} AS key",
        f"{_place(changes)} AS place",
        f"struct({_is_one_of(kind, OLD)} AS is_deleted, {_row(changes)} AS row) AS last",
    )
    folded = last.groupBy("key").agg(f.max_by("last", "place").alias("last"))
    return folded.selectExpr(
        "key",
        "last.row AS row",
        "last.is_deleted AS is_deleted",
        "CAST(NULL AS array<boolean>) AS known",
    )


def _fold_partial(changes: Changes) -> DataFrame:
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


def _check_folded(folded: DataFrame) -> None:
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
    known = ", ".join(_contains(bits, place) for place in range(len(changes.fields)))
    halves = changes.frame.selectExpr(
        f"{changes.envelope('commit_version')} AS version",
        f"{ordinal} div 2 AS pair",
        f"{kind} AS kind",
        f"{_row(changes)} AS row",
        f"array({known}) AS known",
    )
    old, new = _is_one_of("kind", OLD), _is_one_of("kind", NEW)
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


def _place(changes: Changes) -> str:
    return f"struct({changes.envelope('commit_version')}, {changes.envelope('change_ordinal')})"


def _row(changes: Changes) -> str:
    return _struct(changes, range(len(changes.fields)))


def _struct(changes: Changes, places: Sequence[int]) -> str:
    names = (quoted_name(changes.fields[place].name) for place in places)
    return f"struct({', '.join(f'{name} AS _{i}' for i, name in enumerate(names))})"


def _key_of(row: str, changes: Changes) -> str:
    parts = (f"{row}._{place} AS _{i}" for i, place in enumerate(changes.keys))
    return f"struct({', '.join(parts)})"


def _is_one_of(kind: str, kinds: Sequence[str]) -> str:
    return f"({kind} IN {tuple(kinds)})"


def _contains(bits: str, place: int) -> str:
    """A SQL condition: an image contains a column. Bits start with the lowest of each byte."""
    byte = f"CAST(conv(hex(substring({bits}, {place // 8 + 1}, 1)), 16, 10) AS int)"
    return f"({byte} & {1 << place % 8}) <> 0"


def _all_bits(columns: int) -> str:
    """The bits of an image that contains all columns, in hexadecimal."""
    return ((1 << columns) - 1).to_bytes((columns + 7) // 8, "little").hex()
