"""Replayed tables against selected ones, cell for cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from support.oracles.oracle import Selected
from support.oracles.replay import Row, TableState, remapped

SHOWN_DIFFERENCES = 3
SHOWN_LENGTH = 300

# In a document, words apart from numbers.
WORD_OR_FRACTION = re.compile(r'("(?:[^"\\]|\\.)*")|\.0(?![0-9])')


@dataclass
class Compared:
    """The numbers of comparisons."""

    tables: int = 0
    rows: int = 0
    cells: int = 0
    changes: int = 0

    def __str__(self) -> str:
        return (
            f"{self.tables} tables, {self.rows} rows, {self.cells} cells"
            f" after {self.changes} row images"
        )


def assert_same_tables(
    replayed: Mapping[str, TableState],
    selected: Mapping[str, Selected],
    left_out: Mapping[str, Sequence[str]],
) -> Compared:
    """Every table has the rows that the server has; `left_out`: columns that the log does not hold."""
    done = Compared()
    for table, expected in selected.items():
        state = replayed.get(table, TableState(table))
        names = tuple(name for name in expected.names if name not in left_out.get(table, ()))
        assert not state.changes or set(names) <= set(state.names) | _added(expected, state), table
        wanted = [remapped(row, expected.names, names) for row in expected.rows]
        assert_same_rows(table, names, state.content(names), wanted)
        done.tables += 1
        done.rows += len(wanted)
        done.cells += len(wanted) * len(names)
        done.changes += state.changes
    return done


def assert_same_rows(
    table: str, names: Sequence[str], replayed: Sequence[Row], wanted: Sequence[Row]
) -> None:
    missing, extra = Counter(wanted), Counter(replayed)
    if missing == extra:
        return
    both = missing & extra
    missing, extra = missing - both, extra - both
    counts = missing.total(), extra.total(), both.total()
    lines = ["{}: {} rows are missing, {} should not be there, {} agree".format(table, *counts)]
    first = names[0]
    others = {row[0]: row for row in extra}
    for row in list(missing)[:SHOWN_DIFFERENCES]:
        other = others.get(row[0])
        if other is None:
            lines.append(f"  missing: {dict(zip(names, row, strict=True))}"[:SHOWN_LENGTH])
            continue
        for name, is_now, was in zip(names, row, other, strict=True):
            if is_now != was:
                lines.append(f"  {first} {row[0]}, {name}: the server has {_short(is_now)},")
                lines.append(f"    the replay {_short(was)}")
    known = {row[0] for row in missing}
    lines.extend(
        f"  extra: {dict(zip(names, row, strict=True))}"[:SHOWN_LENGTH]
        for row in list(extra)[:SHOWN_DIFFERENCES]
        if row[0] not in known
    )
    raise AssertionError("\n".join(lines))


def as_shown_by_5_7(documents: TableState) -> None:
    """In a document MySQL 5.7 shows a double without a fraction as an integer, newer servers do not."""
    for key, row in documents.by_key.items():
        documents.by_key[key] = tuple(
            WORD_OR_FRACTION.sub(lambda found: found[1] or "", cell)
            if isinstance(cell, str)
            else cell
            for cell in row
        )


def _added(expected: Selected, state: TableState) -> set[str]:
    """Columns that the table got after its last change: NULL in every row."""
    return {
        name
        for index, name in enumerate(expected.names)
        if name not in state.names and all(row[index] is None for row in expected.rows)
    }


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= SHOWN_LENGTH else f"{shown[:SHOWN_LENGTH]}... ({len(shown)})"
