"""A storm: concurrent changes of all kinds, for a given time, and not one cell may be wrong.

Several sessions write (`storm.py`) while a consumer reads through a proxy that breaks connections in every way; the consumer
is killed again and again, and stops after single batches. Afterwards what it kept must be what files give with one thread and
with four, and what SELECT gives.

    BINARROW_STORM_SECONDS=1800 BINARROW_SEED=7 pytest -s tests/live/test_storm.py -k mysql-5.7

storms for half an hour, in rounds, each with tables of its own; the seed of each round is printed.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import shutil
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import Position, SchemaHistory, TypeOptions
from support import live
from support.live import until
from support.oracles import oracle
from support.oracles.compare import Compared, as_shown_by_5_7, assert_same_rows
from support.oracles.replay import ENVELOPE, Changes, TableState, changes_of
from support.servers.proxy import Link, Proxy
from support.servers.servers import Server
from support.workloads.storm import Known, Storm, reset
from support.workloads.storm_consumer import (
    NOT_CONNECTED,
    Kept,
    Task,
    all_kept,
    consume,
    kept,
    open_store,
    position_of,
)

SECONDS = float(os.environ.get("BINARROW_STORM_SECONDS", "5"))
"""Seconds of the storm on each server."""

SEED = os.environ.get("BINARROW_SEED", "1")

ROUND = 20.0
"""Seconds of a round."""

CAUGHT_UP = 180.0
"""Seconds within which the last consumer reads all that is left."""

FORK = multiprocessing.get_context("forkserver")

Row = tuple[Any, ...]


@pytest.fixture(scope="module", autouse=True)
def preloaded() -> None:
    """Consumers are forked from a process that has imported what they need."""
    FORK.set_forkserver_preload(["support.workloads.storm_consumer"])


@dataclass
class Tally:
    """Statistics of a server's storm."""

    rounds: int = 0
    transactions: int = 0
    changes: int = 0
    again: int = 0
    connections: int = 0
    faults: int = 0
    kills: int = 0
    stops: int = 0
    compared: Compared = field(default_factory=Compared)

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds, {self.transactions} transactions, {self.changes} changes, {self.again} came again;"
            f" {self.connections} connections, {self.faults} faults, {self.kills} kills, {self.stops} stops;"
            f" {self.compared.tables} tables, {self.compared.rows} rows, {self.compared.cells} cells as SELECT"
        )


class Weather:
    """The faults of the proxy: those of each connection, and those of all connections."""

    def __init__(self, server: Server, rng: random.Random) -> None:
        self.rng = rng
        self.calm = threading.Event()
        self.faults = 0
        self._lock = threading.Lock()
        self.proxy = Proxy(server.port, self._link)
        self._thread = threading.Thread(target=self._blow, daemon=True)
        self._thread.start()

    def _link(self, _: int) -> Link:
        with self._lock:
            if self.calm.is_set() or self.rng.random() < 0.3:
                return Link()
            self.faults += 1
            after = self.rng.choice(
                (self.rng.randrange(1, 7000), self.rng.randrange(7000, 300_000))
            )
            kind = self.rng.randrange(5)
            if kind == 0:
                return Link(freeze_after=after)
            if kind == 1:
                return Link(piece=self.rng.randrange(100, 3000), pause=0.002)
            return Link(cut_after=after, reset=kind == 2, half=kind == 3)

    def _blow(self) -> None:
        while not self.calm.wait(self.rng.uniform(0.2, 1.5)):
            kind = self.rng.randrange(4)
            if kind == 0:
                self.proxy.freeze()
                self.calm.wait(0.3)
            elif kind == 1:
                self.proxy.refusing = True
                self.calm.wait(self.rng.uniform(0, 0.3))
                self.proxy.refusing = False
            self.proxy.cut()
            self.faults += 1

    def settle(self) -> None:
        """Ends the faults."""
        self.calm.set()
        self._thread.join()
        self.proxy.refusing = False
        self.proxy.cut()


class Consumers:
    """Consumers one after the other; each continues where the one before it was killed or stopped."""

    def __init__(self, task: Task, rng: random.Random, flavor: str) -> None:
        self.task = task
        self.compressions = (None, "zlib", "zstd") if flavor == "mysql" else (None, "zlib")
        self.rng = rng
        self.kills = 0
        self.stops = 0
        self._runs = itertools.count(1)

    def start(self, *, batches: int | None = None) -> BaseProcess:
        options = {
            "threads": self.rng.choice((1, 2, 4)),
            "segment_bytes": self.rng.choice((None, 100, 2000, 50_000)),
            "batch_rows": self.rng.choice((None, None, 1, 20)),
            "max_latency": self.rng.choice((0.001, 0.05, 0.5)),
        }
        given = {key: value for key, value in options.items() if value is not None}
        task = Task(
            self.task.store,
            next(self._runs),
            self.task.port,
            {**self.task.connect, "compression": self.rng.choice(self.compressions)},
            {**self.task.stream, **given},
            self.task.history,
            batches,
        )
        process = FORK.Process(target=consume, args=(task,))
        process.start()
        return process

    def until(self, deadline: float) -> None:
        """Runs consumers that are killed, or stopped after few batches, until the time is over."""
        while time.monotonic() < deadline:
            batches = self.rng.choice((None, None, 1, 2, 30))
            process = self.start(batches=batches)
            process.join(min(self.rng.uniform(0.02, 1.5), deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
                self.kills += 1
            else:
                self.stops += 1
                self.check(process)

    def to_the_end(self) -> None:
        """Runs a consumer until the very last row is stored."""
        deadline = time.monotonic() + CAUGHT_UP
        while not self.is_done():
            process = self.start()
            process.join(max(deadline - time.monotonic(), 0))
            if process.is_alive():
                process.kill()
                process.join()
                pytest.fail(
                    f"the last rows do not come: {position_of(open_store(self.task.store))}"
                )
            self.check(process)

    def is_done(self) -> bool:
        store = open_store(self.task.store)
        found = store.execute(
            "SELECT name FROM changes WHERE kind = 'rows' ORDER BY number DESC LIMIT 1"
        )
        last = found.fetchone()
        store.close()
        return last is not None and last[0].endswith("\0mark")

    def check(self, process: BaseProcess) -> None:
        if process.exitcode not in (0, NOT_CONNECTED):
            texts = open_store(self.task.store).execute("SELECT text FROM failures").fetchall()
            pytest.fail("\n".join(text for (text,) in texts) or f"exit code {process.exitcode}")


# ------------------------------------------------------------------------------------- what came


@dataclass
class Read:
    """Rows by table and items, in their order."""

    rows: dict[str, list[tuple[tuple[str, ...], Any]]]
    items: list[tuple[str, str, int, str]]
    again: int = 0


def read(changes: Iterable[Kept]) -> Read:
    """The stored changes without repeated ones, which must equal the first ones."""
    found = Read({}, [])
    places: dict[str, dict[tuple[int, int], tuple[tuple[str, ...], Any]]] = {}
    items: dict[tuple[str, str, int, str], None] = {}
    for one in changes:
        if one.kind != "rows":
            item = (one.kind, one.name, one.version, one.text)
            # The position of an item inside a transaction is before it, so it may be returned again.
            items[item] = None
            continue
        batch = changes_of(one)
        rows = places.setdefault(batch.table, {})
        for change in batch.items:
            place, row = (change.version, change.ordinal), (batch.names, change)
            if place in rows:
                assert rows[place] == row, f"{batch.table}: {place} came again, and is another"
                found.again += 1
            else:
                last = next(reversed(rows), (-1, -1))
                assert place > last, f"{batch.table}: {place} after {last}"
                rows[place] = row
    found.rows = {table: list(rows.values()) for table, rows in sorted(places.items())}
    found.items = list(items)
    return found


def assert_same(stream: Read, files: Read, what: str) -> None:
    """Compares cell by cell."""
    assert stream.items == files.items, what
    assert list(stream.rows) == list(files.rows), what
    for table, rows in stream.rows.items():
        others = files.rows[table]
        for row, other in zip(rows, others, strict=False):
            assert row == other, f"{what}, {table}"
        assert len(rows) == len(others), f"{what}, {table}"


class Mirror:
    """The tables after all changes, under the first names that tables and columns had."""

    def __init__(self, known: Known, database: str) -> None:
        self.known = known
        self.database = database
        self.tables: dict[str, TableState] = {}
        self.changes = 0

    def first(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.known.columns.get(name, name) for name in names)

    def table(self, name: str) -> TableState:
        first = self.known.tables.get(name, name)
        new = TableState(first, defaults=self.known.defaults)
        return self.tables.setdefault(first, new)

    def play(self, changes: Iterable[Kept]) -> None:
        """All of them once, in order."""
        done: set[Any] = set()
        last: dict[str, tuple[int, int]] = {}
        for one in changes:
            if one.kind == "rows":
                batch = changes_of(one)
                before = last.get(batch.table, (-1, -1))
                items = [each for each in batch.items if (each.version, each.ordinal) > before]
                if items:
                    last[batch.table] = (items[-1].version, items[-1].ordinal)
                    own = Changes(
                        batch.table, self.first(batch.names), self.first(batch.key), items
                    )
                    self.table(batch.table).apply(own)
                    self.changes += len(items)
                continue
            item = (one.kind, one.name, one.version, one.text)
            if item not in done:
                done.add(item)
                self.play_item(one)

    def play_item(self, one: Kept) -> None:
        if one.kind == "truncate":
            self.table(f"{one.database}.{one.table}").clear()
            return
        kind, tables, statement = json.loads(one.text)
        if kind == "rename" and len(tables) == 3:
            first, _, second = (self.known.tables.get(table, table) for table in tables)
            states = self.tables.pop(first, None), self.tables.pop(second, None)
            self.tables |= {
                name: state for name, state in zip((second, first), states, strict=True) if state
            }
        if kind == "drop" or (kind == "create" and "IF NOT EXISTS" not in statement):
            for table in tables:
                self.tables.pop(self.known.tables.get(table, table), None)

    def compare(self, server: Server, tables: list[str], done: Compared) -> None:
        for table in tables:
            selected = oracle.select(server, table)
            names = self.first(selected.names)
            state = self.table(table)
            if server.flavor == "mysql-5.7" and table.endswith(".documents"):
                as_shown_by_5_7(state)
            assert_same_rows(table, names, state.content(names), selected.rows)
            done.tables += 1
            done.rows += len(selected.rows)
            done.cells += len(selected.rows) * len(names)


# ----------------------------------------------------------------------------------------- rounds


@pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")
@pytest.mark.parametrize("flavor", live.SERVERS)
def test_storm(flavor: str, tmp_path: Path) -> None:
    tally = Tally()
    with live.server(flavor, "--max-connections=400") as server:
        end = time.monotonic() + SECONDS
        try:
            while (left := end - time.monotonic()) > 0 or not tally.rounds:
                seed = f"{SEED}/{flavor}/{tally.rounds}"
                print(f"\nstorm: seed {seed}", end=" ", flush=True)
                play_round(server, seed, max(min(ROUND, left), 2.0), tmp_path, tally)
        except BaseException:
            for file in server.binlog_files():
                shutil.copy(file, tmp_path)
            print(f"\nthe log and what was kept of it are in {tmp_path}")
            raise
        finally:
            print(f"\nstorm on {flavor}: {tally}")


def play_round(server: Server, seed: str, seconds: float, folder: Path, tally: Tally) -> None:
    """One storm on tables of its own."""
    rng = random.Random(seed)
    has_history = server.is_old or rng.random() < 0.5
    database = f"störm `{tally.rounds}`"
    storm = Storm(server, database, seed, any_metadata=has_history)
    path = str(folder / f"{tally.rounds}.sqlite")
    history = str(folder / f"{tally.rounds}.history") if has_history else None
    start = begin(server, history)
    with open_store(path) as store:
        store.execute("INSERT INTO place VALUES (1, ?)", (start.to_json(),))
    store.close()
    keywords: dict[str, Any] = {
        "tables": f"{database}.*",
        "include": ["schema_change", "truncate"],
        "envelope": list(ENVELOPE),
    }
    if not server.is_mariadb:
        keywords["json"] = "diff"
    weather = Weather(server, random.Random(f"{seed}/weather"))
    limits = {"connect_timeout": 2.0, "read_timeout": 2.0}
    streamed = {**keywords, "heartbeat": 0.3, "reconnect": 3600.0}
    task = Task(path, 0, weather.proxy.port, {**live.USER, **limits}, streamed, history, None)
    consumers = Consumers(task, rng, server.flavor)
    with weather.proxy:
        storm.start()
        consumers.until(time.monotonic() + seconds)
        storm.finish()
        weather.settle()
        consumers.to_the_end()
    reset(server)
    server.flush_binlog()
    files = [str(one) for one in server.binlog_files()[:-1] if one.name >= start.file]
    stream = read(all_kept(path))
    assert not stream.again
    for threads in (1, 4):
        given = {**keywords, "threads": threads, "start": start}
        if "json" in given:
            given["types"] = TypeOptions(json=given.pop("json"))
        if history is not None:
            with SchemaHistory.open(history) as opened:
                changes = [
                    kept(change) for change in binarrow.read_binlog(files, history=opened, **given)
                ]
        else:
            changes = [kept(change) for change in binarrow.read_binlog(files, **given)]
        assert_same(
            stream, read(changes), f"seed {seed}: the stream and files with {threads} threads"
        )
    mirror = Mirror(storm.known, database)
    mirror.play(all_kept(path))
    mirror.compare(server, storm.select_names(), tally.compared)
    tally.rounds += 1
    tally.transactions += storm.transactions
    tally.changes += mirror.changes
    tally.again += stream.again
    tally.connections += weather.proxy.connections
    tally.faults += weather.faults
    tally.kills += consumers.kills
    tally.stops += consumers.stops
    print(
        f"({mirror.changes} changes, refused {dict(storm.refused.most_common(6))})",
        end="",
        flush=True,
    )
    server.execute(f"DROP DATABASE {oracle.quote(database)}")
    until(lambda: purged(server))


def begin(server: Server, history: str | None) -> Position:
    """The end of the log, and the structures there."""
    server.flush_binlog()
    with binarrow.connect(socket=str(server.socket), user="root") as connection:
        if history is None:
            return connection.position()
        with SchemaHistory.open(history) as opened:
            opened.baseline(connection)
            return opened.covered[0].start


def purged(server: Server) -> bool:
    """Removes files that were compared; a file that is being read stays for a moment."""
    last = server.binlog_files()[-1].name
    server.execute(f"PURGE BINARY LOGS TO '{last}'")
    return True
