"""Buckets of time: minutes, or more if there are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)
"""The widths of a bucket in minutes; above them, multiples of a day."""

MAX_BUCKETS = 120


@dataclass(frozen=True)
class Timeline:
    """Buckets of the same width, without gaps."""

    first: int
    """The first minute since 1970 of the first bucket."""
    width: int
    """Minutes."""
    count: int
    zone: tzinfo | None

    @classmethod
    def of(cls, minutes: Iterable[int], zone: tzinfo | None) -> Timeline:
        """Returns buckets that contain all minutes, of which there is at least one."""
        found = sorted(minutes)
        lowest, highest = found[0], found[-1]
        offset = _at(lowest, zone).utcoffset()
        shift = 0 if offset is None else int(offset.total_seconds()) // 60
        width = _width(lowest + shift, highest + shift)
        first = (lowest + shift) // width * width - shift
        return cls(first, width, (highest - first) // width + 1, zone)

    def sums(self, by_minute: Counter[int]) -> list[int]:
        """Returns the sum of each bucket."""
        found = [0] * self.count
        for minute, amount in by_minute.items():
            found[(minute - self.first) // self.width] += amount
        return found

    def label(self, bucket: int) -> str:
        """Returns the time at which a bucket begins, without its zone."""
        time = _at(self.first + bucket * self.width, self.zone)
        return f"{time:%Y-%m-%d}" if self.width >= DAY else f"{time:%Y-%m-%d %H:%M}"

    @property
    def unit(self) -> str:
        """The name of a bucket: ``minute``, ``5 minutes``, ``hour``."""
        for minutes, name in ((DAY, "day"), (60, "hour"), (1, "minute")):
            amount, rest = divmod(self.width, minutes)
            if amount and not rest:
                return name if amount == 1 else f"{amount} {name}s"
        raise AssertionError


DAY = 1440
"""Minutes."""


def _width(lowest: int, highest: int) -> int:
    def fits(width: int) -> bool:
        return highest // width - lowest // width < MAX_BUCKETS

    width = next((one for one in WIDTHS if fits(one)), 2 * DAY)
    while not fits(width):
        width *= 2
    return width


def _at(minute: int, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC).astimezone(zone)


__all__ = ["Timeline"]
