"""Tables that are loaded again: their rows are read from the server before the query starts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from binarrow.spark.mirror.changes import Changes
from binarrow.spark.mirror.columns import compare
from binarrow.spark.syncing.history import append_rows
from binarrow.spark.syncing.parked import value_errors
from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pyspark.sql import SparkSession

    from binarrow.spark.syncing.column_changes import ColumnChanges
    from binarrow.spark.syncing.filled_columns import FilledColumns
    from binarrow.spark.syncing.parked import ParkedTables
    from binarrow.spark.syncing.policies import Policies
    from binarrow.spark.syncing.table import Table
    from binarrow.spark.syncing.tables import Tables

LOG = logging.getLogger("binarrow.spark")


class Reload:
    """Loads tables again.

    If the program is killed meanwhile, a parked table stays parked: it is released after its rows
    and the version that they contain are stored.
    """

    def __init__(
        self,
        tables: Tables,
        filled: FilledColumns,
        policies: Policies,
        parked: ParkedTables,
        column_changes: ColumnChanges,
    ) -> None:
        self._tables = tables
        self._filled = filled
        self._policies = policies
        self._parked = parked
        self._column_changes = column_changes

    def __call__(self, spark: SparkSession, names: Iterable[Name], query: str) -> None:
        """Writes the rows that the server has now into the tables of the target.

        Raises:
            TableError, SchemaError: A table cannot be loaded.
        """
        time = self._tables.now()  # before the version of the rows
        for table in self._tables.to_reload(spark, names, query):
            _check(table)
            with value_errors(table.name):
                self._write(table, time)
            if self._policies.mode == "mirror":
                self._tables.accept_rows(table)
            self._column_changes.accept(table)
            self._parked.release(table.name)
            LOG.warning("%s was loaded again", shown(table.name))

    def _write(self, table: Table, time: datetime) -> None:
        name, mirror, structure = table.name, table.mirror, table.structure
        if self._policies.mode == "history":
            append_rows(mirror, self._filled.rows(mirror, name, structure))
            return
        self._filled.begin(mirror, name, table.own, table.held().fields, None)
        if self._policies.mode == "scd2":
            self._filled.read_versions(mirror, name, structure, time)
            return
        mirror.evolve(compare(mirror.name, table.held(), _without_rows(table), "null"))
        names = [field.name for field in table.own]
        self._filled.read_again(mirror, name, structure, names)


def _check(table: Table) -> None:
    """Checks that the rows of a table can be read again.

    Raises:
        TableError: They cannot.
    """
    name, structure = table.name, table.structure
    if not structure.key:  # of a history
        raise TableError(
            name, f"{shown(name)} has no key and cannot be loaded again: use another target"
        )
    if structure.version < 0:
        raise TableError(
            name,
            f"{shown(name)} cannot be loaded again, because it is not known which changes SELECT"
            " sees: name one host in the URL, and grant the privileges that a load needs, or use a"
            " new target",
        )


def _without_rows(table: Table) -> Changes:
    """Returns the columns of a table as changes without rows."""
    frame = table.mirror.spark.createDataFrame([], table.structure.schema)
    return Changes.of(frame, table.structure.key, "_")


__all__ = ["Reload"]
