"""`binarrow history check`: compares a table history with a server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from binarrow import InputError
from binarrow.cli.arguments import Format, FormatOption
from binarrow.cli.failure import reports_failure
from binarrow.cli.history.arguments import (
    History,
    HistoryPasswordCommand,
    HistoryPasswordFile,
    Source,
    Tables,
    opened,
)
from binarrow.cli.output import grouped, print_json, print_table
from binarrow.cli.server_options import Login, Url, logs_in
from binarrow.history.check import check_history

EXAMPLES = """\
Examples:
  binarrow history check shop.db mysql://repl@db.example/ --password
  binarrow history check shop.db --option-file ~/.my.cnf --tables 'shop.*'
  binarrow history check shop.db --option-file ~/.my.cnf --json | jq .table"""

DIFFERS = 1

EXIT_CODES = {DIFFERS: "tables differ, or the history or the server cannot be read"}


@reports_failure
@logs_in
def command(
    history: History,
    url: Url = None,
    tables: Tables = None,
    source: Source = None,
    history_password_file: HistoryPasswordFile = None,
    history_password_command: HistoryPasswordCommand = None,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    login: Login,
) -> None:
    """Compare a history with the server's current tables; the exit code is 1 if they differ.

    First the history is updated with the log up to its current end. The
    differences that remain are not in the log, for example because of
    sql_log_bin=0. To correct the history, run 'binarrow history baseline'.
    """
    with (
        opened(history, source, history_password_file, history_password_command) as opened_history,
        login.connect(url) as server,
    ):
        result = check_history(opened_history, server, tables=tables)
    if tables and not result.tables and not result.differences:
        raise InputError(f"no table of the server or the history matches {', '.join(tables)}")
    is_json = json or format is Format.json
    for table, one in result.differences:
        if is_json:
            print_json({"table": table, **asdict(one)})
    if not is_json:
        if result.differences:
            print_table(
                ["table", "", "what", "history", "server"],
                [
                    [table, one.kind, one.what, one.before, one.after]
                    for table, one in result.differences
                ],
            )
        differing = len({table for table, _ in result.differences})
        print(
            f"{grouped(result.tables)} tables as of {result.position.file}:"
            f"{result.position.offset}, {grouped(differing)} differ"
        )
    if result.differences:
        raise typer.Exit(DIFFERS)
