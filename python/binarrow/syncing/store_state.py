"""The state of a lake on an object store.

The position is one object. A sync that starts writes its ID into this object. Each commit replaces
the object on the condition that it has not changed. So the commit of a sync fails if another sync
has started since, even if the first sync does not know yet that it has lost the lock. All other
files of a commit have names that no other sync uses.
"""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binarrow.stored_forms import LAKE_STATE
from binarrow.syncing.errors import SyncError, TargetBusyError
from binarrow.syncing.lake_folders import OWN
from binarrow.syncing.local_files import local_folder
from binarrow.syncing.store_errors import cause_of, first_line
from binarrow.syncing.store_lock import StoreLock

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    import pyarrow as pa

    from binarrow.syncing.bucket import Bucket

POSITION = "position.json"
"""The object with the position."""

COMPLETE = "complete"
"""The name of the object that is written last into a folder: it shows that the folder is
complete."""

NUMBERED = re.compile(r"(?:commit|structures)-(\d+)-")
"""The beginning of the name of a file or folder of a commit, with the number of the commit."""

REMOVALS = "removals"
"""The field of the position with the paths of the folders that are being removed."""


class StoreState:
    """The folder `_binarrow` of a lake; see :class:`StateFolder`."""

    def __init__(self, bucket: Bucket) -> None:
        self.shown = bucket.shown
        self._bucket = bucket
        self._lock = StoreLock(bucket, f"{OWN}/lock.json", self._local)
        self._sync = uuid.uuid4().hex[:12]
        """The ID of this sync, for the names of files."""
        self._tag: str | None = None
        self._stored: dict[str, Any] = {}
        """The last position."""
        self._removals: list[str] = []
        """The paths of folders whose removal is not complete."""

    def _local(self) -> Path:
        return local_folder(f"{self._bucket.settings.endpoint} {self.shown}")

    @property
    def structures_file(self) -> Path:
        """The local file for the structures of tables while a sync runs."""
        return self._local() / "tables.db"

    def lock(self) -> StoreLock:
        """Returns the lock that refuses other writers."""
        return self._lock

    def check(self) -> None:
        """Checks that no other sync has taken the lock, and completes removals of folders.

        Otherwise, a later removal could delete the files of a new table with the same name.
        """
        self._lock.check()
        while self._removals:
            self._bucket.delete(self._bucket.names(self._removals[0]), self.renew)
            del self._removals[0]
            self._replace(self._stored)

    def renew(self) -> None:
        """Replaces the lock before a request that deletes or copies objects."""
        self._lock.renew()

    def position(self, check: Callable[[bytes], object]) -> bytes | None:
        """Returns the last position after a check, and writes the ID of this sync into it.

        Also completes removals of folders that were interrupted.
        """
        found = self._bucket.get(f"{OWN}/{POSITION}")
        stored: dict[str, Any] = {}
        if found is not None:
            shown = f"the state of a sync in {self.shown}"
            stored = LAKE_STATE.parse(found[0], shown, SyncError)
            if LAKE_STATE.key in stored:
                check(found[0])
        self._tag = None if found is None else found[1]
        self._removals = stored.pop(REMOVALS, [])
        self._replace(stored)
        self.check()
        return json.dumps(stored).encode() if LAKE_STATE.key in stored else None

    def peek(self) -> bytes | None:
        """Returns the last position, for readers; None if there is none."""
        found = self._bucket.get(f"{OWN}/{POSITION}")
        return None if found is None or b'"version"' not in found[0] else found[0]

    def commit(self, sequence: int, position: bytes) -> None:
        """Replaces the position, if it is still the one of this sync.

        Raises:
            TargetBusyError: Another sync has replaced it.
        """
        del sequence
        self._replace(json.loads(position))

    def _replace(self, stored: dict[str, Any]) -> None:
        self._stored = stored
        own = {"sync": self._sync, "write": str(uuid.uuid4()), REMOVALS: self._removals}
        content = json.dumps({**stored, **own}, indent=1).encode()
        tag = self._bucket.put_if(f"{OWN}/{POSITION}", content, self._tag)
        if tag is None:
            raise TargetBusyError(
                f"another sync writes {self.shown} now, so this sync has ended. No change is lost."
                " Run only one sync at a time"
            )
        self._tag = tag

    def position_name(self, sequence: int) -> str:
        """Returns the name of the object with the position."""
        del sequence
        return POSITION

    def new_name(self, kind: str, sequence: int) -> str:
        """Returns the name of a file or folder that no other sync writes."""
        return f"{kind}-{sequence:010}-{self._sync}"

    def has(self, name: str) -> bool:
        """True if there is an object, or a folder that is complete."""
        is_folder = name.startswith("commit-") and "/" not in name
        return self._bucket.has(f"{OWN}/{name}/{COMPLETE}" if is_folder else f"{OWN}/{name}")

    def read(self, name: str) -> bytes:
        """Returns the content of an object.

        Raises:
            FileNotFoundError: It does not exist.
        """
        found = self._bucket.get(f"{OWN}/{name}")
        if found is None:
            raise FileNotFoundError(f"{OWN}/{name} is missing: another program has deleted it")
        return found[0]

    def write(self, name: str, content: bytes) -> None:
        """Writes an object, or replaces it."""
        self._bucket.put(f"{OWN}/{name}", content)

    def begin_folder(self, name: str) -> None:
        """Does nothing: only this sync writes objects with its names."""

    def write_rows(self, name: str, rows: pa.Table) -> None:
        """Writes an object of a folder that is not complete."""
        import pyarrow as pa

        output = pa.BufferOutputStream()
        with pa.ipc.new_file(output, rows.schema) as writer:
            writer.write_table(rows)
        self._bucket.put(f"{OWN}/{name}", output.getvalue().to_pybytes())

    def read_rows(self, name: str) -> pa.Table:
        """Returns the rows of an object."""
        import pyarrow as pa

        with pa.ipc.open_file(self.read(name)) as reader:
            return reader.read_all()

    def end_folder(self, name: str) -> None:
        """Marks a folder as complete."""
        self._bucket.put(f"{OWN}/{name}/{COMPLETE}", b"")

    def remove_folder(self, name: str) -> None:
        """Removes a folder in one step, and then deletes its objects."""
        self._bucket.delete([f"{OWN}/{name}/{COMPLETE}"])
        self._bucket.delete(self._bucket.names(f"{OWN}/{name}"))

    def remove_others(self, current: Container[str], sequence: int) -> None:
        """Removes the files and folders of commits up to `sequence`, except `current`.

        Files with later numbers may belong to a sync that has taken the lock.
        """
        removed = []
        for name in self._bucket.names(OWN):
            first = name.split("/")[1]
            found = NUMBERED.match(first)
            if found is not None and int(found[1]) <= sequence and first not in current:
                removed.append(name)
        self._bucket.delete(removed, self.renew)

    def remove_table_folder(self, folder: str) -> None:
        """Removes a folder of a table in one step, and then deletes its objects.

        First, the path of the folder is written into the position, which fails if another sync has
        started. After an error, `check` or the next sync removes the rest.
        """
        self._removals.append(folder)
        self._replace(self._stored)
        self.check()

    def reason(self, error: Exception) -> str:
        """Returns an error in one line: what happened, and what to do."""
        cause = cause_of(error)
        return first_line(error) if cause is None else cause.text

    def is_transient(self, error: Exception) -> bool:
        """True if the same operation may succeed later."""
        if isinstance(error, OSError) and hasattr(error, "is_transient"):
            return bool(error.is_transient)
        cause = cause_of(error)
        return cause is not None and cause.is_transient


__all__ = ["StoreState"]
