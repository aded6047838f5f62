"""A batch of several tables: the tables in it, and what its documents contain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import expr

from binarrow import Column
from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Moment = tuple[int, int]
"""The place of a change: its version, and its ordinal in the transaction."""


@dataclass(frozen=True)
class NewType:
    """The type that a statement gives to a column."""

    column: Column
    """The column after the statement; its name is in lower case."""
    has_charset: bool = True
    """False if the statement does not contain the character set of text."""

    @classmethod
    def from_stored(cls, name: str, stored: Mapping[str, Any]) -> NewType:
        """Parses the result of :meth:`to_store`, or the part of a document."""
        column = Column(
            name,
            stored["type"],
            nullable=stored["nullable"],
            charset=stored.get("charset"),
            members=stored["members"],
            auto_increment=stored["auto_increment"],
        )
        return cls(column, "charset" in stored)

    def to_store(self) -> dict[str, Any]:
        """Returns the type as JSON."""
        names = ("type", "nullable", "members", "auto_increment")
        stored = {name: getattr(self.column, name) for name in names}
        return stored | ({"charset": self.column.charset} if self.has_charset else {})


@dataclass(frozen=True)
class Alteration:
    """The effect of an ALTER TABLE, a CREATE TABLE, or a similar statement on existing rows."""

    place: Moment
    is_created: bool = False
    """True for CREATE TABLE. With IF NOT EXISTS, the table may have existed before."""
    changes_rows: bool = False
    """True if rows, or values of existing columns, may change without row events."""
    dropped_columns: tuple[str, ...] = ()
    renamed_columns: tuple[tuple[str, str], ...] = ()
    """The old and the new names. All names of columns are in lower case."""
    converted_columns: tuple[str, ...] = ()
    """The columns whose values may change; empty if rows may be removed or added."""
    new_types: tuple[NewType, ...] = ()
    """The types that it gives to those of these columns whose types before it decide whether their
    values change. The stream does not know these types."""

    @classmethod
    def from_json(cls, text: str, place: Moment) -> Alteration:
        """Parses the document of a statement."""
        stored = json.loads(text)
        renamed = tuple(stored["renamed_columns"].items())
        return cls(
            place,
            stored["is_created"],
            stored["changes_rows"],
            tuple(stored["dropped_columns"]),
            renamed,
            tuple(stored["converted_columns"]),
            tuple(NewType.from_stored(*pair) for pair in stored["converted_types"].items()),
        )

    @property
    def version(self) -> int:
        """The version of the statement."""
        return self.place[0]

    @property
    def columns(self) -> set[str]:
        """The columns that may have other values afterwards: old and new names."""
        return {*self.dropped_columns, *(name for pair in self.renamed_columns for name in pair)}


@dataclass(frozen=True)
class Documents:
    """The changes of one table in a batch."""

    last: Moment
    """The place of the last change."""
    emptied: Moment | None = None
    """The place of the last statement that empties the table."""
    shapes: tuple[tuple[frozenset[str], Moment], ...] = ()
    """The sets of columns that rows have, each with the place of its last row."""
    altered: tuple[Alteration, ...] = ()
    """The statements that create the table, change rows, or drop or rename columns."""

    @property
    def columns(self) -> list[frozenset[str]]:
        """The sets of columns that rows have, of changes after the table was last emptied."""
        return [shape for shape, last in self.shapes if self.emptied is None or last > self.emptied]

    @property
    def alterations(self) -> list[Alteration]:
        """The statements that change rows or columns, after the table was last emptied."""
        emptied = self.emptied
        return [one for one in self.altered if emptied is None or one.place >= emptied]

    def from_creation(self) -> Documents:
        """Returns the changes of a table that did not exist before: CREATE TABLE empties it."""
        created = (one.place for one in self.altered if one.is_created)
        # A later CREATE TABLE IF NOT EXISTS has no effect.
        return (
            self if self.emptied is not None else replace(self, emptied=min(created, default=None))
        )

    def after(self, version: int) -> Documents | None:
        """Returns the changes after a version; None if there are none."""
        if self.last[0] <= version:
            return None
        emptied = self.emptied if self.emptied and self.emptied[0] > version else None
        shapes = tuple(each for each in self.shapes if each[1][0] > version)
        altered = tuple(each for each in self.altered if each.place[0] > version)
        return Documents(self.last, emptied, shapes, altered)

    def without_statements(self) -> Documents | None:
        """Returns the changes without statements that empty the table; None if there are none."""
        return replace(self, emptied=None) if self.shapes or self.altered else None


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
            found = replace(own, last=max(own.last, dropped.last), emptied=max(moments))
        return None if found is None else found.after(after)


def summarize(frame: DataFrame) -> Batch:
    """Reads which tables a batch contains, in one pass."""
    place = "struct(_commit_version AS version, _change_ordinal AS ordinal)"
    documents = frame.selectExpr(
        "_database",
        "coalesce(_table, '') AS name",
        "_op",
        f"{place} AS place",
        "explode(array(before, after)) AS document",
    )
    counts = (
        documents.where("document IS NOT NULL OR _op = 't'")
        .selectExpr(
            "_database",
            "name",
            "place",
            "CASE WHEN _op IN ('t', 'a') THEN _op END AS statement",
            "CASE WHEN _op = 'a' THEN document END AS altered",
            # The order of equal statements matters.
            "CASE WHEN _op = 'a' THEN place END AS altered_at",
            "CASE WHEN _op <> 'a' THEN json_object_keys(document) END AS columns",
        )
        .groupBy("_database", "name", "statement", "altered", "altered_at", "columns")
        .agg(expr("max(place) AS last"))
    )
    found: dict[Name, list[Documents]] = {}
    for row in counts.collect():
        last: Moment = (int(row.last.version), int(row.last.ordinal))
        if row.statement is None:
            part = Documents(last, shapes=((frozenset(row.columns), last),))
        elif row.statement == "t":
            part = Documents(last, emptied=last)
        else:
            part = Documents(last, altered=(Alteration.from_json(row.altered, last),))
        found.setdefault((row._database, row.name), []).append(part)  # noqa: SLF001
    return Batch({name: _documents(parts) for name, parts in found.items()})


def _documents(parts: list[Documents]) -> Documents:
    return Documents(
        last=max(part.last for part in parts),
        emptied=max((part.emptied for part in parts if part.emptied is not None), default=None),
        shapes=tuple(shape for part in parts for shape in part.shapes),
        altered=tuple(sorted((one for part in parts for one in part.altered), key=_place)),
    )


def _place(one: Alteration) -> Moment:
    return one.place


__all__ = ["Alteration", "Batch", "Documents", "Moment", "NewType", "summarize"]
