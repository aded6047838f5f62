"""Places in a server's log from which its changes are reversed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from binarrow._native import (
    ConfigError,
    Position,
    PositionPurgedError,
    Transaction,
    parse_place,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from binarrow.server import Server

GTID = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})((?::[a-z_]\w*)?):(\d+)", re.IGNORECASE
)
"""One GTID of MySQL: the UUID of a server, a tag, a number."""


def start_of(
    server: Server, moment: Position | str | datetime, *, before: bool
) -> Position | datetime:
    """Returns the place in the log of a server after which changes are reversed.

    Raises:
        ConfigError: The moment is not a place in the log, or is in the future.
        PositionPurgedError: The server no longer has the log from there on.
    """
    match = GTID.fullmatch(moment.strip()) if isinstance(moment, str) else None
    if match is not None:
        return _of_transaction(server, match, before=before)
    if before:
        raise ConfigError("before: the moment is not a GTID of MySQL: leave it out")
    place = parse_place(moment) if isinstance(moment, str) else moment
    if isinstance(place, str):
        raise ConfigError(f"{place!r} is not an earlier moment: give a time, a position or a GTID")
    if isinstance(place, datetime):
        _check_time(server, place)
    elif not place.file:
        return _of_gtid_set(server, place)
    return place


def _check_time(server: Server, time: datetime) -> None:
    if time.tzinfo is None:
        raise ConfigError("a datetime needs a time zone: datetime(..., tzinfo=timezone.utc)")
    if time > datetime.now(UTC):
        raise ConfigError(f"{time.isoformat()} is in the future")
    oldest = server.binlogs()[0].name
    created = server.file_start(oldest).file_created
    if created is not None and time < datetime.fromtimestamp(created, UTC):
        raise PositionPurgedError(
            f"the server has no log of {time.isoformat()}: its oldest file {oldest} was created"
            f" at {datetime.fromtimestamp(created, UTC).isoformat()}"
        )


def _of_gtid_set(server: Server, place: Position) -> Position:
    """Returns the place at which a server had executed these transactions and no others."""
    asked = Position.after_gtids(place.gtid_set or "")
    if server.flavor == "mysql":
        found = server.range_end(place, stop=place)
        if _is_after(found, asked):
            return found.replace(by_gtid=False)
        raise _no_such_place(place)
    for file in reversed(server.binlogs()):
        start = server.file_start(file.name)
        if not Position.after_gtids(start.gtid_set or "") <= asked:
            continue
        if _is_after(start, asked):
            return start
        for mark in _transactions(server, start):
            if _is_after(mark.position, asked):
                return mark.position.replace(by_gtid=False)
        break
    raise _no_such_place(place)


def _no_such_place(place: Position) -> PositionPurgedError:
    return PositionPurgedError(
        f"the log has no place at which the server had exactly the transactions {place.gtid_set}:"
        " give a time or a position"
    )


def _is_after(place: Position, asked: Position) -> bool:
    return place.gtid_set is not None and Position.after_gtids(place.gtid_set) == asked


def _of_transaction(server: Server, gtid: re.Match[str], *, before: bool) -> Position:
    """Returns the place after a transaction, or before it."""
    source, tag, number = gtid[1].lower(), gtid[2].lower(), int(gtid[3])
    wanted = f"{source}{tag}:{number}"
    files = [file.name for file in server.binlogs()]
    for name in reversed(files):
        start = server.file_start(name)
        if _contains(start.gtid_set or "", source, tag.removeprefix(":"), number):
            continue
        for mark in _transactions(server, start):
            is_wanted = mark.gtid is not None and mark.gtid.lower() == wanted
            if is_wanted and mark.kind == ("begin" if before else "end"):
                return mark.position
        break
    raise PositionPurgedError(
        f"the server's log contains no transaction {wanted} with row events: give a time or a"
        " position"
    )


def _transactions(server: Server, start: Position) -> Iterator[Transaction]:
    """Returns the begins and ends of the transactions from a place on, in any table."""
    with server.stream(
        start, stop="end", include="transaction", column_names="none", statements="skip"
    ) as items:
        for item in items:
            if isinstance(item, Transaction):
                yield item


def _contains(gtid_set: str, source: str, tag: str, number: int) -> bool:
    """True if a GTID set contains a GTID."""
    for part in gtid_set.lower().replace(" ", "").replace("\n", "").split(","):
        own_source, *intervals = part.split(":")
        own_tag = ""
        for interval in intervals:
            if not interval[:1].isdigit():
                own_tag = interval
                continue
            first, _, last = interval.partition("-")
            is_in = int(first) <= number <= int(last or first)
            if (own_source, own_tag) == (source, tag) and is_in:
                return True
    return False


__all__ = ["start_of"]
