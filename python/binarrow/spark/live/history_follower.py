"""A table history of a query: the driver follows it, and each range carries its part.

Only the process that plans batches opens it, so that a query is one writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from binarrow import Position, SchemaError, SchemaHistory
from binarrow.spark.live.plan import NO_LIMIT, place_of

if TYPE_CHECKING:
    from binarrow.spark.live.server_log import ServerLog


class HistoryOptions(Protocol):
    """Which history, and whose structures tasks need of it."""

    @property
    def history(self) -> str | None:
        """Its URL; None for none."""

    @property
    def history_source(self) -> str | None:
        """Whose, where it holds several."""

    @property
    def history_password_file(self) -> str | None:
        """The password, where it is on a server."""

    @property
    def table(self) -> str | Sequence[str] | None:
        """The tables, as patterns."""


class HistoryFollower:
    """The history that options name. It is opened when it is asked, unless it is given."""

    def __init__(self, options: HistoryOptions, history: SchemaHistory | None = None) -> None:
        self._options = options
        self._history = history

    def begin(self, log: ServerLog) -> None:
        """Sees to it that the history has begun: before a query's first place is looked for."""
        history = self._opened()
        if history is not None and not history.covered:
            head = log.head()
            log.range_end(head, head, NO_LIMIT, history)

    def follow(self, log: ServerLog, start: Position, stop: Position) -> None:
        """Takes what changed tables up to `stop` in.

        Raises:
            SchemaError: The history does not cover `start`.
        """
        history = self._opened()
        if history is None:
            return
        own = [one.start for one in history.covered if one.server == start.server]
        if own and all(place_of(start) < place_of(first) for first in own):
            raise SchemaError(
                f"the history begins at {own[0]}, and this is to read from {start}: what tables"
                " were there is not known. Begin where it does (startingOffsets, in a new"
                " checkpoint), or tell it what they were at the older place: binarrow history"
                " baseline takes CREATE TABLE text"
            )
        last = history.covered[-1].stop if history.covered else None
        if last is not None and last.server == stop.server == start.server:
            if place_of(last) >= place_of(stop):
                return
            if place_of(last) < place_of(start):
                start = last
        log.range_end(start, stop, NO_LIMIT, history)

    def part(self, start: Position, stop: Position) -> str | None:
        """What a task needs that reads from `start` to `stop`; None without a history."""
        history = self._opened()
        return None if history is None else history.part(start, stop, tables=self._options.table)

    def close(self) -> None:
        """Lets go of the store."""
        if self._history is not None:
            self._history.close()
        self._history = None

    def _opened(self) -> SchemaHistory | None:
        options = self._options
        if self._history is None and options.history is not None:
            self._history = SchemaHistory.open(
                options.history,
                source=options.history_source,
                password_file=options.history_password_file,
            )
        return self._history
