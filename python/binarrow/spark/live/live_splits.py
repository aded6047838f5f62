"""A server's log between two places in ranges, as rows that hold no secret."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from binarrow import BinlogReader, ConfigError, Position, SchemaHistory
from binarrow.server import Binlog
from binarrow.server.target import Endpoint, Target
from binarrow.spark.live.history_follower import HistoryFollower
from binarrow.spark.live.live_range import LiveRange
from binarrow.spark.live.login import login, waiting_of
from binarrow.spark.live.place import place_of_keyword
from binarrow.spark.live.plan import FIRST_EVENT_AT, ranges
from binarrow.spark.live.server_log import ServerLog

ONE_A_FILE = 1 << 30
"""More partitions than a log has files."""


@dataclass(frozen=True)
class LiveSplit:
    """A range of a server's log and where the server is: all that a task needs but the login."""

    endpoints: tuple[Endpoint, ...]
    user: str
    range: LiveRange

    def row(self, files: Sequence[Binlog]) -> tuple[str, int, int, str]:
        """Its row in a DataFrame of ranges, given the server's files: path, start, stop, split."""
        start, stop = (Position.from_json(text) for text in (self.range.start, self.range.stop))
        last, end = stop.file, stop.offset
        if last != start.file and end <= FIRST_EVENT_AT:  # the end of the file before it
            names = [one.name for one in files]
            before = files[names.index(last) - 1] if last in names[1:] else None
            last, end = (before.name, before.size) if before is not None else (last, end)
        names_of = start.file if start.file == last else f"{start.file}..{last}"
        return f"{self.endpoints[0]}/{names_of}", start.offset, end, self.to_json()

    def to_json(self) -> str:
        """The range as text, without anything secret."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> LiveSplit | None:
        """The range that :meth:`to_json` stored; None for another kind."""
        stored = json.loads(text)
        if not isinstance(stored, dict) or "endpoints" not in stored:
            return None
        endpoints = tuple(Endpoint(**one) for one in stored["endpoints"])
        return cls(endpoints, stored["user"], LiveRange(**stored["range"]))

    def read(
        self, task_login: Target | None, waiting: Mapping[str, float], options: Mapping[str, Any]
    ) -> BinlogReader:
        """Begins to read it, over connections of its own.

        Raises:
            ConfigError: Nothing says how to log in.
        """
        if task_login is None:
            raise ConfigError(
                f"the ranges are of the server {self.endpoints[0]}: give decoder() what splits()"
                ' was given to log in: password= or password_file= (password="" for none), tls_ca='
            )
        target = replace(task_login, endpoints=self.endpoints, user=self.user)
        return self.range.read(target, waiting["heartbeat"], waiting["reconnect"], options)


@dataclass(frozen=True)
class _Whose:
    """Of which tables ranges carry the structures, of a history that is open."""

    table: str | Sequence[str] | None
    history: str | None = None
    history_source: str | None = None
    history_password_file: str | None = None


def live_rows(
    url: str,
    places: tuple[Position | str | datetime, Position | str | datetime],
    num_partitions: int | None,
    given: Mapping[str, Any],
    history: SchemaHistory | None,
    tables: str | Sequence[str] | None,
) -> list[tuple[str, int, int, str]]:
    """The ranges between two places, as they are in the log now: path, start, stop, split."""
    target = login(url, given)
    start, stop = (place_of_keyword(each) for each in places)
    log = ServerLog(target, **waiting_of(given), counted={})
    follower = HistoryFollower(_Whose(tables), history)
    try:
        follower.begin(log)
        # The end first: what is logged meanwhile is behind it.
        last, first = log.resolve_end(stop), log.resolve_start(start)
        log.check(first)
        follower.follow(log, first, last)
        count = ONE_A_FILE if num_partitions is None else num_partitions
        found = [
            LiveRange(one.to_json(), other.to_json(), follower.part(one, other))
            for one, other in ranges(log, first, last, count)
        ]
        files = log.files()
    finally:
        log.close()
    return [LiveSplit(target.endpoints, target.user, one).row(files) for one in found]
