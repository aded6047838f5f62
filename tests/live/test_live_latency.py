"""The time from the commit of a row until it is returned."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator

import pytest

from support import live
from support.live import COLUMNS, insert, reach
from support.servers.servers import Server

pytestmark = pytest.mark.alone

QUIET = 0.05
"""Seconds after the server's send within which a row of a quiet log is handed over."""


@pytest.fixture(scope="module", params=live.SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        yield started


def test_of_a_quiet_log(server: Server) -> None:
    seconds = []
    with reach(server) as connection, connection.stream("latest", **COLUMNS) as stream:
        for number in range(40):
            before = time.monotonic()
            insert(server, number)
            assert next(stream).num_rows == 1
            seconds.append(time.monotonic() - before)
    # Of the commit and the way here together; a busy machine may hold up one, not half of them.
    print(
        f"\nmedian {1e3 * statistics.median(seconds):.1f} ms, longest {1e3 * max(seconds):.1f} ms"
    )
    assert statistics.median(seconds) < QUIET


def test_under_load(server: Server) -> None:
    """A batch that is far from full goes out although more comes all the time."""
    done = threading.Event()

    def write() -> None:
        session = server.connect()
        number = 1000
        while not done.is_set():
            session.execute(f"INSERT INTO live.t VALUES ({number}, 'x')")
            number += 1
        session.close()

    with (
        reach(server) as connection,
        connection.stream("latest", max_latency=0.1, batch_rows=10_000_000, **COLUMNS) as stream,
    ):
        writer = threading.Thread(target=write)
        writer.start()
        try:
            sizes = [next(stream).num_rows for _ in range(5)]
        finally:
            done.set()
            writer.join()
    assert all(size > 0 for size in sizes)
