"""A batch of several tables: the tables in it, and what its documents contain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql.functions import expr

from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Moment = tuple[int, int]
"""The place of a change: its version, and its ordinal in the transaction."""


@dataclass
class Documents:
    """The changes of one table in a batch."""

    rows: int = 0
    emptied: Moment | None = None
    """The place of the last statement that empties the table."""
    columns: list[set[str]] = field(default_factory=list)
    """The sets of columns that rows have, of changes after that statement."""


def summarize(frame: DataFrame) -> tuple[dict[Name, Documents], dict[str, Moment]]:
    """Returns the tables of a batch, and the databases that were dropped in it."""
    found: dict[Name, Documents] = {}
    dropped: dict[str, Moment] = {}
    emptied = "max(CASE WHEN _op = 't' THEN struct(_commit_version, _change_ordinal) END)"
    counts = frame.groupBy("_database", "_table")
    for row in counts.agg(expr("count(*) AS rows"), expr(f"{emptied} AS emptied")).collect():
        moment = None if row.emptied is None else (row.emptied[0], row.emptied[1])
        if row._table is not None:  # noqa: SLF001 - the name of the column
            found[row._database, row._table] = Documents(row.rows, moment)  # noqa: SLF001
        elif moment is not None:
            dropped[row._database] = moment  # noqa: SLF001
    for (database, _), documents in found.items():
        moments = [each for each in (documents.emptied, dropped.get(database)) if each]
        documents.emptied = max(moments, default=None)
    _add_columns(frame, found)
    return found, dropped


def _add_columns(frame: DataFrame, found: dict[Name, Documents]) -> None:
    """Adds the columns of the documents that are not removed by a later statement."""
    documents = frame.selectExpr(
        "_database",
        "_table",
        "_commit_version",
        "_change_ordinal",
        "explode(array(before, after)) AS document",
    )
    shapes = (
        documents.where("document IS NOT NULL")
        .selectExpr(
            "_database",
            "_table",
            "json_object_keys(document) AS columns",
            "struct(_commit_version, _change_ordinal) AS place",
        )
        .groupBy("_database", "_table", "columns")
        .agg(expr("max(place) AS last"))
    )
    for row in shapes.collect():
        table = found[row._database, row._table]  # noqa: SLF001
        if table.emptied is None or (row.last[0], row.last[1]) > table.emptied:
            table.columns.append(set(row.columns))
