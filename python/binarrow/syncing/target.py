"""Targets: the interface, and the URLs that name them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from binarrow._native import ConfigError, shown_uri
from binarrow.advice import message
from binarrow.syncing.names import Name
from binarrow.syncing.operations import Operation, Record, State
from binarrow.syncing.settings import Settings

ALLOCATOR = "_RJEM_MALLOC_CONF"
"""The variable of the environment with the settings of the allocator of deltalake."""

SUPPORTED = (
    "duckdb:///FILE.duckdb, delta+file:///FOLDER, delta+s3://BUCKET/PREFIX, iceberg+file:///FOLDER,"
    " iceberg://CATALOG or parquet+file:///FOLDER"
)


class Target(Protocol):
    """A place for the tables of a database."""

    @property
    def structures_file(self) -> Path:
        """The file for the structures of tables while a sync runs."""

    def lock(self) -> AbstractContextManager[object]:
        """Returns the lock that refuses other writers."""

    def load(self) -> tuple[State, bytes] | None:
        """Returns the committed state and structures; None if the target is new."""

    def check_free(self, names: Sequence[Name]) -> None:
        """Checks that another tool has not created tables with these names."""

    def commit(
        self, operations: Sequence[Operation], state: State, copy: bytes | None
    ) -> Mapping[Name, Record]:
        """Applies operations and stores the state, all of it or nothing.

        Returns the tables that were parked, because their operations could not be applied after the
        state was stored.

        Raises:
            TableError: A table cannot be written. Nothing is stored.
            SyncError: The target cannot be written.
        """


def open_target(url: str, settings: Settings) -> Target:
    """Returns the target of a URL.

    Raises:
        ConfigError: The URL is not supported, or the library for it is missing.
    """
    scheme, _, rest = url.partition("://")
    opener = _OPENERS.get(scheme)
    if opener is None or not rest:
        raise ConfigError(f"the target {shown_uri(url)!r} is not supported: write {SUPPORTED}")
    return opener(rest, settings)


def _duckdb(rest: str, settings: Settings) -> Target:
    try:
        import duckdb
    except ImportError:
        raise ConfigError(
            "a target duckdb:// needs the package duckdb: pip install 'binarrow[duckdb]'"
        ) from None
    del duckdb
    from binarrow.syncing.duckdb_file import DuckdbFile

    if not rest.startswith("/") or rest.endswith("/"):
        raise ConfigError(
            f"the target 'duckdb://{rest}' has no file: write duckdb:///mirror.duckdb, or"
            " duckdb:////var/lib/mirror.duckdb for an absolute path"
        )
    return DuckdbFile(rest[1:], settings)


def _import_deltalake() -> None:
    """Imports the library, and sets its allocator to return memory after each commit.

    By default it keeps free memory: the peak of 1.5 million updates was 964 MiB, not 720 MiB.
    """
    before = os.environ.get(ALLOCATOR)
    os.environ.setdefault(ALLOCATOR, "narenas:2,dirty_decay_ms:0,muzzy_decay_ms:0")
    try:
        import deltalake
    finally:
        if before is None:
            del os.environ[ALLOCATOR]
    del deltalake


def _check_deltalake(scheme: str) -> None:
    try:
        _import_deltalake()
    except ImportError:
        raise ConfigError(
            f"a target {scheme}:// needs the package deltalake: pip install 'binarrow[delta]'"
        ) from None


def _delta(rest: str, settings: Settings) -> Target:
    _check_deltalake("delta+file")
    from binarrow.syncing.delta_folders import LocalFolders
    from binarrow.syncing.delta_table_set import DeltaTableSet
    from binarrow.syncing.lake import Lake
    from binarrow.syncing.local_state import LocalState

    if not rest.startswith("/") or rest == "/":
        raise ConfigError(
            f"the target 'delta+file://{rest}' has no folder: write delta+file:///lake, or"
            " delta+file:////var/lib/lake for an absolute path"
        )
    path = Path(rest[1:]).absolute()
    return Lake(LocalState(path), DeltaTableSet(LocalFolders(path)), settings)


def _delta_s3(rest: str, settings: Settings) -> Target:
    _check_deltalake("delta+s3")
    try:
        import obstore
    except ImportError:
        raise ConfigError(
            "a target delta+s3:// needs the package obstore: pip install 'binarrow[delta,s3]'"
        ) from None
    del obstore
    from binarrow.syncing.bucket import Bucket
    from binarrow.syncing.delta_folders import StoreFolders
    from binarrow.syncing.delta_table_set import DeltaTableSet
    from binarrow.syncing.lake import Lake
    from binarrow.syncing.store_state import StoreState

    bucket = Bucket.of_url(rest, settings.busy_timeout)
    state = StoreState(bucket)
    return Lake(state, DeltaTableSet(StoreFolders(bucket, state)), settings)


def _iceberg(rest: str, settings: Settings) -> Target:
    try:
        import pyiceberg
        import sqlalchemy
    except ImportError:
        raise ConfigError(
            "a target iceberg+file:// needs the package pyiceberg: pip install 'binarrow[iceberg]'"
        ) from None
    del pyiceberg, sqlalchemy
    from binarrow.syncing.folder_table_set import FolderTableSet
    from binarrow.syncing.lake import Lake
    from binarrow.syncing.local_state import LocalState

    if not rest.startswith("/") or rest == "/":
        raise ConfigError(
            f"the target 'iceberg+file://{rest}' has no folder: write iceberg+file:///lake, or"
            " iceberg+file:////var/lib/lake for an absolute path"
        )
    path = Path(rest[1:]).absolute()
    return Lake(LocalState(path), FolderTableSet(path), settings)


def _iceberg_catalog(rest: str, settings: Settings) -> Target:
    try:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NotInstalledError
    except ImportError:
        raise ConfigError(
            "a target iceberg:// needs the package pyiceberg: pip install 'binarrow[iceberg]'"
        ) from None
    from binarrow.syncing.catalog_state import CatalogState
    from binarrow.syncing.catalog_table_set import CatalogTableSet, errors_of_libraries
    from binarrow.syncing.errors import SyncError
    from binarrow.syncing.lake import Lake
    from binarrow.syncing.store_errors import first_line

    if re.fullmatch(r"[\w-]+", rest) is None:
        raise ConfigError(
            "a target iceberg:// contains only the name of a catalog: write iceberg://CATALOG, and"
            " configure its URI and credentials for pyiceberg, in ~/.pyiceberg.yaml"
        )
    try:
        catalog = load_catalog(rest)
    except NotInstalledError as error:
        raise ConfigError(f"the catalog {rest!r}: {error}") from None
    except ValueError:
        raise ConfigError(
            f"pyiceberg has no complete settings of the catalog {rest!r}: write them into"
            f" ~/.pyiceberg.yaml, or set PYICEBERG_CATALOG__{rest.upper()}__URI and"
            f" PYICEBERG_CATALOG__{rest.upper()}__TYPE"
        ) from None
    except errors_of_libraries() as error:
        raise SyncError(
            f"the catalog {rest!r} cannot be reached, or refuses the credentials"
            f" ({first_line(error)}): check its settings"
        ) from None
    tables = CatalogTableSet(catalog)
    return Lake(CatalogState(rest, catalog, tables, settings.busy_timeout), tables, settings)


def _parquet(rest: str, settings: Settings) -> Target:
    from binarrow.syncing.parquet_folder import ParquetFolder

    if settings.mode != "history":
        raise ConfigError(
            message(
                "rows in the files of a target parquet+file:// cannot be changed: for the current"
                " rows, use delta+file:///FOLDER, whose tables are Parquet files with a log, or"
                " duckdb:///FILE.duckdb. For all changes in Parquet files, use ⟦mode=history⟧"
            )
        )
    if not rest.startswith("/") or rest == "/":
        raise ConfigError(
            f"the target 'parquet+file://{rest}' has no folder: write parquet+file:///changes, or"
            " parquet+file:////var/lib/changes for an absolute path"
        )
    return ParquetFolder(rest[1:])


_OPENERS: dict[str, Callable[[str, Settings], Target]] = {
    "duckdb": _duckdb,
    "delta+file": _delta,
    "delta+s3": _delta_s3,
    "iceberg+file": _iceberg,
    "iceberg": _iceberg_catalog,
    "parquet+file": _parquet,
}

__all__ = ["Target", "open_target"]
