"""The files of a server's log: what planning asks about them, and positions in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from binarrow import Position, PositionPurgedError, ServerIdentityError
from binarrow.server import Binlog

FIRST_EVENT_AT = 4
"""The offset of a file's first event."""

NO_LIMIT = 1 << 62
"""More bytes than a log contains."""


class Log(Protocol):
    """The queries about a server's log that planning needs."""

    @property
    def server(self) -> str:
        """The server's id, as in positions."""

    def files(self) -> Sequence[Binlog]:
        """Returns the files with their sizes, the oldest first."""

    def file_start(self, file: str) -> Position:
        """Returns the position of a file's first event."""

    def range_end(self, start: Position, stop: Position, max_bytes: int) -> Position:
        """Returns the end of the last transaction that ends at most `max_bytes` after `start`.

        The range contains at least one transaction, and does not go beyond `stop`.
        """

    def count(self, start: Position, stop: Position, max_rows: int) -> Position:
        """Returns the end of the last transaction up to which at most `max_rows` rows are read."""


def is_elsewhere(log: Log, position: Position) -> bool:
    """True if a position is on another server than the connected one, or goes by GTID."""
    return position.server != log.server or position.by_gtid or not position.file


def check_there(files: Sequence[Binlog], position: Position, head: Position) -> None:
    """Checks by names and sizes that the files still contain a position.

    Raises:
        PositionPurgedError: The files begin after it.
        ServerIdentityError: The files end before it.
    """
    place = place_in(files, position)
    if place < 0:
        raise PositionPurgedError(
            f"the server no longer has {position.file}, its oldest file is {files[0].name}"
        )
    # The last file grows: the head may be newer than the list of files.
    grown = head.offset if head.file == position.file else 0
    if place == len(files) or position.offset > max(files[place].size, grown):
        raise ServerIdentityError(
            f"the server's log ends before {position}: it was reset, or a crash took changes back"
        )


def shift_above(before: Position, file: str) -> int:
    """Returns the version shift that orders a file of another log after the position `before`."""
    return max(0, file_number(before.file) + before.version_shift + 1 - file_number(file))


def place_of(position: Position) -> tuple[int, int]:
    """The sort key of positions of one server."""
    return file_number(position.file) + position.version_shift, position.offset


def file_number(file: str) -> int:
    """The number at the end of a file's name; 0 if it has none."""
    return (Position(file, FIRST_EVENT_AT).file_number or 0) if file else 0


def place_in(files: Sequence[Binlog], position: Position) -> int:
    """Returns the index of a position's file; -1 before the first, `len(files)` after the last."""
    for place, one in enumerate(files):
        if one.name == position.file:
            return place
    oldest = files[0].name if files else ""
    return -1 if file_number(position.file) < file_number(oldest) else len(files)


def start_of(log: Log, file: Binlog, start: Position) -> Position:
    """Returns the position of a file's first event, with the version shift of a batch."""
    return log.file_start(file.name).replace(version_shift=start.version_shift)
