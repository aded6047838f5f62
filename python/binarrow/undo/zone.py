"""The offsets of a time zone, for Rust, which has no table of time zones."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

WEEK = 7 * 86_400
"""Seconds. No zone changes its offset twice in a week."""

END = 1 << 32
"""The end of the times that a log can contain, in seconds since 1970."""


def offsets_of(zone: tzinfo | None) -> list[tuple[int, int]]:
    """Returns the offsets from UTC in seconds, each with the time in microseconds since 1970.

    None is the local zone. The list is empty for UTC.
    """
    if zone is UTC:
        return []
    found = [(0, _offset(0, zone))]
    for start in range(0, END, WEEK):
        last = found[-1][1]
        if (offset := _offset(start + WEEK, zone)) != last:
            low, high = start, start + WEEK
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(middle, zone) == last else (low, middle)
            found.append((high * 1_000_000, offset))
    return found


def _offset(seconds: int, zone: tzinfo | None) -> int:
    offset = datetime.fromtimestamp(seconds, UTC).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


__all__ = ["offsets_of"]
