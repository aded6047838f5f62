"""Applies statements of the source to the target: CREATE, ALTER, RENAME, TRUNCATE, DROP."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from binarrow._native import Position, SchemaChange, Truncate
from binarrow.advice import message
from binarrow.syncing.errors import TableError
from binarrow.syncing.evolution import Columns, evolved, extended, retained
from binarrow.syncing.names import Name, shown, split
from binarrow.syncing.operations import (
    Alter,
    Append,
    Clear,
    Drop,
    End,
    NewColumn,
    Record,
    Rename,
)
from binarrow.syncing.rows import with_envelope, with_validity
from binarrow.syncing.widening import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from binarrow._native import TableSchema
    from binarrow.syncing.tables import Tables

LOG = logging.getLogger("binarrow.sync")


class Statements:
    """The effect of statements on the tables of a target."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._settings = tables.settings
        self._structures = tables.structures
        self._before: Position | None = None

    def apply(self, item: SchemaChange | Truncate, before: Position | None) -> None:
        """Applies a statement; `before` is a position before it.

        Raises:
            TableError: The settings do not permit it, and tables are not parked.
        """
        self._before = before
        if isinstance(item, Truncate):
            with self._tables.parking():
                self._truncate((item.database, item.table), item)
            return
        names = [split(text) for text in item.tables]
        match item.kind:
            case "create":
                self._each(names, lambda name: self._create(name, item))
            case "drop":
                self._drop_all(names, item)
            case "rename":
                for old, new in item.renames:
                    self._rename(split(old), split(new), item)
            case "alter":
                self._alter_all(names, item)
            case "truncate":  # of a table whose name is not certain
                self._each(names, lambda name: self._truncate(name, item))

    def _each(self, names: Iterable[Name], apply: Callable[[Name], object]) -> None:
        """Applies a statement to tables, each of which may be parked."""
        for name in names:
            with self._tables.parking():
                apply(name)

    # ------------------------------------------------------------------------ rows

    def _truncate(self, name: Name, item: SchemaChange | Truncate) -> None:
        record = self._tables.followed(name)
        if record is None:
            return
        policy = self._settings.on_truncate
        if policy == "fail":
            raise TableError(
                name, f"{shown(name)} was emptied: continue with on_truncate='apply' or 'keep'"
            )
        if policy == "keep":
            LOG.warning("%s was emptied: the target keeps its rows", shown(name))
        elif self._settings.mode == "mirror":
            self._tables.put(record, Clear(name))
        elif self._settings.mode == "scd2":
            self._tables.put(record, _end(name, item))
        else:
            self._tables.put(record, Append(name, _row("truncate", record, item)))

    def _drop_all(self, names: list[Name], item: SchemaChange) -> None:
        self._each(names, lambda name: self._drop(name, "was dropped", item))
        if not names:
            what = "was dropped with its database"
            dropped = [one for one in self._tables.records if one[0] == item.database]
            self._each(dropped, lambda name: self._drop(name, what, item))

    def _drop(self, name: Name, what: str, item: SchemaChange) -> None:
        self._tables.unsettled.pop(name, None)
        if self._settings.on_drop != "fail":
            self._tables.forget(name)
        record = self._tables.followed(name)
        if record is None:
            return
        if self._settings.on_drop == "fail":
            raise TableError(name, f"{shown(name)} {what}: continue with on_drop='keep' or 'drop'")
        self._tables.end_reload(name)
        if self._settings.on_drop == "drop" and self._settings.mode == "mirror":
            self._tables.put(record, Drop(name))
            del self._tables.records[name]
            self._tables.summary.tables.pop(name, None)
            return
        LOG.warning("%s %s: its rows stay in the target", shown(name), what)
        self._tables.pending.finish(name)
        ends = [_end(name, item)] if self._settings.mode == "scd2" else []
        dropped = replace(record, status="dropped", read_again_from=-1, lacks_deletes=False)
        self._tables.put(dropped, *ends)

    # ------------------------------------------------------------------------ tables

    def _create(self, name: Name, item: SchemaChange) -> None:
        if not self._tables.selection.has(name) or self._tables.is_parked(name):
            return
        record = self._tables.followed(name)
        if record is not None and not item.changes_rows:
            return  # IF NOT EXISTS, and it existed
        if record is not None:
            self._drop(name, "was replaced by another table", item)
        if self._is_stored_at(name, item):
            self._tables.create(name, item.position)
        else:
            self._tables.unsettled[name] = item.position.base

    def _is_stored_at(self, name: Name, item: SchemaChange) -> bool:
        """True if the structure after the statement is in force at its position.

        The position of a CREATE TABLE ... SELECT is before the statement.
        """
        place = (item.position.file, item.position.offset)
        changes = self._structures.history.changes(*name, start=self._before)
        return any((one.position.file, one.position.offset) == place for one in changes)

    def _rename(self, name: Name, to: Name, item: SchemaChange) -> None:
        record = self._tables.followed(name)
        follows = self._tables.selection.has(to) and not self._tables.is_parked(to)
        if follows and record is not None and self._settings.mode == "mirror":
            with self._tables.parking():
                self._tables.own(to)
                self._move(record, to)
                return
        with self._tables.parking():
            self._drop(name, f"was renamed to {shown(to)}", item)
        if follows:
            with self._tables.parking():
                self._replace(to, item)

    def _move(self, record: Record, to: Name) -> None:
        name = record.name
        self._tables.pending.add(Rename(name, to))
        self._tables.end_reload(to)
        if name in self._tables.reloads or record.status == "incomplete":
            self._tables.end_reload(name)
            self._tables.reloads.add(to)
        del self._tables.records[name]
        self._tables.put(replace(record, name=to))
        moved = self._tables.summary.tables.pop(name, None)
        if moved is not None:
            self._tables.summary.tables[to] = moved

    def _replace(self, name: Name, item: SchemaChange) -> None:
        """Reads a table that got another one's name."""
        if self._tables.is_parked(name):
            return
        if self._structures.find(name, item.position) is None:
            return  # a later part of the statement renames it again
        is_new = name not in self._tables.records
        if is_new or self._settings.mode != "history":
            self._tables.create(name, item.position)
            self._tables.reloads.add(name)
        else:
            self._tables.reload(name, "another table has its name now")

    # ------------------------------------------------------------------------ columns

    def _alter_all(self, names: list[Name], item: SchemaChange) -> None:
        if item.renames and item.tool is None:
            for old, new in item.renames:
                with self._tables.parking():
                    self._drop(split(old), f"was renamed to {new}", item)
                if self._tables.selection.has(split(new)):
                    with self._tables.parking():
                        self._replace(split(new), item)
            return
        self._each(names, lambda name: self._alter(name, item))

    def _alter(self, name: Name, item: SchemaChange) -> None:
        record = self._tables.followed(name)
        if self._tables.is_parked(name) and name in self._tables.wanted:
            self._tables.create(name, item.position)
            self._tables.reloads.add(name)
        if record is None:
            return
        table = self._structures.find(name, item.position)
        if table is None:
            raise TableError(
                name, f"{shown(name)}: the history does not contain it after an ALTER TABLE"
            )
        schema = self._structures.columns(table, item.position)
        self._tables.misfits.discard(name)
        self._structures.check_key(table, self._tables.settings.mode)
        known = record.source_schema
        self._check_change(record, schema, table, item)
        record = replace(record, key=tuple(table.row_key))
        if self._settings.mode == "history":
            self._extend(record, schema, item)
            return
        why = "a statement changes values that the log does not contain"
        columns = None
        if not item.changes_rows and item.tool is None:
            why = "values of a column are not in the log"
            renamed = {new: old for old, new in item.renamed_columns}
            columns = evolved(known, schema, table, renamed, record.unknown_columns)
        if columns is not None and columns.unknown and self._settings.mode == "scd2":
            columns = None  # the rows become new versions
        self._change_columns(record, table, schema, columns, why)

    def _check_change(
        self, record: Record, schema: pa.Schema, table: TableSchema, item: SchemaChange
    ) -> None:
        """Checks that the settings permit other columns. A table that is loaded again may have any.

        Raises:
            TableError: They do not permit them.
        """
        name, policy = record.name, self._settings.schema_changes
        if policy == "follow" or name in self._tables.wanted:
            return
        why = None
        if policy == "fail" and schema != record.source_schema:
            why = f"has other columns from {item.position} on"
        elif policy == "widen":
            before = None if self._before is None else self._structures.find(name, self._before)
            if before is None:
                why = f"was altered at {item.position}, and its structure before is not known"
            else:
                renamed = {new: old for old, new in item.renamed_columns}
                changes_rows = item.changes_rows and item.tool is None
                found = refusal(before, table, renamed, changes_rows=changes_rows)
                if found is not None:
                    why = f"was altered at {item.position} (ALTER TABLE): {found}"
        if why is not None:
            raise TableError(
                name,
                message(
                    f"{shown(name)} {why}. Continue with ⟦schema_changes=follow⟧, or load the table"
                    f" again with ⟦reload={shown(name)}⟧"
                ),
            )

    def _change_columns(
        self,
        record: Record,
        table: TableSchema,
        schema: pa.Schema,
        evolved: Columns | None,
        why: str,
    ) -> None:
        """Changes the columns of a table. Without `evolved`, its rows are removed and read."""
        has_versions = self._settings.mode == "scd2"
        columns = None if evolved is None else evolved.all
        if columns is not None and has_versions:
            columns = retained(record.schema, columns)
        if columns is None:
            self._tables.create_as(table, schema)
            self._tables.reload(record.name, why)
        elif has_versions:
            self._keep_versions(record, schema, columns)
        elif schema != record.schema or any(one.source != one.field.name for one in columns):
            self._tables.put(replace(record, schema=schema), Alter(record.name, columns))
        else:
            self._tables.put(record)
        if evolved is not None and columns is not None:
            added = [one.field.name for one in columns if one.source is None]
            self._tables.note_unknown(record.name, evolved.unknown, {*added})

    def _keep_versions(
        self, record: Record, schema: pa.Schema, columns: tuple[NewColumn, ...]
    ) -> None:
        """Changes the columns of a table with versions of rows, which keeps dropped columns."""
        wanted = _schema(column.field for column in columns)
        own = {*schema.names}
        dropped = tuple(one for one in wanted.names if one not in own)
        changed = replace(record, schema=wanted, dropped_columns=dropped)
        if wanted != record.schema or any(one.source != one.field.name for one in columns):
            validity = tuple(NewColumn(one, one.name) for one in with_validity(_schema([])))
            self._tables.put(changed, Alter(record.name, columns + validity, fills_current=True))
        else:
            self._tables.put(changed)

    def _extend(self, record: Record, schema: pa.Schema, item: SchemaChange) -> None:
        """Adds columns to a history of changes, which keeps those that the source drops."""
        if item.changes_rows:
            self._tables.reload(record.name, "a statement changes existing values")
        columns = extended(record.schema, schema)
        if columns is None:
            raise TableError(
                record.name,
                f"{shown(record.name)}: a column has a type from {item.position} on to which"
                " earlier values of the history cannot be converted: use another target",
            )
        wanted = _schema(column.field for column in columns)
        if wanted != record.schema:
            stored = extended(with_envelope(record.schema), with_envelope(wanted))
            operations = [Alter(record.name, stored)] if stored is not None else []
            self._tables.put(replace(record, schema=wanted), *operations)
        else:
            self._tables.put(record)


def _schema(fields: Iterable[pa.Field]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([*fields])


def _end(name: Name, item: SchemaChange | Truncate) -> End:
    """Returns the end of all current rows of a table at a statement."""
    return End(name, item.commit_timestamp, item.commit_version)


def _row(kind: str, record: Record, item: SchemaChange | Truncate) -> pa.Table:
    """Returns a row of a history without values of the table."""
    import pyarrow as pa

    schema = with_envelope(record.schema)
    known = {
        "_change_type": kind,
        "_commit_version": item.commit_version,
        "_commit_timestamp": item.commit_timestamp,
        "_change_ordinal": -1,
    }
    return pa.Table.from_pylist([known], schema=schema)


__all__ = ["Statements"]
