"""`binarrow history find`: prints the structure of a table at a place of the log."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from binarrow import SchemaError, TableSchema
from binarrow.cli.arguments import Format, FormatOption, where
from binarrow.cli.failure import reports_failure
from binarrow.cli.history.arguments import (
    History,
    HistoryPasswordCommand,
    HistoryPasswordFile,
    Source,
    Table,
    names,
    opened,
)
from binarrow.cli.output import on_one_line, print_json, print_table, printable

EXAMPLES = """\
Examples:
  binarrow history find shop.db shop.orders
  binarrow history find shop.db shop.orders --at binlog.000017:4711
  binarrow history find shop.db shop.orders --at 2026-11-21T09:00 --sql"""


@reports_failure
def command(
    history: History,
    table: Table,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="FILE:OFFSET, a GTID set, or a time such as 2026-11-21T09:00; by default the end"
            " of the history.",
            show_default=False,
        ),
    ] = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print its CREATE TABLE statement.")] = False,
    source: Source = None,
    history_password_file: HistoryPasswordFile = None,
    history_password_command: HistoryPasswordCommand = None,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
) -> None:
    """Print the structure that a table had at a place of the log.

    A statement applies at a place if its transaction ends there or before.
    """
    database, name = names(table)
    with opened(history, source, history_password_file, history_password_command) as opened_history:
        found = opened_history.find(database, name, where(at))
    if found is None:
        raise SchemaError(f"there was no table {table} at this place")
    if sql:
        text = found.create_statement or ""
        print(printable(text) if sys.stdout.isatty() else text)
    elif json or format is Format.json:
        print_json(found.to_dict())
    else:
        _print(found)


def _print(table: TableSchema) -> None:
    key = table.row_key
    rows = [
        [
            number,
            column.name,
            column.type,
            "" if column.nullable else "NOT NULL",
            f"{key.index(column.name) + 1}" if column.name in key else "",
            column.collation or "",
            " ".join(filter(None, [column.generated, "" if column.visible else "invisible"])),
            on_one_line(column.comment or ""),
        ]
        for number, column in enumerate(table.columns, 1)
    ]
    print_table(["", "column", "type", "null", "key", "collation", "kind", "comment"], rows)
    if table.keys:
        print_table(
            ["key", "kind", "columns"],
            [[one.name or "", one.kind, ", ".join(one.columns)] for one in table.keys],
        )
    if table.comment:
        print(f"comment  {on_one_line(table.comment)}")
