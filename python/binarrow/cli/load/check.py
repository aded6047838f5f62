"""`binarrow load check`: compares the certificate of an initial load with the server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from binarrow.cli.arguments import Format, FormatOption, named
from binarrow.cli.failure import reports_failure
from binarrow.cli.output import print_json, print_table
from binarrow.cli.server_options import Login, Url, logs_in
from binarrow.server.certificate_check import Certificate, Result, check_files, check_server

EXAMPLES = """\
Examples:
  binarrow load check load.jsonl
  binarrow load check load.jsonl --log '/archive/binlog.*'
  binarrow load check load.jsonl mysql://repl@db.example/ --password"""

DIFFERS = 1

EXIT_CODES = {DIFFERS: "the certificate differs, or the log or the server cannot be read"}


@reports_failure
@logs_in
def command(
    certificate: Annotated[
        Path,
        typer.Argument(
            metavar="CERTIFICATE",
            help="The file that --certificate of 'binarrow tail', or certificate= of"
            " Server.stream(), has written.",
            show_default=False,
        ),
    ],
    url: Url = None,
    log: Annotated[
        list[str] | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="Compare with binlog files instead of a server: a file, a glob or a folder. May be"
            " given again.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    login: Login,
) -> None:
    """Compare the certificate of an initial load with the server; exit code 1 if they differ.

    For each chunk, the command takes the rows that the table has now, and reverses the changes that
    the log contains since the chunk was read. The result must be the rows of the chunk. The server
    must still have the log since the beginning of the load, with binlog_row_image=FULL. The use of
    memory grows with these changes.

    Without a server and --log, only the certificate itself is checked.
    """
    results = list(_results(Certificate(certificate), url, log or [], login))
    if json or format is Format.json:
        for result in results:
            print_json(asdict(result))
    else:
        rows = [[one.grade, one.table, one.chunks, one.rows, one.text] for one in results]
        print_table(["grade", "table", "chunks", "rows", "result"], rows)
    if any(result.grade == "error" for result in results):
        raise typer.Exit(DIFFERS)


def _results(
    certificate: Certificate, url: str | None, log: list[str], login: Login
) -> Iterator[Result]:
    yield from certificate.check_itself()
    if log:
        yield from check_files(certificate, named(log))
    elif url is not None or login.option_file is not None:
        with login.connect(url) as server:
            yield from check_server(certificate, server)
