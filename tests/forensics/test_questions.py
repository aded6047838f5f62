"""The questions after an accident, each answered by one command, on servers where the answer is known."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from binarrow.cli import app
from support import live
from support.oracles import oracle
from support.oracles.compare import assert_same_rows
from support.servers import clients
from support.servers.servers import Server

ACCIDENT = "DELETE FROM orders WHERE status = 'new' /* meant: old */"


class Accident:
    """A table, the moment before its rows were deleted by mistake, and the log."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        is_mysql = server.flavor == "mysql"
        logs_statements = (
            "binlog_rows_query_log_events" if is_mysql else "binlog_annotate_row_events"
        )
        filler = ", ".join(f"({number}, REPEAT('x', 500))" for number in range(300))
        server.execute(
            "CREATE DATABASE shop",
            "USE shop",
            f"SET SESSION {logs_statements} = ON",
            "CREATE TABLE orders (id INT PRIMARY KEY, status VARCHAR(9), total DECIMAL(9, 2))",
            "CREATE TABLE visits (id INT PRIMARY KEY, page TEXT)",
            "INSERT INTO orders VALUES (1, 'new', 9.90), (2, 'new', 1.05), (3, 'paid', 7)",
            "UPDATE orders SET total = 10.95 WHERE id = 2",
            f"INSERT INTO visits VALUES {filler}",
        )
        # MariaDB logs times in seconds.
        second = int(time.time()) + 1
        live.until(lambda: time.time() >= second)
        self.moment = datetime.fromtimestamp(second, UTC).isoformat()
        self.before = oracle.select(server, "shop.orders", text_as_bytes=True)
        [(self.connection,)] = server.query("SELECT CONNECTION_ID()")
        server.execute(ACCIDENT, "UPDATE orders SET total = 8 WHERE id = 3")
        server.flush_binlog()
        self.files = [str(path) for path in server.binlog_files()[:-1]]

    def run(self, *arguments: object) -> str:
        result = CliRunner().invoke(app, [*map(str, arguments)])
        assert result.exit_code == 0, result.output
        return result.stdout


@pytest.fixture(scope="module", params=["mysql", "mariadb-11.8"])
def accident(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Accident]:
    with live.loading_server(request.param) as server:
        yield Accident(server, tmp_path_factory.mktemp("accident"))


def test_who_deleted_these_rows_and_with_which_statement(accident: Accident) -> None:
    arguments = ("--tables", "shop.orders", "--operations", "delete", "--format", "json")
    lines = accident.run("find", *accident.files, *arguments).splitlines()
    found = [json.loads(line) for line in lines]
    assert [each["before"]["id"] for each in found] == [1, 2]
    assert {each["statement"] for each in found} == {ACCIDENT}
    assert {each["thread_id"] for each in found} == {accident.connection}
    assert all(each["committed"] >= accident.moment for each in found)
    # The same connection, and the same transaction, did what else?
    by = ("--thread", accident.connection, "--start", accident.moment, "--format", "json")
    changes = accident.run("find", *accident.files, *by).splitlines()
    assert [json.loads(line)["change"] for line in changes] == ["delete", "delete", "update"]


def test_what_did_this_row_look_like_then(accident: Accident) -> None:
    secret = accident.folder / "secret"
    secret.write_text(live.USER["password"])
    secret.chmod(0o600)
    url = f"mysql://live@127.0.0.1:{accident.server.port}/"
    login = (url, "--password-file", secret, "--table", "shop.orders")
    row = accident.run("at", accident.moment, *login, "--where", "id = 2", "--format", "json")
    assert json.loads(row) == {"id": 2, "status": "new", "total": "10.95"}
    rows = accident.run("at", accident.moment, *login, "--format", "json").splitlines()
    assert len(rows) == len(accident.before.rows)


def test_which_transaction_was_large(accident: Accident) -> None:
    stats = json.loads(accident.run("stats", *accident.files, "--largest", 1, "--format", "json"))
    [largest] = stats["largest_transactions"]
    assert largest["tables"] == {"shop.visits": {"inserts": 300}}
    place = f"{Path(largest['file']).name}:{largest['offset']}"
    stop = f"{Path(largest['file']).name}:{largest['offset'] + largest['bytes']}"
    part = ("--start", place, "--stop", stop, "--format", "json")
    changes = accident.run("find", *accident.files, *part).splitlines()
    assert len(changes) == largest["changes"] == 300
    assert {json.loads(line)["gtid"] for line in changes} == {largest["gtid"]}


def test_what_filled_the_disk(accident: Accident) -> None:
    stats = json.loads(accident.run("stats", *accident.files, "--by", "minute", "--format", "json"))
    by_bytes = sorted(stats["tables"], key=lambda name: -stats["tables"][name]["bytes"])
    assert by_bytes == ["shop.visits", "shop.orders"]
    assert stats["tables"]["shop.visits"]["bytes"] > 300 * 500
    assert sum(each["changes"] for each in stats["groups"]) == stats["changes"]
    printed = accident.run("stats", *accident.files)
    assert printed.index("shop.visits") < printed.index("shop.orders")
    page = accident.run("stats", *accident.files, "--html", "-")
    assert page.count("<svg") == 2


def test_undo_it(accident: Accident) -> None:
    """The last test: it changes the table."""
    script = accident.folder / "undo.sql"
    part = ("--tables", "shop.orders", "--start", accident.moment)
    summary = accident.run("undo", *accident.files, *part, "--dry-run").split()
    assert summary[-4:] == ["shop.orders", "2", "1", "0"]
    accident.run("undo", *accident.files, *part, "--to", script)
    clients.execute(accident.server, script)
    after = oracle.select(accident.server, "shop.orders", text_as_bytes=True)
    assert_same_rows("undo", after.names, after.rows, accident.before.rows)
