"""`binarrow history diff`: prints changes of a table between two places of the log."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from binarrow import ConfigError, SchemaError, SchemaHistory, TableSchema
from binarrow.cli.arguments import Format, FormatOption, TimeZone, where, zone_of
from binarrow.cli.failure import reports_failure
from binarrow.cli.history.arguments import (
    History,
    HistoryPasswordCommand,
    HistoryPasswordFile,
    Source,
    as_record,
    as_row,
    columns,
    names,
    opened,
)
from binarrow.cli.messages import in_cli
from binarrow.cli.output import print_json, print_table, printable
from binarrow.history.change import HistoryChange
from binarrow.history.diff import differences
from binarrow.history.schema_history import Place

EXAMPLES = """\
Examples:
  binarrow history diff shop.db shop.orders --from binlog.000017:4 --to binlog.000019:4
  binarrow history diff shop.db all --from 2026-11-01
  binarrow history diff shop.db all --from 2026-11-01 --to 2026-11-21 --json"""

ALL = "all"


@reports_failure
def command(
    history: History,
    table: Annotated[
        str,
        typer.Argument(
            metavar="DB.TABLE|all", help="The table, or all of them.", show_default=False
        ),
    ],
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="FILE:OFFSET, a GTID set, or a time such as 2026-11-21T09:00.",
            show_default=False,
        ),
    ],
    stop: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="WHERE",
            help="As for --from; by default the end of the history.",
            show_default=False,
        ),
    ] = None,
    source: Source = None,
    history_password_file: HistoryPasswordFile = None,
    history_password_command: HistoryPasswordCommand = None,
    tz: TimeZone = "UTC",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
) -> None:
    """Print the changes between two places: of columns and keys, and their statements."""
    is_json, zone = json or format is Format.json, zone_of(tz)
    with opened(history, source, history_password_file, history_password_command) as opened_history:
        begin, end = where(start), where(stop)
        if begin is None:
            raise ConfigError("--from is empty: write FILE:OFFSET or a time")
        if table == ALL:
            wanted = sorted({*opened_history.tables(begin), *opened_history.tables(end)})
            statements = list(opened_history.changes(start=begin, stop=end))
        else:
            database, name = names(table)
            wanted = [table]
            statements = list(opened_history.changes(database, name, start=begin, stop=end))
        for each in wanted:
            _compare(opened_history, each, (begin, end), statements, is_json=is_json)
    if is_json:
        for change in statements:
            print_json({"statement": as_record(change, zone)})
    elif statements:
        print_table(columns(zone), [as_row(change, zone) for change in statements])
    else:
        print("no statement between the two places")


def _compare(
    history: SchemaHistory,
    table: str,
    places: tuple[Place, Place | None],
    statements: list[HistoryChange],
    *,
    is_json: bool,
) -> None:
    database, name = names(table)
    own = [change.statement for change in statements if table in change.tables]
    try:
        before, after = (_found(history, database, name, place) for place in places)
    except SchemaError as error:
        if is_json:
            print_json({"table": table, "unknown": in_cli(error)})
        else:
            print(printable(f"{table}: {in_cli(error)}"))
        return
    found = differences(before, after, own)
    if is_json:
        for one in found:
            print_json({"table": table, **asdict(one)})
    elif found:
        print_table(
            [table, "what", "before", "after"],
            [[one.kind, one.what, one.before, one.after] for one in found],
        )


def _found(
    history: SchemaHistory, database: str, name: str, place: Place | None
) -> TableSchema | None:
    return history.find(database, name, place)
