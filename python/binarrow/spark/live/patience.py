"""Retries after temporary errors, such as a restart of the server or a broken connection."""

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
"""Numbers of temporary server errors: too many connections, a shutdown, and the like."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds between attempts."""


def patiently(question: Callable[[], T], seconds: float) -> T:
    """Calls `question` until it succeeds, with growing pauses, for at most `seconds`.

    Logs the first error.

    Raises:
        ConnectionLostError: There was no answer in that time.
        ServerError: The error is not temporary, or lasted for that time.
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
            if pause == FIRST_PAUSE:  # the cause may be a wrong host name: show it at once
                LOG.warning("%s. Retrying for up to %g seconds (reconnect)", error, seconds)
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
        pause = min(pause * 2, LONGEST_PAUSE)
