"""`binarrow index`: writes the indexes of files, or checks them."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

import binarrow
from binarrow.cli.arguments import Files, Format, FormatOption, only_files
from binarrow.cli.command import BAD_INPUT
from binarrow.cli.failure import failed, reports_failure
from binarrow.cli.output import json_text, print_table

EXAMPLES = """\
Examples:
  binarrow index 'archive/*/binlog.*'
  binarrow index binlog.000001 --check"""


@reports_failure
def command(
    files: Files,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare existing indexes with a full read of the files."),
    ] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
) -> None:
    """Write an index next to each file, so that commands and readers skip parts of the file.

    The index of binlog.000001 is binlog.000001.binarrow-index. It contains the tables, times and
    GTIDs of each part of the file, the smallest and largest values of columns, and Bloom filters of
    keys, in at most 0.5 % of the size of the log (or 4 KiB). With --tables or --where, find, undo,
    export and Spark then read only the parts that may contain such rows.

    A file to which a server may still write gets no index.
    """
    is_wrong = False
    found = []
    for paths in binarrow.find_logs(only_files(files, "an index")).values():
        for path in paths:
            try:
                found.append(binarrow.check_index(path) if check else binarrow.write_index(path))
            except binarrow.BinarrowError as error:
                is_wrong = True
                print(f"binarrow: {path}:", file=sys.stderr)
                failed(error, BAD_INPUT)
    if format is Format.json:
        for each in found:
            print(json_text(asdict(each), str))
    elif found:
        rows = [
            [
                each.path,
                each.log_bytes,
                each.bytes,
                f"{100 * each.bytes / each.log_bytes:.2f} %",
                each.segments,
                f"{100 * each.covered_bytes / each.log_bytes:.0f} %",
            ]
            for each in found
        ]
        print_table(["index", "log bytes", "bytes", "size", "parts", "covered"], rows)
    if is_wrong:
        raise typer.Exit(BAD_INPUT)
