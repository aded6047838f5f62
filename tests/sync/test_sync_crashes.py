"""`binarrow.sync` into Delta and Iceberg tables: a crash at each place of a commit of several tables.

`BINARROW_SYNC_CRASHES=1` plants a crash at each place, not at a few.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from binarrow.syncing import (
    delta_folders,
    delta_table,
    folder_table_set,
    iceberg_files,
    iceberg_table,
    lake,
    lake_tables,
    local_state,
)
from support.extent import rounds
from support.oracles.iceberg_tables import catalog_of
from support.oracles.valid_rows import check_current
from support.sync_source import Source

SERVERS = ["mysql"]
KINDS = ["delta", "iceberg"]

STRIDE = rounds("BINARROW_SYNC_CRASHES", 94, 47)

TABLES = ("a", "b", "c", "d")

PLACES: tuple[tuple[Any, str], ...] = (
    (local_state, "replace_file"),
    (local_state, "sync"),
    (local_state, "move_away"),
    (lake, "write_operations"),
    (lake.Lake, "_remove_old"),
    (lake_tables.LakeTables, "_apply"),
    (shutil, "rmtree"),
    (delta_folders, "move_away"),
    (delta_table, "write_deltalake"),
    (delta_folders, "sync"),
    (delta_table.Table, "mark"),
    (delta_table.Table, "write"),
    (delta_table.Table, "write_versions"),
    (delta_table.Table, "end"),
    (folder_table_set, "move_away"),
    (iceberg_table, "_write"),
    (iceberg_files, "sync"),
    (SqlCatalog, "create_table"),
    (SqlCatalog, "commit_table"),
    (SqlCatalog, "drop_table"),
    (SqlCatalog, "rename_table"),
)
"""Functions of a commit. A crash is planted before and after each call."""


class Crash(BaseException):
    """The end of a process."""


class Planted:
    """Ends a sync at the nth place of a commit."""

    def __init__(self, patched: pytest.MonkeyPatch, place: int) -> None:
        self.left = place
        for owner, name in PLACES:
            patched.setattr(owner, name, self._wrapped(getattr(owner, name)))

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            self._pass()
            result = function(*arguments, **keywords)
            self._pass()
            return result

        return call

    def _pass(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Crash


def crashes(
    source: Source,
    prepare: Callable[[int], None],
    check: Callable[[], None],
    run: Callable[..., object] | None = None,
    **keywords: Any,
) -> int:
    """Changes tables and crashes the sync at the next place, until it does not crash any more."""
    place = 1
    while True:
        prepare(place)
        with pytest.MonkeyPatch.context() as patched:
            planted = Planted(patched, place)
            with contextlib.suppress(Crash):
                (run or source.sync)(every=60, **keywords)
        if run is None:
            source.sync(**keywords)
        check()
        if planted.left > 0:
            return place
        place += STRIDE


def test_crashes_of_a_mirror(source: Source) -> None:
    """Each table gets each change once, wherever the commit of several tables ends."""
    source.execute(
        *(f"CREATE TABLE {one} (id INT PRIMARY KEY, v INT)" for one in TABLES),
        *(f"INSERT INTO {one} VALUES (1, 1), (2, 2), (3, 3)" for one in TABLES),
    )
    source.sync(on_drop="drop")

    def prepare(place: int) -> None:
        source.execute(
            "UPDATE a SET v = v + 1",
            f"INSERT INTO b (id) VALUES ({place + 10})",
            f"ALTER TABLE b ADD COLUMN c{place} INT DEFAULT {place} FIRST",
            "DELETE FROM b WHERE id = 2",
            "TRUNCATE c",
            f"INSERT INTO c VALUES ({place}, 0)",
            "RENAME TABLE a TO x, d TO a, x TO d",
            "UPDATE a SET v = v + 1",
            f"DROP TABLE IF EXISTS `e{place - STRIDE}`",
            f"CREATE TABLE e{place} (id INT PRIMARY KEY)",
        )
        source.execute(f"ALTER TABLE b DROP COLUMN c{place}", f"INSERT INTO e{place} VALUES (1)")

    def check() -> None:
        source.check(*(f"shop.{one}" for one in TABLES))

    assert crashes(source, prepare, check, on_drop="drop") > 20
    left = {one.name.partition("-")[0] for one in (source.file / "_binarrow").iterdir()}
    assert left == {"lock", "position", "structures", "complete_through.json"}


def test_crashes_of_versions(source: Source) -> None:
    """Each change is one version, and one version of each row is current."""
    source.execute(
        *(f"CREATE TABLE {one} (id INT PRIMARY KEY, v INT)" for one in TABLES),
        *(f"INSERT INTO {one} VALUES (1, 1), (2, 1)" for one in TABLES),
    )
    source.sync(mode="scd2")
    values: Counter[int] = Counter({1: 2 * len(TABLES)})

    def prepare(place: int) -> None:
        source.execute(
            *(f"UPDATE {one} SET v = {place + 1}" for one in TABLES),
            "TRUNCATE c",
            f"INSERT INTO c VALUES (1, {place + 1})",
        )
        rows_of_c = 2 if place == 1 else 1
        values[place + 1] += 2 * (len(TABLES) - 1) + rows_of_c + 1

    def check() -> None:
        found: Counter[int] = Counter()
        for table in TABLES:
            for row in source.read(f"shop.{table}").elements():
                found[int(dict(row)["v"])] += 1
        assert found == values
        check_current(source, *(f"shop.{one}" for one in TABLES))

    assert crashes(source, prepare, check, mode="scd2") > 20


def test_crashes_while_a_table_is_parked(source: Source) -> None:
    """Another program replaces a table before each commit, which also renames it and others."""
    source.execute(
        *(f"CREATE TABLE {one} (id INT PRIMARY KEY, v INT)" for one in TABLES),
        *(f"INSERT INTO {one} VALUES (1, 1), (2, 2), (3, 3)" for one in TABLES),
    )
    source.sync()
    replaced = list(TABLES)

    def prepare(place: int) -> None:
        replaced.append(replaced.pop(0))
        source.execute(
            *(f"UPDATE {one} SET v = v + 1" for one in TABLES),
            "RENAME TABLE a TO x, d TO a, x TO d",
            *(f"UPDATE {one} SET v = v + 1" for one in TABLES),
            f"INSERT INTO {replaced[0]} (id) VALUES ({place + 10})",
        )

    def replace() -> None:
        other = pa.table({"x": [1]})
        if source.kind == "delta":
            folder = source.file / "shop" / replaced[0]
            shutil.rmtree(folder)
            write_deltalake(str(folder), other)
        else:
            catalog = catalog_of(source.file)
            catalog.drop_table(("shop", replaced[0]))
            catalog.create_table(("shop", replaced[0]), other.schema).append(other)

    def check() -> None:
        summary = source.sync(on_table_error="park", on_drop="keep")
        parked = {name for (_, name), one in summary.tables.items() if one.status == "parked"}
        source.check(*(f"shop.{one}" for one in {*TABLES} - parked))
        assert len(parked) <= 1
        source.sync(reload="shop.*")
        source.check(*(f"shop.{one}" for one in TABLES))

    def run(**keywords: Any) -> None:
        """Replaces the table after the state was read, so that the commit fails on it."""
        with pytest.MonkeyPatch.context() as patched:
            load = lake.Lake.load

            def load_and_replace(self: lake.Lake) -> Any:
                found = load(self)
                replace()
                return found

            patched.setattr(lake.Lake, "load", load_and_replace)
            source.sync(on_table_error="park", **keywords)

    assert crashes(source, prepare, check, run) > 20


def test_crashes_of_a_history(source: Source) -> None:
    source.execute(
        *(f"CREATE TABLE {one} (id INT PRIMARY KEY, v INT)" for one in TABLES),
        *(f"INSERT INTO {one} VALUES (1, 1)" for one in TABLES),
    )
    source.sync(mode="history")
    changed: Counter[int] = Counter({1: len(TABLES)})

    def prepare(place: int) -> None:
        source.execute(*(f"UPDATE {one} SET v = {place + 1}" for one in TABLES))
        changed[place + 1] += len(TABLES)

    def check() -> None:
        found: Counter[int] = Counter()
        for table in TABLES:
            for row in source.read(f"shop.{table}").elements():
                kind, value = dict(row)["_change_type"], int(dict(row)["v"])
                found[value] += kind != "update_preimage"
        assert found == changed

    assert crashes(source, prepare, check, mode="history") > 20
