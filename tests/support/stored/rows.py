"""The comparison of a target with SELECT, in each mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from support.oracles.change_rows import rows_of_changes
from support.oracles.duckdb_tables import differences
from support.oracles.valid_rows import check_current, columns_of
from support.sync_source import Source


def check_rows(source: Source, mode: str, *tables: str) -> None:
    """Compares the current rows of tables with SELECT."""
    for table in tables:
        if mode == "mirror":
            source.check(table)
        elif mode == "scd2":
            check_current(source, table)
            _check_versions(source, table)
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
    """Compares the rows after all changes, each of which must be there once."""
    selected, changes = source.selected(table), source.read(table)
    found = rows_of_changes(changes, columns_of(selected), key_of(source, table))
    assert found == selected, (table, differences(found, selected))
    assert not changes or max(changes.values()) == 1, (table, changes.most_common(1))


def _check_versions(source: Source, table: str) -> None:
    """Checks that versions of a row do not overlap."""
    for key, found in _periods(source, table).items():
        assert all(start <= end for start, end in found), (table, key)
        assert all(end <= start for (_, end), (start, _) in pairwise(found)), (table, key)


def check_versions_once(source: Source, *tables: str) -> None:
    """Checks that each version is there once. No row was read again, or changed twice in a transaction."""
    for table in tables:
        for key, found in _periods(source, table).items():
            assert len({start for start, _ in found}) == len(found), (table, key)


def _periods(source: Source, table: str) -> dict[tuple[str, ...], list[tuple[int, float]]]:
    """Returns the versions with which the versions of each row begin and end, in order."""
    key = key_of(source, table)
    periods: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for row in source.read(table).elements():
        cells = dict(row)
        end = cells["_valid_to_version"]
        period = (int(cells["_valid_from_version"]), float("inf") if end == "NULL" else int(end))
        periods.setdefault(tuple(cells[name] for name in key), []).append(period)
    return {values: sorted(found) for values, found in periods.items()}
