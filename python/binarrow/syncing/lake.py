"""A folder of Delta or Iceberg tables as target.

A commit of these formats changes one table. A commit of the sync therefore writes its operations,
the state and the position into files first. The position file, which is written last, makes it
certain that the operations will be applied. Then each is applied in a commit of its table, which
contains the number of the operation. A sync that starts again applies those that its table does not
contain.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binarrow.atomic_file import replace_file
from binarrow.syncing.errors import SyncError, TableError
from binarrow.syncing.journal import read_operation, write_operations
from binarrow.syncing.lake_folders import OWN, REMOVED, lock_lake, move_away
from binarrow.syncing.lake_tables import LakeTables, replaced
from binarrow.syncing.lake_types import storable
from binarrow.syncing.lock import Lock
from binarrow.syncing.names import Name
from binarrow.syncing.operations import Drop, Operation, Record, Rename, State
from binarrow.syncing.stored_state import json_of_state, publish, state_of_json

if TYPE_CHECKING:
    from binarrow.syncing.lake_store import Store
    from binarrow.syncing.settings import Settings

VERSION = 1
"""The version of a position file."""

STEPS = 1 << 20
"""The number of operations that a commit can have: the number of one is commit * STEPS + place."""


class Lake:
    """A folder with tables."""

    repeats_deletes = False

    def __init__(self, path: Path, store: Store, settings: Settings) -> None:
        self._path = path
        self._own = path / OWN
        self._store = store
        self._tables = LakeTables(path, store, settings)
        self._sequence = 0
        self._structures = ""
        self._numbers: dict[Name, int] = {}
        """The number of the last operation of each table."""

    @property
    def structures_file(self) -> Path:
        """The file for the structures of tables while a sync runs."""
        return self._own / "tables.db"

    def lock(self) -> Lock:
        """Refuses other writers."""
        return lock_lake(self._path)

    def load(self) -> tuple[State, bytes] | None:
        """Completes the last commit, and returns the state; None if the folder has none.

        Raises:
            SyncError: Another program has changed a table or the folder.
        """
        if (self._own / "state.json").exists():
            raise self._other_kind("parquet")
        found = max(self._own.glob("position-*.json"), default=None)
        if found is None:
            self._remove_old()
            return None
        stored: dict[str, Any] = json.loads(found.read_text())
        if stored["kind"] != self._store.kind:
            raise self._other_kind(stored["kind"])
        if stored["version"] != VERSION:
            raise SyncError(
                f"{self._path} has version {stored['version']} of the state of a sync, and this"
                f" binarrow supports {VERSION}: use the binarrow that wrote it, or a later one"
            )
        self._tables.sync_id, self._sequence = stored["sync_id"], stored["sequence"]
        self._structures = stored["structures"]
        self._numbers = {(database, table): one for database, table, one in stored["numbers"]}
        state = state_of_json(stored)
        files = self._rows_folder(self._sequence)
        if files.exists():
            operations = [read_operation(one, files) for one in stored["operations"]]
            state = replace(state, records={**state.records, **self._complete(operations, state)})
        self._remove_old()
        for name, record in list(state.records.items()):
            is_followed = record.is_followed and self._tables.is_selected(name)
            if is_followed and self._tables.table(name).number != self._numbers.get(name):
                error = replaced(name)
                if not self._tables.parks(name):
                    raise error
                state.records[name] = replace(record, status="parked", reason=str(error))
        self._publish(state)
        return state, (self._own / self._structures).read_bytes()

    def check_free(self, names: Sequence[Name]) -> None:
        """Checks that the folder has no files of tables with these names.

        Raises:
            TableError: It has some.
        """
        for name in names:
            place = self._store.find_other(name)
            if place is not None:
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
        operations = [storable(self._store.format, one) for one in operations]
        if len(operations) >= STEPS:
            raise SyncError(f"a commit has {len(operations)} operations: use a lower every=")
        self._write(operations, state, copy)
        parked = self._complete(operations, state)
        self._publish(state)
        self._remove_old()
        return parked

    def _write(self, operations: Sequence[Operation], state: State, copy: bytes | None) -> None:
        """Writes a position file, after the files that it names."""
        sequence = self._sequence + 1
        numbers = _numbered(self._numbers, operations, sequence * STEPS)
        structures = self._structures
        files = self._rows_folder(sequence)
        try:
            if files.exists():  # a commit failed before
                shutil.rmtree(files)
            written = write_operations(operations, files)
            if copy is not None:
                structures = f"structures-{sequence:010}.db"
                replace_file(self._own / structures, copy)
            stored = {
                "version": VERSION,
                "kind": self._store.kind,
                "sync_id": self._tables.sync_id,
                "sequence": sequence,
                "structures": structures,
                **json_of_state(state),
                "numbers": [[*name, number] for name, number in numbers.items()],
                "operations": written,
            }
            position = self._own / f"position-{sequence:010}.json"
            replace_file(position, json.dumps(stored, indent=1).encode())
        except OSError as error:
            raise self._tables.failed(error) from None
        self._sequence, self._structures, self._numbers = sequence, structures, numbers

    def _complete(self, operations: Sequence[Operation], state: State) -> dict[Name, Record]:
        """Applies the operations of the last position file, and removes their files.

        Returns the tables for which this is not possible, after another position file in which
        they are parked.
        """
        files = self._rows_folder(self._sequence)
        failed = self._tables.apply_all(operations, self._sequence * STEPS, files / "done")
        parked = {
            name: replace(record, status="parked", reason=failed[name])
            for name, record in state.records.items()
            if name in failed
        }
        if parked:
            self._write([], replace(state, records={**state.records, **parked}), None)
        try:
            move_away(files, self._own)
        except OSError as error:
            raise self._tables.failed(error) from None
        return parked

    def _rows_folder(self, sequence: int) -> Path:
        return self._own / f"commit-{sequence:010}"

    def _remove_old(self) -> None:
        """Removes files that the last position file does not name."""
        current = {f"position-{self._sequence:010}.json", self._structures}
        for file in self._own.iterdir():
            if file.name in current:
                continue
            if file.name.startswith((REMOVED, "commit-")):
                shutil.rmtree(file)
            elif file.name.startswith(("position-", "structures-")):
                file.unlink()

    def _publish(self, state: State) -> None:
        try:
            publish(state, self._own)
        except OSError as error:
            raise self._tables.failed(error) from None

    def _other_kind(self, kind: str) -> SyncError:
        return SyncError(
            f"{self._path} is a target of the kind {kind}: write {kind}+file:///, or choose another"
            " folder"
        )


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
