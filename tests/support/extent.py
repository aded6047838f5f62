"""The extent of the tests: `make test` runs each test once, `make test-all` on all servers and with all repetitions.

`BINARROW_TESTS=all` selects the second.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path

import pytest

from support.servers.servers import ALL_FLAVORS

IS_ALL = os.environ.get("BINARROW_TESTS") == "all"
"""True if each test runs on all its servers."""

TARGETS = {"duckdb", "delta", "iceberg", "sql", "glue"}
FLAVORS = {*ALL_FLAVORS, *(flavor.replace("-", "_").replace(".", "_") for flavor in ALL_FLAVORS)}


def rounds(variable: str, once: int, everything: int) -> int:
    """Returns a number of repetitions: that of an environment variable, else that of `make test` or of `make test-all`."""
    return int(os.environ.get(variable) or (everything if IS_ALL else once))


def repeated(items: list[pytest.Item]) -> list[pytest.Item]:
    """Returns the tests that `make test` leaves out.

    These have the mark `thorough`, which names the test that proves the same, or differ from another test only in their
    server or in the kind of their target. The tests of a file take them in turn, so that each file uses all of them.
    """
    if IS_ALL:
        return []
    left_out = [item for item in items if item.get_closest_marker("thorough")]
    turns: dict[Path, dict[str, int]] = defaultdict(dict)
    cases: dict[Hashable, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and not item.get_closest_marker("thorough"):
            function, alternating = item.originalname, alternating_parameters(item)
            others = {
                name: repr(value)
                for name, value in parameters(item).items()
                if name not in alternating
            }
            if alternating:
                turns[item.path].setdefault(function, len(turns[item.path]))
                cases[item.path, function, *sorted(others.items())].append(item)
    for (path, function, *_), same in cases.items():
        kept = turns[path][function] % len(same)
        left_out += same[:kept] + same[kept + 1 :]
    return left_out


def parameters(item: pytest.Function) -> dict[str, object]:
    """Returns the parameters of a test and of its fixtures."""
    return dict(item.callspec.params) if hasattr(item, "callspec") else {}


def alternating_parameters(item: pytest.Function) -> set[str]:
    """Returns the parameters of which `make test` uses one value for each test."""
    has_turns = {
        "each_server": lambda _, value: value in FLAVORS,
        "each_target": lambda name, value: name == "kind" and value in TARGETS,
    }
    return {
        name
        for name, value in parameters(item).items()
        for mark, is_alternating in has_turns.items()
        if isinstance(value, str) and is_alternating(name, value)
        if not item.get_closest_marker(mark)
    }
