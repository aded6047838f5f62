"""The moments at which a sync of a stored target ends: inside a load, or inside a transaction."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from binarrow import SyncSummary
from binarrow.syncing.lake import Lake
from binarrow.syncing.lake_tables import LakeTables
from binarrow.syncing.parquet_folder import ParquetFolder
from support.stored import shop
from support.stored.target import Target, stored_position
from support.sync_source import Source

LOADED_LATER = ["shop.shops"]
"""The table whose load is not complete."""

LEFT_OUT = ["shop.guests"]
"""A table that is not selected any more."""


class Crash(BaseException):
    """The end of a process."""


def stop_inside_first_load(target: Target, source: Source) -> None:
    """Ends when the target has rows of a table without a key, and no rows of the others."""

    def watch(summary: SyncSummary) -> None:
        if summary.of(("shop", "keyless")).changes:
            target.note(summary)
            raise Crash

    with contextlib.suppress(Crash):
        source.sync(
            mode=target.mode,
            exclude_tables=target.exclude_tables or None,
            max_rows_per_commit=2,
            on_commit=watch,
        )
    assert target.statuses["shop.keyless"] == "incomplete"
    assert {one["read"] for one in _load(target)} == {"nothing"}


def stop_inside_load(target: Target, source: Source, region: int) -> None:
    """Begins to load `shops`, deletes a region, and ends when the target contains this.

    Before it, the log contains the statement after which a table is parked.
    """
    is_history = target.mode == "history"
    is_deleted = False

    def watch(summary: SyncSummary) -> None:
        nonlocal is_deleted
        status = {name[1]: table.status for name, table in summary.tables.items()}
        assert summary.position is not None
        if "shop.shops" not in (summary.position.loading or ()):
            assert not is_deleted, "the load is complete"
            return
        if not is_deleted and summary.of(("shop", "shops")).changes >= shop.CHUNK:
            source.execute(f"DELETE FROM shop.regions WHERE id = {region}")
            is_deleted = True
            return
        # MySQL logs the rows that foreign keys change.
        is_seen = not source.server.is_mariadb or status["visits"] == "incomplete"
        if is_deleted and is_seen and "parked" in status.values():
            target.note(summary)
            raise Crash

    with contextlib.suppress(Crash):
        source.sync(
            mode=target.mode,
            exclude_tables=[*target.exclude_tables, *LEFT_OUT],
            every=0,
            max_rows_per_second=shop.CHUNK,
            on_table_error="park",
            on_commit=watch,
            schema_changes="fail" if is_history else "follow",
        )
    [table] = [one for one in _load(target) if one["table"] == "shops"]
    assert table["read"] == "part", table


def stop_inside_transaction(target: Target, source: Source) -> None:
    """Ends at a commit that contains parts of a transaction, of several tables.

    In a lake, the first of these tables has the changes of this commit, and the others do not.
    """
    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(Crash):
        _plant_crash(patched)
        source.sync(
            mode=target.mode,
            exclude_tables=target.exclude_tables or None,
            max_rows_per_commit=10,
            on_commit=_end_inside if target.kind == "duckdb" else lambda _: None,
        )
    if source.store is not None:
        target.download(source.store)
    ahead = stored_position(target).get("ahead", [])
    assert any("changes" in one for one in ahead), "the position is not inside a transaction"


def _end_inside(summary: SyncSummary) -> None:
    assert summary.position is not None
    if len(json.loads(summary.position.to_json()).get("ahead", [])) > 1:
        raise Crash


def _plant_crash(patched: pytest.MonkeyPatch) -> None:
    """Ends a commit of several tables inside a transaction after the position was written."""
    complete, apply, complete_files = Lake._complete, LakeTables._apply, ParquetFolder._complete
    applied = 0

    def apply_first(self: LakeTables, *arguments: Any) -> None:
        nonlocal applied
        if applied:
            raise Crash
        apply(self, *arguments)
        applied += 1

    def crash_in_lake(self: Lake, operations: Any, state: Any) -> Any:
        if state.position.ahead and len(operations) > 1:
            patched.setattr(LakeTables, "_apply", apply_first)
        return complete(self, operations, state)

    def crash_in_folder(self: ParquetFolder, stored: dict[str, Any]) -> None:
        if stored["position"].get("ahead") and len(stored["files"]) > 1:
            raise Crash
        complete_files(self, stored)

    patched.setattr(Lake, "_complete", crash_in_lake)
    patched.setattr(ParquetFolder, "_complete", crash_in_folder)


def _load(target: Target) -> Iterator[dict[str, Any]]:
    load = stored_position(target).get("load")
    assert load, "the position has no load"
    yield from load["tables"]
