"""The last rows of a quiet log are delivered: they never wait for the next event.

A fake server sends a log up to some event and then nothing more, in pieces of random sizes, with heartbeats among the
events, while the consumer polls or pauses. `BINARROW_SCHEDULES=1000` runs more of these schedules, `BINARROW_SEED` others.
"""

from __future__ import annotations

import os
import random
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import ChangeBatch, Position
from support import live
from support.extent import rounds
from support.fakes.fake_server import (
    EOF,
    FakeServer,
    Peer,
    event,
    events_of,
    rotation,
    with_checksum,
    zstd,
)
from support.fakes.hostile import reach
from support.fakes.hostile_log import as_packets
from support.live import COLUMNS, ids, insert, until
from support.servers.proxy import Proxy
from support.servers.servers import Server

FIXTURES = Path(__file__).parents[1] / "fixtures"

LOGS = (
    "mysql-transactions",
    "mysql-no-gtids",
    "mysql-compressed",
    "mysql-altered",
    "mysql-tagged",
    "mysql-partial-json",
)

SCHEDULES = rounds("BINARROW_SCHEDULES", 60, 150)
SEED = int(os.environ.get("BINARROW_SEED", "10"))

ROTATE, FORMAT_DESCRIPTION, STOP = 4, 15, 3
FIRST_EVENTS = (FORMAT_DESCRIPTION, 35)
"""The types of the first events of a file: the second one contains the GTIDs before the file."""
IN_USE = 17
"""The offset of the in-use flag in a format description."""

ITEMS = ["schema_change", "truncate", "transaction"]

Row = tuple[Any, ...]


@dataclass
class Log:
    """The sent part of the files of a server's log."""

    files: list[list[bytes]]

    @classmethod
    def of(cls, folder: str) -> Log:
        return cls(
            [events_of(path.read_bytes()) for path in sorted((FIXTURES / folder).glob("binlog.*"))]
        )

    def up_to(self, count: int) -> Log:
        """The first `count` events; a file that is followed by another one is complete.

        A server begins the next file at once, and writes its first two events together. With the second one, the
        position moves to the file.
        """
        files, left = [], count
        for one in self.files:
            if left > 0:
                files.append(one[: max(left, len(FIRST_EVENTS))])
            left -= len(one)
        if files[-1][-1][4] == ROTATE and len(files) < len(self.files):
            files.append(self.files[len(files)][: len(FIRST_EVENTS)])
        assert all(tuple(one[4] for one in events[:2]) == FIRST_EVENTS for events in files)
        return Log([[one for one in events if one[4] != STOP] for events in files])

    def sent(self, file: int, offset: int, rng: random.Random | None = None) -> list[bytes]:
        """The packets of a dump from a place on; with `rng`, heartbeats are among them."""
        packets = []
        for number, events in enumerate(self.files[file - 1 :], file):
            begin = offset if number == file else 4
            packets.append(rotation(name(number), begin))
            first = events[0]
            artificial = first[:13] + bytes(4) + first[17:-4]
            packets.append(first if begin == 4 else with_checksum(artificial))
            for one in events[1:]:
                end = end_of(one)
                if end <= begin:
                    continue
                packets.append(one)
                if rng is not None and rng.random() < 0.15:
                    packets += [heartbeat(number, end, rng)] * rng.choice((1, 1, 3))
        return packets


def name(number: int) -> str:
    return f"binlog.{number:06}"


def end_of(one: bytes) -> int:
    return int.from_bytes(one[13:17], "little")


def heartbeat(file: int, offset: int, rng: random.Random) -> bytes:
    """A heartbeat of either version, for a place in a file."""
    text = name(file).encode()
    if rng.random() < 0.5:
        return with_checksum(event(27, text, log_pos=offset, size=19 + len(text) + 4))
    place = b"\xfc" + offset.to_bytes(2, "little")
    body = b"\x01" + bytes([len(text)]) + text + b"\x02" + bytes([len(place)]) + place + b"\0"
    return with_checksum(event(41, body, size=19 + len(body) + 4))


@dataclass
class Schedule:
    """The log that the server sends, and the state of sending it."""

    log: Log
    rng: random.Random
    sent: threading.Event = field(default_factory=threading.Event)
    """Set when all of it was sent."""
    part: bytes = b""
    """The beginning of one more event."""


class QuietServer:
    """Sends the log of the current schedule, then nothing more."""

    def __init__(self, pack: Callable[[bytes], bytes] | None) -> None:
        self.pack = pack
        self.schedule: Schedule

    def __call__(self, peer: Peer) -> None:
        schedule = self.schedule
        peer.log_in(pack=self.pack)
        while (command := peer.receive())[0] not in (0x12, 0x1E):
            if command == b"\x03SHOW BINARY LOGS":
                files = enumerate(schedule.log.files, 1)
                peer.rows(*([name(number), "9000", "No"] for number, _ in files))
            else:
                peer.answer(command)
        if command[0] == 0x12:  # 4 bytes of offset, 2 of flags, 4 of the id, the file
            offset, flags = int.from_bytes(command[1:5], "little"), command[5]
            file = command[11:]
        else:  # 2 of flags, 4 of the id, 4 and the file, 8 of offset
            flags, length = command[1], int.from_bytes(command[7:11], "little")
            file = command[11 : 11 + length]
            offset = int.from_bytes(command[11 + length : 19 + length], "little")
        number = int(file.rsplit(b".", 1)[1]) if file else 1
        if flags & 1:  # one that ends
            peer.send(*as_packets(*schedule.log.sent(number, offset)), EOF)
            return
        rng = schedule.rng
        packets = schedule.log.sent(number, offset, rng)
        data = b"".join(peer.packets(*as_packets(*packets)))
        if schedule.part:
            data += next(iter(peer.packets(b"\0" + schedule.part)))[: -rng.randrange(1, 19)]
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 1, 5, 40))))
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            peer.raw(data[begin:end])
        schedule.sent.set()


def read_rows(changes: Any, *, first: ChangeBatch | None = None) -> list[Row]:
    """The rows and items that were read, one entry for each."""
    found: list[Row] = []
    for change in [*([first] if first is not None else []), *changes]:
        if isinstance(change, ChangeBatch):
            data = change.to_pyarrow().select(
                ["_commit_version", "_change_ordinal", "_change_type"]
            )
            rows = zip(*data.to_pydict().values(), strict=True)
            found += [(f"{change.database}.{change.table}", *row) for row in rows]
        else:
            found.append((type(change).__name__, change.commit_version))
    return found


def expected(log: Log, folder: Path, **keywords: Any) -> tuple[list[Row], Position | None]:
    """The rows of files that a server is still writing, and the end of the files."""
    for number, events in enumerate(log.files, 1):
        first = bytearray(events[0])
        first[IN_USE] |= number == len(log.files)
        (folder / name(number)).write_bytes(b"\xfebin" + first + b"".join(events[1:]))
    paths = [str(folder / name(number + 1)) for number in range(len(log.files))]
    with binarrow.read_binlog(paths, **keywords) as reader:
        rows = read_rows(reader)
        return rows, reader.position


@pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")
@pytest.mark.parametrize("compression", [None, "zlib", "zstd"])
def test_schedules(compression: str | None, tmp_path: Path) -> None:
    """In every order of the last event, heartbeats and pauses, the last rows and the last position are returned."""
    rng = random.Random(f"{SEED}{compression}")
    packs = {None: None, "zlib": zlib.compress, "zstd": zstd}
    script = QuietServer(packs[compression])
    logs = [Log.of(folder) for folder in LOGS]
    script.schedule = Schedule(logs[0], rng)
    with FakeServer(script) as server, reach(server, compression=compression) as connection:
        for number in range(SCHEDULES // 3 + 1):
            whole = rng.choice(logs)
            count = rng.randrange(2, sum(map(len, whole.files)) + 1)
            log = whole.up_to(count)
            part = next(iter(whole.files[len(log.files) - 1][len(log.files[-1]) :]), b"")
            schedule = Schedule(
                log, rng, part=part if rng.random() < 0.3 and part[4:5] != b"\3" else b""
            )
            script.schedule = schedule
            keywords: dict[str, Any] = {"column_names": "positional"}
            if rng.random() < 0.5:
                keywords["include"] = ITEMS
            wanted, end = expected(log, tmp_path, **keywords)
            keywords |= {
                "threads": rng.choice((1, 1, 3)),
                "batch_rows": rng.choice((None, 1)),
                "max_latency": rng.choice((0.001, 0.5, 3600.0)),
                "segment_bytes": rng.choice((None, 200)),
            }
            shown = f"seed {SEED}, schedule {number}, {compression}: {count} events, {keywords}"
            with connection.stream(
                "earliest", heartbeat=60.0, reconnect=None, **keywords
            ) as stream:
                stream.start()
                # The consumer pauses until all was sent: at once, or after some batches.
                pauses_after = rng.choice((0, 0, 1, 3, 1000))
                found: list[Row] = []
                deadline = time.monotonic() + live.WAIT
                while len(found) < len(wanted) or not is_at(stream.position, end):
                    if pauses_after == 0:
                        assert schedule.sent.wait(live.WAIT), shown
                    pauses_after -= 1
                    change = stream.poll(0.05)
                    found += read_rows([change] if change is not None else [])
                    assert time.monotonic() < deadline, f"{shown}: {len(found)} of {len(wanted)}"
            assert sorted(found) == sorted(wanted), shown


def is_at(position: Position | None, end: Position | None) -> bool:
    """True if everything before a place was returned."""
    if end is None:
        return True
    if position is None:
        return False
    return (position.file, position.offset) >= (end.file, end.offset)


def test_after_a_pause(live_server: Server) -> None:
    """A consumer that processes for longer than a heartbeat, on each kind of server."""
    threads = 2 if live_server.flavor in ("mysql", "mariadb-11.8") else 1
    keywords = {"tables": "live.t", "heartbeat": 0.05, "threads": threads, **COLUMNS}
    with (
        Proxy(live_server.port) as proxy,
        live.reach(live_server, proxy.port) as connection,
        connection.stream("latest", **keywords) as stream,
    ):
        stream.start()
        for ends in (xa, plain, statement, rotated):
            # More than the reader's queues hold: it waits for the consumer.
            wanted = [next(live.NUMBERS) for _ in range(10 * threads + 2)]
            for number in wanted[:-2]:
                xa(live_server, number)
            ends(live_server, *wanted[-2:])
            end = connection.position()
            before = proxy.carried
            until(lambda before=before: proxy.carried > before + SOME_HEARTBEATS)
            found: list[int] = []
            deadline = time.monotonic() + live.WAIT
            while len(found) < len(wanted) or not is_at(stream.position, end):
                batch = stream.poll(0.1)
                found += ids([batch]) if batch is not None else []
                assert time.monotonic() < deadline, (ends.__name__, len(found), len(wanted))
            assert found == wanted


SOME_HEARTBEATS = 900
"""Bytes on the wire: more than the last events, which may not have arrived yet."""


def xa(server: Server, *numbers: int) -> None:
    """Rows of prepared transactions."""
    for number in numbers:
        xid = f"'quiet{number}'"
        server.execute(
            f"XA START {xid}",
            f"INSERT INTO live.t VALUES ({number}, 'x')",
            f"XA END {xid}",
            f"XA PREPARE {xid}",
            f"XA COMMIT {xid}",
        )


def plain(server: Server, *numbers: int) -> None:
    insert(server, *numbers)


def statement(server: Server, *numbers: int) -> None:
    """Rows, and a statement after them."""
    insert(server, *numbers)
    server.execute("CREATE TABLE IF NOT EXISTS live.other (id INT)", "DROP TABLE live.other")


def rotated(server: Server, *numbers: int) -> None:
    """Rows in two files, the second of which has no more."""
    insert(server, numbers[0])
    server.execute("FLUSH BINARY LOGS")
    insert(server, *numbers[1:])
    server.execute("FLUSH BINARY LOGS")
