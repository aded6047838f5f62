"""Problems of new users: files that others can read, odd names, old logs, wrong structures."""

from __future__ import annotations

import inspect
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import binarrow
from binarrow import ConfigError, SchemaHistory
from binarrow.typed_keywords import NOT_SHAPING, ShapingKeywords

LOG = Path(__file__).parents[2] / "examples" / "shop" / "binlog.000001"
EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()"]

SECRET = "s3cr3t"
BASELINE = f"""CREATE DATABASE shop;
USE shop;
CREATE TABLE a (id INT) ENGINE=FEDERATED CONNECTION='mysql://u:{SECRET}@h/d/t';
CREATE TABLE b (id INT) ENGINE=SPIDER COMMENT='host "h", user "u", password "{SECRET}"';"""
FEDERATED = f"CREATE TABLE c (id INT) ENGINE=FEDERATED CONNECTION='mysql://u:{SECRET}@h/d/t'"


def events(data: bytes):
    """The offset and the size of each event of a log."""
    at = 4
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 9)[0]
        yield at, size
        at += size


def test_a_history_keeps_no_password_and_is_its_owners(tmp_path):
    before = os.umask(0o022)
    try:
        with SchemaHistory.open(tmp_path / "history.db") as history:
            history.baseline(BASELINE, "binlog.000001:4")
            change = history.apply("binlog.000001:200", "shop", FEDERATED)
            assert SECRET not in change.statement
            history.checkpoint()
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
            assert set(modes.values()) == {0o600}, modes
            assert "history.db-wal" in modes
            stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
            assert SECRET.encode() not in stored
    finally:
        os.umask(before)
    with SchemaHistory.open(tmp_path / "history.db") as history:
        shown = [change.statement for change in history.changes()]
        assert len(shown) == 2
        assert SECRET not in "".join(shown)
        assert "CONNECTION='***'" in shown[1]
        assert SECRET not in "".join(history.snapshot().values())
        place = "binlog.000001:200"
        # The same statement, read again with its password, is recognized.
        history.rollback("binlog.000001:4")
        assert history.apply(place, "shop", FEDERATED).tables == ("shop.c",)
        found = history.find("shop", "b", place)
        assert found is not None
        assert SECRET not in str(found.create_statement)
    shown = subprocess.run(
        [*EXECUTABLE, "history", "show", str(tmp_path / "history.db"), "--changes"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert SECRET not in shown.stdout


def test_a_log_of_mysql_4():
    body = struct.pack("<H50sI", 3, b"4.0.30-log", 0)
    event = struct.pack("<IBIIIH", 1, 1, 1, 19 + len(body), 0, 0) + body
    for read in (binarrow.read_binlog, binarrow.inspect):
        with pytest.raises(binarrow.UnsupportedEventError, match=r"version 3 or older \(MySQL 4\)"):
            list(read(b"\xfebin" + event))


def test_another_header_length():
    data = bytearray(LOG.read_bytes())
    data[4 + 19 + 2 + 50 + 4] = 27
    for read in (binarrow.read_binlog, binarrow.inspect):
        with pytest.raises(binarrow.UnsupportedEventError, match="header length"):
            list(read(bytes(data)))


def test_the_checksum_of_the_format_description():
    data = bytearray(LOG.read_bytes())
    at, size = next(events(data))
    data[at + size - 1] ^= 0xFF
    with pytest.raises(binarrow.ChecksumError):
        list(binarrow.read_binlog(bytes(data)))
    with binarrow.read_binlog(bytes(data), verify_checksum=False) as reader:
        rows = sum(batch.num_rows for batch in reader)
    with binarrow.read_binlog(str(LOG)) as reader:
        assert rows == sum(batch.num_rows for batch in reader)
    assert list(binarrow.inspect(bytes(data), verify_checksum=False))


def hostile(path: Path) -> Path:
    """The log with a table name that makes a terminal bold."""
    data = bytearray(LOG.read_bytes())
    for at, size in list(events(data)):
        if data[at + 4] == 19:
            event = bytes(data[at : at + size - 4]).replace(b"\x06orders\0", b"\x06o\x1b[1mX\0")
            data[at : at + size] = event + struct.pack("<I", zlib.crc32(event))
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["stats"],
        ["stats", "--format", "json"],
        ["inspect"],
        ["inspect", "--format", "json"],
        ["splits"],
        ["schema", "--table", "shop.nowhere"],
        ["stats", "--tables", "shop.\x1b[1mX"],
    ],
)
def test_a_table_name_commands_no_terminal(tmp_path, arguments):
    path = hostile(tmp_path / "binlog.000001")
    command, *options = arguments
    done = subprocess.run(
        [*EXECUTABLE, command, str(path), *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "300"},
    )
    assert "\x1b" not in done.stdout + done.stderr
    if command in ("stats", "inspect") and "--tables" not in options:
        assert done.returncode == 0, done.stderr
        assert "[1mX" in done.stdout  # it is shown, as text


@pytest.mark.parametrize("uri", ["memory://logs/binlog.000001", "file+unknown://x"])
def test_unknown_storage_options(uri):
    with pytest.raises(ConfigError, match=r"nonsense|file\+unknown"):
        list(binarrow.read_binlog(uri, storage_options={"nonsense": "value"}))


def test_storage_options_show_no_value():
    with pytest.raises(ConfigError) as failure:
        binarrow.expand_source("memory://logs/*", storage_options={"key_": SECRET, "loop": None})
    assert "key_" in str(failure.value)
    assert SECRET not in str(failure.value)
    assert "loop" not in str(failure.value)


@pytest.mark.parametrize(
    "kind", [binarrow.Server, binarrow.Stream, SchemaHistory, binarrow.FileCheckpoint]
)
def test_the_repr_of_what_is_half_made(kind):
    assert kind.__name__ in repr(kind.__new__(kind))


def test_rows_are_counted_as_they_are_handed_over():
    with binarrow.read_binlog(str(LOG), threads=1, batch_rows=10) as reader:
        rows = 0
        for number, batch in enumerate(reader, 1):
            rows += batch.num_rows
            stats = reader.stats()
            assert (stats["rows"], stats["batches"]) == (rows, number)
        assert number > 3
        assert reader.stats()["rows"] == rows


def test_a_stream_takes_the_keywords_of_a_reader():
    of_reader = inspect.signature(binarrow.read_binlog).parameters.keys()
    assert ShapingKeywords.__annotations__.keys() == of_reader - NOT_SHAPING
    for method in (binarrow.Server.stream, binarrow.Server.range):
        [keywords] = [
            one
            for one in inspect.signature(method).parameters.values()
            if one.kind is one.VAR_KEYWORD
        ]
        assert keywords.annotation == "Unpack[ShapingKeywords]"
