"""`binarrow stats`: counts the changes in files."""

from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any

import typer

import binarrow
from binarrow.cli.arguments import Files, Format, FormatOption, TimeZone, files_read_twice, zone_of
from binarrow.cli.failure import reports_failure, unmatched_patterns_are_errors
from binarrow.cli.flags import Reading, reads
from binarrow.cli.groups import ENVELOPE, By, Groups, bar
from binarrow.cli.large_transactions import KEPT, described, largest_of
from binarrow.cli.new_file import new_file
from binarrow.cli.output import byte_count, grouped, print_json, print_table
from binarrow.cli.progress import progress_of
from binarrow.cli.report.counts import ENVELOPE as ENVELOPE_OF_PAGE
from binarrow.cli.report.counts import INCLUDE, Counts
from binarrow.cli.report.page import Report

EXAMPLES = """\
Examples:
  binarrow stats binlog.000001
  binarrow stats '/archive/binlog.*' --tables 'shop.*' --largest 10
  binarrow stats 'binlog.*' --by minute --plot --tz Europe/Berlin
  binarrow stats 'binlog.*' --by thread --start 2026-11-21T10:00
  binarrow stats 'binlog.*' --html changes.html --tz Europe/Berlin
  binarrow stats 'binlog.*' --format json | jq .rows"""


@reports_failure
@reads("stats")
def command(
    files: Files,
    largest: Annotated[
        int,
        typer.Option(metavar="COUNT", min=0, help="The number of largest transactions to show."),
    ] = 5,
    by: Annotated[
        By | None,
        typer.Option(
            help="Count the changes of each table by minute or hour of the commit, by connection,"
            " or by operation.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="With --by: draw the numbers of changes as bars.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of printing, write a new file with charts, which needs no network; - is"
            " standard output.",
            show_default=False,
        ),
    ] = None,
    tz: TimeZone = "UTC",
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    reading: Reading,
) -> None:
    """Count changes by table, and show the largest transactions and the time span.

    An update is one change and two rows. Logs without column names can be read too, because no
    value is decoded. --tables limits all counts, and the list of the largest transactions. To find
    more than 10 of these takes longer.

    --schemas and --history are only needed for tables with times in the old form of MariaDB 5.3,
    because the log does not contain the length of such values.
    """
    if plot and by is None:
        raise binarrow.ConfigError("--plot draws the groups of --by: add --by minute")
    if html is not None and (by is not None or format is Format.json):
        raise binarrow.ConfigError("--html has its own charts: leave out --by, --plot and --format")
    zone = zone_of(tz)
    if html is not None:
        with (
            reading.keywords() as keywords,
            files_read_twice(files) as source,
            new_file(html, "--html") as file,
        ):
            report = _report(source, largest, keywords, in_part=reading.is_part)
            page = replace(report, sources=files, zone=zone).html()
            file.write(page.encode())
        return
    groups = None if by is None else Groups(by)
    marks: list[binarrow.Transaction] = []
    with reading.keywords() as keywords, files_read_twice(files) as source:
        reader: Any = binarrow.read_binlog(
            source,
            column_names="none",
            split_key_updates=False,
            envelope=["change_type"] if by is None else list(ENVELOPE),
            include="transaction" if largest > KEPT else None,
            **keywords,
        )
        with (
            reader,
            progress_of(reader),
            unmatched_patterns_are_errors(in_part=reading.is_part),
        ):
            for item in reader:
                if isinstance(item, binarrow.Transaction):
                    marks.append(item)
                elif groups is not None:
                    groups.add(item)
        stats = reader.stats()
        found = stats["largest_transactions"][:largest]
        if largest > KEPT:
            found = largest_of(marks, largest)
        stats["largest_transactions"] = [described(source, one, **keywords) for one in found]
    del stats["zero_dates"]  # no date is decoded
    if groups is not None:
        stats["groups"] = groups.records(zone)
    if format is Format.json:
        print_json(_plain(stats, zone))
    else:
        _print(_plain(stats, zone), by, is_plotted=plot)


def _report(source: Any, largest: int, keywords: dict[str, Any], *, in_part: bool) -> Report:
    counts = Counts()
    shape: dict[str, Any] = {
        "column_names": "none",
        "split_key_updates": False,
        "envelope": ENVELOPE_OF_PAGE,
        "include": INCLUDE,
    }
    reader: Any = binarrow.read_binlog(source, **keywords, **shape)
    with reader, progress_of(reader), unmatched_patterns_are_errors(in_part=in_part):
        for item in reader:
            counts.add(item)
    stats = reader.stats()
    found = largest_of(counts.marks, largest)
    stats["largest_transactions"] = [described(source, one, **keywords) for one in found]
    return Report([], counts, stats, None)


def _print(stats: dict[str, Any], by: By | None, *, is_plotted: bool) -> None:
    by_table = sorted(stats["tables"].items(), key=lambda item: -item[1]["bytes"])
    print_table(
        ["table", "inserts", "updates", "deletes", "changes", "bytes"],
        [
            [name, *changes, sum(changes), counts["bytes"]]
            for name, counts in by_table
            for changes in [[counts[kind] for kind in ("inserts", "updates", "deletes")]]
        ],
    )
    if by is not None:
        _print_groups(stats["groups"], by, is_plotted=is_plotted)
    if stats["largest_transactions"]:
        print_table(
            [
                "largest transactions",
                "committed",
                "bytes",
                "changes",
                "seconds",
                "thread",
                "tables",
            ],
            [_large(each) for each in stats["largest_transactions"]],
        )
        for each in stats["largest_transactions"]:
            if each["gtid"] is not None:
                print(f"GTID       {_place(each)} is {each['gtid']}")
    if stats["first_commit"] is not None:
        print(f"committed  {stats['first_commit']} to {stats['last_commit']}")
    print(
        f"read       {byte_count(stats['bytes_read'])} in {stats['seconds']:.2f} s:"
        f" {grouped(stats['transactions'])} transactions, {grouped(stats['changes'])} changes"
        f" ({grouped(stats['rows'])} rows)"
    )
    if stats["dropped_rows_events"]:
        print(
            f"note       {grouped(stats['dropped_rows_events'])} rows events left out:"
            " their transactions did not commit"
        )
    if stats["statements_skipped"]:
        print(
            f"note       {grouped(stats['statements_skipped'])} statements that may change rows"
            " were logged as text and skipped: the log does not contain the rows"
        )


def _print_groups(groups: list[dict[str, Any]], by: By, *, is_plotted: bool) -> None:
    columns = ["table", "inserts", "updates", "deletes", "changes"]
    largest = max((each["changes"] for each in groups), default=0)
    print_table(
        [by.value, *columns, *([""] if is_plotted else [])],
        [
            [
                str(_or_none(each[by.value])),
                *(each[name] for name in columns),
                *([bar(each["changes"], largest)] if is_plotted else []),
            ]
            for each in groups
        ],
    )


def _large(each: dict[str, Any]) -> list[object]:
    names = list(each["tables"])
    shown = ", ".join(names[:SHOWN_TABLES])
    more = f" and {len(names) - SHOWN_TABLES} more" if len(names) > SHOWN_TABLES else ""
    return [
        _place(each),
        each["committed"],
        each["bytes"],
        each["changes"],
        each["duration_s"] or 0,
        str(_or_none(each["thread_id"])),
        f"{shown}{more}",
    ]


SHOWN_TABLES = 3
"""The maximum number of tables of a transaction that are named."""


def _place(each: dict[str, Any]) -> str:
    return f"{Path(each['file']).name}:{each['offset']}"


def _or_none(value: object) -> object:
    return "-" if value is None else value


def _plain(value: Any, zone: tzinfo | None) -> Any:
    """Returns the value with all times in it as ISO 8601."""
    match value:
        case datetime():
            return value.astimezone(zone).isoformat()
        case dict():
            return {name: _plain(each, zone) for name, each in value.items()}
        case list():
            return [_plain(each, zone) for each in value]
        case _:
            return value
