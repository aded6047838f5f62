"""Metrics of streaming queries for Prometheus, from their progress."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from binarrow.metrics import Family, Kind, exposition
from binarrow.metrics.server import serve

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

FAMILIES: tuple[tuple[str, Kind, str], ...] = (
    ("binarrow_spark_query_active", "gauge", "1 if the query runs, 0 if it has ended."),
    ("binarrow_spark_batches_total", "counter", "Batches with rows."),
    ("binarrow_spark_input_rows_total", "counter", "Rows read."),
    ("binarrow_spark_last_progress_timestamp_seconds", "gauge", "The time of the last progress."),
    ("binarrow_spark_lag_seconds", "gauge", "Time since the moment up to which all is read."),
    (
        "binarrow_spark_complete_through_timestamp_seconds",
        "gauge",
        "The time of the server up to which all commits are in the batches.",
    ),
    ("binarrow_spark_log_to_read_bytes", "gauge", "Bytes of the log after the last batch."),
)


@dataclass
class _Query:
    """A query, with the values of its metrics by the number of the source."""

    name: str
    is_active: bool = True
    batches: int = 0
    rows: int = 0
    noted: float = field(default_factory=time.time)
    sources: dict[int, dict[str, Any]] = field(default_factory=dict)


class MetricsListener(StreamingQueryListener):
    """Shows metrics of the queries that read the format ``binarrow`` from servers.

        from binarrow.spark import MetricsListener

        listener = MetricsListener("127.0.0.1:9101")
        spark.streams.addListener(listener)

    The metrics are available at :attr:`url` until :meth:`close`. Their label ``query`` is the name
    of the query, or its id. The lag and the bytes are those in ``sources[].latestOffset`` of the
    progress of a query. The lag also increases while a query makes no progress.

    Args:
        address: An address with a port, or only a port, on the loopback address: see
            :func:`binarrow.sync`.

    Raises:
        ConfigError: The address is not valid, or the port is in use.
    """

    def __init__(self, address: str) -> None:
        self._lock = threading.Lock()
        self._queries: dict[str, _Query] = {}
        self._stack = ExitStack()
        self.url: str = self._stack.enter_context(serve(address, self.text))
        """The place of the metrics: ``http://127.0.0.1:9101/metrics``."""

    def close(self) -> None:
        """Ends the server of the metrics."""
        self._stack.close()

    def text(self) -> str:
        """Returns the metrics in the text format of Prometheus."""
        with self._lock:
            values = [one for query in self._queries.values() for one in _values(query)]
        return exposition(
            Family(
                name, kind, text, [(labels, value) for one, labels, value in values if one == name]
            )
            for name, kind, text in FAMILIES
        )

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Begins with the metrics of a query."""
        with self._lock:
            self._query(str(event.id), event.name).is_active = True

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Updates the metrics of a query."""
        progress = json.loads(event.progress.json)
        reports = {
            number: latest
            for number, source in enumerate(progress["sources"])
            if "bytes_to_read" in (latest := _object(source.get("latestOffset")))
        }
        with self._lock:
            query = self._query(progress["id"], progress.get("name"))
            query.noted, query.sources = time.time(), reports
            rows = progress.get("numInputRows") or 0
            query.rows += rows
            query.batches += rows > 0

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Is called while a query has no data; its metrics remain."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Notes the end of a query: only its counts and its state remain."""
        with self._lock:
            query = self._queries.get(str(event.id))
            if query is not None:
                query.is_active, query.sources = False, {}

    def _query(self, key: str, name: str | None) -> _Query:
        return self._queries.setdefault(key, _Query(name or key))


def _object(latest: Any) -> dict[str, Any]:
    """Returns an offset in a query's progress, which is JSON or text of JSON."""
    found = json.loads(latest) if isinstance(latest, str) else latest
    return found if isinstance(found, dict) else {}


def _values(query: _Query) -> Iterator[tuple[str, dict[str, str], float]]:
    labels = {"query": query.name}
    yield "binarrow_spark_query_active", labels, float(query.is_active)
    yield "binarrow_spark_batches_total", labels, query.batches
    yield "binarrow_spark_input_rows_total", labels, query.rows
    yield "binarrow_spark_last_progress_timestamp_seconds", labels, query.noted
    for number, latest in query.sources.items():
        labels = {"query": query.name, "source": str(number)}
        if latest.get("bytes_to_read") is not None:
            yield "binarrow_spark_log_to_read_bytes", labels, latest["bytes_to_read"]
        if latest.get("lag_seconds") is not None:
            lag = latest["lag_seconds"] + max(0.0, time.time() - query.noted)
            yield "binarrow_spark_lag_seconds", labels, lag
        if latest.get("complete_through") is not None:
            through = datetime.fromisoformat(latest["complete_through"]).timestamp()
            yield "binarrow_spark_complete_through_timestamp_seconds", labels, through


__all__ = ["MetricsListener"]
