"""Servers whose answers to a question are none, plain and in compressed frames."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import pytest

import binarrow
from support.fakes.fake_server import (
    EOF,
    FULL,
    OK,
    FakeServer,
    Peer,
    greeting,
    packet,
    refusal,
    zstd,
    zstd_of_zeros,
)
from support.fakes.hostile import Script, assert_refused, assert_silence_ends, reach


def asked(answer: Script, **keywords: Any) -> tuple[Script, Callable[[FakeServer], object]]:
    """A server that answers `SHOW BINARY LOGS`, and who asks."""
    pack = {"zlib": zlib.compress, "zstd": zstd}.get(keywords.get("compression", ""))

    def script(peer: Peer) -> None:
        peer.until_query("SHOW BINARY LOGS", pack)
        answer(peer)

    def call(server: FakeServer) -> object:
        with reach(server, **keywords) as connection:
            return connection.binlogs()

    return script, call


DEFINITION = b"\x03def\0\0\0\x01c\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0"

ANSWERS: dict[str, tuple[type[binarrow.BinarrowError], str, Script]] = {
    "local-infile": (
        binarrow.MalformedBinlogError,
        "local file",
        lambda peer: peer.send(b"\xfb/etc/passwd"),
    ),
    "refused-without-a-word": (
        binarrow.ServerError,
        r"no reason \(error 1105\)",
        lambda peer: peer.send(refusal(1105, b"", b"")),
    ),
    "refused-in-the-rows": (
        binarrow.ServerError,
        "gone",
        lambda peer: peer.send(b"\x01", DEFINITION, EOF, b"\x01x", refusal(1105, b"gone")),
    ),
    "cut-ok": (binarrow.MalformedBinlogError, "OK packet", lambda peer: peer.send(OK[:3])),
    "empty": (binarrow.MalformedBinlogError, "column count", lambda peer: peer.send(b"")),
    "no-columns": (
        binarrow.MalformedBinlogError,
        "column count",
        lambda peer: peer.send(b"\xfc\0\0"),
    ),
    "many-columns": (
        binarrow.MalformedBinlogError,
        "column count is 16777215",
        lambda peer: peer.send(b"\xfd\xff\xff\xff"),
    ),
    "more-columns": (
        binarrow.MalformedBinlogError,
        "column count is 16777216",
        lambda peer: peer.send(b"\xfe\0\0\0\x01\0\0\0\0"),
    ),
    "cut-definition": (
        binarrow.MalformedBinlogError,
        "needs",
        lambda peer: peer.send(b"\x01", DEFINITION[:3]),
    ),
    "row-among-definitions": (
        binarrow.MalformedBinlogError,
        "after column definitions",
        lambda peer: peer.send(b"\x01", DEFINITION, b"\x01x"),
    ),
    "cut-row": (
        binarrow.MalformedBinlogError,
        "cell needs",
        lambda peer: peer.send(b"\x01", DEFINITION, EOF, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
    ),
    "long-row": (
        binarrow.MalformedBinlogError,
        "left over",
        lambda peer: peer.send(b"\x01", DEFINITION, EOF, b"\x01xy"),
    ),
    "no-numbers": (
        binarrow.MalformedBinlogError,
        "not a number",
        lambda peer: peer.rows(["binlog.000001", "-1"]),
    ),
    "no-name": (
        binarrow.MalformedBinlogError,
        "not a number",
        lambda peer: peer.rows([None, None]),
    ),
    "sequence-gap": (
        binarrow.MalformedBinlogError,
        "received 7 instead of 1",
        lambda peer: peer.raw(packet(b"\x01", 7)),
    ),
    "sequence-repeated": (
        binarrow.MalformedBinlogError,
        "received 1 instead of 2",
        lambda peer: peer.raw(packet(b"\x01", 1) + packet(DEFINITION, 1)),
    ),
    "full-piece-and-no-more": (
        binarrow.ConnectionLostError,
        "closed the connection",
        lambda peer: (peer.raw(packet(bytes(FULL), 1)), peer.leave())[1],
    ),
    "pieces-without-end": (
        binarrow.MalformedBinlogError,
        "limit is 67108864",
        lambda peer: [peer.raw(packet(bytes(FULL), number)) for number in range(1, 6)] and None,
    ),
    "gone": (
        binarrow.ConnectionLostError,
        "closed the connection",
        lambda peer: peer.leave(),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str) -> None:
    kind, match, answer = ANSWERS[name]
    assert_refused(kind, match, *asked(answer))


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("SELECT @@GLOBAL.gtid_executed", ("not a set",)),
        ("SELECT @@GLOBAL.gtid_executed", ("3e11fa47-71ca-11e1-9e33-c80aa9429562:5-1",)),
        ("SHOW BINARY LOG STATUS", ("b.1", "18446744073709551616", "", "", "")),
        ("SHOW BINARY LOG STATUS", (None, None)),
    ],
)
def test_places_that_are_none(question: str, row: tuple[str | None, ...]) -> None:
    def script(peer: Peer) -> None:
        peer.until_query(question)
        peer.rows(row)

    def call(server: FakeServer) -> object:
        with reach(server) as connection:
            return connection.position()

    assert_refused(binarrow.MalformedBinlogError, "GTID set|not a number", script, call)


def test_a_version_that_terminals_would_obey() -> None:
    def script(peer: Peer) -> None:
        peer.send(greeting(version=b"9.7\x1b[2J\r\n" + b"x" * 1000))
        peer.receive()
        peer.send(OK)
        while True:
            peer.answer(peer.receive())

    with FakeServer(script) as server, reach(server) as connection:
        assert connection.version.startswith("9.7 [2J  xxx")
        assert len(repr(connection)) < 400


@pytest.mark.parametrize("compression", [None, "zlib", "zstd"])
def test_payloads_that_fill_their_pieces(compression: str | None) -> None:
    """16 MiB − 1 bytes and twice as many end in an empty piece."""
    head = {0: b"\xfd", 1: b"\xfe"}
    lengths = (FULL - 1, FULL, FULL + 1, 2 * FULL, 2 * FULL + 1)
    for length in lengths[1:3] if compression else lengths:
        form = 1 if length - 4 > FULL else 0
        size = length - (9 if form else 4)
        cell = b"binlog." + b"x" * (size - 7)
        row = head[form] + size.to_bytes(8 if form else 3, "little") + cell
        assert len(row) == length

        def answer(peer: Peer, row: bytes = row) -> None:
            peer.send(b"\x01", DEFINITION, EOF, row, b"\x01y", EOF)

        script, _ = asked(answer, compression=compression or "")
        with FakeServer(script) as server, reach(server, compression=compression) as connection:
            [[long], [short]] = connection._native.query("SHOW BINARY LOGS")
        assert short == "y"
        assert long is not None
        assert hashlib.sha1(long.encode()).digest() == hashlib.sha1(cell).digest()


def test_answers_that_stall() -> None:
    for head in (b"", b"\x01\0\0\x01"):

        def script(peer: Peer, head: bytes = head) -> None:
            peer.until_query("SHOW BINARY LOGS")
            peer.raw(head)

        def call(server: FakeServer, seconds: float) -> None:
            with reach(server, read_timeout=seconds) as connection:
                connection.binlogs()

        assert_silence_ends(script, call)


BOMB = zlib.compress(bytes(16 << 20), 9)

FRAMES: dict[str, tuple[str, str, Script]] = {
    "zlib-too-short": (
        "zlib",
        "cannot be decompressed",
        lambda peer: peer.frame(zlib.compress(bytes(100)), 99),
    ),
    "zlib-too-long": (
        "zlib",
        "cannot be decompressed",
        lambda peer: peer.frame(zlib.compress(bytes(100)), 101),
    ),
    "zlib-bomb": ("zlib", "cannot be decompressed", lambda peer: peer.frame(BOMB, 100)),
    "zlib-lies": ("zlib", "cannot be decompressed", lambda peer: peer.frame(b"x\x9c\0", FULL)),
    "zlib-none": ("zlib", "cannot be decompressed", lambda peer: peer.frame(bytes(100), 200)),
    "zstd-too-short": (
        "zstd",
        "cannot be decompressed",
        lambda peer: peer.frame(zstd(bytes(100)), 99),
    ),
    "zstd-too-long": (
        "zstd",
        "cannot be decompressed",
        lambda peer: peer.frame(zstd(bytes(100)), 101),
    ),
    "zstd-bomb": (
        "zstd",
        "cannot be decompressed",
        lambda peer: peer.frame(zstd_of_zeros(1 << 30), 100),
    ),
    "zstd-lies": (
        "zstd",
        "cannot be decompressed",
        lambda peer: peer.frame(zstd(b"")[:9], FULL),
    ),
    "zstd-none": ("zstd", "cannot be decompressed", lambda peer: peer.frame(bytes(100), 200)),
    "nothing": ("zlib", "empty compressed", lambda peer: peer.frame(b"", 0)),
    "gap": ("zlib", "received 7 instead of 1", lambda peer: peer.frame(packet(b"\x01", 1), 0, 7)),
    "repeated": (
        "zlib",
        "received 0 instead of 1",
        lambda peer: peer.frame(packet(b"\x01", 1), 0, 0),
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_compressed_frames(name: str) -> None:
    compression, match, answer = FRAMES[name]
    assert_refused(binarrow.MalformedBinlogError, match, *asked(answer, compression=compression))


def test_packets_need_not_respect_frames() -> None:
    """A packet over many frames, many packets in one, stored and packed."""
    for compression, pack in (("zlib", zlib.compress), ("zstd", zstd)):
        whole = b"".join(
            packet(one, number)
            for number, one in enumerate(
                (b"\x02", DEFINITION, DEFINITION, EOF, b"\x09binlog.01\x0242", EOF), 1
            )
        )
        for size in (1, 2, 3, 7, len(whole)):

            def answer(
                peer: Peer,
                size: int = size,
                pack: Callable[[bytes], bytes] = pack,
                whole: bytes = whole,
            ) -> None:
                for number, at in enumerate(range(0, len(whole), size)):
                    piece = whole[at : at + size]
                    if number % 2:
                        peer.frame(piece, 0)
                    else:
                        peer.frame(pack(piece), len(piece))

            script, call = asked(answer, compression=compression)
            with FakeServer(script) as server:
                assert call(server) == [binarrow.Binlog("binlog.01", 42)]
