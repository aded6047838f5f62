"""Shows a sync that runs on stderr: a screen on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from binarrow.cli.output import grouped, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

    from binarrow import SyncProgress, SyncStats, TableProgress

INTERVAL = 30.0
"""Seconds between two lines."""

REFRESHES = 4
"""The number of times per second that the screen is drawn."""

WINDOW = 5.0
"""Seconds over which rows per second are counted."""

LINES = 7
"""The lines of the screen that are no table, and those that remain free."""

MOST = 30
"""The maximum number of tables on the screen."""


@contextmanager
def sync_screen(
    progress: SyncProgress, target: str, is_stopped: Callable[[], bool], *, is_json: bool
) -> Iterator[None]:
    """Shows the state of a sync until the end of the block.

    Args:
        progress: The state.
        target: The URL of the target.
        is_stopped: True if the sync ends after the next commit.
        is_json: True if stdout is for lines of JSON, which a screen on the same terminal disturbs.
    """
    if not sys.stderr.isatty() or (is_json and sys.stdout.isatty()):
        with _lines(progress):
            yield
        return
    from rich.console import Console
    from rich.live import Live

    screen = Screen(progress, target, is_stopped)
    with Live(
        screen,
        console=Console(stderr=True),
        refresh_per_second=REFRESHES,
        transient=True,
        redirect_stdout=False,
    ):
        yield


@contextmanager
def _lines(progress: SyncProgress) -> Iterator[None]:
    done = threading.Event()

    def run() -> None:
        rate = Rate()
        while not done.wait(INTERVAL):
            stats = progress.stats()
            rate.add(stats.rows)
            parts = [*facts(stats, rate), *place(stats)]
            print(f"binarrow: {', '.join(parts)}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class Rate:
    """The speed at which a number increases."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])

    def add(self, number: int) -> None:
        """Adds the number at this time."""
        now = time.monotonic()
        self._seen.append((now, number))
        while len(self._seen) > 2 and self._seen[1][0] < now - WINDOW:  # noqa: PLR2004 - one remains
            self._seen.popleft()

    @property
    def per_second(self) -> float:
        """The increase per second."""
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return max(0.0, (last - first) / max(end - start, 0.001))


def facts(stats: SyncStats, rate: Rate, loaded: Rate | None = None) -> Iterator[str]:
    """Returns the state of a sync in a few words."""
    yield f"{grouped(stats.rows)} rows"
    yield f"{grouped(round(rate.per_second))} rows/s"
    loading = [one for one in stats.tables.values() if one.status == "loading"]
    if loading:
        yield f"loading {len(loading)} table{'s' if len(loading) > 1 else ''}"
        left = _left(loading, loaded) if loaded is not None else None
        if left is not None:
            yield f"about {shown_time(left)} left"
    if stats.lag_seconds is not None:
        yield f"lag {shown_time(stats.lag_seconds)}"
    yield f"{grouped(stats.commits)} commit{'s' if stats.commits != 1 else ''}"
    if stats.reconnects:
        yield f"{grouped(stats.reconnects)} reconnects"
    if errors := sum(stats.errors.values()):
        yield f"{grouped(errors)} errors"


def place(stats: SyncStats) -> Iterator[str]:
    """Returns the position, and the time up to which all commits have arrived."""
    if stats.position is not None:
        yield f"at {stats.position.file}:{stats.position.offset}"
    if stats.complete_through is not None:
        yield f"complete through {stats.complete_through:%Y-%m-%d %H:%M:%S} UTC"


def _left(loading: list[TableProgress], loaded: Rate) -> float | None:
    """Returns the seconds that the load still takes; None if this cannot be estimated."""
    if any(one.estimate is None for one in loading) or loaded.per_second < 1:
        return None
    rows = sum((one.estimate or 0) - one.loaded for one in loading)
    return rows / loaded.per_second


def shown_time(seconds: float) -> str:
    """Writes a duration."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.0f} s"
    return str(timedelta(seconds=round(seconds)))


class Screen:
    """The screen. It is computed each time that it is drawn."""

    def __init__(self, progress: SyncProgress, target: str, is_stopped: Callable[[], bool]) -> None:
        self._progress = progress
        self._target = printable(target)
        self._is_stopped = is_stopped
        self._rows, self._loaded = Rate(), Rate()

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws the screen."""
        from rich.text import Text

        stats = self._progress.stats()
        self._rows.add(stats.rows)
        self._loaded.add(sum(one.loaded for one in stats.tables.values()))
        elapsed = timedelta(seconds=int(stats.seconds))
        title = Text(f"{elapsed}  sync to {self._target}", style="bold", no_wrap=True)
        title.truncate(options.max_width, overflow="ellipsis")
        yield title
        if not stats.tables:
            yield Text("connecting" if stats.position is None else "no tables")
        else:
            most = max(1, min(MOST, options.size.height - LINES))
            yield self._table(stats, most)
            more = len(stats.tables) - most
            if more > 0:
                yield Text(f"and {grouped(more)} more tables", style="dim")
        yield Text(", ".join(facts(stats, self._rows, self._loaded)))
        yield Text(", ".join(place(stats)))
        if self._is_stopped():
            yield Text("ending after the next commit", style="bold")

    def _table(self, stats: SyncStats, most: int) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
        table.add_column("table", no_wrap=True, overflow="ellipsis", max_width=34)
        table.add_column("status", no_wrap=True)
        for column in ("loaded", "of about", "changes"):
            table.add_column(column, justify="right", no_wrap=True)
        ordered = sorted(stats.tables.items(), key=_order)
        for name, one in ordered[:most]:
            estimate = grouped(one.estimate) if one.estimate is not None else ""
            if one.status != "loading":
                estimate = ""
            table.add_row(
                Text(printable(".".join(name)).replace("\n", "\\n")),
                Text(one.status, style="" if one.status in QUIET else "yellow"),
                grouped(one.loaded) if one.loaded else "",
                estimate,
                grouped(one.rows - one.loaded),
            )
        return table


QUIET = {"followed"}
"""Statuses that are shown without a colour."""


def _order(item: tuple[tuple[str, str], TableProgress]) -> tuple[bool, int, tuple[str, str]]:
    """Tables that are loaded come first, then those with the most rows."""
    name, one = item
    return one.status == "followed", -one.rows, name


__all__ = ["sync_screen"]
