"""The end of streams: from outside, by Ctrl-C, with the interpreter. The server stops sending.

Nothing else ends their waits: no heartbeat comes, and other time limits are longer than those of the tests.
"""

from __future__ import annotations

import itertools
import os
import select
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import binarrow
from support.live import COLUMNS, NUMBERS, dumps, insert, reach, until
from support.servers.proxy import Link, Proxy
from support.servers.servers import Server
from support.waiting import WAIT, until_asleep, within

LONG = 2 * WAIT
"""Seconds, for time limits that the product has and that must not matter."""

NOTICED = 0.3
"""The interval of heartbeats by which a server notices that a proxy has cut the connection."""

PROMPT = 0.01
"""Seconds, a fifth of the interval after which a thread that waits lets others continue."""


@pytest.fixture
def server(live_server: Server) -> Server:
    return live_server


def ends(server: Server, end: Callable[[], object]) -> None:
    with within():
        end()
    until(lambda: not dumps(server))


class Reader(threading.Thread):
    """Waits for a batch in a thread of its own."""

    def __init__(self, stream: binarrow.Stream) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.result: object = "waiting"

    def run(self) -> None:
        try:
            self.result = next(self.stream, None)
        except binarrow.BinarrowError as error:
            self.result = error


def waiting(
    server: Server, port: int | None = None, heartbeat: float = LONG, **given: Any
) -> Reader:
    """A stream that is up, with a thread that waits for a batch."""
    with reach(server, port, **given) as connection:
        stream = connection.stream("latest", tables="live.t", heartbeat=heartbeat, **COLUMNS)
        stream.start()
        until(lambda: dumps(server))
        reader = Reader(stream)
        reader.start()
        return reader


def test_close_while_another_thread_waits(server: Server) -> None:
    reader = waiting(server)
    ends(server, reader.stream.close)
    reader.join(WAIT)
    assert isinstance(reader.result, binarrow.ConfigError)
    assert "closed" in str(reader.result)
    reader.stream.close()  # a second time
    assert reader.stream.closed


def test_the_counts_while_another_thread_waits(server: Server) -> None:
    """The thread that waits does not hold what the others need: not even between two moments."""
    reader = waiting(server)
    seconds = []
    for _ in range(100):
        begin = time.monotonic()
        reader.stream.stats()
        seconds.append(time.monotonic() - begin)
    # A busy machine may hold up some of them, and a wait all of them.
    assert statistics.median(seconds) < PROMPT
    ends(server, reader.stream.close)


def test_close_while_the_connection_is_made_anew(server: Server) -> None:
    with Proxy(server.port) as proxy:
        reader = waiting(server, proxy.port, NOTICED)
        proxy.refusing = True
        proxy.cut()
        before = proxy.connections
        until(lambda: proxy.connections > before + 2)  # it pauses for longer and longer
        ends(server, reader.stream.close)
        reader.join(WAIT)
        assert isinstance(reader.result, binarrow.ConfigError)


@pytest.mark.parametrize("after", [0, 40, 200, 1600], ids=["greeting", "login", "TLS", "set-up"])
def test_close_while_a_login_stalls(server: Server, after: int) -> None:
    with Proxy(server.port, lambda n: Link() if n < 2 else Link(freeze_after=after)) as proxy:
        reader = waiting(server, proxy.port, NOTICED, tls="required", connect_timeout=LONG)
        proxy.cut()
        until(lambda: proxy.frozen)
        ends(server, reader.stream.close)
        reader.join(WAIT)
        assert isinstance(reader.result, binarrow.ConfigError)


def test_close_while_the_dump_is_under_way(server: Server) -> None:
    with reach(server) as connection:
        stream = connection.stream(
            "latest", threads=1, segment_bytes=65_536, heartbeat=LONG, **COLUMNS
        )
        for number in itertools.islice(NUMBERS, 20):
            server.execute(f"INSERT INTO live.big VALUES ({number}, REPEAT('x', 1 << 20))")
        next(stream)
        ends(server, stream.close)


def test_an_exception_in_the_loop(server: Server) -> None:
    def fail() -> None:
        with (
            reach(server) as connection,
            connection.stream("latest", heartbeat=LONG, **COLUMNS) as stream,
        ):
            stream.start()
            insert(server, next(NUMBERS))
            for _ in stream:
                raise LookupError

    with pytest.raises(LookupError):
        fail()
    until(lambda: not dumps(server))


def test_a_stream_that_is_dropped(server: Server) -> None:
    streams = [waiting_stream(server)]
    ends(server, streams.clear)


def waiting_stream(server: Server) -> binarrow.Stream:
    with reach(server) as connection:
        stream = connection.stream("latest", heartbeat=LONG, **COLUMNS)
        stream.start()
        until(lambda: dumps(server))
        return stream


# ------------------------------------------------------------------------------------- processes

PROCESS = """
import os, signal, sys
import binarrow

signal.signal(signal.SIGINT, signal.default_int_handler)
port, what, heartbeat = sys.argv[1:]
server = binarrow.connect(
    host="127.0.0.1", port=int(port), user="live", password="l1ve", allow_public_key_retrieval=True
)
stream = server.stream(
    "latest", tables="live.t", column_names="positional", heartbeat=float(heartbeat)
)
stream.start()

def say(*words):
    print(*words, flush=True)

if what == "interrupt":
    say("ready")
    try:
        next(stream)
    except KeyboardInterrupt:
        stream.close()
        say("interrupted")
elif what == "exit":
    input()
    say("exiting")
elif what == "fork":
    child = os.fork()
    if child == 0:
        try:
            next(stream)
        except binarrow.ConfigError as error:
            assert "fork" in str(error)
            stream.close()
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    say("child", os.waitstatus_to_exitcode(status))
    batch = next(stream)
    say("rows", batch.num_rows, stream.stats()["reconnects"])
"""


def process(
    server: Server, what: str, port: int | None = None, heartbeat: float = LONG
) -> subprocess.Popen[str]:
    """A process with a stream that is up."""
    arguments = [sys.executable, "-c", PROCESS, str(port or server.port), what, str(heartbeat)]
    pipe = subprocess.PIPE
    started = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True)
    until(lambda: dumps(server))
    return started


def said(started: subprocess.Popen[str]) -> list[str]:
    assert started.stdout is not None
    assert select.select([started.stdout], [], [], WAIT)[0]
    return started.stdout.readline().split()


@pytest.mark.parametrize("where", ["waiting", "connecting"])
def test_ctrl_c(server: Server, where: str) -> None:
    with Proxy(server.port) as proxy:
        heartbeat = LONG if where == "waiting" else NOTICED
        started = process(server, "interrupt", proxy.port, heartbeat)
        assert said(started) == ["ready"]
        if where == "connecting":
            proxy.refusing = True
            proxy.cut()
            before = proxy.connections
            until(lambda: proxy.connections > before + 2)
        until_asleep(started.pid)
        os.kill(started.pid, signal.SIGINT)
        assert said(started) == ["interrupted"]
        assert started.wait(WAIT) == 0
        until(lambda: not dumps(server))


def test_the_interpreter_ends(server: Server) -> None:
    started = process(server, "exit")
    assert started.stdin is not None
    started.stdin.write("\n")
    started.stdin.flush()
    assert said(started) == ["exiting"]
    assert started.wait(WAIT) == 0
    until(lambda: not dumps(server))


def test_a_process_that_is_killed(server: Server) -> None:
    """The server is not notified; it finds out with its next heartbeat."""
    started = process(server, "exit", heartbeat=NOTICED)
    started.kill()
    started.wait()
    until(lambda: not dumps(server))


def test_a_fork(server: Server) -> None:
    """The child has no stream; that of the parent stays as it was."""
    started = process(server, "fork")
    assert said(started) == ["child", "7"]
    insert(server, next(NUMBERS))
    assert said(started) == ["rows", "1", "0"]
    assert started.wait(WAIT) == 0
    until(lambda: not dumps(server))
