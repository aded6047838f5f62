"""Replaces a file so that a crash leaves the old content or the new one, complete."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

SUFFIX = ".tmp"


def replace_file(path: Path, content: bytes) -> None:
    """Writes a temporary file in the same folder, syncs it, and renames it.

    Only the owner can read the new file. After an error the file is unchanged.

    Raises:
        OSError: The folder is not writable, or the disk is full.
    """
    import tempfile  # here, because only processes that save positions need it

    handle, name = tempfile.mkstemp(SUFFIX, _prefix(path), path.parent)
    temporary = Path(name)
    try:
        try:
            written = 0
            while written < len(content):
                written += os.write(handle, content[written:])
            os.fsync(handle)
        finally:
            os.close(handle)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    # After a crash of the machine, the new name exists only if its folder was synced.
    sync(path.parent)


def temporary_files(path: Path) -> Iterator[Path]:
    """Returns temporary files of :func:`replace_file`, including those of killed processes."""
    for each in path.parent.iterdir():
        if each.name.startswith(_prefix(path)) and each.name.endswith(SUFFIX):
            yield each


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    if sys.platform == "win32":  # it cannot sync a file that is open for reading, nor open a folder
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _prefix(path: Path) -> str:
    return f".{path.name[:50]}."
