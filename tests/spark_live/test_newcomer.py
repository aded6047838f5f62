"""The documentation, followed by copy and paste: from a new server to a mirror in Spark."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.documents import environment, example, run, statements
from support.servers.servers import Server

SECONDS = 60

CHANGES = (
    "INSERT INTO shop.orders (status, total) VALUES ('new', 3.50), (NULL, NULL)",
    "UPDATE shop.orders SET status = 'sent' WHERE id = 1",
    "UPDATE shop.orders SET id = 70 WHERE id = 3",
    "DELETE FROM shop.orders WHERE id = 4",
)


def shown(printed: str) -> list[tuple[str, ...]]:
    """The rows of a DataFrame that `show()` printed."""
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    return sorted(tuple(cell.strip() for cell in line[1:-1].split("|")) for line in lines[1:])


def selected(server: Server) -> list[tuple[str, ...]]:
    rows = server.query("SELECT * FROM shop.orders")
    return sorted(tuple("NULL" if cell is None else str(cell) for cell in row) for row in rows)


def test_from_nothing_to_a_mirror(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server's options are its defaults; the host is all that is replaced in the examples."""
    with Server.start("mysql", test_options=False) as server:
        server.execute(*statements("mysql"), *statements("shop"), *statements("grant"))
        run("sh", example("sh", "password"), tmp_path)
        program = example("python", "spark").replace("db.example", f"127.0.0.1:{server.port}")
        (tmp_path / "mirror.py").write_text(program)
        errors = tmp_path / "errors"
        with errors.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "mirror.py"], cwd=tmp_path, env=environment(), stderr=file
            )
        try:
            # The session of the tests runs in another folder.
            reader = example("python", "mirror").replace("lake/", f"{tmp_path}/lake/")
            version = b""
            for changes in ([], CHANGES):
                server.execute(*changes)
                expected, rows = selected(server), None
                deadline = time.monotonic() + SECONDS
                while rows != expected and time.monotonic() < deadline:
                    assert process.poll() is None, errors.read_text()
                    time.sleep(0.1)
                    current = tmp_path / "lake" / "orders" / "current.json"
                    if current.exists() and current.read_bytes() != version:
                        version = current.read_bytes()
                        exec(reader, {})
                        rows = shown(capsys.readouterr().out)
                assert rows == expected, errors.read_text()
        finally:
            process.kill()
            process.wait()
