"""Divides a batch into ranges of the log, which tasks read in parallel."""

from __future__ import annotations

from binarrow import ConfigError, Position
from binarrow.spark.grouping import grouped
from binarrow.spark.live.log_files import FIRST_EVENT_AT, Log, is_elsewhere, place_in, start_of


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
    first, last = place_in(files, start), place_in(files, stop)
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
        start_of(log, files[first + group.start], start) for group in grouped(sizes, count)[1:]
    ]
    return list(zip([start, *bounds], [*bounds, stop], strict=True))
