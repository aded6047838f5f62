"""Rows are returned before a batch is full. `benches/latency` measures how soon after the commit."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from support import live
from support.live import COLUMNS, insert, reach
from support.servers.servers import Server
from support.waiting import WAIT


@pytest.fixture(scope="module", params=live.SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        yield started


def test_of_a_quiet_log(server: Server) -> None:
    """A row is returned when the server sends nothing more: neither `max_latency` nor a heartbeat ends the wait."""
    never = 60 * WAIT
    with (
        reach(server) as connection,
        connection.stream("latest", max_latency=never, heartbeat=never, **COLUMNS) as stream,
    ):
        stream.start()
        for number in range(40):
            insert(server, number)
            batch = stream.poll(WAIT)
            assert batch is not None
            assert batch.num_rows == 1


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
