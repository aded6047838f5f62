"""The tables of a lake, and the operations of a commit, which are applied to each in turn."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from binarrow._native import BinarrowError, LaterVersionError
from binarrow.syncing.errors import SyncError, TableError, TargetBusyError
from binarrow.syncing.names import Name, Selection, shown
from binarrow.syncing.operations import (
    Alter,
    Append,
    Clear,
    Create,
    Drop,
    End,
    Operation,
    Rename,
    Versions,
    Write,
)

if TYPE_CHECKING:
    from binarrow.syncing.settings import Settings
    from binarrow.syncing.state_folder import StateFolder
    from binarrow.syncing.table_set import LakeTable, TableSet

RETRY = 0.1
"""Seconds between two attempts to commit."""


class _Changed:
    """The tables that a commit changes, with the versions before it."""

    def __init__(self) -> None:
        self.versions: dict[Name, int] = {}
        """The versions before the first operation of each table."""
        self.waiting: dict[Name, int] = {}
        """The versions before operations that may not be on the disk yet."""
        self.tables: dict[Name, LakeTable] = {}
        """The tables as they were opened last; each time takes milliseconds."""

    def note(self, name: Name, table: LakeTable) -> None:
        """Notes a table before an operation."""
        self.versions.setdefault(name, table.version)
        self.waiting.setdefault(name, table.version)
        self.tables[name] = table

    def forget(self, name: Name) -> None:
        """Forgets a table, which was dropped or cannot be written."""
        for known in (self.versions, self.waiting, self.tables):
            known.pop(name, None)

    def rename(self, name: Name, to: Name, version: int) -> None:
        """Notes that a table has another name. All operations before it are on the disk."""
        self.tables.pop(name, None)
        self.tables.pop(to, None)
        self.versions[to] = self.versions.pop(name, version)


class LakeTables:
    """Tables, each of which contains the number of the last operation that was applied to it."""

    def __init__(self, state: StateFolder, table_set: TableSet, settings: Settings) -> None:
        self._state = state
        self._set = table_set
        self._patience = settings.busy_timeout
        self._progress = settings.progress
        self._selection = Selection(settings.tables, settings.exclude_tables)
        self._parks_all = settings.on_table_error == "park"
        self._reloads = Selection(settings.reload, ()) if settings.reload else None
        self._properties = table_set.history if settings.mode == "history" else table_set.mirror
        self.sync_id = f"binarrow-sync-{uuid.uuid4()}"
        """The name under which the tables contain the numbers."""

    def is_selected(self, name: Name) -> bool:
        """True if the settings select a table."""
        return self._selection.has(name)

    def table(self, name: Name) -> LakeTable:
        """Returns a table as it is now."""
        return self._set.table(name, self.sync_id)

    def parks(self, name: Name) -> bool:
        """True if an error of a table is not an error of the sync."""
        return self._parks_all or (self._reloads is not None and self._reloads.has(name))

    def apply_all(self, operations: Sequence[Operation], first: int, done: str) -> dict[Name, str]:
        """Applies the operations of a commit that were not applied yet.

        Tables are identified by names, so the operations before one that moves a folder are noted
        as done before it: after it, their names may be those of other tables.

        Args:
            operations: The operations, in their order.
            first: The number before that of the first operation.
            done: A file in which is noted how many operations are done.

        Returns:
            The tables that cannot be written, with the reasons.

        Raises:
            TableError: A table cannot be written, and it is not to be parked.
            SyncError: The tables cannot be written.
        """
        changed = _Changed()
        try:
            start, noted = json.loads(self._state.read(done)) if self._state.has(done) else (0, [])
            failed = {(database, table): reason for database, table, reason in noted}
            for place, operation in enumerate(operations[start:], start=start):
                if isinstance(operation, Drop | Rename):
                    self._make_durable(changed)
                    noted = [[*name, reason] for name, reason in failed.items()]
                    self._state.write(done, json.dumps([place, noted]).encode())
                if not _is_skipped(operation, failed):
                    self._apply_or_park(operation, first + place + 1, changed, failed)
            self._make_durable(changed)
            for name, version in changed.versions.items():
                known = changed.tables.get(name)
                if known is None or known.is_to_maintain(version):
                    self.table(name).maintain(version)
        except self._set.errors as error:
            raise self.failed(error) from None
        return failed

    def _apply_or_park(
        self,
        operation: Operation,
        number: int,
        changed: _Changed,
        failed: dict[Name, str],
    ) -> None:
        name = operation.name
        try:
            self._apply_patiently(operation, number, changed)
        except self._set.table_errors as error:
            if isinstance(operation, Rename):
                raise self.failed(error) from None
            if not self.parks(name):
                raise TableError(name, f"{shown(name)}: {self.failed(error)}") from None
            failed[name] = f"{shown(name)}: {self.failed(error)}"
            changed.forget(name)
        except TableError as error:
            if not self.parks(name):
                raise
            failed[name] = str(error)
            changed.forget(name)

    def _make_durable(self, changed: _Changed) -> None:
        for name, version in changed.waiting.items():
            (changed.tables.get(name) or self.table(name)).make_durable(version)
        changed.waiting.clear()

    def _apply_patiently(self, operation: Operation, number: int, changed: _Changed) -> None:
        """Applies an operation. Repeats it after a conflict with another program.

        Also repeats it after a transient error. If it was applied in spite of the error, the table
        contains its number, and it is not applied again.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._state.check()
                self._apply(operation, number, changed)
            except self._set.conflicts:
                if time.monotonic() >= deadline:
                    raise TargetBusyError(
                        f"{shown(operation.name)}: another program changes the table of the target"
                        " all the time: end it first"
                    ) from None
            except self._set.errors as error:
                if not self._state.is_transient(error) or time.monotonic() >= deadline:
                    raise
            else:
                return
            self._progress.failed("target")
            time.sleep(RETRY)

    def _apply(self, operation: Operation, number: int, changed: _Changed) -> None:
        name = operation.name
        table = self.table(name)
        found = table.number
        if isinstance(operation, Rename):
            if -1 < found < number:  # else it was renamed, and a later table may have the name
                changed.rename(name, operation.to, table.version)
                self._set.rename(name, operation.to)
            return
        changed.note(name, table)
        if found >= number or not self._is_own(operation, found):
            return
        match operation:
            case Create(_, schema):
                table.create(schema, self._properties, number)
            case Drop():
                self._set.drop(name)
                changed.forget(name)
                changed.versions[name] = changed.waiting[name] = -1
            case Alter():
                table.alter(operation, number)
            case _:
                _apply_rows(table, operation, number)

    def _is_own(self, operation: Operation, found: int) -> bool:
        """Returns false for a table that does not exist any more, and is dropped or left out.

        Raises:
            SyncError: Another program has replaced or removed the table.
        """
        if found >= 0 or isinstance(operation, Create):
            return True
        if isinstance(operation, Drop):
            return False
        if self._selection.has(operation.name):
            raise replaced(operation.name)
        return False

    def failed(self, error: Exception, done: str = "written") -> BinarrowError:
        """Returns an error without values of cells. `done` is the action that failed."""
        if isinstance(error, LaterVersionError):
            return error
        text = self._state.reason(error)
        if "Arrow error" in text or "cast" in text.lower():
            text = f"{type(error).__name__} of a value"
        return SyncError(f"{self._state.shown} cannot be {done}: {text}")


def _apply_rows(table: LakeTable, operation: Operation, number: int) -> None:
    match operation:
        case Write():
            table.write(operation, number)
        case Versions():
            table.write_versions(operation, number)
        case End():
            table.end(operation, number)
        case Append(_, rows):
            table.append(rows, number)
        case Clear():
            table.clear(number)


def _is_skipped(operation: Operation, failed: dict[Name, str]) -> bool:
    """True if an operation is of a table that cannot be written.

    Such a table is renamed, so that another one can get its name.
    """
    match operation:
        case Rename(name, to) if name in failed:
            failed[to] = failed.pop(name)
        case Create(name) | Drop(name):
            failed.pop(name, None)
    return operation.name in failed


def replaced(name: Name) -> TableError:
    """Returns the error of a table that does not have the last commit of the sync."""
    return TableError(
        name,
        f"{shown(name)}: the table of the target does not have the last commit of the sync, because"
        " another program has replaced, restored or removed it. Load it again with"
        f" reload={shown(name)!r}",
    )


__all__ = ["LakeTables", "replaced"]
