"""A server's log for the driver: its end, its files, and positions in it.

Spark ends a query at an error on the driver. So this module retries after errors that may be
temporary, such as a restart of the server or a broken connection.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from binarrow import (
    BinarrowWarning,
    ConfigError,
    ConnectionLostError,
    Position,
    SchemaHistory,
    ServerIdentityError,
    Transaction,
)
from binarrow._native import replaced_tables
from binarrow.server import Binlog, Server
from binarrow.server.target import Target
from binarrow.spark.live.log_files import NO_LIMIT
from binarrow.spark.live.patience import patiently
from binarrow.spark.live.place import Place

if TYPE_CHECKING:
    from binarrow.stream import Change, Stream

T = TypeVar("T")

POLL_INTERVAL = 0.5
"""Minimum seconds between two queries for the end of the log: an idle query asks very often."""

NO_TABLE = "no table.is read"
"""A pattern that matches no table."""


class ServerLog:
    """The log of the first server that answers. Connects when it is first used."""

    def __init__(
        self,
        target: Target,
        *,
        heartbeat: float,
        reconnect: float,
        counted: Mapping[str, Any],
    ) -> None:
        """Creates the log; `counted` are the keywords that select the rows to count."""
        self._target = target
        self._waiting: dict[str, Any] = {"heartbeat": heartbeat, "reconnect": reconnect}
        self._reconnect = reconnect
        self._counted = counted
        self._connection: Server | None = None
        self._head: tuple[float, Position] | None = None
        self._resolved: tuple[str | None, Position] | None = None
        self._is_checked = False

    @property
    def server(self) -> str:
        """The id of the connected server, as in positions."""
        return self.ask(lambda server: server.id)

    def head(self) -> Position:
        """Returns the end of the log, cached for a moment."""
        now = time.monotonic()
        if self._head is None or now - self._head[0] >= POLL_INTERVAL:
            self._head = (now, self._in_file(self.ask(lambda server: server.position())))
        return self._head[1]

    def new_head(self) -> Position:
        """Returns the end of the log now."""
        self._head = None
        return self.head()

    def files(self) -> Sequence[Binlog]:
        """Returns the files with their sizes, the oldest first."""
        files = self.ask(lambda server: server.binlogs())
        if not files:
            raise ConfigError("the server has no log: start it with log_bin")
        return files

    def file_start(self, file: str) -> Position:
        """Returns the position of a file's first event."""
        return self.ask(lambda server: server.file_start(file, reconnect=self._reconnect))

    def range_end(
        self,
        start: Position,
        stop: Position,
        max_bytes: int,
        history: SchemaHistory | None = None,
    ) -> Position:
        """Returns the end of the last transaction that ends at most `max_bytes` after `start`.

        The range contains at least one transaction, and does not go beyond `stop`. A history
        stores the statements in the range that change tables.
        """
        most = None if max_bytes >= NO_LIMIT else max_bytes
        return self.ask(
            lambda server: server.range_end(
                start,
                stop=stop,
                max_bytes=most,
                history=history,
                skip_events=self._counted.get("skip_events"),
                **self._waiting,
            )
        )

    def replaced(self, tables: Sequence[str], start: Position, stop: Position) -> list[str]:
        """Returns those of the tables that statements between two positions may have replaced."""
        if start == stop:
            return []
        spec = self._target.connection_spec
        skipped = self._counted.get("skip_events")
        return self.ask(
            lambda _: replaced_tables(
                spec(), tables, start, stop, skip_events=skipped, **self._waiting
            )
        )

    def count(self, start: Position, stop: Position, max_rows: int) -> Position:
        """Returns the end of the last transaction up to which at most `max_rows` rows are read.

        The range contains at least one transaction, and does not go beyond `stop`. The driver
        decodes the log to count the rows.
        """
        place, rows = start, 0
        with self._transactions(start, stop, **self._counted) as stream:
            for item in stream:
                if not isinstance(item, Transaction) or item.kind == "begin":
                    continue
                rows += item.rows or 0
                if rows > max_rows and place != start:
                    return place
                place = item.position
        return self.range_end(place, stop, NO_LIMIT)

    def check(self, position: Position) -> None:
        """Checks that the server has the log from a position on, including its GTIDs.

        Asks once per connection: the end of a batch still exists when the next batch begins.

        Raises:
            PositionPurgedError: The position is purged.
            ServerIdentityError: The log was reset.
        """
        if position.server != self.server or self._is_checked:
            return
        self.range_end(position, position, 0)
        if position.file_created is not None and not position.by_gtid:
            there = self.file_start(position.file)
            if there.file_created != position.file_created:
                raise ServerIdentityError(
                    f"{position.file} was created again since {position} was read: the log"
                    " was reset"
                )
        self._is_checked = True

    def identified(self, position: Position, before: Position | None = None) -> Position:
        """Returns the position with the creation time of its file: a reset log reuses the names.

        `before` is a position that may contain the time already.
        """
        is_here = position.server == self.server and position.file
        # An idle query asks often.
        is_known = position.file_created is not None or position == before
        if is_known or not is_here or position.by_gtid:
            return position
        created = None
        if before is not None and (before.server, before.file) == (position.server, position.file):
            created = before.file_created
        if created is None:
            created = self.file_start(position.file).file_created
        return position.replace(file_created=created)

    def resolve_start(self, place: Place) -> Position:
        """Returns the position at which to start for the value of an option.

        A GTID set, as text or as a Position of a GTID set alone, contains what was read already:
        all other transactions are read, and none of the set.
        """
        found = self.resolve_end(place)
        gtids = self._gtids_alone(place)
        if gtids is None or found.by_gtid or found.gtid_set == gtids:
            return found
        # Transactions of the set are logged after the place too.
        return found.replace(by_gtid=True, gtid_set=gtids)

    def resolve_end(self, place: Place) -> Position:
        """Returns the position at which to end for the value of an option.

        The place of a GTID set is before the first transaction that is not in it.
        """
        if place == "latest":
            return self.head()
        if place == "earliest":
            return self.file_start(self.files()[0].name)
        gtids = self._gtids_alone(place)
        if gtids is not None:
            alone = Position.after_gtids(gtids)
            is_mysql = ":" in gtids or not gtids
            return self._in_file(alone) if is_mysql else self._first(alone)
        if isinstance(place, Position):
            return place.replace(server=self.server) if place.server is None else place
        return self._first(place)

    def ask(self, question: Callable[[Server], T]) -> T:
        """Asks the server, and retries after temporary errors."""

        def attempt() -> T:
            try:
                if self._connection is None:
                    self._connection = Server(self._target)
                    self._is_checked = False
                return question(self._connection)
            except ConnectionLostError:
                self.close()
                raise

        return patiently(attempt, self._reconnect)

    def close(self) -> None:
        """Closes the connection; the next call of `ask` opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._head = self._resolved = None

    def _gtids_alone(self, place: Place) -> str | None:
        """Returns the GTID set of a place without a file, on this server; None for others."""
        if not isinstance(place, Position) or place.file:
            return None
        return place.gtid_set if place.server in (None, self.server) else None

    def _in_file(self, position: Position) -> Position:
        """Returns the position with its file and offset, also if it is a GTID set alone.

        Caches the last result: while a commit waits for a replica, the set does not change.
        """
        if position.file or position.server not in (None, self.server):
            return position
        if self._resolved is None or self._resolved[0] != position.gtid_set:
            found = self.range_end(position, position, NO_LIMIT)
            self._resolved = (position.gtid_set, found)
        return self._resolved[1]

    def _first(self, place: Position | datetime) -> Position:
        """Returns the start of the first transaction after a place; else the end of the log."""
        start: Any = place.gtid_set if isinstance(place, Position) else place
        head = self.head()
        with self._transactions(start, head, tables=NO_TABLE) as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore", BinarrowWarning)  # no table matches, on purpose
            for item in stream:
                return item.position
        if isinstance(place, Position):
            return head.replace(by_gtid=True, gtid_set=place.gtid_set)
        return head

    def _transactions(self, start: Any, stop: Position, **keywords: Any) -> Stream[Change]:
        return self.ask(
            lambda server: server.stream(
                start, stop=stop, include="transaction", **self._waiting, **keywords
            )
        )
