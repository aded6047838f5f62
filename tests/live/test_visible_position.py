"""`Server.position()`, then SELECT, then `stream(position)`: no committed change is lost, on busy servers.

BINARROW_VISIBLE_READS=1000 reads 1000 positions for each server and each way to read one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import binarrow
from binarrow.server.target import target
from binarrow.spark.live.server_log import ServerLog
from support import live
from support.extent import rounds
from support.servers.servers import Server
from support.workloads.writers import Read, logged, values, writing

READS = rounds("BINARROW_VISIBLE_READS", 8, 20)

STREAMED = 4
"""The number of positions that are streamed from; the others are compared with the log."""

GRANTS = (
    "GRANT BACKUP_ADMIN ON *.* TO live@'%'",
    "GRANT SELECT ON performance_schema.log_status TO live@'%'",
)
REVOKES = (
    "REVOKE BACKUP_ADMIN ON *.* FROM live@'%'",
    "REVOKE SELECT ON performance_schema.log_status FROM live@'%'",
)

GTIDS = tuple(
    f"SET GLOBAL {step}"
    for step in (
        "enforce_gtid_consistency = ON",
        "gtid_mode = OFF_PERMISSIVE",
        "gtid_mode = ON_PERMISSIVE",
        "gtid_mode = ON",
    )
)


@dataclass(frozen=True)
class Way:
    """A way to find a server's position."""

    name: str
    statements: tuple[str, ...] = ()
    """The statements that it needs, after those of the earlier ways."""
    xa: bool = True
    read: Callable[[binarrow.Server], binarrow.Position] = binarrow.Server.position


def next_file(connection: binarrow.Server) -> binarrow.Position:
    """The start of the last file."""
    return connection.file_start(connection.binlogs()[-1].name)


OUT_OF_ORDER = Way("commits out of order", ("SET GLOBAL binlog_order_commits = 0",))

WAYS: dict[str, tuple[Way, ...]] = {
    "mysql": (
        Way("no GTIDs, log_status", GRANTS, xa=False),
        Way("no GTIDs, the start of a file", REVOKES, read=next_file),
        Way("GTIDs", GTIDS),
        OUT_OF_ORDER,
    ),
    "mysql-5.7": (Way("GTIDs"), OUT_OF_ORDER),
    "mariadb-11.8": (Way("snapshot", xa=False),),
    "mariadb-10.11": (Way("snapshot", xa=False),),
}


@pytest.fixture(scope="module")
def servers() -> Iterator[Callable[[str], Server]]:
    """Servers that sync each commit, as production servers do, so that a commit takes time."""
    started: dict[str, Server] = {}

    def get(flavor: str) -> Server:
        if flavor not in started:
            options = ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"]
            options += ["--performance-schema=ON", *live.NO_GTIDS] if flavor == "mysql" else []
            started[flavor] = Server.start(flavor, options, on_disk=True)
            live.prepare(started[flavor])
        return started[flavor]

    yield get
    for server in started.values():
        server.stop()


def read_positions(server: Server, way: Way) -> list[Read]:
    reads = []
    session = server.connect()
    with live.reach(server) as connection, writing(server, xa=way.xa):
        live.until(lambda: all(values(session).values()))
        for _ in range(READS):
            if way.read is next_file:
                server.execute("FLUSH BINARY LOGS")
            before = values(session)
            position = way.read(connection)
            reads.append(Read(before, position, values(session)))
    session.close()
    return reads


@pytest.mark.parametrize("flavor", WAYS)
def test_no_change_is_lost(flavor: str, servers: Callable[[str], Server]) -> None:
    server = servers(flavor)
    reports = []
    for way in WAYS[flavor]:
        server.execute(*way.statements)
        first = int(server.flush_binlog().suffix[1:]) + 1
        reads = read_positions(server, way)
        log = logged(server, first, **live.COLUMNS)
        lost, apart, early = 0, 0, 0
        for read in reads:
            both = log.by_place(read.position), log.by_gtids(read.position)
            place, gtids = both
            apart += place is not None and gtids is not None and place != gtids
            covered = next(one for one in both if one is not None)
            last = log.last_values(covered)
            lost += any(last[k] > value for k, value in read.after.items())
            early += way.read is not next_file and any(
                last[k] < value for k, value in read.before.items()
            )
            assert read.position.visible_to_select is (None if way.read is next_file else True)
        report = (
            f"{flavor}, {way.name}: of {len(reads)} positions {lost} lose a change, {early} are before"
            f" what was visible already, {apart} have a GTID set of another place;"
            f" {sum(not read.position.file for read in reads)} are GTID sets alone;"
            f" {len(log.updates)} changes"
        )
        print(report)
        reports.append((report, lost + apart + early))
        check_streams(server, reads[:: max(1, len(reads) // STREAMED)])
    assert not any(wrong for _, wrong in reports), reports


def check_streams(server: Server, reads: list[Read]) -> None:
    """The first change of each row in the stream follows the row in the result of SELECT, or is an earlier one."""
    for read in reads:
        first: dict[int, int] = {}
        with live.reach(server) as connection:
            stream = connection.stream(
                read.position,
                stop="end",
                tables="live.counter",
                old_value=False,
                operations=["update"],
                envelope=[],
                **live.COLUMNS,
            )
            for batch in stream:
                row, value = (column.to_pylist() for column in batch.to_pyarrow().columns)
                for k, v in zip(row, value, strict=True):
                    first.setdefault(int(k), int(v))
        for k, value in read.after.items():
            assert first.get(k, 0) <= value + 1


def test_without_gtids_the_position_says_what_it_is_worth() -> None:
    """A server without GTIDs: `log_status` helps while XA is not used; `check` says so."""
    with live.server("mysql", "--performance-schema=ON", *live.NO_GTIDS) as server:
        assert position_of(server) == (False, "warning")
        server.execute(*GRANTS)
        assert position_of(server) == (True, "ok")
        server.execute("XA START 'a'", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'")
        assert position_of(server) == (False, "warning")
        server.execute(*GTIDS, *REVOKES)
        assert position_of(server) == (True, "ok")
    with live.server("mysql-5.7", *live.NO_GTIDS) as server:
        assert position_of(server) == (False, "warning")


@pytest.mark.parametrize("flavor", ["mariadb-11.8", "mariadb-10.11"])
def test_xa_and_snapshots(flavor: str) -> None:
    """XA COMMIT is in MariaDB's log before its rows are visible, and a snapshot's position after it."""
    with live.server(flavor) as server:
        assert position_of(server) == (True, "ok")
        server.execute("XA START 'a'", "INSERT INTO live.t VALUES (1, 'x')", "XA END 'a'")
        server.execute("XA PREPARE 'a'")
        assert position_of(server) == (True, "ok")
        server.execute("XA COMMIT 'a'")
        assert position_of(server) == (False, "warning")


def position_of(server: Server) -> tuple[bool | None, str]:
    """Returns `visible_to_select` and the grade that `check` gives."""
    with live.reach(server) as connection:
        position = connection.position()
        [check] = [each for each in connection.check() if each.name == "position()"]
        assert ("file_start" in check.advice) == (check.grade == "warning")
        assert ("gtid_mode = ON" in check.advice) == (
            "file_start" in check.advice and not server.is_mariadb
        )
        again = binarrow.Position.from_json(position.to_json())
        assert again == position
        assert again.visible_to_select is None
        return position.visible_to_select, check.grade


ACKNOWLEDGED = (
    "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
    "SET GLOBAL rpl_semi_sync_source_enabled = ON",
    "SET GLOBAL rpl_semi_sync_source_timeout = 3600000",
)
"""Commits wait for a replica that does not exist, after they are written to the log."""


@contextmanager
def stuck(server: Server) -> Iterator[None]:
    """A commit that waits: its transaction is in the log, and no other session sees it yet."""
    session = server.connect()
    waiting = threading.Thread(
        target=session.execute, args=("INSERT INTO live.t VALUES (2, 'waits')",), daemon=True
    )
    waiting.start()
    status = "SHOW STATUS LIKE 'Rpl_semi_sync_source_wait_sessions'"
    live.until(lambda: server.query(status)[0][1] == "1")
    try:
        yield
    finally:
        server.execute("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
        waiting.join()
        session.close()


def test_a_commit_that_waits_for_a_replica(tmp_path: Path) -> None:
    with live.server("mysql") as server:
        live.insert(server, 1)
        server.execute(*ACKNOWLEDGED)
        with stuck(server), live.reach(server, read_timeout=2.0) as connection:
            position = connection.position()
            seen = [int(row[0]) for row in server.query("SELECT id FROM live.t")]
            assert (position.file, position.offset, seen) == ("", 0, [1])
            assert position.visible_to_select is True
            resolved = connection.range_end(position, stop=position)
            with pytest.raises(binarrow.ServerError, match="semisynchronous replication") as raised:
                connection.schemas()
            assert "has been committing for more than" in str(raised.value)
            latest = connection.stream("latest", stop="end", **live.COLUMNS)
            assert live.ids(latest) == [2]
            log = spark_log(server)
            assert (
                log.head() == log.resolve_end("latest") == log.resolve_start(position) == resolved
            )
            log.close()
        with live.reach(server) as connection:
            assert resolved.file == connection.binlogs()[-1].name
            assert resolved.gtid_set == position.gtid_set
            for start in (position, resolved, binarrow.Position.from_json(position.to_json())):
                stream = connection.stream(start, stop="end", **live.COLUMNS)
                assert live.ids(stream) == [2]
            # Files accept it too.
            files = [str(path) for path in server.binlog_files()]
            assert live.ids(binarrow.read_binlog(files, start=position, **live.COLUMNS)) == [2]
            own = {"stop": position, "tables": "live.t", **live.COLUMNS}
            assert live.ids(binarrow.read_binlog(files, **own)) == [1]
            with pytest.raises(binarrow.ConfigError, match="not at a GTID set"):
                binarrow.inspect(files[0], start=position)
            # It also works as `stop`.
            stream = connection.stream("earliest", stop=position, tables="live.t", **live.COLUMNS)
            assert live.ids(stream) == [1]
            drained = connection.range_end(connection.file_start(resolved.file), stop=position)
            assert drained == resolved
            with connection.range(position, connection.position(), **live.COLUMNS) as stream:
                assert live.ids(stream) == [2]
            history = binarrow.SchemaHistory.open(f"sqlite:///{tmp_path}/h.db")
            with pytest.raises(binarrow.ConfigError, match="GTID set alone"):
                history.baseline("CREATE DATABASE d", position)


def spark_log(server: Server) -> ServerLog:
    """The log for the driver of a query: its offsets need a file."""
    given = {"host": "127.0.0.1", "port": server.port, "user": "live", "password": "l1ve"}
    keywords = {"allow_public_key_retrieval": True}
    return ServerLog(
        target(None, **given, keywords=keywords), heartbeat=10, reconnect=10, counted={}
    )


def test_without_gtids_a_commit_that_waits_is_the_cause() -> None:
    with live.server("mysql", "--performance-schema=ON", *live.NO_GTIDS) as server:
        server.execute(*GRANTS, *ACKNOWLEDGED)
        with (
            stuck(server),
            live.reach(server, read_timeout=1.0) as connection,
            pytest.raises(binarrow.ConnectionLostError, match="semisynchronous replication"),
        ):
            connection.position()


@pytest.mark.parametrize("flavor", ["mysql", "mysql-5.7"])
def test_the_place_of_a_set_with_a_hole(flavor: str) -> None:
    """The log up to the first transaction that is not in the set."""
    with live.server(flavor) as server, live.reach(server) as connection:
        start = connection.position()
        places = []
        for number in (1, 2, 3, 4):
            live.insert(server, number)
            places.append(connection.position())
            if number == 3:
                server.flush_binlog()
        assert places[-1].gtid_set is not None
        source, _, numbers = places[-1].gtid_set.partition(":")
        last = int(numbers.rpartition("-")[2])
        stored = {**json.loads(start.to_json()), "file": "", "offset": 0}
        log = spark_log(server)
        for hole in (1, 2, 3, 4):
            missing = last - 4 + hole
            rest = f":{missing + 1}-{last}" if missing < last else ""
            stored["gtid_set"] = f"{source}:1-{missing - 1}{rest}"
            position = binarrow.Position.from_json(json.dumps(stored))
            before = places[hole - 2] if hole > 1 else start
            found = connection.range_end(position, stop=position)
            assert found.gtid_set == before.gtid_set
            if hole < 4:
                assert (found.file, found.offset) == (before.file, before.offset)
            assert live.ids(connection.stream(position, stop="end", **live.COLUMNS)) == [hole]
            after = connection.stream(found, stop="end", tables="live.t", **live.COLUMNS)
            assert live.ids(after) == list(range(hole, 5))
            assert connection.range_end(position.gtid_set, stop=position.gtid_set) == found
            # A query starts after the set: all other transactions are read, and none of the set.
            head = places[-1]
            for place in (position, binarrow.Position.after_gtids(position.gtid_set or "")):
                first = log.resolve_start(place)
                with connection.range(first, head, tables="live.t", **live.COLUMNS) as stream:
                    assert live.ids(stream) == [hole]
                assert log.resolve_end(place) == found
            # So does the part after a range from it.
            ids, here = [], binarrow.Position.from_json(position.to_json())
            while here.gtid_set != head.gtid_set:
                end = connection.range_end(here, max_bytes=0)
                with connection.range(here, end, tables="live.t", **live.COLUMNS) as stream:
                    ids += live.ids(stream)
                here = end
            assert ids == [hole]
