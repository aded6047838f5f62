"""The tables of a catalog of pyiceberg's configuration: REST, SQL, Glue, Hive."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    RESTError,
    ValidationException,
)

from binarrow.syncing.iceberg_files import delete_unused, files_of
from binarrow.syncing.iceberg_store import HISTORY, MIRROR
from binarrow.syncing.iceberg_table import IcebergTable
from binarrow.syncing.lake_types import Format
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table


def errors_of_libraries() -> tuple[type[Exception], ...]:
    """Returns the classes of errors of catalogs, files, and the installed libraries."""
    found: list[type[Exception]] = [OSError, RESTError]
    for module, names in {
        "sqlalchemy.exc": ("SQLAlchemyError",),
        "botocore.exceptions": ("BotoCoreError", "ClientError"),
        "thrift.Thrift": ("TException",),
    }.items():
        with contextlib.suppress(ImportError):
            loaded = importlib.import_module(module)
            found += [getattr(loaded, name) for name in names]
    return tuple(found)


class CatalogStore:
    """The tables of a catalog, which selects their places."""

    kind = "iceberg"
    format = Format("Iceberg", not_in_names=".", smallest_bits=32)
    mirror: Mapping[str, str] = MIRROR
    history: Mapping[str, str] = HISTORY
    table_errors: tuple[type[Exception], ...] = (NoSuchTableError, ValueError, NotImplementedError)
    conflicts: tuple[type[Exception], ...] = (CommitFailedException, ValidationException)

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.errors = (*errors_of_libraries(), ValueError)

    def table(self, name: Name, sync_id: str) -> IcebergTable:
        """Returns a table as it is now."""
        return IcebergTable(self._catalog, name, self._found(name), None, sync_id)

    def find_other(self, name: Name) -> str | None:
        """Returns the name of a table, for messages, if it is in the catalog."""
        found = self._found(name)
        return None if found is None else f"the table {shown(name)} of the catalog"

    def drop(self, name: Name) -> None:
        """Removes a table in one step, and then deletes its files."""
        table = self._found(name)
        if table is not None:
            files = files_of(table)
            self._catalog.drop_table(name)
            delete_unused(table.io, files)

    def rename(self, name: Name, to: Name) -> None:
        """Renames a table. A table that already has the new name is replaced."""
        self.drop(to)
        self._catalog.create_namespace_if_not_exists(to[:1])
        self._catalog.rename_table(name, to)

    def _found(self, name: Name) -> Table | None:
        try:
            return self._catalog.load_table(name)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None


__all__ = ["CatalogStore", "errors_of_libraries"]
