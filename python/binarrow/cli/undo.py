"""`binarrow undo`: SQL that reverses changes in files, or of a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import binarrow
from binarrow.cli.arguments import (
    Between,
    Gtids,
    Sources,
    Threads,
    TimeZone,
    is_server,
    range_of,
    zone_of,
)
from binarrow.cli.arguments import sources as files_of
from binarrow.cli.failure import reports_failure, unmatched_patterns_are_errors
from binarrow.cli.flags import Reading, reads
from binarrow.cli.new_file import STANDARD_OUTPUT, new_file
from binarrow.cli.output import print_table
from binarrow.cli.server_options import Login, logs_in

EXAMPLES = """\
Examples:
  binarrow undo 'binlog.*' --tables shop.orders --operations delete --to undo.sql
  binarrow undo binlog.000003 --tables 'shop.*' --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23
  binarrow undo 'binlog.*' --tables 'shop.*' --between 2026-11-21T10:00 2026-11-21T10:42 --dry-run
  binarrow undo 'binlog.*' --tables shop.orders --where "old.status = 'paid'" --redo
  binarrow undo mysql://repl@db.example/ --password --tables shop.orders --thread 4711"""

NOTHING_FOUND = 3

EXIT_CODES = {NOTHING_FOUND: "no change was found"}


@reports_failure
@logs_in
@reads("undo")
def command(
    sources: Sources,
    between: Between = None,
    gtid: Gtids = None,
    thread: Threads = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Repeat the changes, in the order of the log.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the number of changes by table.")
    ] = False,
    to: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The new file to write; - is standard output."),
    ] = STANDARD_OUTPUT,
    ignore_schema_changes: Annotated[
        bool,
        typer.Option(
            "--ignore-schema-changes",
            help="Leave out statements that cannot be reversed (ALTER, DROP, TRUNCATE); without"
            " this flag they are errors.",
        ),
    ] = False,
    foreign_key_checks: Annotated[
        bool,
        typer.Option(
            "--foreign-key-checks",
            help="Let the server check foreign keys and execute their actions.",
        ),
    ] = False,
    tz: TimeZone = "UTC",
    *,
    login: Login,
    reading: Reading,
) -> None:
    """Write SQL that reverses the changes that match, the last transaction first.

    The command executes nothing. When you execute the statements, the rows must be as they were
    after the changes. The statements find rows by the key, or by all columns if no key is known.
    The first lines of the output describe the effects.

    The log must contain complete rows: binlog_row_image=FULL. The output contains values of rows.
    """
    with reading.keywords() as given:
        keywords = {**given, **range_of(between, is_part=reading.is_part)}
        if not keywords.get("tables"):
            raise binarrow.ConfigError(
                "--tables is missing: name the tables whose changes are reversed, such as"
                " shop.orders or 'shop.*'"
            )
        own: dict[str, Any] = {
            "gtids": gtid or (),
            "thread_ids": thread or (),
            "redo": redo,
            "dry_run": dry_run,
            "schema_changes": "ignore" if ignore_schema_changes else "error",
            "foreign_key_checks": foreign_key_checks,
            "timezone": zone_of(tz),
        }
        with _script(sources, login, {**keywords, **own}) as script:
            if not script.counts:
                print("binarrow: no change was found", file=sys.stderr)
                raise typer.Exit(NOTHING_FOUND)
            if dry_run:
                heads = ["table", "inserts", "updates", "deletes"]
                rows = [
                    [each.table, each.inserts, each.updates, each.deletes] for each in script.counts
                ]
                print_table(heads, rows)
                return
            with new_file(to) as file:
                script.write_to(file)


def _script(sources: list[str], login: Login, keywords: dict[str, Any]) -> binarrow.UndoScript:
    if not is_server(sources):
        is_part = bool(keywords.get("start") or keywords.get("stop"))
        with unmatched_patterns_are_errors(in_part=is_part):
            return binarrow.undo(files_of(sources), **keywords)
    if keywords.pop("gaps", "error") != "error":
        raise binarrow.ConfigError("--allow-gaps is for files: the log of a server has no gaps")
    with login.connect(sources[0]) as server:
        return binarrow.undo(server, **keywords)
