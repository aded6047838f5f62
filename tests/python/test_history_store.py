"""Table histories in an SQLite file: what is stored is there, whatever happens to who writes it."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import binarrow
from binarrow import ConfigError, InputError, MalformedBinlogError, SchemaHistory
from support import history_writer as writer
from support.extent import rounds

KILLS = rounds("BINARROW_KILLS", 3, 10)
"""The number of times that the writer is killed; 100 are a long run."""


@pytest.fixture
def path() -> Iterator[Path]:
    """A file in a folder that every user may read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder / "history.db"
    shutil.rmtree(folder)


def filled(path: Path, statements: int = 20) -> SchemaHistory:
    history = SchemaHistory.open(path)
    writer.begin(history)
    for number in range(1, statements + 1):
        writer.apply(history, number)
    return history


def other_process(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Runs code that has `path`, in a process that has binarrow."""
    head = f"import sys, os, binarrow\nfrom binarrow import SchemaHistory\npath = {str(path)!r}\n"
    head += f"sys.path.insert(0, {str(Path(writer.__file__).parents[1])!r})\nfrom support import history_writer as writer\n"
    command = [sys.executable, "-c", head + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_killed_while_it_writes(path):
    last = writer.killed_again_and_again(f"sqlite:///{path}", KILLS, seed=1)
    assert last > KILLS


def test_all_that_is_said_to_be_stored_is_read_again(path):
    with filled(path) as history:
        before = writer.content_of(history)
        assert before == writer.content_of(writer.fresh(20))
    with SchemaHistory.open(f"sqlite:///{path}") as history:
        assert writer.content_of(history) == before
        assert writer.number_of(history.position) == 20
    # Nothing is left beside it but the lock file.
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "history.db",
        "history.db.default.lock",
    ]


def test_nothing_is_made_by_who_only_reads(path):
    with SchemaHistory.open(path) as history:
        assert history.position is None
        assert history.covered == ()
        with pytest.raises(binarrow.SchemaError, match="the table history is empty"):
            history.find("shop", "t1")
    assert list(path.parent.iterdir()) == []


def test_two_processes(path):
    """One writes, and the other one knows which; both read."""
    with filled(path):
        found = other_process(
            "history = SchemaHistory.open(path)\n"
            "writer.apply(history, 3)\n"
            "print(writer.number_of(history.position))\n"
            "try:\n"
            "    writer.apply(history, 21)\n"
            "except binarrow.ConfigError as error:\n"
            "    print(error)\n",
            path,
        )
        assert found.stderr == ""
        number, refused = found.stdout.splitlines()
        assert number == "20"
        assert f"is written by process {os.getpid()} on {os.uname().nodename}, since 20" in refused
        assert "one process writes a source" in refused
    found = other_process("writer.apply(SchemaHistory.open(path), 21)", path)
    assert found.stderr == ""
    with SchemaHistory.open(path) as history:
        assert writer.number_of(history.position) == 21
        assert writer.content_of(history) == writer.content_of(writer.fresh(21))


def test_a_fork(path):
    """The child's history is the parent's; its actions do not disturb other processes."""
    with filled(path) as history:
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                try:
                    history.tables("binlog.000001:300")
                except ConfigError as error:
                    status = 0 if "before a fork" in str(error) else 2
                history.close()
                del history
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        writer.apply(history, 21)
        refused = other_process("writer.apply(SchemaHistory.open(path), 22)", path)
        assert "ConfigError" in refused.stderr
    # A child that lives on does not keep the lock.
    with SchemaHistory.open(path) as history:
        writer.apply(history, 22)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
        history.close()
        found = other_process("writer.apply(SchemaHistory.open(path), 23)", path)
        os.close(write)
        os.waitpid(child, 0)
        os.close(read)
        assert found.stderr == ""


def test_a_file_that_can_only_be_read(path):
    filled(path).close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    (path.parent / "history.db.default.lock").chmod(0o444)
    found = other_process(
        "if os.geteuid() == 0:\n"
        "    os.setuid(65534)\n"
        "history = SchemaHistory.open(path)\n"
        "print(len(history.tables()), writer.number_of(history.position))\n"
        "try:\n"
        "    writer.apply(history, 21)\n"
        "except binarrow.ConfigError as error:\n"
        "    print(error)\n"
        "history.close()\n",
        path,
    )
    path.parent.chmod(0o755)
    assert found.stderr == ""
    numbers, refused = found.stdout.splitlines()
    assert numbers == f"{len(writer.fresh(20).tables())} 20"
    assert "read-only here" in refused


def test_files_that_are_no_history(path):
    with pytest.raises(ConfigError, match="the folder of a table history must exist"):
        SchemaHistory.open(path / "no" / "such.db")
    with pytest.raises(ConfigError, match="is not a file"):
        SchemaHistory.open(path.parent)
    path.write_bytes(b"no database, but long enough to be taken for one " * 20)
    with pytest.raises(ConfigError, match="is not an SQLite database"):
        SchemaHistory.open(path)
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE people (name TEXT)")
    with pytest.raises(ConfigError, match="is an SQLite database of another application"):
        SchemaHistory.open(path)


def test_rows_that_somebody_changed(path):
    with filled(path) as history:
        history.checkpoint()
        complete = writer.content_of(history)

    def changed(sql: str, *arguments: object) -> None:
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            assert database.execute(sql, arguments).rowcount > 0

    # A damaged checkpoint: the entries before it replace it.
    changed("UPDATE binarrow_entries SET body = x'28b52ffd00' WHERE kind = 'checkpoint'")
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("binarrow").addHandler(handler)
    try:
        with SchemaHistory.open(path) as history:
            assert writer.content_of(history) == complete
    finally:
        logging.getLogger("binarrow").removeHandler(handler)
    assert any("checkpoint at 1:2200 of timeline 1 is damaged" in message for message in messages)
    for damage in (
        "body = x'ff'",
        "body = CAST('DROP TABLE t1' || body AS BLOB)",
        "checksum = checksum + 1",
        "checksum = -1",
        "position = '{}'",
        "details = 'x'",
        "kind = 'view'",
        "logged_at = 0",
        "file_offset = 2199",
    ):
        copy = path.read_bytes()
        where = "WHERE kind = 'ddl' AND file_offset = 2200"
        changed(f"UPDATE binarrow_entries SET {damage} {where}")
        with SchemaHistory.open(path) as history, pytest.raises(MalformedBinlogError) as caught:
            history.tables()
        assert "damaged" in str(caught.value), damage
        assert str(path) in str(caught.value)
        path.write_bytes(copy)
    changed("UPDATE binarrow_timelines SET reached = 'x'")
    with pytest.raises(MalformedBinlogError, match="timeline 1 is damaged"):
        SchemaHistory.open(path)


@contextlib.contextmanager
def busy(path: Path) -> Iterator[None]:
    """Another program is in a transaction that writes: one of this process would not be noticed."""
    code = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('BEGIN IMMEDIATE')\n"
        "print(flush=True)\n"
        "sys.stdin.read()\n"
        "database.execute('ROLLBACK')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"\n"
        try:
            yield
        finally:
            program.communicate()
    assert program.returncode == 0


def test_a_database_that_is_busy(path):
    """Ctrl-C ends the wait for another program; at the end of its transaction the write continues."""

    def apply_and_interrupt() -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        writer.apply(history, 21)

    with filled(path) as history:
        with busy(path):
            started = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                apply_and_interrupt()
            interrupted = time.monotonic() - started
        # The interrupted statement is stored, or is not.
        writer.apply(history, 21)
        writer.apply(history, 22)
        started = time.monotonic()
        with (
            busy(path),
            pytest.raises(InputError, match="another process has locked it for a long time"),
        ):
            writer.apply(history, 23)
        assert 2 * interrupted < time.monotonic() - started
        writer.apply(history, 23)
        assert writer.content_of(history) == writer.content_of(writer.fresh(23))


def test_threads_share_it(path):
    """They apply the same log at once, and look at any place of it."""
    with filled(path, 0) as history:
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for number in range(1, 101):
                    writer.apply(history, number)
                    history.tables(writer.position(number // 2))
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert writer.content_of(history) == writer.content_of(writer.fresh(100))
        assert sum(change.kind == "statement" for change in history.changes()) == 100
