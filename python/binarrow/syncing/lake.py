"""A target of Delta or Iceberg tables.

A commit of these formats changes one table. A commit of the sync therefore writes its operations,
the state and the position into files first. The position file, which is written last, makes it
certain that the operations will be applied. Then each is applied in a commit of its table, which
contains the number of the operation. A sync that starts again applies those that its table does not
contain.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from binarrow.stored_forms import LAKE_STATE
from binarrow.syncing.errors import SyncError, TableError
from binarrow.syncing.journal import read_operation, write_operations
from binarrow.syncing.lake_snapshot import LakeSnapshot
from binarrow.syncing.lake_tables import LakeTables, replaced
from binarrow.syncing.lake_types import storable
from binarrow.syncing.names import Name
from binarrow.syncing.operations import Drop, Operation, Record, Rename, State
from binarrow.syncing.stored_state import PUBLISHED, json_of_state, published, state_of_json

if TYPE_CHECKING:
    from pathlib import Path

    from binarrow.syncing.settings import Settings
    from binarrow.syncing.state_folder import StateFolder
    from binarrow.syncing.table_set import TableSet

STEPS = 1 << 20
"""The number of operations that a commit can have: the number of one is commit * STEPS + place."""


class Lake:
    """The tables of a target, and a folder with its state."""

    def __init__(self, state: StateFolder, table_set: TableSet, settings: Settings) -> None:
        self._files = state
        self._set = table_set
        self._patience = settings.busy_timeout
        self._tables = LakeTables(state, table_set, settings)
        self._sequence = 0
        self._rows = ""
        """The folder with the operations of the last commit."""
        self._structures = ""
        self._numbers: dict[Name, int] = {}
        """The number of the last operation of each table."""

    @property
    def structures_file(self) -> Path:
        """The file for the structures of tables while a sync runs."""
        return self._files.structures_file

    def lock(self) -> AbstractContextManager[object]:
        """Returns the lock that refuses other writers."""
        return self._files.lock()

    def load(self) -> tuple[State, bytes] | None:
        """Completes the last commit, and returns the state; None if the folder has none.

        Raises:
            SyncError: Another program has changed a table or the folder.
        """
        try:
            return self._load()
        except self._set.errors as error:
            raise self._tables.failed(error, "read") from None

    def _load(self) -> tuple[State, bytes] | None:
        if self._files.has("state.json"):
            raise self._other_kind("parquet")
        found = self._files.position(self._checked)
        if found is None:
            self._remove_old()
            return None
        stored = self._checked(found)
        self._sequence = stored["sequence"]
        self._structures = stored["structures"]
        self._rows = stored.get("rows", f"commit-{self._sequence:010}")
        self._numbers = _numbers_of(stored)
        state = state_of_json(stored)
        if self._files.has(self._rows):
            operations = [
                read_operation(one, self._files, self._rows) for one in stored["operations"]
            ]
            state = replace(state, records={**state.records, **self._complete(operations, state)})
        self._remove_old()
        for name, record in list(state.records.items()):
            is_followed = record.is_followed and self._tables.is_selected(name)
            if is_followed and self._tables.table(name).number != self._numbers.get(name):
                self._files.check()  # another sync may have written it
                error = replaced(name)
                if not self._tables.parks(name):
                    raise error
                state.records[name] = replace(record, status="parked", reason=str(error))
        self._publish(state)
        return state, self._files.read(self._structures)

    def _checked(self, position: bytes) -> dict[str, Any]:
        """Parses a position file, checks its kind and version, and sets the ID of the sync."""
        shown = f"the state of a sync in {self._files.shown}"
        stored = LAKE_STATE.parse(position, shown, SyncError)
        if stored["kind"] != self._set.kind:
            raise self._other_kind(stored["kind"])
        self._tables.sync_id = stored["sync_id"]
        return stored

    @contextmanager
    def snapshot(self) -> Iterator[LakeSnapshot]:
        """Returns the rows at the last commit. A sync may write at the same time.

        Raises:
            SyncError: It cannot be read.
        """
        try:
            stored, numbers = self._last_commit()
        except self._set.errors as error:
            raise self._tables.failed(error, "read") from None
        bits = self._set.format.smallest_bits
        errors = self._set.errors
        yield LakeSnapshot(stored, self._tables, numbers, bits, self._patience, errors)

    def _last_commit(self) -> tuple[tuple[State, bytes] | None, dict[Name, int]]:
        deadline = time.monotonic() + self._patience
        while True:
            found = self._files.peek()
            if found is None:
                return None, {}
            stored = self._checked(found)
            try:
                structures = self._files.read(stored["structures"])
            except FileNotFoundError:  # another commit has replaced them
                if time.monotonic() >= deadline:
                    raise
            else:
                return (state_of_json(stored), structures), _numbers_of(stored)

    def check_free(self, names: Sequence[Name]) -> None:
        """Checks that the folder has no files of tables with these names.

        Raises:
            TableError: It has some.
            TargetBusyError: Another sync has taken the target, and may have written them.
            SyncError: The folder cannot be read.
        """
        try:
            self._check_free(names)
        except self._set.errors as error:
            raise self._tables.failed(error, "read") from None

    def _check_free(self, names: Sequence[Name]) -> None:
        for name in names:
            place = self._set.find_other(name)
            if place is not None:
                self._files.check()
                raise TableError(
                    name,
                    f"{place} has files that no sync created: choose another target, or remove"
                    " them",
                )

    def commit(
        self, operations: Sequence[Operation], state: State, copy: bytes | None
    ) -> Mapping[Name, Record]:
        """Writes the operations and the state, then applies the operations to the tables.

        Returns the tables that were parked, because their operations could not be applied.

        Raises:
            TableError: A table cannot be stored. Nothing was written; or, if tables are not parked,
                the next run completes the commit.
            SyncError: A file cannot be written. If the commit was written, the next run completes
                it.
        """
        import pyarrow as pa

        operations = [storable(self._set.format, one) for one in operations]
        if len(operations) >= STEPS:
            raise SyncError(f"a commit has {len(operations)} operations: use a lower every=")
        self._write(operations, state, copy)
        # A merge needs the most memory, and uses another allocator.
        pa.default_memory_pool().release_unused()
        parked = self._complete(operations, state)
        self._publish(state)
        self._remove_old()
        return parked

    def _write(self, operations: Sequence[Operation], state: State, copy: bytes | None) -> None:
        """Writes a position file, after the files that it names."""
        sequence = self._sequence + 1
        numbers = _numbered(self._numbers, operations, sequence * STEPS)
        structures = self._structures
        rows = self._files.new_name("commit", sequence)
        try:
            written = write_operations(operations, self._files, rows)
            if copy is not None:
                structures = f"{self._files.new_name('structures', sequence)}.db"
                self._files.write(structures, copy)
            stored = {
                **LAKE_STATE.stamp,
                "kind": self._set.kind,
                "sync_id": self._tables.sync_id,
                "sequence": sequence,
                "structures": structures,
                "rows": rows,
                **json_of_state(state),
                "numbers": [[*name, number] for name, number in numbers.items()],
                "operations": written,
            }
            self._files.commit(sequence, json.dumps(stored, indent=1).encode())
        except OSError as error:
            raise self._tables.failed(error) from None
        self._sequence, self._rows, self._structures = sequence, rows, structures
        self._numbers = numbers

    def _complete(self, operations: Sequence[Operation], state: State) -> dict[Name, Record]:
        """Applies the operations of the last position file, and removes their files.

        Returns the tables for which this is not possible, after another position file in which
        they are parked.
        """
        rows = self._rows
        failed = self._tables.apply_all(operations, self._sequence * STEPS, f"{rows}/done")
        parked = {
            name: replace(record, status="parked", reason=failed[name])
            for name, record in state.records.items()
            if name in failed
        }
        if parked:
            self._write([], replace(state, records={**state.records, **parked}), None)
        try:
            self._files.remove_folder(rows)
        except OSError as error:
            raise self._tables.failed(error) from None
        return parked

    def _remove_old(self) -> None:
        """Removes files that the last position file does not name."""
        current = {self._files.position_name(self._sequence), self._structures}
        try:
            self._files.remove_others(current, self._sequence)
        except OSError as error:
            raise self._tables.failed(error) from None

    def _publish(self, state: State) -> None:
        try:
            self._files.write(PUBLISHED, published(state))
        except OSError as error:
            raise self._tables.failed(error) from None

    def _other_kind(self, kind: str) -> SyncError:
        return SyncError(
            f"{self._files.shown} is a target of the kind {kind}: write {kind}+file:///, or choose"
            " another folder"
        )


def _numbers_of(stored: dict[str, Any]) -> dict[Name, int]:
    return {(database, table): one for database, table, one in stored["numbers"]}


def _numbered(
    numbers: dict[Name, int], operations: Sequence[Operation], first: int
) -> dict[Name, int]:
    """Returns the number of the last operation of each table, after operations."""
    found = dict(numbers)
    for place, operation in enumerate(operations, start=1):
        match operation:
            case Drop(name):
                found.pop(name, None)
            case Rename(name, to):
                found[to] = found.pop(name)
            case _:
                found[operation.name] = first + place
    return found


__all__ = ["Lake"]
