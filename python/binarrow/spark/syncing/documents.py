"""A batch of several tables: the tables in it, and what its documents contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.functions import expr

from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Moment = tuple[int, int]
"""The place of a change: its version, and its ordinal in the transaction."""


@dataclass(frozen=True)
class Documents:
    """The changes of one table in a batch."""

    last: Moment
    """The place of the last change."""
    emptied: Moment | None = None
    """The place of the last statement that empties the table."""
    shapes: tuple[tuple[frozenset[str], Moment], ...] = ()
    """The sets of columns that rows have, each with the place of its last row."""

    @property
    def columns(self) -> list[frozenset[str]]:
        """The sets of columns that rows have, of changes after the table was last emptied."""
        return [shape for shape, last in self.shapes if self.emptied is None or last > self.emptied]

    def after(self, version: int) -> Documents | None:
        """Returns the changes after a version; None if there are none."""
        if self.last[0] <= version:
            return None
        emptied = self.emptied if self.emptied and self.emptied[0] > version else None
        shapes = tuple(each for each in self.shapes if each[1][0] > version)
        return Documents(self.last, emptied, shapes)

    def without_statements(self) -> Documents | None:
        """Returns the changes of rows; None if there are none."""
        return replace(self, emptied=None) if self.shapes else None


class Batch:
    """The tables of a batch, and the databases that were dropped in it."""

    def __init__(self, found: Mapping[Name, Documents]) -> None:
        self._found = found
        """By table; by (database, "") for a database that was dropped."""

    @property
    def tables(self) -> set[Name]:
        """The tables with changes."""
        return {name for name in self._found if name[1]}

    @property
    def dropped(self) -> set[str]:
        """The databases that were dropped."""
        return {name[0] for name in self._found if not name[1]}

    def of(self, name: Name, after: int) -> Documents | None:
        """Returns the changes of a table after a version; None if there are none."""
        own, dropped = self._found.get(name), self._found.get((name[0], ""))
        if own is None or dropped is None:
            found = own or dropped
        else:
            moments = [each.emptied for each in (own, dropped) if each.emptied is not None]
            found = Documents(max(own.last, dropped.last), max(moments), own.shapes)
        return None if found is None else found.after(after)


def summarize(frame: DataFrame) -> Batch:
    """Reads which tables a batch contains, in one pass."""
    place = "struct(_commit_version AS version, _change_ordinal AS ordinal)"
    documents = frame.selectExpr(
        "_database",
        "coalesce(_table, '') AS name",
        "_op = 't' AS is_statement",
        f"{place} AS place",
        "explode(array(before, after)) AS document",
    )
    counts = (
        documents.where("document IS NOT NULL OR is_statement")
        .selectExpr("*", "json_object_keys(document) AS columns")
        .groupBy("_database", "name", "is_statement", "columns")
        .agg(expr("max(place) AS last"))
    )
    found: dict[Name, list[tuple[frozenset[str] | None, Moment]]] = {}
    for row in counts.collect():
        shape = None if row.is_statement else frozenset(row.columns)
        moment = (row.last.version, row.last.ordinal)
        found.setdefault((row._database, row.name), []).append((shape, moment))  # noqa: SLF001
    return Batch({name: _documents(parts) for name, parts in found.items()})


def _documents(parts: list[tuple[frozenset[str] | None, Moment]]) -> Documents:
    return Documents(
        last=max(last for _, last in parts),
        emptied=max((last for shape, last in parts if shape is None), default=None),
        shapes=tuple((shape, last) for shape, last in parts if shape is not None),
    )


__all__ = ["Batch", "Documents", "Moment", "summarize"]
