"""Faults of networks and servers during a stream: connections that break, stall and crawl, servers that stop.

No row may be lost, none may come twice. The F's are those of the project's list of faults.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Iterator

import pymysql
import pytest

import binarrow
from binarrow import Position
from support import live
from support.extent import rounds
from support.live import (
    COLUMNS,
    NUMBERS,
    Collector,
    dumps,
    following,
    ids,
    insert,
    mark,
    reach,
    until,
)
from support.servers.proxy import Link, Proxy
from support.servers.servers import Server
from support.waiting import WAIT, at_any_pace, within

LARGE = rounds("BINARROW_MEGABYTES", 40, 40)
"""Size of the largest transaction, in MB."""

pytestmark = pytest.mark.filterwarnings("ignore:no change of a table:binarrow.BinarrowWarning")


@pytest.fixture
def server(live_server: Server) -> Server:
    return live_server


def some(count: int) -> list[int]:
    """Numbers that no row has yet."""
    return list(itertools.islice(NUMBERS, count))


# ------------------------------------------------------------------------------------ connections

# A login over TLS and what is asked before the dump come to about 6000 bytes.
MOMENTS = [*range(0, 900, 60), *range(900, 7000, 400)]


def test_cut_at_every_kind_of_moment(server: Server) -> None:
    """In the greeting, in the login, under TLS, while it is set up, within the first events: F1."""
    moments = iter(MOMENTS)

    def plan(number: int) -> Link:
        # The first two are for reach() and stream(); then each that is cut is followed by one that is not.
        if number < 2 or number % 2:
            return Link()
        return Link(cut_after=next(moments, 0) or 1, reset=number % 4 == 0)

    wanted = some(len(MOMENTS))
    with Proxy(server.port, plan) as proxy, following(server, proxy.port) as collector:
        for number in wanted:
            proxy.cut()
            insert(server, number)
            until(lambda number=number: ids(collector.batches[-1:]) == [number])
        mark(server)
        assert ids(collector.collected()) == wanted
        assert collector.stream.stats()["reconnects"] >= len(MOMENTS)
        assert proxy.cuts > len(MOMENTS) // 2


def test_cut_within_a_large_transaction(server: Server) -> None:
    rng = random.Random(3)
    wanted = some(LARGE)

    def plan(number: int) -> Link:
        if number < 2 or number > 12:
            return Link()
        return Link(cut_after=rng.randrange(1 << 20, LARGE << 18), reset=number % 2 == 0)

    with Proxy(server.port, plan) as proxy, following(server, proxy.port) as collector:
        proxy.cut()
        server.execute("BEGIN")
        for number in wanted:
            filler = f"REPEAT(CHAR({65 + number % 26}), 1 << 20)"
            server.execute(f"INSERT INTO live.big VALUES ({number}, {filler})")
        server.execute("COMMIT")
        mark(server)
        batches = collector.collected()
        assert proxy.cuts >= 2
    assert ids(batches) == wanted
    tables = [batch.to_pyarrow() for batch in batches]
    assert (
        len({one for table in tables for one in table.column("_commit_version").to_pylist()}) == 1
    )
    for table in tables:
        for number, filler in zip(table.column(0), table.column(1), strict=True):
            assert filler.as_py() == bytes([65 + int(number.as_py()) % 26]) * (1 << 20)


READ_ALL = """
import re, sys
import binarrow
port, start = sys.argv[1:]
server = binarrow.connect(
    host="127.0.0.1", port=int(port), user="live", password="l1ve", allow_public_key_retrieval=True
)
rows = 0
with server.stream(start, stop="end", tables="live.big", column_names="positional") as stream:
    for batch in stream:
        rows += batch.num_rows
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(rows, int(peak[1]) // 1024)
"""


def read_all(server: Server, start: str) -> tuple[int, int]:
    """Rows, and the process's memory at its peak in MB."""
    arguments = [sys.executable, "-c", READ_ALL, str(server.port), start]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    rows, peak = done.stdout.split()
    return int(rows), int(peak)


@pytest.mark.parametrize("live_server", ["mysql", "mariadb-11.8"], indirect=True)
def test_memory_does_not_grow_with_a_transaction(server: Server) -> None:
    """F13."""
    with reach(server) as connection:
        before = str(connection.position())
    wanted = some(6 * LARGE)
    server.execute("BEGIN")
    for number in wanted:
        server.execute(f"INSERT INTO live.big VALUES ({number}, REPEAT('x', 1 << 20))")
    server.execute("COMMIT")
    with reach(server) as connection:
        after = str(connection.position())
    _, small = read_all(server, after)
    rows, peak = read_all(server, before)
    print(f"\n{server.flavor}: {peak - small} MB for a transaction of {6 * LARGE} MB")
    assert rows == len(wanted)
    assert peak - small < 210  # what is kept in memory, and what is in flight


def test_a_link_that_goes_dead(server: Server) -> None:
    """Neither side is notified; only silence over three heartbeats shows it: F2."""
    first, second, third = some(3)
    with Proxy(server.port) as proxy, following(server, proxy.port, heartbeat=0.2) as collector:
        insert(server, first)
        until(lambda: collector.batches)
        proxy.freeze()
        insert(server, second)
        until(lambda: len(collector.batches) > 1)
        insert(server, third)
        mark(server)
        assert ids(collector.collected()) == [first, second, third]
        assert collector.stream.stats()["reconnects"] >= 1


@pytest.mark.parametrize("after", [0, 30, 90])
def test_a_login_that_stalls(server: Server, after: int) -> None:
    """F4."""
    with (
        Proxy(server.port, lambda _: Link(freeze_after=after)) as proxy,
        pytest.raises(binarrow.ConnectionLostError, match="no answer in time"),
    ):
        reach(server, proxy.port, connect_timeout=0.1)


def test_connections_that_stall_one_after_the_other(server: Server) -> None:
    """In the greeting, the login, the set-up, after the format description: F4."""
    stalls = (0, 50, 110, 1500, 4000)

    def plan(number: int) -> Link:
        return Link(freeze_after=stalls[number - 2]) if 0 <= number - 2 < len(stalls) else Link()

    limits = {"connect_timeout": 0.3, "read_timeout": 0.3}
    with (
        Proxy(server.port, plan) as proxy,
        following(server, proxy.port, limits, heartbeat=0.2) as collector,
    ):
        [number] = some(1)
        proxy.cut()
        insert(server, number)
        mark(server)
        assert ids(collector.collected()) == [number]
        assert proxy.connections >= 2 + len(stalls)


@pytest.mark.parametrize("live_server", ["mysql", "mariadb-11.8"], indirect=True)
@pytest.mark.parametrize(
    ("piece", "pause"), [(64, 1.0), (1, 0.0)], ids=["slow-pieces", "byte-by-byte"]
)
def test_a_slow_link(server: Server, piece: int, pause: float) -> None:
    """An event that takes longer than three heartbeats: no time-out while bytes flow, F3."""

    def check(unit: float) -> None:
        wanted = some(2)
        link = Link(piece=piece, pause=pause * unit)
        with (
            Proxy(server.port, lambda number: link if number else Link()) as proxy,
            following(server, proxy.port, {"tls": "disabled"}, heartbeat=4 * unit) as collector,
        ):
            for number in wanted:
                server.execute(f"INSERT INTO live.big VALUES ({number}, REPEAT('x', 1000))")
            mark(server)
            assert ids(collector.collected()) == wanted
            assert collector.stream.stats()["reconnects"] == 0

    at_any_pace(check)


def test_a_consumer_that_is_slow(server: Server) -> None:
    """The server gives up on who does not read for net_write_timeout: F19."""
    wanted = some(40)
    server.execute("SET GLOBAL net_write_timeout = 1")
    try:
        with reach(server) as connection:
            stream = connection.stream(
                "latest", tables="live.*", threads=1, segment_bytes=65_536, heartbeat=0.5, **COLUMNS
            )
            stream.start()
            for number in wanted:
                server.execute(f"INSERT INTO live.big VALUES ({number}, REPEAT('x', 1 << 20))")
            mark(server)
            first = next(stream)
            until(lambda: not dumps(server))
            rest = Collector(stream)
            assert ids([first, *rest.collected()]) == wanted
            assert stream.stats()["reconnects"] >= 1
    finally:
        server.execute("SET GLOBAL net_write_timeout = DEFAULT")


# ---------------------------------------------------------------------------------------- servers


class Writer(threading.Thread):
    """Commits transactions of three rows, and begins more than it ends, until the server goes."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.session = server.connect()
        self.committed = 0

    def run(self) -> None:
        try:
            while True:
                rows = ", ".join(f"({number}, 'x')" for number in some(3))
                self.session.execute("BEGIN", f"INSERT INTO live.t VALUES {rows}")
                self.session.execute("ROLLBACK" if self.committed % 7 == 3 else "COMMIT")
                self.committed += 1
        except pymysql.err.MySQLError:
            pass  # the server has ended


# (An orderly end takes MySQL ten seconds while anybody reads its log.)
@pytest.mark.parametrize(
    ("live_server", "crash"),
    [
        *((flavor, True) for flavor in live.SERVERS),
        pytest.param("mysql", False, marks=pytest.mark.thorough(by="the same on MariaDB")),
        ("mariadb-11.8", False),
    ],
    indirect=["live_server"],
)
def test_a_server_that_ends_in_the_middle_of_writes(server: Server, crash: bool) -> None:
    """And comes again: F5, F6."""
    server.execute("TRUNCATE TABLE live.t")
    with following(server) as collector:
        writer = Writer(server)
        writer.start()
        until(lambda: writer.committed > 70)
        server.restart(crash=crash)
        writer.join(WAIT)
        insert(server, *some(1))
        mark(server)
        found = ids(collector.collected())
        assert collector.stream.stats()["reconnects"] >= 1
    held = [int(number) for (number,) in server.query("SELECT id FROM live.t ORDER BY id")]
    assert found == held
    assert len(held) > 180


def test_rotations_in_bursts(server: Server) -> None:
    """F7."""
    wanted = some(30)
    with following(server, heartbeat=WAIT) as collector:
        for index, number in enumerate(wanted):
            server.execute(*["FLUSH BINARY LOGS"] * (index % 4))
            insert(server, number)
        mark(server)
        assert ids(collector.collected()) == wanted
        assert collector.stream.stats()["reconnects"] == 0


def settings(server: Server) -> Iterator[str]:
    """Statements that change how changes are logged, and back."""
    for checksum in ("NONE", "CRC32", "NONE", "CRC32"):
        yield f"SET GLOBAL binlog_checksum = {checksum}"
    for image in ("MINIMAL", "NOBLOB", "FULL"):
        yield f"SET SESSION binlog_row_image = {image}"
    if not server.is_old:
        for level in ("MINIMAL", "FULL", "MINIMAL", "FULL"):
            yield f"SET GLOBAL binlog_row_metadata = {level}"
    name = (
        "GLOBAL log_bin_compress" if server.is_mariadb else "SESSION binlog_transaction_compression"
    )
    if not server.is_old:
        for switch in ("ON", "OFF"):
            yield f"SET {name} = {switch}"


def test_settings_that_change_while_it_runs(server: Server) -> None:
    """F16."""
    wanted = []
    with following(server) as collector:
        for statement in settings(server):
            server.execute(statement)
            [number] = some(1)
            server.execute(f"INSERT INTO live.t VALUES ({number}, REPEAT('compress me', 18))")
            wanted.append(number)
        mark(server)
        assert ids(collector.collected()) == wanted


# ------------------------------------------------------------------------------------------- XA


@pytest.mark.parametrize("between", ["cut", "crash", "resume"])
def test_xa_transactions_decided_later(server: Server, between: str) -> None:
    """Prepared, then something happens, then committed or rolled back by another session: F25."""
    kept, gone, plain, last = some(4)
    with Proxy(server.port) as proxy, reach(server, proxy.port) as connection:
        keywords = {"tables": "live.*", "heartbeat": 0.5, **COLUMNS}
        stream = connection.stream("latest", **keywords)
        stream.start()
        for number in (kept, gone):
            session = server.connect()
            session.execute(
                f"XA START 'x{number}'",
                f"INSERT INTO live.t VALUES ({number}, 'x')",
                f"XA END 'x{number}'",
                f"XA PREPARE 'x{number}'",
            )
            session.close()
        insert(server, plain)
        found = ids([next(stream)])
        assert found == [plain]
        if between == "cut":
            proxy.cut()
        elif between == "resume":
            assert stream.position is not None
            position = Position.from_json(stream.position.to_json())
            stream.close()
            stream = connection.stream(position, **keywords)
        else:
            server.restart(crash=True)
        session = server.connect()
        for number, decision in ((gone, "ROLLBACK"), (kept, "COMMIT")):
            until(lambda n=number, d=decision: decided(session, f"XA {d} 'x{n}'"))
        session.close()
        insert(server, last)
        mark(server)
        found += ids(Collector(stream).collected())
    assert found == [plain, kept, last]


def decided(session: object, statement: str) -> bool:
    """The server may not have noticed yet that the previous session has ended."""
    try:
        session.execute(statement)  # type: ignore[attr-defined]
    except pymysql.err.MySQLError:
        return False
    return True


# --------------------------------------------------------------------------------- semi-synchronous

SEMI_SYNC = {
    "mysql": ("source", "replica"),
    "mariadb-11.8": ("master", "slave"),
    "mariadb-10.11": ("master", "slave"),
}


@pytest.mark.parametrize("live_server", SEMI_SYNC, indirect=True)
def test_a_semi_synchronous_server_does_not_wait_for_us(server: Server) -> None:
    """F26."""
    role, other = SEMI_SYNC[server.flavor]
    if not server.is_mariadb:
        server.execute("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
    server.execute(
        f"SET GLOBAL rpl_semi_sync_{role}_timeout = {2000 * WAIT:.0f}",
        f"SET GLOBAL rpl_semi_sync_{role}_wait_no_{other} = OFF",  # else it waits for no replica at all
        f"SET GLOBAL rpl_semi_sync_{role}_enabled = ON",
    )
    wanted = some(5)
    try:
        with following(server) as collector:
            with within():
                insert(server, *wanted)
            clients = f"SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_{role}_clients'"
            assert server.query(clients)[0][1] == "0"
            mark(server)
            assert ids(collector.collected()) == wanted
    finally:
        server.execute(f"SET GLOBAL rpl_semi_sync_{role}_enabled = OFF")
