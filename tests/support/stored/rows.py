"""The comparison of a target with SELECT, in each mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from support.oracles.change_rows import rows_of_changes
from support.oracles.duckdb_tables import Rows, differences
from support.oracles.valid_rows import check_current, columns_of
from support.sync_source import Source


def check_rows(source: Source, mode: str, *tables: str) -> None:
    """Compares the current rows of tables with SELECT."""
    for table in tables:
        if mode == "mirror":
            source.check(table)
        elif mode == "scd2":
            check_current(source, table)
            _check_versions(source.read(table), key_of(source, table))
        else:
            _check_history(source, table)


def key_of(source: Source, table: str) -> Sequence[str]:
    """Returns the columns of the primary key."""
    database, _, name = table.partition(".")
    rows = source.server.query(
        "SELECT column_name FROM information_schema.key_column_usage WHERE constraint_name = 'PRIMARY'"
        f" AND table_schema = '{database}' AND table_name = '{name}' ORDER BY ordinal_position"
    )
    return [row[0] for row in rows]


def _check_history(source: Source, table: str) -> None:
    """The oracle does not depend on the order in which the target returns the changes."""
    selected = source.selected(table)
    found = rows_of_changes(source.read(table), columns_of(selected), key_of(source, table))
    assert found == selected, (table, differences(found, selected))


def _check_versions(versions: Rows, key: Sequence[str]) -> None:
    """Checks that versions of a row do not overlap, and that each is there once."""
    periods: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for row in versions.elements():
        cells = dict(row)
        end = cells["_valid_to_version"]
        period = (int(cells["_valid_from_version"]), float("inf") if end == "NULL" else int(end))
        periods.setdefault(tuple(cells[name] for name in key), []).append(period)
    for values, found in periods.items():
        found.sort()
        assert all(start <= end for start, end in found), values
        assert all(end <= start for (_, end), (start, _) in pairwise(found)), values
