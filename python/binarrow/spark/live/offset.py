"""Offsets of a streaming query: positions as JSON, anchored where the query began.

Spark stores a batch's end only, and asks for the beginning of the first batch again after a crash.
So the first offset is marked as ``initial``, and the end of the first batch holds where it began,
in ``from``: what "latest" meant then stays so. Where a part of the log was lost and the query shall
go on all the same, the end of that batch holds where it went on, in ``resumed``.
"""

from __future__ import annotations

import json
from typing import Any

from binarrow import ConfigError, Position

Offset = dict[str, Any]
"""A position's stored form, with ``initial``, ``from`` or ``resumed`` where they are needed."""

MARKS = ("initial", "from", "resumed")

SHOWN = 5
"""The maximum number of tables that an error names."""


def offset_of(position: Position) -> Offset:
    """Returns the offset of a position's base. Equal positions have equal texts for Spark."""
    stored: Offset = json.loads(position.base.to_json())
    return stored


def position_of(offset: Offset) -> Position:
    """The position of an offset.

    Raises:
        ConfigError: It is none of ours.
    """
    stored = {key: value for key, value in offset.items() if key not in MARKS}
    return Position.from_json(json.dumps(stored))


def position_from_text(text: str) -> Position:
    """The position that somebody copied out of a query's progress, or stored as a position.

    A file and an offset alone will do.

    Raises:
        ValueError: It is neither, or it has tables in ``ahead``.
    """
    stored = json.loads(text)
    if not isinstance(stored, dict):
        raise ConfigError("the JSON of an offset is an object")
    if stored.keys() == {"file", "offset"}:
        return Position(stored["file"], stored["offset"])
    return same_for_all(position_of(stored))


def same_for_all(position: Position) -> Position:
    """Returns the position if its `ahead` is empty: Spark reads all tables from one place.

    Raises:
        ConfigError: Some tables were delivered beyond its base.
    """
    if not position.ahead:
        return position
    more = ", ..." if len(position.ahead) > SHOWN else ""
    tables = ", ".join(position.ahead[:SHOWN]) + more
    raise ConfigError(
        f"some tables were delivered beyond the base of the position {position} ({tables}), and"
        " Spark reads all tables from one place: use a position without `ahead`, such as one at the"
        " end of a transaction, or the `base` of this one, from which those changes are read again"
    )


def changed(position: Position, **fields: Any) -> Position:
    """The position with other fields of its stored form."""
    return Position.from_json(json.dumps({**offset_of(position), **fields}))


def of_gtids(text: str) -> Position:
    """Returns the position that is a GTID set alone.

    Raises:
        ConfigError: It is not a GTID set.
    """
    stored = json.loads(Position("binlog.000001", 4).to_json())
    return Position.from_json(json.dumps({**stored, "file": "", "offset": 0, "gtid_set": text}))


def reads_by_gtid(position: Position) -> bool:
    """Whether what follows can be asked for by GTID only, on the same server too."""
    return bool(offset_of(position).get("by_gtid"))


def initial(position: Position) -> Offset:
    """The offset at which a query begins that has no checkpoint yet."""
    return {**offset_of(position), "initial": True}


def is_initial(offset: Offset) -> bool:
    """Whether a query begins there; then only the end of its batch tells where it began."""
    return bool(offset.get("initial"))


def end_of_batch(start: Offset, end: Position, resumed: Position | None = None) -> Offset:
    """The offset at which a batch from `start` ends: `start` itself where there is nothing new.

    `resumed` is where it goes on, where `start` is lost.
    """
    offset = offset_of(end)
    if resumed is not None:
        offset["resumed"] = offset_of(resumed)
    elif not is_initial(start):
        return start if position_of(start) == end else offset
    if is_initial(start):
        offset["from"] = offset_of(position_of(start))
    return offset


def start_of_batch(start: Offset, end: Offset) -> Position:
    """Where a batch begins, of which Spark tells the two offsets."""
    if "resumed" in end:
        return position_of(end["resumed"])
    if is_initial(start) and "from" in end:
        return position_of(end["from"])
    return position_of(start)
