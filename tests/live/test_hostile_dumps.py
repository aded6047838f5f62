"""Servers whose log is none: cut, damaged, refused, silent."""

from __future__ import annotations

import zlib

import pytest

import binarrow
from support.fakes.fake_server import (
    EOF,
    FULL,
    FakeServer,
    Peer,
    event,
    refusal,
    rotation,
    with_checksum,
    zstd,
)
from support.fakes.hostile import reach
from support.fakes.hostile_log import EVENTS, FDE, ROWS, as_packets, streamed
from support.waiting import WAIT

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
        "format description",
        [b"\0" + rotation(), *as_packets(*EVENTS[1:]), EOF],
    ),
}


@pytest.mark.parametrize("name", DUMPS)
def test_dumps(name: str) -> None:
    kind, match, packets = DUMPS[name]
    with FakeServer(lambda peer: (peer.until_dump(), peer.send(*packets))[1]) as server:
        with pytest.raises(kind, match=match) as caught:
            list(streamed(server, reconnect=WAIT, stop="end"))
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
        "lags",
    ),
    "behind-on-mariadb": (
        binarrow.ServerIdentityError,
        1236,
        "Error: connecting slave requested to start from GTID 0-1-99, which is not in the master's binlog",
        "lags",
    ),
    "diverged-on-mariadb": (
        binarrow.ServerIdentityError,
        1236,
        (
            "Error: connecting slave requested to start from GTID 0-9-2, which is not in the master's binlog. Since the master's"
            " binlog contains GTIDs with higher sequence numbers, it probably means that the slave has diverged"
        ),
        "different transactions",
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
        "no event begins",
    ),
    "impossible": (
        binarrow.ConfigError,
        1236,
        "Client requested master to start replication from impossible position",
        "no event begins",
    ),
    "bogus": (
        binarrow.ConfigError,
        1236,
        "bogus data in log event; the first event",
        "no event begins",
    ),
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
        "inside an event",
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
    """An error that the server would send again ends the stream without another attempt."""
    kind, code, text, match = REFUSALS[name]

    def script(peer: Peer) -> None:
        peer.until_dump()
        if when == "later":
            peer.send(*as_packets(rotation(), *EVENTS))
        peer.send(refusal(code, text.encode()))

    with FakeServer(script) as server:
        found = []
        with pytest.raises(kind, match=match) as caught:
            found += streamed(server, reconnect=WAIT)
        assert type(caught.value) is kind
        assert caught.value.code == code
    assert len(server.dumps) == 1


@pytest.mark.parametrize("compression", [None, "zlib", "zstd"])
def test_events_that_fill_their_pieces(compression: str | None) -> None:
    pack = {"zlib": zlib.compress, "zstd": zstd}.get(compression or "")
    lengths = (FULL - 1, FULL, FULL + 1, 2 * FULL)
    for length in lengths[1:3] if compression else lengths:
        end = int.from_bytes(EVENTS[-1][13:17], "little")
        size = length - 1
        # ignorable, of an unknown type
        plain = event(99, bytes(size - 23), log_pos=end + size, flags=0x80, size=size)
        long = with_checksum(plain)
        assert len(long) == size

        def script(peer: Peer, long: bytes = long) -> None:
            peer.until_dump(pack)
            peer.send(*as_packets(rotation(), *EVENTS, long), EOF)

        with FakeServer(script) as server:
            connect = {"compression": compression}
            assert list(streamed(server, connect=connect, stop="end")) == ROWS


@pytest.mark.parametrize("keyword", ["start", "stop"])
def test_a_word_that_is_none(keyword: str) -> None:
    def script(peer: Peer) -> None:
        peer.log_in()
        while True:
            peer.answer(peer.receive())

    with (
        FakeServer(script) as server,
        reach(server) as connection,
        pytest.raises(binarrow.ConfigError, match=f"(?s)now.*GTID set.*latest.*'{keyword}'"),
    ):
        connection.stream(**{keyword: "now"})
