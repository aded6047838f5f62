"""Waits for conditions. No test waits in another way, so that none depends on the speed of the machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

WAIT = 60.0
"""Seconds within which what must happen has happened, on a machine that does other work too."""

PAUSE = 0.01
"""Seconds between two checks."""

PACES = (0.02, 0.2, 2.0)
"""Units of time, in seconds: see `at_any_pace`."""


def until(
    is_true: Callable[[], Any], seconds: float = WAIT, shown: Callable[[], Any] | None = None
) -> Any:
    """Waits for a condition and returns its value; `shown` is for the message if it does not come true."""
    deadline = time.monotonic() + seconds
    while not (value := is_true()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {shown and shown()}"
        time.sleep(PAUSE)
    return value


async def until_async(is_true: Callable[[], Any]) -> Any:
    """Waits for a condition, while other tasks of the event loop run."""
    deadline = time.monotonic() + WAIT
    while not (value := is_true()):
        assert time.monotonic() < deadline, f"not within {WAIT} s"
        await asyncio.sleep(PAUSE)
    return value


@contextmanager
def within(seconds: float = WAIT) -> Iterator[None]:
    """The block ends in this time. Another time limit that could end it must be longer."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


def at_any_pace(check: Callable[[float], None]) -> None:
    """Runs a check whose time limits are multiples of a unit of time.

    If it fails, the machine may have been too busy for the limits: it runs again with a longer unit.
    """
    for unit in PACES[:-1]:
        try:
            return check(unit)
        except (AssertionError, OSError):
            continue
    return check(PACES[-1])


def pause_at_random(random: Random, longest: float, shortest: float = 0.0) -> None:
    """A pause of a workload, or the time until a kill: whatever happens meanwhile, the test passes."""
    time.sleep(random.uniform(shortest, longest))


def drip(data: bytes, send: Callable[[bytes], object], pause: float) -> None:
    """Sends bytes one by one, as a slow network delivers them."""
    for byte in data:
        send(bytes([byte]))
        time.sleep(pause)


def until_asleep(process: int) -> None:
    """Waits until the main thread of a process waits for something."""

    def is_asleep() -> bool:
        # The state follows the name of the program, which is in parentheses.
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].startswith("S")

    until(is_asleep)
