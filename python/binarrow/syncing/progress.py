"""The state of a sync that runs, which other threads can read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from binarrow.metrics import Histogram
from binarrow.syncing.names import Name, split, split_full

if TYPE_CHECKING:
    from binarrow._native import Position
    from binarrow.stream import Stream
    from binarrow.syncing.operations import Record, State
    from binarrow.syncing.source_status import SourceStatus

ErrorKind: TypeAlias = Literal["source", "target"]

Counts: TypeAlias = Mapping[str, int]

COUNTS = ("inserts", "updates", "deletes", "bytes", "loaded", "loaded_bytes")
"""The counts of a table in the statistics of a stream."""

DURATIONS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""The bounds of a histogram of commits, in seconds."""


@dataclass(frozen=True)
class TableProgress:
    """A table in the statistics of a sync that runs.

    Attributes:
        status: ``"loading"``, or the status of :class:`SyncedTable`.
        loaded: The number of existing rows that were read in this run.
        estimate: The server's estimate of the number of rows, for a table that is loaded in this
            run; it may be wrong by half.
        inserts: The number of inserts in the log.
        updates: The number of updates.
        deletes: The number of deletes.
        loaded_bytes: The bytes of the loaded rows in memory.
        log_bytes: The bytes of the changes in the log.
    """

    status: str
    loaded: int = 0
    estimate: int | None = None
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    loaded_bytes: int = 0
    log_bytes: int = 0

    @property
    def rows(self) -> int:
        """The number of loaded rows and of changes."""
        return self.loaded + self.inserts + self.updates + self.deletes


@dataclass(frozen=True)
class SyncStats:
    """The statistics of a sync that runs: the result of :meth:`SyncProgress.stats`.

    Rows and bytes are counted when they are read, and not when they are committed. A number or a
    time that is not known is None.

    Attributes:
        tables: The tables of the target, by database and name.
        position: The position in the log up to which the target contains the changes.
        complete_through: The time of the server up to which the target contains all commits; None
            while rows are loaded.
        lag_seconds: The time from ``complete_through`` to now, by the clock of the server.
        seconds_since_last_event: The time since the server last sent something.
        log_bytes_to_read: The bytes of the log after ``position``, or after a later place that the
            sync has reached without a change.
        retention_headroom_seconds: The time until the server may purge the log at ``position``.
        received_bytes: The bytes of the log that the server has sent.
        reconnects: The number of connections that were opened after one was lost.
        errors: The number of errors after which the sync continued. ``"source"``: the server did
            not answer a question. ``"target"``: the target was in use, or another program changed a
            table, and the commit was tried again.
        commits: The number of commits.
        commit_seconds: The durations of the commits.
        last_commit: The time of the last commit, by the clock of this machine.
        seconds: The duration of the sync so far.
    """

    tables: Mapping[Name, TableProgress] = field(default_factory=dict)
    position: Position | None = None
    complete_through: datetime | None = None
    lag_seconds: float | None = None
    seconds_since_last_event: float | None = None
    log_bytes_to_read: int | None = None
    retention_headroom_seconds: float | None = None
    received_bytes: int = 0
    reconnects: int = 0
    errors: Mapping[ErrorKind, int] = field(default_factory=dict)
    commits: int = 0
    commit_seconds: Histogram = field(default_factory=lambda: Histogram(DURATIONS))
    last_commit: datetime | None = None
    seconds: float = 0.0

    @property
    def rows(self) -> int:
        """The number of loaded rows and of changes, of all tables."""
        return sum(table.rows for table in self.tables.values())


class SyncProgress:
    """The state of a sync that runs, which other threads can read.

    :func:`binarrow.sync` updates it::

        progress = binarrow.SyncProgress()
        threading.Thread(target=show, args=(progress,), daemon=True).start()
        binarrow.sync("mysql://repl@db.example/", "duckdb:///mirror.duckdb", progress=progress)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._stream: Stream[Any] | None = None
        self._counts: dict[Name, Counts] = {}
        """The counts of streams that have ended."""
        self._received = self._reconnects = 0
        self._records: Mapping[Name, Record] = {}
        self._position: Position | None = None
        self._reached: Position | None = None
        """A later position without changes between the two."""
        self._complete_through: datetime | None = None
        self._source: SourceStatus | None = None
        self._estimates: dict[Name, int] = {}
        self._errors: dict[ErrorKind, int] = {"source": 0, "target": 0}
        self._commit_seconds = Histogram(DURATIONS)
        self._last_commit: datetime | None = None

    # ------------------------------------------------------------------------ the sync

    def begin(self) -> None:
        """Begins to count the seconds of a sync."""
        self._start = time.monotonic()

    @contextmanager
    def reading(self, stream: Stream[Any]) -> Iterator[None]:
        """Includes the counts of a stream, in the block and afterwards."""
        with self._lock:
            self._stream = stream
        try:
            yield
        finally:
            with self._lock:
                self._stream = None
                stats = stream.stats()
                self._counts = _sums(self._counts, stats)
                self._received += stats.get("bytes_received", 0)
                self._reconnects += stats.get("reconnects", 0)

    def add_loaded(self, name: Name, rows: int, bytes_loaded: int) -> None:
        """Counts rows that no stream has read."""
        with self._lock:
            added = {"inserts": rows, "loaded": rows, "loaded_bytes": bytes_loaded}
            self._counts[name] = _sum(self._counts.get(name, {}), added)

    def committed(self, state: State, seconds: float | None) -> None:
        """Notes the state after a commit, and its duration; None if nothing was to be committed."""
        with self._lock:
            self._position, self._records = state.position, state.records
            self._reached = state.position
            self._complete_through = state.complete_through
            if seconds is not None:
                self._commit_seconds.add(seconds)
                self._last_commit = datetime.now(UTC)

    def reached(self, position: Position, complete_through: datetime | None) -> None:
        """Notes that the target has all changes up to a position: no commit is needed for this."""
        self._reached, self._complete_through = position, complete_through

    def answered(self, source: SourceStatus) -> None:
        """Notes an answer of the server."""
        self._source = source

    def estimated(self, estimates: Mapping[Name, int]) -> None:
        """Notes estimates of the number of rows."""
        with self._lock:
            self._estimates.update(estimates)

    def failed(self, kind: ErrorKind) -> None:
        """Counts an error after which the sync continues."""
        with self._lock:
            self._errors[kind] += 1

    @property
    def position(self) -> Position | None:
        """The position of the last commit."""
        return self._position

    @property
    def source(self) -> SourceStatus | None:
        """The last answer of the server."""
        return self._source

    def last_logged(self) -> datetime | None:
        """Returns the time of the last transaction of which the stream has returned all rows."""
        with self._lock:
            return self._stream.stats()["last_commit"] if self._stream is not None else None

    def without_estimate(self) -> list[Name]:
        """Returns the tables that are loaded, and whose number of rows is not known."""
        with self._lock:
            return [name for name in self._loading() if name not in self._estimates]

    def _loading(self) -> set[Name]:
        position = self._position
        found = {split(text) for text in (position.loading if position else None) or ()}
        found |= {
            name
            for name, record in self._records.items()
            if record.status == "incomplete" and not record.key
        }
        return found

    # ------------------------------------------------------------------------ other threads

    def stats(self) -> SyncStats:
        """Returns the statistics so far. Other threads may call this at any time."""
        with self._lock:
            stats = self._stream.stats() if self._stream is not None else {}
            counts = _sums(self._counts, stats)
            loading = self._loading()
            names = sorted({*self._records, *counts})
            tables = {name: self._table(name, counts.get(name, {}), loading) for name in names}
            received = stats.get("last_received")
            return SyncStats(
                tables=tables,
                position=self._position,
                complete_through=self._complete_through,
                lag_seconds=self._since(self._complete_through),
                seconds_since_last_event=_elapsed(received, datetime.now(UTC)),
                log_bytes_to_read=self._bytes_to_read(),
                retention_headroom_seconds=self._headroom(),
                received_bytes=self._received + stats.get("bytes_received", 0),
                reconnects=self._reconnects + stats.get("reconnects", 0),
                errors=dict(self._errors),
                commits=self._commit_seconds.count,
                commit_seconds=self._commit_seconds.copy(),
                last_commit=self._last_commit,
                seconds=time.monotonic() - self._start,
            )

    def _table(self, name: Name, counts: Counts, loading: set[Name]) -> TableProgress:
        loaded = counts.get("loaded", 0)
        record = self._records.get(name)
        status = "loading" if name in loading else record.status if record else "followed"
        estimate = self._estimates.get(name)
        return TableProgress(
            status=status,
            loaded=loaded,
            estimate=None if estimate is None else max(estimate, loaded),
            inserts=counts.get("inserts", 0) - loaded,
            updates=counts.get("updates", 0),
            deletes=counts.get("deletes", 0),
            loaded_bytes=counts.get("loaded_bytes", 0),
            log_bytes=counts.get("bytes", 0),
        )

    def _since(self, moment: datetime | None) -> float | None:
        """Returns the time since a moment of the server's clock."""
        return _elapsed(moment, self._source.now() if self._source else datetime.now(UTC))

    def _bytes_to_read(self) -> int | None:
        if self._source is None or self._reached is None:
            return None
        return self._source.bytes_after(self._reached)

    def _headroom(self) -> float | None:
        if self._source is None or self._position is None:
            return None
        return self._source.headroom(self._position)


def _elapsed(since: datetime | None, now: datetime) -> float | None:
    return None if since is None else max(0.0, (now - since).total_seconds())


def _sums(before: Mapping[Name, Counts], stats: Mapping[str, Any]) -> dict[Name, Counts]:
    """Returns the sums of counts and of those in the statistics of a stream."""
    found = dict(before)
    for text, counts in stats.get("tables", {}).items():
        name = split_full(text)
        known = before.get(name)
        found[name] = counts if known is None else _sum(known, counts)
    return found


def _sum(first: Counts, second: Counts) -> Counts:
    return {kind: first.get(kind, 0) + second.get(kind, 0) for kind in COUNTS}


__all__ = ["ErrorKind", "SyncProgress", "SyncStats", "TableProgress"]
