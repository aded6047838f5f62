"""A target that an earlier version has written: its archive, and the state that is stored in it.

The archive contains the target and `target.json`, which describes it.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyiceberg import catalog
from pyiceberg.utils.config import Config

from binarrow import SyncSummary
from support.servers.s3 import S3
from support.servers.servers import Server
from support.sync_source import Source

DESCRIPTION, OBJECTS = "target.json", "objects"
"""A file, and the folder with the objects of a target in an object store."""

ROOT = Path("/tmp/binarrow-stored")
"""The place of the targets: the metadata of Iceberg contains absolute paths."""

PREFIX = "stored"
"""The prefix of a target in an object store."""


@dataclass
class Target:
    """A target at the moment at which its sync ended."""

    server: str
    """The server; its archive is `server-NAME.tar.xz`."""
    kind: str
    mode: str
    moment: str
    """The moment at which the sync ended: see `moments.py`."""
    exclude_tables: list[str]
    """The tables that no sync selects."""
    statuses: dict[str, str] = field(default_factory=dict)
    """The status of each table."""
    reasons: dict[str, str] = field(default_factory=dict)
    """The reason of each table that is parked."""

    @property
    def name(self) -> str:
        """The name of the archive, without its ending."""
        return f"{self.kind.replace('+', '-')}-{self.mode}-{self.moment}"

    @property
    def folder(self) -> Path:
        """The folder of the target: the same at each time."""
        return ROOT / self.name

    def source(self, server: Server, password_file: Path, store: S3 | None = None) -> Source:
        """Returns the target with its server."""
        in_store = store if self.kind.endswith("+s3") else None
        return Source(server, self.folder, password_file, self.kind, in_store, PREFIX)

    def use_catalog(self, patched: pytest.MonkeyPatch) -> None:
        """Sets the variables of pyiceberg that describe the catalog, if the target is one."""
        if self.kind != "sql":
            return
        variables = {
            "TYPE": "sql",
            "URI": f"sqlite:///{self.folder}/catalog.db",
            "WAREHOUSE": f"file://{self.folder}/warehouse",
        }
        for name, value in variables.items():
            patched.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
        patched.setattr(catalog, "_ENV_CONFIG", Config())

    def note(self, summary: SyncSummary) -> None:
        """Notes the statuses of tables after a commit."""
        for (database, table), found in summary.tables.items():
            self.statuses[f"{database}.{table}"] = found.status
            if found.reason:
                self.reasons[f"{database}.{table}"] = found.reason

    def download(self, store: S3) -> None:
        """Writes the objects of a target in an object store into its folder."""
        for name in store.objects(PREFIX):
            path = self.folder / OBJECTS / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(store.read(name))

    def upload(self, store: S3) -> None:
        """Writes the objects of a target in an object store into a store."""
        for path in sorted((self.folder / OBJECTS).rglob("*")):
            if path.is_file():
                store.write(path.relative_to(self.folder / OBJECTS).as_posix(), path.read_bytes())

    def write(self) -> None:
        """Writes the description."""
        (self.folder / DESCRIPTION).write_text(json.dumps(asdict(self), indent=1))


def read_description(folder: Path) -> Target:
    """Returns the description of a target."""
    return Target(**json.loads((folder / DESCRIPTION).read_text()))


@contextmanager
def reserved(folder: Path) -> Iterator[None]:
    """Makes `ROOT` a link to a folder, when no other process uses it any more."""
    with ROOT.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ROOT.unlink(missing_ok=True)
        ROOT.symlink_to(folder)
        try:
            yield
        finally:
            ROOT.unlink()


def stored_position(target: Target) -> dict[str, Any]:
    """Returns the position as it is stored, without the code of binarrow."""
    folder = target.folder
    if target.kind == "duckdb":
        with closing(duckdb.connect(str(folder / "copy.duckdb"), read_only=True)) as file:
            [(text,)] = file.execute("SELECT position FROM _binarrow.sync").fetchall()
        position: dict[str, Any] = json.loads(text)
        return position
    names = {"parquet": "state.json", "delta+s3": "position.json"}
    pattern = names.get(target.kind, "position-*.json")
    last = max(folder.rglob(pattern), key=lambda path: path.name)
    stored: dict[str, Any] = json.loads(last.read_text())
    return dict(stored["position"])
