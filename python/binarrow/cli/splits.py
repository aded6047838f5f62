"""`binarrow splits`: prints the ranges of files for tasks."""

from typing import Annotated

import typer

import binarrow
from binarrow.byte_size import parse_byte_size
from binarrow.cli.arguments import Files, Format, FormatOption, named, only_files
from binarrow.cli.failure import reports_failure
from binarrow.cli.flags import Reading, reads
from binarrow.cli.output import print_table

EXAMPLES = """\
Examples:
  binarrow splits '/archive/binlog.*'
  binarrow splits binlog.000001 --target-bytes 16m --format json"""


@reports_failure
@reads("splits")
def command(
    files: Files,
    target_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="The approximate size of a range: 64m, 1g.")
    ] = "64m",
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    reading: Reading,
) -> None:
    """Print ranges of files that end at ends of transactions, one per Spark task."""
    size = parse_byte_size(target_bytes)
    files = only_files(files, "ranges are parts of files")
    if isinstance(named(files), dict):
        raise binarrow.ConfigError("ranges contain files only: leave out NAME= before them")
    found = [
        split
        for place, path in enumerate(binarrow.expand_source(files), start=1)
        for split in binarrow.scan_splits(path, target_bytes=size, place=place)
    ]
    with reading.keywords() as keywords:
        linked = binarrow.link_splits(found, **keywords)
    if format is Format.json:
        for split in linked:
            print(split.to_json())
        return
    rows = [[split.path, split.start, split.stop, split.stop - split.start] for split in linked]
    print_table(["file", "start", "stop", "bytes"], rows)
