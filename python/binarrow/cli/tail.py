"""`binarrow tail`: prints the changes of a server, or of growing files, as they are committed."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn, Self

import typer

from binarrow import (
    BinarrowWarning,
    ChangeBatch,
    ConfigError,
    FileCheckpoint,
    Stream,
    expand_source,
)
from binarrow.cli.arguments import (
    Format,
    FormatOption,
    TimeZone,
    is_server,
    only_files,
    where,
    zone_of,
)
from binarrow.cli.change_lines import ENVELOPE, PREFIX
from binarrow.cli.command import OUTPUT_CLOSED
from binarrow.cli.failure import reports_failure
from binarrow.cli.flags import Reading, flag, reads
from binarrow.cli.followed_files import FollowedFiles
from binarrow.cli.found_lines import found_shape
from binarrow.cli.printers import FoundPrinter, JsonPrinter, Printer, TextPrinter
from binarrow.cli.progress import load_progress_of
from binarrow.cli.server_options import URL_HELP, Login, logs_in
from binarrow.cli.writer import FileFormat, types_for

EXAMPLES = """\
Examples:
  binarrow tail mysql://repl@db.example/ --password
  binarrow tail --option-file ~/.my.cnf --tables 'shop.*' --tables crm.people
  binarrow tail mysql://repl@db/ --password --start 2026-11-21 --stop end
  binarrow tail --option-file ~/.my.cnf --start binlog.000017:4 | less -S
  binarrow tail --option-file ~/.my.cnf --columns shop.orders=id,total --operations update
  binarrow tail --option-file ~/.my.cnf --checkpoint pos.json --json
  binarrow tail --option-file ~/.my.cnf --include schema_change,truncate
  binarrow tail --option-file ~/.my.cnf --history shop.db
  binarrow tail --follow /var/lib/mysql/binlog.000017 --tables 'shop.*' --tz local"""

PATIENCE = 0.25
"""Seconds without changes after which signals and the reader of the output are checked."""

PRINTING = 1.0
"""Seconds that printing a batch may take after a signal if no process reads the output."""

ALARM: tuple[int, ...] = () if sys.platform == "win32" else (signal.SIGALRM,)

EXIT_CODES = {128 + signal.SIGTERM: "ended by SIGTERM"}


@reports_failure
@logs_in
@reads("tail")
def command(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL|FILE",
            help=f"{URL_HELP} Or, with --follow, binlog files in log order, a glob, or a folder.",
            show_default=False,
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Follow files that a server or a copy still writes, and the next files of the log."
            " --start may be latest (the default), earliest (the first of the files), FILE:OFFSET"
            " or a time.",
        ),
    ] = False,
    start: Annotated[str, flag("start", "tail")] = "latest",
    stop: Annotated[str | None, flag("stop", "tail")] = None,
    checkpoint: Annotated[Path | None, flag("checkpoint")] = None,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    server_id: Annotated[
        int | None, flag("server_id", min=1, max=0xFFFF_FFFF, show_default=False)
    ] = None,
    reconnect: Annotated[float, flag("reconnect", min=0)] = 3600.0,
    max_rows_per_second: Annotated[
        int | None, flag("max_rows_per_second", min=1, show_default=False)
    ] = None,
    certificate: Annotated[Path | None, flag("certificate", show_default=False)] = None,
    tz: TimeZone = "UTC",
    *,
    login: Login,
    reading: Reading,
) -> None:
    """Print a server's changes, or with --follow those of growing files, as they are committed.

    It prints one change per line, until Ctrl-C.

    A line contains the time of the commit, the lag between commit and output, the
    table, and the values of the row. For an update, it contains the key and the changed
    columns.

    JSON contains the complete rows before and after the change, and the lag in
    microseconds. Lines that --include adds contain their kind in "marker".

    The lag depends on the clocks of both machines. MariaDB and MySQL 5 log
    times in seconds only.

    With --follow, changes are printed like those of find, up to the last complete transaction. A
    file that is replaced, truncated or removed is an error.

    At the end, and after Ctrl-C, the command prints the position at which to continue
    to stderr.
    """
    signal.signal(signal.SIGTERM, _terminate)
    logging.basicConfig(format="binarrow: %(message)s")  # that a connection was lost, for example
    zone = zone_of(tz)
    is_json = json or format is Format.json
    own = {
        "checkpoint": checkpoint,
        "--server-id": server_id,
        "--max-rows-per-second": max_rows_per_second,
        "--certificate": certificate,
        "--stop": stop,
    }
    if follow:
        given = [name for name, value in own.items() if value is not None]
        if not sources or is_server(sources):
            raise ConfigError("--follow is for files: a server's changes are always followed")
        if given or start == "snapshot":
            raise ConfigError(f"{(given or ['--start snapshot'])[0]} is for servers, not files")
        place = None if start == "earliest" else start if start == "latest" else where(start)
        with reading.keywords() as keywords, _waiting_files_are_quiet():
            shape = {**found_shape(), **keywords}
            paths = expand_source(only_files(sources, "--follow reads files"))
            files = FollowedFiles(paths, place, shape)
            _print_all(files, FoundPrinter(zone, is_json=is_json), nullcontext())
        return
    url = sources[0] if sources else None
    if sources and (len(sources) > 1 or not is_server(sources)):
        raise ConfigError(
            "give one server (mysql://user@host/), or files with --follow; 'binarrow find' prints"
            " complete files"
        )
    with (
        reading.keywords() as keywords,
        login.connect(url) as server,
    ):
        stream = server.stream(
            start if start == "snapshot" else where(start) or start,
            stop=where(stop),
            checkpoint=FileCheckpoint(checkpoint) if checkpoint is not None else None,
            server_id=server_id,
            reconnect=reconnect or None,
            max_rows_per_second=max_rows_per_second,
            certificate=certificate,
            types=types_for(FileFormat.jsonl, "native"),
            envelope=ENVELOPE,
            envelope_prefix=PREFIX,
            **keywords,
        )
        printer = JsonPrinter(zone) if is_json else TextPrinter(server, zone)
        _print_all(stream, printer, load_progress_of(stream, server))


def _print_all(
    stream: Stream[Any] | FollowedFiles,
    printer: Printer,
    progress: AbstractContextManager[None],
) -> None:
    import pyarrow as pa  # slow, so before the first change

    del pa
    with _Signals() as signals:
        try:
            with stream, progress:
                _follow(stream, printer, signals)
        except _PrintingEndedError:
            _drop_output()
    if signals.received is not None:
        raise typer.Exit(128 + signals.received)


@contextmanager
def _waiting_files_are_quiet() -> Iterator[None]:
    """Suppresses the warning that a file has no end: the command waits for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without a Rotate or Stop event", BinarrowWarning)
        yield


def _follow(stream: Stream[Any] | FollowedFiles, printer: Printer, signals: _Signals) -> None:
    """Prints until the end or a signal.

    All changes before the position on stderr are on stdout completely.
    """
    position = None  # after the printed changes; None before the first read
    output_is_closed = _watch_output()
    try:
        while signals.received is None:
            try:
                change = stream.poll(PATIENCE)
            except StopIteration:
                printer.begin()
                position = stream.position
                return
            signals.is_printing = True
            printer.begin()
            if change is not None:
                if isinstance(change, ChangeBatch):
                    printer.print_batch(change)
                else:
                    printer.print_marker(change)
                sys.stdout.flush()
            signals.is_printing = False
            if change is None and output_is_closed():
                position = None  # no process would continue
                raise typer.Exit(OUTPUT_CLOSED)
            position = stream.position
    except _PrintingEndedError:
        if position is None:
            message = "not all of the first changes were printed: start at the same place again"
            print(f"binarrow: {message}", file=sys.stderr, flush=True)
        raise
    finally:
        signals.is_printing = False
        if position is not None:
            print(f"binarrow: continue from {position}", file=sys.stderr, flush=True)


def _watch_output() -> Callable[[], bool]:
    """Returns a function that is true if no process reads the output any more."""
    if sys.platform == "win32":
        return lambda: False  # the next line that is printed is an error
    watched = select.poll()
    watched.register(sys.stdout.fileno(), 0)
    return lambda: any(event & select.POLLERR for _, event in watched.poll(0))


class _PrintingEndedError(Exception):
    """A signal arrived while no process reads the output."""


class _Signals:
    """Notes Ctrl-C and SIGTERM instead of raising them, so that no change and no position is lost.

    They are handled between changes: a batch that is being printed is printed completely, the
    position is printed, the checkpoint is saved. If no process reads the output, printing ends
    after PRINTING seconds or at the second signal.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.is_printing = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, *ALARM):
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:  # set by `nohup` and by `&` of a shell
                self._before[number] = before
                signal.signal(number, self._note)
        return self

    def __exit__(self, *_exception: object) -> None:
        _raise_alarm(0)
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        is_first = self.received is None
        if is_first and number not in ALARM:
            self.received = number
            _raise_alarm(PRINTING)
        elif self.is_printing:
            self.is_printing = False
            raise _PrintingEndedError


def _raise_alarm(seconds: float) -> None:
    """Raises ALARM every `seconds`, or never if this is 0. Windows has no such signal."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def _drop_output() -> None:
    """Drops output that is not printed yet: at exit, the interpreter would wait for a reader."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    """Ends like Ctrl-C, so that cleanup runs."""
    raise SystemExit(128 + number)
