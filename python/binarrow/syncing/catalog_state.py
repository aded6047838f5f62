"""The state of a sync into a catalog of Iceberg tables.

The table `_binarrow.sync` has no rows. Each of its snapshots contains the name of a position file.
Catalogs commit a snapshot only if the snapshot before it is still the current one. So the commit of
a sync fails if another sync has started since, even if the first sync does not know this yet. The
files are in the folder of the table, and their names contain the ID of the sync.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    OAuthError,
    RESTError,
    UnauthorizedError,
)
from pyiceberg.io.pyarrow import PyArrowFileIO

from binarrow.atomic_file import replace_file
from binarrow.syncing.errors import SyncError, TargetBusyError
from binarrow.syncing.iceberg_files import delete_unused
from binarrow.syncing.lake_folders import OWN
from binarrow.syncing.local_files import local_folder
from binarrow.syncing.lock import Lock
from binarrow.syncing.store_errors import cause_of, first_line

if TYPE_CHECKING:
    from collections.abc import Container

    import pyarrow as pa
    from pyarrow.fs import FileSystem
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from binarrow.syncing.table_set import TableSet

LOG = logging.getLogger("binarrow.sync")

T = TypeVar("T")

NAME = (OWN, "sync")
"""The table with the state."""

POINTER = "binarrow.position"
"""The property of a snapshot with the name of the position file."""

WRITE = "binarrow.write"
"""The property of a snapshot with a unique text."""

COMPLETE = "complete"
"""The name of the file that is written last into a folder: it shows that the folder is complete."""

KEPT = 50
"""The number of old snapshots from which on they are removed."""

RETRY = 0.2
"""Seconds between two attempts."""

NUMBERED = re.compile(r"(?:commit|structures|position)-(\d+)-")
"""The beginning of the name of a file or folder of a commit, with the number of the commit."""


class CatalogState:
    """The state in files of a table of the catalog; see :class:`StateFolder`."""

    def __init__(self, name: str, catalog: Catalog, tables: TableSet, patience: float) -> None:
        self.shown = f"iceberg://{name}"
        self._catalog = catalog
        self._errors = tables.errors
        self._all_errors: tuple[type[Exception], ...] = (*tables.errors, CommitFailedException)
        self._patience = patience
        self._sync = uuid.uuid4().hex[:12]
        """The ID of this sync, for the names of files."""
        self._opened: Table | None = None
        self._snapshot: int | None = None
        """The last snapshot of this sync."""
        self._pointer = ""

    def _local(self) -> Path:
        return local_folder(f"{self.shown} {self._catalog.properties.get('uri')}")

    @property
    def structures_file(self) -> Path:
        """The local file for the structures of tables while a sync runs."""
        return self._local() / "tables.db"

    def lock(self) -> Lock:
        """Returns the lock of this machine. `check` and `commit` detect writers on others."""
        return Lock(self._local() / "lock", self.shown)

    def check(self) -> None:
        """Checks that no other sync has started.

        Raises:
            TargetBusyError: Another sync has started.
        """
        if self._reload() != self._snapshot:
            raise self._busy()

    def position(self, check: Callable[[bytes], object]) -> bytes | None:
        """Returns the last position after a check. From then on, commits of earlier syncs fail."""
        if self._load() is None:
            self._catalog.create_namespace_if_not_exists(NAME[:1])
            import pyarrow as pa

            properties = {
                "commit.retry.num-retries": "0",
                "write.metadata.delete-after-commit.enabled": "true",
                "write.metadata.previous-versions-max": "5",
            }
            schema = pa.schema([("position", pa.string())])
            self._opened = self._catalog.create_table(NAME, schema, properties=properties)
        self._snapshot = self._reload()
        self._pointer = self._summary(POINTER)
        if self._pointer:
            # If another sync has replaced the file since, the swap fails.
            with contextlib.suppress(FileNotFoundError):
                check(self.read(self._pointer))
        self._swap(self._pointer)
        return self.read(self._pointer) if self._pointer else None

    def peek(self) -> bytes | None:
        """Returns the last position, for readers; None if there is none."""
        if self._load() is None:
            return None
        pointer = self._summary(POINTER)
        return self.read(pointer) if pointer else None

    def commit(self, sequence: int, position: bytes) -> None:
        """Writes a position file, and a snapshot with its name.

        Raises:
            TargetBusyError: Another sync has started.
        """
        name = self.position_name(sequence)
        self.write(name, position)
        self._swap(name)
        self._pointer = name

    def _swap(self, pointer: str) -> None:
        """Adds a snapshot with the name of a position file after the last one of this sync."""
        write = str(uuid.uuid4())
        deadline = time.monotonic() + self._patience
        while True:
            try:
                transaction = self._table.transaction()
                properties = {POINTER: pointer, WRITE: write}
                with transaction.update_snapshot(snapshot_properties=properties).fast_append():
                    pass
                transaction.commit_transaction()
            except CommitFailedException:
                self._reload()
            except self._errors as error:
                if not self.is_transient(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(RETRY)
                found = self._reload()
                if found == self._snapshot:
                    continue
            if self._summary(WRITE) != write:  # if equal, only the answer of the catalog was lost
                raise self._busy()
            current = self._table.current_snapshot()
            self._snapshot = None if current is None else current.snapshot_id
            self._expire()
            return

    def _expire(self) -> None:
        """Removes old snapshots of the table."""
        table = self._table
        old = [one for one in table.snapshots() if one.snapshot_id != self._snapshot]
        if len(old) < KEPT:
            return
        try:
            table.maintenance.expire_snapshots().by_ids([one.snapshot_id for one in old]).commit()
            delete_unused(table.io, [one.manifest_list for one in old])
        except self._all_errors as error:
            LOG.info("%s: old snapshots were not removed: %s", self.shown, self.reason(error))

    def position_name(self, sequence: int) -> str:
        """Returns the name of the position file of a commit of this sync."""
        return f"{self.new_name('position', sequence)}.json"

    def new_name(self, kind: str, sequence: int) -> str:
        """Returns the name of a file or folder that no other sync writes."""
        return f"{kind}-{sequence:010}-{self._sync}"

    # ------------------------------------------------------------------------ files

    def has(self, name: str) -> bool:
        """True if there is a file, or a folder that is complete."""
        from pyarrow.fs import FileType

        if self._opened is None and self._load() is None:
            return False
        is_folder = name.startswith("commit-") and "/" not in name
        files, path = self._path(f"{name}/{COMPLETE}" if is_folder else name)
        found = self._patiently(lambda: files.get_file_info(path))
        return bool(found.type == FileType.File)

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""
        files, path = self._path(name)

        def read() -> bytes:
            with files.open_input_file(path) as file:
                return bytes(file.read())

        return self._patiently(read)

    def write(self, name: str, content: bytes) -> None:
        """Writes a file, or replaces it, all of it or nothing."""
        from pyarrow.fs import LocalFileSystem

        files, path = self._path(name)

        def write() -> None:
            if isinstance(files, LocalFileSystem):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                replace_file(Path(path), content)
                return
            with files.open_output_stream(path) as file:
                file.write(content)

        self._patiently(write)

    def begin_folder(self, name: str) -> None:
        """Does nothing: only this sync writes files with its names."""

    def write_rows(self, name: str, rows: pa.Table) -> None:
        """Writes a file of a folder that is not complete."""
        import pyarrow as pa

        output = pa.BufferOutputStream()
        with pa.ipc.new_file(output, rows.schema) as writer:
            writer.write_table(rows)
        self.write(name, output.getvalue().to_pybytes())

    def read_rows(self, name: str) -> pa.Table:
        """Returns the rows of a file."""
        import pyarrow as pa

        with pa.ipc.open_file(self.read(name)) as reader:
            return reader.read_all()

    def end_folder(self, name: str) -> None:
        """Marks a folder as complete."""
        self.write(f"{name}/{COMPLETE}", b"{}")

    def remove_folder(self, name: str) -> None:
        """Removes a folder in one step, and then deletes its files."""
        files, path = self._path(name)
        with contextlib.suppress(FileNotFoundError):
            self._patiently(lambda: files.delete_file(f"{path}/{COMPLETE}"))
        self._delete(name)

    def remove_others(self, current: Container[str], sequence: int) -> None:
        """Removes the files and folders of commits up to `sequence`, except `current`."""
        from pyarrow.fs import FileSelector

        files, path = self._path("")
        selector = FileSelector(path, allow_not_found=True)
        for one in self._patiently(lambda: files.get_file_info(selector)):
            name = str(one.base_name)
            found = NUMBERED.match(name)
            is_old = found is not None and int(found[1]) <= sequence
            if is_old and name not in current and name != self._pointer:
                self._delete(name)

    def _delete(self, name: str) -> None:
        files, path = self._path(name)
        delete = files.delete_dir if name.startswith("commit-") else files.delete_file
        with contextlib.suppress(FileNotFoundError):
            self._patiently(lambda: delete(path))

    def _path(self, name: str) -> tuple[FileSystem, str]:
        """Returns a file system with the login of the catalog, and the path of a file in it."""
        io: Any = self._table.io
        if not isinstance(io, PyArrowFileIO):
            raise SyncError(
                f"{self.shown}: sync needs pyarrow for files: remove py-io-impl from the settings"
                " of the catalog"
            )
        location = f"{self._table.location()}/files/{name}".rstrip("/")
        scheme, host, path = io.parse_location(location, io.properties)
        return io.fs_by_scheme(scheme, host), path

    def _patiently(self, call: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return call()
            except self._errors as error:
                if not self.is_transient(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(RETRY)

    # ------------------------------------------------------------------------ the table

    @property
    def _table(self) -> Table:
        if self._opened is None:
            raise FileNotFoundError(f"{self.shown} has no table {'.'.join(NAME)}")
        return self._opened

    def _load(self) -> Table | None:
        try:
            self._opened = self._patiently(lambda: self._catalog.load_table(NAME))
        except (NoSuchTableError, NoSuchNamespaceError):
            self._opened = None
        return self._opened

    def _reload(self) -> int | None:
        """Reads the table again, and returns its snapshot."""
        table = self._load()
        current = None if table is None else table.current_snapshot()
        return None if current is None else current.snapshot_id

    def _summary(self, name: str) -> str:
        current = self._table.current_snapshot()
        if current is None or current.summary is None:
            return ""
        return str(current.summary.additional_properties.get(name, ""))

    def _busy(self) -> TargetBusyError:
        return TargetBusyError(
            f"another sync writes {self.shown} now, so this sync has ended. No change is lost. Run"
            " only one sync at a time"
        )

    def reason(self, error: Exception) -> str:
        """Returns an error in one line: what happened, and what to do."""
        if isinstance(error, UnauthorizedError | ForbiddenError | OAuthError):
            return "the catalog does not accept the credentials: check the settings of the catalog"
        if isinstance(error, RESTError) or type(error).__module__.startswith("requests"):
            return (
                f"the catalog has failed, or cannot be reached ({first_line(error)}): check the"
                " network and the settings of the catalog, and run the command again"
            )
        cause = cause_of(error)
        return first_line(error) if cause is None else cause.text

    def is_transient(self, error: Exception) -> bool:
        """True if the same operation may succeed later."""
        cause = cause_of(error)
        return cause is not None and cause.is_transient


__all__ = ["CatalogState"]
