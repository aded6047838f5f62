"""Offsets beyond 4 GiB, of which the log's events hold the lower 32 bits."""

from __future__ import annotations

from pathlib import Path

import pytest

import binarrow
from support.fakes.fake_server import (
    EOF,
    FakeServer,
    Peer,
    event,
    events_of,
    lenenc,
    rotation,
    with_checksum,
)
from support.fakes.hostile import reach
from support.waiting import WAIT

LOG = Path(__file__).parents[1] / "fixtures" / "mysql-rows-query" / "binlog.000001"
FDE, *EVENTS = [one for one in events_of(LOG.read_bytes()) if one[4] not in (3, 4)]
NAME = b"binlog.000001"
BEGIN = (9 << 29) + 4321  # 4.5 GiB
HEARTBEAT, HEARTBEAT_V2 = 27, 41


def moved(events: list[bytes]) -> list[bytes]:
    """The events in the file from `BEGIN` on."""
    out, offset = [], BEGIN
    for one in events:
        offset += len(one)
        plain = one[:13] + (offset % (1 << 32)).to_bytes(4, "little") + one[17:-4]
        out.append(with_checksum(plain))
    return out


FAR = moved(EVENTS)
END = BEGIN + sum(map(len, FAR))
TRANSACTIONS = [i for i, one in enumerate(EVENTS) if one[4] in (33, 34)]


def heartbeat(version: int) -> bytes:
    """The server passed over all before `BEGIN`."""
    if version == HEARTBEAT:
        return event(HEARTBEAT, NAME, log_pos=BEGIN % (1 << 32), size=19 + len(NAME))
    offset = b"\xfe" + BEGIN.to_bytes(8, "little")
    return event(HEARTBEAT_V2, b"\x01" + lenenc(NAME) + b"\x02" + lenenc(offset) + b"\0")


def as_packets(*events: bytes) -> list[bytes]:
    return [b"\0" + one for one in events]


def test_a_hole_up_to_beyond_4_gib() -> None:
    """A heartbeat of the second version contains the complete offset, and the events after it agree."""

    def script(peer: Peer) -> None:
        peer.log_size = END
        peer.until_dump()
        peer.send(*as_packets(rotation(), FDE, heartbeat(HEARTBEAT_V2), *FAR), EOF)

    with FakeServer(script) as server, reach(server) as connection:
        stream = connection.stream("earliest", stop="end", heartbeat=WAIT)
        assert sum(batch.num_rows for batch in stream) > 0
        assert str(stream.position) == f"binlog.000001:{END}"


def test_a_connection_that_is_lost_beyond_4_gib() -> None:
    """The rest is asked for with all bits of the offset."""
    part = TRANSACTIONS[len(TRANSACTIONS) // 2] + 2
    at = BEGIN + sum(map(len, FAR[:part]))
    wanted = b"\x1e" + (2 | 1).to_bytes(2, "little")

    def script(peer: Peer) -> None:
        peer.log_size = END
        command = peer.until_dump()
        if len(peer.dumps) == 1:
            peer.send(*as_packets(rotation(), FDE, heartbeat(HEARTBEAT_V2), *FAR[:part]))
            peer.leave()
        assert command[:3] == wanted
        assert command[7:] == (
            len(NAME).to_bytes(4, "little")
            + NAME
            + at.to_bytes(8, "little")
            + (8).to_bytes(4, "little")
            + bytes(8)
        )
        # Its own format description comes again, made for us: without an offset.
        again = with_checksum(FDE[:13] + bytes(4) + FDE[17:-4])
        peer.send(*as_packets(rotation(offset=at), again, *FAR[part:]), EOF)

    with FakeServer(script) as server, reach(server) as connection:
        whole = connection.stream("earliest", stop="end", heartbeat=WAIT, reconnect=WAIT)
        rows = sum(batch.num_rows for batch in whole)
        assert (str(whole.position), whole.stats()["reconnects"]) == (f"binlog.000001:{END}", 1)
    assert rows == sum(batch.num_rows for batch in binarrow.read_binlog(str(LOG)))


def test_a_server_that_goes_back_in_its_file() -> None:
    """An offset that is a little less than the last cannot be one beyond the next 4 GiB."""
    back = with_checksum(FAR[1][:13] + (BEGIN % (1 << 32)).to_bytes(4, "little") + FAR[1][17:-4])

    def script(peer: Peer) -> None:
        peer.until_dump()
        peer.send(*as_packets(rotation(), FDE, heartbeat(HEARTBEAT_V2), FAR[0], back), EOF)

    with FakeServer(script) as server, reach(server) as connection:
        stream = connection.stream("earliest", stop="end", heartbeat=WAIT, reconnect=None)
        with pytest.raises(binarrow.MalformedBinlogError, match="went back in its file"):
            list(stream)
