"""The lag of a streaming query, in its progress and as metrics for Prometheus."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from binarrow.spark import MetricsListener, register
from binarrow.spark.live import lag
from support import live
from support.documents import example
from support.servers.servers import Server
from support.waiting import WAIT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Samples = dict[tuple[str, str], float]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    register(spark)
    return spark


@pytest.fixture(scope="module")
def mysql() -> Iterator[Server]:
    with live.server("mysql") as started:
        started.execute("GRANT SELECT ON live.* TO live@'%'")
        yield started


def reading(session: SparkSession, server: Server, **more: Any) -> DataFrame:
    own = {
        "host": "127.0.0.1",
        "port": server.port,
        "user": "live",
        "password": "l1ve",
        "allowPublicKeyRetrieval": "true",
        "table": "live.t",
        **more,
    }
    options = {key: str(value) for key, value in own.items()}
    return session.readStream.format("binarrow").options(**options).load()


def samples(url: str, query: str) -> Samples:
    with urllib.request.urlopen(url, timeout=WAIT) as answer:
        text = answer.read().decode()
    return {
        (one.name, one.labels.get("source", "")): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if one.labels["query"] == query
    }


def test_progress(session: SparkSession, mysql: Server, tmp_path: Path) -> None:
    """While a query catches up, bytes decrease to 0; what is said to be complete is."""
    with live.reach(mysql) as connection:
        start = connection.position().to_json()
    committed = []
    for key in range(12):
        mysql.execute(f"INSERT INTO live.t VALUES ({key}, REPEAT('x', 150))")
        [(after,)] = mysql.query(NOW)
        committed.append((key, EPOCH + timedelta(microseconds=int(after))))
        if key % 4 == 3:
            mysql.execute("FLUSH BINARY LOGS")
            live.later_second(mysql)
    batches: dict[int, set[int]] = {}

    def take(frame: DataFrame, batch: int) -> None:
        batches[batch] = {int(row["id"]) for row in frame.collect()}

    frame = reading(session, mysql, startingOffsets=start, maxBytesPerTrigger="1500b")
    writer = frame.writeStream.foreachBatch(take)
    query = (
        writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    progress = [json.loads(one.json) for one in query.recentProgress]
    reports = [
        (one["batchId"], one["sources"][0]["latestOffset"])
        for one in progress
        if one["numInputRows"]
    ]
    assert len(reports) >= 3
    sizes = [latest["bytes_to_read"] for _, latest in reports]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1000
    assert sizes[-1] == 0
    checked = 0
    for batch, latest in reports:
        through = datetime.fromisoformat(latest["complete_through"])
        seen = set().union(*(keys for number, keys in batches.items() if number <= batch))
        expected = {key for key, after in committed if after < through}
        assert expected <= seen
        checked += len(expected)
        assert latest["lag_seconds"] >= 0
    assert checked > 12
    assert reports[-1][1]["lag_seconds"] < 10
    assert sorted(set().union(*batches.values())) == list(range(12))


def test_listener(session: SparkSession, mysql: Server, tmp_path: Path) -> None:
    """The metrics of a query are those of its progress, until it ends."""
    code = example("python", "listener").replace(":9101", ":0")
    names: dict[str, Any] = {"spark": session}
    exec(code, names)
    listener: MetricsListener = names["listener"]
    try:
        frame = reading(session, mysql, startingOffsets="latest")
        name = 'watched "query"'
        query = (
            frame.writeStream.foreachBatch(lambda batch, _number: batch.collect())
            .queryName(name)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(processingTime="200 milliseconds")
            .start()
        )
        live.until(lambda: samples(listener.url, name).get(("binarrow_spark_lag_seconds", "0")), 60)
        live.insert(mysql, 1001, 1002, 1003)
        live.until(lambda: samples(listener.url, name)["binarrow_spark_batches_total", ""] >= 1, 60)
        found = samples(listener.url, name)
        assert found["binarrow_spark_query_active", ""] == 1
        now = time.time()
        through = found["binarrow_spark_complete_through_timestamp_seconds", "0"]
        assert now - 60 < through <= now
        assert found["binarrow_spark_log_to_read_bytes", "0"] >= 0
        assert now - 30 < found["binarrow_spark_last_progress_timestamp_seconds", ""] <= now
        before = found["binarrow_spark_lag_seconds", "0"]
        assert before < 60
        query.stop()
        live.until(lambda: samples(listener.url, name)["binarrow_spark_query_active", ""] == 0, 60)
        assert ("binarrow_spark_lag_seconds", "0") not in samples(listener.url, name)
    finally:
        session.streams.removeListener(listener)
        listener.close()
    with pytest.raises(urllib.error.URLError):
        samples(listener.url, name)


def test_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle query asks often; the server is not asked each time."""
    asked = []

    class Log:
        def ask(self, question: object) -> object:
            asked.append(question)
            return lag.SourceStatus("s", datetime.now(UTC), timedelta(0), [])

    one = lag.Lag(Log())  # type: ignore[arg-type]
    for _ in range(1000):
        one.report()
    assert len(asked) == 1
    monkeypatch.setattr(lag, "INTERVAL", 0.0)
    one.report()
    assert len(asked) == 2
