"""The Delta tables of a lake: a folder for each database, and in it one for each table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    DeltaProtocolError,
    SchemaMismatchError,
    TableNotFoundError,
)

from binarrow.syncing.delta_table import Table
from binarrow.syncing.lake_types import Format
from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from binarrow.syncing.delta_folders import Folders

RETENTION = {
    "delta.deletedFileRetentionDuration": "interval 1 hours",
    "delta.logRetentionDuration": "interval 1 days",
}
MIRROR = {"delta.targetFileSize": str(32 << 20), **RETENTION}
"""The properties of a table with the current rows: a change of a row writes its file again."""

HISTORY = {"delta.targetFileSize": str(128 << 20), **RETENTION}
"""The properties of a table with all changes."""


class DeltaTableSet:
    """The Delta tables of a lake."""

    kind = "delta"
    # The last character is a limit of the library.
    format = Format("Delta", not_in_names=" ,;{}()\n\t=`", smallest_bits=8)
    mirror: Mapping[str, str] = MIRROR
    history: Mapping[str, str] = HISTORY
    errors: tuple[type[Exception], ...] = (DeltaError, OSError)
    table_errors: tuple[type[Exception], ...] = (
        SchemaMismatchError,
        DeltaProtocolError,
        TableNotFoundError,
        ValueError,
        NotImplementedError,
    )
    conflicts: tuple[type[Exception], ...] = (CommitFailedError,)

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._tables: dict[Name, Table] = {}

    def table(self, name: Name, sync_id: str) -> Table:
        """Returns a table as it is now."""
        table = self._tables.setdefault(name, Table(self._folders.folder(name), sync_id))
        table.refresh()
        return table

    def find_other(self, name: Name) -> str | None:
        """Returns the folder of a table if it has files."""
        return self._folders.find_files(name)

    def drop(self, name: Name) -> None:
        """Removes a table in one step, and then deletes its files."""
        self._tables.pop(name, None)
        self._folders.remove(name)

    def rename(self, name: Name, to: Name) -> None:
        """Renames a table. A table that already has the new name is replaced."""
        self.drop(to)
        self._tables.pop(name, None)
        self._folders.rename(name, to)


__all__ = ["DeltaTableSet"]
