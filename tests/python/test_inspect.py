"""The command `binarrow inspect`, and the function that it calls."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import pty
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from support.waiting import WAIT

EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()"]


def run(*arguments: object):
    return CliRunner().invoke(app, ["inspect", *(str(argument) for argument in arguments)])


def records(*arguments: object) -> list[dict]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="session")
def fixtures(repository) -> list[Path]:
    """Recorded binlogs of every kind."""
    found = sorted((repository / "tests" / "fixtures").glob("*/binlog.*"))
    assert len(found) > 15
    return found


@pytest.fixture(scope="session")
def with_queries(repository) -> Path:
    """A log with Rows_query events."""
    return repository / "tests" / "fixtures" / "mysql-rows-query" / "binlog.000001"


@pytest.fixture(scope="session")
def compressed(repository) -> Path:
    return repository / "tests" / "fixtures" / "mysql-compressed" / "binlog.000001"


# ---- which events


def test_by_table(shop):
    found = records(shop.files[0], "--tables", "shop.orders")
    assert {event["table"] for event in found} == {"shop.orders"}
    assert {event["type"] for event in found} >= {"Table_map", "Write_rows", "Update_rows"}
    every = records(shop.files[0])
    assert found == [event for event in every if event["table"] == "shop.orders"]
    both = records(shop.files[0], "--tables", "shop.orders", "--tables", "*.cust*")
    assert {event["table"] for event in both} == {"shop.orders", "shop.customers"}


def test_by_type(shop, compressed):
    every = records(shop.files[0])
    for patterns, wanted in [
        (["XID"], {"Xid"}),
        (["*_rows"], {"Write_rows", "Update_rows", "Delete_rows"}),
        (["19", "rotate"], {"Table_map", "Rotate"}),
    ]:
        options = [word for pattern in patterns for word in ("--type", pattern)]
        found = records(shop.files[0], *options)
        assert found == [event for event in every if event["type"] in wanted]
        assert {event["type"] for event in found} == wanted
    refused = run(shop.files[0], "--type", "tabel_map")
    assert refused.exit_code == 2
    assert "tabel_map" in refused.stderr
    # all but CREATE TABLE ... SELECT's, which the server does not compress
    written = records(compressed, "--type", "write_rows")
    assert len(written) > 10
    assert [event["table"] for event in written if not event["compressed"]] == ["d.copy"]


def test_by_offset(shop):
    every = records(shop.files[0])
    start, stop = every[10]["offset"], every[20]["offset"]
    assert records(shop.files[0], "--start", start, "--stop", stop) == every[10:20]
    assert records(shop.files[0], "--start", 4) == every
    several = run(*shop.files, "--start", start)
    assert several.exit_code == 2
    assert "FILE:OFFSET" in several.stderr
    second = records(*shop.files, "--start", f"{shop.files[1].name}:4")
    assert {event["file"] for event in second} == {shop.files[1].name}


def test_an_offset_is_never_a_date(shop):
    """20200101 is an offset. One in the middle of an event, or after the end of the file, is an error."""
    for offset in (20200101, records(shop.files[0])[10]["offset"] + 3):
        refused = run(shop.files[0], "--start", offset)
        assert refused.exit_code == 2
        assert f"no event begins at offset {offset}" in refused.stderr


def test_nothing_comes_after_the_file_to_stop_in(shop):
    first, second = shop.files[:2]
    every = records(first)
    assert records(first, second, "--stop", f"{first.name}:99999999") == every
    backwards = ("--start", f"{second.name}:4", "--stop", f"{first.name}:4")
    assert records(first, second, *backwards) == []


def test_by_offset_keeps_compressed_transactions_whole(compressed):
    every = records(compressed)
    payload = next(e["offset"] for e in every if e["type"] == "Transaction_payload")
    found = records(compressed, "--start", payload, "--stop", payload + 1)
    assert found == [event for event in every if event["offset"] == payload]
    assert len(found) > 3


def test_by_time(shop):
    every = records(shop.files[0])
    times = sorted({event["timestamp"] for event in every})
    middle = times[len(times) // 2]
    first = next(n for n, event in enumerate(every) if event["timestamp"] >= middle)
    text = datetime.fromtimestamp(middle, UTC).isoformat()
    assert records(shop.files[0], "--start", text) == every[first:]
    assert records(shop.files[0], "--stop", text) == every[:first]
    later = datetime.fromtimestamp(times[-1], UTC) + timedelta(seconds=1)
    assert records(shop.files[0], "--start", later.isoformat()) == []


def test_not_at_a_gtid(shop):
    refused = run(shop.files[0], "--start", "f2dc2eb4-e59b-11f1-9554-02fc00000001:1-5")
    assert refused.exit_code == 2
    assert "GTID" in refused.stderr


# ---- what of them


def test_statements_are_whole_only_when_asked_for(with_queries):
    hidden = records(with_queries, "--type", "rows_query")
    shown = records(with_queries, "--type", "rows_query", "--queries")
    assert any("VALUES (" in event["info"] for event in shown)
    for short, full in zip(hidden, shown, strict=True):
        assert "'" not in short["info"]
        assert "(" not in short["info"]
        assert full["info"].startswith(short["info"].removesuffix(" …"))


@pytest.mark.parametrize("option", [(), ("--table-metadata",)])
def test_no_value_is_shown_unasked(with_queries, option):
    """Values in quotes in the statements of the log are nowhere in the listing."""
    statements = " ".join(
        event["info"] for event in records(with_queries, "--queries") if "INSERT" in event["info"]
    )
    values = set(re.findall(r"'(\w{3,})'", statements))
    assert values
    assert not [value for value in values if value in run(with_queries, *option).stdout]


def test_table_metadata(shop):
    lines = run(shop.files[0], "--type", "table_map", "--table-metadata").stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if "shop.order_items," in line)
    assert lines[at + 1].startswith("# Columns(`order_id` BIGINT UNSIGNED NOT NULL,")
    assert lines[at + 2].startswith("#         `")
    keys = [line for line in lines if line.startswith("# Primary Key(order_id, ")]
    assert keys
    [metadata] = {e["table_metadata"] for e in records(
        shop.files[0], "--type", "table_map", "--tables", "shop.order_items", "--table-metadata"
    )}  # fmt: skip
    assert metadata.splitlines()[-1] == keys[0]
    assert "table_metadata" not in records(shop.files[0], "--type", "table_map")[0]


def test_the_dump_holds_the_files_bytes(fixtures):
    for path in fixtures:
        data = path.read_bytes()
        at = 4
        for event in binarrow.inspect(str(path), data=True):
            assert event.data is not None
            assert dumped(event.hexdump()) == event.data
            pieces = [event.hexdump(begin, 64) for begin in range(0, event.size, 64)]
            assert "".join(pieces) == event.hexdump()
            assert len(event.data) == event.size
            if not event.compressed:
                assert event.offset == at
                assert event.data == data[at : at + event.size]
                at += event.size
        assert at == len(data)


def dumped(dump: str) -> bytes:
    """The bytes in the rows of a dump."""
    _, *rows = dump.splitlines()
    return b"".join(bytes.fromhex(row[11:].split("|")[0]) for row in rows)


def test_hexdump_of_the_seed(repository):
    """The rows that the article prints, but for its signs beside the bytes."""
    seed = repository / "tests" / "fixtures" / "seed-001.binlog"
    lines = run(seed, "--type", "write_rows", "--hexdump").stdout.splitlines()
    assert lines[2:] == [
        "# Position  Timestamp   Type   Source ID        Size      Source Pos    Flags",
        "# 000000b8 40 ab a6 5f   1e   01 00 00 00   2e 00 00 00   5a ce 87 37   00 00",
        "# 000000cb 8c 00 00 00 00 00 01 00  02 00 03 ff 04 01 00 00 |................|",
        "# 000000db 00 05 61 70 70 6c 65 12  82 25 e0                |..apple..%.|",
    ]
    assert [bytes.fromhex(event["data"])[19:25] for event in records(
        seed, "--type", "write_rows", "--hexdump"
    )] == [b"\x8c\0\0\0\0\0"]  # fmt: skip


def test_bytes_must_be_asked_for(shop):
    event = next(iter(binarrow.inspect(str(shop.files[0]))))
    assert event.data is None
    with pytest.raises(binarrow.ConfigError, match="data=True"):
        event.hexdump()


def test_help_says_what_may_show_values():
    text = " ".join(run("--help").stdout.replace("│", " ").split())
    assert "values of rows, and passwords" in text
    assert "They contain the values of rows" in text


# ---- how it behaves


def test_standard_input(shop):
    path = shop.files[0]
    expected = records(path)
    for event in expected:
        event["file"] = "<stdin>"
    command = [*EXECUTABLE, "inspect", "-", "--format", "json"]
    with path.open("rb") as file:
        redirected = subprocess.run(command, stdin=file, capture_output=True, check=True)
    piped = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True)
    start = str(expected[9]["offset"])
    later = subprocess.run(
        [*command, "--start", start], input=path.read_bytes(), capture_output=True, check=True
    )
    for done, wanted in [(redirected, expected), (piped, expected), (later, expected[9:])]:
        assert [json.loads(line) for line in done.stdout.splitlines()] == wanted
        assert done.stderr == b""


def test_a_stream_is_read_as_it_comes(shop):
    """Events are printed before the stream ends; Ctrl-C then ends it, with 130 and no traceback."""
    count = sum(event.offset + event.size <= 60_000 for event in binarrow.inspect(shop.files[0]))
    process = subprocess.Popen(
        [*EXECUTABLE[:1], "-u", *EXECUTABLE[1:], "inspect", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(shop.files[0].read_bytes()[:60_000])
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(count + 1)]
        assert b"Format_desc" in lines[1]
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.communicate()


def on_a_terminal(*arguments: str, **environment: str) -> list[str]:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*EXECUTABLE, "inspect", *arguments],
        stdout=terminal,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "90"} | environment,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:  # what Linux says at the end
            break
        shown += piece
    os.close(controller)
    assert process.wait() == 0
    return shown.decode().splitlines()


def test_on_a_terminal(shop):
    name = str(shop.files[0])
    lines = on_a_terminal(name, "--type", "gtid")
    assert lines[0].startswith("\x1b[1mtime (UTC)")
    plain = [re.sub(r"\x1b\[\d+m", "", line) for line in lines]
    assert max(map(len, plain)) == 90
    assert plain[1].endswith("…")
    uncoloured = on_a_terminal(name, "--type", "gtid", NO_COLOR="1")
    assert uncoloured == plain
    piped = run(name, "--type", "gtid").stdout.splitlines()
    assert len(piped) == len(plain)
    assert piped[1].startswith(plain[1][:-1])
    assert len(piped[1]) > 90


def test_nothing_in_a_log_commands_the_terminal(tmp_path, with_queries):
    data = with_queries.read_bytes().replace(b"INSERT INTO", b"\x1b[2J\x07   \n ")
    assert b"\x1b[2J" in data
    events = binarrow.inspect(data, queries=True, verify_checksum=False)
    assert any("\x1b" in event.info for event in events)

    from binarrow.cli.output import on_one_line

    assert on_one_line("a\x1b[2J\n b\x07") == "a\\x1b[2J b\\x07"


def test_damage_is_one_line_and_exit_code_1(tmp_path, shop):
    broken = tmp_path / "binlog.000001"
    data = bytearray(shop.files[0].read_bytes())
    data[len(data) // 2] ^= 1
    broken.write_bytes(data)
    result = run(broken)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert str(broken) in result.stderr
    assert len(result.stdout.splitlines()) > 100


def test_a_file_that_was_cut_is_listed_and_then_an_error(tmp_path, shop):
    every = records(shop.files[0])
    at = every[-2]["offset"]
    cut = tmp_path / shop.files[0].name
    data = shop.files[0].read_bytes()[: at + 5]
    for content, in_use in [(data, False), (data[:21] + b"\1" + data[22:], True)]:
        cut.write_bytes(content)
        result = run(cut, "--format", "json")
        assert [json.loads(line) for line in result.stdout.splitlines()][1:] == every[1:-2]
        assert result.exit_code == (0 if in_use else 1)
        assert ("it was truncated" in result.stderr) != in_use
        assert (f"ends inside the event at offset {at}" in result.stderr) == in_use
    assert "begins at" in run(cut, "--start", at).stderr
    for size, message in [(0, "the file is empty"), (4, "format description"), (50, "description")]:
        cut.write_bytes(data[:size])
        result = run(cut)
        assert result.exit_code == 1
        assert message in result.stderr


def test_a_compressed_file(tmp_path, shop):
    packed = tmp_path / "binlog.000001"
    packed.write_bytes(gzip.compress(shop.files[0].read_bytes()))

    def events(path):
        return [(event.offset, event.type_name) for event in binarrow.inspect(str(path))]

    assert events(packed) == events(shop.files[0])
    packed.write_bytes(lzma.compress(shop.files[0].read_bytes()))
    for read in (binarrow.inspect, binarrow.read_binlog):
        with pytest.raises(binarrow.MalformedBinlogError, match="xz -dc"):
            list(read(str(packed)))


def test_a_terminal_without_the_characters(tmp_path, shop):
    log = tmp_path / "größe.000001"
    log.write_bytes(shop.files[0].read_bytes())
    done = subprocess.run(
        [*EXECUTABLE, "inspect", str(log), "--type", "xid"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert rb"gr\xf6\xdfe.000001" in done.stdout
