"""`binarrow stats`: counts the changes in files."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

import binarrow
from binarrow.cli.arguments import Files, Format, FormatOption, named
from binarrow.cli.failure import reports_failure, unmatched_patterns_are_errors
from binarrow.cli.flags import Reading, reads
from binarrow.cli.output import byte_count, grouped, print_json, print_table
from binarrow.cli.progress import progress_of

EXAMPLES = """\
Examples:
  binarrow stats binlog.000001
  binarrow stats '/archive/binlog.*' --tables 'shop.*' --largest 10
  binarrow stats 'binlog.*' --format json | jq .rows"""


@reports_failure
@reads("stats")
def command(
    files: Files,
    largest: Annotated[
        int,
        typer.Option(
            metavar="COUNT", min=0, max=10, help="How many of the largest transactions to show."
        ),
    ] = 5,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    reading: Reading,
) -> None:
    """Count changes by table, and show the largest transactions and the time span.

    An update is one change and two rows. Logs without column names work: no value is decoded.
    --tables limits all counts, and the list of the largest transactions.

    --schemas and --history are only needed for tables with times in the old form of MariaDB 5.3,
    because the log does not contain the length of such values.
    """
    with reading.keywords() as keywords:
        reader = binarrow.read_binlog(
            named(files), column_names="none", envelope="change_type", **keywords
        )
        with (
            reader,
            progress_of(reader),
            unmatched_patterns_are_errors(in_part=reading.is_part),
        ):
            for _ in reader:
                pass
        stats = reader.stats()
    del stats["zero_dates"]  # no date is decoded
    stats["largest_transactions"] = stats["largest_transactions"][:largest]
    if format is Format.json:
        print_json(_plain(stats))
    else:
        _print(stats)


def _print(stats: dict[str, Any]) -> None:
    by_table = sorted(stats["tables"].items(), key=lambda item: -item[1]["bytes"])
    print_table(
        ["table", "inserts", "updates", "deletes", "changes", "bytes"],
        [
            [name, *changes, sum(changes), counts["bytes"]]
            for name, counts in by_table
            for changes in [[counts[kind] for kind in ("inserts", "updates", "deletes")]]
        ],
    )
    if stats["largest_transactions"]:
        print_table(
            ["largest transactions", "committed", "bytes"],
            [
                [f"{Path(each['file']).name}:{each['offset']}", each["committed"], each["bytes"]]
                for each in _plain(stats["largest_transactions"])
            ],
        )
    if stats["first_commit"] is not None:
        print(f"committed  {_plain(stats['first_commit'])} to {_plain(stats['last_commit'])}")
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


def _plain(value: Any) -> Any:
    """Returns the value with all times in it as ISO 8601."""
    match value:
        case datetime():
            return value.isoformat()
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value
