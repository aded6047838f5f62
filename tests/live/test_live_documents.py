"""The statements, examples and tables about servers in the documentation."""

from __future__ import annotations

import inspect
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import binarrow
from support.documents import PAGES, examples
from support.servers.servers import Server

DOCUMENTS = "\n".join(page.read_text() for page in PAGES)
PASSWORD = "a long password"


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
        [statements] = examples("sql", of)
        statements = re.sub(r"--.*$", "", statements, flags=re.M)
        server.execute(*filter(None, map(str.strip, statements.split(";"))))
        server.execute(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, status VARCHAR(20))",
        )
        yield server


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


@pytest.mark.parametrize("code", examples("python", "live") + examples("console", "live"))
def test_examples(server: Server, tmp_path: Path, code: str) -> None:
    """They follow the log until Ctrl-C."""
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    code = code.replace("db.example", f"127.0.0.1:{server.port}")
    python = Path(sys.executable)
    is_python = "import" in code
    interpreter = [str(python), "-uc"] if is_python else ["bash", "-euc"]
    process = subprocess.Popen(
        [*interpreter, code],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"},
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
    server.execute("GRANT SELECT ON shop.* TO repl", "INSERT INTO shop.orders VALUES (NULL, 'new')")
    [[count]] = server.query("SELECT COUNT(*) FROM shop.orders")
    for code in examples("python", "rows"):
        of_server = code.replace("db.example", f"127.0.0.1:{server.port}")
        ran = subprocess.run(
            [sys.executable, "-c", of_server],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stdout.startswith(f"{count} rows"), ran.stderr
    server.execute("REVOKE SELECT ON shop.* FROM repl")


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
