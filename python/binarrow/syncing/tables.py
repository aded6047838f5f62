"""The tables of a target, and the changes of the next commit."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from binarrow._native import BinarrowError, ChangeBatch, ConfigError, Position
from binarrow.syncing.errors import TableError
from binarrow.syncing.evolution import extended
from binarrow.syncing.names import Name, Selection, check_letter_case, shown, split
from binarrow.syncing.operations import Alter, Create, End, Operation, Record, Status, parked
from binarrow.syncing.pending import Pending
from binarrow.syncing.reduce import TIME
from binarrow.syncing.repairs import Repairs
from binarrow.syncing.rows import (
    ADDED,
    PRESENT,
    VALIDITY,
    after,
    check_complete,
    conformed,
    fits,
    stored,
)
from binarrow.syncing.structures import Structures, is_sequence
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from binarrow._native import TableSchema
    from binarrow.syncing.settings import Settings
    from binarrow.syncing.summary import SyncSummary
    from binarrow.syncing.target import Target

LOG = logging.getLogger("binarrow.sync")


class Tables:
    """The tables of a target as they are after the next commit."""

    def __init__(
        self,
        target: Target,
        settings: Settings,
        structures: Structures,
        selection: Selection,
        summary: SyncSummary,
    ) -> None:
        self.settings = settings
        self.structures = structures
        self.selection = selection
        self.summary = summary
        self.pending = Pending(settings)
        self.records: dict[Name, Record] = {}
        self.reloads: set[Name] = set()
        """Tables whose rows are to be read again after the next commit."""
        self.repairs = Repairs(self)
        self._keeping: set[Name] = set()
        """The tables of `reloads` that keep their rows. Each row is replaced when it is read."""
        self.unsettled: dict[Name, Position] = {}
        """Tables that a transaction creates which may not be complete, with the place before it."""
        self.wanted: set[Name] = set()
        """Tables that are loaded again, by the first statement after which this is possible."""
        self.misfits: set[Name] = set()
        """Tables that were read again because their rows had other columns than expected."""
        self.target = target
        self._owned: set[Name] = set()

    def restore(self, records: Mapping[Name, Record]) -> None:
        """Begins with the tables that a target has, and without changes."""
        self.records = dict(records)
        self._owned = {name for name, record in records.items() if record.is_stored}
        self.pending = Pending(self.settings)
        self.reloads.clear()
        self.repairs.clear()
        self._keeping.clear()
        self.unsettled.clear()

    def followed(self, name: Name) -> Record | None:
        """Returns a table whose changes are applied."""
        record = self.records.get(name)
        return record if record is not None and record.is_followed else None

    def name_of(self, text: str) -> Name:
        """Returns the name of a table in a foreign key, as the target has it.

        If the server ignores the letter case of names, foreign keys may have another one.
        """
        name = split(text)
        if name in self.records or not self.selection.ignores_case:
            return name
        lower = (name[0].lower(), name[1].lower())
        same = (one for one in self.records if (one[0].lower(), one[1].lower()) == lower)
        return next(same, name)

    # ---------------------------------------------------------------------------- errors

    def is_parked(self, name: Name) -> bool:
        """True if a table is not followed after an error."""
        record = self.records.get(name)
        return record is not None and record.status == "parked"

    @contextmanager
    def parking(self) -> Iterator[None]:
        """Parks a table after an error of it, if the settings permit it."""
        try:
            yield
        except BinarrowError as error:
            if error.table is None or self.settings.on_table_error == "stop":
                raise
            self.park(error.table, str(error))

    def park(self, name: Name, reason: str) -> None:
        """Ends to follow a table. The next commit contains its changes so far."""
        LOG.warning("%s is parked, other tables continue: %s", shown(name), reason)
        self.end_reload(name)
        self.unsettled.pop(name, None)
        self.records[name] = parked(self.records.get(name), name, reason)

    def forget(self, name: Name) -> None:
        """Ends to park a table."""
        if self.is_parked(name):
            record = self.records.pop(name)
            self.summary.tables.pop(name, None)
            if record.is_stored:
                self.records[name] = replace(record, status="dropped", reason="")

    # ---------------------------------------------------------------------------- changes

    def put(self, record: Record, *operations: Operation) -> None:
        """Sets the state of a table, and adds operations on it."""
        self.records[record.name] = record
        for operation in operations:
            self.pending.add(operation)

    def add_rows(self, change: ChangeBatch) -> None:
        """Adds changes of a table.

        Raises:
            TableError: The table is not known, or the target cannot hold a value.
        """
        if not self.is_parked((change.database, change.table)):
            with self.parking():
                self._add_rows(change)

    def _add_rows(self, change: ChangeBatch) -> None:
        name = (change.database, change.table)
        batch = change.to_pyarrow()
        table = change.table_schema
        if is_sequence(table):
            return
        left_out = self.structures.left_out(table)
        check_complete(name, batch, left_out)
        record = self.followed(name)
        if record is None or not fits(batch, record.schema, left_out):
            is_created = name in self.unsettled
            if record is None and not is_created:
                raise TableError(
                    name, f"{shown(name)}: the log has rows of it, and no CREATE TABLE"
                )
            self.own(name)
            if record is not None and self.settings.mode != "history" and not is_created:
                self._read_with_columns_of(batch, table, left_out)
                return
            record = self.create_as(table, self.structures.of_batch(batch, left_out))
        if record.key != table.row_key:
            self.structures.check_key(table, self.settings.mode)
            record = self.records[name] = replace(record, key=tuple(table.row_key))
        if record.loaded_version >= 0:
            batch = after(batch, record.loaded_version)
        if not self.is_emptied(name):
            self.pending.add_rows(record, conformed(name, batch, record.schema))
            self.summary.of(name).changes += batch.num_rows
            self.summary.changes += batch.num_rows
            if batch.num_rows:
                self.summary.last_change = batch.column(TIME)[-1].as_py()

    def _read_with_columns_of(
        self, batch: pa.RecordBatch, table: TableSchema, left_out: Sequence[str]
    ) -> None:
        """Reads a table again, with the columns of its rows in the log.

        Raises:
            TableError: It was read again for this reason, and no statement has altered it since.
        """
        name = (table.database, table.table)
        if self.is_emptied(name):
            return
        why = "its rows have other columns than expected"
        if name in self.misfits:
            raise TableError(
                name,
                f"{shown(name)}: {why}, also after they were read again: use another target, and"
                " report this error",
            )
        self.misfits.add(name)
        self.create_as(table, self.structures.of_batch(batch, left_out))
        self.reload(name, why)

    def reload(self, name: Name, why: str) -> None:
        """Reads the rows of a table again, after the next commit."""
        if self.settings.mode == "history":
            LOG.warning("%s: %s: the history does not contain this", shown(name), why)
            return
        if self.is_emptied(name):
            return
        LOG.warning("%s: %s: its rows are read again", shown(name), why)
        self._keeping.discard(name)
        self.reloads.add(name)

    def note_unknown(self, name: Name, columns: tuple[str, ...], added: set[str]) -> None:
        """Notes columns whose values are not known in all rows. If some are new, reads the rows.

        The table has all rows of the source. It keeps them, and their changes are applied. As in a
        load, a row is read at its place in the log, and replaces the one with its key.
        """
        self.records[name] = replace(self.records[name], unknown_columns=columns)
        if name in self.reloads or not added & {*columns}:
            return
        LOG.warning(
            "%s: the log does not contain the values of %s in existing rows: the rows are read"
            " again by key, and have NULL in these columns until then",
            shown(name),
            ", ".join(columns),
        )
        self._keeping.add(name)
        self.reloads.add(name)

    def begin_loads(self, names: Iterable[Name]) -> None:
        """Loads tables from their first rows, after the next commit.

        If the values of a column are not known, the table has all other values, and keeps its rows.
        """
        found = {name for name in names if self.followed(name)}
        self.reloads |= found
        self._keeping |= {name for name in found if self.records[name].unknown_columns}

    def end_reload(self, name: Name) -> None:
        """Notes that the rows of a table are not read again after the next commit."""
        self.reloads.discard(name)
        self._keeping.discard(name)

    def is_emptied(self, name: Name) -> bool:
        """True if the next commit removes the rows of a table and begins to load it."""
        return name in self.reloads and name not in self._keeping

    # ---------------------------------------------------------------------------- tables

    def create(self, name: Name, position: Position) -> None:
        """Creates a table in the target as it is at a position."""
        table = self.structures.find(name, position)
        if table is None:
            raise TableError(name, f"the history has no table {shown(name)}")
        self.own(name)
        self.create_as(table, self.structures.columns(table, position))

    def create_as(self, table: TableSchema, schema: pa.Schema) -> Record:
        """Creates a table in the target, which replaces one with the name.

        A history of changes keeps its rows, and gets more columns.
        """
        import pyarrow as pa

        name = (table.database, table.table)
        self.structures.check_key(table, self.settings.mode)
        taken = {column.lower() for column in schema.names} & {*ADDED, PRESENT, *VALIDITY}
        if taken:
            raise TableError(
                name,
                f"{shown(name)} has a column {min(taken)}, which is the name of a column of the"
                " envelope: leave the table out",
            )
        known = self.records.get(name)
        dropped: tuple[str, ...] = ()
        if known is not None and known.is_stored and self.settings.mode != "mirror":
            columns = extended(known.schema, schema)
            if columns is None:
                raise TableError(
                    name,
                    f"{shown(name)} has a column of a type to which the earlier values of the"
                    " history cannot be converted: use another target",
                )
            if self.settings.mode == "scd2":
                own = {column.lower() for column in schema.names}
                dropped = tuple(one for one in known.schema.names if one.lower() not in own)
            schema = pa.schema([column.field for column in columns])
            wanted = (self._stored(known.schema), self._stored(schema))
            operation: Operation = Alter(name, extended(*wanted) or ())
        else:
            operation = Create(name, self._stored(schema))
            self._keeping.discard(name)
        again = known.read_again_from if known is not None else -1
        key = tuple(table.row_key)
        record = Record(name, schema, key, dropped_columns=dropped, read_again_from=again)
        self.put(record, operation)
        return record

    def own(self, name: Name) -> None:
        """Checks that a table of the name may be created in the target.

        Raises:
            TableError: Another tool has created it.
        """
        if name not in self._owned:
            stored = {one for one, record in self.records.items() if record.is_stored}
            try:
                check_letter_case({*stored, name})
            except ConfigError as error:
                raise TableError(name, str(error)) from None
            self.target.check_free([name])
            self._owned.add(name)

    def _stored(self, schema: pa.Schema) -> pa.Schema:
        return stored(self.settings.mode, schema)

    # ---------------------------------------------------------------------------- commits

    def settle(self, position: Position) -> None:
        """Creates tables without rows whose statement was in a transaction that is complete."""
        for name, before in list(self.unsettled.items()):
            if position.base == before:
                continue
            del self.unsettled[name]
            if not self.followed(name) and self.structures.find(name, position):
                with self.parking():
                    self.create(name, position)

    def end_loads(self, position: Position) -> None:
        """Ends loads that are complete: versions of rows that were not found are not current."""
        self.repairs.prepare(position)
        loading = {*(position.loading or ()), *map(shown, self.reloads)}
        self.wanted = {
            one for one in self.wanted if not self.followed(one) or shown(one) in loading
        }
        for name, record in list(self.records.items()):
            start, is_loaded = record.read_again_from, shown(name) not in loading
            if is_loaded and record.unknown_columns and record.status != "incomplete":
                self.records[name] = replace(record, unknown_columns=())
            if start >= 0 and record.is_followed and is_loaded:
                time = self.summary.last_change or datetime.now(UTC)
                self.put(
                    replace(record, read_again_from=-1),
                    End(name, time, version_before(position), start),
                )

    def defer_loads(self) -> None:
        """Notes in the target which tables are still to be loaded."""
        for name in sorted(self.reloads):
            record = self.followed(name)
            if record is not None and (record.status != "incomplete" or record.lacks_deletes):
                self.put(replace(record, status="incomplete", lacks_deletes=False))

    def loads(self, position: Position, existing: Iterable[Name]) -> list[Name]:
        """Returns the tables to load now. Empties those of a mirror that do not keep their rows.

        The current versions of rows end when they are read, or when all others were read.
        A table that does not exist any more is incomplete until a statement renames or drops it.
        """
        names = sorted(name for name in self.reloads if self.followed(name))
        kept = {*self._keeping}
        self.reloads.clear()
        self._keeping.clear()
        found = set(existing)
        for name in names:
            record = self.records[name]
            self.summary.of(name).loads += name in found
            is_complete = name in found and not self.repairs.has(name)
            status: Status = "followed" if is_complete else "incomplete"
            is_emptied = self.settings.mode == "mirror" and name not in kept
            operations = [Create(name, record.schema)] if is_emptied else []
            if self.settings.mode == "scd2":
                record = replace(record, read_again_from=version_before(position))
            lacks_deletes = self.repairs.lacks_deletes(name)
            self.put(replace(record, status=status, lacks_deletes=lacks_deletes), *operations)
        return [name for name in names if name in found]


__all__ = ["Tables"]
