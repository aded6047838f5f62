"""Offsets of a streaming query: positions as JSON, anchored where the query began.

Spark stores a batch's end only, and asks for the beginning of the first batch again after a crash.
So the first offset is marked as ``initial``, and the end of the first batch holds where it began,
in ``from``: what "latest" meant then stays so.
"""

from __future__ import annotations

import json
from typing import Any

from binarrow import Position

Offset = dict[str, Any]
"""A position's stored form, with ``initial`` or ``from`` in the first batch's offsets."""


def offset_of(position: Position) -> Offset:
    """The offset of a position. Equal positions are equal text: Spark compares that."""
    stored: Offset = json.loads(position.to_json())
    return stored


def position_of(offset: Offset) -> Position:
    """The position of an offset.

    Raises:
        ConfigError: It is none of ours.
    """
    stored = {key: value for key, value in offset.items() if key not in ("initial", "from")}
    return Position.from_json(json.dumps(stored))


def initial(position: Position) -> Offset:
    """The offset at which a query begins that has no checkpoint yet."""
    return {**offset_of(position), "initial": True}


def is_initial(offset: Offset) -> bool:
    """Whether a query begins there; then only the end of its batch tells where it began."""
    return bool(offset.get("initial"))


def end_of_batch(start: Offset, end: Position) -> Offset:
    """The offset at which a batch from `start` ends: `start` itself where there is nothing new."""
    if not is_initial(start):
        return start if position_of(start) == end else offset_of(end)
    return {**offset_of(end), "from": offset_of(position_of(start))}


def start_of_batch(start: Offset, end: Offset) -> Position:
    """Where a batch begins, of which Spark tells the two offsets.

    Raises:
        ConfigError: It would go backwards.
    """
    if is_initial(start) and "from" in end:
        start = end["from"]
    return position_of(start)
