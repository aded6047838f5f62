"""Live streams where servers and networks are odd, though none of them is hostile."""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import binarrow
from support import live
from support.fakes.fake_server import EOF, FakeServer, Peer, rotation, with_checksum
from support.fakes.hostile_log import EVENTS, FDE, as_packets, streamed
from support.servers.proxy import Link, Proxy
from support.waiting import within

QUICK = {"heartbeat": 0.5, "reconnect": live.WAIT, **live.COLUMNS}


@pytest.mark.parametrize("flavor", live.SERVERS)
def test_a_log_without_checksums(flavor: str) -> None:
    """A server that changes a format description renews its CRC32 only where other events have one."""
    with (
        live.server(flavor, "--binlog-checksum=NONE") as server,
        Proxy(server.port) as proxy,
        live.reach(server, proxy.port) as connection,
    ):
        live.insert(server, 1)
        collector = live.Collector(connection.stream("latest", **QUICK))
        live.insert(server, 2)
        live.until(lambda: live.ids(collector.batches) == [2])
        proxy.cut()
        live.insert(server, 3)
        live.until(lambda: live.ids(collector.batches) == [2, 3])
        server.execute("SET GLOBAL binlog_checksum=CRC32")
        live.insert(server, 4)
        live.until(lambda: live.ids(collector.batches) == [2, 3, 4])
        proxy.cut()
        server.execute("SET GLOBAL binlog_checksum=NONE")
        live.insert(server, 5)
        live.until(lambda: live.ids(collector.batches) == [2, 3, 4, 5])
        collector.stream.close()


def test_an_encrypted_log(tmp_path: Path) -> None:
    """MariaDB sends what says so again where a dump begins within a file."""
    keys = tmp_path / "keys"
    keys.write_text(f"1;{'a5' * 32}\n")
    options = [
        "--plugin-load-add=file_key_management",
        f"--file-key-management-filename={keys}",
        "--encrypt-binlog=ON",
    ]
    with (
        live.server("mariadb-11.8", *options) as server,
        Proxy(server.port) as proxy,
        live.reach(server, proxy.port) as connection,
    ):
        position = connection.position()
        live.insert(server, 1)
        for start in (position, str(position.gtid_set), "earliest"):
            collector = live.Collector(connection.stream(start, **QUICK))
            before = live.until(lambda found=collector.batches: live.ids(found))
            proxy.cut()
            live.insert(server, before[-1] + 1)
            added = [*before, before[-1] + 1]
            live.until(lambda found=collector.batches, added=added: live.ids(found) == added)
            collector.stream.close()


@pytest.mark.parametrize("by", ["file", "gtid"])
@pytest.mark.parametrize("flavor", ["mysql", "mariadb-11.8"])
def test_connections_lost_within_large_transactions(flavor: str, by: str) -> None:
    """The end of a transaction that is larger than a segment is found before its rows are returned."""
    with live.server(flavor) as server, live.reach(server) as connection:
        begin = connection.position()
        rows = 0
        for count in (1, 2000, 1, 3000):
            numbers = range(rows, rows + count)
            rows += count
            statements = [
                "INSERT INTO live.t VALUES "
                + ",".join(f"({number}, REPEAT('y', 30))" for number in numbers[at : at + 500])
                for at in range(0, count, 500)
            ]
            server.execute("BEGIN", *statements, "COMMIT")
        start = begin if by == "file" else str(begin.gtid_set)
        # a login and what comes before a dump take less than 4000 bytes
        cut = [Link(cut_after=4_000 + 3_000 * number) for number in range(15)]
        with (
            Proxy(
                server.port, lambda number: cut[number] if number < len(cut) else Link()
            ) as proxy,
            live.reach(server, proxy.port, tls="disabled") as through,
            through.stream(start, segment_bytes=1000, **QUICK) as stream,
        ):
            found: list[int] = []
            while len(found) < rows:
                found += live.ids([next(stream)])
            assert stream.stats()["reconnects"] > 5
        assert found == list(range(rows))


def test_prepared_rows_are_asked_of_the_server_that_is_read() -> None:
    """Whichever of the URL's hosts answers first by now."""
    with (
        live.server("mysql") as first,
        live.server("mysql") as second,
        Proxy(first.port) as proxy,
    ):
        proxy.refusing = True
        live.insert(second, 1)
        url = f"mysql://127.0.0.1:{proxy.port},127.0.0.1:{second.port}"
        with binarrow.connect(url, **live.USER) as connection:
            collector = live.Collector(connection.stream("latest", **QUICK))
            proxy.refusing = False
            second.execute("XA START 'x'", "INSERT INTO live.t VALUES (2, 'x')", "XA END 'x'")
            second.execute("XA PREPARE 'x'", "XA COMMIT 'x'")
            live.insert(second, 3)
            live.until(lambda: live.ids(collector.batches) == [2, 3] or collector.error)
            assert live.ids(collector.batches) == [2, 3]
            collector.stream.close()


def test_a_token_that_is_out_of_reach_for_a_while() -> None:
    """A server that is unavailable for a while is tried again; any other error of the function ends the stream."""
    out_of_reach = False

    refused: list[None] = []

    def token() -> str:
        if out_of_reach:
            refused.append(None)
            raise TimeoutError
        return str(live.USER["password"])

    with (
        live.server("mysql") as server,
        Proxy(server.port) as proxy,
        live.reach(server, proxy.port, password=token) as connection,
    ):
        collector = live.Collector(connection.stream("latest", **QUICK))
        out_of_reach = True
        proxy.cut()
        live.until(lambda: refused)
        live.insert(server, 1)
        count = len(refused)
        live.until(lambda: len(refused) > count)
        assert not collector.batches
        out_of_reach = False
        live.until(lambda: live.ids(collector.batches) == [1])
        collector.stream.close()


def test_dumps_that_are_lost_as_soon_as_they_begin() -> None:
    """They are tried at growing intervals, and no longer than `reconnect` says."""

    times: list[float] = []

    def script(peer: Peer) -> None:
        at = int.from_bytes(peer.until_dump()[1:5], "little")
        times.append(time.monotonic())
        if at == 4:
            peer.send(*as_packets(rotation(), *EVENTS[:3]))
            peer.leave()
        artificial = FDE[:13] + bytes(4) + FDE[17:-4]
        peer.send(*as_packets(rotation(offset=at), with_checksum(artificial)), EOF)

    with FakeServer(script) as server:
        begin = time.monotonic()
        with within(), pytest.raises(binarrow.ConnectionLostError, match="ended a dump"):
            list(streamed(server, reconnect=0.5))
        assert time.monotonic() - begin > 0.5
    # one at once, one after 0.05 s, or half of it, then after twice as long each time
    assert len(times) > 2
    pauses = [later - earlier for earlier, later in itertools.pairwise(times[1:])]
    assert all(pause >= 0.025 * 2**number for number, pause in enumerate(pauses)), pauses


@pytest.mark.parametrize("flavor", live.SERVERS)
def test_a_file_that_seems_older_than_it_is(flavor: str) -> None:
    """A format description has the time when the statement began that rotated the log."""
    with live.server(flavor) as server, live.reach(server) as connection:
        live.insert(server, 1)
        live.later_second(server)
        begin = datetime.now(UTC).replace(microsecond=0)
        live.insert(server, 2)
        server.execute("SET TIMESTAMP=1000000000", "FLUSH BINARY LOGS", "SET TIMESTAMP=DEFAULT")
        live.later_second(server)
        live.insert(server, 3)
        server.execute("FLUSH BINARY LOGS")
        stream = connection.stream(begin, stop="end", **QUICK)
        assert live.ids(stream) == [2, 3]


def test_a_set_with_tags() -> None:
    """Tagged GTIDs, of MySQL from 8.3 on, are asked for and resumed at like others."""
    with live.server("mysql") as server, live.reach(server) as connection:
        live.insert(server, 1)
        server.execute("SET GTID_NEXT = 'AUTOMATIC:blue'")
        live.insert(server, 2)
        before = connection.position()
        live.insert(server, 3)
        server.execute("SET GTID_NEXT = 'AUTOMATIC'")
        live.insert(server, 4)
        assert "blue" in str(before.gtid_set)
        stream = connection.stream(str(before.gtid_set), stop="end", **QUICK)
        assert live.ids(stream) == [3, 4]
        assert stream.position is not None
        assert stream.position.gtid_set == connection.position().gtid_set
        for first in (stream.position, str(stream.position.gtid_set)):
            assert live.ids(connection.stream(first, stop="end", **QUICK)) == []


@pytest.mark.parametrize("flavor", live.SERVERS)
def test_a_dump_that_is_killed_has_not_ended(flavor: str) -> None:
    """Servers end the dump as at the end of the log; later events must be returned nevertheless."""
    numbers = list(range(40))
    slow = Link(pause=0.002)
    with (
        live.server(flavor) as server,
        Proxy(server.port, lambda _: slow) as proxy,
        live.reach(server) as connection,
    ):
        begin = connection.position()
        for number in numbers:
            server.execute(f"INSERT INTO live.big VALUES ({number}, REPEAT('x', 500000))")
        starts = (begin, str(begin.gtid_set)) if begin.gtid_set else (begin,)
        for kill, start in itertools.product(("KILL QUERY", "KILL"), starts):
            with live.reach(server, proxy.port) as through:
                stream = through.stream(start, stop="end", threads=1, **QUICK)
                found = live.ids([next(stream)])
                killed = live.dumps(server)
                server.execute(*(f"{kill} {number}" for number in killed))
                assert found + live.ids(stream) == numbers, (kill, start)
                assert stream.stats()["reconnects"] >= len(killed) > 0
