"""Waiting out what passes by itself: a server that starts again, a connection that breaks."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from binarrow import ConnectionLostError, ServerError

T = TypeVar("T")

LOG = logging.getLogger("binarrow.spark")

PASSING = {1040, 1053, 1077, 1135, 1203, 1226, 1317, 1927, 3168}
"""Numbers of servers' errors that pass: too many connections, a server that stops, and the like."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds between attempts."""


def patiently(question: Callable[[], T], seconds: float) -> T:
    """Asks until there is an answer, in growing intervals, for so many seconds.

    That it waits, and what for, is logged once.

    Raises:
        ConnectionLostError: There was none in that time.
        ServerError: The server refuses, and that will not pass.
    """
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE
    while True:
        try:
            return question()
        except (ConnectionLostError, ServerError) as error:
            passes = not isinstance(error, ServerError) or error.code in PASSING
            if not passes or time.monotonic() + pause > deadline:
                raise
            if pause == FIRST_PAUSE:  # it may be a wrong name: nobody shall wait for that unknowing
                LOG.warning("%s. This is tried for %g seconds (reconnect)", error, seconds)
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
        pause = min(pause * 2, LONGEST_PAUSE)
