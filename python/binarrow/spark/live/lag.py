"""The lag of a streaming query, which Spark shows in the query's progress as `latestOffset`."""

from __future__ import annotations

import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from binarrow.syncing.source_status import SourceStatus

if TYPE_CHECKING:
    from binarrow import Position
    from binarrow.spark.live.server_log import ServerLog

INTERVAL = 2.0
"""Minimum seconds between two questions to the server: an idle query asks very often."""

MOST = 1000
"""The number of ends of the log that are kept until the query has reached them."""


class Lag:
    """The time and the bytes between the end of the last batch and the end of the log."""

    def __init__(self, log: ServerLog) -> None:
        self._log = log
        self._end: Position | None = None
        self._is_loading = False
        self._through: datetime | None = None
        self._status: SourceStatus | None = None
        self._asked = -INTERVAL
        self._unreached: deque[SourceStatus] = deque()

    def planned(self, end: Position, *, is_loading: bool) -> None:
        """Notes the end of a batch."""
        self._end, self._is_loading = end, is_loading
        while self._unreached and self._unreached[0].is_reached(end):
            self._add(self._unreached.popleft().time)
        if end.file_created is not None:
            # All commits in earlier files.
            self._add(datetime.fromtimestamp(end.file_created, UTC))

    def report(self) -> dict[str, Any]:
        """Returns the values for the query's progress; those that are not known are None."""
        now = time.monotonic()
        if self._status is None or now - self._asked >= INTERVAL:
            self._asked, self._status = now, self._log.ask(SourceStatus.of)
            if len(self._unreached) < MOST:
                self._unreached.append(self._status)
            if self._end is not None:
                self.planned(self._end, is_loading=self._is_loading)
        through = None if self._is_loading else self._through
        lag = None if through is None else (self._status.now() - through).total_seconds()
        return {
            "bytes_to_read": None if self._end is None else self._status.bytes_after(self._end),
            "complete_through": None if through is None else through.isoformat(),
            "lag_seconds": None if lag is None else round(max(0.0, lag), 3),
        }

    def _add(self, moment: datetime) -> None:
        if self._through is None or moment > self._through:
            self._through = moment


__all__ = ["Lag"]
