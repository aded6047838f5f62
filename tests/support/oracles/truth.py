"""The truth table's files: `truth_table/README.md` says how they read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).with_name("truth_table")

DIMENSIONS = {
    "server": ("mysql", "mariadb"),
    "key": ("primary", "composite", "prefix", "unique", "none"),
    "image": ("FULL", "MINIMAL", "NOBLOB"),
    "layout": ("flat", "nested"),
    "old_value": ("old", "new"),
    "split": ("split", "pair"),
}
WIDTH = 4  # columns of every table

Case = tuple[str, ...]
"""A word of each dimension, in their order."""
Row = tuple[str, ...]
"""The words of one line of output."""


@dataclass
class Change:
    """One file: the statements, and the result in each case."""

    name: str
    rows: str = ""
    statements: list[str] = field(default_factory=list)
    outputs: dict[Case, list[Row]] = field(default_factory=dict)


def changes() -> list[Change]:
    """All files of the folder."""
    return [read(path) for path in sorted(FOLDER.glob("*.txt"))]


def read(path: Path) -> Change:
    change = Change(path.stem)
    output: list[Row] = []
    was_output = True  # a line `for` that follows rows begins a block
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if line.startswith("    "):
            output.append(tuple(words))
            was_output = True
        elif words[0] == "for":
            output = [] if was_output else output
            was_output = False
            for case in cases(words[1:]):
                assert case not in change.outputs, f"{path.name}:{number}: {case} a second time"
                change.outputs[case] = output
        elif words[0] == "rows":
            change.rows = line.removeprefix("rows ")
        else:
            change.statements.append(line)
    return change


def cases(words: list[str]) -> Iterator[Case]:
    """All cases that a line `for` speaks of."""
    known = set(itertools.chain.from_iterable(DIMENSIONS.values()))
    assert set(words) <= known, f"no such words: {set(words) - known}"
    assert len(set(words)) == len(words), words
    choices = [[one for one in all_ if one in words] or all_ for all_ in DIMENSIONS.values()]
    return itertools.product(*choices)
