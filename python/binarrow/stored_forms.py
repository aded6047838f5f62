"""The forms in which things are stored and read again, each with its version.

A stored thing contains the version of its form; without one, its version is 1. A new field makes a
new version, too. A later version is refused. An earlier version is read, and only the next commit
writes the current version.

The extension module has other forms, which are in `STORED_VERSIONS`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binarrow._native import STORED_VERSIONS, ConfigError, check_stored_version

if TYPE_CHECKING:
    from binarrow._native import BinarrowError


@dataclass(frozen=True)
class StoredForm:
    """A form of JSON, or of something else that contains the version of its form."""

    name: str
    """The thing, in the documentation."""
    version: int
    fields: frozenset[str] = frozenset()
    """The other fields of the JSON; empty if it is not JSON."""
    key: str = "version"
    """The field with the version."""

    @property
    def stamp(self) -> dict[str, int]:
        """The version, as a field of the JSON."""
        return {self.key: self.version}

    def check(
        self, version: object, shown: str, damaged: type[BinarrowError] = ConfigError
    ) -> None:
        """Checks the version of something stored.

        Args:
            version: Its version; None if it has none.
            shown: The thing and its place, for messages.
            damaged: The class of the error if it is not a version.

        Raises:
            LaterVersionError: A later version of binarrow has stored it.
        """
        if version is None:
            return
        if type(version) is not int or not 0 < version < 1 << 64:
            raise damaged(f"{shown} is damaged: {version!r} is not a format version")
        check_stored_version(shown, version, self.version)

    def parse(
        self, text: str | bytes, shown: str, damaged: type[BinarrowError] = ConfigError
    ) -> dict[str, Any]:
        """Parses JSON, and checks it as :meth:`read` does."""
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError):
            raise damaged(f"{shown} is damaged: it is not JSON") from None
        return self.read(stored, shown, damaged)

    def read(
        self, stored: object, shown: str, damaged: type[BinarrowError] = ConfigError
    ) -> dict[str, Any]:
        """Checks the version and the names of the fields of JSON, and returns its values.

        Args:
            stored: The value of the JSON.
            shown: The thing and its place, for messages.
            damaged: The class of the error if it does not have the form.

        Raises:
            LaterVersionError: A later version of binarrow has stored it.
        """
        if not isinstance(stored, dict):
            raise damaged(f"{shown} is damaged: it is not an object of JSON")
        self.check(stored.get(self.key), shown, damaged)
        unknown = sorted(stored.keys() - self.fields - {self.key})
        if unknown:
            raise damaged(f"{shown} is damaged: it has an unknown field {unknown[0]!r}")
        return stored


def _form(name: str, version: int, fields: str = "", key: str = "version") -> StoredForm:
    return StoredForm(name, version, frozenset(fields.split()), key)


_STATE = "mode position markers complete_through tables details"
"""The fields of the state of a sync."""

CHECKPOINT = _form("checkpoint", 1, "format written position")
CERTIFICATE = _form("certificate", STORED_VERSIONS["certificate"], "position")
DUCKDB_STATE = _form("state of a sync in DuckDB", 1)
LAKE_STATE = _form(
    "state of a sync in Delta or Iceberg tables",
    1,
    f"{_STATE} kind sync_id sequence structures rows numbers operations sync write removals",
)
PARQUET_STATE = _form(
    "state of a sync in Parquet files", 1, f"{_STATE} sequence structures files removed"
)
STORE_LOCK = _form("lock of a sync in an object store", 1, "id host process beat")
OFFSET = _form(
    "offset of a streaming query",
    STORED_VERSIONS["offset of a streaming query"],
    key="offset_version",
)
LOAD_CHUNKS = _form("chunks of a load in Spark", 1, "selected tables is_unchanged searched", "v")
PARKED_TABLES = _form("parked tables of a query", 1, "query tables")
SYNC_PROPERTIES = _form("properties of a table of a query", 1, key="binarrow.sync.version")
PARQUET_MIRROR = _form("Parquet mirror", 1, "version folder schema", "format_version")
SERVER_SPLIT = _form("range of a server's log", 1, "endpoints user range", "v")

FORMS = (
    CHECKPOINT,
    CERTIFICATE,
    DUCKDB_STATE,
    LAKE_STATE,
    PARQUET_STATE,
    STORE_LOCK,
    OFFSET,
    LOAD_CHUNKS,
    PARKED_TABLES,
    SYNC_PROPERTIES,
    PARQUET_MIRROR,
    SERVER_SPLIT,
)
"""All forms of the package."""

__all__ = [
    "CERTIFICATE",
    "CHECKPOINT",
    "DUCKDB_STATE",
    "FORMS",
    "LAKE_STATE",
    "LOAD_CHUNKS",
    "OFFSET",
    "PARKED_TABLES",
    "PARQUET_MIRROR",
    "PARQUET_STATE",
    "SERVER_SPLIT",
    "STORE_LOCK",
    "SYNC_PROPERTIES",
    "StoredForm",
]
