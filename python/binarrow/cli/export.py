"""`binarrow export`: writes changes to files, one folder per table."""

from pathlib import Path
from typing import Annotated, Any

import typer

import binarrow
from binarrow.cli.arguments import Files, sources
from binarrow.cli.export_stream import ExportStream
from binarrow.cli.failure import reports_failure, unmatched_patterns_are_errors
from binarrow.cli.flags import Reading, reads
from binarrow.cli.folder import ExportFolder
from binarrow.cli.new_file import STANDARD_OUTPUT, new_file
from binarrow.cli.output import print_table
from binarrow.cli.progress import progress_of
from binarrow.cli.writer import FileFormat, types_for

EXAMPLES = """\
Examples:
  binarrow export 'binlog.*' --to changes
  binarrow export binlog.000001 --to changes --tables 'shop.*' --file-format csv
  binarrow export binlog.000002 --to changes --types spark --overwrite
  binarrow export binlog.000001 --to changes --columns shop.orders=id,total --operations insert
  binarrow export 'binlog.*' --to changes --mask '*.*.email=sha256' --mask-salt-file salt
  binarrow export binlog.000001 --to events --format debezium-json --source-name shop
  binarrow export binlog.000001 --to events --format ticdc-json --no-old-value
  binarrow export binlog.000001 --to - --format debezium-json | jq .payload.op
  zstdcat binlog.000001.zst | binarrow export - --to changes
  mysqldump --no-data shop > shop.sql
  binarrow export binlog.000001 --to changes --schemas shop.sql
  binarrow export 'binlog.*' --to changes --history shop.db"""


@reports_failure
@reads("export")
def command(
    files: Files,
    to: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="The folder to write to; - is standard output, for one table, or for the events of"
            " ticdc-json and debezium-json.",
            show_default=False,
        ),
    ],
    file_format: Annotated[
        FileFormat,
        typer.Option(
            "--file-format",
            "--format",
            help="The format of the files. ticdc-json and debezium-json: the change events of those"
            " tools, one per line.",
        ),
    ] = FileFormat.parquet,
    source_name: Annotated[
        str,
        typer.Option(metavar="NAME", help="debezium-json: the name of the server (topic.prefix)."),
    ] = "binarrow",
    query: Annotated[
        bool, typer.Option("--query", help="debezium-json: the statements, if they are logged.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace existing folders of tables.")
    ] = False,
    *,
    reading: Reading,
) -> None:
    """Write the changes of each table to FOLDER/DB.TABLE/part-00000 and so on.

    The folders are created when all files are complete. After an error there are no folders. In
    folder names, the characters % . / of a database or table are escaped as %25, %2E, %2F.

    If the structure of a table changes in the log, a new part begins.
    """
    with reading.keywords() as keywords:
        types = keywords["types"]
        shape: dict[str, Any] = {"types": types_for(file_format, types)}
        if file_format.events is not None:
            if types != "native":
                raise binarrow.ConfigError(
                    f"--format {file_format.value} has its own types: leave out --types"
                )
            shape = binarrow.event_keywords(file_format.events, query=query)
        reader = binarrow.read_binlog(sources(files), **{**keywords, **shape})
        if to == STANDARD_OUTPUT:
            with (
                reader,
                new_file(to) as file,
                unmatched_patterns_are_errors(in_part=reading.is_part),
            ):
                stream = ExportStream(file, file_format, source_name=source_name)
                for change in reader:
                    stream.write(change)
                stream.close()
            return
        with (
            reader,
            ExportFolder(to, file_format, overwrite=overwrite, source_name=source_name) as folder,
        ):
            with progress_of(reader), unmatched_patterns_are_errors(in_part=reading.is_part):
                for change in reader:
                    folder.write(change)
            written = folder.publish()
    print_table(
        ["folder", "rows", "parts", "bytes"],
        [[str(table.path), table.rows, table.parts, table.bytes] for table in written],
    )
