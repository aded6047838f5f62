"""The state of a lake in a folder of this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from binarrow.atomic_file import replace_file, sync
from binarrow.syncing.lake_folders import OWN, REMOVED, lock_lake, move_away

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    import pyarrow as pa

    from binarrow.syncing.lock import Lock


class LocalState:
    """The folder `_binarrow` of a lake; see :class:`StateFolder`."""

    def __init__(self, lake: Path) -> None:
        self.shown = str(lake)
        self._lake = lake
        self._own = lake / OWN

    @property
    def structures_file(self) -> Path:
        """The local file for the structures of tables while a sync runs."""
        return self._own / "tables.db"

    def lock(self) -> Lock:
        """Returns the lock that refuses other writers."""
        return lock_lake(self._lake)

    def check(self) -> None:
        """Does nothing: the lock ends with the process."""

    def position(self, check: Callable[[bytes], object]) -> bytes | None:
        """Returns the last position file after a check; None if there is none."""
        found = self.peek()
        if found is not None:
            check(found)
        return found

    def peek(self) -> bytes | None:
        """Returns the last position file; None if there is none."""
        found = max(self._own.glob("position-*.json"), default=None)
        return None if found is None else found.read_bytes()

    def commit(self, sequence: int, position: bytes) -> None:
        """Writes a position file atomically."""
        replace_file(self._own / self.position_name(sequence), position)

    def position_name(self, sequence: int) -> str:
        """Returns the name of the position file of a commit."""
        return f"position-{sequence:010}.json"

    def new_name(self, kind: str, sequence: int) -> str:
        """Returns the name of a file or folder. One of a commit that failed has the same name."""
        return f"{kind}-{sequence:010}"

    def has(self, name: str) -> bool:
        """True if there is a file or folder."""
        return (self._own / name).exists()

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""
        return (self._own / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Writes or replaces a file atomically."""
        replace_file(self._own / name, content)

    def begin_folder(self, name: str) -> None:
        """Creates an empty folder."""
        folder = self._own / name
        if folder.exists():  # a commit failed before
            shutil.rmtree(folder)
        folder.mkdir(parents=True)

    def write_rows(self, name: str, rows: pa.Table) -> None:
        """Writes a file of a folder that is not complete."""
        import pyarrow as pa

        with (self._own / name).open("wb") as output:
            with pa.ipc.new_file(output, rows.schema) as writer:
                writer.write_table(rows)
            output.flush()
            os.fsync(output.fileno())

    def read_rows(self, name: str) -> pa.Table:
        """Returns the rows of a file."""
        import pyarrow as pa

        with pa.OSFile(str(self._own / name)) as source, pa.ipc.open_file(source) as reader:
            return reader.read_all()

    def end_folder(self, name: str) -> None:
        """Waits until the files of a folder are on the disk."""
        sync(self._own / name)

    def remove_folder(self, name: str) -> None:
        """Removes a folder in one step, and then deletes its files."""
        move_away(self._own / name, self._own)

    def remove_others(self, current: Container[str], sequence: int) -> None:
        """Removes the files and folders of commits, except `current`.

        Files with later numbers are those of a commit that failed.
        """
        del sequence
        for file in self._own.iterdir():
            if file.name in current:
                continue
            if file.name.startswith((REMOVED, "commit-")):
                shutil.rmtree(file)
            elif file.name.startswith(("position-", "structures-")):
                file.unlink()

    def reason(self, error: Exception) -> str:
        """Returns the first line of an error."""
        return str(getattr(error, "strerror", None) or error).split("\n", 1)[0][:300]

    def is_transient(self, error: Exception) -> bool:
        """Returns false: another attempt does not help after an error of a disk."""
        del error
        return False


__all__ = ["LocalState"]
