"""Tasks that do not end by themselves leave nothing open: no dump on the server, no file."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binarrow.spark import register
from support import live
from support.live import dumps, until
from support.servers.proxy import Link, Proxy
from support.servers.servers import Server
from support.workloads.spark_load import GRANT

SLOW = Link(piece=4096, pause=0.03)
ROWS, LENGTH = 120, 250_000
"""More log than the buffers of sockets take: the server's thread exists until it is ended."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with live.server("mysql") as started:
        started.execute(GRANT)
        for number in range(ROWS):
            started.execute(f"INSERT INTO live.big VALUES ({number}, REPEAT('x', {LENGTH}))")
        yield started


@pytest.fixture
def slow(server: Server) -> Iterator[Proxy]:
    with Proxy(server.port, lambda _: SLOW) as proxy:
        yield proxy


def options(proxy: Proxy) -> dict[str, Any]:
    given = {"host": "127.0.0.1", "port": proxy.port, "user": "live", "table": "live.big"}
    given |= {"password": live.USER["password"], "allowPublicKeyRetrieval": True}
    return given | {"startingOffsets": "earliest", "reconnect": 1}


def workers() -> list[int]:
    """The processes of Spark's Python workers, below this process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parents = ancestors(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"pyspark.daemon" in words and os.getpid() in parents:
            found.append((len(parents), int(entry.name)))
    deepest = max(found, default=(0, 0))[0]  # the daemon forks them
    return [number for depth, number in found if depth == deepest]


def ancestors(number: int) -> list[int]:
    found = []
    while number > 1:
        number = int(Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[1])
        found.append(number)
    return found


def files() -> set[str]:
    """The temporary files that may be ours; those of servers and certificates belong to tests."""
    names = {entry.name for entry in Path(tempfile.gettempdir()).iterdir()}
    tests = ("binarrow-server-", "binarrow-tls-")
    return {name for name in names if "bin" in name and not name.startswith(tests)}


def reading(spark: Any) -> bool:
    """True if a task is running."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return any(stage is not None and stage.numActiveTasks for stage in stages)


@pytest.mark.parametrize("way", ["cancelled task", "dead worker", "stopped query"])
def test_nothing_stays(spark: Any, server: Server, slow: Proxy, tmp_path: Path, way: str) -> None:
    register(spark)
    before = files()
    assert not dumps(server)
    errors: list[Exception] = []
    if way == "stopped query":
        changes = spark.readStream.format("binarrow").options(**options(slow)).load()
        query = changes.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
        query = query.start()
    else:
        changes = spark.read.format("binarrow").options(**options(slow)).load()

        def count() -> None:
            try:
                changes.count()
            except Exception as error:  # noqa: BLE001 - what kind it is, is Spark's
                errors.append(error)

        counting = threading.Thread(target=count)
        counting.start()
    until(lambda: reading(spark), 60)
    until(lambda: dumps(server), 60)
    if way == "stopped query":
        query.stop()
        assert not query.isActive
    elif way == "cancelled task":
        spark.sparkContext.cancelAllJobs()
    else:
        for number in workers():
            os.kill(number, signal.SIGKILL)
    if way != "stopped query":
        counting.join(60)
        assert len(errors) == 1
    until(lambda: not dumps(server), 10)
    assert files() == before
