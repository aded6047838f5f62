"""`binarrow inspect`: prints the events of files."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Annotated

import typer

import binarrow
from binarrow.cli.arguments import (
    Files,
    Format,
    FormatOption,
    TimeZone,
    sources,
    where_or_offset,
    zone_of,
)
from binarrow.cli.failure import reports_failure, unmatched_patterns_are_errors
from binarrow.cli.flags import flag
from binarrow.cli.output import Screen, byte_count, on_one_line, print_json, printable

EXAMPLES = """\
Examples:
  binarrow inspect binlog.000001
  binarrow inspect binlog.000001 --tables 'shop.*' --type '*rows*'
  binarrow inspect binlog.000001 --start 4096 --stop 2026-11-21T09:00
  binarrow inspect binlog.000001 --type table_map --table-metadata
  binarrow inspect binlog.000001 --start 4096 --stop 4200 --hexdump
  zstdcat binlog.000001.zst | binarrow inspect - | less -S
  binarrow inspect 'binlog.*' --format json | jq -r .type | sort | uniq -c"""

HEXDUMP_BYTES = 1 << 20
"""Bytes of a large event that are dumped at once."""


@reports_failure
def command(
    files: Files,
    tables: Annotated[list[str] | None, flag("tables")] = None,
    event_types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Only events of this type, by its name in the output, in any letter case; a glob;"
            " may be given again.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Begin at FILE:OFFSET, at OFFSET, or at a time."),
    ] = None,
    stop: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="End before FILE:OFFSET, OFFSET, or a time."),
    ] = None,
    queries: Annotated[
        bool,
        typer.Option(
            "--queries",
            help="Show complete statements. They may contain values of rows, and passwords.",
        ),
    ] = False,
    table_metadata: Annotated[
        bool,
        typer.Option(
            "--table-metadata",
            help="Show the columns and the key under each Table_map event, like mysqlbinlog"
            " --print-table-metadata.",
        ),
    ] = False,
    hexdump: Annotated[
        bool,
        typer.Option(
            "--hexdump",
            help="Show the bytes under each event, like mysqlbinlog --hexdump. They contain the"
            " values of rows.",
        ),
    ] = False,
    tz: TimeZone = "UTC",
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
) -> None:
    """Print the events of binlog files, one per line. FILE may be - for standard input.

    A compressed transaction is followed by its events, indented.

    By default values of rows are not shown, and statements are cut before their first value.

    Printed times are in the zone of --tz. Times without a zone in options are local. Statements are
    shown with their connection, and the end of a transaction with its size and its duration.
    """
    zone = zone_of(tz)
    events = binarrow.inspect(
        sources(files),
        tables=tables,
        event_types=event_types,
        start=where_or_offset(start),
        stop=where_or_offset(stop),
        queries=queries,
        table_metadata=table_metadata,
        data=hexdump,
    )
    with unmatched_patterns_are_errors(in_part=bool(start or stop)):
        if format is Format.json:
            for event in events:
                print_json(_record(event))
        else:
            _print_lines(events, zone, hexdump=hexdump)


def _print_lines(events: Iterable[binarrow.Event], zone: tzinfo | None, *, hexdump: bool) -> None:
    screen = Screen.of_stdout()
    write = sys.stdout.write
    time = f"time ({zone or 'local'})"
    head = f"{time:{TIME_WIDTH}}  {'file':16} {'offset':>12} {'size':>10}"
    head += f"  {'type':24} info"
    write(screen.styled(screen.fitted(head), "bold") + "\n")
    transaction = _Transaction()
    for event in events:
        line = screen.fitted(f"{_line(event, zone)}{transaction.note(event)}")
        if screen.colour:
            line = screen.styled(line[:TIME_WIDTH], "dim") + line[TIME_WIDTH:]
        write(f"{line}\n")
        if event.table_metadata is not None:
            write(printable(event.table_metadata))
        if hexdump:
            for begin in range(0, max(event.size, 1), HEXDUMP_BYTES):
                write(event.hexdump(begin, HEXDUMP_BYTES))


TIME_WIDTH = 19


def _line(event: binarrow.Event, zone: tzinfo | None) -> str:
    name = f"  {event.type_name}" if event.compressed else event.type_name
    thread = "" if event.thread_id is None else f" (thread {event.thread_id})"
    return (
        f"{_time(event.timestamp, zone):19}  {on_one_line(event.file):16} {event.offset:12}"
        f" {event.size:10}  {name:24}"
        f" {on_one_line(event.info)}{thread}"
    ).rstrip()


@lru_cache(maxsize=16)  # neighbours have the same time
def _time(timestamp: int, zone: tzinfo | None) -> str:
    if timestamp == 0:
        return "-"
    time = datetime.fromtimestamp(timestamp, UTC).astimezone(zone)
    return time.strftime("%Y-%m-%dT%H:%M:%S")


class _Transaction:
    """The size and the duration of the transaction that an event ends."""

    def __init__(self) -> None:
        self._begin: tuple[str, int] | None = None
        self._time = self._payload_end = 0

    def note(self, event: binarrow.Event) -> str:
        """Adds an event. Returns the size and the duration if it ends a transaction."""
        if "gtid" in event.type_name.lower() and event.type_name not in GTID_LISTS:
            self._begin, self._time = (event.file, event.offset), 0
        elif event.timestamp:
            self._time = min(self._time or event.timestamp, event.timestamp)
        if event.type_name == "Transaction_payload":
            self._payload_end = event.offset + event.size
        if event.type_name != "Xid" or self._begin is None or self._begin[0] != event.file:
            return ""
        end = self._payload_end if event.compressed else event.offset + event.size
        size, seconds = end - self._begin[1], event.timestamp - self._time
        self._begin = None
        return f" (transaction of {byte_count(size)}, {seconds} s)"


GTID_LISTS = ("Previous_gtids", "Gtid_list")


def _record(event: binarrow.Event) -> dict[str, object]:
    record: dict[str, object] = {
        "file": event.file,
        "offset": event.offset,
        "size": event.size,
        "type": event.type_name,
        "type_code": event.type_code,
        "timestamp": event.timestamp,
        "server_id": event.server_id,
        "log_pos": event.log_pos,
        "flags": event.flags,
        "compressed": event.compressed,
        "thread_id": event.thread_id,
        "table": event.table,
        "info": event.info,
    }
    if event.table_metadata is not None:
        record["table_metadata"] = event.table_metadata
    if event.data is not None:
        record["data"] = event.data.hex()
    return record
