"""Offsets of a streaming query: positions as JSON.

Spark stores only the end of a batch, and asks for the start of the first batch again after a crash.
So the first offset is marked as ``initial``, and the end of the first batch contains its start in
``from``: "latest" then means the same position after a restart. If a part of the log was lost and
the query continues without it, the end of that batch contains the new start in ``resumed``.
"""

from __future__ import annotations

import json
from typing import Any

from binarrow import ConfigError, Position

Offset = dict[str, Any]
"""A position's stored form, with ``initial``, ``from`` or ``resumed`` if needed."""

MARKS = ("initial", "from", "resumed")

SHOWN = 5
"""The maximum number of tables that an error names."""


def offset_of(position: Position) -> Offset:
    """Returns the offset of a position's base. Equal positions have equal texts for Spark."""
    stored: Offset = json.loads(position.base.to_json())
    return stored


def position_of(offset: Offset) -> Position:
    """Returns the position of an offset.

    Raises:
        ConfigError: The offset is not from this data source.
    """
    stored = {key: value for key, value in offset.items() if key not in MARKS}
    return Position.from_json(json.dumps(stored))


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


def initial(position: Position) -> Offset:
    """Returns the start offset of a query that has no checkpoint yet."""
    return {**offset_of(position), "initial": True}


def is_initial(offset: Offset) -> bool:
    """True for the start of a query; then only the end of the first batch contains its start."""
    return bool(offset.get("initial"))


def end_of_batch(start: Offset, end: Position, resumed: Position | None = None) -> Offset:
    """Returns the offset at which a batch from `start` ends; `start` itself if nothing is new.

    `resumed` is the position at which reading continues if `start` is lost.
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
    """Returns the start of a batch, from Spark's two offsets."""
    if "resumed" in end:
        return position_of(end["resumed"])
    if is_initial(start) and "from" in end:
        return position_of(end["from"])
    return position_of(start)
