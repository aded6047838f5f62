"""The Iceberg tables of a catalog, in a folder or elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    ValidationException,
)

from binarrow.syncing.lake_types import Format

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from binarrow.syncing.names import Name

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


class IcebergTableSet(ABC):
    """The tables of a catalog; see :class:`TableSet`."""

    kind = "iceberg"
    format = Format("Iceberg", not_in_names=".", smallest_bits=32)
    mirror: Mapping[str, str] = MIRROR
    history: Mapping[str, str] = HISTORY
    table_errors: tuple[type[Exception], ...] = (NoSuchTableError, ValueError, NotImplementedError)
    conflicts: tuple[type[Exception], ...] = (CommitFailedException, ValidationException)

    @property
    @abstractmethod
    def _catalog(self) -> Catalog:
        """The catalog of the tables."""

    @abstractmethod
    def drop(self, name: Name) -> None:
        """Removes a table in one step, and then deletes its files."""

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


__all__ = ["IcebergTableSet"]
