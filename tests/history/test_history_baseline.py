"""Baselines of a table history from live servers: they fit their position, whatever runs meanwhile."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import SchemaHistory
from binarrow.cli import app
from binarrow.history.check import check_history
from support import live
from support.servers.servers import Server

# Without columns' names in the log; MySQL 5 has no choice.
UNNAMED = {
    "mysql": ["--binlog-row-metadata=MINIMAL"],
    "mariadb-11.8": ["--binlog-row-metadata=NO_LOG"],
    "mariadb-10.5": ["--binlog-row-metadata=NO_LOG"],
}

BASELINE_FLAVORS = ("mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.5")


@pytest.fixture(scope="module", params=BASELINE_FLAVORS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param, *UNNAMED.get(request.param, [])) as started:
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
            taken = connection.schemas(tables=["b`x.*", "empty_one.*"])
            assert len(taken.tables) == 1
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
    """The database `busy` that the statements of the log between the two create from an empty one."""
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
            taken = [connection.schemas(tables="busy.*") for _ in range(8)]
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
            taken = connection.schemas(tables="hidden.*")
        assert tables_in(taken.script) >= {"shown(id)"}
        messages = [str(one.message) for one in told]
        assert any("no SELECT on *.*" in message for message in messages)
        if len(taken.tables) == 1:
            assert any(
                message.startswith("hidden.t is not in the baseline: ") for message in messages
            )
    finally:
        with suppress(Exception):
            server.execute("DROP USER few@'%'")
        server.execute("DROP DATABASE hidden")


@pytest.fixture
def shop(server: Server) -> Iterator[Server]:
    """An empty database, whose log begins in a file of its own."""
    server.execute("CREATE DATABASE shop", "FLUSH BINARY LOGS")
    yield server
    server.execute("DROP DATABASE IF EXISTS shop")


def read(
    server: Server, start: binarrow.Position | str, history: SchemaHistory, **keywords: Any
) -> dict[str, list[dict[str, Any]]]:
    """The rows up to now, by table."""
    rows: dict[str, list[dict[str, Any]]] = {}
    with (
        live.reach(server) as connection,
        connection.stream(start, stop="end", history=history, envelope=(), **keywords) as stream,
    ):
        for change in stream:
            rows.setdefault(change.table, []).extend(change.to_pyarrow().to_pylist())
    return rows


@contextmanager
def told() -> Iterator[list[str]]:
    """Collects the warnings."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    messages += [str(one.message) for one in caught]


def once_begun(history: SchemaHistory) -> tuple[binarrow.CoveredRange, ...]:
    """The covered range, after a stream has created the history."""
    return live.until(lambda: history.covered)


def test_a_first_stream_from_now(
    shop: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "binarrow.live")
    shop.execute(
        "CREATE TABLE shop.a (id INT PRIMARY KEY, x VARCHAR(9))",
        "INSERT INTO shop.a VALUES (1, 'x')",
    )
    with (
        SchemaHistory.open(tmp_path / "shop.db") as history,
        live.reach(shop) as connection,
        connection.stream("latest", history=history, envelope=()) as stream,
    ):
        stream.start()
        (covered,) = once_begun(history)
        assert covered.server == connection.id
        assert "shop.a" in history.tables()
        shop.execute(
            "ALTER TABLE shop.a ADD COLUMN y INT FIRST",
            "INSERT INTO shop.a VALUES (7, 2, 'z')",
            "CREATE TABLE shop.b (n INT)",
            "INSERT INTO shop.b VALUES (3)",
        )
        rows = [next(stream).to_pyarrow().to_pylist() for _ in range(2)]
        assert rows == [[{"y": 7, "id": 2, "x": "z"}], [{"n": 3}]]
        statements = [change for change in history.changes("shop") if change.kind == "statement"]
        assert [change.tables for change in statements] == [("shop.a",), ("shop.b",)]
    text = caplog.text
    assert re.search(r"the structures of \d+ tables were read as of \S+:\d+ in \d", text)


def test_a_first_stream_from_before_statements(shop: Server) -> None:
    shop.execute(
        "CREATE TABLE shop.still (id INT PRIMARY KEY, x VARCHAR(9))",
        "CREATE TABLE shop.altered (id INT PRIMARY KEY)",
        "CREATE TABLE shop.gone (id INT PRIMARY KEY)",
        "FLUSH BINARY LOGS",
    )
    with live.reach(shop) as connection:
        start = connection.position()
    shop.execute(
        "INSERT INTO shop.still VALUES (1, 'a')",
        "ALTER TABLE shop.altered ADD COLUMN y INT",
        "CREATE TABLE shop.made (n INT)",
        "INSERT INTO shop.made VALUES (5)",
        "ALTER TABLE shop.made ADD COLUMN m INT FIRST",
        "INSERT INTO shop.made VALUES (6, 7)",
        "DROP TABLE shop.gone",
        "INSERT INTO shop.still VALUES (2, 'b')",
    )
    expected = {
        "still": [{"id": 1, "x": "a"}, {"id": 2, "x": "b"}],
        "made": [{"n": 5}, {"m": 6, "n": 7}],
    }
    with SchemaHistory.open("memory:") as history:
        with told() as messages:
            assert read(shop, start, history) == expected
        (message,) = [one for one in messages if "not known" in one]
        assert "shop.altered, shop.gone;" in message
        # After the baseline it is known; before it, nothing contains it.
        found = history.find("shop", "altered")
        assert found is not None
        assert [column.name for column in found.columns] == ["id", "y"]
        with pytest.raises(binarrow.SchemaError, match=r"shop\.altered is not known"):
            history.find("shop", "altered", start)
        assert history.find("shop", "made", start) is None
        # Another stream from there on reads the same, and takes no baseline.
        kinds = [change.kind for change in history.changes()]
        assert read(shop, start, history) == expected
        assert [change.kind for change in history.changes()] == kinds
    # A row of such a table from before is an error that names the statement.
    shop.execute("INSERT INTO shop.altered VALUES (1, 2)")
    with SchemaHistory.open("memory:") as history, told():
        with pytest.raises(
            binarrow.SchemaError, match="changed it, and its structure before is not known"
        ):
            read(shop, start, history)
        others = read(shop, start, history, exclude_tables="shop.altered")
        assert others == expected


def test_a_first_stream_from_the_earliest(shop: Server) -> None:
    shop.execute("CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
    shop.execute("ALTER TABLE shop.t ADD COLUMN x INT", "INSERT INTO shop.t VALUES (2, 3)")
    with SchemaHistory.open("memory:") as history, told():
        rows = read(shop, "earliest", history, tables="shop.t")
    assert rows["t"][-2:] == [{"id": 1}, {"id": 2, "x": 3}]


def test_check_finds_what_was_changed_without_the_log(shop: Server, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    shop.execute("CREATE TABLE shop.t (id INT PRIMARY KEY)", "CREATE TABLE shop.u (id INT)")
    with SchemaHistory.open(path) as history, live.reach(shop) as connection:
        history.baseline(connection)
        shop.execute("ALTER TABLE shop.t ADD COLUMN x INT")
        assert check_history(history, connection).differences == ()
        shop.execute(
            "SET SESSION sql_log_bin = 0",
            "ALTER TABLE shop.t ADD COLUMN y INT AFTER id",
            "DROP TABLE shop.u",
            "CREATE TABLE shop.v (id INT)",
            "SET SESSION sql_log_bin = 1",
        )
        found = check_history(history, connection, tables="shop.*")
        assert [(table, one.kind, one.what) for table, one in found.differences] == [
            ("shop.t", "added", "column y"),
            ("shop.u", "dropped", "table"),
            ("shop.v", "added", "table"),
        ]
    address = f"mysql://live@127.0.0.1:{shop.port}/?allow_public_key_retrieval=1"
    password = tmp_path / "password"
    password.write_text("l1ve\n")
    arguments = ["history", "check", str(path), address, "--password-file", str(password)]
    run = CliRunner().invoke(app, [*arguments, "--tables", "shop.*"], env={"COLUMNS": "200"})
    assert run.exit_code == 1, run.output
    assert "column y" in run.stdout
    run = CliRunner().invoke(app, [*arguments, "--tables", "shop.typo"])
    assert (run.exit_code, "shop.typo" in run.stderr) == (1, True), run.output
    taken = ["history", "baseline", *arguments[2:]]
    run = CliRunner().invoke(app, taken)
    assert run.exit_code == 0, run.output
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    assert "0 differ" in run.stdout
