"""The places of moments in a log."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from binarrow._native import (
    ChangeBatch,
    ConfigError,
    Position,
    PositionPurgedError,
    SchemaChange,
    Transaction,
    parse_place,
)
from binarrow.past.changes import changes_tables, quiet_search
from binarrow.past.logs import ServerLog

if TYPE_CHECKING:
    from binarrow.past.logs import Log

GTID = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})((?::[a-z_]\w*)?):(\d+)", re.IGNORECASE
)
"""One GTID of MySQL: the UUID of a server, a tag, a number."""


def start_of(
    log: Log, moment: Position | str | datetime, table: str, *, before: bool
) -> Position | datetime:
    """Returns the place of a moment in a log.

    Raises:
        ConfigError: The moment is not a place in the log, or is in the future.
        PositionPurgedError: The log does not reach back to the moment.
    """
    match = GTID.fullmatch(moment.strip()) if isinstance(moment, str) else None
    if match is not None:
        return _of_transaction(log, match, table, before=before)
    if before:
        raise ConfigError("before: the moment is not a GTID of MySQL: leave it out")
    place = parse_place(moment) if isinstance(moment, str) else moment
    if isinstance(place, str):
        raise ConfigError(f"{place!r} is not an earlier moment: give a time, a position or a GTID")
    if isinstance(place, datetime):
        _check_time(log, place)
    elif not place.file:
        return _of_gtid_set(log, place, table)
    return place


def names_file(moment: Position | str | datetime) -> bool:
    """True if a moment is a place in a file, and not a time or GTIDs."""
    if isinstance(moment, str):
        if GTID.fullmatch(moment.strip()):
            return False
        moment = parse_place(moment)
    return isinstance(moment, Position) and bool(moment.file)


def before_time(log: Log, start: Position, time: datetime, table: str) -> Position:
    """Returns the place before the first transaction or statement at or after a time.

    Args:
        log: The log.
        start: The place at which the search starts.
        time: The time.
        table: The table whose statements count, such as ALTER TABLE. Every transaction counts.

    Returns:
        The place; that of the end of the log if there is no such transaction or statement.
    """
    last = start
    with log.marks(start, table) as items:
        for item in items:
            if isinstance(item, ChangeBatch):
                continue
            if item.commit_timestamp >= time:
                is_begin = isinstance(item, Transaction) and item.kind == "begin"
                return item.position if is_begin else last
            last = item.position
        return items.position or last


def has_statement(log: ServerLog, start: Position, table: str) -> bool:
    """True if a server's log has a statement after a place that changes the columns of a table."""
    keywords: dict[str, Any] = {"tables": table, "column_names": "none", "statements": "skip"}
    with (
        quiet_search(),
        log.server.stream(start, stop="end", include="schema_change", **keywords) as items,
    ):
        return any(isinstance(item, SchemaChange) and changes_tables(item) for item in items)


def _check_time(log: Log, time: datetime) -> None:
    if time.tzinfo is None:
        raise ConfigError("a datetime needs a time zone: datetime(..., tzinfo=timezone.utc)")
    if time > datetime.now(UTC):
        raise ConfigError(f"{time.isoformat()} is in the future")
    oldest = log.files()[0]
    start = log.file_start(oldest)
    if start.file_created is None:
        return
    # The time is in seconds: the file may have been created at the end of this second.
    is_first = start.file_number == 1 and not start.gtid_set
    created = datetime.fromtimestamp(start.file_created, UTC)
    if time < created + (timedelta() if is_first else timedelta(seconds=1)):
        raise PositionPurgedError(
            f"{log.owner} has no log of {time.isoformat()}: its oldest file {oldest} was created"
            f" at {created.isoformat()}"
        )


def _of_gtid_set(log: Log, place: Position, table: str) -> Position:
    """Returns the place at which a server had executed these transactions and no others."""
    asked = Position.after_gtids(place.gtid_set or "")
    if isinstance(log, ServerLog) and log.server.flavor == "mysql":
        found = log.server.range_end(place, stop=place)
        if _is_after(found, asked):
            return found.replace(by_gtid=False)
        raise _no_such_place(log, place)
    for file in reversed(log.files()):
        start = log.file_start(file)
        if not _is_within(start, asked):
            continue
        if _is_after(start, asked):
            return start
        for mark in log.transactions(start, table):
            if _is_after(mark.position, asked):
                return mark.position.replace(by_gtid=False)
        break
    raise _no_such_place(log, place)


def _no_such_place(log: Log, place: Position) -> PositionPurgedError:
    return PositionPurgedError(
        f"the log of {log.owner} has no place with exactly the transactions {place.gtid_set} before"
        " it: give a time or a position"
    )


def _is_within(place: Position, asked: Position) -> bool:
    """True if a GTID set contains all transactions before a place."""
    try:
        return Position.after_gtids(place.gtid_set or "") <= asked
    except ConfigError:
        return False  # neither contains the other


def _is_after(place: Position, asked: Position) -> bool:
    return place.gtid_set is not None and Position.after_gtids(place.gtid_set) == asked


def _of_transaction(log: Log, gtid: re.Match[str], table: str, *, before: bool) -> Position:
    """Returns the place after a transaction, or before it."""
    source, tag, number = gtid[1].lower(), gtid[2].lower(), int(gtid[3])
    wanted = f"{source}{tag}:{number}"
    for name in reversed(log.files()):
        start = log.file_start(name)
        if _contains(start.gtid_set or "", source, tag.removeprefix(":"), number):
            continue
        found = _in_file(log, start, wanted, table, before=before)
        if found is not None:
            return found
        break
    raise PositionPurgedError(
        f"the log of {log.owner} contains no transaction {wanted} with row events or a statement on"
        " the table: give a time or a position"
    )


def _in_file(
    log: Log, start: Position, wanted: str, table: str, *, before: bool
) -> Position | None:
    """Returns the place after a transaction, or before it; None if the log does not contain it."""
    last = start
    with log.marks(start, table) as items:
        for item in items:
            if isinstance(item, ChangeBatch):
                continue
            if isinstance(item, Transaction):
                is_wanted = item.gtid is not None and item.gtid.lower() == wanted
                if is_wanted and item.kind == ("begin" if before else "end"):
                    return item.position
            elif _is_next(last, wanted, item.position):
                return last if before else item.position
            last = item.position
    return None


def _is_next(before: Position, gtid: str, after: Position) -> bool:
    """True if a transaction is the only one between two places."""
    if before.gtid_set is None or ":" not in (after.gtid_set or ""):
        return False  # not known, or GTIDs of MariaDB
    both = f"{before.gtid_set},{gtid}" if before.gtid_set else gtid
    return before.gtid_set != after.gtid_set and _is_after(after, Position.after_gtids(both))


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


__all__ = ["before_time", "has_statement", "names_file", "start_of"]
