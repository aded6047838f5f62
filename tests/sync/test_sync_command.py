"""`binarrow sync` on the command line: exit codes, signals, messages."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from binarrow.cli import sync_screen
from binarrow.cli.app import app
from support import live
from support.oracles.duckdb_tables import read_target
from support.sync_source import Source
from support.waiting import WAIT

SERVERS = ["mysql"]
KINDS = ["duckdb"]

EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()", "sync"]


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    return source


def arguments(shop: Source, *more: str, target: str | None = None) -> list[str]:
    login = ["--password-file", str(shop.password_file), "--tables", "shop.*"]
    return [*EXECUTABLE, shop.url, target or shop.target, *login, *more]


def run(shop: Source, *more: str, target: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command in this process, which takes less time than to start another one."""
    given = arguments(shop, *more, target=target)
    words = given[len(EXECUTABLE) - 1 :]
    ran = CliRunner().invoke(app, words, catch_exceptions=False)
    return subprocess.CompletedProcess(given, ran.exit_code, ran.stdout, ran.stderr)


def test_once(shop: Source) -> None:
    ran = run(shop, "--once")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "shop.t" in ran.stdout
    shop.check("shop.t")


def test_the_process_does_not_import_pandas(shop: Source) -> None:
    """Without the import hook, pyarrow would import it in 0.2 s, which is a fifth of a short sync."""
    assert find_spec("pandas")
    code = """if True:
        import sys
        from binarrow.cli import main
        try:
            main()
        finally:
            assert "pyarrow" in sys.modules
            assert "pandas" not in sys.modules
    """
    command = [sys.executable, "-c", code, *arguments(shop, "--once")[len(EXECUTABLE) - 1 :]]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT)
    assert (ran.returncode, ran.stderr) == (0, "")
    shop.check("shop.t")


def test_lines_of_json(shop: Source) -> None:
    """Each commit is a line, and the end is one; the sums of rows agree, and values are not shown."""
    process = subprocess.Popen(
        arguments(shop, "--every", "0.2s", "--format", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        live.until(lambda: shop.file.exists() and rows(shop) == 1)
        shop.execute("INSERT INTO t VALUES (2, 777333), (3, 777333)", "ALTER TABLE t ADD c INT")
        live.until(lambda: rows(shop) == 3)
        shop.execute("DELETE FROM t WHERE id = 2", "CREATE TABLE u (id INT PRIMARY KEY)")
        live.until(lambda: rows(shop) == 2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=WAIT)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, errors) == (130, "")
    assert "777333" not in output
    *commits, end = map(json.loads, output.splitlines())
    common = [
        "event",
        "time",
        "seconds",
        "commits",
        "position",
        "complete_through",
        "rows",
        "tables",
    ]
    assert all(list(one) == [*common, "loading", "lag_seconds"] for one in commits)
    assert list(end) == [*common, "ended_by"]
    assert {one["event"] for one in commits} == {"commit"}
    assert [one["commits"] for one in commits] == list(range(1, len(commits) + 1))
    assert (end["event"], end["ended_by"], end["commits"]) == ("end", "signal", len(commits))
    assert commits[0]["loading"] == ["shop.t"]
    assert commits[0]["complete_through"] is None
    assert end["complete_through"] >= commits[-1]["complete_through"] > "2026"
    assert end["rows"] == sum(one["rows"] for one in commits) == 4
    by_table = [(one["table"], one["rows"], one["status"], one["loads"]) for one in end["tables"]]
    assert by_table == [("t", 4, "followed", 1), ("u", 0, "followed", 0)]
    listed = [table for one in commits for table in one["tables"]]
    assert sum(table["rows"] for table in listed) == 4
    assert end["position"].startswith("binlog.")
    assert all(one["lag_seconds"] is None or one["lag_seconds"] < 20 for one in commits)

    ran = run(shop, "--once", "--json")
    end = json.loads(ran.stdout.splitlines()[-1])
    assert (end["ended_by"], end["rows"]) == ("end of log", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(shop: Source, number: signal.Signals) -> None:
    """It follows until a signal, and commits before it ends."""
    process = subprocess.Popen(
        arguments(shop, "--every", "0.2s"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        live.until(lambda: shop.file.exists() and rows(shop) == 1)
        shop.execute("INSERT INTO t VALUES (2, 2)")
        live.until(lambda: rows(shop) == 2)
        shop.execute("INSERT INTO t VALUES (3, 3)")
        process.send_signal(number)
        output, errors = process.communicate(timeout=WAIT)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, errors) == (128 + number, "")
    assert "the target is at" in output
    assert run(shop, "--once").returncode == 0
    shop.check("shop.t")


def test_metrics(shop: Source) -> None:
    """The address is printed, and wrong ones are errors of one line."""
    process = subprocess.Popen(
        arguments(shop, "--metrics", "0"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("binarrow: metrics: http://127.0.0.1:")
        url = line.split()[-1]
        with urllib.request.urlopen(url, timeout=WAIT) as answer:
            assert b"binarrow_reconnects_total 0" in answer.read()
        ran = run(shop, "--once", "--metrics", url.removesuffix("/metrics").removeprefix("http://"))
        assert ran.returncode == 2
        assert "in use" in ran.stderr
        assert ran.stderr.count("\n") == 1
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
    ran = run(shop, "--once", "--metrics", "nowhere")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)


def test_lines_without_a_terminal(shop: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line from time to time shows the state."""
    monkeypatch.setattr(sync_screen, "INTERVAL", 0.05)
    values = ", ".join(f"({number}, 0)" for number in range(2, 1001))
    shop.execute(f"INSERT INTO t VALUES {values}")
    ran = run(shop, "--once", "--max-rows-per-second", "1000")
    assert ran.returncode == 0
    lines = ran.stderr.splitlines()
    assert len(lines) > 3
    assert all(line.startswith("binarrow: ") and " rows/s, " in line for line in lines)
    assert any("loading 1 table, " in line and "at binlog." in line for line in lines)


def test_interrupted_screen(shop: Source) -> None:
    """After Ctrl-C the screen is removed, the cursor is visible again, and the result is printed."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        arguments(shop, "--every", "0.2s"), stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    shown = b""
    try:
        while b"complete through" not in shown:
            shown += os.read(controller, 1 << 16)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the terminal is closed
            while chunk := os.read(controller, 1 << 16):
                shown += chunk
        output, _ = process.communicate(timeout=WAIT)
    finally:
        process.kill()
        process.wait()
        os.close(controller)
    assert process.returncode == 130
    assert b"Traceback" not in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert b"the target is at" in output
    lines = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode().splitlines()
    assert max(map(len, lines)) <= 80


def test_progress(shop: Source) -> None:
    """On a terminal, stderr shows the number of rows and the position."""
    controller, terminal = pty.openpty()
    ran = subprocess.run(
        arguments(shop, "--once"),
        stdout=subprocess.PIPE,
        stderr=terminal,
        check=False,
        timeout=WAIT,
    )
    os.close(terminal)
    shown = os.read(controller, 1 << 20).decode()
    os.close(controller)
    assert ran.returncode == 0
    assert "at binlog." in shown


def rows(shop: Source) -> int:
    try:
        return read_target(shop.file, "shop.t").total()
    except duckdb.Error:
        return -1


def test_a_busy_target(shop: Source) -> None:
    """Another process has the file open: the commit waits until it is closed, or says so."""
    shop.sync()
    shop.execute("INSERT INTO t VALUES (2, 2)")
    holder = "import duckdb, sys; f = duckdb.connect(sys.argv[1], read_only=True); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(shop.file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        ran = run(shop, "--once", "--busy-timeout", "0.3s")
        assert ran.returncode == 3, ran.stderr
        assert "close it there" in ran.stderr
        with shop.syncing(busy_timeout=WAIT) as progress:
            live.until(lambda: progress.stats().errors["target"])
            process.communicate()
            live.until(lambda: rows(shop) == 2)
    shop.check("shop.t")


def test_two_syncs(shop: Source) -> None:
    process = subprocess.Popen(
        arguments(shop, "--every", "0"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        live.until(lambda: shop.file.exists() and rows(shop) == 1)
        ran = run(shop, "--once")
    finally:
        process.kill()
        process.wait()
    assert ran.returncode == 3
    assert ran.stderr.count("\n") == 1
    assert "another sync writes" in ran.stderr


def test_errors(shop: Source, tmp_path: Path) -> None:
    """Each error is one line that says what to do, and nothing is written."""
    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as file:
        file.execute("CREATE SCHEMA shop; CREATE TABLE shop.T (x INT)")
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_bytes(b"no database")
    for target, code, words in (
        ("mongodb://x/y", 2, "is not supported: write duckdb:///"),
        ("duckdb://", 2, "is not supported"),
        ("duckdb://host/x", 2, "has no file"),
        (f"duckdb:///{other}", 1, "that no sync created"),
        (f"duckdb:///{damaged}", 1, "cannot be opened"),
        (f"duckdb:///{tmp_path}/none/x.duckdb", 1, "create"),
    ):
        ran = run(shop, "--once", target=target)
        assert (ran.returncode, ran.stdout) == (code, ""), ran.stderr
        assert words in ran.stderr
        assert ran.stderr.count("\n") == 1, ran.stderr
    for more, code, words in (
        (["--tables", "none.*", "--exclude-tables", "shop.*"], 1, "no table"),
        (["--tables", "shop"], 2, "is not database.table"),
        (["--every", "soon"], 2, "is not a number of seconds"),
    ):
        ran = run(shop, "--once", *more)
        assert ran.returncode == code, ran.stderr
        assert words in ran.stderr
    shop.execute("CREATE TABLE n (v INT)", "INSERT INTO n VALUES (1), (1)")
    ran = run(shop, "--once")
    assert ran.returncode == 1
    assert "shop.n has no primary key" in ran.stderr
    assert not shop.file.exists()


def test_a_full_disk(shop: Source) -> None:
    """A commit that does not fit changes nothing. The limit is one of the size of files."""
    shop.sync()
    before = read_target(shop.file, "shop.t")
    values = ", ".join(f"({number}, SHA2({number}, 512))" for number in range(15_000))
    shop.execute(
        "CREATE TABLE big (id INT PRIMARY KEY, s CHAR(128))",
        f"INSERT INTO big VALUES {values}",
        "UPDATE t SET v = 5",
    )
    once = arguments(shop, "--once", "--on-table-error", "park")
    limited = ["bash", "-c", 'ulimit -f 900; exec "$@"', "bash", *once]
    ran = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=WAIT)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), ran.stderr
    assert "cannot be" in ran.stderr
    assert read_target(shop.file, "shop.t") == before
    shop.sync()
    shop.check("shop.t", "shop.big")


def test_without_the_package(shop: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    for package, extra, target in (
        ("duckdb", "duckdb", None),
        ("deltalake", "delta", f"delta+file:///{shop.folder}/lake"),
        ("pyiceberg", "iceberg", f"iceberg+file:///{shop.folder}/lake"),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        ran = run(shop, "--once", target=target)
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
        assert f"pip install 'binarrow[{extra}]'" in ran.stderr


def test_modes_are_not_mixed(shop: Source) -> None:
    shop.sync()
    ran = run(shop, "--once", "--mode", "history")
    assert ran.returncode == 1
    assert "mode='mirror'" in ran.stderr


def test_a_purged_log(shop: Source) -> None:
    shop.sync()
    shop.execute("INSERT INTO t VALUES (2, 2)", "FLUSH BINARY LOGS")
    newest = shop.server.binlog_files()[-1].name
    shop.execute(f"PURGE BINARY LOGS TO '{newest}'")
    ran = run(shop, "--once")
    assert ran.returncode == 1
    assert "begin with a new one" in ran.stderr


def test_names_that_differ_in_letter_case(shop: Source) -> None:
    shop.execute("CREATE TABLE T (id INT PRIMARY KEY)")
    ran = run(shop, "--once")
    assert ran.returncode == 1 or ran.returncode == 2
    assert "differ only in letter case" in ran.stderr
    assert not shop.file.exists()


def test_a_later_table_without_key(shop: Source) -> None:
    """It is refused when its statement arrives; leaving it out continues."""
    shop.sync()
    shop.execute("CREATE TABLE n (v INT)", "INSERT INTO n VALUES (1)", "UPDATE t SET v = 8")
    ran = run(shop, "--once")
    assert ran.returncode == 1
    assert "shop.n has no primary key" in ran.stderr
    shop.sync(exclude_tables="shop.n")
    shop.check("shop.t")


def test_a_parked_table(shop: Source) -> None:
    """Exit code 4, and a line on stderr in each run, until the table is loaded again."""
    shop.execute("CREATE TABLE u LIKE t")
    shop.sync()
    shop.execute("TRUNCATE t", "INSERT INTO u VALUES (5, 5)")
    once = ["--once", "--on-truncate", "fail"]
    assert run(shop, *once).returncode == 1
    ran = subprocess.run(
        arguments(shop, *once, "--on-table-error", "park"),
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT,
    )
    assert ran.returncode == 4
    assert "shop.t is parked, other tables continue: shop.t was emptied" in ran.stderr
    assert ran.stderr.count("\n") == 1
    ran = run(shop, *once, "--json")
    assert ran.returncode == 4
    assert "shop.t was emptied" in json.loads(ran.stdout.splitlines()[-1])["tables"][0]["reason"]
    assert run(shop, *once, "--reload", "shop.t", "--reload", "shop.u").returncode == 0
    assert run(shop, *once).returncode == 0
    shop.check("shop.t", "shop.u")


def test_files_beside_the_target(shop: Source) -> None:
    """A copy of the target alone continues; a lock without content remains."""
    shop.sync()
    assert {path.name for path in shop.folder.iterdir()} == {
        "copy.duckdb",
        "copy.duckdb.sync-lock",
        "password",
    }
    shop.execute("ALTER TABLE t ADD COLUMN c INT", "UPDATE t SET v = 2")
    other = shop.other()
    other.file.write_bytes(shop.file.read_bytes())
    other.sync()
    other.check("shop.t")
