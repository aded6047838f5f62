"""A server and a target into which it is synced."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

import binarrow
from support.oracles.delta_tables import read_delta, read_delta_store
from support.oracles.duckdb_tables import (
    Rows,
    differences,
    read_parquet,
    read_source,
    read_target,
)
from support.oracles.iceberg_tables import read_catalog, read_iceberg
from support.servers.s3 import BUCKET, S3
from support.servers.servers import Server

SECRET = "s3cret sync"
"""The password of the user `mirror`."""

SCHEMES = {
    "duckdb": "duckdb",
    "delta": "delta+file",
    "iceberg": "iceberg+file",
    "parquet": "parquet+file",
}
"""The kinds of targets, with the beginning of their URLs."""

CATALOGS = ("sql", "glue")
"""The kinds of targets that are catalogs of pyiceberg."""

READERS = {
    "duckdb": read_target,
    "delta": read_delta,
    "iceberg": read_iceberg,
    "parquet": read_parquet,
}
"""The readers of targets in folders and files. They use other programs than binarrow."""

each_kind = pytest.mark.parametrize("kind", ["duckdb", "delta", "iceberg"])
"""Runs a test with each kind of target that can be a mirror."""

two_kinds = pytest.mark.parametrize("kind", ["duckdb", "delta"])
"""Runs a test with a database and with a lake."""


def repairs_of(tables: Iterable[binarrow.SyncedTable]) -> set[str]:
    """Returns what sync read to repair tables: their "keys" or their "rows"."""
    kinds = {"keys": "comparisons", "rows": "loads"}
    return {kind for one in tables for kind, name in kinds.items() if getattr(one, name)}


@dataclass
class Source:
    """A server with empty databases, and a target."""

    server: Server
    folder: Path
    password_file: Path
    kind: str = "duckdb"
    store: S3 | None = None
    """The object store of the target, if it is in one."""
    prefix: str = field(default_factory=lambda: f"lake-{uuid.uuid4()}")
    """The prefix of the target in the bucket."""

    @property
    def url(self) -> str:
        return f"mysql://mirror@127.0.0.1:{self.server.port}/?tls=disabled&allow_public_key_retrieval=1"

    @property
    def file(self) -> Path:
        """The file or folder of the target."""
        return self.folder / f"copy.{self.kind}"

    @property
    def target(self) -> str:
        if self.kind in CATALOGS:
            return "iceberg://lake"
        if self.store is not None:
            return f"{self.kind}://{BUCKET}/{self.prefix}"
        return f"{SCHEMES[self.kind]}:///{self.file}"

    @property
    def last_commit(self) -> object | None:
        """Returns a value that changes with each commit of the target; None before the first."""
        if self.kind in CATALOGS:
            catalog = load_catalog("lake")
            if not catalog.table_exists(("_binarrow", "sync")):
                return None
            snapshots = catalog.load_table(("_binarrow", "sync")).snapshots()
            found = [one for one in snapshots if "binarrow.position" in str(one.summary)]
            return found[-1].snapshot_id if found else None
        if self.store is not None:
            name = f"{self.prefix}/_binarrow/position.json"
            has_position = name in self.store.objects(self.prefix)
            return json.loads(self.store.read(name)).get("sequence") if has_position else None
        if self.kind != "duckdb":
            return max(self.file.glob("_binarrow/position-*.json"), default=None)
        return self.file.stat().st_mtime_ns if self.file.exists() else None

    def other(self) -> Source:
        """Returns the server with another target."""
        folder = self.folder / "other"
        folder.mkdir()
        return Source(self.server, folder, self.password_file, self.kind, self.store)

    def execute(self, *statements: str) -> None:
        self.server.execute(*statements)

    def sync(self, **keywords: Any) -> binarrow.SyncSummary:
        given = {"once": True, "tables": "shop.*", "password_file": self.password_file}
        return binarrow.sync(self.url, self.target, **{**given, **keywords})

    @contextmanager
    def syncing(self, **keywords: Any) -> Iterator[binarrow.SyncProgress]:
        """Syncs in a thread until the end of the block, or until an error, which is raised there."""
        progress, ended = binarrow.SyncProgress(), threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                given = {"once": False, "every": 0.2, "is_stopped": ended.is_set, **keywords}
                self.sync(progress=progress, **given)
            except BaseException as error:  # noqa: BLE001 - it is raised below
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield progress
        finally:
            ended.set()
            thread.join(60)
        if errors:
            raise errors[0]
        assert not thread.is_alive()

    def read(self, table: str) -> Rows:
        """Returns the rows of a table of the target."""
        if self.kind in CATALOGS:
            return read_catalog(load_catalog("lake"), table)
        if self.store is not None:
            return read_delta_store(f"s3://{BUCKET}/{self.prefix}", table, self.store.environment)
        return READERS[self.kind](self.file, table)

    def selected(self, table: str) -> Rows:
        """Returns the rows of a table of the server, as a target has them."""
        return read_source(self.server, table, "interval" if self.kind == "duckdb" else "integer")

    def verify(self, **keywords: Any) -> binarrow.VerifySummary:
        return binarrow.verify(
            self.url, self.target, **{"password_file": self.password_file, **keywords}
        )

    def check(self, *tables: str) -> None:
        """Compares tables of the target with SELECT."""
        for table in tables:
            found, wanted = self.read(table), self.selected(table)
            assert found == wanted, (table, differences(found, wanted))


def new_source(server: Server, folder: Path, kind: str) -> Source:
    """Creates an account and the database `shop`."""
    server.execute(
        f"CREATE USER mirror@'%' IDENTIFIED BY '{SECRET}'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO mirror@'%'",
        "CREATE DATABASE shop",
        "USE shop",
    )
    password = folder / "password"
    password.write_text(SECRET)
    password.chmod(0o600)
    return Source(server, folder, password, kind)
