"""`binarrow tail` at every moment at which a signal can come: no position is lost, and no change is skipped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import binarrow
from support import live
from support.extent import rounds
from support.live import insert, mark
from support.servers.servers import Server
from support.waiting import WAIT

MOMENTS = rounds("BINARROW_SIGNALS", 6, 12)
"""The number of moments at which a signal is sent; 10 000 covers all."""

DRIVER = """
import json, logging, os, signal, sys
import pyarrow, rich.console
from binarrow.cli import main
import binarrow.cli.tail

FILES = ("/binarrow/cli/tail.py", "/binarrow/stream.py", "/binarrow/checkpoint.py")

def run(moment, numbers, folder, arguments):
    # A child whose lines are counted; from a line on, it gets one signal with each.
    for place, name in ((1, "out"), (2, "errors")):
        os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), place)
    count = 0

    def line(frame, event, argument):
        nonlocal count
        if event == "line":
            if 0 <= count - moment < len(numbers):
                os.kill(os.getpid(), numbers[count - moment])
            count += 1
        return line

    def call(frame, event, argument):
        return line if frame.f_code.co_filename.endswith(FILES) else None

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["binarrow", "tail", *arguments]

    def begin(**options):  # the command's first step: all before it takes long to trace
        sys._getframe(1).f_trace = line
        sys.settrace(call)

    logging.basicConfig = begin
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.settrace(None)
        sys.stdout.flush()
        sys.stderr.flush()
        with open(f"{folder}/count", "w") as file:
            file.write(str(count))
    os._exit(code)

for text in sys.stdin:
    child = os.fork()
    if child == 0:
        run(*json.loads(text))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Driver:
    """Runs `tail` again and again, each time in a fork of one process."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.folder, self.arguments = folder, arguments
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, moment: int, *numbers: signal.Signals) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        numbers_ = [int(number) for number in numbers]
        self.process.stdin.write(
            json.dumps([moment, numbers_, str(self.folder), self.arguments]) + "\n"
        )
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


ROWS = 6


@pytest.fixture(scope="module")
def log(live_server: Server) -> Iterator[tuple[Server, str, list[int]]]:
    """A server, the start of the rows in its log, and the offset after each of them."""
    live_server.flush_binlog()
    ends = []
    with live.reach(live_server) as connection:
        start = connection.position()
        for number in range(1, ROWS + 1):
            insert(live_server, 900_000 + number) if number % 2 else mark(live_server)
            ends.append(connection.position().offset)
    yield live_server, f"{start.file}:{start.offset}", ends
    live_server.execute("DELETE FROM live.t WHERE id > 900000")


def rows_in(output: str) -> int:
    """The rows of the output, all of whose lines must be complete."""
    assert output == "" or output.endswith("\n")
    return sum("change" in json.loads(line) for line in output.splitlines())


@pytest.mark.parametrize("live_server", ["mysql"], indirect=True)
@pytest.mark.parametrize(
    "numbers",
    [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)],
    ids=["Ctrl-C", "SIGTERM", "Ctrl-C twice"],
)
def test_a_signal_at_any_moment(
    log: tuple[Server, str, list[int]], tmp_path: Path, numbers: tuple[signal.Signals, ...]
) -> None:
    server, start, ends = log
    path = tmp_path / "position.json"
    arguments = [
        f"mysql://live:l1ve@127.0.0.1:{server.port}/?allow_public_key_retrieval=1&tls=disabled",
        *("--json", "--positional", "--include", "transaction", "--tables", "live.*"),
        *("--start", start, "--stop", "end", "--checkpoint", str(path)),
    ]
    with Driver(tmp_path, arguments) as driver:
        assert driver.run(1_000_000) == 0, driver.read("errors")
        assert rows_in(driver.read("out")) == ROWS
        total = int(driver.read("count"))
        step = max(total // MOMENTS, 1)
        seen = set()
        for moment in range(step * len(numbers) // 2, total, step):
            path.unlink(missing_ok=True)
            code = driver.run(moment, *numbers)
            errors = driver.read("errors")
            place = f"line {moment} of {total}: {errors}"
            # SIGTERM ends a process that has no handler yet; after the last line nothing is left.
            early = [-numbers[0]] if moment < 20 else []
            late = [0] if int(driver.read("count")) < moment + 10 else []
            assert code in [128 + numbers[0], *early, *late], place
            rows = rows_in(driver.read("out"))
            seen.add(rows)
            offset = None
            if rows > 0 or "continue" in errors:
                assert errors.count("binarrow: continue from ") == 1, place
                position = errors.split("continue from ")[1].split()[0]
                offset = int(position.split(":")[1])
                # Everything before it was printed, and it is not far back.
                after = [*ends, sys.maxsize]
                assert (ends[rows - 2] if rows > 1 else 0) <= offset < after[rows], place
                saved = binarrow.FileCheckpoint(path).load()
                assert saved is not None, place
                assert str(saved) == position, place
        assert len(seen) > 2, seen  # before, between and after the rows


@pytest.mark.parametrize("live_server", ["mysql"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_nobody_reads_the_output(
    live_server: Server, tmp_path: Path, number: signal.Signals, unbuffered: str
) -> None:
    """The pipe is full: the position still covers exactly the complete lines."""
    path = tmp_path / "position.json"
    with live.reach(live_server) as connection:
        start = connection.position()
        insert(live_server, 910_001)
        after = connection.position()
        live_server.execute("INSERT INTO live.big VALUES (910001, REPEAT('x', 4 << 20))")
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", "from binarrow.cli import main; main()", "tail"),
                f"mysql://live:l1ve@127.0.0.1:{live_server.port}/?allow_public_key_retrieval=1",
                *("--json", "--positional", "--start", f"{start.file}:{start.offset}"),
                *("--include", "transaction", "--checkpoint", str(path)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
        assert process.stdout is not None
        # A part of the large row has arrived: the rest does not fit into the pipe.
        while b"eHh4eHh4" not in process.stdout.read1(1 << 16):  # of x in base64
            pass
        process.send_signal(number)
        assert process.stderr is not None
        errors = process.stderr.read().decode()
        process.stdout.close()
        assert process.wait(WAIT) == 128 + number
        position = errors.split("binarrow: continue from ")[1].split()[0]
        assert int(position.split(":")[1]) >= after.offset - 1000
        saved = binarrow.FileCheckpoint(path).load()
        assert saved is not None
        with connection.stream(saved, stop="end", tables="live.big", **live.COLUMNS) as stream:
            assert sum(batch.num_rows for batch in stream) == 1
    live_server.execute("DELETE FROM live.t WHERE id > 900000", "DELETE FROM live.big")
