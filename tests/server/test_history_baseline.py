"""Baselines of a table history from live servers: they fit their position, whatever runs meanwhile."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

import live
import pytest
from servers import Server

import binarrow

BASELINE_FLAVORS = ("mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.5")


@pytest.fixture(scope="module", params=BASELINE_FLAVORS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        started.execute("GRANT SELECT ON *.* TO live@'%'")
        yield started


def test_the_script_is_whole(server: Server) -> None:
    server.execute(
        "CREATE DATABASE `b``x` CHARACTER SET latin1 COLLATE latin1_bin",
        "CREATE TABLE `b``x`.`t;y` (`a``b` INT PRIMARY KEY COMMENT 'x;''y\\\\', e ENUM('a','ü'))",
        "CREATE VIEW `b``x`.v AS SELECT 1",
        "CREATE DATABASE empty_one CHARACTER SET utf8mb4",
    )
    try:
        with live.reach(server) as connection:
            taken = connection.structures(tables=["b`x.*", "empty_one.*"])
            assert taken.tables == 1
            assert taken.position == connection.position()
        script = taken.script
        assert "CREATE DATABASE `b``x` DEFAULT CHARACTER SET latin1 COLLATE latin1_bin;" in script
        assert "USE `b``x`;\nCREATE TABLE `t;y` (\n  `a``b` int" in script
        assert "enum('a','ü')" in script
        assert "COMMENT 'x;''y\\\\'" in script
        assert "CREATE DATABASE `empty_one` DEFAULT CHARACTER SET utf8mb4 COLLATE" in script
        assert "VIEW" not in script
        assert "mysql" not in re.findall("CREATE DATABASE `(.*?)`", script)
    finally:
        server.execute("DROP DATABASE `b``x`", "DROP DATABASE empty_one")


@contextmanager
def changing(server: Server) -> Iterator[None]:
    """Meanwhile tables come and go, and get columns."""
    stop = threading.Event()
    server.execute("CREATE DATABASE busy", "CREATE TABLE busy.t (id INT PRIMARY KEY)")

    def run() -> None:
        session = server.connect()
        for number in count(3):
            if stop.is_set():
                break
            session.execute(
                f"CREATE TABLE busy.x{number} (a INT)",
                f"ALTER TABLE busy.t ADD COLUMN c{number} INT",
                f"RENAME TABLE busy.x{number} TO busy.y{number}",
                f"DROP TABLE IF EXISTS busy.y{number - 2}",
            )
            stop.wait(0.02)
        session.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        server.execute("DROP DATABASE busy")


def tables_at(
    connection: binarrow.Server, start: binarrow.Position, stop: binarrow.Position
) -> set[str]:
    """What the statements of the log between the two make of an empty database `busy`."""
    tables: dict[str, list[str]] = {}
    with connection.stream(
        start, stop=stop, include="schema_change", column_names="positional"
    ) as stream:
        for change in stream:
            if not isinstance(change, binarrow.SchemaChange):
                continue
            match re.sub(r"`|IF EXISTS |/\*.*", "", change.statement).replace("busy.", "").split():
                case ["CREATE", "TABLE", name, "(id", *_]:
                    tables[name] = ["id"]
                case ["CREATE", "TABLE", name, *_]:
                    tables[name] = ["a"]
                case ["ALTER", "TABLE", name, "ADD", "COLUMN", column, "INT"]:
                    tables[name].append(column)
                case ["RENAME", "TABLE", old, "TO", new]:
                    tables[new] = tables.pop(old)
                case ["DROP", "TABLE", name]:
                    tables.pop(name, None)
    return {f"{name}({','.join(columns)})" for name, columns in tables.items()}


def tables_in(script: str) -> set[str]:
    """The tables of a script, with the names of their columns."""
    found = set()
    for name, body in re.findall(r"CREATE TABLE `(.*?)` \(\n(.*?)\n\) ", script, re.DOTALL):
        columns = re.findall(r"^  `(.*?)`", body, re.MULTILINE)
        found.add(f"{name}({','.join(columns)})")
    return found


def test_it_fits_its_position_while_tables_change(server: Server) -> None:
    with live.reach(server) as connection:
        start = connection.position()
        with changing(server):
            taken = [connection.structures(tables="busy.*") for _ in range(8)]
            for one in taken:
                assert tables_in(one.script) == tables_at(connection, start, one.position)
            assert len({one.position.offset for one in taken}) > 1


def test_an_account_that_sees_little(server: Server) -> None:
    server.execute(
        "CREATE DATABASE hidden",
        "CREATE TABLE hidden.t (id INT PRIMARY KEY, secret INT)",
        "CREATE TABLE hidden.shown (id INT PRIMARY KEY)",
        "CREATE USER few@'%' IDENTIFIED BY 'l1ve'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO few@'%'",
        "GRANT SELECT (id) ON hidden.t TO few@'%'",
        "GRANT SELECT ON hidden.shown TO few@'%'",
    )
    try:
        with (
            live.reach(server, user="few") as connection,
            warnings.catch_warnings(record=True) as told,
        ):
            warnings.simplefilter("always")
            taken = connection.structures(tables="hidden.*")
        assert tables_in(taken.script) >= {"shown(id)"}
        messages = [str(one.message) for one in told]
        assert any("no SELECT on *.*" in message for message in messages)
        if taken.tables == 1:
            assert any(
                message.startswith("hidden.t is not in the baseline: ") for message in messages
            )
    finally:
        with suppress(Exception):
            server.execute("DROP USER few@'%'")
        server.execute("DROP DATABASE hidden")
