"""Shows a progress bar on stderr if a command takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binarrow import BinlogReader

PATIENCE = 1.0
"""Seconds before the bar appears."""

INTERVAL = 0.2


@contextmanager
def progress_of(reader: BinlogReader) -> Iterator[None]:
    """Shows the reader's progress, rate and time left, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(reader, done), daemon=True)
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
