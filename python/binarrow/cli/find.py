"""`binarrow find`: prints the changes in files, or of a server, that match conditions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

import binarrow
from binarrow.cli.arguments import (
    Between,
    Format,
    FormatOption,
    Gtids,
    Sources,
    Threads,
    TimeZone,
    is_server,
    logs,
    range_of,
    zone_of,
)
from binarrow.cli.arguments import sources as files_of
from binarrow.cli.change_lines import PREFIX, changes_of
from binarrow.cli.failure import reports_failure, unmatched_patterns_are_errors
from binarrow.cli.flags import Reading, reads
from binarrow.cli.found_lines import FoundChange, found_shape
from binarrow.cli.output import Screen
from binarrow.cli.printers import WIDTH
from binarrow.cli.server_options import Login, logs_in

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = """\
Examples:
  binarrow find 'binlog.*' --tables shop.orders --where 'id = 7'
  binarrow find binlog.000003 --tables shop.orders --operations delete
  binarrow find 'binlog.*' --where "old.status <> new.status" --format json
  binarrow find 'binlog.*' --between 2026-11-21T10:00 2026-11-21T10:42
  binarrow find 'binlog.*' --thread 4711 --tz Europe/Berlin
  binarrow find 'archive/*/binlog.*' --where 'id = 7'
  binarrow find mysql://repl@db.example/ --password --tables 'shop.*'"""

NOTHING_FOUND = 3

Changes: TypeAlias = "binarrow.BinlogReader | binarrow.Stream[Any]"

EXIT_CODES = {NOTHING_FOUND: "no change was found"}


@reports_failure
@logs_in
@reads("find")
def command(
    sources: Sources,
    between: Between = None,
    gtid: Gtids = None,
    thread: Threads = None,
    tz: TimeZone = "UTC",
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    login: Login,
    reading: Reading,
) -> None:
    """Print the changes that match, with their transaction, connection and statement.

    The output contains the time of the commit, the GTID of the transaction or the place where it
    begins, the connection, the place in the log, and the row before and after the change. It also
    contains the statement, if the server logs statements (binlog_rows_query_log_events,
    binlog_annotate_row_events).

    The output contains values of rows. Times of options without a zone are local. A server's log is
    read from its first file to the current end. Files in several folders count as several logs.
    They are read one after the other, and the output names the folder.
    """
    zone = zone_of(tz)
    picked = _Picked([each.lower() for each in gtid or ()], thread or [])
    with reading.keywords() as given:
        keywords = {**given, **range_of(between, is_part=reading.is_part)}
        found = skipped = 0
        width = Screen.of_stdout().width or WIDTH
        for folder, log in _logs_of(sources, login, keywords):
            is_named = False
            with log as changes:
                for batch in changes:
                    for each in changes_of(batch, picked.rows(batch)):
                        change = FoundChange(f"{batch.database}.{batch.table}", each, zone)
                        if format is Format.json:
                            text = change.json(folder)
                        elif folder and not is_named:
                            text = f"{folder}:\n{change.text(width)}"
                        else:
                            text = change.text(width)
                        is_named = True
                        sys.stdout.write(f"{text}\n")
                        found += 1
                skipped += changes.stats()["statements_skipped"]
    if skipped:
        print(
            f"binarrow: {skipped} statements that may change rows were logged as text: their"
            " changes are not searched; --statements error shows the first of them",
            file=sys.stderr,
        )
    if not found:
        print("binarrow: no change was found", file=sys.stderr)
        raise typer.Exit(NOTHING_FOUND)


def _logs_of(
    sources: Sequence[str], login: Login, keywords: dict[str, Any]
) -> Iterator[tuple[str | None, AbstractContextManager[Changes]]]:
    """Returns the server's log, or each log in files: with its folder if there are several."""
    if is_server(sources):
        yield None, _server_log(sources[0], login, keywords)
        return
    found = [("", files_of(sources))] if "-" in sources else logs([*sources])
    is_part = bool(keywords.get("start") or keywords.get("stop")) or len(found) > 1
    for folder, files in found:
        yield folder if len(found) > 1 else None, _file_log(files, keywords, is_part=is_part)


@contextmanager
def _file_log(files: Any, keywords: dict[str, Any], *, is_part: bool) -> Iterator[Changes]:
    with (
        binarrow.read_binlog(files, **keywords, **found_shape()) as reader,
        unmatched_patterns_are_errors(in_part=is_part),
    ):
        yield reader


@contextmanager
def _server_log(url: str, login: Login, keywords: dict[str, Any]) -> Iterator[Changes]:
    start = keywords.pop("start", None) or "earliest"
    stop = keywords.pop("stop", None) or "end"
    if keywords.pop("gaps", "error") != "error":
        raise binarrow.ConfigError("--allow-gaps is for files: the log of a server has no gaps")
    with (
        login.connect(url) as server,
        server.stream(start, stop=stop, **keywords, **found_shape()) as stream,
    ):
        yield stream


@dataclass(frozen=True)
class _Picked:
    """The transactions and connections whose changes are printed; all if none is named."""

    gtids: list[str]
    threads: list[int]

    def rows(self, batch: binarrow.ChangeBatch) -> pa.RecordBatch:
        """Returns the rows of a batch that are of these."""
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = batch.to_pyarrow()
        if self.gtids:
            gtids = pc.utf8_lower(rows.column(f"{PREFIX}gtid"))
            rows = rows.filter(pc.is_in(gtids, value_set=pa.array(self.gtids)))
        if self.threads:
            threads = rows.column(f"{PREFIX}thread_id")
            rows = rows.filter(pc.is_in(threads, value_set=pa.array(self.threads, pa.int64())))
        return rows
