"""`binarrow tail --follow`: files that grow, rotate, are replaced, and are truncated."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app, followed_files
from binarrow.cli.followed_files import FollowedFiles
from binarrow.cli.found_lines import found_shape
from support.waiting import WAIT, until

EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()"]


def found(*arguments: object) -> list[str]:
    result = CliRunner().invoke(app, ["find", *map(str, arguments), "--format", "json"])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


@contextmanager
def following(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*EXECUTABLE, "tail", "--follow", *map(str, arguments)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def rows(changes: list[Any]) -> list[tuple[Any, ...]]:
    """Comparable rows, in the order of the log."""
    places = ("binarrow commit_version", "binarrow binlog_position")
    return sorted(
        (*(row[name] for name in places), batch.table, str(row))
        for batch in changes
        for row in batch.to_pyarrow().to_pylist()
    )


def drained(files: FollowedFiles, timeout: float = 0.0) -> list[Any]:
    listed = []
    while (change := files.poll(timeout)) is not None:
        listed.append(change)
    return listed


def read_all(files: FollowedFiles, read: list[Any], wanted: list[Any]) -> None:
    """Reads the rest of the expected rows, after which there are no more."""

    def count(changes: list[Any]) -> int:
        return sum(change.num_rows for change in changes)

    until(lambda: read.extend(drained(files)) or count(read) >= count(wanted))
    assert rows(read) == rows(wanted)
    assert drained(files) == []


@pytest.mark.parametrize("seed", range(3))
def test_every_growth_is_followed_and_rotation(
    shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(followed_files, "INTERVAL", 0.0)
    rng = random.Random(seed)
    paths = [tmp_path / file.name for file in shop.files]
    paths[0].touch()
    read: list[Any] = []
    wanted = list(binarrow.read_binlog(shop.glob, **found_shape()))
    with FollowedFiles([str(paths[0])], None, found_shape()) as files:
        for path, source in zip(paths, shop.files, strict=True):
            data, done = source.read_bytes(), 0
            while done < len(data):
                size = rng.choice((1, 3, 19, 100, 5000, 200_000))
                with path.open("ab") as file:
                    file.write(data[done : done + size])
                done += size
                read += drained(files)
        read_all(files, read, wanted)
        assert str(files.position).startswith("binlog.000002:")


@pytest.mark.parametrize(
    "fixture",
    [
        *("mysql-transactions", "mysql-no-gtids", "mysql-compressed", "mysql-tagged"),
        *("mariadb11-transactions", "mariadb10-transactions", "mariadb11-compressed"),
    ],
)
def test_each_prefix_is_followed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixture: str
) -> None:
    """Each event is added by itself. No change is printed before its transaction is complete."""
    folder = repository / "tests" / "fixtures" / fixture
    monkeypatch.setattr(followed_files, "INTERVAL", 0.0)
    source = folder / "binlog.000001"
    path = tmp_path / source.name
    path.touch()
    data, read = source.read_bytes(), []
    wanted = list(binarrow.read_binlog(str(source), **found_shape()))
    events = [event for event in binarrow.inspect(str(source)) if not event.compressed]
    with FollowedFiles([str(path)], None, found_shape()) as files:
        for event in events:
            for end in (event.offset + event.size // 2, event.offset + event.size):
                with path.open("ab") as file:
                    file.write(data[path.stat().st_size : end])
                read += drained(files)
        read_all(files, read, wanted)
    assert read


def test_latest_begins_at_the_end(shop: Any, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    data = shop.files[0].read_bytes()
    path.write_bytes(data[:400_000])
    with FollowedFiles([str(path)], "latest", found_shape()) as files:
        assert drained(files) == []
        position = files.position
        with path.open("ab") as file:
            file.write(data[400_000:])
        read_all(files, [], list(binarrow.read_binlog(path, start=str(position), **found_shape())))
    offset = int(str(position).rpartition(":")[2])
    assert 390_000 < offset <= 400_000


def test_the_command_prints_like_find(shop: Any, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    data = shop.files[0].read_bytes()
    path.write_bytes(data[:300_000])
    arguments = ("--tables", "shop.customers", "--format", "json", "--tz", "Asia/Tokyo")
    wanted = found(shop.files[0], "--tables", "shop.customers", "--tz", "Asia/Tokyo")
    with following(path, "--start", "earliest", *arguments) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline()]
        with path.open("ab") as file:
            file.write(data[300_000:])
        printed += [process.stdout.readline() for _ in wanted[1:]]
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=WAIT)
    assert (process.returncode, output) == (130, ""), errors
    assert [line.rstrip("\n") for line in printed] == wanted
    assert json.loads(wanted[0])["committed"].endswith("+09:00")
    assert "binarrow: continue from binlog.000001:849613" in errors
    assert "Traceback" not in errors


def test_waiting_takes_no_processor_time(shop: Any, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(shop.files[0].read_bytes()[:300_000])
    with FollowedFiles([str(path)], "latest", found_shape()) as files:
        files.poll(0)
        before = time.process_time()
        assert files.poll(1.5) is None
        assert time.process_time() - before < 0.3


def truncate(path: Path) -> None:
    os.truncate(path, 250_000)


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (truncate, "was truncated while it was followed: it had 300000 bytes and has 250000"),
        (replace, "was replaced by another file"),
        (Path.unlink, "was removed while it was followed"),
    ],
)
def test_files_that_do_not_grow(shop: Any, tmp_path: Path, change: Any, message: str) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(shop.files[0].read_bytes()[:300_000])
    with following(path, "--start", "earliest") as process:
        assert process.stdout is not None
        process.stdout.readline()
        change(path)
        _, errors = process.communicate(timeout=WAIT)
    assert process.returncode == 1
    assert message in errors
    assert "Traceback" not in errors


def test_a_next_file_before_the_end_is_an_error(
    shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_files, "STALLED", 0.3)
    path = tmp_path / "binlog.000001"
    path.write_bytes(shop.files[0].read_bytes()[:300_000])
    (tmp_path / "binlog.000002").write_bytes(shop.files[1].read_bytes())
    with (
        FollowedFiles([str(path)], None, found_shape()) as files,
        pytest.raises(binarrow.InputError, match=r"--start binlog\.000002:4"),
    ):
        drained(files, WAIT)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["binlog.000001"], "files with --follow"),
        (["--follow"], "--follow is for files"),
        (["mysql://x@127.0.0.1/", "--follow"], "--follow is for files"),
        (["binlog.000001", "--follow", "--stop", "end"], "--stop is for servers"),
        (["binlog.000001", "--follow", "--start", "snapshot"], "--start snapshot is for servers"),
        (["text", "--follow"], "text is not a binlog file"),
        (["nothing.000001", "--follow"], "nothing.000001"),
    ],
)
def test_calls_that_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("binlog.000001").touch()
    Path("text").write_text("no log")
    result = CliRunner().invoke(app, ["tail", *arguments])
    assert result.exit_code in (1, 2)
    assert message in result.stderr
