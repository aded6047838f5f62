"""Archives of folders whose bytes depend only on the names and contents of the files."""

from __future__ import annotations

import tarfile
from pathlib import Path

MODIFIED = 1_700_000_000
"""The time of all files of an archive, in seconds since 1970."""


def pack(folder: Path, archive: Path) -> None:
    """Writes all files and folders of a folder into an archive `.tar.xz`."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT, preset=9) as output:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            output.add(path, name, recursive=False, filter=_without_origin)


def unpack(archive: Path, folder: Path) -> None:
    """Writes the files of an archive into a folder, which may not exist yet."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "r:xz") as stored:
        stored.extractall(folder, filter="data")


def _without_origin(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Removes the owner, the time, and the access rights of other users."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = MODIFIED
    entry.mode = 0o755 if entry.isdir() else 0o644
    return entry
