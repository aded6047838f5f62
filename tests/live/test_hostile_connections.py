"""Servers that leave, fall silent, or are slow in the middle of a log."""

from __future__ import annotations

import hashlib
import socket
import time
import zlib

import pytest

import binarrow
from support.fakes.fake_server import (
    EOF,
    NONCE,
    FakeServer,
    Peer,
    event,
    framed,
    refusal,
    rotation,
    with_checksum,
)
from support.fakes.hostile import LIMIT, SECRET
from support.fakes.hostile_log import EVENTS, FDE, ROWS, as_packets, streamed

pytestmark = pytest.mark.alone


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
        with pytest.raises(binarrow.AuthenticationError, match="returns the password") as caught:
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
    """While bytes arrive, however slowly, the server does not count as silent."""

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
    """A server that ends a dump too early has lost the connection."""

    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS), EOF)

    with FakeServer(script) as server:
        batches = streamed(server)
        assert next(batches) == ROWS[0]
        with pytest.raises(binarrow.ConnectionLostError, match="ended a dump"):
            next(batches)
