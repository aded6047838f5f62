"""`binarrow check`: checks that a server is set up for reading its changes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from binarrow.cli.arguments import Format, FormatOption
from binarrow.cli.failure import reports_failure
from binarrow.cli.messages import in_cli
from binarrow.cli.output import on_one_line, print_json, print_table
from binarrow.cli.server_options import Login, Url, logs_in
from binarrow.server.privileges import Use

EXAMPLES = """\
Examples:
  binarrow check mysql://repl@db.example/ --password
  binarrow check --option-file ~/.my.cnf
  binarrow check --option-file ~/.my.cnf --json | jq 'select(.grade != "ok")'
  binarrow check mysql://repl@db.example/ --password --for spark --tables shop.orders
  binarrow check mysql://repl@db/ --password --tls verify_ca --tls-ca ca.pem"""

LOSES_CHANGES = 1

EXIT_CODES = {LOSES_CHANGES: "the server cannot be read, or a check is an error"}


@reports_failure
@logs_in
def command(
    url: Url = None,
    use: Annotated[
        Use | None,
        typer.Option("--for", help="The use to check the server for."),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--tables",
            metavar="DB.TABLE",
            help="A table whose structure is needed. May be given again.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    login: Login,
) -> None:
    """Check a server's settings for reading its changes, and suggest fixes.

    An error means that changes cannot be read, or are lost. The exit code is then 1.

    A warning means that something is missing, or harder than necessary.
    """
    with login.connect(url) as server:
        checks = server.check(use, tables=tables)
        title = f"{'MariaDB' if server.flavor == 'mariadb' else 'MySQL'} {server.version}"
    if json or format is Format.json:
        for check in checks:
            print_json(asdict(check))
    else:
        print(on_one_line(title))
        rows = [[one.grade, one.name, one.value, in_cli(one.advice)] for one in checks]
        print_table(["grade", "what", "is", "what to change"], rows)
    if any(check.grade == "error" for check in checks):
        raise typer.Exit(LOSES_CHANGES)
