"""Every command in a pipeline: `-` as input and output, a reader that ends early, times with zones."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import typer.main
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app

EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()"]
SHOP = "examples/shop/binlog.*"
URL = "mysql://nobody@127.0.0.1:1/"

CALLS: Mapping[str, Sequence[str] | None] = {
    "at": None,
    "check": None,
    "export": ["examples/shop/binlog.000001", "--to", "-", "--format", "ticdc-json"],
    "find": [SHOP],
    "history baseline": None,
    "history check": None,
    "history diff": ["HISTORY", "all", "--from", "binlog.000001:4"],
    "history find": ["HISTORY", "shop.orders"],
    "history show": ["HISTORY", "--changes"],
    "index": ["COPY"],
    "inspect": [SHOP],
    "load check": None,
    "schema": ["examples/shop/binlog.000001", "--table", "shop.orders"],
    "splits": [SHOP, "--target-bytes", "1k"],
    "stats": [SHOP, "--by", "minute"],
    "sync": None,
    "tail": ["examples/shop/binlog.000001", "--follow", "--start", "earliest"],
    "undo": [SHOP, "--tables", "shop.customers"],
    "verify": None,
}
"""A call of every command that prints without a server; None for those that need one."""

READS_STANDARD_INPUT = {
    "export": ["--to", "-", "--tables", "shop.orders", "--format", "csv"],
    "find": ["--tables", "shop.orders"],
    "inspect": [],
    "schema": ["--table", "shop.orders"],
    "stats": ["--largest", "3"],
    "undo": ["--tables", "shop.orders"],
}
"""The commands that read a log from standard input, with more arguments."""

WITH_TIMES = ("find", "inspect", "stats", "tail", "undo", "history diff", "history show")
"""The commands that print times."""


def commands() -> dict[str, Any]:
    """All commands, by their names."""
    root: Any = typer.main.get_command(app)
    found = {}
    for name, command in root.commands.items():
        if hasattr(command, "commands"):
            found |= {f"{name} {own}": each for own, each in command.commands.items()}
        else:
            found[name] = command
    return found


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "shop.db"
    created = "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY);"
    time = datetime(2026, 11, 21, 12, tzinfo=UTC)
    with binarrow.SchemaHistory.open(path) as opened:
        opened.baseline(created, "binlog.000001:4", server="mysql-8.4")
        added = "ALTER TABLE orders ADD COLUMN total INT"
        opened.apply("binlog.000001:400", "shop", added, timestamp=time)
    return path


def started(arguments: Sequence[str], repository: Path, **keywords: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*EXECUTABLE, *arguments],
        cwd=repository,
        stderr=subprocess.PIPE,
        **{"stdin": subprocess.DEVNULL, **keywords},
    )


def printed(*arguments: str) -> bytes:
    """The output of a command in this process."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


@pytest.fixture(autouse=True)
def _in_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)


def test_every_command_has_a_call() -> None:
    assert commands().keys() == CALLS.keys()


@pytest.mark.parametrize("command", [name for name, call in CALLS.items() if call is not None])
def test_a_reader_that_ends_early(
    command: str, repository: Path, history: Path, tmp_path: Path
) -> None:
    """The command ends without a message, as any other tool does."""
    copy = shutil.copy(repository / "examples/shop/binlog.000001", tmp_path)
    places = {"HISTORY": str(history), "COPY": str(copy)}
    call = [places.get(each, each) for each in CALLS[command] or ()]
    end, begin = os.pipe()
    os.close(end)
    process = started([*command.split(), *call], repository, stdout=begin)
    os.close(begin)
    _, errors = process.communicate(timeout=60)
    # The shell shows 141 for this signal.
    assert process.returncode in (-signal.SIGPIPE, 128 + signal.SIGPIPE)
    message = errors.decode()
    if command == "tail":  # the position to continue from
        message = re.sub(r"^binarrow: continue from .*\n", "", message)
    assert message == ""


@pytest.mark.parametrize("command", commands())
def test_the_exit_code_is_documented(command: str) -> None:
    epilog = " ".join(commands()[command].epilog.split())
    assert "141 the process that reads the output has ended" in epilog


@pytest.mark.parametrize("command", READS_STANDARD_INPUT)
def test_standard_input(command: str, repository: Path) -> None:
    path = "examples/shop/binlog.000001"
    more = READS_STANDARD_INPUT[command]
    wanted = printed(command, path, *more)
    with subprocess.Popen(["cat", path], cwd=repository, stdout=subprocess.PIPE) as cat:
        process = started(
            [command, "-", *more], repository, stdin=cat.stdout, stdout=subprocess.PIPE
        )
        piped, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors.decode()
    assert b"Traceback" not in errors

    def normal(output: bytes) -> str:
        """Without what the file's name and the clock determine."""
        text = re.sub(r"(/\S*/)?(<stdin>|stdin|binlog\.000001)", "FILE", output.decode())
        return re.sub(r" +|─+", " ", re.sub(r"in [\d.]+ s:", "", text))

    assert normal(piped) == normal(wanted)
    assert wanted


@pytest.mark.parametrize("arguments", [["splits", "-"], ["tail", "-", "--follow"], ["index", "-"]])
def test_commands_without_standard_input(arguments: Sequence[str]) -> None:
    """`-` is an error, never a file of this name."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "standard input (-)" in result.stderr


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "arrow", "parquet"])
def test_export_to_standard_output(tmp_path: Path, file_format: str) -> None:
    arguments = ["export", SHOP, "--tables", "shop.products", "--format", file_format]
    output = printed(*arguments, "--to", "-")
    printed(*arguments, "--to", str(tmp_path / "out"))
    [part] = (tmp_path / "out" / "shop.products").iterdir()

    def table(data: bytes) -> Any:
        source = pa.BufferReader(data)
        match file_format:
            case "csv":
                return pyarrow.csv.read_csv(source)
            case "arrow":
                return pa.ipc.open_file(source).read_all()
            case "parquet":
                return pq.read_table(source)
            case _:
                return [json.loads(line) for line in data.splitlines()]

    assert table(output) == table(part.read_bytes())


@pytest.mark.parametrize("file_format", ["debezium-json", "ticdc-json"])
def test_events_of_several_tables_on_standard_output(repository: Path, file_format: str) -> None:
    output = printed("export", SHOP, "--to", "-", "--format", file_format)
    with binarrow.read_binlog(str(repository / SHOP)) as reader:
        rows = sum(batch.num_rows for batch in reader)
    assert 0.5 * rows < len(output.splitlines()) <= rows


def test_export_of_several_tables_to_standard_output() -> None:
    result = CliRunner().invoke(app, ["export", SHOP, "--to", "-"])
    assert result.exit_code == 2
    assert "select one with --tables" in result.stderr


@pytest.mark.parametrize("command", [name for name in WITH_TIMES if name != "tail"])
def test_times_have_a_zone(command: str, history: Path) -> None:
    """Those of `tail` are tested with files that grow, and with servers."""
    call = [str(history) if each == "HISTORY" else each for each in CALLS[command] or ()]
    shown = printed(*command.split(), *call, "--tz", "Asia/Tokyo").decode()
    assert re.search(r"\+09:00|\(Asia/Tokyo\)", shown)
    assert "UTC" not in shown.replace("binlog", "")
    utc = printed(*command.split(), *call).decode()
    assert re.search(r"\+00:00|UTC", utc)


def test_commands_that_print_times_have_the_option() -> None:
    for name, command in commands().items():
        has_zone = any("--tz" in one.opts for one in command.params)
        assert has_zone == (name in WITH_TIMES), name
