"""A folder of Iceberg tables, with a catalog in a SQLite file."""

from __future__ import annotations

from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.exc import SQLAlchemyError

from binarrow.syncing.iceberg_table import IcebergTable, path_of
from binarrow.syncing.iceberg_table_set import IcebergTableSet
from binarrow.syncing.lake_folders import OWN, move_away, table_folder
from binarrow.syncing.names import Name, shown

CATALOG = "catalog.db"
"""The file of the catalog."""

DATA = "data"
"""The folder of the tables. A table that replaces another one has its own folder."""


class FolderTableSet(IcebergTableSet):
    """The Iceberg tables of a folder."""

    errors: tuple[type[Exception], ...] = (OSError, SQLAlchemyError, ValueError)

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


__all__ = ["FolderTableSet"]
