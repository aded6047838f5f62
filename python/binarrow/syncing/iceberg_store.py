"""A folder of Iceberg tables, with a catalog in a SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.table import Table
from sqlalchemy.exc import SQLAlchemyError

from binarrow.syncing.iceberg_table import IcebergTable, path_of
from binarrow.syncing.lake_folders import OWN, move_away, table_folder
from binarrow.syncing.lake_types import Format
from binarrow.syncing.names import Name, shown

CATALOG = "catalog.db"
"""The file of the catalog."""

DATA = "data"
"""The folder of the tables. A table that replaces another one has its own folder."""

COMMON = {
    "commit.manifest-merge.enabled": "true",
    "commit.retry.num-retries": "0",  # the sync applies the operation again
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
MIRROR = {"write.target-file-size-bytes": str(64 << 20), **COMMON}
"""The properties of a table with the current rows: a change of a row writes its file again."""

HISTORY = {"write.target-file-size-bytes": str(256 << 20), **COMMON}
"""The properties of a table with all changes."""


class IcebergStore:
    """The Iceberg tables of a folder."""

    kind = "iceberg"
    format = Format("Iceberg", not_in_names=".", smallest_bits=32)
    mirror: Mapping[str, str] = MIRROR
    history: Mapping[str, str] = HISTORY
    errors: tuple[type[Exception], ...] = (OSError, SQLAlchemyError, ValueError)
    table_errors: tuple[type[Exception], ...] = (NoSuchTableError, ValueError, NotImplementedError)
    conflicts: tuple[type[Exception], ...] = (CommitFailedException, ValidationException)

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: SqlCatalog | None = None

    @property
    def _catalog(self) -> SqlCatalog:
        if self._opened is None:
            self._opened = SqlCatalog(
                "default", uri=f"sqlite:///{self._path / CATALOG}", warehouse=f"file://{self._path}"
            )
        return self._opened

    def table(self, name: Name, sync_id: str) -> IcebergTable:
        """Returns a table as it is now."""
        folder = table_folder(self._path / DATA, name)
        return IcebergTable(self._catalog, name, self._found(name), folder, sync_id)

    def find_other(self, name: Name) -> str | None:
        """Returns the name of a table if it is in the catalog."""
        if not (self._path / CATALOG).exists():
            return None
        table = self._found(name)
        return None if table is None else f"the table {shown(name)} of {self._path / CATALOG}"

    def drop(self, name: Name) -> None:
        """Removes a table in one step, and then deletes its files."""
        table = self._found(name)
        if table is not None:
            self._catalog.drop_table(name)
            move_away(path_of(table.location()), self._path / OWN)

    def rename(self, name: Name, to: Name) -> None:
        """Renames a table. A table that already has the new name is replaced."""
        self.drop(to)
        self._catalog.create_namespace_if_not_exists(to[:1])
        self._catalog.rename_table(name, to)

    def _found(self, name: Name) -> Table | None:
        try:
            return self._catalog.load_table(name)
        except NoSuchTableError:
            return None


__all__ = ["IcebergStore"]
