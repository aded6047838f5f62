"""The folder of this machine for the temporary files of a sync whose target is an object store."""

from __future__ import annotations

import getpass
import hashlib
import os
import tempfile
from pathlib import Path

from binarrow.syncing.errors import SyncError


def local_folder(target: str) -> Path:
    """Returns the folder for a target, `binarrow-USER/HASH` in the system's temporary folder.

    Only the user can read it.

    Raises:
        SyncError: The folder cannot be created, belongs to another user, or is open to others.
    """
    user = getpass.getuser() if os.name == "nt" else str(os.getuid())
    parent = Path(tempfile.gettempdir()) / f"binarrow-{user}"
    folder = parent / hashlib.sha256(target.encode()).hexdigest()[:16]
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        if os.name != "nt":
            found = parent.lstat()
            if found.st_uid != os.getuid() or found.st_mode & 0o077:
                raise SyncError(
                    f"{parent} belongs to another user, or other users can access it: remove it, or"
                    " set TMPDIR to another folder"
                )
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise SyncError(
            f"{folder} cannot be created: {error.strerror or error}. Set TMPDIR to a folder for"
            " temporary files"
        ) from None
    return folder


__all__ = ["local_folder"]
