"""The rows of a table, from the rows of its changes in a target with a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from support.oracles.duckdb_tables import Rows

Row = tuple[tuple[str, str], ...]

ADDED = {"insert", "update_postimage"}
"""The types of changes with the row after them."""


def rows_of_changes(changes: Rows, columns: Iterable[str], key: Sequence[str]) -> Rows:
    """Returns the rows after all changes, with some of the columns.

    A load may return a row that the log contains too. Without a key, each change is counted.
    """
    names = {*columns}
    if not key:
        return _counted(changes, names)
    current: dict[tuple[str, ...], Row | None] = {}
    for cells in _in_order(changes):
        if cells["_change_type"] == "truncate":
            current.clear()
            continue
        is_added = cells["_change_type"] in ADDED
        current[tuple(cells[name] for name in key)] = _row(cells, names) if is_added else None
    return Counter(row for row in current.values() if row is not None)


def _counted(changes: Rows, names: set[str]) -> Rows:
    found: Rows = Counter()
    for cells in _in_order(changes):
        found[_row(cells, names)] += 1 if cells["_change_type"] in ADDED else -1
    assert min(found.values()) >= 0, "a row was deleted more often than inserted"
    return +found


def _in_order(changes: Rows) -> Iterator[dict[str, str]]:
    rows = [dict(row) for row in changes.elements()]
    # The image before an update is the first of the two.
    return iter(sorted(rows, key=_place))


def _place(cells: dict[str, str]) -> tuple[int, int]:
    return int(cells["_commit_version"]), int(cells["_change_ordinal"])


def _row(cells: dict[str, str], names: set[str]) -> Row:
    return tuple(sorted((name, cell) for name, cell in cells.items() if name in names))
