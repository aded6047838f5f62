"""Divides a server's log between two places into ranges, as rows without secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from binarrow import BinlogReader, ConfigError, Position, SchemaHistory
from binarrow.advice import message
from binarrow.server import Binlog
from binarrow.server.target import Endpoint, Target
from binarrow.spark.live.batch_ranges import ranges
from binarrow.spark.live.history_follower import HistoryFollower
from binarrow.spark.live.live_range import LiveRange
from binarrow.spark.live.log_files import FIRST_EVENT_AT
from binarrow.spark.live.login import login, stream_keywords
from binarrow.spark.live.place import place_from
from binarrow.spark.live.server_log import ServerLog
from binarrow.stored_forms import SERVER_SPLIT

ONE_PER_FILE = 1 << 30
"""More partitions than a log has files."""


@dataclass(frozen=True)
class LiveSplit:
    """A range of a server's log, with the address and the user, and without a password."""

    endpoints: tuple[Endpoint, ...]
    user: str
    range: LiveRange

    def row(self, files: Sequence[Binlog]) -> tuple[str, int, int, str]:
        """Returns the row of a DataFrame of ranges: path, start, stop, split.

        `files` are the files of the server.
        """
        start, stop = (Position.from_json(text) for text in (self.range.start, self.range.stop))
        last, end = stop.file, stop.offset
        if last != start.file and end <= FIRST_EVENT_AT:  # the end of the file before it
            names = [one.name for one in files]
            before = files[names.index(last) - 1] if last in names[1:] else None
            last, end = (before.name, before.size) if before is not None else (last, end)
        names_of = start.file if start.file == last else f"{start.file}..{last}"
        return f"{self.endpoints[0]}/{names_of}", start.offset, end, self.to_json()

    def to_json(self) -> str:
        """Returns the range as text, without secrets."""
        return json.dumps({**asdict(self), **SERVER_SPLIT.stamp}, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> LiveSplit | None:
        """Parses the text of :meth:`to_json`; None if the text is of another kind of split.

        Raises:
            LaterVersionError: A later version of binarrow has stored it.
        """
        stored = json.loads(text)
        if not isinstance(stored, dict) or "endpoints" not in stored:
            return None
        stored = SERVER_SPLIT.read(stored, "the range of a server's log")
        endpoints = tuple(Endpoint(**one) for one in stored["endpoints"])
        return cls(endpoints, stored["user"], LiveRange(**stored["range"]))

    def read(
        self, task_login: Target | None, stream: Mapping[str, float], options: Mapping[str, Any]
    ) -> BinlogReader:
        """Starts to read the range, over its own connections.

        Raises:
            ConfigError: There is no login.
        """
        if task_login is None:
            raise ConfigError(
                message(
                    f"decoder() has no login for the server {self.endpoints[0]} of these ranges:"
                    " pass the same ⟦password⟧, ⟦password_file⟧ and ⟦tls_ca⟧ as to splits()"
                    " (an empty password for none)"
                )
            )
        target = replace(task_login, endpoints=self.endpoints, user=self.user)
        return self.range.read(target, stream["heartbeat"], stream["reconnect"], options)


@dataclass(frozen=True)
class _HistoryTables:
    """Options for an open history: the tables whose structures are added to the ranges."""

    table: str | Sequence[str] | None
    history: str | None = None
    history_source: str | None = None
    history_password_file: str | None = None
    history_password_command: str | Sequence[str] | None = None


def live_rows(
    url: str,
    places: tuple[Position | str | datetime, Position | str | datetime],
    num_partitions: int | None,
    given: Mapping[str, Any],
    history: SchemaHistory | None,
    tables: str | Sequence[str] | None,
) -> list[tuple[str, int, int, str]]:
    """Returns the ranges between two places of the current log: path, start, stop, split."""
    target = login(url, given)
    start, stop = (place_from(each) for each in places)
    log = ServerLog(target, **stream_keywords(given), counted={})
    follower = HistoryFollower(_HistoryTables(tables), history)
    try:
        follower.begin(log)
        # Find the end first: changes logged during planning are after it.
        last, first = log.resolve_end(stop), log.resolve_start(start)
        log.check(first)
        follower.follow(log, first, last)
        count = ONE_PER_FILE if num_partitions is None else num_partitions
        found = [
            LiveRange(one.to_json(), other.to_json(), follower.schema_snapshot(one, other))
            for one, other in ranges(log, first, last, count)
        ]
        files = log.files()
    finally:
        log.close()
    return [LiveSplit(target.endpoints, target.user, one).row(files) for one in found]
