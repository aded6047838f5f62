"""Servers whose log is none: cut, damaged, refused, silent."""

from __future__ import annotations

import hashlib
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_server import (
    EOF,
    FULL,
    NONCE,
    FakeServer,
    Peer,
    event,
    events_of,
    framed,
    refusal,
    rotation,
    with_checksum,
    zstd,
)
from hostile import LIMIT, SECRET, reach

import binarrow

LOG = Path(__file__).parents[1] / "fixtures" / "mysql-rows-query" / "binlog.000001"
EVENTS = [one for one in events_of(LOG.read_bytes()) if one[4] not in (3, 4)]
"""A file's events, without those that end it."""


def streamed(
    server: FakeServer, *, connect: dict[str, Any] | None = None, **keywords: Any
) -> Iterator[tuple[str, int]]:
    """The tables and sizes of the batches."""
    given = {"heartbeat": 1.0, "reconnect": None, **keywords}
    with reach(server, **(connect or {})) as connection:
        for batch in connection.stream("earliest", **given):
            yield f"{batch.database}.{batch.table}", batch.num_rows


def as_packets(*events: bytes) -> list[bytes]:
    return [b"\0" + one for one in events]


ROWS = [("d.a", 5)]

FDE = EVENTS[0]

DUMPS: dict[str, tuple[type[binarrow.BinarrowError], str, list[bytes]]] = {
    "cut-event": (
        binarrow.MalformedBinlogError,
        "header|needs",
        [b"\0" + rotation(), b"\0" + FDE, b"\0" + EVENTS[1][:18]],
    ),
    "cut-body": (
        binarrow.MalformedBinlogError,
        "bytes for an event of",
        [b"\0" + rotation(), b"\0" + FDE, b"\0" + EVENTS[1][:-1]],
    ),
    "long-body": (
        binarrow.MalformedBinlogError,
        "bytes for an event of",
        [b"\0" + rotation(), b"\0" + FDE, b"\0" + EVENTS[1] + b"\0"],
    ),
    "no-event": (binarrow.MalformedBinlogError, "header|needs", [b"\0" + rotation(), b"\0"]),
    "no-length": (
        binarrow.MalformedBinlogError,
        "event",
        [b"\0" + rotation(), b"\0" + FDE, b"\0" + event(2, b"", size=0)],
    ),
    "short-length": (
        binarrow.MalformedBinlogError,
        "event",
        [b"\0" + rotation(), b"\0" + FDE, b"\0" + event(2, b"", size=18)],
    ),
    "wild-length": (
        binarrow.MalformedBinlogError,
        "event",
        [b"\0" + rotation(), b"\0" + FDE, b"\0" + event(2, b"", size=0xFFFF_FFFF)],
    ),
    "unknown-first-byte": (
        binarrow.MalformedBinlogError,
        "first byte",
        [b"\0" + rotation(), b"\0" + FDE, b"\x01" + EVENTS[1]],
    ),
    "empty-packet": (binarrow.MalformedBinlogError, "first byte", [b"\0" + rotation(), b""]),
    "long-end": (binarrow.MalformedBinlogError, "first byte", [b"\0" + rotation(), b"\xfe" * 9]),
    "cut-rotate": (
        binarrow.MalformedBinlogError,
        "Rotate|needs",
        [b"\0" + event(4, b"\x04\0\0", flags=0x20)],
    ),
    "bad-checksum": (
        binarrow.ChecksumError,
        "CRC32",
        [b"\0" + rotation(), b"\0" + FDE, b"\0" + EVENTS[1][:-1] + bytes([EVENTS[1][-1] ^ 1])],
    ),
    "no-format": (
        binarrow.MalformedBinlogError,
        "empty",
        [b"\0" + rotation(), *as_packets(*EVENTS[1:]), EOF],
    ),
}


@pytest.mark.parametrize("name", DUMPS)
def test_dumps(name: str) -> None:
    kind, match, packets = DUMPS[name]
    with FakeServer(lambda peer: (peer.until_dump(), peer.send(*packets))[1]) as server:
        begin = time.monotonic()
        with pytest.raises(kind, match=match) as caught:
            list(streamed(server, reconnect=30.0, stop="end"))
        assert time.monotonic() - begin < LIMIT
        assert not isinstance(caught.value, ConnectionError)
    # asked for again it would come again
    assert len(server.dumps) == 1


REFUSALS: dict[str, tuple[type[binarrow.BinarrowError], int, str, str]] = {
    "first-file": (
        binarrow.PositionPurgedError,
        1236,
        "Could not find first log file name in binary log index file",
        "snapshot",
    ),
    "purged-by-position": (
        binarrow.PositionPurgedError,
        1236,
        "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from elsewhere",
        "snapshot",
    ),
    "purged-before-8": (
        binarrow.PositionPurgedError,
        1236,
        "The slave is connecting using CHANGE MASTER TO MASTER_AUTO_POSITION = 1, but the master has purged binary logs",
        "binlog_expire_logs_seconds",
    ),
    "purged-on-mariadb": (
        binarrow.PositionPurgedError,
        1236,
        (
            "Could not find GTID state requested by slave in any binlog files. Probably the slave state is too old and required"
            " binlog files have been purged."
        ),
        "snapshot",
    ),
    "behind": (
        binarrow.ServerIdentityError,
        1236,
        "Replica has more GTIDs than the source has, using the source's SERVER_UUID.",
        "behind",
    ),
    "behind-on-mariadb": (
        binarrow.ServerIdentityError,
        1236,
        "Error: connecting slave requested to start from GTID 0-1-99, which is not in the master's binlog",
        "behind",
    ),
    "diverged-on-mariadb": (
        binarrow.ServerIdentityError,
        1236,
        (
            "Error: connecting slave requested to start from GTID 0-9-2, which is not in the master's binlog. Since the master's"
            " binlog contains GTIDs with higher sequence numbers, it probably means that the slave has diverged"
        ),
        "history",
    ),
    "same-id": (
        binarrow.ServerIdentityError,
        1236,
        "A replica with the same server_uuid/server_id as this replica has connected to the source; the first event",
        "server_id=",
    ),
    "same-id-on-mariadb": (
        binarrow.ServerIdentityError,
        4052,
        "A slave with the same server_uuid/server_id as this slave has connected to the master",
        "server_id=",
    ),
    "beyond-the-end": (
        binarrow.ConfigError,
        1236,
        "Client requested source to start replication from position > file size",
        "no event's",
    ),
    "impossible": (
        binarrow.ConfigError,
        1236,
        "Client requested master to start replication from impossible position",
        "no event's",
    ),
    "bogus": (binarrow.ConfigError, 1236, "bogus data in log event; the first event", "no event's"),
    "checksum": (
        binarrow.ServerError,
        1236,
        "Slave can not handle replication events with the checksum that master is configured to log",
        "connect again",
    ),
    "damaged": (
        binarrow.ServerError,
        1236,
        "Replication event checksum verification failed while reading from a log file.",
        r"file\. \(error 1236, SQLSTATE HY000\)( \(of|$)",
    ),
    "large": (
        binarrow.ServerError,
        1236,
        "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
        "within an event",
    ),
    "disk-full": (
        binarrow.ServerError,
        1236,
        "binlog truncated in the middle of event; consider out of disk space on source",
        "disk space",
    ),
    "privilege": (
        binarrow.ServerError,
        1045,
        "Access denied for user 'me'@'%' (using password: YES)",
        "GRANT REPLICATION SLAVE",
    ),
    "unknown": (binarrow.ServerError, 1236, "something new", "something new"),
    "silent": (binarrow.ServerError, 1236, "", "no reason"),
}


@pytest.mark.parametrize("when", ["at-once", "later"])
@pytest.mark.parametrize("name", REFUSALS)
def test_dumps_that_are_refused(name: str, when: str) -> None:
    """What the server will say again is not asked again."""
    kind, code, text, match = REFUSALS[name]

    def script(peer: Peer) -> None:
        peer.until_dump()
        if when == "later":
            peer.send(*as_packets(rotation(), *EVENTS))
        peer.send(refusal(code, text.encode()))

    with FakeServer(script) as server:
        found = []
        begin = time.monotonic()
        with pytest.raises(kind, match=match) as caught:
            found += streamed(server, reconnect=30.0)
        assert time.monotonic() - begin < LIMIT
        assert type(caught.value) is kind
        assert caught.value.code == code
    assert len(server.dumps) == 1


def test_what_came_before_a_refusal_is_handed_over() -> None:
    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS), refusal(1236, b"something new"))

    with FakeServer(script) as server:
        batches = streamed(server, reconnect=None)
        assert next(batches) == ROWS[0]
        with pytest.raises(binarrow.ServerError, match="something new"):
            next(batches)


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_what_came_before_a_loss_is_not_held_up(compression: str | None) -> None:
    """The rows are there at once, however long no server lets us in again."""

    def script(peer: Peer) -> None:
        if peer.dumps:
            peer.send(refusal(1040, b"Too many connections", b""))
            peer.leave()
        peer.until_dump(zlib.compress if compression else None)
        peer.send(*as_packets(rotation(), *EVENTS, EVENTS[-1][:30]))
        peer.leave()

    with FakeServer(script) as server:
        batches = streamed(server, connect={"compression": compression}, reconnect=60.0)
        begin = time.monotonic()
        assert next(batches) == ROWS[0]
        assert time.monotonic() - begin < 2
        batches.close()


def test_a_server_that_falls_silent() -> None:
    """Three heartbeats that do not come are a lost connection."""

    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS))

    with FakeServer(script) as server:
        batches = streamed(server, heartbeat=0.2)
        assert next(batches) == ROWS[0]
        begin = time.monotonic()
        with pytest.raises(binarrow.ConnectionLostError, match="no answer in time"):
            next(batches)
        assert time.monotonic() - begin < LIMIT


def test_a_silent_server_is_left_for_the_next() -> None:
    def script(peer: Peer) -> None:
        asked = peer.until_dump()
        if len(peer.dumps) == 1:
            peer.send(*as_packets(rotation(), *EVENTS[:3]))
            peer.wait_for_the_end()
        at = int.from_bytes(asked[1:5], "little")
        rest = [one for one in EVENTS if int.from_bytes(one[13:17], "little") > at]
        artificial = FDE[:13] + bytes(4) + FDE[17:-4]
        peer.send(*as_packets(rotation(offset=at), with_checksum(artificial), *rest), EOF)

    tokens: list[str] = []

    def token() -> str:
        tokens.append(f"{SECRET}-{len(tokens)}")
        return tokens[-1]

    with FakeServer(script) as server:
        connect = {"password": token}
        batches = streamed(server, connect=connect, heartbeat=0.2, reconnect=10.0, stop="end")
        assert list(batches) == ROWS
    # the connection, its stream, and the stream again, each with a token of its own
    assert len(tokens) == 3
    for one in tokens:
        hashed = xor(sha1(one), sha1(NONCE + sha1(sha1(one))))
        assert hashed in server.received
    assert [int.from_bytes(one[1:5], "little") for one in server.dumps] == [
        4,
        int.from_bytes(EVENTS[2][13:17], "little"),
    ]


def sha1(data: str | bytes) -> bytes:
    return hashlib.sha1(data if isinstance(data, bytes) else data.encode()).digest()


def xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def test_a_token_that_cannot_be_had_again() -> None:
    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS[:3]))

    calls: list[int] = []

    def token() -> str:
        calls.append(1)
        if len(calls) > 2:
            raise LookupError
        return SECRET

    with FakeServer(script) as server:
        connect = {"password": token}
        with pytest.raises(binarrow.AuthenticationError, match="gives the password") as caught:
            list(streamed(server, connect=connect, heartbeat=0.2, reconnect=10.0))
    assert isinstance(caught.value.__cause__, LookupError)
    assert len(calls) == 3


def test_heartbeats_keep_a_connection() -> None:
    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS[:3]))
        end = int.from_bytes(EVENTS[2][13:17], "little")
        plain = event(27, b"binlog.000001", log_pos=end, size=19 + 13 + 4)
        for _ in range(12):
            peer.send(b"\0" + with_checksum(plain))
            time.sleep(0.1)
        peer.send(*as_packets(*EVENTS[3:]), EOF)

    with FakeServer(script) as server:
        assert list(streamed(server, heartbeat=0.3, stop="end")) == ROWS
    assert len(server.dumps) == 1


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_a_log_that_comes_byte_by_byte(compression: str | None) -> None:
    """While bytes come, however slowly, nobody is silent."""

    def script(peer: Peer) -> None:
        peer.until_dump(zlib.compress if compression else None)
        peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        log = b"".join(peer.packets(*as_packets(rotation(), *EVENTS), EOF))
        for byte in (
            framed(zlib.compress(log), len(log), peer.frame_sequence) if compression else log
        ):
            peer.socket.sendall(bytes([byte]))
            time.sleep(0.001)

    with FakeServer(script) as server:
        begin = time.monotonic()
        connect = {"compression": compression}
        # a batch ends where nothing more is there
        batches = list(streamed(server, connect=connect, heartbeat=0.3, stop="end"))
        assert sum(rows for _, rows in batches) == ROWS[0][1]
        assert time.monotonic() - begin > 0.6


def test_a_stream_that_should_not_end() -> None:
    """A server that ends a dump which was to go on has lost us."""

    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS), EOF)

    with FakeServer(script) as server:
        batches = streamed(server)
        assert next(batches) == ROWS[0]
        with pytest.raises(binarrow.ConnectionLostError, match="ended a dump"):
            next(batches)


@pytest.mark.parametrize("compression", [None, "zlib", "zstd"])
def test_events_that_fill_their_pieces(compression: str | None) -> None:
    pack = {"zlib": zlib.compress, "zstd": zstd}.get(compression or "")
    for length in (FULL - 1, FULL, FULL + 1, 2 * FULL):
        end = int.from_bytes(EVENTS[-1][13:17], "little")
        size = length - 1
        # ignorable, of a type that nobody knows
        plain = event(99, bytes(size - 23), log_pos=end + size, flags=0x80, size=size)
        long = with_checksum(plain)
        assert len(long) == size

        def script(peer: Peer, long: bytes = long) -> None:
            peer.until_dump(pack)
            peer.send(*as_packets(rotation(), *EVENTS, long), EOF)

        with FakeServer(script) as server:
            connect = {"compression": compression}
            assert list(streamed(server, connect=connect, stop="end")) == ROWS


@pytest.mark.parametrize(("keyword", "words"), [("start", "latest"), ("stop", "end")])
def test_a_word_that_is_none(keyword: str, words: str) -> None:
    def script(peer: Peer) -> None:
        peer.log_in()
        while True:
            peer.answer(peer.receive())

    with (
        FakeServer(script) as server,
        reach(server) as connection,
        pytest.raises(binarrow.ConfigError, match=f'{keyword}=.now.: .*"{words}".*GTID set'),
    ):
        connection.stream(**{keyword: "now"})
