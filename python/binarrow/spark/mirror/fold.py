"""Folds a batch: reduces the changes of each key to the state of its row after the last one.

A folded frame has the columns `key` and `row` (structs of `_0`, `_1`, ...), `is_deleted`, and
`known`: one boolean per column of the row, true if its value is known; NULL if all values are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as f

from binarrow.spark.mirror.changes import OLD, Changes
from binarrow.spark.mirror.expressions import is_one_of, place_of, row_of, struct_of
from binarrow.spark.mirror.partial_images import check_folded, fold_partial
from binarrow.spark.mirror.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from binarrow.spark.mirror.columns import Difference


@contextmanager
def fold(changes: Changes, summary: Summary) -> Iterator[DataFrame]:
    """Returns the final state of each key, from the changes after the table was last emptied.

    Raises:
        SchemaError: A change cannot be folded. The message contains the reason and the solution.
    """
    if summary.truncated_at is not None:
        version, ordinal = summary.truncated_at
        later = changes.frame.where(f"{place_of(changes)} > struct({version}L, {ordinal}L)")
        changes = replace(changes, frame=later)
    if not summary.is_partial:
        yield _fold_complete(changes)
        return
    folded = fold_partial(changes).persist()
    try:
        check_folded(folded)
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
        f"{struct_of(changes, changes.keys)} AS key",
        f"{place_of(changes)} AS place",
        f"struct({is_one_of(kind, OLD)} AS is_deleted, {row_of(changes)} AS row) AS last",
    )
    folded = last.groupBy("key").agg(f.max_by("last", "place").alias("last"))
    return folded.selectExpr(
        "key",
        "last.row AS row",
        "last.is_deleted AS is_deleted",
        "CAST(NULL AS array<boolean>) AS known",
    )
