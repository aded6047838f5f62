"""`binarrow history baseline`: creates a table history, or restores unknown tables in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from binarrow import ConfigError, SchemaHistory
from binarrow._native import Url
from binarrow.cli.failure import reports_failure
from binarrow.cli.history.arguments import (
    History,
    HistoryPasswordCommand,
    HistoryPasswordFile,
    Source,
    Tables,
    opened,
)
from binarrow.cli.output import grouped
from binarrow.cli.server_options import Login, logs_in

EXAMPLES = """\
Examples:
  binarrow history baseline shop.db mysql://repl@db.example/ --password
  binarrow history baseline shop.db --option-file ~/.my.cnf
  mysqldump --no-data --databases shop --source-data=2 > shop.sql
  binarrow history baseline shop.db shop.sql --position binlog.000017:4711 --server mysql-8.4"""


@reports_failure
@logs_in
def command(
    history: History,
    structures: Annotated[
        str | None,
        typer.Argument(
            metavar="URL|FILE.sql",
            help="The server, mysql://user@host:3306/ (see 'binarrow check --help'), or a file of"
            " CREATE statements.",
            show_default=False,
        ),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(metavar="FILE:OFFSET", help="For a file: its position in the log."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="NAME-VERSION",
            help="For a file: its server, such as mysql-8.4 or mariadb-11.8.",
        ),
    ] = None,
    tables: Tables = None,
    source: Source = None,
    history_password_file: HistoryPasswordFile = None,
    history_password_command: HistoryPasswordCommand = None,
    *,
    login: Login,
) -> None:
    """Store the current structures of a server's tables, or those in a file.

    The first baseline creates the history. Readers with --history then follow
    the log. A new baseline restores tables that have become unknown.

    The command takes no lock. The account needs REPLICATION SLAVE, REPLICATION
    CLIENT (MariaDB: BINLOG MONITOR) and SELECT. The command names tables that
    the account may not see.
    """
    is_file = structures is not None and Url.parse(structures) is None
    if is_file and position is None:
        raise ConfigError(
            "--position is required with an SQL file: the position in the log at which the tables"
            " had these structures"
        )
    with opened(
        history, source, history_password_file, history_password_command, is_new=True
    ) as opened_history:
        if is_file and structures is not None:
            taken = opened_history.baseline(
                Path(structures), position, tables=tables, server=server
            )
        else:
            with login.connect(structures) as connection:
                taken = opened_history.baseline(connection, position, tables=tables, server=server)
        _print(opened_history, f"{taken.file}:{taken.offset}")


def _print(history: SchemaHistory, place: str) -> None:
    print(f"{grouped(len(history.tables(place)))} tables as of {place}")
