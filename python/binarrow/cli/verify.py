"""`binarrow verify`: compares a server with the target of a sync."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from binarrow import (
    BinarrowError,
    ConfigError,
    TargetBusyError,
    VerifiedTable,
    VerifySummary,
    verify,
)
from binarrow.cli.arguments import Format, FormatOption
from binarrow.cli.change_lines import shown_cells
from binarrow.cli.failure import failed, reports_failure
from binarrow.cli.flags import flag
from binarrow.cli.output import json_text, print_table, printable
from binarrow.cli.progress import verify_progress
from binarrow.cli.server_options import Login, logs_in
from binarrow.cli.sync_flags import BusyTimeout, Locks
from binarrow.cli.writer import cell_as_json

EXAMPLES = """\
Examples:
  binarrow verify mysql://repl@db/ duckdb:///shop.duckdb --password
  binarrow verify mysql://repl@db/ duckdb:///shop.duckdb --password --tables shop.t --show-keys"""

MISMATCH = 1
BUSY = 3
INCONCLUSIVE = 4

EXIT_CODES = {
    MISMATCH: "a table is MISMATCH",
    BUSY: "another process uses the target",
    INCONCLUSIVE: "a table is INCONCLUSIVE and none is MISMATCH, or the server or the target cannot"
    " be read",
}


@reports_failure
@logs_in
def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The server: mysql://user@host:3306/, or mariadb://.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="The target of 'binarrow sync --mode mirror': duckdb:///mirror.duckdb;"
            " delta+file:///lake; delta+s3://bucket/prefix; iceberg+file:///lake; iceberg://CATALOG.",
            show_default=False,
        ),
    ],
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--tables",
            metavar="DB.TABLE",
            help="Only these tables; * and ? are wildcards. May be given again. By default all"
            " tables of the target.",
        ),
    ] = None,
    exclude_tables: Annotated[
        list[str] | None,
        typer.Option("--exclude-tables", metavar="DB.TABLE", help="Tables to leave out."),
    ] = None,
    show_keys: Annotated[
        bool,
        typer.Option(
            "--show-keys",
            help="Print the keys of rows that differ, at most 100 of a table. Keys are values of"
            " rows.",
        ),
    ] = False,
    locks: Annotated[
        Locks | None,
        typer.Option(
            help="brief: permit FLUSH TABLES WITH READ LOCK while a snapshot of rows is opened.",
            show_default=False,
        ),
    ] = None,
    max_rows_per_second: Annotated[
        int | None,
        flag(
            "max_rows_per_second",
            min=1,
            show_default=False,
            help="The maximum number of rows that are read from the server per second.",
        ),
    ] = None,
    busy_timeout: BusyTimeout = 300.0,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    login: Login,
) -> None:
    """Compare the tables of a server with the target of a sync.

    All cells are compared, bit by bit. The result of a table is:

    MATCH: the target has exactly the rows that the server had at the
    target's position in the log.

    MISMATCH: it does not. "missing" rows are only on the server, "extra" rows
        only in the target, and "different" rows have other values. "unlogged"
        rows were changed on the server, but the change is not in its log.

    INCONCLUSIVE: it is not known. The reason is printed.

    The server may be in use, and a sync may run at the same time. The command
    changes nothing. If the target is old, first run 'binarrow sync --once',
    because the log since the position of the target is read once for each
    table.
    """
    is_json = json or format is Format.json
    try:
        with login.connect(source) as server, verify_progress() as show:
            summary = verify(
                server,
                target,
                tables=tables or None,
                exclude_tables=exclude_tables or None,
                show_keys=show_keys,
                locks=None if locks is None else "brief",
                max_rows_per_second=max_rows_per_second,
                busy_timeout=busy_timeout,
                on_progress=show,
            )
    except TargetBusyError as error:
        raise failed(error, BUSY) from None
    except ConfigError:
        raise
    except (BinarrowError, OSError) as error:
        raise failed(error, INCONCLUSIVE) from None
    _print(summary, is_json=is_json)
    if summary.result != "MATCH":
        raise typer.Exit(MISMATCH if summary.result == "MISMATCH" else INCONCLUSIVE)


def _print(summary: VerifySummary, *, is_json: bool) -> None:
    if is_json:
        for name, one in sorted(summary.tables.items()):
            print(json_text(_record(*name, one), cell_as_json))
        return
    rows = [
        [
            ".".join(name),
            one.result,
            one.source_rows,
            one.target_rows,
            *one.differences.values(),
            _reason(one),
        ]
        for name, one in sorted(summary.tables.items())
    ]
    columns = ["table", "result", "source rows", "target rows"]
    print_table([*columns, "missing", "extra", "different", "unlogged", "reason"], rows)
    for name, one in sorted(summary.tables.items()):
        for row in one.keys:
            key = " ".join(shown_cells(row.key))
            print(printable(f"{'.'.join(name)} {row.difference} {key}"))


def _reason(table: VerifiedTable) -> str:
    return table.reason if table.is_complete else "there are more differences"


def _record(database: str, table: str, one: VerifiedTable) -> dict[str, Any]:
    return {
        "database": database,
        "table": table,
        "result": one.result,
        "reason": one.reason,
        "source_rows": one.source_rows,
        "target_rows": one.target_rows,
        **{str(name): count for name, count in one.differences.items()},
        "complete": one.is_complete,
        "position": None if one.position is None else str(one.position),
        "keys": [{"difference": each.difference, "key": each.key} for each in one.keys],
    }
