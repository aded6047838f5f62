"""A folder of Parquet files as target, for histories of changes.

A commit writes files with hidden names, then replaces the state file, which names them: from then
on they are committed. Then they get their names. A sync that starts again completes this.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from binarrow.atomic_file import replace_file
from binarrow.stored_forms import PARQUET_STATE
from binarrow.syncing.errors import SyncError, TableError
from binarrow.syncing.lake_folders import OWN, lock_lake
from binarrow.syncing.lock import Lock
from binarrow.syncing.names import Name, shown
from binarrow.syncing.operations import Append, Clear, Create, Operation, Record, State
from binarrow.syncing.stored_state import PUBLISHED, json_of_state, published, state_of_json

if TYPE_CHECKING:
    import pyarrow as pa

HIDDEN = "."
"""The beginning of the name of a file that is not committed: programs that read folders skip it."""


class ParquetFolder:
    """A folder, with a folder for each database and in it one for each table."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._own = self._path / OWN
        self._sequence = 0
        self._structures = ""

    @property
    def structures_file(self) -> Path:
        """The file for the structures of tables while a sync runs."""
        return self._own / "tables.db"

    def lock(self) -> Lock:
        """Returns the lock that refuses other writers."""
        return lock_lake(self._path)

    def load(self) -> tuple[State, bytes] | None:
        """Returns the committed state and structures; None if the folder has none."""
        if any(self._own.glob("position-*.json")):
            raise SyncError(
                f"{self._path} is a target of Delta or Iceberg tables: write delta+file:/// or"
                " iceberg+file:///, or choose another folder"
            )
        try:
            text = (self._own / "state.json").read_text()
        except FileNotFoundError:
            self._remove_uncommitted()
            return None
        shown = f"the state of a sync in {self._path}"
        stored = PARQUET_STATE.parse(text, shown, SyncError)
        self._sequence, self._structures = stored["sequence"], stored["structures"]
        self._complete(stored)
        self._remove_uncommitted()
        state = state_of_json(stored)
        replace_file(self._own / PUBLISHED, published(state))
        return state, (self._own / self._structures).read_bytes()

    def check_free(self, names: Sequence[Name]) -> None:
        """Checks that the folder has no files of tables with these names.

        Raises:
            TableError: It has some.
        """
        for name in names:
            if any(self._folder(name).glob("*")):
                raise TableError(
                    name,
                    f"{self._folder(name)} has files that no sync created: choose another target,"
                    " or remove them",
                )

    def commit(
        self, operations: Sequence[Operation], state: State, copy: bytes | None
    ) -> Mapping[Name, Record]:
        """Writes the rows and the state.

        Raises:
            TableError: A table has a column that Parquet cannot store.
            SyncError: A file cannot be written. The committed files are unchanged.
        """
        sequence = self._sequence + 1
        structures = self._structures
        files: list[Path] = []
        removed: list[Path] = []
        try:
            for operation in operations:
                folder = self._folder(operation.name)
                match operation:
                    case Create():
                        folder.mkdir(parents=True, exist_ok=True)
                    case Clear():
                        files = [one for one in files if one.parent != folder]
                        removed += [one for one in folder.glob("*.parquet") if one not in files]
                    case Append(_, rows) if rows.num_rows:
                        file = folder / f"part-{sequence:08}-{len(files)}.parquet"
                        _write(operation.name, file.with_name(HIDDEN + file.name), rows)
                        files.append(file)
            if copy is not None:
                structures = f"structures-{sequence:08}.db"
                replace_file(self._own / structures, copy)
            stored = self._stored(state, files, removed)
            stored |= {"sequence": sequence, "structures": structures}
            replace_file(self._own / "state.json", json.dumps(stored, indent=1).encode())
            self._sequence, self._structures = sequence, structures
            self._complete(stored)
            replace_file(self._own / PUBLISHED, published(state))
        except OSError as error:
            raise self._failed(error) from None
        return {}

    def _stored(self, state: State, files: list[Path], removed: list[Path]) -> dict[str, Any]:
        return {
            **PARQUET_STATE.stamp,
            **json_of_state(state),
            "files": [str(one.relative_to(self._path)) for one in files],
            "removed": [str(one.relative_to(self._path)) for one in removed],
        }

    def _complete(self, stored: dict[str, Any]) -> None:
        """Gives committed files their names, and removes those that they replace."""
        for one in stored["files"]:
            file = self._path / one
            hidden = file.with_name(HIDDEN + file.name)
            if hidden.exists():
                hidden.replace(file)
        for one in stored["removed"]:
            (self._path / one).unlink(missing_ok=True)
        for file in self._own.glob("structures-*.db"):
            if file.name != stored["structures"]:
                file.unlink()

    def _remove_uncommitted(self) -> None:
        for file in self._path.glob(f"*/*/{HIDDEN}part-*.parquet"):
            file.unlink()

    def _folder(self, name: Name) -> Path:
        return self._path.joinpath(*_escaped(name))

    def _failed(self, error: OSError) -> SyncError:
        return SyncError(f"{self._path} cannot be written: {error.strerror or error}")


def _escaped(name: Name) -> Iterator[str]:
    """Escapes names as in a URL; folders that begin with a dot or underscore are hidden."""
    for part in name:
        escaped = quote(part, safe=" ")
        hidden = escaped[:1] in {".", "_"}
        yield f"%{ord(escaped[0]):02X}{escaped[1:]}" if hidden else escaped


def _write(name: Name, file: Path, rows: pa.Table) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as output:
        try:
            pq.write_table(rows, output, compression="zstd")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(
                name, f"{shown(name)}: Parquet cannot store a column: {type(error).__name__}"
            ) from None
        output.flush()
        os.fsync(output.fileno())


__all__ = ["ParquetFolder"]
