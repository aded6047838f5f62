"""Parses options that name a place of a log, such as ``startingOffsets``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from binarrow import ConfigError, Position
from binarrow.spark.live.offset import position_from_text, same_for_all

Place = Literal["earliest", "latest"] | Position | datetime
"""A place to begin or end: the log's beginning or end, a position or GTID set, a time."""


def parse_place(text: str) -> Place:
    """Parses ``startingOffsets`` and ``endingOffsets``.

    Raises:
        ValueError: The text is not a place.
    """
    word = text.strip()
    if word == "earliest":
        return "earliest"
    if word == "latest":
        return "latest"
    if word.startswith("{"):
        return position_from_text(word)
    if (position := _file_and_offset(word)) is not None:
        return position
    if word.lower().startswith("gtid:"):
        gtids = word[len("gtid:") :].strip()
        if not gtids:
            raise ValueError("gtid: must be followed by a GTID set")
        return Position.after_gtids(gtids)
    try:
        return _time(word)
    except ValueError as error:
        raise ValueError(
            "it is earliest, latest, file:offset, the JSON of an offset or a Position, gtid:SET, or"
            f" a time such as 2026-11-22T06:00:00Z ({error})"
        ) from None


def place_of_keyword(given: Position | str | datetime) -> Place:
    """Converts ``start`` and ``stop`` of Python, which are as in :meth:`binarrow.Server.stream`.

    Raises:
        ConfigError: The value is not a place.
    """
    if isinstance(given, Position):
        return same_for_all(given)
    if isinstance(given, datetime):
        return given
    word = given.strip()
    if word == "earliest":
        return "earliest"
    if word in ("latest", "end"):
        return "latest"
    if (position := _file_and_offset(word)) is not None:
        return position
    if not any(digit in word for digit in "0123456789"):
        raise ConfigError(
            f"{given!r} is no place of a log: 'earliest', 'latest', 'file:offset' or a GTID set is"
            " needed, a Position or a datetime"
        )
    return Position.after_gtids(word)


def _file_and_offset(word: str) -> Position | None:
    file, colon, offset = word.rpartition(":")
    # The name of a binlog file ends with a number, unlike the first part of a GTID or a time.
    is_name = file.rpartition(".")[2].isdecimal() and "." in file
    if colon and is_name and offset.isascii() and offset.isdecimal():
        return Position(file, int(offset))
    return None


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
    return _time(word)


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("a time needs its zone: Z, or +01:00")
    return time


def chosen(
    kind: Literal["starting", "ending"],
    offsets: Place | None,
    timestamp: datetime | None,
    default: Place,
) -> Place:
    """Returns the place that one of two options names, or the default.

    Raises:
        ConfigError: Both are set.
    """
    if offsets is not None and timestamp is not None:
        raise ConfigError(f"{kind}Offsets and {kind}Timestamp both name a place: set one of them")
    if offsets is not None:
        return offsets
    return default if timestamp is None else timestamp
