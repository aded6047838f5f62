"""Plans the ends of batches, and divides them into ranges. Functions without state.

A batch ends at the end of the log, else at the end of a file, else at the end of a transaction,
which is found by reading the log. Ends of files need no reading: the server lists their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol

from binarrow import ConfigError, Position, PositionPurgedError, ServerIdentityError
from binarrow.server import Binlog
from binarrow.spark.grouping import grouped

FIRST_EVENT_AT = 4
"""The offset of a file's first event."""

UNSPLIT_BYTES = 64 << 20
"""Bytes of log that count as one file if a batch cannot be divided at files."""


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


def end_of_next_batch(log: Log, start: Position, head: Position, limit: Any) -> Position:
    """Returns the end of the batch that begins at `start`; `start` itself if nothing is new.

    Args:
        log: The log of the connected server.
        start: The end of the last batch, on this server or on another.
        head: The end of this log, or an earlier position at which to stop.
        limit: One of Spark's read limits; None to read to `head`.

    Raises:
        PositionPurgedError: The server no longer has the file of `start`.
        ServerIdentityError: The log ends before `start`: it was reset.
    """
    kind, size = _limit(limit)
    if (start.server, start.file, start.offset) == (head.server, head.file, head.offset):
        return start  # an idle query asks again and again
    if kind == "rows":
        return log.count(start, head, size)
    if is_elsewhere(log, start) or is_elsewhere(log, head):
        most = {"bytes": size, "files": size * UNSPLIT_BYTES, "all": NO_LIMIT}[kind]
        return log.range_end(start, head, most)
    return _end_in_files(log, start, head.replace(version_shift=start.version_shift), kind, size)


def _end_in_files(log: Log, start: Position, head: Position, kind: str, size: int) -> Position:
    files = log.files()
    first, last = _place(files, start), _place(files, head)
    check_there(files, start, head)
    if kind == "all" or (first, start.offset) >= (last, head.offset):
        return max(start, head, key=lambda one: (_place(files, one), one.offset))
    cut = first + size if kind == "files" else first
    if kind == "bytes":
        cut += _cut_at_bytes(files[first : last + 1], start, head, size)
    if cut > last:
        return head
    return log.range_end(start, head, size) if cut == first else _file_start(log, files[cut], start)


def _cut_at_bytes(files: Sequence[Binlog], start: Position, head: Position, size: int) -> int:
    """Returns how many files fit in `size` bytes, counted from `start` to `head`."""
    sizes = [one.size for one in files[:-1]] + [head.offset]
    sizes[0] -= start.offset
    return sum(total <= size for total in accumulate(sizes))


def ranges(
    log: Log, start: Position, stop: Position, count: int
) -> list[tuple[Position, Position]]:
    """Divides a batch into consecutive ranges: one per file, but at most `count`.

    A batch that is not in the files of this server, or is known by GTID only, is one range.
    """
    if start == stop:
        return []
    if is_elsewhere(log, start) or is_elsewhere(log, stop):
        return [(start, stop)]
    files = log.files()
    first, last = _place(files, start), _place(files, stop)
    if last < first or (first == last and stop.offset < start.offset):
        raise ConfigError(
            f"the batch would go backwards, from {start} to {stop}: was the checkpoint changed?"
        )
    if stop.offset <= FIRST_EVENT_AT and last > first:
        last -= 1
    sizes = [one.size for one in files[first : last + 1]]
    if files[last].name == stop.file:
        sizes[-1] = stop.offset
    sizes[0] -= start.offset
    bounds = [
        _file_start(log, files[first + group.start], start) for group in grouped(sizes, count)[1:]
    ]
    return list(zip([start, *bounds], [*bounds, stop], strict=True))


def is_elsewhere(log: Log, position: Position) -> bool:
    """True if a position is on another server than the connected one, or goes by GTID."""
    return position.server != log.server or position.by_gtid or not position.file


def check_there(files: Sequence[Binlog], position: Position, head: Position) -> None:
    """Checks by names and sizes that the files still contain a position.

    Raises:
        PositionPurgedError: The files begin after it.
        ServerIdentityError: The files end before it.
    """
    place = _place(files, position)
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


def _limit(limit: Any) -> tuple[str, int]:
    # By name: some platforms have copies of Spark's classes.
    match type(limit).__name__:
        case "NoneType" | "ReadAllAvailable":
            return "all", 0
        case "ReadMaxFiles":
            return "files", int(limit.max_files)
        case "ReadMaxBytes":
            return "bytes", int(limit.max_bytes)
        case "ReadMaxRows":
            return "rows", int(limit.max_rows)
        case other:
            raise ConfigError(f"Spark asks for a batch by {other}, which this source does not know")


def _place(files: Sequence[Binlog], position: Position) -> int:
    """Returns the index of a position's file; -1 before the first, `len(files)` after the last."""
    for place, one in enumerate(files):
        if one.name == position.file:
            return place
    oldest = files[0].name if files else ""
    return -1 if file_number(position.file) < file_number(oldest) else len(files)


def _file_start(log: Log, file: Binlog, start: Position) -> Position:
    return log.file_start(file.name).replace(version_shift=start.version_shift)
