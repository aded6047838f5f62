"""`binarrow history show`: prints an overview of a table history."""

from __future__ import annotations

from typing import Annotated

import typer

from binarrow.cli.arguments import Format, FormatOption, TimeZone, zone_of
from binarrow.cli.failure import reports_failure
from binarrow.cli.history.arguments import (
    History,
    HistoryPasswordCommand,
    HistoryPasswordFile,
    Source,
    as_record,
    as_row,
    columns,
    opened,
)
from binarrow.cli.output import byte_count, grouped, on_one_line, print_json, print_table
from binarrow.history.store_url import file_of, is_on_server

EXAMPLES = """\
Examples:
  binarrow history show shop.db
  binarrow history show shop.db --changes
  binarrow history show 'mysql://hist@db.example/histories' --source shop --json"""


@reports_failure
def command(
    history: History,
    source: Source = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="Also list all stored statements, in log order.")
    ] = False,
    history_password_file: HistoryPasswordFile = None,
    history_password_command: HistoryPasswordCommand = None,
    tz: TimeZone = "UTC",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
) -> None:
    """Print the covered parts of the log, and the numbers of tables and statements.

    The tables are those at the end of the history. Rows of an unknown table
    cannot be read until a new baseline, or a CREATE TABLE in the log, contains
    its structure.
    """
    zone = zone_of(tz)
    with opened(history, source, history_password_file, history_password_command) as opened_history:
        covered = opened_history.covered
        tables = opened_history.tables() if covered else {}
        held = list(opened_history.changes())
        name = opened_history.source
    unknown = {table: why for table, why in tables.items() if why is not None}
    statements = [change for change in held if change.kind == "statement"]
    lost = sum(not change.followed for change in statements)
    size = _size(history)
    if json or format is Format.json:
        print_json(
            {
                "source": name,
                "covered": [
                    {"from": str(one.start), "to": str(one.stop), "server": one.server}
                    for one in covered
                ],
                "tables": len(tables),
                "unknown": unknown,
                "statements": len(statements),
                "not_followed": lost,
                "baselines": len(held) - len(statements),
                "bytes": size,
            }
        )
        if changes:
            for change in held:
                print_json(as_record(change, zone))
        return
    print(f"source      {on_one_line(name)}")
    if not covered:
        print("covered     nothing yet: take a baseline, or read a server's log with it")
        return
    print(f"tables      {grouped(len(tables))}, {grouped(len(unknown))} of them unknown")
    print(
        f"statements  {grouped(len(statements))}, {grouped(lost)} of them not followed;"
        f" {grouped(len(held) - len(statements))} baselines"
    )
    if size is not None:
        print(f"size        {byte_count(size)}")
    print_table(
        ["covered from", "to", "server"],
        [
            [
                f"{one.start.file}:{one.start.offset}",
                f"{one.stop.file}:{one.stop.offset}",
                one.server or "",
            ]
            for one in covered
        ],
    )
    if unknown:
        print_table(["unknown table", "why"], [[table, why] for table, why in unknown.items()])
    if changes:
        print_table(columns(zone), [as_row(change, zone) for change in held])


def _size(history: str) -> int | None:
    """The size of the file; None if the history is on a server."""
    if is_on_server(history):
        return None
    path = file_of(history)
    return path.stat().st_size if path.is_file() else None
