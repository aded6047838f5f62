"""The tables of a target: they are created, checked and dropped before a batch is written."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql.types import StructField, StructType

from binarrow.spark.mirror.table import TableMirror
from binarrow.spark.syncing.properties import (
    check_version,
    decoded,
    encoded,
    read_properties,
    written_version,
)
from binarrow.spark.syncing.structures import Structure, Structures
from binarrow.spark.syncing.table import ENVELOPE, Table
from binarrow.spark.syncing.versions import VALIDITY_FIELDS, has_versions_since
from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, check_letter_case, shown, split
from binarrow.syncing.rows import VALIDITY

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import SparkSession

    from binarrow.spark.syncing.column_changes import ColumnChanges
    from binarrow.spark.syncing.filled_columns import FilledColumns
    from binarrow.spark.syncing.parked import ParkedTables
    from binarrow.spark.syncing.place import Place
    from binarrow.spark.syncing.policies import Policies

LOG = logging.getLogger("binarrow.spark")

QUERY = "binarrow.sync.query"
"""The property of a table with the id of the query that writes it."""

NAME = "binarrow.sync.table"
"""The property of a table with its name on the server. Its name in the target may differ."""

KEY = "binarrow.sync.key"
"""The property of a table with the columns of the key that identifies its rows. If a mirror gets
another key, all its rows are read again. After a DROP TABLE, the server no longer has the key, and
the versions of rows before the statement must still be written."""


TABLE_DROPPED = "binarrow.sync.table_dropped"
"""The property of a table of a mirror that the server has dropped, and that the target keeps."""


class Tables:
    """The tables that exist in the target, and belong to this query."""

    def __init__(
        self,
        place: Place,
        structures: Structures,
        filled: FilledColumns,
        policies: Policies,
        parked: ParkedTables,
        column_changes: ColumnChanges,
    ) -> None:
        self._place = place
        self._structures = structures
        self._filled = filled
        self._policies = policies
        self._parked = parked
        self._column_changes = column_changes
        self._has_versions = policies.mode == "scd2"
        self.created: set[Name] = set()
        self._keys: dict[Name, tuple[str, ...]] = {}
        self._dropped_tables: set[Name] = set()
        self.is_first = True
        """True in the first batch, which also creates the tables without changes."""

    def of_database(self, spark: SparkSession, database: str, query: str) -> set[Name]:
        """Returns the tables of a database that this query has created."""
        found = {name for name in self.created if name[0] == database}
        for target in self._place.tables(spark, database):
            properties = read_properties(spark, target, self._place.format)
            check_version(properties, target)
            named = decoded(properties, NAME)
            if properties.get(QUERY) == query and named is not None:
                found.add(split(str(named)))
        return found

    def opened(self, spark: SparkSession, changed: set[Name], query: str) -> Iterator[Table]:
        """Creates or checks each table of a batch, and then yields it."""
        self._parked.begin(query)
        names = changed | set(self._structures.selected()) if self.is_first else changed
        names = {name for name in names if not self._parked.has(name)}
        check_letter_case(names | self.created)
        structures = self._structures.of(names)
        for name in sorted(names):
            table = None
            with self._parked.parking(name):
                structure = structures.get(name)
                table = self._opened(spark, name, structure, query)
            if table is not None:
                yield table

    def now(self) -> datetime:
        """Returns the time of the server."""
        return self._structures.now()

    def to_reload(self, spark: SparkSession, names: Iterable[Name], query: str) -> Iterator[Table]:
        """Creates or checks each table that is loaded again, also a parked one, and then yields it.

        Raises:
            TableError: It cannot be loaded.
        """
        self._parked.begin(query)
        found = self._structures.of(names)
        check_letter_case({*found})
        for name, structure in sorted(found.items()):
            table = self._opened(spark, name, structure, query)
            if table is not None:
                yield table

    def _opened(
        self, spark: SparkSession, name: Name, structure: Structure | None, query: str
    ) -> Table | None:
        properties = {QUERY: query, NAME: encoded(shown(name)), **written_version()}
        properties |= self._column_changes.properties(structure)
        if structure is not None and self._policies.needs_key:
            properties[KEY] = encoded(structure.key)
        mirror = TableMirror(spark, self._place.table(name), self._place.format, properties)
        if structure is None:
            return self._dropped(name, mirror)
        self._check(name, structure)
        self._begin(name, structure, mirror)
        return Table(name, structure, mirror, has_versions=self._has_versions)

    def _check(self, name: Name, structure: Structure) -> None:
        if not structure.key and self._policies.needs_key:
            raise TableError(
                name,
                f"mode={self._policies.mode!r} needs a key, and there is none in {shown(name)}: add"
                " a primary key to the table, leave it out with exclude_tables, or use"
                " mode='history'",
            )
        if self._has_versions:
            names = {field.name.lower() for field in structure.schema.fields}
            taken = sorted(names.intersection(VALIDITY))
            if taken:
                raise TableError(
                    name,
                    f"{shown(name)} has a column {taken[0]}, which is the name of a column that"
                    " mode='scd2' adds: leave the table out with exclude_tables",
                )

    def _begin(self, name: Name, structure: Structure, mirror: TableMirror) -> None:
        """Creates a table, or checks that this query has created it."""
        if name not in self.created:
            if mirror.schema() is None:
                self._place.create_namespace(mirror.spark, name[0])
                mirror.create(_plain(self._fields(structure)))
                self._dropped_tables.discard(name)
                self._column_changes.restore(name, mirror.properties)
                self._keys[name] = structure.key
            else:
                self._restore(name, mirror)
            self.created.add(name)
        # A mirror's rows have the earlier key until they are read again.
        if self._has_versions or (self._policies.needs_key and name not in self._keys):
            self._store_key(name, structure, mirror)

    def has_other_key(self, table: Table) -> bool:
        """True if the rows in the target were identified by another key than the server's."""
        held = self._keys.get(table.name, table.structure.key)
        return {one.lower() for one in held} != {one.lower() for one in table.structure.key}

    def was_dropped(self, table: Table) -> bool:
        """True if the target has kept the rows of a table that the server had dropped."""
        return table.name in self._dropped_tables

    def accept_rows(self, table: Table) -> None:
        """Stores that the rows in the target are those of the server's table, with its key."""
        self._store_key(table.name, table.structure, table.mirror)
        if table.name in self._dropped_tables:
            table.mirror.unset_property(TABLE_DROPPED)
            self._dropped_tables.discard(table.name)

    def _store_key(self, name: Name, structure: Structure, mirror: TableMirror) -> None:
        if self._keys.get(name) != structure.key:
            mirror.set_property(KEY, encoded(structure.key))
            self._keys[name] = structure.key

    def _restore(self, name: Name, mirror: TableMirror) -> None:
        """Reads the state of a table, after a check that this query has created it."""
        properties = read_properties(mirror.spark, mirror.name, mirror.format)
        check_version(properties, mirror.name)
        if properties.get(QUERY) != mirror.properties[QUERY]:
            raise TableError(
                name,
                f"the target has a table {mirror.name} that another program or another query has"
                " created: delete it, or choose another target; if this sync has created it, use"
                " the checkpoint of the earlier runs",
            )
        self._filled.restore(name, properties)
        if self._has_versions:
            self._filled.restore_read(name, properties, partial(has_versions_since, mirror))
        self._column_changes.restore(name, properties)
        if decoded(properties, TABLE_DROPPED, default=False):
            self._dropped_tables.add(name)
        key = decoded(properties, KEY)
        self._keys.pop(name, None)
        if key is not None:
            self._keys[name] = tuple(key)

    def _fields(self, structure: Structure) -> list[StructField]:
        """The columns of the target."""
        fields = structure.schema.fields
        if self._policies.mode == "history":
            return list(fields)
        own = [field for field in fields if field.name not in ENVELOPE]
        return [*own, *VALIDITY_FIELDS] if self._has_versions else own

    def _dropped(self, name: Name, mirror: TableMirror) -> Table | None:
        """Applies the policy for a table that the server does not have any more.

        Returns the table if its changes before the statement are to be written.
        """
        if mirror.schema() is None:
            LOG.warning("the server has no table %s any more: it is not copied", shown(name))
            return None
        if name not in self.created:
            self._restore(name, mirror)
        self.created.discard(name)
        policies = self._policies
        if policies.on_drop == "fail":
            raise TableError(
                name, f"{shown(name)} was dropped: continue with on_drop='keep' or 'drop'"
            )
        if policies.on_drop == "drop" and policies.mode == "mirror":
            LOG.warning("%s was dropped: it is dropped in the target too", shown(name))
            self._place.drop(mirror.spark, name)
            return None
        if policies.mode == "mirror":
            LOG.warning(
                "%s was dropped: the target keeps the rows of the previous batch", shown(name)
            )
            if name not in self._dropped_tables:
                mirror.set_property(TABLE_DROPPED, encoded(True))  # noqa: FBT003 - the value of a property
                self._dropped_tables.add(name)
            return None
        LOG.warning("%s was dropped: its rows stay in the target", shown(name))
        known = Structure(StructType(), self._keys.get(name, ()))
        table = Table(name, known, mirror, has_versions=self._has_versions, is_dropped=True)
        return replace(table, structure=replace(known, schema=table.held()))


def _plain(fields: Iterable[StructField]) -> StructType:
    return StructType([StructField(field.name, field.dataType) for field in fields])


__all__ = ["KEY", "QUERY", "TABLE_DROPPED", "Tables"]
