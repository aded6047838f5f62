"""Lines of JSON about a sync: one for each commit, and one at the end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from binarrow.cli.output import print_json

if TYPE_CHECKING:
    from binarrow import SyncProgress, SyncSummary


class SyncLines:
    """Prints the lines of a sync on stdout."""

    def __init__(self, progress: SyncProgress) -> None:
        self._progress = progress
        self._commits = 0
        self._changes: Mapping[tuple[str, str], int] = {}

    def on_commit(self, summary: SyncSummary) -> None:
        """Prints the line of a commit; nothing if there was nothing to commit."""
        if summary.commits == self._commits:
            return
        changes = {name: one.changes for name, one in summary.tables.items()}
        new = {name: count - self._changes.get(name, 0) for name, count in changes.items()}
        loading = (summary.position.loading if summary.position is not None else None) or ()
        print_json(
            {
                **self._line("commit", summary),
                "rows": sum(new.values()),
                "tables": [
                    {"database": name[0], "table": name[1], "rows": count}
                    for name, count in sorted(new.items())
                    if count
                ],
                "loading": list(loading),
                "lag_seconds": self._progress.stats().lag_seconds,
            }
        )
        self._commits, self._changes = summary.commits, changes

    def at_end(self, summary: SyncSummary, *, is_stopped: bool) -> None:
        """Prints the last line."""
        print_json(
            {
                **self._line("end", summary),
                "rows": summary.changes,
                "tables": [
                    {
                        "database": name[0],
                        "table": name[1],
                        "rows": one.changes,
                        "status": one.status,
                        "reason": one.reason or None,
                        "loads": one.loads,
                    }
                    for name, one in sorted(summary.tables.items())
                ],
                "ended_by": "signal" if is_stopped else "end of log",
            }
        )

    def _line(self, event: str, summary: SyncSummary) -> dict[str, Any]:
        through = summary.complete_through
        return {
            "event": event,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "seconds": round(self._progress.stats().seconds, 3),
            "commits": summary.commits,
            "position": str(summary.position) if summary.position is not None else None,
            "complete_through": through.isoformat() if through is not None else None,
        }


__all__ = ["SyncLines"]
