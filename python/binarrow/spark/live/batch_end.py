"""Finds the end of a batch of a stream. Functions without state.

A batch ends at the end of the log, else at the end of a file, else at the end of a transaction,
which is found by reading the log. Ends of files need no reading: the server lists their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from binarrow import ConfigError, Position
from binarrow.server import Binlog
from binarrow.spark.live.log_files import (
    NO_LIMIT,
    Log,
    check_there,
    is_elsewhere,
    place_in,
    start_of,
)

UNSPLIT_BYTES = 64 << 20
"""Bytes of log that count as one file if a batch cannot be divided at files."""


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
    kind, size = limit_of(limit)
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
    first, last = place_in(files, start), place_in(files, head)
    check_there(files, start, head)
    if kind == "all" or (first, start.offset) >= (last, head.offset):
        return max(start, head, key=lambda one: (place_in(files, one), one.offset))
    cut = first + size if kind == "files" else first
    if kind == "bytes":
        cut += _cut_at_bytes(files[first : last + 1], start, head, size)
    if cut > last:
        return head
    return log.range_end(start, head, size) if cut == first else start_of(log, files[cut], start)


def _cut_at_bytes(files: Sequence[Binlog], start: Position, head: Position, size: int) -> int:
    """Returns how many files fit in `size` bytes, counted from `start` to `head`."""
    sizes = [one.size for one in files[:-1]] + [head.offset]
    sizes[0] -= start.offset
    return sum(total <= size for total in accumulate(sizes))


def limit_of(limit: Any) -> tuple[str, int]:
    """Returns the kind of one of Spark's read limits, and its size."""
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
