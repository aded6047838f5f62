"""Streams from live servers: how to reach one, what it played, and what came of it.

with live.server("mysql") as server, live.reach(server) as connection:
    with connection.stream("latest", envelope=ENVELOPE) as stream: ...
"""

from __future__ import annotations

import atexit
import functools
import itertools
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import trustme

import binarrow
from support.oracles import oracle
from support.oracles.compare import as_shown_by_5_7
from support.oracles.oracle import Selected
from support.oracles.replay import (
    ENVELOPE,
    Change,
    Names,
    TableState,
    changes_of,
    replay,
    truncations_in,
)
from support.servers.servers import Server
from support.waiting import WAIT, until, until_asleep
from support.workloads import workload

SERVERS = ("mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.11")

USER = {"user": "live", "password": "l1ve", "allow_public_key_retrieval": True}

SMALL = "CREATE TABLE live.t (id DECIMAL(9,0) NOT NULL PRIMARY KEY, note VARCHAR(200) CHARACTER SET utf8mb4)"
"""A table that can be read from the log of any server, with `COLUMNS`."""

BIG = "CREATE TABLE live.big (id DECIMAL(9,0) NOT NULL PRIMARY KEY, filler LONGBLOB)"

MARK = "CREATE TABLE live.mark (id DECIMAL(9,0) NOT NULL PRIMARY KEY)"

COLUMNS = {"column_names": "positional"}

# A member of `choices`, and what SHOW CREATE TABLE prints of it.
BEYOND, SHOWN_BEYOND = "'x','ü','🎉'", "'x','ü','?'"

NO_GTIDS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
"""MySQL's default, with which positions are files and offsets only."""

Changes = list[tuple[str, list[tuple[Names, Change]]]]


@functools.cache
def certificates() -> list[str]:
    """Server options for TLS: MariaDB 10.11 makes no certificate itself."""
    folder = Path(tempfile.mkdtemp(prefix="binarrow-tls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    return [f"--ssl-{part}={folder}/{part}.pem" for part in ("ca", "cert", "key")]


@contextmanager
def server(flavor: str, *options: str) -> Iterator[Server]:
    """A server with `USER`, an empty database `live`, and the table `SMALL` in it."""
    with Server.start(flavor, [*certificates(), *options]) as started:
        prepare(started)
        yield started


@contextmanager
def loading_server(flavor: str, *options: str) -> Iterator[Server]:
    """A server whose user may read existing rows at an exact position."""
    with server(flavor, *options) as started:
        started.execute("GRANT SELECT, RELOAD, PROCESS ON *.* TO live@'%'")
        if flavor == "mysql":
            started.execute("GRANT BACKUP_ADMIN ON *.* TO live@'%'")
        yield started


def two_tables(started: Server, rows: int) -> None:
    """Creates the database again, with the tables `a` and `b` of so many rows (n, n)."""
    started.execute("DROP DATABASE live", "CREATE DATABASE live")
    for table in ("a", "b"):
        values = ", ".join(f"({n}, {n})" for n in range(rows))
        started.execute(
            f"CREATE TABLE live.{table} (id INT PRIMARY KEY, v INT)",
            f"INSERT INTO live.{table} VALUES {values}",
        )


def prepare(started: Server) -> None:
    started.execute(
        "CREATE USER live@'%' IDENTIFIED BY 'l1ve'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO live@'%'",
        "CREATE DATABASE live",
        SMALL,
        BIG,
        MARK,
    )


def next_second(started: Server) -> None:
    """Waits until a file that is created again differs from the earlier one in its second."""
    [created] = struct.unpack("<I", started.binlog_files()[-1].read_bytes()[4:8])
    until(lambda: time.time() >= created + 1)


def reach(started: Server, port: int | None = None, **keywords: Any) -> binarrow.Server:
    """A connection, through a proxy's port if one is given."""
    place = {"host": "127.0.0.1", "port": port or started.port}
    return binarrow.connect(**{**USER, **place, **keywords})


def flat(batches: Iterable[binarrow.ChangeBatch]) -> Changes:
    """The changes of each table, in order."""
    tables: dict[str, list[tuple[Names, Change]]] = {}
    for batch in batches:
        changes = changes_of(batch)
        rows = tables.setdefault(changes.table, [])
        rows += [(changes.names, change) for change in changes.items]
    return sorted(tables.items())


def ids(batches: Iterable[binarrow.ChangeBatch]) -> list[int]:
    """The first column of `SMALL`."""
    return [int(cell) for batch in batches for cell in batch.to_pyarrow().column(0).to_pylist()]


NUMBERS = itertools.count(1000)  # tests that count themselves begin at 1


def mark(started: Server) -> None:
    """Says to collectors that it is enough."""
    started.execute(f"INSERT INTO live.mark VALUES ({next(NUMBERS)})")


def insert(started: Server, *numbers: int) -> None:
    """Rows of `SMALL`, a transaction each."""
    started.execute(*(f"INSERT INTO live.t VALUES ({number}, 'x')" for number in numbers))


def interrupted(program: str, *arguments: str, change: Callable[[], None]) -> str:
    """Interrupts a program while it waits: it has printed `started`, and the position of one change.

    Returns this position.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    change()
    position = process.stdout.readline().strip()
    until_asleep(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=WAIT)
    assert "KeyboardInterrupt" in errors
    return position


def of_another_server(position: binarrow.Position) -> binarrow.Position:
    """The position, as if it were read from another server, without GTIDs."""
    return position.replace(server="00000000-0000-0000-0000-000000000000", gtid_set=None)


XAER_NOTA = 1397
"""The server's error code for an XA transaction that it does not know."""


def decide(server: Server, statement: str) -> None:
    """Commits or rolls back a prepared transaction, once its server has noticed that its session ended."""

    def is_done() -> bool:
        try:
            server.execute(statement)
        except pymysql.err.OperationalError as error:
            if error.args[0] != XAER_NOTA:
                raise
            return False
        return True

    until(is_done)


def later_second(started: Server, seconds: int = 1) -> None:
    """Waits until the server's clock shows a later second: logs have nothing finer, or files of MariaDB."""

    def now() -> int:
        return int(started.query("SELECT UNIX_TIMESTAMP()")[0][0])

    begin = now()
    until(lambda: now() >= begin + seconds)


def dumps(started: Server) -> list[int]:
    """The server's threads that send its log."""
    return [
        row[0]
        for row in started.query("SHOW PROCESSLIST")
        if str(row[4]).startswith("Binlog Dump") and row[1] == "live"
    ]


class Collector(threading.Thread):
    """Takes a stream's batches in a thread of its own, until the stream ends or a row of `mark` comes."""

    def __init__(self, stream: Any) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.batches: list[binarrow.ChangeBatch] = []
        self.error: Exception | None = None
        self.start_reading()

    def start_reading(self) -> None:
        """The dump begins with the first batch asked for: it must be there before anything is written."""
        self.stream.start()
        self.start()

    def run(self) -> None:
        try:
            for batch in self.stream:
                if batch.table == "mark":
                    break
                self.batches.append(batch)
        except Exception as error:  # noqa: BLE001 - raised again by `collected`
            self.error = error

    def collected(self, seconds: float = 60.0) -> list[binarrow.ChangeBatch]:
        """All batches, once it has ended."""
        self.join(seconds)
        assert not self.is_alive()
        self.stream.close()
        if self.error is not None:
            raise self.error
        return self.batches


@contextmanager
def following(
    started: Server, port: int | None = None, given: dict[str, Any] | None = None, **keywords: Any
) -> Iterator[Collector]:
    """Collects the changes of the tables of `live` from now on; `given` is for the connection."""
    own = {"tables": "live.*", "heartbeat": 0.5, **COLUMNS, **keywords}
    with reach(started, port, **(given or {})) as connection:
        collector = Collector(connection.stream("latest", **own))
        try:
            yield collector
        finally:
            collector.stream.close()


@dataclass
class Played:
    """A server, what was streamed from it while it played the workload, and what it holds now."""

    server: Server
    before: binarrow.Position
    """The end of the log before the writes."""
    streamed: dict[str, list[binarrow.ChangeBatch]]
    """By the way of reading."""
    tables: list[str]
    files: list[Path]
    selected: dict[str, Selected]
    keywords: dict[str, Any] = field(repr=False)
    """For any reader of the log."""

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        return workload.GENERATED if self.server.flavor == "mariadb-11.8" else {}

    def changes(self, **keywords: Any) -> Changes:
        """The changes that the files hold."""
        paths = [str(path) for path in self.files]
        return flat(binarrow.read_binlog(paths, **{**self.keywords, **keywords}))

    def replayed(self, way: str) -> dict[str, TableState]:
        """The tables as a stream gave them."""
        tables = replay(self.streamed[way], truncations_in(self.files))
        if self.server.flavor == "mysql-5.7":
            as_shown_by_5_7(tables[f"{workload.DATABASE}.documents"])
        return tables


@contextmanager
def played(flavor: str, ways: dict[str, dict[str, Any]], transactions: int) -> Iterator[Played]:
    """Plays the workload while streams read it, each in a way of its own: what to connect with."""
    with server(flavor) as started:
        play = workload.begin(started, 11, compressed_share=0.3, extras=True)
        first = started.flush_binlog()
        keywords: dict[str, Any] = {
            "envelope": ENVELOPE,
            "tables": f"{workload.DATABASE}.*",
            "exclude_tables": f"{workload.DATABASE}.numbers",  # a sequence, used before the start
        }
        if started.is_old:
            keywords["schemas"] = {
                table: shown.replace(SHOWN_BEYOND, BEYOND)
                for table, shown in play.created().items()
            }
        collectors: dict[str, Collector] = {}
        for way, given in ways.items():
            with reach(started, **given) as connection:
                before = connection.position()
                start = before.gtid_set if way.startswith("gtid") else before
                assert start is not None
                own = {**keywords, "tables": [keywords["tables"], "live.mark"], "threads": 1}
                if started.is_old:
                    own["schemas"] = {**keywords["schemas"], "live.mark": MARK}
                collectors[way] = Collector(connection.stream(start, **own))
        tables = play.run(transactions)
        started.execute("INSERT INTO live.mark VALUES (1)")
        streamed = {way: one.collected() for way, one in collectors.items()}
        started.flush_binlog()
        files = [path for path in started.binlog_files()[:-1] if path.name > first.name]
        selected = {table: oracle.select(started, table) for table in tables}
        yield Played(started, before, streamed, tables, files, selected, keywords)
