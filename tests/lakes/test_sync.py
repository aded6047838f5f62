"""`binarrow.spark.sync`: several tables in one query, stopped between the commits of two tables; the target is what SELECT gives."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import ConfigError
from binarrow.spark import sync
from binarrow.spark.history_files.delta import DeltaFiles
from binarrow.spark.history_files.iceberg import IcebergFiles
from binarrow.spark.live.read_limit import IS_LIMITED
from binarrow.spark.mirror.table import TableMirror
from binarrow.spark.syncing.filled_columns import FILL, FilledColumns
from support import live
from support.servers.servers import Server

WAIT = 240
CRASHES = 3

# Before Spark 4.2, runs with once=True do not find out that a load is complete, and refuse ALTER TABLE afterwards.
LOADED: dict[str, Any] = {} if IS_LIMITED else {"options": {"startingOffsets": "earliest"}}
TABLES = {
    "orders": "id INT PRIMARY KEY, status VARCHAR(20) CHARACTER SET utf8mb4, total DECIMAL(10,2), at DATETIME(6)",
    "users": "name VARCHAR(20) CHARACTER SET utf8mb4, town VARCHAR(20) CHARACTER SET utf8mb4, n BIGINT UNSIGNED, PRIMARY KEY (name, town)",
    "visits": "id BIGINT PRIMARY KEY, page TEXT CHARACTER SET utf8mb4, size FLOAT",
    "empty": "id INT PRIMARY KEY, note TEXT",
}


# The tests of a lake take turns with the servers, so that they do not take twice as long. `BINARROW_LAKE_SERVERS=all` runs all.
ALL = ["mysql", "mariadb-11.8"]
ONE, OTHER = (
    ([ALL[0]], [ALL[1]]) if os.environ.get("BINARROW_LAKE") == "delta" else ([ALL[1]], [ALL[0]])
)
if os.environ.get("BINARROW_LAKE_SERVERS") == "all":
    ONE = OTHER = ALL


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        started.execute(
            "CREATE DATABASE shop",
            "GRANT SELECT ON shop.* TO live@'%'",
            *(f"CREATE TABLE shop.{name} ({columns})" for name, columns in TABLES.items()),
        )
        yield started


class Writer(threading.Thread):
    """Transactions on all tables but `empty`."""

    def __init__(self, server: Server, seed: int) -> None:
        super().__init__(daemon=True)
        self.session = server.connect()
        self.draw = random.Random(seed)
        self.over = threading.Event()
        self.error: Exception | None = None
        self.has_extra = False

    def run(self) -> None:
        try:
            while not self.over.is_set():
                self.play(1)
                time.sleep(0.01)
        except Exception as error:  # noqa: BLE001 - raised again at the end
            self.error = error

    def play(self, transactions: int) -> None:
        for _ in range(transactions):
            statements = [self.statement() for _ in range(self.draw.choice((1, 2, 6)))]
            self.session.execute(
                "BEGIN", *statements, self.draw.choice(("COMMIT",) * 9 + ("ROLLBACK",))
            )

    def statement(self) -> str:
        draw = self.draw
        table = draw.choice(("orders", "users", "visits"))
        number = draw.randrange(200)
        key = f"id = {number}"
        if table == "users":
            key = f"name = 'n{number % 9}' AND town = 't{number % 7}'"
        match draw.randrange(8):
            case 0:
                return f"DELETE FROM shop.{table} WHERE {key}"
            case 1:
                other = "name = 'n8'" if table == "users" else f"id = {draw.randrange(200)}"
                return f"UPDATE IGNORE shop.{table} SET {other} WHERE {key}"
            case 2 if table == "orders":
                return f"UPDATE shop.orders SET total = total + 1 WHERE id BETWEEN {number} AND {number + 5}"
        columns = {"visits": " (id, page, size)"}.get(table, "")
        extra = f", {draw.choice(('NULL', '5'))}" if self.has_extra else ""
        status = draw.choice(("'new'", "'sent 📦'", "NULL"))
        values = {
            "orders": f"{number}, {status}, {number / 4}, NOW(6){extra}",
            "users": f"'n{number % 9}', 't{number % 7}', {draw.choice((0, 2**64 - 1))}",
            "visits": f"{number}, REPEAT('p\"', {number % 9}), {number / 8}",
        }[table]
        return f"REPLACE INTO shop.{table}{columns} VALUES ({values})"

    def __enter__(self) -> Writer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join(30)
        self.session.close()
        if self.error is not None:
            raise self.error


class Synced:
    """A target, and the sync into it."""

    def __init__(self, lake: Any, server: Server, folder: Path, **keywords: Any) -> None:
        self.lake, self.server, self.folder, self.keywords = lake, server, folder, keywords
        self.target = f"delta+file:///{folder}/lake" if lake.format == "delta" else "iceberg://lake"
        (folder / "secret").write_text(f"{live.USER['password']}\n")
        if lake.format == "iceberg":
            for name in (*TABLES, "later"):
                lake.spark.sql(f"DROP TABLE IF EXISTS lake.shop.{name}")

    def start(self, **more: Any) -> Any:
        url = f"mysql://live@127.0.0.1:{self.server.port}/?allow_public_key_retrieval=true"
        keywords: dict[str, Any] = {
            "password_file": self.folder / "secret",
            "options": {"chunkRows": "40", "numPartitions": "2"},
            **self.keywords,
            **more,
        }
        if self.lake.format == "iceberg":
            keywords["checkpoint"] = self.folder / "checkpoint"
        return sync(self.lake.spark, url, "shop.*", self.target, **keywords)

    def run(self) -> None:
        """Runs to the end of the log: before Spark 4.2, the first run may end with the batch that it repeats."""
        for _ in range(1 if IS_LIMITED else 2):
            query = self.start(once=True)
            assert query.awaitTermination(WAIT)
            assert query.exception() is None, str(query.exception())

    def name(self, table: str) -> str:
        if self.lake.format == "delta":
            return f"delta.`{self.folder}/lake/shop/{table}`"
        return f"lake.shop.{table}"

    def rows(self, table: str, columns: str = "*") -> Counter[Any]:
        frame = self.lake.spark.table(self.name(table)).selectExpr(*columns.split(", "))
        return Counter(tuple(row) for row in frame.collect())

    def check(self) -> None:
        for table in TABLES:
            columns = [row[0] for row in self.server.query(f"SHOW COLUMNS FROM shop.{table}")]
            listed = ", ".join(columns)
            selected = self.server.query(f"SELECT {listed} FROM shop.{table}")
            assert self.rows(table, listed) == Counter(map(tuple, selected)), table


@pytest.mark.parametrize("server", OTHER, indirect=True)
def test_once(lake: Any, server: Server, tmp_path: Path) -> None:
    """The first run loads existing rows, the second applies changes, the third has none."""
    writer = Writer(server, 1)
    writer.play(150)
    synced = Synced(lake, server, tmp_path, **LOADED)
    synced.run()
    synced.check()
    writer.play(100)
    server.execute(
        "TRUNCATE shop.visits",
        "INSERT INTO shop.visits VALUES (7, 'a', 0.5)",
        "CREATE TABLE shop.later (id INT PRIMARY KEY, n INT)",
        "INSERT INTO shop.later VALUES (1, 2), (3, NULL)",
        "ALTER TABLE shop.orders ADD COLUMN extra INT",
    )
    writer.has_extra = True
    writer.play(30)
    synced.run()
    synced.check()
    assert synced.rows("later") == Counter([(1, 2), (3, None)])
    synced.run()
    synced.check()


class CrashError(Exception):
    """Raised between the commits of two tables."""


@pytest.mark.parametrize(
    ("server", "mode"),
    [*((name, "mirror") for name in ONE), *((name, "history") for name in OTHER)],
    indirect=["server"],
)
def test_crashes(
    lake: Any, server: Server, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are stopped between the commits of their tables while the tables change."""
    draw = random.Random(f"{mode}{lake.format}")
    crashes = 0
    files = "auto"

    def crashing(action: Any, ways: tuple[str, ...]) -> Any:
        def act_or_crash(*arguments: Any) -> Any:
            nonlocal crashes
            is_possible = is_running.is_set() and files in ways and crashes < CRASHES
            if is_possible and draw.random() < 0.4:
                crashes += 1
                raise CrashError
            return action(*arguments)

        return act_or_crash

    # In every second run, tasks write the files of a history.
    ways = ("spark",) if mode == "history" else ("auto",)
    monkeypatch.setattr(TableMirror, "evolve", crashing(TableMirror.evolve, ways))
    for target in (DeltaFiles, IcebergFiles):
        monkeypatch.setattr(target, "commit", crashing(target.commit, ("auto",)))
    is_running = threading.Event()
    Writer(server, 2).play(120)
    start = server.query("SHOW BINARY LOGS")[0][0]
    synced = Synced(lake, server, tmp_path, mode=mode, every=0.1)
    if mode == "history":  # without a load, each change is there exactly once
        synced.keywords["options"] = {"startingOffsets": "earliest", "numPartitions": "2"}
    is_running.set()
    with Writer(server, 3):
        for run in range(30):
            if crashes == CRASHES:
                break
            files = ("auto", "spark")[run % 2] if mode == "history" else "auto"
            query = synced.start(once=run % 3 != 2, files=files)
            _wait(query, draw.uniform(3, 9) if run % 3 == 2 else WAIT)
            query.stop()
    is_running.clear()
    assert crashes == CRASHES
    synced.run()
    if mode == "mirror":
        synced.check()
        return
    check_history(synced, start)


@pytest.mark.parametrize("server", ONE, indirect=True)
def test_filled_columns(
    lake: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of new and renamed columns are read from the server, also after a crash before or after this step."""
    fill, evolve = FilledColumns.fill, TableMirror.evolve
    crashes = ["before the values", "after the values", "before the columns", ""]

    def fill_or_crash(*arguments: Any) -> None:
        if crashes[0] == "before the values":
            raise CrashError
        fill(*arguments)
        if crashes[0] == "after the values":
            raise CrashError

    def evolve_or_crash(*arguments: Any) -> None:
        if crashes[0] == "before the columns":
            raise CrashError
        evolve(*arguments)

    monkeypatch.setattr(FilledColumns, "fill", fill_or_crash)
    monkeypatch.setattr(TableMirror, "evolve", evolve_or_crash)
    writer = Writer(server, 4)
    writer.play(60)
    server.execute("INSERT INTO shop.empty VALUES (1, 'only in the target')")
    synced = Synced(lake, server, tmp_path, **LOADED)
    crashes.insert(0, "")
    synced.run()
    server.execute("ALTER TABLE shop.empty DROP COLUMN note")
    writer.play(10)
    synced.run()
    crashes.pop(0)
    writer.play(60)
    server.execute(
        "ALTER TABLE shop.visits ADD COLUMN filled INT NOT NULL DEFAULT 5, ADD COLUMN plain INT",
        "ALTER TABLE shop.visits ADD COLUMN at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
        "UPDATE shop.visits SET filled = 6 WHERE id < 50",
        "ALTER TABLE shop.empty ADD COLUMN Note TEXT, ADD COLUMN price DECIMAL(8,2) NOT NULL",
        "ALTER TABLE shop.users RENAME COLUMN n TO number",
    )
    writer.play(60)
    while crashes[0]:
        query = synced.start(once=True)
        with pytest.raises(Exception, match="CrashError"):
            query.awaitTermination(WAIT)
        crashes.pop(0)
    synced.run()
    synced.check()
    assert not [
        row
        for row in lake.spark.sql(f"SHOW TBLPROPERTIES {synced.name('visits')}").collect()
        if row.key == FILL
    ]
    assert synced.rows("empty", "id, note") == Counter([(1, None)])
    server.execute(
        "ALTER TABLE shop.empty DROP PRIMARY KEY, ADD COLUMN n INT PRIMARY KEY AUTO_INCREMENT"
    )
    server.execute("INSERT INTO shop.empty VALUES (3, 'other key', 1, 3)")
    query = synced.start(once=True)
    with pytest.raises(Exception, match="rows without them cannot be identified"):
        query.awaitTermination(WAIT)


def _wait(query: Any, seconds: float) -> None:
    """Waits for the crash of a query, or a part of the time."""
    end = time.monotonic() + seconds
    while query.isActive and time.monotonic() < end:
        time.sleep(0.1)
    assert query.exception() is None or "CrashError" in str(query.exception()), query.exception()


def check_history(synced: Synced, start: str) -> None:
    """Every change in the log is there once."""
    files = [str(file) for file in synced.server.binlog_files() if file.name >= start]
    for table in TABLES:
        with binarrow.read_binlog(
            files, tables=f"shop.{table}", types="spark", statements="skip"
        ) as reader:
            logged = Counter(
                (row["_change_type"], row["_commit_version"], row["_change_ordinal"])
                for batch in reader
                for row in batch.to_pyarrow().to_pylist()
            )
        found = synced.rows(table, "_change_type, _commit_version, _change_ordinal")
        assert found == logged, table
        assert max(found.values(), default=1) == 1, table


@pytest.mark.parametrize("server", ONE, indirect=True)
def test_errors(lake: Any, server: Server, tmp_path: Path) -> None:
    """Everything that cannot be synced ends the query, and the message says what to do."""
    server.execute("INSERT INTO shop.orders VALUES (1, 'x', 1, NULL)")
    synced = Synced(lake, server, tmp_path, **LOADED)
    synced.run()
    server.execute("ALTER TABLE shop.orders ADD COLUMN extra INT NOT NULL DEFAULT 5")
    server.execute("INSERT INTO shop.orders VALUES (2, 'x', 1, NULL, 6)")
    query = synced.start(once=True, schema_changes="fail")
    with pytest.raises(Exception, match="columns were added"):
        query.awaitTermination(WAIT)
    other = Synced.__new__(Synced)
    other.__dict__ |= {**synced.__dict__, "keywords": {"checkpoint": tmp_path / "other"}}
    if lake.format == "delta":
        query = other.start(once=True)
        with pytest.raises(Exception, match="another query has created"):
            query.awaitTermination(WAIT)
    server.execute("CREATE TABLE shop.keyless (n INT)", "INSERT INTO shop.keyless VALUES (1)")
    query = synced.start(once=True)
    with pytest.raises(Exception, match="needs a key"):
        query.awaitTermination(WAIT)


@pytest.mark.parametrize(
    ("target", "keywords", "message"),
    [
        ("/lake", {}, "is not known: write delta"),
        ("delta+file://lake", {}, "has no folder"),
        ("iceberg://lake", {}, "needs the argument checkpoint"),
        ("delta+s3a://bucket/lake", {"checkpoint": "s3a://bucket/ck"}, "snapshotStateFile"),
        ("delta+file:///x", {"mode": "scd2"}, "scd2"),
        ("delta+file:///x", {"mode": "other"}, "mode is"),
        ("delta+file:///x", {"on_truncate": "drop"}, "on_truncate is"),
        ("delta+file:///x", {"schema_changes": "widen"}, "schema_changes is"),
        ("delta+file:///x", {"every": -1}, "every is"),
        ("delta+file:///x", {"options": {"Table": "a.b"}}, "which is set by sync"),
        ("delta+file:///x", {"options": {"chunkRow": "4"}}, "unknown option"),
    ],
)
def test_arguments(lake: Any, target: str, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sync(lake.spark, "mysql://u@h/", "shop.*", target, **keywords)
