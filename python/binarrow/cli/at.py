"""`binarrow at`: prints the rows that a table of a server had at an earlier moment."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import binarrow
from binarrow.cli.arguments import Format, FormatOption, named, only_files, where
from binarrow.cli.change_lines import row_cells, shown_cells
from binarrow.cli.failure import reports_failure
from binarrow.cli.flags import flag
from binarrow.cli.new_file import STANDARD_OUTPUT, new_file
from binarrow.cli.output import json_text
from binarrow.cli.server_options import Login, Url, logs_in
from binarrow.cli.writer import FileFormat, cell_as_json, open_writer, types_for

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = """\
Examples:
  binarrow at 2026-11-21T10:42 mysql://repl@db.example/ --password --table shop.orders
  binarrow at 2026-11-21T10:42Z mysql://repl@db.example/ --table shop.orders --where 'id = 7'
  binarrow at binlog.000042:4711 mysql://repl@db.example/ --table shop.orders --to orders.parquet
  binarrow at 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --before mysql://repl@db.example/ \\
    --table shop.orders --format json
  binarrow at 2026-10-01T08:00Z mysql://repl@db.example/ --table shop.orders \\
    --archive '/archive/binlog.*'
  binarrow at 2026-10-01T08:00Z --rows orders.parquet --rows-position binlog.000042:4711 \\
    --table shop.orders --archive '/archive/binlog.*'"""

NOTHING_FOUND = 3

EXIT_CODES = {NOTHING_FOUND: "the table had no such row"}

FILES = ("parquet", "arrow", "csv", "jsonl")

STORED = ("parquet", "arrow")
"""The formats of stored rows: those that keep all types."""

TEXT = binarrow.TypeOptions(enum="text", time="text", zero_dates="text")
"""The types of rows that are printed."""


class Locks(StrEnum):
    """Values of --locks."""

    brief = "brief"


class Unlogged(StrEnum):
    """Values of --unlogged-changes."""

    error = "error"
    warn = "warn"
    ignore = "ignore"


@reports_failure
@logs_in
def command(
    moment: Annotated[
        str,
        typer.Argument(
            metavar="MOMENT",
            help="A time such as 2026-11-21T10:42 (the rows before the first transaction that was"
            " committed at or after it), FILE:OFFSET of the end of a transaction, a GTID of MySQL"
            " (the rows after this transaction), or a GTID set.",
            show_default=False,
        ),
    ],
    url: Url = None,
    table: Annotated[str, typer.Option(metavar="DB.TABLE", help="The table.")] = "",
    condition: Annotated[
        str | None,
        flag("where", "at", help="Only rows that match. old. and new. are not possible here."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="COLUMN,...", help="Only these columns.")
    ] = None,
    before: Annotated[
        bool, typer.Option("--before", help="With a GTID: the rows before the transaction.")
    ] = False,
    archive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Archived files of the server's log, a glob or a folder. The part of the log that"
            " the server has purged is read from them. NAME=FILE sets the name of a file in the"
            " server's log. May be given again, in log order.",
        ),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Start from the rows in a file (.parquet or .arrow, as --to writes it), and apply"
            " the changes between --rows-position and the moment. The changes are read from"
            " --archive, without a server, or from the log of the server.",
        ),
    ] = None,
    rows_position: Annotated[
        str | None,
        typer.Option(
            metavar="POSITION",
            help="The place in the log at which the table had the rows: FILE:OFFSET, or a position"
            " as JSON.",
        ),
    ] = None,
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A new file: NAME.parquet, NAME.arrow, NAME.csv or NAME.jsonl; - is standard"
            " output, in the form of --format.",
        ),
    ] = STANDARD_OUTPUT,
    locks: Annotated[
        Locks | None,
        typer.Option(
            help="brief: permits FLUSH TABLES WITH READ LOCK for a moment, if the position of a"
            " snapshot is not exact without it."
        ),
    ] = None,
    unlogged_changes: Annotated[
        Unlogged, flag("unlogged_changes", "at", metavar=None)
    ] = Unlogged.error,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    login: Login,
) -> None:
    """Print the rows that a table of a server had at an earlier moment.

    The command reads the rows that the table has now, and reverses the changes that the server's
    log contains since the moment. With --rows, it starts from stored rows instead, and applies the
    changes up to the moment. It writes nothing to the server. The log must contain complete rows
    (binlog_row_image=FULL), and no statement may have changed or emptied the table since the
    moment. If the server has purged a part of the log since the moment, name archived files of the
    log with --archive.

    The output contains values of rows. Times without a zone are local.
    """
    if not table:
        raise binarrow.ConfigError("--table is missing: name a table, such as shop.orders")
    file_format = None if to == STANDARD_OUTPUT else _file_format(to)
    files = None if not archive else named(only_files(archive, "--archive"))
    shared: dict[str, Any] = {
        "before": before,
        "unlogged_changes": unlogged_changes.value,
    }
    with ExitStack() as stack:
        if rows is not None:
            if rows_position is None:
                raise binarrow.ConfigError("--rows needs --rows-position")
            if (files is None) == (url is None):
                raise binarrow.ConfigError("--rows needs either --archive or the URL of a server")
            if condition is not None or columns is not None or locks is not None:
                raise binarrow.ConfigError("--rows excludes --where, --columns and --locks")
            found = binarrow.roll_forward(
                _stored(rows),
                rows_position,
                files if files is not None else stack.enter_context(login.connect(url)),
                table,
                where(moment) or moment,
                types=types_for(_file_format(rows, "--rows", STORED), "native"),
                **shared,
            )
        else:
            if rows_position is not None:
                raise binarrow.ConfigError("--rows-position needs --rows")
            found = binarrow.rows_at(
                stack.enter_context(login.connect(url)),
                table,
                where(moment) or moment,
                columns=None if columns is None else [each.strip() for each in columns.split(",")],
                where=condition,
                types=TEXT if file_format is None else types_for(file_format, "native"),
                locks=None if locks is None else "brief",
                archive=files,
                **shared,
            )
        stack.enter_context(found)
        count = _print(found, format) if file_format is None else _write(found, to, file_format)
    if not count:
        print("binarrow: the table had no such row", file=sys.stderr)
        raise typer.Exit(NOTHING_FOUND)


def _print(batches: Iterable[pa.RecordBatch], form: Format) -> int:
    count = 0
    for batch in batches:
        for row in row_cells(batch):
            text = json_text(row, cell_as_json) if form is Format.json else _text(row)
            sys.stdout.write(f"{text}\n")
            count += 1
    return count


def _text(row: dict[str, Any]) -> str:
    return " ".join(shown_cells(row))


def _file_format(path: Path, flag: str = "--to", known: Sequence[str] = FILES) -> FileFormat:
    suffix = path.suffix.removeprefix(".")
    if suffix not in known:
        raise binarrow.ConfigError(
            f"{flag} {path}: the suffix must be one of {', '.join(f'.{each}' for each in known)}"
        )
    return FileFormat(suffix)


def _stored(path: Path) -> pa.RecordBatchReader:
    """Opens a file of rows.

    Raises:
        InputError: It cannot be read.
    """
    import pyarrow as pa

    is_parquet = _file_format(path, "--rows", STORED) is FileFormat.parquet
    try:
        if is_parquet:
            from pyarrow import parquet

            file = parquet.ParquetFile(path)
            return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
        with pa.ipc.open_file(path) as opened:
            return pa.Table.from_batches(
                [opened.get_batch(number) for number in range(opened.num_record_batches)],
                opened.schema,
            ).to_reader()
    except (OSError, pa.ArrowInvalid) as error:
        raise binarrow.InputError(f"--rows {path}: {error}") from None


def _write(rows: binarrow.RowsAt, path: Path, file_format: FileFormat) -> int:
    import pyarrow as pa

    count = 0
    with new_file(path) as file:
        writer = open_writer(file_format, file, rows.schema)
        for batch in rows:
            writer.write_table(pa.Table.from_batches([batch]))
            count += batch.num_rows
        writer.close()
    return count
