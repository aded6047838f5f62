"""`complete_through`: the time of the server up to which the target contains all commits."""

from __future__ import annotations

import json
import random
import re
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

import binarrow
from binarrow.syncing import commits, source_watch
from support.documents import REPOSITORY
from support.oracles.delta_tables import read_delta
from support.sync_source import Source, two_kinds
from support.waiting import pause_at_random, until

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

NOW = "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks the server often, and commits soon without changes."""
    monkeypatch.setattr(source_watch, "SHORTEST", 0.1)
    monkeypatch.setattr(commits, "IDLE", 0.3)


def stored(source: Source) -> tuple[int | None, set[int]]:
    """The time in the target, in microseconds, and the keys of the table that it has with it."""
    if source.kind == "duckdb":
        with duckdb.connect(str(source.file), read_only=True) as file:
            [(through,)] = file.execute(
                "SELECT epoch_us(complete_through) FROM _binarrow.sync"
            ).fetchall()
            return through, {row[0] for row in file.execute("SELECT id FROM shop.t").fetchall()}
    text = json.loads((source.file / "_binarrow/complete_through.json").read_text())
    moment = text["complete_through"]
    through = moment and (datetime.fromisoformat(moment) - EPOCH) // timedelta(microseconds=1)
    rows = read_delta(source.file, "shop.t")
    return through, {int(dict(row)["id"]) for row in rows}


def readable(source: Source) -> tuple[int | None, set[int]]:
    """`stored`, as soon as the sync does not have the file open."""
    found: list[tuple[int | None, set[int]]] = []

    def is_read() -> bool:
        with suppress(duckdb.Error, OSError):
            found.append(stored(source))
        return bool(found)

    until(is_read)
    return found[0]


class Writers:
    """Sessions that commit into a table that is synced, and into one that is not."""

    def __init__(self, source: Source, count: int) -> None:
        self.committed: list[tuple[int, int]] = []
        """Each key, with the time of the server after its commit."""
        self.may_write = threading.Event()
        self.may_write.set()
        self.is_done = False
        self._source = source
        self._threads = [threading.Thread(target=self._write, args=(one,)) for one in range(count)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_done = True
        self.may_write.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        chance = random.Random(number)
        session = self._source.server.connect()
        key = number
        while not self.is_done:
            self.may_write.wait()
            key += 10
            session.execute("BEGIN", f"INSERT INTO shop.t VALUES ({key})")
            if chance.random() < 0.3:
                session.execute(f"INSERT INTO crm.other VALUES ({key})")
            pause_at_random(chance, 0.02)
            session.execute("COMMIT")
            [(after,)] = session.query(NOW)
            self.committed.append((key, int(after)))
        session.close()


@two_kinds
def test_no_commit_is_missing(source: Source) -> None:
    """Each transaction that a client saw committed before the time is in the target."""
    source.execute(
        "CREATE DATABASE crm",
        "CREATE TABLE crm.other (id INT PRIMARY KEY)",
        "CREATE TABLE shop.t (id INT PRIMARY KEY)",
        "INSERT INTO shop.t VALUES (1)",
    )
    checked, times = 0, [0]

    def check() -> int:
        """Returns the number of times at which all expected rows were there."""
        nonlocal checked
        through, keys = readable(source)
        if through is not None:
            expected = {key for key, after in list(writers.committed) if after < through}
            assert expected <= keys
            checked += len(expected)
            if through != times[-1]:
                times.append(through)
        return len(times)

    with source.syncing() as progress, Writers(source, 3) as writers:
        until(lambda: source.last_commit and progress.stats().complete_through)
        for may_write in (True, False, True):
            (writers.may_write.set if may_write else writers.may_write.clear)()
            before = check()
            until(lambda before=before: check() > before + 2)
        until(lambda: check() and checked > 100)
    assert times == sorted(times)
    through, keys = stored(source)
    assert through is not None
    assert {key for key, after in writers.committed if after < through} <= keys


@two_kinds
def test_without_changes(source: Source) -> None:
    """It advances, in the target too, if the server has nothing to send; the position does not."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    [(begin,)] = source.server.query(NOW)
    with source.syncing() as progress:
        until(lambda: source.last_commit and progress.stats().complete_through)
        first, position = readable(source)[0], progress.stats().position
        until(lambda: (readable(source)[0] or 0) > (first or 0))
        second = readable(source)[0]
        until(lambda: (readable(source)[0] or 0) > (second or 0))
        until(lambda: (lag := progress.stats().lag_seconds) is not None and lag < 5)
        stats = progress.stats()
        assert stats.position == position
        assert stats.log_bytes_to_read == 0
    [(now,)] = source.server.query(NOW)
    last = readable(source)[0]
    assert last is not None
    assert int(begin) < last < int(now)


@two_kinds
def test_queries_of_the_documentation(source: Source) -> None:
    page = (REPOSITORY / "docs/guides/sync.md").read_text()
    queries = re.findall(r"^\| \w.* \| `(SELECT complete_through.*)` \|$", page, re.M)
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    summary = source.sync()
    if source.kind == "duckdb":
        file, query = str(source.file), queries[0]
    else:
        file, query = ":memory:", queries[1].replace("'lake/", f"'{source.file}/")
    with duckdb.connect(file) as connection:
        [(micros,)] = connection.execute(
            f"SELECT epoch_us(complete_through) FROM ({query}) AS one"
        ).fetchall()
    assert summary.complete_through == EPOCH + timedelta(microseconds=micros)


def test_changes_of_other_tables(source: Source) -> None:
    """It advances with the log, although no change is of a selected table."""
    source.execute("CREATE DATABASE crm", "CREATE TABLE crm.other (id INT PRIMARY KEY)")
    source.execute("CREATE TABLE shop.t (id INT PRIMARY KEY)")
    source.sync()
    first = readable(source)[0]
    source.execute("INSERT INTO crm.other VALUES (1)", "FLUSH BINARY LOGS")
    [(between,)] = source.server.query(NOW)
    summary = source.sync()
    second = readable(source)[0]
    assert first is not None
    assert second is not None
    assert first < int(between) <= second
    assert summary.complete_through == EPOCH + timedelta(microseconds=second)


def test_while_rows_are_loaded(source: Source) -> None:
    """A target that lacks rows has no such time; nor has one to which a table is added."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)")
    values = ", ".join(f"({number})" for number in range(3000))
    source.execute(f"INSERT INTO t VALUES {values}", f"INSERT INTO u VALUES {values}")
    source.sync(tables="shop.t")
    assert readable(source)[0] is not None
    limits = {"max_rows_per_second": 1000, "every": 0.1}
    with source.syncing(**limits) as progress:
        until(lambda: progress.stats().tables.get(("shop", "u")) is not None)
        table = until(lambda: loaded(progress))
        assert table.status == "loading"
        assert progress.stats().complete_through is None
        assert progress.stats().lag_seconds is None
        until(lambda: progress.stats().complete_through)
        table = progress.stats().tables["shop", "u"]
        assert (table.loaded, table.inserts, table.status) == (3000, 0, "followed")
    source.check("shop.t", "shop.u")


def loaded(progress: object) -> object:
    one = progress.stats().tables["shop", "u"]  # type: ignore[attr-defined]
    return one if 0 < one.loaded < 3000 else None


def test_a_time_in_the_future(source: Source) -> None:
    """A client may set the time of its statements, which old servers log as that of the commit."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    source.sync()
    source.execute("SET timestamp = UNIX_TIMESTAMP() + 86400", "INSERT INTO t VALUES (1)")
    source.execute("SET timestamp = DEFAULT")
    source.sync()
    [(now,)] = source.server.query(NOW)
    through = readable(source)[0]
    assert through is not None
    assert through < int(now)
    source.check("shop.t")


def test_a_target_of_an_earlier_version(source: Source) -> None:
    """A DuckDB file without the column gets it."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    source.sync()
    with duckdb.connect(str(source.file)) as file:
        file.execute("ALTER TABLE _binarrow.sync DROP COLUMN complete_through")
    source.execute("INSERT INTO t VALUES (2)")
    source.sync()
    assert readable(source)[0] is not None
    source.check("shop.t")


def test_a_folder_of_parquet_files(source: Source, tmp_path: Path) -> None:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    login = {"password_file": source.password_file, "tables": "shop.*"}
    summary = binarrow.sync(
        source.url, f"parquet+file:///{tmp_path}/changes", mode="history", once=True, **login
    )
    text = (tmp_path / "changes/_binarrow/complete_through.json").read_text()
    assert summary.complete_through is not None
    assert json.loads(text)["complete_through"] == summary.complete_through.isoformat()
