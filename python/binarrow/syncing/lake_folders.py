"""The folders of a lake: their names, their lock, and how they are removed."""

from __future__ import annotations

import re
import shutil
import uuid
from pathlib import Path

from binarrow.syncing.errors import SyncError
from binarrow.syncing.lock import Lock
from binarrow.syncing.names import Name

OWN = "_binarrow"
"""The folder of the state."""

REMOVED = "removed-"
"""The beginning of the name of a folder whose files are being deleted."""


def lock_lake(lake: Path) -> Lock:
    """Returns the lock that refuses other writers, and creates its folder.

    Raises:
        SyncError: The folder cannot be created.
    """
    try:
        (lake / OWN).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SyncError(f"{lake} cannot be written: {error.strerror or error}") from None
    return Lock(lake / OWN / "lock", str(lake))


def table_folder(lake: Path, name: Name) -> Path:
    """Returns the folder of a table."""
    return lake.joinpath(*(folder_name(part) for part in name))


def folder_name(name: str) -> str:
    """Returns the name of a folder: other characters than letters are encoded as MySQL does."""
    return _escaped(r"[^\w -]", name)


def ascii_folder_name(name: str) -> str:
    """Returns the name of a folder in a URL: all but ASCII letters, digits, - and _ are encoded."""
    return _escaped(r"[^A-Za-z0-9_-]", name)


def _escaped(pattern: str, name: str) -> str:
    escaped = re.sub(pattern, lambda found: f"@{ord(found[0]):04x}", name)
    return f"@{ord(escaped[0]):04x}{escaped[1:]}" if escaped[0] == "_" else escaped


def move_away(folder: Path, own: Path) -> None:
    """Removes a folder in one step, and then deletes its files."""
    if folder.exists():
        removed = own / f"{REMOVED}{uuid.uuid4()}"
        folder.rename(removed)
        shutil.rmtree(removed)


__all__ = [
    "OWN",
    "REMOVED",
    "ascii_folder_name",
    "folder_name",
    "lock_lake",
    "move_away",
    "table_folder",
]
