"""Values of new columns that the log does not contain. They are read from the server.

In existing rows, ALTER TABLE sets a new column to its default, and the log contains only the
statement. The server returns the current values. If a row was changed after the batch, the change
is later in the log, and a later batch applies it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from binarrow import SchemaError
from binarrow.spark.live.options import stream_options
from binarrow.spark.mirror.columns import may_be_filled
from binarrow.spark.nested_json import table_of
from binarrow.spark.option_parsers import canonical
from binarrow.spark.schema import GENERATED
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

    from binarrow.spark.mirror.table import TableMirror
    from binarrow.spark.syncing.structures import Structure

LOG = logging.getLogger("binarrow.spark")

FILL = "binarrow.sync.fill"
"""The property of a table with the columns whose values are still to be read."""

DROPPED = "binarrow.sync.dropped"
"""The property of a table with the columns of the target that the server has dropped."""


class FilledColumns:
    """Reads values of columns from the server, and writes them into mirrors."""

    def __init__(self, options: Mapping[str, str]) -> None:
        left_out = {*stream_options(), "tables", "excludeTables"}
        self._options = {key: val for key, val in options.items() if canonical(key) not in left_out}
        self._pending: dict[Name, set[str]] = {}
        """The columns that were to be read when the query was killed."""
        self._dropped: dict[Name, list[str]] = {}

    def restore(self, name: Name, properties: Mapping[str, str]) -> None:
        """Reads the state of a table from its properties."""
        self._pending[name] = set(json.loads(properties.get(FILL, "[]")))
        self._dropped[name] = json.loads(properties.get(DROPPED, "[]"))

    def begin(
        self,
        mirror: TableMirror,
        name: Name,
        structure: Structure,
        own: Sequence[StructField],
        logged: Iterable[set[str]],
    ) -> tuple[str, ...]:
        """Returns the columns to read. Their names become a property of the table in the target.

        This is done before the columns are added, so that a query that is killed can continue.

        Args:
            mirror: The table in the target.
            name: Its name on the server.
            structure: The table as the server has it now.
            own: Its columns, without the envelope.
            logged: The sets of columns that the rows of the batch have.

        Raises:
            SchemaError: A new column is in the key, so rows without it cannot be identified.
        """
        held = mirror.schema()
        assert held is not None  # noqa: S101 - it was created
        dropped = self._dropped.get(name, [])
        before = {one.lower() for one in dropped}
        again = {field.name for field in own if field.name.lower() in before}
        found = _lacking(own, held, logged) | self._pending.get(name, set()) | again
        computed = {f.name for f in own if (f.metadata or {}).get(GENERATED) == "true"}
        columns = tuple(field.name for field in own if field.name in found - computed)
        in_key = [column for column in columns if column in structure.key]
        if in_key:
            raise SchemaError(
                f"{shown(name)}: the columns {', '.join(in_key)} were added to the key, and rows"
                " without them cannot be identified. To continue, delete the tables of the target"
                " and its checkpoint, and start again, so that the existing rows are loaded again"
            )
        if columns:
            LOG.warning(
                "%s: the log may not contain all values of the columns %s, so they are read from"
                " the server",
                shown(name),
                ", ".join(columns),
            )
            mirror.set_property(FILL, json.dumps(columns))
        now_dropped = [f.name for f in held.fields if _find(own, f.name) is None]
        if now_dropped != dropped:
            self._dropped[name] = now_dropped
            mirror.set_property(DROPPED, json.dumps(now_dropped))
        return columns

    def fill(
        self, mirror: TableMirror, name: Name, structure: Structure, columns: Sequence[str]
    ) -> None:
        """Writes the values that the server has now, in one commit."""
        # A comma would separate two patterns, and `?` matches it. `table_of` leaves out other
        # tables.
        pattern = shown(name).replace(",", "?")
        reader = mirror.spark.read.format("binarrow").options(**self._options, tables=pattern)
        rows = table_of(reader.load(), shown(name), structure.schema)
        mirror.set_columns(rows, structure.key, columns)
        mirror.unset_property(FILL)
        self._pending.pop(name, None)


def _lacking(own: Sequence[StructField], held: StructType, logged: Iterable[set[str]]) -> set[str]:
    """Returns columns that the target or rows lack, and that the server may have filled in.

    If the server has also dropped a column, a new column may be the renamed one.
    """
    added = [field for field in own if _find(held, field.name) is None]
    has_dropped = any(_find(own, field.name) is None for field in held.fields)
    found = {field.name for field in added if has_dropped or may_be_filled(field)}
    names = {field.name for field in own}
    for of_row in logged:
        lacking = [field for field in own if field.name not in of_row]
        found |= {field.name for field in lacking if of_row - names or may_be_filled(field)}
    return found


def _find(fields: Iterable[StructField], name: str) -> StructField | None:
    return next((field for field in fields if field.name.lower() == name.lower()), None)


__all__ = ["DROPPED", "FILL", "FilledColumns"]
