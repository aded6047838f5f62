"""Places of a log, as Spark's options and the arguments of ``splits`` name them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeVar

from binarrow import ConfigError, Position
from binarrow._native import parse_place
from binarrow.spark.live.offset import same_for_all

Place = Literal["earliest", "latest"] | Position | datetime
"""A place to begin or end: the log's beginning or end, a position or GTID set, a time."""

SNAPSHOT: Literal["snapshot"] = "snapshot"
"""The start of a query that reads the existing rows first."""

Start = Place | Literal["snapshot"]
"""A place to begin, or the existing rows."""


def start_from(given: Position | str | datetime) -> Start:
    """Returns the start that the option startingOffsets names.

    Raises:
        ConfigError: It is neither ``snapshot`` nor a place.
    """
    return SNAPSHOT if given == SNAPSHOT else place_from(given)


P = TypeVar("P")


def place_from(given: Position | str | datetime) -> Place:
    """Returns the place of an option or an argument, as for :meth:`binarrow.Server.stream`.

    Raises:
        ConfigError: It is not a place, or a position with tables in ``ahead``.
    """
    place = parse_place(given) if isinstance(given, str) else given
    return same_for_all(place) if isinstance(place, Position) else place


def parse_timestamp(text: str) -> datetime:
    """Parses ``startingTimestamp`` and ``endingTimestamp``.

    They are times with a time zone or, as in Spark's Kafka source, milliseconds since 1970 UTC.

    Raises:
        ValueError: The text is neither.
    """
    word = text.strip()
    if word.isascii() and word.isdecimal():
        try:
            return datetime.fromtimestamp(int(word) / 1000, UTC)
        except (OverflowError, OSError):
            raise ValueError("these are too many milliseconds") from None
    time = parse_place(word)
    if not isinstance(time, datetime):
        raise ConfigError("it must be a time with its zone, or milliseconds since 1970 UTC")
    return time


def chosen(
    kind: Literal["starting", "ending"],
    offsets: P | None,
    timestamp: datetime | None,
    default: P,
) -> P | datetime:
    """Returns the place that one of two options names, or the default.

    Raises:
        ConfigError: Both are set.
    """
    if offsets is not None and timestamp is not None:
        raise ConfigError(f"{kind}Offsets and {kind}Timestamp both name a place: set one of them")
    if offsets is not None:
        return offsets
    return default if timestamp is None else timestamp
