"""A server and a DuckDB file into which it is synced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import binarrow
from support.oracles.duckdb_tables import differences, read_source, read_target
from support.servers.servers import Server

SECRET = "s3cret sync"
"""The password of the user `mirror`."""


@dataclass
class Source:
    """A server with empty databases, and a target."""

    server: Server
    folder: Path
    password_file: Path

    @property
    def url(self) -> str:
        return f"mysql://mirror@127.0.0.1:{self.server.port}/?tls=disabled&allow_public_key_retrieval=1"

    @property
    def file(self) -> Path:
        return self.folder / "copy.duckdb"

    @property
    def target(self) -> str:
        return f"duckdb:///{self.file}"

    def execute(self, *statements: str) -> None:
        self.server.execute(*statements)

    def sync(self, **keywords: Any) -> binarrow.SyncSummary:
        given = {"once": True, "tables": "shop.*", "password_file": self.password_file}
        return binarrow.sync(self.url, self.target, **{**given, **keywords})

    def check(self, *tables: str) -> None:
        """Compares tables of the target with SELECT."""
        for table in tables:
            found, wanted = read_target(self.file, table), read_source(self.server, table)
            assert found == wanted, (table, differences(found, wanted))
