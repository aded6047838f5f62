"""The documentation, followed by copy and paste: from a clean environment and a new server to tables in DuckDB and a mirror in Spark."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from support.clean_install import install
from support.documents import PAGES, blocks, environment, example, examples, run, statements
from support.servers.servers import Server
from support.waiting import until

SECONDS = 240

# The examples run in the environment of the tests, too; the packages of a clean environment are those of test_extras.py.
pytestmark = pytest.mark.thorough(
    by="test_page_examples.py, test_spark_examples.py, test_sync_examples.py, test_extras.py"
)

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


def as_text(row: Sequence[object]) -> tuple[str, ...]:
    return tuple("NULL" if cell is None else str(cell) for cell in row)


def selected(server: Server) -> list[tuple[str, ...]]:
    rows = server.query("SELECT * FROM shop.orders")
    return sorted(map(as_text, rows))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The server's options are its defaults; the statements are those of the documentation."""
    with Server.start("mysql", test_options=False) as started:
        started.execute(*statements("mysql"), *statements("shop"), *statements("grant"))
        yield started


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the commands of the README installed binarrow."""
    return install(tmp_path_factory.mktemp("clean"))


def at(server: Server, code: str) -> str:
    """An example with the address of a server, which is all that is replaced."""
    assert "db.example" in code
    return code.replace("db.example", f"127.0.0.1:{server.port}")


def within(folder: Path, code: str) -> str:
    """An example for the session of the tests, which runs in another folder."""
    return code.replace('"secret"', f'"{folder}/secret"').replace("lake/", f"{folder}/lake/")


def test_from_nothing_to_tables_in_duckdb(server: Server, tmp_path: Path, python: Path) -> None:
    """From the server's log, by a sync, and from log files."""
    run("sh", example("sh", "password"), tmp_path, python)
    for code, name, table in (
        (example("python", "duckdb"), "shop.duckdb", "orders"),
        (examples("python", "sync")[0], "mirror.duckdb", "shop.orders"),
    ):
        run("python", at(server, code), tmp_path, python)
        with duckdb.connect(f"{tmp_path / name}", read_only=True) as file:
            rows = file.sql(f"FROM {table}").fetchall()
        assert sorted(map(as_text, rows)) == selected(server)
    [of_files] = [one for one in examples("python") if "MERGE INTO products" in one]
    assert "│" in run("python", of_files, tmp_path, python)
    [commands] = [one.code for one in blocks(PAGES[0]) if one[:2] == ("sh", "")]
    run("sh", commands, tmp_path, python)


def test_from_nothing_to_a_mirror(
    spark: Any,
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    python: Path,
) -> None:
    run("sh", example("sh", "password"), tmp_path)
    (tmp_path / "mirror.py").write_text(at(server, example("python", "spark")))
    errors = tmp_path / "errors"
    with errors.open("w") as file:
        process = subprocess.Popen(
            [python, "mirror.py"], cwd=tmp_path, env=environment(python), stderr=file
        )
    try:
        reader = within(tmp_path, example("python", "mirror"))
        current = tmp_path / "lake" / "orders" / "current.json"
        versions = [b""]

        def is_mirrored() -> bool:
            assert process.poll() is None, errors.read_text()
            if not current.exists() or current.read_bytes() == versions[-1]:
                return False
            versions.append(current.read_bytes())
            exec(reader, {})
            return shown(capsys.readouterr().out) == selected(server)

        for changes in ([], CHANGES):
            server.execute(*changes)
            until(is_mirrored, SECONDS, errors.read_text)
    finally:
        process.kill()
        process.wait()


def test_a_mirror_with_the_existing_rows(
    spark: Any, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that the log does not contain, too."""
    server.execute("FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW()")
    run("sh", example("sh", "password"), tmp_path)
    exec(within(tmp_path, at(server, example("python", "snapshot"))), {})
    capsys.readouterr()
    exec(within(tmp_path, example("python", "mirror")).replace("/orders", "/all_orders"), {})
    assert shown(capsys.readouterr().out) == selected(server)


def test_reads_of_the_rows_and_of_the_log(
    spark: Any, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("sh", example("sh", "password"), tmp_path)
    server.execute("INSERT INTO shop.orders (status) VALUES ('last')")
    rows, log = [within(tmp_path, at(server, code)) for code in examples("python", "ranges")]
    exec(rows, {})
    assert {row[:3] for row in shown(capsys.readouterr().out)} == {*selected(server)}
    exec(log, {})
    assert any("last" in row for row in shown(capsys.readouterr().out))
