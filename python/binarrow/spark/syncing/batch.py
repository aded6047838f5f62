"""Applies a batch of several tables: one commit of each table that it changes.

A batch may be applied again after a crash, which may have been between the commits of two tables.
So each table ignores what it already has. In a mirror, the latest change of each key is merged by
the key. In a history, the commit contains the number of the batch, and is not repeated.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from binarrow import SchemaError
from binarrow.spark.mirror.apply import apply_changes
from binarrow.spark.mirror.changes import Changes
from binarrow.spark.mirror.columns import compare
from binarrow.spark.mirror.table import TableMirror
from binarrow.spark.nested_json import table_of
from binarrow.spark.syncing.documents import Documents, Moment, summarize
from binarrow.spark.syncing.filled_columns import FilledColumns
from binarrow.spark.syncing.history import append
from binarrow.spark.syncing.structures import Structure, Structures
from binarrow.syncing.errors import SyncError
from binarrow.syncing.names import Name, check_letter_case, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

    from binarrow.spark.syncing.place import Place

LOG = logging.getLogger("binarrow.spark")

QUERY = "binarrow.sync.query"
"""The property of a table with the id of the query that writes it."""


class BatchWriter:
    """The function for ``foreachBatch`` that writes the tables of a batch."""

    def __init__(
        self,
        place: Place,
        structures: Structures,
        filled: FilledColumns,
        mode: Literal["mirror", "history"],
        schema_changes: Literal["follow", "fail"],
        *,
        loads: bool,
    ) -> None:
        self._place = place
        self._structures = structures
        self._filled = filled
        self._mode = mode
        self._schema_changes = schema_changes
        self._missing_rows: Literal["error", "ignore"] = "ignore" if loads else "error"
        self._created: set[Name] = set()
        """The tables that exist in the target, and belong to this query."""
        self._is_first = True

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Writes the changes of a batch."""
        frame.persist()  # otherwise each table reads the log again
        try:
            self._write(frame, batch_id)
        finally:
            frame.unpersist()

    def _write(self, frame: DataFrame, batch_id: int) -> None:
        query = query_of(frame)
        found, dropped = summarize(frame)
        names = {*found, *(name for name in self._created if name[0] in dropped)}
        for name, structure, mirror in self._opened(frame.sparkSession, names, query):
            documents = found.get(name) or Documents(emptied=dropped.get(name[0]))
            is_changed = documents.rows or documents.emptied is not None
            if is_changed or (self._is_first and self._mode == "mirror"):
                table = Table(name, structure, documents, mirror)
                self._write_table(frame, table, query, batch_id)
        self._is_first = False

    def _opened(
        self, spark: SparkSession, changed: set[Name], query: str
    ) -> Iterator[tuple[Name, Structure, TableMirror]]:
        """Creates or checks each table of a batch, and then yields it."""
        names = changed | set(self._structures.selected()) if self._is_first else changed
        check_letter_case(names | self._created)
        structures = self._structures.of(names)
        self._check_keys(structures)
        for name in sorted(names):
            structure = structures.get(name)
            if structure is None:
                LOG.warning(
                    "the server has no table %s any more: the target keeps the rows of the batch"
                    " before",
                    shown(name),
                )
                continue
            yield name, structure, self._begin(spark, name, structure, query)

    def _check_keys(self, structures: dict[Name, Structure]) -> None:
        keyless = sorted(shown(name) for name, structure in structures.items() if not structure.key)
        if keyless and self._mode == "mirror":
            raise SyncError(
                f"mode='mirror' needs a key, and there is none in {', '.join(keyless)}: add a"
                " primary key to the table, leave it out with exclude_tables, or use mode='history'"
            )

    def _begin(
        self, spark: SparkSession, name: Name, structure: Structure, query: str
    ) -> TableMirror:
        """Creates a table, or checks that this query has created it."""
        target = self._place.table(name)
        mirror = TableMirror(spark, target, self._place.format, {QUERY: query})
        if name in self._created:
            return mirror
        if mirror.schema() is None:
            self._place.create_namespace(spark, name[0])
            mirror.create(_plain(self._fields(structure)))
        else:
            rows = spark.sql(f"SHOW TBLPROPERTIES {target}").collect()
            properties = {row.key: row.value for row in rows}
            if properties.get(QUERY) != query:
                raise SyncError(
                    f"the target has a table {target} that another program or another query has"
                    " created: delete it, or choose another target; if it is of this sync, use the"
                    " checkpoint of the earlier runs"
                )
            self._filled.restore(name, properties)
        self._created.add(name)
        return mirror

    def _fields(self, structure: Structure) -> list[StructField]:
        """The columns of the target."""
        if self._mode == "history":
            return list(structure.schema.fields)
        return _own(structure.schema)

    def _write_table(self, frame: DataFrame, table: Table, query: str, batch_id: int) -> None:
        mirror, structure = table.mirror, table.structure
        schema = structure.schema
        known = self._known(table)
        if self._mode == "history":
            rows = table_of(frame, shown(table.name), known)
            append(mirror, rows, query, batch_id)
            return
        rows = table_of(_from(frame, table.documents.emptied), shown(table.name), schema)
        held, own, documents = mirror.schema(), _own(schema), table.documents
        assert held is not None  # noqa: S101 - it was created
        columns = self._filled.begin(mirror, table.name, structure, own, documents.columns)
        mirror.evolve(compare(mirror.name, held, Changes.of(rows, structure.key, "_"), "null"))
        apply = apply_changes(
            mirror.name,
            structure.key,
            format=self._place.format,
            missing_columns="null",
            missing_rows=self._missing_rows,
            properties=mirror.properties,
        )
        if documents.rows or documents.emptied is not None:
            apply(rows, batch_id)
        if columns:
            self._filled.fill(mirror, table.name, structure, columns)

    def _known(self, table: Table) -> StructType:
        """Returns the columns of a table's changes.

        Raises:
            SchemaError: They differ from those of the target in a way that is not supported.
        """
        held = table.mirror.schema()
        assert held is not None  # noqa: S101 - it was created
        if self._schema_changes == "fail":
            _check_unchanged(table.name, _own(table.structure.schema), held)
        if self._mode == "history":
            return table.with_dropped_columns(held)
        return table.structure.schema


def query_of(frame: DataFrame) -> str:
    """Returns the id of the streaming query of a batch."""
    return str(frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))


class Table:
    """A table of a batch."""

    def __init__(
        self, name: Name, structure: Structure, documents: Documents, mirror: TableMirror
    ) -> None:
        self.name = name
        self.structure = structure
        self.documents = documents
        self.mirror = mirror

    def with_dropped_columns(self, held: StructType) -> StructType:
        """Returns the structure with the columns of rows that the server has dropped since.

        Raises:
            SchemaError: The target does not have one of them, so that its type is not known.
        """
        from pyspark.sql.types import StructType

        own = _own(self.structure.schema)
        names = {field.name for field in own}
        dropped = sorted(set().union(*self.documents.columns) - names)
        of_target = {field.name: field for field in held.fields}
        unknown = [column for column in dropped if column not in of_target]
        if unknown:
            raise SchemaError(
                f"{shown(self.name)}: rows in the log have the columns {', '.join(unknown)}, which"
                " the server has dropped or renamed before they were read, so that their types are"
                " not known: add the columns to the target, or leave the table out with"
                " exclude_tables"
            )
        envelope = [field for field in self.structure.schema if field.name not in names]
        return StructType([*own, *(of_target[column] for column in dropped), *envelope])


def _check_unchanged(name: Name, own: Iterable[StructField], held: StructType) -> None:
    fields = {field.name: field.dataType.simpleString() for field in held.fields}
    new = [f.name for f in own if fields.get(f.name) != f.dataType.simpleString()]
    if new:
        raise SchemaError(
            f"{shown(name)}: columns were added or have other types: {', '.join(new)}. With"
            " schema_changes='follow' they are applied to the target"
        )


def _from(frame: DataFrame, emptied: Moment | None) -> DataFrame:
    """Returns the changes from the last statement that empties the table on.

    Rows before it may have been logged by a table of another structure.
    """
    if emptied is None:
        return frame
    version, ordinal = emptied
    place = "struct(_commit_version, _change_ordinal)"
    return frame.where(f"{place} >= struct({version}L, {ordinal}L)")


def _own(schema: StructType) -> list[StructField]:
    """The columns of the table, without the envelope."""
    from binarrow.options import ENVELOPE_COLUMNS

    envelope = {f"_{name}" for name in ENVELOPE_COLUMNS}
    return [field for field in schema.fields if field.name not in envelope]


def _plain(fields: Iterable[StructField]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType) for field in fields])


__all__ = ["QUERY", "BatchWriter", "Table", "query_of"]
