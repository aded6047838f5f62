"""Functions that list, flush and delete the files of Iceberg tables."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from binarrow.atomic_file import sync

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyiceberg.io import FileIO
    from pyiceberg.table import Table


def path_of(location: str) -> Path:
    """Returns the path of a file or folder of this machine."""
    return Path(location.removeprefix("file://"))


def sync_file(location: str) -> None:
    """Waits until a local file is on the disk. An object in a store is durable already."""
    if location.startswith(("file://", "/")):
        sync(path_of(location))


def files_of(table: Table) -> set[str]:
    """Returns the files of all snapshots of a table."""
    found: set[str] = set()
    for snapshot in table.snapshots():
        found.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in found:
                found.add(manifest.manifest_path)
                for entry in manifest.fetch_manifest_entry(table.io):
                    found.add(entry.data_file.file_path)
    return found


def delete_unused(io: FileIO, files: Iterable[str]) -> None:
    """Deletes files that no table uses any more."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            io.delete(file)


def delete_old(table: Table, oldest: float) -> None:
    """Deletes files older than `oldest` in the folder of a table that no snapshot uses."""
    used = {path_of(one) for one in files_of(table)}
    folder = path_of(table.location())
    for pattern in ("data/*.parquet", "metadata/*.avro"):
        for file in folder.glob(pattern):
            if file not in used and file.stat().st_mtime < oldest:
                file.unlink()


__all__ = ["delete_old", "delete_unused", "files_of", "path_of", "sync_file"]
