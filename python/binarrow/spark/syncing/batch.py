"""Applies a batch of several tables: one commit of each table that it changes.

A batch may be applied again after a crash, which may have been between the commits of two tables.
So each table ignores what it already has. In a mirror, the latest change of each key is merged by
the key. In a history, and in a table with versions of rows, the commit contains the number of the
batch, and is not repeated.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pyspark.sql.functions import expr

from binarrow.spark.mirror.apply import apply_changes
from binarrow.spark.mirror.changes import Changes
from binarrow.spark.mirror.columns import compare
from binarrow.spark.nested_json import table_of
from binarrow.spark.syncing.documents import Documents, Moment, summarize
from binarrow.spark.syncing.history import append
from binarrow.spark.syncing.spellings import rows_of
from binarrow.spark.syncing.table import Table
from binarrow.spark.syncing.tables import Tables
from binarrow.spark.syncing.versions import IS_CURRENT, write_versions
from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from binarrow.spark.syncing.column_changes import ColumnChanges
    from binarrow.spark.syncing.filled_columns import FilledColumns
    from binarrow.spark.syncing.parked import ParkedTables
    from binarrow.spark.syncing.policies import Policies


LOG = logging.getLogger("binarrow.spark")


class BatchWriter:
    """The function for ``foreachBatch`` that writes the tables of a batch."""

    def __init__(
        self,
        tables: Tables,
        filled: FilledColumns,
        policies: Policies,
        parked: ParkedTables,
        column_changes: ColumnChanges,
        *,
        loads: bool,
        query_name: str | None = None,
    ) -> None:
        self._tables = tables
        self._filled = filled
        self._policies = policies
        self._parked = parked
        self._column_changes = column_changes
        self._query_name = query_name
        self._missing_rows: Literal["error", "ignore"] = "ignore" if loads else "error"

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Writes the changes of a batch."""
        frame.persist()  # otherwise each table reads the log again
        try:
            self._write(frame, batch_id)
        finally:
            frame.unpersist()

    def _write(self, frame: DataFrame, batch_id: int) -> None:
        query = query_of(frame, self._query_name)
        batch = summarize(frame)
        spark, names = frame.sparkSession, batch.tables
        for database in batch.dropped:
            names |= self._tables.of_database(spark, database, query)
        for table in self._tables.opened(spark, names, query):
            with self._parked.parking(table.name):
                version = self._filled.version(table.name, table.structure)
                documents = batch.of(table.name, version)
                rows = frame.where(f"_commit_version > {version}L") if version >= 0 else frame
                if documents is not None and self._tables.was_dropped(table):
                    documents = documents.from_creation()
                    rows = _with_truncate(rows, documents.emptied)
                documents = self._permitted(table, documents)
                if documents is not None and documents.emptied is None:
                    rows = rows.where("_op <> 't'")  # of a policy
                match self._policies.mode:
                    case "mirror":
                        self._write_mirror(rows, table, documents, batch_id)
                    case "scd2" if documents is not None:
                        self._write_versions(rows, table, documents, query, batch_id)
                    case "history" if documents is not None:
                        changes = self._typed(rows, table, documents)
                        append(table.mirror, changes, query, batch_id)
        self._tables.is_first = False

    def _permitted(self, table: Table, documents: Documents | None) -> Documents | None:
        """Applies the policy for a statement that empties a table.

        Raises:
            TableError: The policy does not permit it.
        """
        if documents is None or documents.emptied is None or table.is_dropped:
            return documents
        if self._policies.on_truncate == "fail":
            raise _emptied(table.name)
        if self._policies.on_truncate == "keep":
            return documents.without_statements()
        return documents

    def _write_mirror(
        self, frame: DataFrame, table: Table, documents: Documents | None, batch_id: int
    ) -> None:
        if documents is None and not self._tables.is_first:
            return
        mirror, structure, own = table.mirror, table.structure, table.own
        held = table.held()
        self._column_changes.check(table, documents)
        columns = self._filled.begin(mirror, table.name, own, held.fields, documents)
        rows = table_of(_from(frame, documents), shown(table.name), structure.schema)
        mirror.evolve(compare(mirror.name, held, Changes.of(rows, structure.key, "_"), "null"))
        if self._read_again(frame, table, documents, columns, batch_id):
            self._tables.accept_rows(table)
            return
        in_key = [column for column in columns if column in structure.key]
        if in_key:
            raise _added_to_key(table.name, in_key)
        if documents is not None:
            self._apply(table, rows, batch_id)
        if columns:
            self._filled.fill(mirror, table.name, structure, columns)
        self._tables.accept_rows(table)

    def _read_again(
        self,
        frame: DataFrame,
        table: Table,
        documents: Documents | None,
        columns: Sequence[str],
        batch_id: int,
    ) -> bool:
        """Reads the rows of a mirror from the server, if the log does not contain all values.

        Args:
            frame: The changes of the batch.
            table: The table.
            documents: Its changes; None if there are none.
            columns: The columns that are to be read.
            batch_id: The number of the batch.

        Returns:
            True if the rows were read. They contain the changes of the batch.

        Raises:
            TableError: The rows of the server may lack changes of the batch.
        """
        mirror, structure = table.mirror, table.structure
        is_covered = documents is None or documents.last[0] <= structure.version
        has_other_key = self._tables.has_other_key(table)
        is_other = has_other_key or self._was_dropped(table, documents)
        if is_other and (structure.version < 0 or not is_covered):
            raise _other_table(table)
        statements = () if documents is None else documents.alterations
        changes_rows = any(one.changes_rows for one in statements)
        if changes_rows and not is_covered:
            raise _other_rows(table.name)
        names = [field.name for field in table.own]
        if self._policies.on_truncate == "keep":
            if has_other_key:
                raise _other_key_of_kept(table)
            if changes_rows:
                key = table.of_key()
                self._apply(table, table_of(frame, shown(table.name), key), batch_id)
                self._filled.add_rows(mirror, table.name, structure, names)
            return changes_rows
        if not is_covered or not (columns or changes_rows or is_other):
            return False
        self._filled.read_again(mirror, table.name, structure, names)
        return True

    def _apply(self, table: Table, rows: DataFrame, batch_id: int) -> None:
        """Merges changes into a mirror."""
        mirror = table.mirror
        apply = apply_changes(
            mirror.name,
            table.structure.key,
            format=mirror.format,
            missing_columns="null",
            missing_rows=self._missing_rows,
            properties=mirror.properties,
        )
        apply(rows, batch_id)

    def _was_dropped(self, table: Table, documents: Documents | None) -> bool:
        """True if the target has rows of a dropped table that are to be replaced.

        Raises:
            TableError: The policy for statements that empty a table does not permit it.
        """
        is_emptied = documents is not None and documents.emptied is not None
        if not self._tables.was_dropped(table) or is_emptied:
            return False
        if self._policies.on_truncate == "fail":
            raise _emptied(table.name)
        return self._policies.on_truncate == "apply"

    def _write_versions(
        self, frame: DataFrame, table: Table, documents: Documents, query: str, batch_id: int
    ) -> None:
        mirror, structure, name = table.mirror, table.structure, table.name
        held = table.held()
        changes = self._typed(frame, table, documents)
        columns: tuple[str, ...] = ()
        if not table.is_dropped:
            columns = self._filled.begin(mirror, name, table.own, held.fields, documents)
        in_key = [column for column in columns if column in structure.key]
        if in_key:
            raise _added_to_key(name, in_key)
        write_versions(mirror, changes, structure.key, query, batch_id)
        if columns:
            self._filled.fill(mirror, name, structure, columns, IS_CURRENT)

    def _typed(self, frame: DataFrame, table: Table, documents: Documents) -> DataFrame:
        """Returns the changes of a table with the columns of :meth:`known`."""
        known = self.known(table, documents)
        spellings = table.spellings(shape for shape, _ in documents.shapes)
        return rows_of(frame, shown(table.name), known, spellings)

    def known(self, table: Table, documents: Documents) -> StructType:
        """Returns the columns of a table's changes, also of those that the server has dropped.

        Args:
            table: The table.
            documents: Its changes.

        Raises:
            SchemaError: The columns differ from those of the target in a way that is not supported,
                or a statement changes values of existing rows.
        """
        permitted = self._column_changes.check(table, documents)
        if any(one.changes_rows and one not in permitted for one in documents.altered):
            raise _other_rows(table.name)
        return table.with_dropped_columns(shape for shape, _ in documents.shapes)


def _other_rows(name: Name) -> TableError:
    return TableError(
        name,
        f"a statement such as ALTER TABLE changes values or replaces rows of table {shown(name)},"
        " and the log does not contain the new rows: copy the table into a new target",
    )


def _emptied(name: Name) -> TableError:
    return TableError(
        name, f"{shown(name)} was emptied: continue with on_truncate='apply' or 'keep'"
    )


def _other_table(table: Table) -> TableError:
    name = shown(table.name)
    return TableError(
        table.name,
        f"{name} was created again, or its key was changed (now {', '.join(table.structure.key)})."
        " The rows cannot be read again, because it is not known which changes SELECT sees. To"
        " continue, name one host in the URL, grant the privileges that a load needs, and use"
        f" reload={name!r}; or use a new target",
    )


def _other_key_of_kept(table: Table) -> TableError:
    name = shown(table.name)
    return TableError(
        table.name,
        f"{name} has another key now: {', '.join(table.structure.key)}. With on_truncate='keep', it"
        " is not known which rows the server has deleted. To continue without the rows that were"
        f" kept, load the table again with reload={name!r}",
    )


def _added_to_key(name: Name, columns: list[str]) -> TableError:
    return TableError(
        name,
        f"{shown(name)}: the columns {', '.join(columns)} were added to the key, and rows without"
        " them cannot be identified. To continue, delete the tables of the target and its"
        " checkpoint, and start again, so that the existing rows are loaded again",
    )


def query_of(frame: DataFrame, name: str | None) -> str:
    """Returns the id of the streaming query of a batch.

    Args:
        frame: The batch.
        name: The name of the query. Only Spark Connect needs it: there, a batch does not contain
            the id of its query.
    """
    spark = frame.sparkSession
    if name is None:
        return str(spark.sparkContext.getLocalProperty("sql.streaming.queryId"))
    [query] = [each for each in spark.streams.active if each.name == name]
    return str(query.id)


def _with_truncate(frame: DataFrame, place: Moment | None) -> DataFrame:
    """Returns changes in which a CREATE TABLE at a place empties the table."""
    if place is None:
        return frame
    version, ordinal = place
    is_it = f"(_op = 'a' AND _commit_version = {version}L AND _change_ordinal = {ordinal}L)"
    return frame.withColumns(
        {
            "_op": expr(f"if({is_it}, 't', _op)"),
            "after": expr(f"if({is_it}, NULL, after)"),
        }
    )


def _from(frame: DataFrame, documents: Documents | None) -> DataFrame:
    """Returns the changes from the last statement that empties the table on.

    Rows before it may have been logged by a table of another structure.
    """
    if documents is None or documents.emptied is None:
        return frame
    version, ordinal = documents.emptied
    place = "struct(_commit_version, _change_ordinal)"
    return frame.where(f"{place} >= struct({version}L, {ordinal}L)")


__all__ = ["BatchWriter", "query_of"]
