"""The table history of a query: the driver updates it, and each range contains a part of it.

Only the process that plans batches opens it, so that a query is one writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from binarrow import Position, SchemaError, SchemaHistory
from binarrow.spark.live.log_files import NO_LIMIT, place_of
from binarrow.spark.messages import spark_message

if TYPE_CHECKING:
    from binarrow.spark.live.server_log import ServerLog


class HistoryOptions(Protocol):
    """Options that select a history, and the tables whose structures tasks need."""

    @property
    def history(self) -> str | None:
        """The URL of the history; None if there is none."""

    @property
    def history_source(self) -> str | None:
        """The source server, if the store contains several."""

    @property
    def history_password_file(self) -> str | None:
        """The file with the password of a store on a server."""

    @property
    def history_password_command(self) -> str | Sequence[str] | None:
        """The command that prints this password."""

    @property
    def table(self) -> str | Sequence[str] | None:
        """The tables, as patterns."""


class HistoryFollower:
    """The history of the options. It is opened when first used, unless an open one is passed."""

    def __init__(self, options: HistoryOptions, history: SchemaHistory | None = None) -> None:
        self._options = options
        self._history = history

    def begin(self, log: ServerLog) -> None:
        """Starts an empty history, before the first position of a query is resolved."""
        history = self._opened()
        if history is not None and not history.covered:
            head = log.head()
            log.range_end(head, head, NO_LIMIT, history)

    def follow(self, log: ServerLog, start: Position, stop: Position) -> None:
        """Stores the statements up to `stop` that changed tables.

        Raises:
            SchemaError: The history does not cover `start`.
        """
        history = self._opened()
        if history is None:
            return
        own = [one.start for one in history.covered if one.server == start.server]
        if own and all(place_of(start) < place_of(first) for first in own):
            raise SchemaError(
                spark_message(
                    f"the history begins at {own[0]}, after {start}, where this query begins: the"
                    " structures of the tables there are unknown. Begin at the start of the history"
                    " (⟦starting_offsets⟧, in a new checkpoint), or add the older structures as"
                    " CREATE TABLE text with ⟦history.baseline⟧"
                )
            )
        last = history.covered[-1].stop if history.covered else None
        if last is not None and last.server == stop.server == start.server:
            if place_of(last) >= place_of(stop):
                return
            if place_of(last) < place_of(start):
                start = last
        log.range_end(start, stop, NO_LIMIT, history)

    def schema_snapshot(self, start: Position, stop: Position) -> str | None:
        """Returns the structures for a task that reads a range; None without a history."""
        history = self._opened()
        return (
            None
            if history is None
            else history.schema_snapshot(start, stop, tables=self._options.table)
        )

    def close(self) -> None:
        """Closes the store."""
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
                password_command=options.history_password_command,
            )
        return self._history
