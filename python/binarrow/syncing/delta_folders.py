"""The folders of Delta tables on this machine."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from deltalake import DeltaTable

from binarrow.atomic_file import sync
from binarrow.syncing.lake_folders import OWN, move_away, table_folder

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

    from binarrow.syncing.names import Name

LOG = "_delta_log"


class Folder(Protocol):
    """The folder of a table."""

    @property
    def uri(self) -> str:
        """The place as the library names it."""

    @property
    def options(self) -> dict[str, str] | None:
        """The library's options for the place."""

    def create(self) -> None:
        """Creates the folder."""

    def has_table(self) -> bool:
        """True if the folder has a table."""

    def has_commit(self, version: int) -> bool:
        """True if the log has a version."""

    def files(self) -> FileSystem:
        """Returns the folder as a file system, without code of Python.

        By default, files are opened by a class of Python, which threads of Arrow may still release
        while the interpreter ends: it then aborts.
        """

    def make_durable(self, before: int) -> None:
        """Waits until the commits after a version are on the disk, with their files."""


class Folders(Protocol):
    """The folders of the tables of a lake."""

    def folder(self, name: Name) -> Folder:
        """Returns the folder of a table."""

    def find_files(self, name: Name) -> str | None:
        """Returns the place of a table if it has files."""

    def remove(self, name: Name) -> None:
        """Removes the folder of a table at once, and then its files."""

    def rename(self, name: Name, to: Name) -> None:
        """Gives a folder the name of another table, which has none."""


@dataclass(frozen=True)
class LocalFolder:
    """A folder of this machine."""

    path: Path
    options: dict[str, str] | None = None

    @property
    def uri(self) -> str:
        """The path."""
        return str(self.path)

    def create(self) -> None:
        """Creates the folder."""
        self.path.mkdir(parents=True, exist_ok=True)

    def has_table(self) -> bool:
        """True if the folder has a table."""
        return DeltaTable.is_deltatable(self.uri)

    def has_commit(self, version: int) -> bool:
        """True if the log has a version."""
        return self._commit(version).exists()

    def files(self) -> FileSystem:
        """Returns the folder as a file system."""
        from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

        return SubTreeFileSystem(self.uri, LocalFileSystem())

    def make_durable(self, before: int) -> None:
        """Waits until the commits after a version are on the disk, with their files."""
        version = before + 1
        while (commit := self._commit(version)).exists():
            for line in commit.read_text().splitlines():
                added = json.loads(line).get("add")
                if added:
                    with contextlib.suppress(FileNotFoundError):  # it was replaced and deleted
                        sync(self.path / unquote(added["path"]))
            sync(commit)
            version += 1
        sync(self.path / LOG)
        sync(self.path)

    def _commit(self, version: int) -> Path:
        return self.path / LOG / f"{version:020}.json"


class LocalFolders:
    """The folders of a lake on this machine."""

    def __init__(self, lake: Path) -> None:
        self._lake = lake

    def folder(self, name: Name) -> LocalFolder:
        """Returns the folder of a table."""
        return LocalFolder(table_folder(self._lake, name))

    def find_files(self, name: Name) -> str | None:
        """Returns the folder of a table if it has files."""
        folder = table_folder(self._lake, name)
        return str(folder) if any(folder.glob("*")) else None

    def remove(self, name: Name) -> None:
        """Removes the folder of a table at once, and then its files."""
        move_away(table_folder(self._lake, name), self._lake / OWN)

    def rename(self, name: Name, to: Name) -> None:
        """Gives a folder the name of another table, which has none."""
        before, after = table_folder(self._lake, name), table_folder(self._lake, to)
        after.parent.mkdir(parents=True, exist_ok=True)
        before.rename(after)
        sync(after.parent)
        sync(before.parent)


__all__ = ["Folder", "Folders", "LocalFolders"]
