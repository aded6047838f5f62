"""The time of the server up to which all commits have arrived."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from binarrow._native import Position
    from binarrow.syncing.operations import Record
    from binarrow.syncing.progress import SyncProgress
    from binarrow.syncing.source_watch import SourceWatch


class CompleteThrough:
    """The time up to which a stream has returned all commits.

    It is the time of the last transaction that was returned, or a later time at which the server's
    log ended before the position of the stream. The latter continues while nothing is committed.
    """

    def __init__(self, watch: SourceWatch, progress: SyncProgress) -> None:
        self._watch = watch
        self._progress = progress
        self._time: datetime | None = None

    def begin(self, time: datetime | None) -> None:
        """Begins with the time that a target contains."""
        self._time = time

    def pass_to(self, position: Position) -> None:
        """Notes the position of the stream."""
        unreached = self._watch.unreached
        while unreached and unreached[0].is_reached(position):
            self._add(unreached.popleft().time)

    def of_commit(self, position: Position, records: Iterable[Record]) -> datetime | None:
        """Returns the time for a commit at a position; None if rows are missing."""
        self.pass_to(position)
        logged = self._progress.last_logged()
        source = self._progress.source
        now = source.now() if source is not None else datetime.now(UTC)
        # A client can set the time of its statements to one in the future.
        if logged is not None and logged <= now:
            self._add(logged)
        return self.at(position, records)

    def at(self, position: Position, records: Iterable[Record]) -> datetime | None:
        """Returns the time up to which all commits have arrived; None if rows are missing."""
        is_incomplete = any(one.status == "incomplete" for one in records)
        return None if position.loading is not None or is_incomplete else self._time

    def _add(self, time: datetime) -> None:
        if self._time is None or time > self._time:
            self._time = time


__all__ = ["CompleteThrough"]
