"""The statistics of a file in Delta's log: the smallest and largest values of columns."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

LISTED = 32
"""The number of columns that have statistics, which is Delta's default."""

LETTERS = 32
"""The maximum number of characters in the bounds of a text."""

LAST_LETTER = "\U0010ffff"

OLDEST = 1900
"""The first year that bounds may have. Earlier dates depend on the calendar of the reader."""


def statistics_of(footer: Any, schema: pa.Schema) -> str:
    """Returns the statistics of a file, from its footer.

    Columns of integers, text, dates and times have bounds, if the bounds are known. The bounds of
    text and times may be wider than the values. Readers do not skip a file because of a column
    without bounds.
    """
    import pyarrow as pa

    smallest: dict[str, Any] = {}
    largest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for place, field in enumerate(list(schema)[:LISTED]):
        if pa.types.is_list(field.type):
            continue  # its counts are those of the elements
        groups = _groups(footer, place)  # the other types have one column in a file
        if not groups or not all(group is not None and group.has_null_count for group in groups):
            continue
        nulls[field.name] = sum(group.null_count for group in groups)
        bounds = _bounds(field.type, [group for group in groups if group.num_values > 0])
        if bounds is not None:
            smallest[field.name], largest[field.name] = bounds
    return json.dumps(
        {
            "numRecords": footer.num_rows,
            "minValues": smallest,
            "maxValues": largest,
            "nullCount": nulls,
        }
    )


def _groups(footer: Any, place: int) -> list[Any]:
    return [footer.row_group(n).column(place).statistics for n in range(footer.num_row_groups)]


def _bounds(kind: pa.DataType, groups: list[Any]) -> tuple[Any, Any] | None:
    import pyarrow as pa

    types = pa.types
    convert: Any = {
        types.is_signed_integer: lambda low, high: (low, high),
        types.is_string: _text,
        types.is_date32: _dates,
        types.is_timestamp: lambda low, high: _times(low, high, is_utc=kind.tz is not None),
    }
    found = next((convert[check] for check in convert if check(kind)), None)
    if found is None or not groups or not all(group.has_min_max for group in groups):
        return None
    result: tuple[Any, Any] | None = found(
        min(group.min_raw for group in groups), max(group.max_raw for group in groups)
    )
    return result


def _text(low: bytes, high: bytes) -> tuple[str, str] | None:
    """Returns bounds. The order of the bytes is also the order of the code points."""
    try:
        first, last = low.decode(), high.decode()
    except UnicodeDecodeError:
        return None
    if len(last) > LETTERS:
        if last[LETTERS] == LAST_LETTER:
            return None
        last = last[:LETTERS] + LAST_LETTER
    return first[:LETTERS], last


def _dates(low: int, high: int) -> tuple[str, str] | None:
    try:
        first, last = (date(1970, 1, 1) + timedelta(days=days) for days in (low, high))
    except OverflowError:
        return None
    return None if first.year < OLDEST else (first.isoformat(), last.isoformat())


def _times(low: int, high: int, *, is_utc: bool) -> tuple[str, str] | None:
    """Returns bounds in milliseconds: the smallest time is rounded down, the largest one up."""
    start = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        first = start + timedelta(milliseconds=low // 1000)
        last = start + timedelta(milliseconds=-(-high // 1000))
    except OverflowError:
        return None
    if first.year < OLDEST:
        return None
    zone = "Z" if is_utc else ""
    shown = [
        f"{one.replace(tzinfo=None).isoformat(timespec='milliseconds')}{zone}"
        for one in (first, last)
    ]
    return shown[0], shown[1]
