"""`binarrow sync`: copies a database into a target, and keeps it up to date."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Self

import typer

from binarrow import SyncProgress, SyncSummary, TargetBusyError, sync
from binarrow.cli.arguments import Format
from binarrow.cli.config_file import takes_config
from binarrow.cli.failure import failed, reports_failure
from binarrow.cli.flags import flag
from binarrow.cli.output import print_table
from binarrow.cli.server_options import Login, logs_in
from binarrow.cli.sync_flags import BusyTimeout, Locks, seconds
from binarrow.cli.sync_lines import SyncLines
from binarrow.cli.sync_screen import sync_screen
from binarrow.syncing.metrics import text_of

EXAMPLES = """\
Examples:
  binarrow sync mysql://repl@db/ duckdb:///mirror.duckdb --password --tables 'shop.*'
  binarrow sync mysql://repl@db/ delta+file:///lake --password-file secret --once
  binarrow sync mysql://repl@db/ duckdb:///log.duckdb --password --mode history"""

BUSY = 3
NOT_ALL = 4

EXIT_CODES = {
    1: "the source or the target cannot be read or written, or the settings do not permit a change",
    BUSY: "another process uses the target",
    NOT_ALL: "a table is parked or incomplete, and the others are synced",
    128 + signal.SIGTERM: "ended by SIGTERM, after a commit",
    128 + signal.SIGINT: "ended by Ctrl-C, after a commit",
}


class Mode(StrEnum):
    """Values of --mode."""

    mirror = "mirror"
    history = "history"
    scd2 = "scd2"


class SchemaChanges(StrEnum):
    """Values of --schema-changes."""

    follow = "follow"
    widen = "widen"
    fail = "fail"


class OnTruncate(StrEnum):
    """Values of --on-truncate."""

    apply = "apply"
    keep = "keep"
    fail = "fail"


class OnDrop(StrEnum):
    """Values of --on-drop."""

    keep = "keep"
    drop = "drop"
    fail = "fail"


class OnTableError(StrEnum):
    """Values of --on-table-error."""

    stop = "stop"
    park = "park"


@reports_failure
@takes_config
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
            help="duckdb:///mirror.duckdb; delta+file:///lake; delta+s3://bucket/prefix;"
            " iceberg+file:///lake; iceberg://CATALOG; parquet+file:///changes with --mode history."
            " An absolute path begins with four slashes: duckdb:////var/lib/mirror.duckdb.",
            show_default=False,
        ),
    ],
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--tables",
            metavar="DB.TABLE",
            help="Only these tables; * and ? are wildcards. May be given again.",
        ),
    ] = None,
    exclude_tables: Annotated[
        list[str] | None,
        typer.Option("--exclude-tables", metavar="DB.TABLE", help="Tables to leave out."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="End at the current end of the log.")
    ] = False,
    every: Annotated[
        float,
        typer.Option(
            "--every",
            metavar="SECONDS",
            parser=seconds,
            help="The maximum time between two commits.",
        ),
    ] = 10.0,
    max_rows_per_commit: Annotated[int, flag("max_rows_per_commit", min=1)] = 250_000,
    mode: Annotated[
        Mode,
        typer.Option(
            help="mirror: the current rows. history: all changes. scd2: all versions of rows."
        ),
    ] = Mode.mirror,
    schema_changes: Annotated[
        SchemaChanges,
        typer.Option(
            "--schema-changes",
            help="follow: apply ALTER TABLE. widen: apply it if it only adds columns or permits"
            " more values, otherwise end. fail: end.",
        ),
    ] = SchemaChanges.follow,
    on_truncate: Annotated[
        OnTruncate,
        typer.Option(
            "--on-truncate", help="apply: empty the table. keep: keep its rows. fail: end."
        ),
    ] = OnTruncate.apply,
    on_drop: Annotated[
        OnDrop,
        typer.Option(
            "--on-drop", help="keep: keep the table in the target. drop: drop it. fail: end."
        ),
    ] = OnDrop.keep,
    on_table_error: Annotated[
        OnTableError,
        typer.Option(
            "--on-table-error",
            help="An error of one table. stop: end. park: continue without the table.",
        ),
    ] = OnTableError.stop,
    reload: Annotated[
        list[str] | None,
        typer.Option(
            "--reload", metavar="DB.TABLE", help="Load this table again. May be given again."
        ),
    ] = None,
    locks: Annotated[
        Locks | None,
        typer.Option(
            help="brief: permit FLUSH TABLES WITH READ LOCK while a snapshot of rows is opened.",
            show_default=False,
        ),
    ] = None,
    max_rows_per_second: Annotated[
        int | None, flag("max_rows_per_second", min=1, show_default=False)
    ] = None,
    rows_from: Annotated[
        str | None,
        typer.Option(
            "--rows-from",
            metavar="URL",
            help="A replica from which the existing rows are read; the options of the login apply"
            " to it too.",
            show_default=False,
        ),
    ] = None,
    busy_timeout: BusyTimeout = 300.0,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Show metrics for Prometheus at an address: 127.0.0.1:9100, [::1]:9100. If you"
            " pass only a port, other machines cannot connect. Port 0 selects a free port.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    format: Annotated[  # noqa: A002 - the option's name
        Format,
        typer.Option(help="A table at the end, or JSON with one object for each commit."),
    ] = Format.table,
    *,
    config: Path | None,  # noqa: ARG001 - its callback has read it
    login: Login,
) -> None:
    """Copy tables of a server into a target, and keep them up to date with its log.

    The command first loads the existing rows. Then it applies changes until
    Ctrl-C, or, with --once, up to the current end of the log. The target
    contains the position. If you run the same command again, it continues at
    this position, also after a crash, and applies each change once.

    The command changes no setting of the server. binlog_row_metadata may be
    MINIMAL or NO_LOG.
    """
    is_json = json or format is Format.json
    progress, signals = SyncProgress(), _Signals()
    lines = SyncLines(progress)
    with (
        _logging(),
        _shown_metrics(metrics, progress),
        login.connect(source) as server,
        nullcontext() if rows_from is None else login.connect(rows_from) as replica,
        signals,
        sync_screen(progress, target, signals.is_received, is_json=is_json),
    ):
        try:
            summary = sync(
                server,
                target,
                tables=tables or None,
                exclude_tables=exclude_tables or None,
                mode=mode.value,
                once=once,
                every=every,
                max_rows_per_commit=max_rows_per_commit,
                schema_changes=schema_changes.value,
                on_truncate=on_truncate.value,
                on_drop=on_drop.value,
                on_table_error=on_table_error.value,
                reload=reload or None,
                locks=None if locks is None else "brief",
                max_rows_per_second=max_rows_per_second,
                rows_from=replica,
                busy_timeout=busy_timeout,
                progress=progress,
                on_commit=lines.on_commit if is_json else lambda _: None,
                is_stopped=signals.is_received,
            )
        except TargetBusyError as error:
            raise failed(error, BUSY) from None
    if is_json:
        lines.at_end(summary, is_stopped=signals.is_received())
    else:
        _print(summary)
    if signals.received is not None:
        raise typer.Exit(128 + signals.received)
    is_loading = summary.position is not None and summary.position.loading is not None
    statuses = {one.status for one in summary.tables.values()}
    if is_loading or statuses & {"parked", "incomplete"}:
        raise typer.Exit(NOT_ALL)


@contextmanager
def _logging() -> Iterator[None]:
    """Prints messages of the log on stderr, above the screen if there is one."""
    handler = _Stderr()
    handler.setFormatter(logging.Formatter("binarrow: %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


class _Stderr(logging.Handler):
    """Prints on stderr as it is at the time of a message: the screen replaces it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a message."""
        print(self.format(record), file=sys.stderr)


@contextmanager
def _shown_metrics(address: str | None, progress: SyncProgress) -> Iterator[None]:
    if address is None:
        yield
        return
    from binarrow.metrics.server import serve

    with serve(address, partial(text_of, progress)) as url:
        print(f"binarrow: metrics: {url}", file=sys.stderr)
        yield


def _print(summary: SyncSummary) -> None:
    rows = [
        [".".join(name), one.status, one.changes, one.loads]
        for name, one in sorted(summary.tables.items())
    ]
    print_table(["table", "status", "rows", "loads"], rows)
    print(
        f"{summary.changes} rows in {summary.seconds:.1f} s, {summary.commits} commits;"
        f" the target is at {summary.position}"
    )


class _Signals:
    """Notes Ctrl-C and SIGTERM: the sync ends after a commit. The second signal ends it at once."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def is_received(self) -> bool:
        """True after a signal."""
        return self.received is not None

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._note)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None:
            raise SystemExit(128 + number)
        self.received = number
