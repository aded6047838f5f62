"""Fixtures: one running server of each flavor a session, started when a test first asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support import live
from support.logged import database
from support.mariadb_case import DATABASE, PLAIN
from support.servers.servers import FLAVORS, Server

LOADING = ("mysql", "mariadb-11.8")
"""The servers with which loads of existing rows are tested."""


@pytest.fixture(scope="session")
def mysql() -> Iterator[Server]:
    """MySQL 9.7, GTIDs on."""
    with Server.start("mysql") as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_10_11() -> Iterator[Server]:
    """MariaDB 10.11."""
    with Server.start("mariadb-10.11") as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_11_8() -> Iterator[Server]:
    """MariaDB 11.8."""
    with Server.start("mariadb-11.8") as server:
        yield server


@pytest.fixture(scope="session")
def mysql_5_7() -> Iterator[Server]:
    """MySQL 5.7, GTIDs on."""
    with Server.start("mysql-5.7") as server:
        yield server


@pytest.fixture(scope="session")
def mysql_5_6() -> Iterator[Server]:
    """MySQL 5.6, GTIDs on."""
    with Server.start("mysql-5.6") as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_10_5() -> Iterator[Server]:
    """MariaDB 10.5."""
    with Server.start("mariadb-10.5") as server:
        yield server


@pytest.fixture(scope="session", params=FLAVORS)
def server(request: pytest.FixtureRequest) -> Server:
    """Each of the servers in turn, those that have every feature unless the test names others."""
    name = str(request.param).replace("-", "_").replace(".", "_")
    started: Server = request.getfixturevalue(name)
    return started


@pytest.fixture(scope="session", params=live.SERVERS)
def live_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server for streams: each of those that are read live in turn."""
    with live.server(request.param) as started:
        yield started


def loading_servers(*options: str) -> Any:
    """A fixture for the `server` of a file: servers whose user may read existing rows at an exact position."""

    @pytest.fixture(scope="module", params=LOADING)
    def server(request: pytest.FixtureRequest) -> Iterator[Server]:
        with live.loading_server(request.param, *options) as started:
            yield started

    return server


@pytest.fixture
def mariadb_case(server: Server) -> Iterator[Server]:
    """A MariaDB with an empty database of the test's own, in the time zone UTC."""
    with database(server, DATABASE, "SET SESSION time_zone = '+00:00'"):
        yield server
        server.execute(
            *PLAIN,
            "SET GLOBAL binlog_row_metadata = FULL",
            "SET SESSION binlog_row_image = FULL, binlog_format = ROW, sql_mode = DEFAULT",
        )
