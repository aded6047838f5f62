"""Offsets of a streaming query: positions as JSON.

While the existing rows are read, an offset also contains the number of chunks that were read, in
``chunks``. An offset without it is one of the log alone.

Spark stores only the end of a batch, and asks for the start of the first batch again after a crash.
So the first offset is marked as ``initial``, and the end of the first batch contains its start in
``from``: "latest" then means the same position after a restart. If a part of the log was lost and
the query continues without it, the end of that batch contains the new start in ``resumed``.
"""

from __future__ import annotations

import json
from typing import Any

from binarrow import ConfigError, Position
from binarrow.stored_forms import OFFSET

Offset = dict[str, Any]
"""A position's stored form, with a version, and some of the fields of `MARKS`."""

MARKS = ("initial", "from", "resumed", "chunks", OFFSET.key)
"""The fields that are not those of a position."""

SHOWN = 5
"""The maximum number of tables that an error names."""


def offset_of(position: Position) -> Offset:
    """Returns the offset of a position's base. Equal positions have equal texts for Spark."""
    stored: Offset = json.loads(position.base.to_json())
    return {**stored, **OFFSET.stamp}


def position_of(offset: Offset) -> Position:
    """Returns the position of an offset.

    Raises:
        ConfigError: The offset is not from this data source.
        LaterVersionError: A later version of binarrow has stored it.
    """
    OFFSET.check(offset.get(OFFSET.key), "the offset of the query")
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


def initial(position: Position, *, loads: bool = False) -> Offset:
    """Returns the start offset of a query that has no checkpoint yet.

    `loads` is true if the query reads the existing rows.
    """
    chunks = {"chunks": 0} if loads else {}
    return {**offset_of(position), "initial": True, **chunks}


def is_initial(offset: Offset) -> bool:
    """True for the start of a query; then only the end of the first batch contains its start."""
    return bool(offset.get("initial"))


def end_of_batch(
    start: Offset, end: Position, resumed: Position | None = None, chunks: int | None = None
) -> Offset:
    """Returns the offset at which a batch from `start` ends; `start` itself if nothing is new.

    `resumed` is the position at which reading continues if `start` is lost. `chunks` is the number
    of chunks that were read at the end of the batch; None if all rows were read.
    """
    offset = offset_of(end)
    if chunks is not None:
        offset["chunks"] = chunks
    if resumed is not None:
        offset["resumed"] = offset_of(resumed)
    elif not is_initial(start):
        is_same = position_of(start) == end and chunks_of(start) == chunks
        return start if is_same else offset
    if is_initial(start):
        offset["from"] = {key: value for key, value in start.items() if key != "initial"}
    return offset


def chunks_of(offset: Offset) -> int | None:
    """Returns the number of chunks that were read; None if all rows were read, or none are."""
    return offset.get("chunks")


def chunks_of_batch(start: Offset, end: Offset) -> tuple[int, int | None] | None:
    """Returns the chunks of a batch, from Spark's two offsets: the first, and that after the last.

    The second is None if the batch has all chunks that are left. None if it has no chunks.
    """
    if is_initial(start) and "from" in end:
        start = end["from"]
    first = chunks_of(start)
    return None if first is None else (first, chunks_of(end))


def start_of_batch(start: Offset, end: Offset) -> Position:
    """Returns the start of a batch, from Spark's two offsets."""
    if "resumed" in end:
        return position_of(end["resumed"])
    if is_initial(start) and "from" in end:
        return position_of(end["from"])
    return position_of(start)
