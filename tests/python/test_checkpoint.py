"""Positions in files: complete or missing, whatever happens to their writers."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import binarrow
from binarrow import CheckpointError, FileCheckpoint, Position, Stream

OLD = Position("binlog.000001", 4)
NEW = Position("binlog.000002", 1 << 40)

FULL = Position.from_json(
    json.dumps(
        {
            "file": "binlog.000007",
            "gtid_set": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77",
            "offset": 197,
            "prepared": [
                {
                    "bqual": "01",
                    "end": 900,
                    "file": "binlog.000006",
                    "format_id": 1,
                    "gtrid": "ff",
                    "start": 500,
                }
            ],
            "server": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
            "v": 2,
            "version_shift": 3,
        }
    )
)


@pytest.fixture
def kept(tmp_path):
    return FileCheckpoint(tmp_path / "pos.json", interval=0)


def stream(shop, checkpoint, tables="shop.orders", **keywords):
    """A stream over files: it uses its checkpoint in the same way."""
    start = checkpoint.load() or Position(shop.files[0].name, 4)
    reader = binarrow.read_binlog(
        shop.glob, start=start, tables=tables, segment_bytes=2000, **keywords
    )
    return Stream(reader, checkpoint)


def rows(batch):
    columns = batch.to_pyarrow().select(["_commit_version", "_change_ordinal"]).to_pydict()
    return [(batch.table, *row) for row in zip(*columns.values(), strict=True)]


# ------------------------------------------------------------------------------ the file


def test_what_is_saved_is_loaded(kept):
    assert kept.load() is None
    for position in (OLD, FULL, NEW):
        kept.save(position)
        assert kept.load() == position
        assert FileCheckpoint(str(kept.path)).load() == position
    assert [each.name for each in kept.path.parent.iterdir()] == ["pos.json"]
    assert kept.path.stat().st_mode & 0o777 == 0o600
    record = json.loads(kept.path.read_text())
    assert (record["format"], record["version"]) == ("binarrow checkpoint", 1)
    assert record["written"].endswith("+00:00")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "pos.json")
    FileCheckpoint(tmp_path / "link.json").save(NEW)
    assert (tmp_path / "link.json").is_symlink()
    assert FileCheckpoint(tmp_path / "real" / "pos.json").load() == NEW


def test_a_torn_file_is_an_error_at_every_length(kept):
    kept.save(FULL)
    complete = kept.path.read_bytes()
    for length in range(len(complete.rstrip())):
        kept.path.write_bytes(complete[:length])
        with pytest.raises(CheckpointError, match=r"pos\.json.*delete it to begin at start="):
            kept.load()
    kept.path.write_bytes(bytes(len(complete)))  # as a crash of the machine may leave it
    with pytest.raises(CheckpointError, match="empty"):
        kept.load()


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        "17",
        '"binarrow checkpoint"',
        "[" * 100_000,
        "not JSON, password=s3cret",
        OLD.to_json(),
        '{"format": "binarrow checkpoint", "version": 1}',
        '{"format": "binarrow checkpoint", "version": 1, "position": {"v": 1}}',
        '{"format": "another", "version": 1, "position": ' + OLD.to_json() + "}",
        '{"format": "binarrow checkpoint", "version": 1, "position": [' + OLD.to_json() + "]}",
    ],
)  # fmt: skip
def test_foreign_files_are_errors(kept, content):
    kept.path.write_text(content)
    with pytest.raises(CheckpointError, match="cannot be used") as caught:
        kept.load()
    assert "s3cret" not in str(caught.value)
    assert kept.path.read_text() == content


def test_bytes_that_are_no_text(kept):
    kept.path.write_bytes(b"\xff\xfe\x00binlog" * 9)
    with pytest.raises(CheckpointError):
        kept.load()


def test_places_where_no_file_can_be(tmp_path):
    for use in (FileCheckpoint.load, lambda checkpoint: checkpoint.save(NEW)):
        with pytest.raises(CheckpointError, match="nowhere"):
            use(FileCheckpoint(tmp_path / "nowhere" / "pos.json"))
        with pytest.raises(CheckpointError, match=r"directory|not a file"):
            use(FileCheckpoint(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="not a file"):
        FileCheckpoint(tmp_path / "pipe").load()


@contextmanager
def as_nobody():
    """Root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cannot_be_written_to():
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        kept = FileCheckpoint(folder / "pos.json")
        kept.save(OLD)
        kept.path.chmod(0o644)
        folder.chmod(0o555)
        with as_nobody(), pytest.raises(CheckpointError, match="cannot be written: Permission"):
            kept.save(NEW)
        assert kept.load() == OLD
        kept.path.chmod(0o000)
        with as_nobody(), pytest.raises(CheckpointError, match="cannot be read: Permission"):
            kept.load()
        folder.chmod(0o755)


def test_a_disk_that_is_full(kept):
    kept.save(OLD)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(CheckpointError, match="cannot be written: File too large") as caught:
            kept.save(NEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.__cause__.errno == errno.EFBIG
    assert kept.load() == OLD
    assert [each.name for each in kept.path.parent.iterdir()] == ["pos.json"]


def fail(*_, **__):
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("broken", ["fsync", "write", "mkstemp", "replace"])
def test_the_old_one_stays_where_the_new_one_fails(kept, monkeypatch, broken):
    kept.save(OLD)
    owner = {"mkstemp": tempfile, "replace": Path}.get(broken, os)
    with monkeypatch.context() as patched:
        patched.setattr(owner, broken, fail)
        with pytest.raises(CheckpointError, match="Input/output error"):
            kept.save(NEW)
    assert kept.load() == OLD
    assert [each.name for each in kept.path.parent.iterdir()] == ["pos.json"]


def test_what_killed_writers_left_is_removed(kept):
    old, fresh = (kept.path.parent / f".pos.json.{name}.tmp" for name in ("old", "fresh"))
    other = kept.path.parent / "pos.json.tmp"
    for each in (old, fresh, other):
        each.write_text("{")
    two_hours_ago = time.time() - 7200
    for each in (old, other):
        os.utime(each, (two_hours_ago, two_hours_ago))
    kept.save(NEW)
    assert (old.exists(), fresh.exists(), other.exists()) == (False, True, True)


KILLED = """
import os, random, signal, sys, time
from binarrow import FileCheckpoint, Position

path, rng, highest = sys.argv[1], random.Random(1), 0
for kill in range(100):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        checkpoint = FileCheckpoint(path)
        for offset in range(highest + 1, highest + 1_000_000):
            checkpoint.save(Position("binlog.000001", offset + 4))
            os.write(writer, b".")
    os.close(writer)
    os.read(reader, 1)  # it is at work
    time.sleep(rng.uniform(0, 0.01))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    saved = 1
    while got := os.read(reader, 65536):
        saved += len(got)
    os.close(reader)
    found = FileCheckpoint(path).load().offset - 4
    # the last that was done, or the one at work
    assert highest + saved <= found <= highest + saved + 1, (kill, highest, saved, found)
    highest = found
print(highest)
"""


def test_a_hundred_writers_that_are_killed(tmp_path):
    path = tmp_path / "pos.json"
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= 100


TOGETHER = """
import sys
from binarrow import FileCheckpoint, Position

checkpoint = FileCheckpoint(sys.argv[1])
for offset in range(200):
    checkpoint.save(Position(f"binlog.{sys.argv[2]}", offset + 4))
"""


def test_several_writers_of_one_file(tmp_path):
    kept = FileCheckpoint(tmp_path / "pos.json")
    kept.save(OLD)
    writers = [
        subprocess.Popen([sys.executable, "-c", TOGETHER, str(kept.path), f"00000{number}"])
        for number in range(3)
    ]
    while any(writer.poll() is None for writer in writers):
        assert kept.load() is not None
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert kept.load().offset == 203
    assert [each.name for each in tmp_path.iterdir()] == ["pos.json"]


def test_intervals():
    assert FileCheckpoint("pos.json").interval == 1.0
    for wrong in (-1, float("nan")):
        with pytest.raises(binarrow.ConfigError, match="interval"):
            FileCheckpoint("pos.json", interval=wrong)


# ----------------------------------------------------------------------------- the stream


def test_a_batch_is_done_when_the_next_is_asked_for(shop, kept):
    changes = stream(shop, kept)
    first = next(changes)
    begin = kept.load()
    assert begin.file == "binlog.000001"  # saved before any row came
    assert begin.offset < first.position.offset
    second = next(changes)
    assert kept.load() == first.position
    changes.close()
    assert kept.load() == first.position  # the second is not done
    again = stream(shop, kept)
    assert rows(next(again)) == rows(second)


def test_leaving_the_block_says_that_it_is_done(shop, kept):
    with stream(shop, kept) as changes:
        first = next(changes)
        second = next(changes)
    assert kept.load() == second.position != first.position


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_block_says_that_it_is_not(shop, kept, failure):
    positions = []

    def consume():
        with stream(shop, kept) as changes:
            for change in changes:
                positions.append(change.position)
                if len(positions) == 3:
                    raise failure

    with pytest.raises(failure):
        consume()
    assert kept.load() == positions[1] != positions[2]


@pytest.mark.parametrize("tables", ["shop.orders", "shop.*"])
def test_reading_in_many_runs_gives_every_row(shop, kept, tables):
    wanted = [
        row for batch in binarrow.read_binlog(shop.glob, tables=tables) for row in rows(batch)
    ]
    found = []
    for run in range(1000):
        with stream(shop, kept, tables) as changes:
            taken = zip(range(run + 1), changes, strict=False)
            some = [row for _, batch in taken for row in rows(batch)]
        if not some:
            break
        found += some
    assert run > 5
    assert sorted(set(found)) == sorted(wanted)
    if tables == "shop.orders":
        # but for batches of one table that its ALTER TABLE parts
        assert len(found) < len(wanted) + 20


def test_the_end_is_saved_without_a_block(shop, kept):
    for _ in stream(shop, kept):
        pass
    end = kept.load()
    assert (end.file, end.offset) == (shop.files[-1].name, shop.files[-1].stat().st_size)
    assert list(stream(shop, kept)) == []


def test_it_moves_on_over_what_is_filtered_out(shop, kept):
    assert list(stream(shop, kept, tables="shop.nothing", exclude_tables="*.*")) == []
    end = kept.load()
    assert (end.file, end.offset) == (shop.files[-1].name, shop.files[-1].stat().st_size)


def test_writes_are_not_more_often_than_the_interval(shop, tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(FileCheckpoint, "save", lambda _self, position: saved.append(position))
    with stream(shop, FileCheckpoint(tmp_path / "pos.json", interval=3600)) as changes:
        batches = sum(1 for _ in changes)
    assert batches > 20
    assert len(saved) == 2  # the start and the end


def test_a_failed_write_is_an_error_and_tried_again(shop, kept, monkeypatch):
    with stream(shop, kept) as changes:
        first = next(changes)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            with pytest.raises(CheckpointError, match="Input/output"):
                next(changes)
        before = kept.load()
        assert before.offset == 4
        second = next(changes)
        assert rows(second) != rows(first)
        assert kept.load() == first.position


def test_a_failed_write_does_not_hide_the_error_of_the_block(shop, kept, monkeypatch):
    rare = FileCheckpoint(kept.path, interval=3600)
    changes = stream(shop, rare)

    def consume():
        with changes:
            next(changes)
            next(changes)
            monkeypatch.setattr(os, "fsync", fail)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        consume()
    assert any("Input/output" in note for note in caught.value.__notes__)
    assert changes.closed


def test_a_checkpoint_that_cannot_be_written_is_seen_before_any_row(shop, tmp_path):
    (tmp_path / "folder").mkdir()
    kept = FileCheckpoint(tmp_path / "folder" / "pos.json")
    changes = stream(shop, kept)
    (tmp_path / "folder").rmdir()
    with pytest.raises(CheckpointError):
        next(changes)


def test_polling(shop, kept):
    found = []
    with stream(shop, kept) as changes:
        with contextlib.suppress(StopIteration):
            while True:
                if (batch := changes.poll(0.01)) is not None:
                    found += rows(batch)
        with pytest.raises(StopIteration):
            changes.poll(0.01)
    assert len(found) == sum(
        len(rows(batch)) for batch in binarrow.read_binlog(shop.glob, tables="shop.orders")
    )
    with pytest.raises(binarrow.ConfigError, match="timeout"):
        binarrow.read_binlog(shop.glob).poll(-1)


def test_a_table_of_one_schema_has_no_checkpoint(shop, kept):
    with pytest.raises(binarrow.ConfigError, match="tables="):
        stream(shop, kept).table("shop.orders")
    plain = Stream(binarrow.read_binlog(shop.glob))
    assert plain.table("shop.customers").read_all().num_rows > 0
