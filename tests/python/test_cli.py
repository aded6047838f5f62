"""The command `binarrow`."""

from __future__ import annotations

import base64
import csv
import fcntl
import hmac
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from support.waiting import WAIT, until, until_asleep

EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()"]
COMMANDS = (
    "inspect",
    "stats",
    "find",
    "undo",
    "export",
    "schema",
    "splits",
    "check",
    "tail",
    "history",
    "load",
)


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def json_lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_help_lists_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert all(command in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"\n    binarrow {command} " in result.stdout


def test_version():
    assert run("--version").stdout.startswith(f"binarrow {binarrow.__version__}\n")


def test_inspect_prints_every_event(shop):
    result = run("inspect", shop.files[0], "--format", "json")
    events = json_lines(result.stdout)
    assert result.exit_code == 0
    assert events[0]["type"] == "Format_desc"
    assert events[0]["offset"] == 4
    assert events[-1]["type"] == "Rotate"
    ends = [event["offset"] + event["size"] for event in events if not event["compressed"]]
    assert ends[-1] == shop.files[0].stat().st_size
    assert {"Table_map", "Write_rows", "Update_rows", "Delete_rows"} <= {e["type"] for e in events}

    lines = run("inspect", shop.files[0]).stdout.splitlines()
    assert len(lines) == len(events) + 1
    assert "Format_desc" in lines[1]


def test_inspect_a_range(shop):
    events = json_lines(run("inspect", shop.files[0], "--format", "json").stdout)
    start, stop = events[10]["offset"], events[20]["offset"]
    name = shop.files[0].name
    ranged = run(
        "inspect", shop.files[0], "--format", "json",
        "--start", f"{name}:{start}", "--stop", f"{name}:{stop}",
    )  # fmt: skip
    assert json_lines(ranged.stdout) == events[10:20]


def test_stats(shop):
    result = run("stats", shop.glob, "--format", "json")
    assert result.exit_code == 0
    stats = json.loads(result.stdout)
    assert stats["rows"] == sum(shop.change_types(table).total() for table in shop.tables)
    assert stats["tables"]["shop.orders"]["inserts"] == shop.tables["shop.orders"]["insert"]
    changed = [
        sum(c[k] for k in ("inserts", "updates", "deletes")) for c in stats["tables"].values()
    ]
    assert stats["changes"] == sum(changed) < stats["rows"]
    assert len(stats["largest_transactions"]) == 5
    assert Path(stats["largest_transactions"][0]["file"]).name.startswith("binlog.00000")
    sizes = [transaction["bytes"] for transaction in stats["largest_transactions"]]
    assert sizes == sorted(sizes, reverse=True)
    assert stats["first_commit"] < stats["last_commit"]

    printed = run("stats", shop.glob, "--tables", "shop.orders").stdout
    assert "shop.orders" in printed
    assert "shop.products" not in printed


def test_schema(shop):
    result = run("schema", shop.files[0], "--table", "shop.order_items", "--format", "json")
    columns = {column["name"]: column for column in json_lines(result.stdout)}
    keys = [name for name, column in columns.items() if "mysql.primary_key" in column]
    assert len(keys) == 2
    assert columns["_change_type"]["type"] == "string"
    spark = run("schema", shop.files[0], "--table", "shop.orders", "--types", "spark")
    assert "decimal128(20, 0)" in spark.stdout


def test_splits(shop):
    result = run("splits", shop.glob, "--target-bytes", "50k", "--format", "json")
    found = [binarrow.Split.from_json(line) for line in result.stdout.splitlines()]
    assert len(found) > 10
    assert found[-1].stop == shop.files[1].stat().st_size
    assert run("splits", shop.glob, "--target-bytes", "many").exit_code == 2


@pytest.mark.parametrize("command", ["splits", "stats"])
def test_gaps_between_files(shop, tmp_path, command):
    for path, name in zip(shop.files, ("binlog.000001", "binlog.000003"), strict=True):
        (tmp_path / name).symlink_to(path)
    refused = run(command, tmp_path)
    assert refused.exit_code != 0
    assert "binlog.000002" in refused.stderr
    assert run(command, tmp_path, "--allow-gaps").exit_code == 0


@pytest.mark.parametrize("types", ["native", "spark"])
@pytest.mark.parametrize("file_format", ["parquet", "arrow", "csv", "jsonl"])
def test_export(shop, tmp_path, file_format, types):
    out = tmp_path / "out"
    result = run("export", shop.glob, "--to", out, "--file-format", file_format, "--types", types)
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == set(shop.tables)
    for table in shop.tables:
        parts = sorted((out / table).iterdir())
        assert len(parts) == (2 if table == "shop.orders" else 1)  # the ALTER begins a new part
        rows = sum(count_rows(part) for part in parts)
        assert rows == shop.change_types(table).total(), table


def count_rows(path: Path) -> int:
    match path.suffix:
        case ".parquet":
            return pq.read_metadata(path).num_rows
        case ".arrow":
            with pa.ipc.open_file(path) as file:
                return file.read_all().num_rows
        case ".csv":
            with path.open(newline="") as file:
                return sum(1 for _ in csv.DictReader(file))
        case _:
            return len(json_lines(path.read_text()))


def test_exported_cells_are_those_of_the_batches(shop, tmp_path):
    run("export", shop.files[0], "--to", tmp_path, "--tables", "shop.customers")
    written = pq.read_table(tmp_path / "shop.customers")
    reader = binarrow.read_binlog(shop.files[0])
    assert written.to_pylist() == pa.table(reader.table("shop.customers")).to_pylist()


def test_export_does_not_overwrite_unless_told(shop, tmp_path):
    arguments = ("export", shop.files[0], "--to", tmp_path, "--tables", "shop.orders")
    assert run(*arguments).exit_code == 0
    (tmp_path / "shop.orders" / "mine").touch()

    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "--overwrite" in refused.stderr
    assert (tmp_path / "shop.orders" / "mine").exists()

    assert run(*arguments, "--overwrite").exit_code == 0
    assert not (tmp_path / "shop.orders" / "mine").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["shop.orders"]


def test_export_where_nothing_can_be_written(shop, tmp_path):
    (tmp_path / "file").touch()
    for to, why in (
        ("-", "standard output can contain one table"),
        (tmp_path / "file" / "out", "Not a directory"),
    ):
        refused = run("export", shop.files[0], "--to", to)
        assert (refused.exit_code, why in refused.stderr) == (2, True), refused.stderr
    assert not Path("-").exists()


def test_export_that_fails_leaves_nothing(shop, tmp_path):
    broken = tmp_path / "binlog.000001"
    data = bytearray(shop.files[0].read_bytes())
    data[len(data) * 3 // 4] ^= 1
    broken.write_bytes(data)
    result = run("export", broken, "--to", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert str(broken) in result.stderr
    assert not (tmp_path / "out").exists()


def test_exit_codes(shop, tmp_path):
    missing = run("stats", tmp_path / "binlog.000001")
    assert missing.exit_code == 1
    assert "binlog.000001" in missing.stderr
    assert run("stats", shop.files[0], "--no-such-option").exit_code == 2
    assert run("inspect", shop.files[0], "--start", "nonsense").exit_code == 2
    unmatched = run("stats", shop.files[0], "--tables", "shop.oders")
    assert unmatched.exit_code == 1
    assert "shop.oders" in unmatched.stderr


def test_output_in_a_pipe_is_plain_and_may_be_cut_short(shop):
    shell = " ".join(f"'{word}'" for word in EXECUTABLE)
    cut = subprocess.run(
        f"set -o pipefail; {shell} inspect {shop.glob} | head -n 2",
        executable="/bin/bash",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert cut.stderr == ""
    assert cut.returncode == 128 + signal.SIGPIPE
    assert len(cut.stdout.splitlines()) == 2

    finished = subprocess.run(
        [*EXECUTABLE, "stats", shop.glob], capture_output=True, text=True, check=True
    )
    assert finished.stderr == ""
    assert "\x1b" not in finished.stdout


READ_FROM_A_PIPE = """
import binarrow
from binarrow.cli import main

read_binlog = binarrow.read_binlog
binarrow.read_binlog = lambda files, **options: read_binlog(open(files[0], "rb"), **options)
main()
"""


def test_ctrl_c_ends_with_130_and_no_traceback(shop, tmp_path):
    # No process writes the rest: the reader waits for it until it is interrupted.
    waiting = tmp_path / "binlog.000001"
    os.mkfifo(waiting)
    process = subprocess.Popen(
        [sys.executable, "-c", READ_FROM_A_PIPE, "stats", str(waiting)], stderr=subprocess.PIPE
    )
    writer = os.open(waiting, os.O_RDWR)
    try:
        os.write(writer, shop.files[0].read_bytes()[:60_000])
        until(lambda: unread(writer) == 0)
        until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=WAIT)
    finally:
        process.kill()
        os.close(writer)
    assert process.returncode == 130
    assert stderr == b""


def unread(pipe: int) -> int:
    """The number of bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class SlowReader:
    """Reads a file of 10 MB in a second."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    def stats(self) -> dict[str, int]:
        return {"bytes_read": int((time.monotonic() - self.started) * 1e7), "bytes_total": 10**7}


def test_progress_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr("binarrow.cli.progress.PATIENCE", 0.0)
    from binarrow.cli.progress import progress_of

    controller, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        shown = ""
        with progress_of(SlowReader()):
            while "MB/s" not in shown:
                assert select.select([controller], [], [], 30)[0]
                shown += os.read(controller, 100_000).decode()
    monkeypatch.undo()
    os.close(controller)
    assert "/10.0 MB" in shown
    assert "MB/s" in shown


def test_no_progress_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr("binarrow.cli.progress.PATIENCE", 0.0)
    from binarrow.cli.progress import progress_of

    threads = threading.active_count()
    with progress_of(SlowReader()):
        assert threading.active_count() == threads  # none that would show it
    assert capsys.readouterr().err == ""


def test_export_of_some_columns_and_operations_masked(shop, tmp_path, monkeypatch):
    salt = tmp_path / "salt"
    salt.write_bytes(b"pepper\r\n")
    arguments = (
        "export", shop.glob, "--tables", "shop.customers",
        "--columns", "shop.customers=id,email", "--columns", "shop.*=points",
        "--operations", "insert,delete", "--mask", "*.*.email=sha256", "--mask", "*.*.points=null",
    )  # fmt: skip
    keywords = {
        "tables": "shop.customers",
        "columns": {"shop.customers": ["id", "email", "points"]},
        "operations": ["insert", "delete"],
        "mask": {"*.*.email": "sha256", "*.*.points": "null"},
        "mask_salt": b"pepper",
    }
    monkeypatch.delenv("BINARROW_MASK_SALT", raising=False)
    missing = run(*arguments, "--to", tmp_path / "none")
    assert missing.exit_code == 2
    assert "--mask-salt-file" in missing.stderr
    unread = run(*arguments, "--to", tmp_path / "none", "--mask-salt-file", tmp_path / "nosalt")
    assert unread.exit_code == 1
    assert "the salt file" in unread.stderr
    by_file = run(*arguments, "--to", tmp_path / "file", "--mask-salt-file", salt)
    monkeypatch.setenv("BINARROW_MASK_SALT", "pepper")
    by_environment = run(*arguments, "--to", tmp_path / "environment")
    expected = pa.Table.from_batches(
        [batch.to_pyarrow() for batch in binarrow.read_binlog(shop.glob, **keywords)]
    )
    for name, result in (("file", by_file), ("environment", by_environment)):
        assert result.exit_code == 0, result.output
        found = pq.read_table(tmp_path / name / "shop.customers")
        assert found.equals(expected)
        assert "pepper" not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--columns", "shop.orders"), "DB.TABLE=COLUMN"),
        (("--columns", "shop.orders="), "is empty"),
        (("--mask", "shop.orders.note"), "=sha256, or =null"),
        (("--operations", "upsert"), "upsert"),
    ],
)
def test_filters_that_cannot_be(shop, tmp_path, arguments, message):
    result = run("export", shop.glob, "--to", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("events", ["ticdc-json", "debezium-json"])
def test_events_of_masked_columns(shop, tmp_path, monkeypatch, events):
    """A hash is text to them, whatever type its column has at the source."""
    monkeypatch.setenv("BINARROW_MASK_SALT", "pepper")
    result = run(
        "export", shop.files[0], "--to", tmp_path / "out", "--format", events,
        "--tables", "shop.customers", "--operations", "insert",
        "--columns", "shop.customers=points,birthday,country",
        "--mask", "*.*.points=sha256", "--mask", "*.*.birthday=sha256", "--mask", "*.*.country=null",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    [part] = (tmp_path / "out" / "shop.customers").iterdir()
    reader = binarrow.read_binlog(shop.files[0], tables="shop.customers", operations="insert")
    rows = [row for batch in reader for row in batch.to_pyarrow().to_pylist()]
    assert len(rows) > 100
    for row, event in zip(rows, json_lines(part.read_text()), strict=True):
        after = event["after"] if events == "debezium-json" else event["columns"]
        texts = [str(row["points"]), row["birthday"] and row["birthday"].isoformat()]
        hashes = [
            text and hmac.new(b"pepper", text.encode(), "sha256").hexdigest() for text in texts
        ]
        if events == "debezium-json":
            assert [after["points"], after["birthday"], after["country"]] == [*hashes, None]
        else:
            values = {column["name"]: column for column in after}
            found = [values[name]["value"] for name in ("points", "birthday")]
            assert [cell and base64.b64decode(cell).decode() for cell in found] == hashes
            assert values["points"]["type"] == values["birthday"]["type"] == 254
            assert values["country"]["value"] is None
