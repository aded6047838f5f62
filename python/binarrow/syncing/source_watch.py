"""The end of the server's log, its clock and its retention, from a connection of its own.

The time is read before the end of the log: all transactions that were committed until this time
are before this end.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from binarrow._native import BinarrowError, ServerError
from binarrow.syncing.names import shown, split
from binarrow.syncing.source_status import SourceStatus

if TYPE_CHECKING:
    from binarrow.server import Binlog, Server
    from binarrow.syncing.progress import SyncProgress

LOG = logging.getLogger("binarrow.sync")

LONGEST = 10.0
"""The maximum number of seconds between two questions to the server."""

SHORTEST = 1.0
"""The minimum number of seconds."""

MOST = 1000
"""The number of ends of the log that are kept until the sync has reached them."""

RETENTION = (
    "binlog_expire_logs_seconds",
    "expire_logs_days",
    "binlog_expire_logs_auto_purge",
    "max_binlog_total_size",
    "binlog_space_limit",
    "basedir",
)
"""The variables that determine when the server purges a file of its log."""

MANAGED = "/rdsdbbin"
"""The beginning of `basedir` in Amazon RDS, which purges files by a setting of its own."""


class SourceWatch:
    """A thread that asks the server, and notes the answers in the state of a sync."""

    def __init__(self, server: Server, progress: SyncProgress, every: float) -> None:
        self._server = server
        self._progress = progress
        self._interval = min(LONGEST, max(SHORTEST, every))
        self._own: Server | None = None
        self._ends: dict[str, datetime] = {}
        self._reported = ""
        self._wakes = threading.Event()
        self._is_done = False
        self._thread = threading.Thread(target=self._run, name="binarrow-watch", daemon=True)
        self.unreached: deque[SourceStatus] = deque()
        """The answers that the sync has not reached yet, the oldest first."""

    def __enter__(self) -> Self:
        self._ask()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_done = True
        self.wake()
        if self._own is not None:
            self._own.close()  # ends a question that waits
        self._thread.join()

    def wake(self) -> None:
        """Asks the server at once."""
        self._wakes.set()

    def _run(self) -> None:
        while True:
            self._wakes.wait(self._interval)
            self._wakes.clear()
            if self._is_done:
                return
            self._ask()

    def _ask(self) -> None:
        """Asks the server. An error is counted, and the question is asked again later."""
        try:
            if self._own is None:
                self._own = self._server.another()
            status = self._status(self._own)
            missing = self._progress.without_estimate()
            found = self._own.estimates(*map(shown, missing))
        except BinarrowError as error:
            if not self._is_done:
                self._failed(error)
            return
        self._progress.answered(status)
        self._progress.estimated({split(name): count for name, count in found.items()})
        if self.unreached and self.unreached[-1].server != status.server:
            self.unreached.clear()  # a failover
        if len(self.unreached) < MOST:
            self.unreached.append(status)

    def _failed(self, error: BinarrowError) -> None:
        self._progress.failed("source")
        if self._own is not None:
            self._own.close()
            self._own = None
        # After a lost connection, the stream reports the reason if it does not return.
        if isinstance(error, ServerError) and str(error) != self._reported:
            self._reported = str(error)
            LOG.warning("the end of the server's log is not known: %s", error)

    def _status(self, server: Server) -> SourceStatus:
        status = SourceStatus.of(server)
        return replace(
            status,
            retention=retention(server.variables(*RETENTION)),
            ends=self._ends_of(server, status.files),
        )

    def _ends_of(self, server: Server, files: Sequence[Binlog]) -> Mapping[str, datetime]:
        """Returns the end of the file of the position, at which the next one was created."""
        position = self._progress.position
        names = [file.name for file in files]
        if position is None or position.file not in names[:-1] or position.server != server.id:
            return {}
        if position.file not in self._ends:
            following = names[names.index(position.file) + 1]
            created = server.file_start(following, reconnect=None).file_created
            if created is None:
                return {}
            self._ends = {position.file: datetime.fromtimestamp(created, UTC)}
        return self._ends


def retention(variables: Mapping[str, str]) -> timedelta | None:
    """Returns the time for which a server keeps a file of its log; None if it is not known.

    It is not known if files are never purged, or if also the size of the log determines it.
    """
    values = {name.lower(): value for name, value in variables.items()}
    if values.get("binlog_expire_logs_auto_purge", "ON").upper() in {"OFF", "0"}:
        return None
    if values.get("basedir", "").startswith(MANAGED):
        return None
    if any(
        float(values.get(name) or 0) for name in ("max_binlog_total_size", "binlog_space_limit")
    ):
        return None
    seconds = float(values.get("binlog_expire_logs_seconds") or 0)
    seconds = seconds or 86400 * float(values.get("expire_logs_days") or 0)
    return timedelta(seconds=seconds) if seconds else None


__all__ = ["SourceWatch", "retention"]
