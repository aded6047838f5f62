"""The fold of a batch: of each key what becomes of its row, once all of its changes are done.

A folded frame has the columns `key` and `row` (structs of `_0`, `_1`, ...),
`is_gone`, and `told`: which columns of the row are known, where not all are; NULL otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as f

from binarrow import ConfigError, SchemaError
from binarrow.spark.mirror.changes import NEW, OLD, TRUNCATE, Changes
from binarrow.spark.mirror.columns import may_be_filled
from binarrow.spark.schema import GENERATED
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from binarrow.spark.mirror.columns import Difference


@dataclass(frozen=True)
class Summary:
    """What one pass over a batch tells."""

    rows: int
    truncated_at: tuple[int, int] | None
    """Place of the last change that empties the table."""
    has_null_keys: bool
    is_partial: bool
    """Whether some image does not hold all that it should."""


def summarize(changes: Changes, backfilled_columns: Literal["error", "null"]) -> Summary:
    """Looks at each change once.

    Raises:
        ConfigError, SchemaError: They are not what a mirror can be made of.
    """
    kind, version, ordinal = (
        changes.envelope(name) for name in ("change_type", "commit_version", "change_ordinal")
    )
    is_new, is_old = _is_one_of(kind, NEW), _is_one_of(kind, OLD)
    key_is_null = " OR ".join(f"{quoted_name(name)} IS NULL" for name in changes.key_names)
    sums = {
        "rows": "count(*)",
        "odd": f"count_if(NOT coalesce({kind} IN {(*NEW, *OLD, TRUNCATE)}, false))",
        "unplaced": f"count_if({version} IS NULL OR {ordinal} IS NULL)",
        "truncated_at": f"max(CASE WHEN {kind} = '{TRUNCATE}'"
        f" THEN struct({version} AS version, {ordinal} AS ordinal) END)",
        "null_keys": f"count_if({kind} <> '{TRUNCATE}' AND ({key_is_null}))",
    }
    if changes.is_other_key:
        sums["alone"] = (
            f"count_if({kind} = 'update_postimage') > count_if({kind} = 'update_preimage')"
        )
    if changes.has_present:
        bits = changes.envelope("present")
        width, whole = (len(changes.fields) + 7) // 8, _whole(len(changes.fields))
        keyed = " AND ".join(_holds(bits, place) for place in changes.keys)
        sums["other_bits"] = f"count_if({is_new} OR {is_old}) - count_if(length({bits}) = {width})"
        sums["without_key"] = f"count_if({is_old} AND NOT coalesce({keyed}, false))"
        sums["holes"] = f"count_if({kind} = 'update_postimage' AND {bits} <> X'{whole}')"
        key_is_null = f"({key_is_null}) AND {keyed}"
        computed = [
            f"NOT {_holds(bits, place)}"
            for place, field in enumerate(changes.fields)
            if GENERATED in (field.metadata or {})
        ]
        if computed and backfilled_columns == "error":
            is_hidden = f"{kind} = 'update_postimage' AND ({' OR '.join(computed)})"
            sums["hidden"] = f"count_if({is_hidden})"
        sums["new_holes"] = f"count_if({kind} = 'insert' AND {bits} <> X'{whole}')"
    if changes.is_primary_key:
        sums["impossible"] = f"count_if({kind} <> '{TRUNCATE}' AND ({key_is_null}))"
    found = changes.frame.select(*(f.expr(sql).alias(name) for name, sql in sums.items())).first()
    assert found is not None  # noqa: S101 - a sum over no rows is a row
    _check(changes, found)
    if changes.has_present and found.new_holes and backfilled_columns == "error":
        _check_untold(changes)
    return Summary(
        rows=found.rows,
        truncated_at=None if found.truncated_at is None else tuple(found.truncated_at),
        has_null_keys=found.null_keys > 0,
        is_partial=changes.has_present and found.holes > 0,
    )


def _check(changes: Changes, found: Row) -> None:
    if found.odd:
        raise ConfigError(
            f"{found.odd} rows are no changes: {changes.prefix}change_type is none of"
            f" {', '.join((*NEW, *OLD, TRUNCATE))}"
        )
    if found.unplaced:
        raise ConfigError(
            f"{found.unplaced} changes have no {changes.prefix}commit_version or"
            f" {changes.prefix}change_ordinal: their order is not known"
        )
    if changes.is_other_key and found.alone:
        raise ConfigError(
            f"updates come without the rows before them, so nothing tells whether one changes"
            f" {', '.join(changes.key_names)}: read with oldValue=true, or take the primary key"
        )
    if changes.is_primary_key and found.impossible:
        raise SchemaError(
            f"{found.impossible} changes have NULL in the primary key"
            f" ({', '.join(changes.key_names)}), so different rows would become one: keep zero"
            " dates apart with the option zeroDates=text, and mask no column of the key"
        )
    if not changes.has_present:
        return
    if found.other_bits:
        raise ConfigError(
            f"{changes.prefix}present has bits for other columns than the changes have: give"
            " apply_changes all columns of the table, in their order, as they were read"
        )
    if "hidden" in found and found.hidden:
        raise SchemaError(
            f"{found.hidden} updates leave out columns that MariaDB computes, whatever becomes of"
            " them: leave these out of the mirror with the option columns, which names the others;"
            " or let them keep their old values with backfilled_columns='null'"
        )
    if found.without_key:
        raise SchemaError(
            f"{found.without_key} images do not hold the key ({', '.join(changes.key_names)}):"
            " with binlog_row_image MINIMAL or NOBLOB the server logs the primary key, so name that"
        )


def _check_untold(changes: Changes) -> None:
    """An error where inserted rows leave out what the source may have filled in."""
    kind, bits = changes.envelope("change_type"), changes.envelope("present")
    columns = [(i, field.name) for i, field in enumerate(changes.fields) if may_be_filled(field)]
    inserted = changes.frame.where(f"{kind} = 'insert'")
    held = inserted.selectExpr(*(f"bool_and({_holds(bits, place)})" for place, _ in columns))
    found = held.first() if columns else None
    untold = [name for (_, name), is_held in zip(columns, found or (), strict=True) if not is_held]
    if untold:
        raise SchemaError(
            f"inserted rows leave out {', '.join(untold)}, which the source may have filled in"
            " (DEFAULT): they are from before it was added, or the server logs only what an INSERT"
            " names (binlog_row_image=MINIMAL; FULL logs all). Make the mirror anew from after"
            " these changes; or let them be NULL with backfilled_columns='null', and put them in"
            " yourself"
        )


@contextmanager
def fold(changes: Changes, summary: Summary) -> Iterator[DataFrame]:
    """What becomes of each key, since the table was last emptied.

    Raises:
        SchemaError: A change cannot be folded; it says why, and what helps.
    """
    if summary.truncated_at is not None:
        version, ordinal = summary.truncated_at
        later = changes.frame.where(f"{_place(changes)} > struct({version}L, {ordinal}L)")
        changes = replace(changes, frame=later)
    if not summary.is_partial:
        yield _fold_whole(changes)
        return
    folded = _fold_partial(changes).persist()
    try:
        _check_folded(folded)
        yield folded
    finally:
        folded.unpersist()


@dataclass(frozen=True)
class Folded:
    """A folded frame, which SQL calls `s`, and what a target needs to know of it."""

    frame: DataFrame
    changes: Changes
    summary: Summary
    difference: Difference
    missing_rows: Literal["error", "ignore"]

    @property
    def is_all(self) -> bool:
        """Whether it is the whole content: the table was emptied before."""
        return self.summary.truncated_at is not None

    @property
    def is_there(self) -> str:
        """Whether a key that the target does not have becomes a row, as SQL."""
        if self.missing_rows == "ignore":
            return "(NOT s.is_gone AND s.told IS NULL)"
        return "NOT s.is_gone"

    def value(self, place: int, before: str) -> str:
        """The value of a column in a row that is there, as SQL."""
        new = f"s.row._{place}"
        if not self.summary.is_partial:
            return new
        return f"CASE WHEN s.told IS NULL OR s.told[{place}] THEN {new} ELSE {before} END"

    def new_value(self, place: int) -> str:
        """The value of a column in a new row, as SQL."""
        new = f"s.row._{place}"
        if not self.summary.is_partial or place != self.changes.keys[0]:
            return new
        return f"CASE WHEN s.told IS NULL THEN {new} ELSE raise_error('{MISSING_ROW}') END"


MISSING_ROW = (
    "a change tells only a part of a row that the mirror does not have: load the mirror before it"
    " follows changes; or, where its first load is newer than the changes, set"
    ' missing_rows="ignore"'
)


def _fold_whole(changes: Changes) -> DataFrame:
    """Where all images are whole: the latest change of each key says it all."""
    kind = changes.envelope("change_type")
    last = changes.frame.selectExpr(
        f"{_struct(changes, changes.keys)} AS key",
        f"{_place(changes)} AS place",
        f"struct({_is_one_of(kind, OLD)} AS is_gone, {_row(changes)} AS row) AS last",
    )
    folded = last.groupBy("key").agg(f.max_by("last", "place").alias("last"))
    return folded.selectExpr(
        "key", "last.row AS row", "last.is_gone AS is_gone", "CAST(NULL AS array<boolean>) AS told"
    )


def _fold_partial(changes: Changes) -> DataFrame:
    """Where images have holes: of each column the latest change that tells it.

    `problem` says why a key cannot be folded; NULL where it can.
    """
    steps = _steps(_pairs(changes), changes)
    columns = range(len(changes.fields))
    by_key = steps.groupBy("key").agg(
        f.max_by("step", "place").alias("step"),
        f.max_by("step", f.expr("CASE WHEN step <> 'set' THEN place END")).alias("began"),
        f.max("problem").alias("problem"),
        *(
            f.max_by(
                f"row._{i}", f.expr(f"CASE WHEN step <> 'set' OR told[{i}] THEN place END")
            ).alias(f"c{i}")
            for i in columns
        ),
        *(f.expr(f"bool_or(step <> 'set' OR told[{i}])").alias(f"h{i}") for i in columns),
    )
    values = ", ".join(f"c{i} AS _{i}" for i in columns)
    told = ", ".join(f"h{i}" for i in columns)
    return by_key.selectExpr(
        "key",
        f"struct({values}) AS row",
        "step = 'gone' AS is_gone",
        f"CASE WHEN began IS NULL THEN array({told}) END AS told",
        "CASE WHEN step = 'set' AND began = 'gone' THEN 'gone' ELSE problem END AS problem",
    )


def _check_folded(folded: DataFrame) -> None:
    """An error where a key could not be folded.

    Raises:
        SchemaError: It says why, and what helps.
    """
    found = (
        folded.groupBy("problem").count().where("problem IS NOT NULL").orderBy("problem").first()
    )
    if found is None:
        return
    raise SchemaError(_PROBLEMS[found.problem].format(keys=found["count"]))


_PROBLEMS = {
    "moved": (
        "{keys} rows get another key in updates whose images do not hold the whole row: what they"
        " leave out stands under the old key only. Log whole images"
        " (SET PERSIST binlog_row_image = FULL; MySQL 5.7 and MariaDB: SET GLOBAL, and the option"
        " file), and create the mirror again from a position after these changes"
    ),
    "gone": (
        "{keys} rows are changed after they were deleted: the changes are not complete or not in"
        " order; give apply_changes all operations of one stream"
    ),
}


def _pairs(changes: Changes) -> DataFrame:
    """One row for each change, with the row before and the row after, where told."""
    kind, ordinal = changes.envelope("change_type"), changes.envelope("change_ordinal")
    bits = changes.envelope("present")
    told = ", ".join(_holds(bits, place) for place in range(len(changes.fields)))
    halves = changes.frame.selectExpr(
        f"{changes.envelope('commit_version')} AS version",
        f"{ordinal} div 2 AS pair",
        f"{kind} AS kind",
        f"{_row(changes)} AS row",
        f"array({told}) AS told",
    )
    old, new = _is_one_of("kind", OLD), _is_one_of("kind", NEW)
    return halves.groupBy("version", "pair").agg(
        _only(f"CASE WHEN {old} THEN struct(row, told) END").alias("old"),
        _only(f"CASE WHEN {new} THEN struct(kind, row, told) END").alias("new"),
    )


def _steps(pairs: DataFrame, changes: Changes) -> DataFrame:
    """What each change does to a key: `gone`, `new` (all is told, or NULL), or `set`."""
    columns = range(len(changes.fields))
    # What the image after an update leaves out is as it was before.
    values = ", ".join(
        f"CASE WHEN new.told[{i}] OR old IS NULL THEN new.row._{i} ELSE old.row._{i} END AS _{i}"
        for i in columns
    )
    told = ", ".join(f"new.told[{i}] OR coalesce(old.told[{i}], false)" for i in columns)
    filled = pairs.selectExpr(
        "version",
        "pair",
        f"CASE WHEN old IS NOT NULL THEN {_key_of('old.row', changes)} END AS was",
        "new.kind AS kind",
        f"CASE WHEN new IS NOT NULL THEN struct({values}) END AS row",
        f"CASE WHEN new IS NOT NULL THEN array({told}) END AS told",
    )
    keyed = filled.selectExpr(
        "*", f"CASE WHEN kind IS NOT NULL THEN {_key_of('row', changes)} END AS is"
    ).selectExpr(
        "*", "was IS NOT NULL AND NOT was <=> is AS moves", "forall(told, t -> t) AS whole"
    )
    gone = keyed.where("moves").selectExpr(
        "was AS key",
        "struct(version, pair, 0 AS half) AS place",
        "'gone' AS step",
        "NULL AS row",
        "NULL AS told",
        "CAST(NULL AS string) AS problem",
    )
    there = keyed.where("kind IS NOT NULL").selectExpr(
        "is AS key",
        "struct(version, pair, 1 AS half) AS place",
        "CASE WHEN kind = 'insert' OR whole THEN 'new' ELSE 'set' END AS step",
        "row",
        "told",
        "CASE WHEN moves AND kind <> 'insert' AND NOT whole THEN 'moved' END AS problem",
    )
    return gone.unionAll(there)


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


def _holds(bits: str, place: int) -> str:
    """Whether an image holds a column: its bit, the lowest of a byte first."""
    byte = f"CAST(conv(hex(substring({bits}, {place // 8 + 1}, 1)), 16, 10) AS int)"
    return f"({byte} & {1 << place % 8}) <> 0"


def _whole(columns: int) -> str:
    """The bits of an image that holds all columns, in hexadecimal."""
    return ((1 << columns) - 1).to_bytes((columns + 7) // 8, "little").hex()
