"""The visible state of a stream: its counts and its log messages."""

from __future__ import annotations

import itertools
import logging
from datetime import UTC, datetime, timedelta

import pytest

from support.live import COLUMNS, NUMBERS, following, ids, insert, later_second, mark, reach, until
from support.servers.proxy import Proxy
from support.servers.servers import Server
from support.waiting import WAIT

LOGGER = "binarrow.live"


@pytest.fixture
def server(live_server: Server) -> Server:
    return live_server


def test_counts(server: Server) -> None:
    before = datetime.now(UTC)
    with Proxy(server.port) as proxy, following(server, proxy.port, heartbeat=1.0) as collector:
        until(lambda: collector.stream.stats()["events"] > 0)
        begin = collector.stream.stats()
        insert(server, next(NUMBERS))
        until(lambda: collector.stream.stats()["rows"] == 1)
        first = collector.stream.stats()
        assert first["events"] >= begin["events"] + 4  # a GTID, a table, a row, a commit
        assert 100 < first["bytes_received"] - begin["bytes_received"] < 5000
        assert before - timedelta(seconds=1) < first["last_received"] <= datetime.now(UTC)
        longest = (datetime.now(UTC) - before).total_seconds() + 1
        assert -1 <= first["lag_seconds"] <= longest
        # Heartbeats are heard too.
        until(lambda: collector.stream.stats()["last_received"] > first["last_received"])
        assert collector.stream.stats()["events"] > first["events"]
        assert collector.stream.stats()["lag_seconds"] == first["lag_seconds"]
        proxy.cut()
        insert(server, next(NUMBERS))
        mark(server)
        assert len(ids(collector.collected())) == 2
        # they stay when it is closed
        assert collector.stream.stats()["reconnects"] > begin["reconnects"]


def test_the_lag_of_what_lay_there(server: Server) -> None:
    """By the server's clock and this machine's, which are the same here."""
    with reach(server) as connection:
        start, before = connection.position(), datetime.now(UTC)
        insert(server, next(NUMBERS))
        later_second(server, 2)
        stream = connection.stream(start, stop="end", tables="live.t", **COLUMNS)
        assert len(ids(stream)) == 1
        longest = (datetime.now(UTC) - before).total_seconds() + 1
        assert 1 <= stream.stats()["lag_seconds"] <= longest


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(one.levelno, one.getMessage()) for one in caplog.records if one.name == LOGGER]


def test_what_is_logged(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, LOGGER)
    with Proxy(server.port) as proxy, following(server, proxy.port, heartbeat=WAIT) as collector:
        until(lambda: len(records(caplog)) >= 2)
        connected, file = records(caplog)[:2]
        place = f"127.0.0.1:{proxy.port}"
        assert connected[0] == file[0] == logging.INFO
        assert connected[1].startswith(f"reading the log of {place} (")
        assert file[1].startswith("reading binlog.0000")
        caplog.clear()
        insert(server, *itertools.islice(NUMBERS, 50))
        until(lambda: len(ids(collector.batches)) == 50)
        assert records(caplog) == []  # nothing for each event
        server.execute("FLUSH BINARY LOGS")
        insert(server, next(NUMBERS))
        until(lambda: len(ids(collector.batches)) == 51)
        name = server.binlog_files()[-1].name
        assert (logging.INFO, f"reading {name} from offset 4") in records(caplog)
        server.execute("CREATE TABLE live.more (id INT)", "DROP TABLE live.more")
        insert(server, next(NUMBERS))
        until(lambda: len(ids(collector.batches)) == 52)
        told = [one for one in records(caplog) if " of live.more at " in one[1]]
        assert [(level, text.split()[0]) for level, text in told] == [
            (logging.INFO, "create"),
            (logging.INFO, "drop"),
        ]
        caplog.clear()
        proxy.cut()
        insert(server, next(NUMBERS))
        mark(server)
        collector.collected()
        levels = [level for level, _ in records(caplog)]
        assert levels[0] == logging.WARNING
        assert records(caplog)[0][1].startswith(f"the connection was lost at {name}:")
        assert logging.INFO in levels[1:]
        assert not any("l1ve" in text for _, text in records(caplog))
