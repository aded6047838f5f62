"""`binarrow at` on the command line, and its examples in the documentation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import ipc
from typer.testing import CliRunner

from binarrow.cli import app
from support import live
from support.documents import examples, run
from support.servers.servers import Server

PASSWORD = live.USER["password"]
ROWS = {55: "Ada", 56: "Bo"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with live.loading_server("mysql") as started:
        live.next_second(started)
        started.execute(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.customers (id INT PRIMARY KEY, name VARCHAR(20), e ENUM('x', 'y'))",
            "INSERT INTO shop.customers VALUES (55, 'Ada', 'x'), (56, 'Bo', NULL)",
        )
        yield started


@pytest.fixture(scope="module")
def moment(server: Server) -> str:
    """A moment, after which all rows change."""
    time = datetime.now(UTC).isoformat()
    server.execute("UPDATE shop.customers SET name = 'changed', id = id + 1000")
    return time


class Run:
    def __init__(self, server: Server, moment: str, folder: Path) -> None:
        self.moment = moment
        self.url = f"mysql://live@127.0.0.1:{server.port}/"
        self.secret = folder / "secret"
        self.secret.write_text(PASSWORD)
        self.secret.chmod(0o600)

    def __call__(self, *arguments: object, table: str = "shop.customers") -> Any:
        login = [self.url, "--password-file", self.secret, "--table", table]
        return CliRunner().invoke(app, [*map(str, ["at", self.moment, *login, *arguments])])


@pytest.fixture
def at(server: Server, moment: str, tmp_path: Path) -> Run:
    return Run(server, moment, tmp_path)


def test_text_and_json(at: Run) -> None:
    result = at()
    assert result.exit_code == 0, result.stderr
    lines = sorted(result.stdout.splitlines())
    assert lines == ["id=55 name='Ada' e='x'", "id=56 name='Bo' e=NULL"]
    result = at("--format", "json", "--where", "id = 56", "--columns", "name,id")
    assert json.loads(result.stdout) == {"name": "Bo", "id": 56}
    nothing = at("--where", "id > 1000")
    assert (nothing.exit_code, nothing.stdout) == (3, "")
    assert "no such row" in nothing.stderr


def test_files(at: Run, tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for suffix in ("parquet", "arrow", "csv", "jsonl"):
        path = tmp_path / f"rows.{suffix}"
        result = at("--to", path)
        assert (result.exit_code, result.stdout) == (0, ""), result.stderr
        assert path.stat().st_mode & 0o777 == 0o600
        again = at("--to", path)
        assert again.exit_code == 2
        assert "the file exists" in again.stderr
        found[suffix] = path
    for table in (pq.read_table(found["parquet"]), ipc.open_file(found["arrow"]).read_all()):
        names = dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))
        assert names == ROWS
    assert '"Ada"' in found["csv"].read_text()
    assert len(found["jsonl"].read_text().splitlines()) == len(ROWS)
    failed = at("--to", tmp_path / "failed.csv", "--where", "nothing = 1")
    assert (failed.exit_code, (tmp_path / "failed.csv").exists()) == (2, False)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--to", "rows.txt"), 2, "--to rows.txt: the suffix must be one of .parquet"),
        (("--before",), 2, "is not a GTID"),
        (("--where", "old.id = 1"), 2, "prefix old."),
        (("--columns", "nothing"), 1, "nothing"),
    ],
)
def test_bad_calls(at: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    result = at(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_no_table(at: Run) -> None:
    result = at(table="")
    assert (result.exit_code, "--table is missing" in result.stderr) == (2, True)


@pytest.mark.parametrize("language", ["sh", "python"])
def test_examples(at: Run, server: Server, moment: str, language: str, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    for path in server.binlog_files():
        shutil.copy(path, tmp_path / "archive")
    code = "\n".join(examples(language, "at"))
    for old, new in (
        ("2026-11-21T10:10:16Z", moment),
        ("repl@db.example", f"live@127.0.0.1:{server.port}"),
    ):
        assert old in code
        code = code.replace(old, new)
    if language == "python":
        code += "\nprint(customers.sort_by('id').to_pylist()[0])"
    assert "55" in run(language, code, tmp_path)
