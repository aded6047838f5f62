"""Shows a progress bar on stderr if a command takes longer than a second, or loads rows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from binarrow.cli.output import printable

if TYPE_CHECKING:
    from binarrow import BinlogReader, Server, Stream, VerifyProgress

PATIENCE = 1.0
"""Seconds before the bar appears."""

INTERVAL = 0.2


@contextmanager
def progress_of(reader: BinlogReader) -> Iterator[None]:
    """Shows the reader's progress, rate and time left, if stderr is a terminal."""
    with _watched_by(_watch, reader):
        yield


@contextmanager
def load_progress_of(stream: Stream[Any], server: Server) -> Iterator[None]:
    """Shows the progress of an initial load, if stderr is a terminal and stdout is not."""
    if sys.stdout.isatty():
        yield  # the rows show the progress
        return
    with _watched_by(_watch_load, stream, server):
        yield


@contextmanager
def verify_progress() -> Iterator[Callable[[VerifyProgress], None]]:
    """Returns a function that shows the progress of a comparison, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("connected") as status:

        def show(progress: VerifyProgress) -> None:
            table = escape(printable(".".join(progress.table)))
            of = f" of about {progress.estimate:,}" if progress.estimate else ""
            status.update(f"{table}: {progress.side}, {progress.rows:,}{of} rows")

        yield show


@contextmanager
def _watched_by(watch: Callable[..., None], *objects: object) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=watch, args=(*objects, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(reader: BinlogReader, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        while not done.wait(INTERVAL):
            stats = reader.stats()
            progress.update(task, completed=stats["bytes_read"], total=stats["bytes_total"])


def _watch_load(stream: Stream[Any], server: Server, done: threading.Event) -> None:
    while (position := stream.position) is None:
        if done.wait(INTERVAL):
            return
    if position.loading is None:
        return
    estimate = server.estimated_rows(*position.loading)
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        TextColumn("{task.completed:,.0f} of about {task.total:,.0f} rows"),
        TextColumn("{task.fields[speed]:,.0f} rows/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    # The rows go to stdout as they are.
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as progress:
        task = progress.add_task("", total=estimate, speed=0)
        while not done.wait(INTERVAL):
            rows = stream.stats()["loaded_rows"]
            speed = progress.tasks[0].speed or 0
            total = max(estimate, rows)
            progress.update(task, completed=rows, total=total, speed=speed)
            position = stream.position
            if position is not None and position.loading is None:
                return
