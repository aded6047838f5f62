"""The folders of a lake: their names, and how they are removed."""

from __future__ import annotations

import re
import shutil
import uuid
from pathlib import Path

from binarrow.syncing.names import Name

OWN = "_binarrow"
"""The folder of the position files."""

REMOVED = "removed-"
"""The beginning of the name of a folder whose files are being deleted."""


def table_folder(lake: Path, name: Name) -> Path:
    """Returns the folder of a table."""
    return lake.joinpath(*(folder_name(part) for part in name))


def folder_name(name: str) -> str:
    """Returns the name of a folder: other characters than letters are encoded as MySQL does."""
    escaped = re.sub(r"[^\w -]", lambda found: f"@{ord(found[0]):04x}", name)
    return f"@{ord(escaped[0]):04x}{escaped[1:]}" if escaped[0] == "_" else escaped


def move_away(folder: Path, own: Path) -> None:
    """Removes a folder at once, and then its files."""
    if folder.exists():
        removed = own / f"{REMOVED}{uuid.uuid4()}"
        folder.rename(removed)
        shutil.rmtree(removed)


__all__ = ["OWN", "REMOVED", "folder_name", "move_away", "table_folder"]
