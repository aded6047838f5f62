"""Values of new columns that the log does not contain. They are read from the server.

In existing rows, ALTER TABLE sets a new column to its default, and the log contains only the
statement. The server returns the current values.

In a mirror, all rows are read, so that the table contains all changes up to a version. Later
batches leave out the changes up to this version. If the rows already contain a later change, a
later batch applies it again. If it is not certain that SELECT sees all changes up to a version,
only the new columns are written, after each batch with rows that lack them. In a table with
versions of rows, the new columns of current versions are written in the same way, because such a
table needs all changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from binarrow.spark.live.options import stream_options
from binarrow.spark.mirror.columns import may_be_filled
from binarrow.spark.nested_json import table_of
from binarrow.spark.option_parsers import canonical
from binarrow.spark.schema import GENERATED
from binarrow.spark.syncing.properties import decoded, encoded
from binarrow.spark.syncing.versions import replace_versions
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

    from binarrow.spark.mirror.table import TableMirror
    from binarrow.spark.syncing.documents import Documents
    from binarrow.spark.syncing.structures import Structure

LOG = logging.getLogger("binarrow.spark")

FILL = "binarrow.sync.fill"
"""The property of a table with the columns whose values are still to be read."""

READ = "binarrow.sync.read"
"""The property of a table with a server, and the version of its log up to which the rows of the
table contain all changes, as JSON."""

READING = "binarrow.sync.reading"
"""The property of a table with versions of rows: the value of `READ` that it gets when the rows,
which are read now, have been written."""

DROPPED = "binarrow.sync.dropped"
"""The property of a table with the columns of the target that the server has dropped."""


class FilledColumns:
    """Reads values of columns from the server, and writes them into tables."""

    def __init__(self, options: Mapping[str, str]) -> None:
        left_out = {*stream_options(), "tables", "excludeTables"}
        self._options = {key: val for key, val in options.items() if canonical(key) not in left_out}
        self._pending: dict[Name, set[str]] = {}
        """The columns that were to be read when the query was killed."""
        self._dropped: dict[Name, list[str]] = {}
        self._read: dict[Name, tuple[str, int]] = {}

    def restore(self, name: Name, properties: Mapping[str, str]) -> None:
        """Reads the state of a table from its properties."""
        self._pending[name] = set(decoded(properties, FILL, ()))
        self._dropped[name] = decoded(properties, DROPPED, [])
        server, version = decoded(properties, READ, ("", -1))
        self._read[name] = (server, version)

    def restore_read(
        self, name: Name, properties: Mapping[str, str], is_written: Callable[[int], bool]
    ) -> None:
        """Reads the state of a query that was killed while it read rows.

        Args:
            name: The table.
            properties: Its properties.
            is_written: Returns true if the table contains the changes up to a version.
        """
        server, version = decoded(properties, READING, ("", -1))
        if version >= 0 and is_written(version):
            self._read[name] = (server, version)

    def version(self, name: Name, structure: Structure) -> int:
        """Returns the version up to which the table contains all changes; -1 if there is none."""
        server, version = self._read.get(name, ("", -1))
        return version if server == structure.server else -1

    def begin(
        self,
        mirror: TableMirror,
        name: Name,
        own: Sequence[StructField],
        held: Sequence[StructField],
        documents: Documents | None,
    ) -> tuple[str, ...]:
        """Returns the columns to read. Their names become a property of the table in the target.

        This is done before the columns are added, so that a query that is killed can continue.

        Args:
            mirror: The table in the target.
            name: Its name on the server.
            own: Its columns, without the envelope.
            held: The columns of the table in the target, without those of versions of rows.
            documents: The changes of the batch; None if there are none.
        """
        logged = [] if documents is None else documents.columns
        statements = [] if documents is None else documents.alterations
        moved = set().union(*(one.columns for one in statements))
        dropped = self._dropped.get(name, [])
        before = {one.lower() for one in dropped}
        again = {field.name for field in own if field.name.lower() in before}
        # The log contains the values of generated columns, except in rows from before a statement
        # that drops or renames columns.
        computed = {f.name for f in own if (f.metadata or {}).get(GENERATED) == "true"}
        found = _lacking(own, held, logged) - computed
        found |= self._pending.get(name, set()) | again
        # A statement has dropped or renamed columns, and there are columns of these names again.
        found |= {field.name for field in own if field.name.lower() in moved}
        columns = tuple(field.name for field in own if field.name in found)
        if columns:
            LOG.warning(
                "%s: the log may not contain all values of the columns %s, so they are read from"
                " the server",
                shown(name),
                ", ".join(columns),
            )
            mirror.set_property(FILL, encoded(columns))
        now_dropped = [f.name for f in held if _find(own, f.name) is None]
        if now_dropped != dropped:
            self._dropped[name] = now_dropped
            mirror.set_property(DROPPED, encoded(now_dropped))
        return columns

    def fill(
        self,
        mirror: TableMirror,
        name: Name,
        structure: Structure,
        columns: Sequence[str],
        condition: str = "true",
    ) -> None:
        """Writes the values that the server has now into the rows to which a condition applies."""
        rows = self.rows(mirror, name, structure)
        mirror.set_columns(rows, structure.key, columns, condition)
        self._end(mirror, name)

    def read_again(
        self, mirror: TableMirror, name: Name, structure: Structure, columns: Sequence[str]
    ) -> None:
        """Replaces the rows of a mirror by those that the server has now.

        They must contain all changes up to the version of the structure.
        """
        mirror.replace_rows(self.rows(mirror, name, structure), structure.key, columns)
        self._set_read(mirror, name, structure)
        self._end(mirror, name)

    def read_versions(
        self, mirror: TableMirror, name: Name, structure: Structure, time: datetime
    ) -> None:
        """Begins a version of each row that the server has now, and ends the earlier versions."""
        mirror.set_property(READING, encoded((structure.server, structure.version)))
        rows = self.rows(mirror, name, structure)
        replace_versions(mirror, rows, structure.key, structure.version, time)
        self._set_read(mirror, name, structure)
        mirror.unset_property(READING)
        self._end(mirror, name)

    def _set_read(self, mirror: TableMirror, name: Name, structure: Structure) -> None:
        read = (structure.server, structure.version)
        mirror.set_property(READ, encoded(read))
        self._read[name] = read

    def add_rows(
        self, mirror: TableMirror, name: Name, structure: Structure, columns: Sequence[str]
    ) -> None:
        """Adds the rows that the server has now to a mirror, or updates them, and deletes none.

        Later batches contain the deletes, so they must apply all changes after this batch.
        """
        rows = self.rows(mirror, name, structure)
        mirror.replace_rows(rows, structure.key, columns, deletes=False)
        self._end(mirror, name)

    def rows(self, mirror: TableMirror, name: Name, structure: Structure) -> DataFrame:
        """Returns the rows that the server has now, as inserts."""
        # A comma would separate two patterns, and `?` matches it. `table_of` leaves out other
        # tables.
        pattern = shown(name).replace(",", "?")
        reader = mirror.spark.read.format("binarrow").options(**self._options, tables=pattern)
        return table_of(reader.load(), shown(name), structure.schema)

    def _end(self, mirror: TableMirror, name: Name) -> None:
        mirror.unset_property(FILL)
        self._pending.pop(name, None)


def _lacking(
    own: Sequence[StructField], held: Sequence[StructField], logged: Iterable[frozenset[str]]
) -> set[str]:
    """Returns columns that the target or rows lack, and that the server may have filled in.

    If the server has also dropped a column, a new column may be the renamed one.
    """
    added = [field for field in own if _find(held, field.name) is None]
    has_dropped = any(_find(own, field.name) is None for field in held)
    found = {field.name for field in added if has_dropped or may_be_filled(field)}
    names = {field.name for field in own}
    for of_row in logged:
        lacking = [field for field in own if field.name not in of_row]
        found |= {field.name for field in lacking if of_row - names or may_be_filled(field)}
    return found


def _find(fields: Iterable[StructField], name: str) -> StructField | None:
    return next((field for field in fields if field.name.lower() == name.lower()), None)


__all__ = ["DROPPED", "FILL", "READ", "READING", "FilledColumns"]
