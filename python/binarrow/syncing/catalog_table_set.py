"""The tables of a catalog of pyiceberg's configuration: REST, SQL, Glue, Hive."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING

from pyiceberg.exceptions import RESTError

from binarrow.syncing.iceberg_files import delete_unused, files_of
from binarrow.syncing.iceberg_table import IcebergTable
from binarrow.syncing.iceberg_table_set import IcebergTableSet
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


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


class CatalogTableSet(IcebergTableSet):
    """The tables of a catalog, which selects their places."""

    def __init__(self, catalog: Catalog) -> None:
        self._configured = catalog
        self.errors = (*errors_of_libraries(), ValueError)

    @property
    def _catalog(self) -> Catalog:
        return self._configured

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


__all__ = ["CatalogTableSet", "errors_of_libraries"]
