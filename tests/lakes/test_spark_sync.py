"""`binarrow.spark.sync`: several tables in one query, stopped between the commits of two tables; the target is what SELECT gives."""

from __future__ import annotations

import random
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import binarrow
from binarrow import ConfigError
from binarrow.spark import sync
from binarrow.spark.history_files.delta import DeltaFiles
from binarrow.spark.history_files.iceberg import IcebergFiles
from binarrow.spark.mirror.table import TableMirror
from support.servers.servers import Server
from support.spark_sync import LOADED, ONE, OTHER, TABLES, WAIT, CrashError, Synced, Writer

CRASHES = 3


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


def _wait(query: Any, seconds: float) -> None:
    """Waits for the crash of a query, or a part of the time."""
    with suppress(StreamingQueryException):
        query.awaitTermination(seconds)
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
        ("delta+file:///x", {"mode": "other"}, "mode is"),
        ("delta+file:///x", {"on_truncate": "drop"}, "on_truncate is"),
        ("delta+file:///x", {"on_drop": "apply"}, "on_drop is"),
        ("delta+file:///x", {"on_table_error": "skip"}, "on_table_error is"),
        (
            "delta+s3a://bucket/lake",
            {
                "checkpoint": "s3a://bucket/ck",
                "on_table_error": "park",
                "options": {"startingOffsets": "earliest"},
            },
            "on_table_error='park' needs a local",
        ),
        ("delta+file:///x", {"schema_changes": "wide"}, "schema_changes is"),
        ("delta+file:///x", {"every": -1}, "every is"),
        ("delta+file:///x", {"options": {"Table": "a.b"}}, "which is set by sync"),
        ("delta+file:///x", {"options": {"chunkRow": "4"}}, "unknown option"),
    ],
)
def test_arguments(
    lake: Any, tmp_path: Path, target: str, keywords: dict[str, Any], message: str
) -> None:
    target = target.replace("///x", f"///{tmp_path}/x")
    with pytest.raises(ConfigError, match=message):
        sync(lake.spark, "mysql://u@h/", "shop.*", target, **keywords)
