"""The extent of the tests: `make test` runs each test once, `make test-all` on all servers and with all repetitions.

`BINARROW_TESTS=all` selects the second.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Hashable, Sequence

import pytest

from support.servers.servers import ALL_FLAVORS

IS_ALL = os.environ.get("BINARROW_TESTS") == "all"
"""True if each test runs on all its servers."""

FLAVORS = {*ALL_FLAVORS, *(flavor.replace("-", "_").replace(".", "_") for flavor in ALL_FLAVORS)}


def rounds(variable: str, once: int, everything: int) -> int:
    """Returns a number of repetitions: that of an environment variable, else that of `make test` or of `make test-all`."""
    return int(os.environ.get(variable) or (everything if IS_ALL else once))


def flavors(everything: Sequence[str], *once: str) -> Sequence[str]:
    """Returns the servers of a test whose `make test` names its servers itself."""
    return everything if IS_ALL else once


def repeated(items: list[pytest.Item]) -> list[pytest.Item]:
    """Returns the tests that `make test` leaves out: they differ from another one only in their server.

    The tests of a file take their servers in turn, so that all servers are used in each file.
    """
    if IS_ALL:
        return []
    turns: dict[Hashable, dict[str, int]] = defaultdict(dict)
    cases: dict[Hashable, list[pytest.Item]] = defaultdict(list)
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        others = {
            name: repr(value)
            for name, value in parameters.items()
            if not (isinstance(value, str) and value in FLAVORS)
        }
        if len(others) < len(parameters) and item.get_closest_marker("each_server") is None:
            function = item.originalname
            turns[item.path].setdefault(function, len(turns[item.path]))
            cases[item.path, function, *sorted(others.items())].append(item)
    left_out = []
    for (path, function, *_), same in cases.items():
        kept = turns[path][function] % len(same)
        left_out += same[:kept] + same[kept + 1 :]
    return left_out
