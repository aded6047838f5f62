"""The logs in which moments are searched: that of a server, and archived files of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from binarrow._native import (
    BinlogReader,
    ConfigError,
    Position,
    PositionPurgedError,
    Transaction,
    expand_source,
    inspect,
    is_one_log,
    read_binlog,
    shown_uri,
)
from binarrow.advice import message

if TYPE_CHECKING:
    from datetime import datetime

    from binarrow._native import Source
    from binarrow.server import Server
    from binarrow.stream import Stream

NUMBERED = re.compile(r"(.+)\.(\d+)")
"""The name of a file of a log: its base name and its number."""

PACKED = (".gz", ".zst")

IN_USE = 1
"""The flag of a format description whose file the server had not closed."""


class Log(Protocol):
    """A log in which moments are searched."""

    owner: str
    """The name of the log in messages."""

    def files(self) -> list[str]:
        """Returns the names of the files, in log order."""

    def file_start(self, name: str) -> Position:
        """Returns the position of the first event of a file, with the GTIDs before it."""

    def transactions(self, start: Position | datetime, table: str) -> Iterator[Transaction]:
        """Returns the begins and ends of all transactions from a place on. Decodes one table."""

    def marks(self, start: Position | datetime, table: str) -> BinlogReader[Any] | Stream[Any]:
        """Opens a read of all transactions from a place on, and of the statements on a table."""


MARKS: Mapping[str, Any] = {
    "include": ["transaction", "schema_change", "truncate"],
    "column_names": "none",
    "statements": "skip",
}


class ServerLog:
    """The log of a server."""

    owner = "the server"

    def __init__(self, server: Server) -> None:
        self.server = server

    def files(self) -> list[str]:
        """Returns the names of the files, in log order."""
        return [file.name for file in self.server.binlogs()]

    def file_start(self, name: str) -> Position:
        """Returns the position of the first event of a file, with the GTIDs before it."""
        return self.server.file_start(name)

    def transactions(self, start: Position | datetime, table: str) -> Iterator[Transaction]:
        """Returns the begins and ends of all transactions from a place on. Decodes one table."""
        with self.marks(start, table) as items:
            yield from _only_transactions(items)

    def marks(self, start: Position | datetime, table: str) -> Stream[Any]:
        """Opens a read of all transactions from a place on, and of the statements on a table."""
        return self.server.stream(start, stop="end", tables=table, **MARKS)


class Head(NamedTuple):
    """The first events of a file."""

    created: int
    """The time of the format description, in seconds since 1970 UTC."""
    server_id: int
    in_use: bool
    """True if the server had not closed the file."""
    gtid_set: str


class FileClose(NamedTuple):
    """The Rotate or Stop event at the end of a file."""

    time: int
    server_id: int
    next_file: str | None
    """The name of the next file; None after a Stop event."""


class ArchivedLog:
    """Archived files of a log."""

    owner = "the archive"

    def __init__(
        self, source: Source, storage_options: Mapping[str, Any] | None, parameter: str
    ) -> None:
        """Finds the files.

        Args:
            source: The files.
            storage_options: Settings for the file system of a URI.
            parameter: The function and the parameter of the files, for messages:
                ``rows_at=archive``.

        Raises:
            ConfigError: The files are not those of one log, or have other names than in the log.
        """
        self._storage = None if storage_options is None else dict(storage_options)
        self._paths = _named(source, self._storage, f"binarrow.{parameter}")
        self._heads: dict[str, Head] = {}

    def files(self) -> list[str]:
        """Returns the names of the files, in log order."""
        return [*self._paths]

    def shown(self, name: str) -> str:
        """Returns the path of a file, without passwords."""
        return shown_uri(self._paths[name])

    def head(self, name: str) -> Head:
        """Reads the first events of a file."""
        if name not in self._heads:
            events = inspect({name: self._paths[name]}, storage_options=self._storage)
            first = next(events)
            gtid_set = ""
            for event in events:
                if event.type_name in ("Previous_gtids", "Gtid_list"):
                    gtid_set = event.info
                if event.type_name != "Start_encryption":
                    break
            in_use = bool(first.flags & IN_USE)
            self._heads[name] = Head(first.timestamp, first.server_id, in_use, gtid_set)
        return self._heads[name]

    def close_of(self, name: str) -> FileClose | None:
        """Reads the end of a file; None if the server did not close it."""
        found = None
        for event in inspect(
            {name: self._paths[name]},
            event_types=["Rotate", "Stop"],
            verify_checksum=False,
            storage_options=self._storage,
        ):
            next_file = event.info.partition(";")[0] or None
            found = FileClose(event.timestamp, event.server_id, next_file)
        return found

    def file_start(self, name: str) -> Position:
        """Returns the position of the first event of a file, with the GTIDs before it."""
        head = self.head(name)
        return Position(name, 4).replace(file_created=head.created, gtid_set=head.gtid_set)

    def transactions(self, start: Position | datetime, table: str) -> Iterator[Transaction]:
        """Returns the begins and ends of all transactions from a place on. Decodes one table."""
        with self.marks(start, table) as items:
            yield from _only_transactions(items)

    def marks(
        self, start: Position | datetime, table: str, *, before: str | None = None
    ) -> BinlogReader[Any]:
        """Opens a read of all transactions from a place on, and of the statements on a table.

        The read ends before a file of this name, or at the end of the archive.
        """
        return self.read(start, before, tables=table, **MARKS)

    def read(
        self, start: Position | datetime, before: str | None, **keywords: Any
    ) -> BinlogReader[Any]:
        """Returns the changes from a place on, up to the end or up to the start of a file.

        Raises:
            PositionPurgedError: The archive has no such file.
        """
        names = self.files()
        first = start.file if isinstance(start, Position) else self._first_at(start)
        if first not in self._paths:
            raise PositionPurgedError(
                f"the archive has no file {first}: its files are {names[0]} to {names[-1]}. Add the"
                " missing files to it"
            )
        end = len(names) if before is None else names.index(before)
        files = {name: self._paths[name] for name in names[names.index(first) : end]}
        return read_binlog(files, start=start, storage_options=self._storage, **keywords)

    def with_gtids(self, place: Position, table: str) -> Position:
        """Returns a place with the GTIDs before it, by a read of its file up to the place."""
        if place.gtid_set is not None or place.file not in self._paths:
            return place
        start = self.file_start(place.file)
        if place.offset <= start.offset or start.gtid_set is None:
            return start
        keywords = {"tables": table, "stop": place, "column_names": "none", "statements": "skip"}
        with self.read(start, None, **keywords) as items:
            for _ in items:
                pass
            end = items.position
        return end if end is not None and end.base.offset == place.offset else place

    def _first_at(self, time: datetime) -> str:
        """Returns a file that was created before a time, and before most of its changes."""
        names = self.files()
        low, high = 0, len(names)
        while low + 1 < high:
            middle = (low + high) // 2
            is_before = self.head(names[middle]).created + 1 <= time.timestamp()
            low, high = (middle, high) if is_before else (low, middle)
        # The time of a commit may be before that of the file: it is that of its first statement.
        return names[max(0, low - 1)]


def _only_transactions(items: Iterator[Any]) -> Iterator[Transaction]:
    return (item for item in items if isinstance(item, Transaction))


def _named(
    source: Source, storage_options: dict[str, Any] | None, parameter: str
) -> dict[str, str]:
    """Returns the paths of files, by their names in the log."""
    if isinstance(source, Mapping):
        named = {name: str(path) for name, path in source.items()}
        if any(isinstance(path, bytes) or hasattr(path, "read") for path in source.values()):
            raise _read_once(parameter)
        return named
    inputs = source if isinstance(source, list | tuple) else [source]
    if any(isinstance(each, bytes) or hasattr(each, "read") for each in inputs):
        raise _read_once(parameter)
    paths = expand_source(cast("Any", source), storage_options=storage_options)
    if not is_one_log(paths):
        raise ConfigError(
            message(
                f"the files of ⟦{parameter}=...⟧ are in several folders, which may contain the logs"
                " of several servers: pass those of this server"
            )
        )
    named = {}
    for path in paths:
        name = PurePosixPath(shown_uri(path).replace("\\", "/")).name
        for suffix in PACKED:
            name = name.removesuffix(suffix)
        if not NUMBERED.fullmatch(name):
            raise ConfigError(
                message(
                    f"{shown_uri(path)} is not the name of a file of a log (binlog.000042): name it"
                    f" as in the server's log with ⟦{parameter}={{name: path}}⟧"
                )
            )
        if name in named:
            raise ConfigError(
                message(
                    f"{shown_uri(named[name])} and {shown_uri(path)} are the same file of the log:"
                    f" pass one of them with ⟦{parameter}=...⟧"
                )
            )
        named[name] = path
    return named


def _read_once(parameter: str) -> ConfigError:
    return ConfigError(
        message(f"the files of ⟦{parameter}=...⟧ are read several times: pass paths or URIs")
    )


__all__ = ["NUMBERED", "ArchivedLog", "FileClose", "Head", "Log", "ServerLog"]
