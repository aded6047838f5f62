"""The statements, examples and tables about servers in the documentation."""

from __future__ import annotations

import inspect
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import binarrow
from support import terminal
from support.documents import PAGES, environment, example, examples, run, statements
from support.servers.servers import Server

DOCUMENTS = "\n".join(page.read_text() for page in PAGES)
PASSWORD = "a long password"

ORDERS = (
    "INSERT INTO shop.orders (status, total) VALUES ('new', 0.01), ('new', NULL), (NULL, 99999999.99)",
    "UPDATE shop.orders SET status = 'paid' WHERE status = 'new' LIMIT 2",
    "UPDATE shop.orders SET id = -id WHERE status = 'paid' AND id > 0 LIMIT 1",
    "DELETE FROM shop.orders WHERE status IS NULL AND total > 1",
)
PRODUCTS = (
    "CREATE TABLE shop.products (sku VARCHAR(20) PRIMARY KEY, price DECIMAL(10,2), stock INT)",
    "INSERT INTO shop.products VALUES ('a', 1.00, 1), ('b', 2.50, 2), ('c', NULL, 3), ('d', 4, 4)",
    "UPDATE shop.products SET stock = stock + 1",
    "UPDATE shop.products SET sku = 'e' WHERE sku = 'a'",
    "DELETE FROM shop.products WHERE sku = 'b'",
    "REPLACE INTO shop.products VALUES ('c', 3.75, 30), ('a', 9, 0)",
)
"""Changes of each kind, also of keys."""


@pytest.fixture(scope="module", params=["mysql", "mariadb-11.8"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Prepared by the statements of the documentation, and nothing else."""
    of = request.param.partition("-")[0]
    options = [
        "--" + line.replace(" ", "").replace("_", "-", line.count("_"))
        for text in examples("ini", of)
        for line in text.splitlines()
        if "=" in line
    ]
    with Server.start(request.param, options, test_options=False) as server:
        server.execute(*statements(of), *statements("shop"))
        yield server


def at(server: Server, code: str) -> str:
    """An example with the address of a server, as its page describes."""
    assert "db.example" in code
    return code.replace("db.example", f"127.0.0.1:{server.port}")


def test_the_statements_are_all_it_takes(server: Server) -> None:
    with binarrow.connect(
        host="127.0.0.1", port=server.port, user="repl", password=PASSWORD, tls="required"
    ) as connection:
        checks = connection.check("stream")
        assert {one.grade for one in checks} == {"ok"}, checks
        assert any(one.name == "binlog_row_metadata" for one in checks)
        others = [one.name for one in connection.check() if one.grade != "ok"]
        assert others == ["privileges for history", "privileges for Spark"]
        with pytest.raises(binarrow.ServerError):
            connection.describe("shop.orders")  # SELECT is needed, as is said


@pytest.mark.parametrize("code", examples("python", "live") + examples("sh", "live"))
def test_examples(server: Server, tmp_path: Path, code: str) -> None:
    """They follow the log until Ctrl-C."""
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    is_python = "import" in code
    interpreter = [sys.executable, "-uc"] if is_python else ["bash", "-euc"]
    process = subprocess.Popen(
        [*interpreter, at(server, code)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        told = b""
        deadline = time.monotonic() + 60

        def is_saved() -> bool:
            """A row counts as done when the next one is asked for."""
            return any(tmp_path.glob("[!.]*.json"))

        while (told.count(b"orders") < 3 or not is_saved()) and time.monotonic() < deadline:
            server.execute("INSERT INTO shop.orders (status) VALUES ('new')")
            if select.select([process.stdout], [], [], 0.1)[0]:
                told += os.read(process.stdout.fileno(), 65_536)
        os.killpg(process.pid, signal.SIGINT)
        errors = process.communicate(timeout=30)[1].decode()
    finally:
        process.kill()
    assert told.count(b"orders") >= 3, errors
    if is_python:
        assert errors.rstrip().endswith("KeyboardInterrupt"), errors
    else:
        assert process.returncode == 130
        assert "binarrow: continue from" in errors
    [checkpoint] = tmp_path.glob("*.json")
    assert binarrow.FileCheckpoint(checkpoint).load() is not None


def test_examples_of_existing_rows(server: Server, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    server.execute(
        "GRANT SELECT ON shop.* TO repl", "INSERT INTO shop.orders (status) VALUES ('new')"
    )
    [[count]] = server.query("SELECT COUNT(*) FROM shop.orders")
    assert len(examples("python", "rows")) > 1
    for code in examples("python", "rows"):
        assert run("python", at(server, code), tmp_path).startswith(f"{count} rows")
    run("python", example("python", "again"), tmp_path)
    position = binarrow.FileCheckpoint(tmp_path / "orders.json").load()
    assert position is not None
    assert position.loading == ("shop.orders",)
    server.execute("REVOKE SELECT ON shop.* FROM repl")


def test_check_asks_for_the_password(server: Server, tmp_path: Path) -> None:
    done = terminal.answer(
        ["bash", "-euc", at(server, example("sh", "check"))],
        PASSWORD,
        environment=environment(),
        folder=tmp_path,
    )
    printed = done.printed.decode()
    assert done.exit_code == 0, printed
    assert "binlog_row_metadata" in printed


def test_structures_from_a_dump(server: Server) -> None:
    program, *words, to, file = shlex.split(example("sh", "dump"), comments=True)
    assert (program, to, file) == ("mysqldump", ">", "shop.sql")
    reader = binarrow.read_binlog(server.binlog_files(), schemas=server.dump(*words).decode())
    assert reader.table("shop.orders").schema.names[:3] == ["id", "status", "total"]
    reader.close()


def test_from_nothing_to_a_table_in_duckdb(server: Server, tmp_path: Path) -> None:
    """By copy and paste: the statements that prepare the server, the password's file, and the program, run twice."""
    run("sh", example("sh", "password"), tmp_path)
    for changes in ([], [*ORDERS, *ORDERS]):
        server.execute(*changes)
        run("python", at(server, example("python", "duckdb")), tmp_path)
        with duckdb.connect(tmp_path / "shop.duckdb") as duck:
            rows = duck.sql("SELECT id, status, total FROM orders ORDER BY id").fetchall()
        assert rows == server.query("SELECT id, status, total FROM shop.orders ORDER BY id")


@pytest.mark.filterwarnings("ignore:.*the server still writes to it")
def test_a_table_in_duckdb_from_files(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example of the page about files, with the files of this server in the place of the sample."""
    server.execute(*PRODUCTS)
    server.flush_binlog()
    (tmp_path / "examples" / "shop").mkdir(parents=True)
    for file in server.datadir.glob("binlog.*"):
        shutil.copy(file, tmp_path / "examples" / "shop")
    monkeypatch.chdir(tmp_path)
    [code] = [code for code in examples("python") if "MERGE INTO products" in code]
    names: dict[str, Any] = {}
    exec(code, names)
    rows = names["duck"].sql("SELECT sku, price, stock FROM products ORDER BY sku").fetchall()
    assert len(rows) > 2
    assert rows == server.query("SELECT sku, price, stock FROM shop.products ORDER BY sku")


def rows_of_table(head: str) -> dict[str, str]:
    """The first column to the second, of a table of the documentation."""
    table = DOCUMENTS.split(f"| {head} |", 1)[1].split("\n\n", 1)[0]
    rows = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    return {name.strip(): default.strip() for name, default in rows}


def test_the_tables_name_every_keyword_and_its_default() -> None:
    parameters = inspect.signature(binarrow.Server.stream).parameters
    wanted = {
        f"`{name}`": "`" + repr(one.default).replace("'", '"') + "`"
        for name, one in parameters.items()
        if name not in ("self", "keywords")
    }
    assert rows_of_table("keyword of `stream()`") == wanted

    named = re.findall(r"`(\w+)`", " ".join(rows_of_table("keyword of `connect()`")))
    assert set(named) == set(inspect.signature(binarrow.connect).parameters)
