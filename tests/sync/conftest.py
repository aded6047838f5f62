"""Servers as they are installed, a user for `sync`, and the comparison of a target with SELECT."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg import catalog
from pyiceberg.utils.config import Config

from support import live
from support.servers.s3 import S3
from support.servers.servers import Server
from support.sync_source import CATALOGS, SECRET, Source

AS_INSTALLED = {
    "mysql": "--binlog-row-metadata=MINIMAL",
    "mariadb-11.8": "--binlog-row-metadata=NO_LOG",
}
ALL_SERVERS = bool(os.environ.get("BINARROW_SYNC_TARGET") or os.environ.get("BINARROW_SYNC_KILLS"))
DATABASES = ("shop", "crm", "live")


@pytest.hookimpl(tryfirst=True)  # before one case of each test is chosen
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Removes tests of lakes on the second server, unless the environment asks for all servers."""
    if ALL_SERVERS:
        return
    second = [*AS_INSTALLED][1]
    for item in items[:]:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("started") == second and parameters.get("kind", "duckdb") != "duckdb":
            items.remove(item)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs the tests of a file with its `SERVERS` (by default both) and with its `KINDS` of targets."""
    marks = metafunc.definition.iter_markers("parametrize")
    given = {name for mark in marks for name in str(mark.args[0]).split(",")}
    if "started" in metafunc.fixturenames:
        servers = getattr(metafunc.module, "SERVERS", [*AS_INSTALLED])
        metafunc.parametrize("started", servers, indirect=True, scope="session")
    has_kind = "kind" in metafunc.fixturenames and "kind" not in given
    if has_kind and hasattr(metafunc.module, "KINDS"):
        metafunc.parametrize("kind", metafunc.module.KINDS)


@pytest.fixture(scope="session")
def started(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server whose log contains no names of columns."""
    options = (AS_INSTALLED[request.param], "--binlog-format=ROW")
    with live.server(request.param, *options) as server:
        server.execute(
            f"CREATE USER mirror@'%' IDENTIFIED BY '{SECRET}'",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO mirror@'%'",
        )
        yield server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """A server of the S3 protocol."""
    with S3.started() as store:
        yield store


@pytest.fixture
def store(s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3]:
    """A store, which the environment variables of AWS select, and a separate folder for temporary files."""
    s3.use(monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield s3
    s3.fail()


@pytest.fixture
def kind() -> str:
    """The kind of the target. `BINARROW_SYNC_TARGET=delta` runs all tests with another one."""
    return os.environ.get("BINARROW_SYNC_TARGET", "duckdb")


@pytest.fixture
def source(request: pytest.FixtureRequest, started: Server, tmp_path: Path, kind: str) -> Source:
    started.execute(
        *(f"DROP DATABASE IF EXISTS {name}" for name in DATABASES[:2]),
        "CREATE DATABASE shop CHARACTER SET utf8mb4",
        "USE shop",
    )
    password = tmp_path / "password"
    password.write_text(SECRET)
    password.chmod(0o600)
    store = request.getfixturevalue("store") if kind in {"delta+s3", *CATALOGS} else None
    if kind in CATALOGS:
        patched = request.getfixturevalue("monkeypatch")
        for name, value in store.catalog(kind, tmp_path).items():
            patched.setenv(name, value)
        patched.setattr(catalog, "_ENV_CONFIG", Config())
    return Source(started, tmp_path, password, kind, store)


@pytest.fixture
def shop(source: Source) -> Source:
    """A table in the target."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    source.sync()
    return source


@pytest.fixture(scope="module", params=["mysql-5.7", "mariadb-11.8"])
def unlogged(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server whose log does not contain the effects of foreign keys."""
    with live.server(request.param, "--binlog-format=ROW") as server:
        server.execute(
            f"CREATE USER mirror@'%' IDENTIFIED BY '{SECRET}'",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO mirror@'%'",
        )
        yield server


@pytest.fixture
def unlogged_source(unlogged: Server, tmp_path: Path, kind: str) -> Source:
    """An empty database of such a server."""
    names = [row[0] for row in unlogged.query("SHOW DATABASES LIKE 'shop%'")]
    unlogged.execute(
        "SET foreign_key_checks = 0",  # foreign keys may refer to tables in other databases
        *(f"DROP DATABASE {name}" for name in names),
        "SET foreign_key_checks = 1",
        "CREATE DATABASE shop",
        "USE shop",
    )
    password = tmp_path / "password"
    password.write_text(SECRET)
    password.chmod(0o600)
    return Source(unlogged, tmp_path, password, kind)
