"""`binarrow verify` on the command line: exit codes, output, and the examples of its page."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import closing

import duckdb
import pytest

from support.documents import environment, examples
from support.sync_source import SECRET, Source

SERVERS = ["mysql"]
KINDS = ["duckdb"]

EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()", "verify"]


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute(
        "CREATE TABLE orders (id INT, part VARCHAR(9), v INT, PRIMARY KEY (id, part))",
        "INSERT INTO orders VALUES (1, 'a', 1), (2, 'secret', 1)",
        "CREATE TABLE u (id INT PRIMARY KEY)",
    )
    source.sync()
    return source


def arguments(shop: Source, *more: str) -> list[str]:
    return [*EXECUTABLE, shop.url, shop.target, "--password-file", str(shop.password_file), *more]


def run(shop: Source, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments(shop, *more),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def test_exit_codes(shop: Source) -> None:
    ran = run(shop)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("MATCH") == 2
    with closing(duckdb.connect(str(shop.file))) as file:
        file.execute("UPDATE shop.orders SET v = 2 WHERE id = 2")
        ran = run(shop, "--busy-timeout", "0")  # without the option, it waits for 300 seconds
        assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)
    ran = run(shop)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "MISMATCH" in ran.stdout
    assert "secret" not in ran.stdout
    ran = run(shop, "--show-keys")
    assert ran.returncode == 1
    assert ran.stdout.endswith("shop.orders different id=2 part='secret'\n")
    lines = [json.loads(line) for line in run(shop, "--json", "--show-keys").stdout.splitlines()]
    assert [(line["table"], line["result"], line["different"]) for line in lines] == [
        ("orders", "MISMATCH", 1),
        ("u", "MATCH", 0),
    ]
    assert lines[0]["keys"] == [{"difference": "different", "key": {"id": 2, "part": "secret"}}]
    shop.execute("TRUNCATE u")
    ran = run(shop, "--tables", "shop.u")
    assert ran.returncode == 4
    assert "TRUNCATE" in ran.stdout
    ran = run(shop, "--tables", "shop.none")
    assert (ran.returncode, ran.stderr.count("\n")) == (4, 1)
    command = [*EXECUTABLE, shop.url, "parquet+file:///x", *arguments(shop)[-2:]]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)


def test_progress(shop: Source) -> None:
    controller, terminal = pty.openpty()
    ran = subprocess.run(
        arguments(shop), stdout=subprocess.PIPE, stderr=terminal, check=False, timeout=60
    )
    os.close(terminal)
    shown = os.read(controller, 1 << 20).decode()
    os.close(controller)
    assert ran.returncode == 0
    assert "connected" in shown or "shop.orders" in shown


@pytest.mark.parametrize("language", ["python", "sh"])
def test_examples(shop: Source, language: str) -> None:
    shop.execute(
        "DROP USER IF EXISTS repl@'%'",
        f"CREATE USER repl@'%' IDENTIFIED BY '{SECRET}'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO repl@'%'",
    )
    (shop.folder / "secret").write_text(SECRET)
    shop.file.rename(shop.folder / "mirror.duckdb")
    found = examples(language, "verify")
    assert found
    for code in found:
        place = f"127.0.0.1:{shop.server.port}/?allow_public_key_retrieval=1"
        reached = code.replace("db.example/", place)
        if language == "sh":
            reached = reached.replace("mysql://", "'mysql://").replace(
                "retrieval=1", "retrieval=1'"
            )
        interpreter = [sys.executable, "-c"] if language == "python" else ["bash", "-euc"]
        ran = subprocess.run(
            [*interpreter, reached],
            cwd=shop.folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.count("MATCH") == 2
    shop.execute("DROP USER repl@'%'")
