"""A stream that lags by many files reads all of them, in parallel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binarrow.spark import register
from support import live
from support.servers.servers import Server
from support.workloads.spark_load import GRANT, ORDERS, TABLE, Load

FILES = 20


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with live.server("mysql") as started:
        started.execute(ORDERS, GRANT)
        load = Load(started)
        for _ in range(FILES):
            load.play(30)
            started.flush_binlog()
        yield started


def test_twenty_files(spark: Any, server: Server, tmp_path: Path, event_log: Path) -> None:
    register(spark)
    frames: list[pa.Table] = []
    changes = (
        spark.readStream.format("binarrow")
        .options(host="127.0.0.1", port=server.port, user="live", table=TABLE)
        .options(password=live.USER["password"], allowPublicKeyRetrieval=True)
        .options(startingOffsets="earliest", numPartitions=4)
        .load()
    )
    query = (
        changes.writeStream.foreachBatch(lambda frame, _: frames.append(frame.toArrow()))
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert FILES / 4 <= len(query.recentProgress) <= FILES
    read = pa.concat_tables(frames).sort_by(
        [("_commit_version", "ascending"), ("_change_ordinal", "ascending")]
    )
    with live.reach(server) as connection:
        stream = connection.stream("earliest", stop="end", types="spark")
        with stream, stream.table(TABLE) as alone:
            expected = pa.table(alone)
    assert read.num_rows > FILES * 30
    assert read.to_pylist() == expected.to_pylist()

    # Spark's event log: four tasks read a batch, and two of them at a time.
    tasks: dict[int, list[tuple[int, int]]] = {}
    for line in event_log.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            took = info["Launch Time"], info["Finish Time"]
            tasks.setdefault(event["Stage ID"], []).append(took)
    overlapping = [
        stage
        for stage, times in tasks.items()
        if len(times) == 4 and any(a < d and c < b for (a, b), (c, d) in pairwise(times))
    ]
    assert len(overlapping) >= FILES // 4
