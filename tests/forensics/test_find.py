"""`binarrow find`: the questions after an accident, on recorded logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from binarrow.cli import app
from support.servers.servers import Server

FIXTURES = Path(__file__).parent.parent / "fixtures"


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["find", *map(str, arguments)])


def found(*arguments: object) -> list[dict[str, Any]]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_who_deleted_this_row(shop):
    [change] = found(
        shop.glob, "--tables", "shop.customers", "--operations", "delete", "--where", "id = 19"
    )
    assert change["before"]["name"] == "明 김 🦊"
    assert (change["change"], change["after"]) == ("delete", None)
    assert change["thread_id"] == 9
    assert change["gtid"].endswith(":13")
    assert change["place"] == "binlog.000001:44617"
    assert change["committed"] == "2026-11-21T10:10:15.514093+00:00"
    of_transaction = found(shop.glob, "--tables", "shop.*", "--gtid", change["gtid"].upper())
    assert change in of_transaction
    assert {each["transaction"] for each in of_transaction} == {change["transaction"]}


def test_text_is_readable_at_80_columns(shop):
    result = run(
        shop.glob, "--tables", "shop.customers", "--where", "id = 19", "--tz", "Asia/Tokyo"
    )
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("2026-11-21T")
    assert "+09:00" in lines[0]
    # A longer value is a line of its own.
    assert [line.strip()[:8] for line in lines if len(line) > 80] == ["profile="] * 2
    assert any(line.startswith("  transaction bee1d394-") for line in lines)
    assert "  place      binlog.000001:44617" in lines


def test_the_statement_is_printed_where_it_is_logged():
    log = FIXTURES / "mysql-rows-query" / "binlog.000001"
    changes = found(log)
    assert any(change["statement"] for change in changes)
    assert "\n  statement  " in run(log).stdout


def test_the_row_at_a_time(shop):
    arguments = (shop.glob, "--tables", "shop.customers", "--where", "id = 55")
    everything = found(*arguments)
    until = found(*arguments, "--stop", "2026-11-21T10:10:15.600Z")
    assert until == everything[: len(until)]
    assert 0 < len(until) < len(everything)
    start, stop = "2026-11-21T10:10:15.600Z", "2026-11-21T11:00Z"
    assert until + found(*arguments, "--between", start, stop) == everything


def test_an_update_of_the_key_is_one_change(shop):
    changes = found(shop.glob, "--tables", "shop.products", "--where", "old.sku <> new.sku")
    assert {change["change"] for change in changes} == {"update"}
    assert len(changes) == shop.tables["shop.products"]["key_update"]


def test_nothing_found(shop):
    result = run(shop.glob, "--tables", "shop.orders", "--where", "id < 0")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no change was found" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--where", "id ="), 2, "\n  id =\n      ^"),
        (("--tables", "shop.orders", "--where", "statu = 'x'"), 2, 'did you mean "status"?'),
        (("--tables", "shop.nothing"), 1, "shop.nothing"),
        (("--between", "x", "y"), 2, "x"),
        (("--between", "binlog.000002:4", "binlog.000001:4"), 2, "is after the stop"),
        (("--start", "2026-11-26T10:00", "--stop", "2026-11-26T09:00"), 2, "is after the stop"),
        (("--between", "2026-01-01", "2026-01-02", "--stop", "2026-01-03"), 2, "--between"),
        (("--tz", "Mars/Base"), 2, "is not a time zone"),
        (("--gtid", "x:1"), 3, "no change was found"),
    ],
)
def test_calls_that_are_wrong(shop, arguments, code, message):
    result = run(shop.glob, *arguments)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_range_in_which_the_table_has_no_changes(shop):
    result = run(
        shop.glob, "--tables", "shop.orders", "--between", "2020-01-01T00:00Z", "2020-01-02T00:00Z"
    )
    assert result.exit_code == 3
    assert "shop.orders" in result.stderr


@pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)
def test_the_log_of_a_server(server: Server):
    server.execute(
        "DROP DATABASE IF EXISTS found_live",
        "CREATE DATABASE found_live",
        "CREATE TABLE found_live.t (id INT PRIMARY KEY, a VARCHAR(9))",
        "INSERT INTO found_live.t VALUES (1, 'x'), (2, 'y')",
        "UPDATE found_live.t SET a = 'z' WHERE id = 2",
    )
    [(thread,)] = server.query("SELECT CONNECTION_ID()")
    scheme = "mariadb" if server.is_mariadb else "mysql"
    url = f"{scheme}://root@/?socket={server.socket}"
    changes = found(url, "--tables", "found_live.t", "--where", "a = 'y'", "--thread", thread)
    assert [change["change"] for change in changes] == ["insert", "update"]
    assert changes[1]["after"] == {"id": 2, "a": "z"}
    server.execute("DROP DATABASE found_live")
