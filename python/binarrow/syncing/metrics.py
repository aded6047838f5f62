"""The metrics of a sync, for Prometheus."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from binarrow.metrics import Family, exposition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from binarrow.syncing.progress import SyncProgress, SyncStats


def text_of(progress: SyncProgress) -> str:
    """Returns the metrics of a sync as text. A value that is not known is left out."""
    return exposition(families(progress.stats()))


def families(stats: SyncStats) -> Iterator[Family]:
    """Returns the metrics of a sync."""
    for name, help_text, value in (
        (
            "binarrow_lag_seconds",
            "Time since the moment up to which the target contains all commits.",
            stats.lag_seconds,
        ),
        (
            "binarrow_complete_through_timestamp_seconds",
            "The time of the server up to which the target contains all commits.",
            _seconds(stats.complete_through),
        ),
        (
            "binarrow_seconds_since_last_event",
            "Time since the server sent an event or a heartbeat.",
            stats.seconds_since_last_event,
        ),
        (
            "binarrow_log_retention_headroom_seconds",
            "Time after which the server may purge its log at the position of the target.",
            stats.retention_headroom_seconds,
        ),
        (
            "binarrow_log_to_read_bytes",
            "Bytes of the server's log after the position of the target.",
            stats.log_bytes_to_read,
        ),
        (
            "binarrow_last_commit_timestamp_seconds",
            "The time of the last commit.",
            _seconds(stats.last_commit),
        ),
    ):
        yield Family(name, "gauge", help_text, [({}, value)] if value is not None else [])
    yield Family(
        "binarrow_commit_duration_seconds",
        "histogram",
        "Durations of commits of the target.",
        histogram=stats.commit_seconds,
    )
    for name, help_text, count in (
        ("binarrow_log_received_bytes_total", "Bytes of the log received.", stats.received_bytes),
        ("binarrow_reconnects_total", "Connections opened after a lost one.", stats.reconnects),
    ):
        yield Family(name, "counter", help_text, [({}, count)])
    yield Family(
        "binarrow_errors_total",
        "counter",
        "Errors after which the sync continued.",
        [({"kind": kind}, count) for kind, count in stats.errors.items()],
    )
    yield from _of_tables(stats)


def _of_tables(stats: SyncStats) -> Iterator[Family]:
    statuses = Counter(table.status for table in stats.tables.values())
    labels = {name: {"database": name[0], "table": name[1]} for name in stats.tables}
    yield Family(
        "binarrow_tables",
        "gauge",
        "Number of tables, by status.",
        [({"status": status}, count) for status, count in sorted(statuses.items())],
    )
    yield Family(
        "binarrow_rows_total",
        "counter",
        "Existing rows and changes read.",
        [
            ({**labels[name], "kind": kind}, count)
            for name, one in stats.tables.items()
            for kind, count in (
                ("load", one.loaded),
                ("insert", one.inserts),
                ("update", one.updates),
                ("delete", one.deletes),
            )
        ],
    )
    yield Family(
        "binarrow_bytes_total",
        "counter",
        "Bytes of existing rows in memory (load), and of changes in the log (log).",
        [
            ({**labels[name], "kind": kind}, count)
            for name, one in stats.tables.items()
            for kind, count in (("load", one.loaded_bytes), ("log", one.log_bytes))
        ],
    )
    yield Family(
        "binarrow_load_estimated_rows",
        "gauge",
        "The server's estimate of the existing rows of a table that is or was loaded.",
        [
            (labels[name], one.estimate)
            for name, one in stats.tables.items()
            if one.estimate is not None
        ],
    )


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


__all__ = ["families", "text_of"]
