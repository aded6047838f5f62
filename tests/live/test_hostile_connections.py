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
from support.fakes.hostile import SECRET
from support.fakes.hostile_log import EVENTS, FDE, ROWS, as_packets, streamed
from support.waiting import WAIT, at_any_pace, drip, within


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
        batches = streamed(server, connect={"compression": compression}, reconnect=2 * WAIT)
        with within():
            assert next(batches) == ROWS[0]
        batches.close()


def test_a_server_that_falls_silent() -> None:
    """Three heartbeats that do not come are a lost connection."""

    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS))

    def check(unit: float) -> None:
        with FakeServer(script) as server:
            batches = streamed(server, heartbeat=5 * unit)
            assert next(batches) == ROWS[0]
            with pytest.raises(binarrow.ConnectionLostError, match="no answer in time"):
                next(batches)

    at_any_pace(check)


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
        batches = streamed(server, connect=connect, heartbeat=0.1, reconnect=WAIT, stop="end")
        assert list(batches) == ROWS
    # the connection, its stream, and the stream again (more than once on a busy machine), each with a token of its own
    assert len(tokens) == 1 + len(server.dumps) >= 3
    for one in tokens:
        hashed = xor(sha1(one), sha1(NONCE + sha1(sha1(one))))
        assert hashed in server.received
    offsets = [int.from_bytes(one[1:5], "little") for one in server.dumps]
    assert offsets[0] == 4
    assert {*offsets[1:]} == {int.from_bytes(EVENTS[2][13:17], "little")}


def sha1(data: str | bytes) -> bytes:
    return hashlib.sha1(data if isinstance(data, bytes) else data.encode()).digest()


def xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def test_a_token_that_cannot_be_had_again() -> None:
    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), *EVENTS[:3]))
        peer.leave()

    calls: list[int] = []

    def token() -> str:
        calls.append(1)
        if len(calls) > 2:
            raise LookupError
        return SECRET

    with FakeServer(script) as server:
        connect = {"password": token}
        with pytest.raises(binarrow.AuthenticationError, match="returns the password") as caught:
            list(streamed(server, connect=connect, reconnect=WAIT))
    assert isinstance(caught.value.__cause__, LookupError)
    assert len(calls) == 3


def test_heartbeats_keep_a_connection() -> None:
    """Heartbeats that come for more than three times the interval."""

    def check(unit: float) -> None:
        def script(peer: Peer) -> None:
            peer.until_dump()
            peer.send(*as_packets(rotation(), *EVENTS[:3]))
            end = int.from_bytes(EVENTS[2][13:17], "little")
            plain = event(27, b"binlog.000001", log_pos=end, size=19 + 13 + 4)
            begin = time.monotonic()
            while time.monotonic() < begin + 10 * unit:
                peer.send(b"\0" + with_checksum(plain))
                time.sleep(unit)  # the interval of the heartbeats
            peer.send(*as_packets(*EVENTS[3:]), EOF)

        with FakeServer(script) as server:
            assert list(streamed(server, heartbeat=3 * unit, stop="end")) == ROWS
        assert len(server.dumps) == 1

    at_any_pace(check)


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_a_log_that_comes_byte_by_byte(compression: str | None) -> None:
    """While bytes arrive, however slowly, the server does not count as silent."""

    def check(unit: float) -> None:
        def script(peer: Peer) -> None:
            peer.until_dump(zlib.compress if compression else None)
            peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            log = b"".join(peer.packets(*as_packets(rotation(), *EVENTS), EOF))
            if compression:
                log = framed(zlib.compress(log), len(log), peer.frame_sequence)
            begin = time.monotonic()
            drip(log, peer.socket.sendall, 10 * unit / len(log))
            durations.append(time.monotonic() - begin)

        durations: list[float] = []
        heartbeat = 2 * unit
        with FakeServer(script) as server:
            connect = {"compression": compression}
            # a batch ends where nothing more is there
            batches = list(streamed(server, connect=connect, heartbeat=heartbeat, stop="end"))
        assert sum(rows for _, rows in batches) == ROWS[0][1]
        assert durations[0] > 3 * heartbeat

    at_any_pace(check)


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
