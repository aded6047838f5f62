"""Checks a batch of changes before it is folded, and summarizes it in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as f

from binarrow import ConfigError, SchemaError
from binarrow.spark.messages import spark_message
from binarrow.spark.mirror.changes import NEW, OLD, TRUNCATE, Changes
from binarrow.spark.mirror.columns import may_be_filled
from binarrow.spark.mirror.expressions import contains, is_one_of
from binarrow.spark.schema import GENERATED
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import Row


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
    is_new, is_old = is_one_of(kind, NEW), is_one_of(kind, OLD)
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
        keyed = " AND ".join(contains(bits, place) for place in changes.keys)
        sums["other_bits"] = f"count_if({is_new} OR {is_old}) - count_if(length({bits}) = {width})"
        sums["without_key"] = f"count_if({is_old} AND NOT coalesce({keyed}, false))"
        sums["partial_updates"] = (
            f"count_if({kind} = 'update_postimage' AND {bits} <> X'{all_bits}')"
        )
        key_is_null = f"({key_is_null}) AND {keyed}"
        computed = [
            f"NOT {contains(bits, place)}"
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
    held = inserted.selectExpr(*(f"bool_and({contains(bits, place)})" for place, _ in columns))
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


def _all_bits(columns: int) -> str:
    """The bits of an image that contains all columns, in hexadecimal."""
    return ((1 << columns) - 1).to_bytes((columns + 7) // 8, "little").hex()
