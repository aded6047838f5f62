"""The folders of Delta tables: in a folder of this machine, or in an object store."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from deltalake import DeltaTable

from binarrow.atomic_file import sync
from binarrow.syncing.lake_folders import OWN, ascii_folder_name, move_away, table_folder

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

    from binarrow.syncing.bucket import Bucket
    from binarrow.syncing.names import Name
    from binarrow.syncing.store_state import StoreState

LOG = "_delta_log"


class Folder(Protocol):
    """The folder of a table."""

    @property
    def uri(self) -> str:
        """The path or URL of the folder, for deltalake."""

    @property
    def options(self) -> dict[str, str] | None:
        """The storage options of deltalake; None for a local folder."""

    def create(self) -> None:
        """Creates the folder."""

    def has_table(self) -> bool:
        """True if the folder has a table."""

    def has_commit(self, version: int) -> bool:
        """True if the log contains the commit of a version."""

    def files(self) -> FileSystem:
        """Returns the folder as a file system of Arrow, which runs no Python code.

        By default, deltalake opens files with a Python class. Threads of Arrow may release its
        objects while the interpreter ends, and the interpreter then aborts.
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
        """Removes the folder of a table in one step, and then deletes its files."""

    def rename(self, name: Name, to: Name) -> None:
        """Renames the folder of a table. There must be no folder with the new name."""


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
        """True if the log contains the commit of a version."""
        return self._commit(version).exists()

    def files(self) -> FileSystem:
        """Returns the folder as a file system."""
        from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

        return SubTreeFileSystem(self.uri, LocalFileSystem())

    def make_durable(self, before: int) -> None:
        """Waits until the commits after a version are on the disk, with their files."""
        version = before + 1
        while (commit := self._commit(version)).exists():
            # Bytes, because str.splitlines() also splits at characters that values in statistics
            # may contain, such as U+2028.
            for line in commit.read_bytes().splitlines():
                added = json.loads(line).get("add")
                if added:
                    with contextlib.suppress(FileNotFoundError):  # a later commit has deleted it
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
        """Removes the folder of a table in one step, and then deletes its files."""
        move_away(table_folder(self._lake, name), self._lake / OWN)

    def rename(self, name: Name, to: Name) -> None:
        """Renames the folder of a table. There must be no folder with the new name."""
        before, after = table_folder(self._lake, name), table_folder(self._lake, to)
        after.parent.mkdir(parents=True, exist_ok=True)
        before.rename(after)
        sync(after.parent)
        sync(before.parent)


@dataclass(frozen=True)
class StoreFolder:
    """A folder of an object store."""

    bucket: Bucket
    path: str

    @property
    def uri(self) -> str:
        """The URL."""
        return f"{self.bucket.shown}/{self.path}"

    @property
    def options(self) -> dict[str, str] | None:
        """The endpoint and the credentials of the store."""
        return self.bucket.settings.of_deltalake(self.bucket.patience)

    def create(self) -> None:
        """Does nothing: a store has no folders."""

    def has_table(self) -> bool:
        """True if the folder has a table."""
        return self.bucket.has_any(f"{self.path}/{LOG}")

    def has_commit(self, version: int) -> bool:
        """True if the log contains the commit of a version."""
        return self.bucket.has(f"{self.path}/{LOG}/{version:020}.json")

    def files(self) -> FileSystem:
        """Returns the folder as a file system."""
        from pyarrow.fs import S3FileSystem, SubTreeFileSystem

        settings: dict[str, Any] = self.bucket.settings.of_pyarrow()
        prefix = "/".join(one for one in (self.bucket.bucket, self.bucket.prefix, self.path) if one)
        return SubTreeFileSystem(prefix, S3FileSystem(**settings))

    def make_durable(self, before: int) -> None:
        """Does nothing: an object is durable when the store has answered."""


class StoreFolders:
    """The folders of a lake in an object store. It cannot rename objects, so they are copied."""

    def __init__(self, bucket: Bucket, state: StoreState) -> None:
        self._bucket = bucket
        self._state = state

    def folder(self, name: Name) -> StoreFolder:
        """Returns the folder of a table."""
        return StoreFolder(self._bucket, _path(name))

    def find_files(self, name: Name) -> str | None:
        """Returns the folder of a table if it has objects."""
        path = _path(name)
        return f"{self._bucket.shown}/{path}" if self._bucket.has_any(path) else None

    def remove(self, name: Name) -> None:
        """Removes the objects of a table."""
        if self._bucket.has_any(_path(name)):
            self._state.remove_table_folder(_path(name))

    def rename(self, name: Name, to: Name) -> None:
        """Copies the objects of a table, its log last, and then removes the old objects.

        If this is interrupted, the table has its old name, and the next sync copies it again.
        """
        before, after = _path(name), _path(to)
        self._state.check()
        names = self._bucket.names(before)
        for one in sorted(names, key=lambda one: one.startswith(f"{before}/{LOG}/")):
            self._bucket.copy(one, f"{after}{one.removeprefix(before)}", self._state.renew)
        self._state.remove_table_folder(before)


def _path(name: Name) -> str:
    return "/".join(ascii_folder_name(part) for part in name)


__all__ = ["Folder", "Folders", "LocalFolders", "StoreFolders"]
