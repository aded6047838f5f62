"""Values of columns that the server filled in: the log lacks them, the server is asked.

ALTER TABLE sets a new column of existing rows to its default, and the log has only the statement.
The values are those that the server has now. If a row has changed since, its change is in the log
after the batch, and a later batch applies it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from binarrow import SchemaError
from binarrow.spark.live.options import stream_options
from binarrow.spark.mirror.changes import find
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
"""The property of a table with the columns that are still to be read."""


def columns_to_fill(
    name: Name,
    structure: Structure,
    own: Sequence[StructField],
    held: StructType,
    logged: Iterable[set[str]],
    pending: Collection[str],
) -> tuple[str, ...]:
    """Returns the columns of a table whose values are to be read from the server.

    If rows have a column that the server has dropped, another one may be this column under a new
    name. Columns that MariaDB computes are never in its log.

    Args:
        name: The table, for messages.
        structure: The table as the server has it now.
        own: Its columns, without the envelope.
        held: The columns of the target.
        logged: The sets of columns that the rows of the batch have.
        pending: The columns that were to be read when the query was killed.

    Raises:
        SchemaError: One of them is in the key, so that rows without it cannot be identified.
    """
    added = [f for f in own if find(held, f.name, is_case_sensitive=False) is None]
    has_dropped = len(held.fields) > len(own) - len(added)
    found = {f.name for f in added if has_dropped or may_be_filled(f)} | {*pending}
    names = {field.name for field in own}
    for of_row in logged:
        lacking = [field for field in own if field.name not in of_row]
        found |= {f.name for f in lacking if of_row - names or may_be_filled(f)}
    computed = {f.name for f in own if (f.metadata or {}).get(GENERATED) == "true"}
    columns = tuple(field.name for field in own if field.name in found - computed)
    in_key = [column for column in columns if column in structure.key]
    if in_key:
        raise SchemaError(
            f"{shown(name)}: the key has got the columns {', '.join(in_key)}, and rows without them"
            " cannot be identified. To continue, delete the tables of the target and its"
            " checkpoint, and start again, so that the existing rows are loaded again"
        )
    return columns


def pending_columns(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the columns that were to be read when the query was killed."""
    return tuple(json.loads(properties.get(FILL, "[]")))


class FilledColumns:
    """Reads values of columns from the server, and writes them into a mirror."""

    def __init__(self, options: Mapping[str, str]) -> None:
        left_out = {*stream_options(), "tables", "excludeTables"}
        self._options = {key: val for key, val in options.items() if canonical(key) not in left_out}

    def begin(self, mirror: TableMirror, name: Name, columns: Sequence[str]) -> None:
        """Stores in the target which columns are to be read, before they are added to it."""
        LOG.warning(
            "%s: the log does not contain the values of %s that the server filled in: they are read"
            " from the server",
            shown(name),
            ", ".join(columns),
        )
        mirror.set_property(FILL, json.dumps([*columns]))

    def fill(
        self, mirror: TableMirror, name: Name, structure: Structure, columns: Sequence[str]
    ) -> None:
        """Writes the values that the server has now, in one commit."""
        # A comma divides patterns, and `?` is any character: rows of other tables are not used.
        pattern = shown(name).replace(",", "?")
        reader = mirror.spark.read.format("binarrow").options(**self._options, tables=pattern)
        rows = table_of(reader.load(), shown(name), structure.schema)
        mirror.set_columns(rows, structure.key, columns)
        mirror.unset_property(FILL)


__all__ = ["FILL", "FilledColumns", "columns_to_fill", "pending_columns"]
