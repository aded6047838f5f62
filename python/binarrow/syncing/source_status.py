"""Answers of a server about its log, and what follows from them for a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from binarrow._native import Position
    from binarrow.server import Binlog, Server


@dataclass(frozen=True)
class SourceStatus:
    """An answer of the server."""

    server: str
    """The id of the server."""
    time: datetime
    """The time of its clock."""
    difference: timedelta
    """Its clock minus that of this machine."""
    files: Sequence[Binlog]
    """The files of its log: all transactions until `time` are in them."""
    retention: timedelta | None = None
    """The time for which it keeps a file; None if this is not known."""
    ends: Mapping[str, datetime] = field(default_factory=dict)
    """The times at which files ended."""

    @classmethod
    def of(cls, server: Server) -> Self:
        """Asks a server; its retention and the ends of files are left out.

        The time is asked before the end of the log, which therefore has all earlier commits.
        """
        before = datetime.now(UTC)
        time = server.now()
        after = datetime.now(UTC)
        difference = time - (before + (after - before) / 2)
        return cls(server.id, time, difference, server.binlogs())

    def now(self) -> datetime:
        """Returns the present time of the server's clock."""
        return datetime.now(UTC) + self.difference

    def is_reached(self, position: Position) -> bool:
        """True if a position is not before the end of the log."""
        if position.server != self.server or not self.files:
            return False
        last = self.files[-1]
        place = (position.file_number or 0, position.offset)
        return place >= (_number(last.name), last.size)

    def bytes_after(self, position: Position) -> int | None:
        """Returns the number of bytes of the log after a position; None if it is not in the log."""
        names = [file.name for file in self.files]
        if position.server != self.server or position.file not in names:
            return None
        place = names.index(position.file)
        size = sum(file.size for file in self.files[place:])
        return max(0, size - position.offset)

    def headroom(self, position: Position) -> float | None:
        """Returns the seconds until the server may purge the log at a position; None if unknown."""
        if self.retention is None or position.server != self.server or not self.files:
            return None
        if position.file == self.files[-1].name:
            return self.retention.total_seconds()
        end = self.ends.get(position.file)
        if end is None:
            return None
        return max(0.0, (end + self.retention - self.now()).total_seconds())


def _number(file: str) -> int:
    """Returns the number at the end of the name of a file."""
    ending = file.rpartition(".")[2]
    return int(ending) if ending.isdecimal() else 0


__all__ = ["SourceStatus"]
