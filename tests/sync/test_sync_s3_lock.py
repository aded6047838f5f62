"""Two syncs of one target in an object store: one of them ends with an error, and no change is applied twice."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow.syncing import bucket, delta_table, lake_tables, store_lock, store_state
from support.sync_source import Source

SERVERS = ["mysql"]
KINDS = ["delta+s3"]


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    source.sync(mode="history")
    return source


class Machine:
    """Another machine: its syncs have other local files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, function: Callable[..., Any], **keywords: Any) -> None:
        self._folder.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(tempfile, "tempdir", str(self._folder))
            function(**keywords)


def here(function: Callable[..., Any], **keywords: Any) -> None:
    function(**keywords)


@pytest.fixture
def other(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "other")


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks are not renewed, and expire soon."""
    monkeypatch.setattr(store_lock, "LEASE", 0.4)
    monkeypatch.setattr(store_lock, "POLL", 0.05)
    monkeypatch.setattr(store_lock, "BEAT", 3600)
    monkeypatch.setattr(store_lock, "FRESH", 0)


def check_history(shop: Source, table: str, inserts: int) -> None:
    """Each insert is in the history once."""
    rows = shop.read(f"shop.{table}")
    found = Counter(dict(row)["id"] for row in rows.elements())
    assert [*found.values()] == [1] * inserts


@pytest.mark.parametrize("is_other", [False, True])
def test_a_running_sync(
    shop: Source, other: Machine, monkeypatch: pytest.MonkeyPatch, *, is_other: bool
) -> None:
    """A second sync is refused, on the same machine and on another one."""
    monkeypatch.setattr(store_lock, "BEAT", 0.05)
    run = other.run if is_other else here

    def second(_: binarrow.SyncSummary) -> None:
        with pytest.raises(binarrow.TargetBusyError, match="another sync writes s3://lake/"):
            run(shop.sync, mode="history")

    shop.execute("INSERT INTO t VALUES (2, 2)")
    shop.sync(mode="history", on_commit=second)
    shop.sync(mode="history")
    check_history(shop, "t", 2)


def test_a_lock_that_was_left(shop: Source, other: Machine, frozen: None) -> None:
    """The lock of a process that was killed on another machine expires. On this machine, it is taken at once."""
    for run in (other.run, here):
        left = store_state.StoreState(shop_bucket(shop)).lock()
        # A slow sync has not deleted its lock, because it was not sure that it still had it.
        left._bucket.delete([left._name])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(store_lock, "LEASE", 0.4 if run == other.run else 3600)
            left.__enter__()
            assert left._local
            left._local.__exit__(None, None, None)  # the system does this
            shop.execute("INSERT INTO t (v) SELECT 3 FROM t WHERE false")
            run(shop.sync, mode="history")
        left._ended.set()
    check_history(shop, "t", 1)


def shop_bucket(shop: Source) -> Any:
    from binarrow.syncing.bucket import Bucket

    return Bucket.of_url(shop.target.removeprefix("delta+s3://"), 1)


@pytest.mark.parametrize(
    ("owner", "name", "calls"),
    [
        (store_state.StoreState, "write_rows", 1),
        (store_state.StoreState, "end_folder", 1),
        (store_state.StoreState, "commit", 1),
        (lake_tables.LakeTables, "_apply_patiently", 1),
        (lake_tables.LakeTables, "_apply_patiently", 2),
        (lake_tables.LakeTables, "_apply", 1),
        (delta_table, "write_deltalake", 1),
        (store_state.StoreState, "remove_folder", 1),
        (store_state.StoreState, "remove_others", 2),
    ],
)
def test_a_sync_that_was_stopped(
    shop: Source, other: Machine, frozen: None, owner: Any, name: str, calls: int
) -> None:
    """The sync continues after another one has taken the target, at each step of a commit."""
    shop.execute("INSERT INTO t VALUES (2, 2)", "CREATE TABLE u (id INT PRIMARY KEY)")
    shop.execute("INSERT INTO u VALUES (1)")
    real, left = getattr(owner, name), calls

    def late(*arguments: Any, **keywords: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            patched.undo()
            shop.execute("INSERT INTO t VALUES (3, 3)", "INSERT INTO u VALUES (2)")
            other.run(shop.sync, mode="history")
            check_history(shop, "t", 3)
            check_history(shop, "u", 2)
        return real(*arguments, **keywords)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, late)
        with pytest.raises(binarrow.TargetBusyError, match="No change is lost"):
            shop.sync(mode="history", once=False, every=0)
    assert left <= 0
    shop.execute("INSERT INTO t VALUES (4, 4)")
    other.run(shop.sync, mode="history")
    check_history(shop, "t", 4)
    check_history(shop, "u", 2)


@pytest.mark.parametrize(
    ("owner", "name", "calls", "is_rename"),
    [
        (store_state.StoreState, "remove_table_folder", 1, False),
        (bucket.Bucket, "delete", 1, False),
        (bucket, "sleep", 1, False),
        (bucket.Bucket, "copy", 1, True),
        (bucket.Bucket, "copy", 3, True),
        (bucket.Bucket, "delete", 1, True),
    ],
)
def test_a_sync_that_was_stopped_while_it_removes_a_table(
    source: Source, other: Machine, frozen: None, owner: Any, name: str, calls: int, is_rename: bool
) -> None:
    """The sync does not delete or replace objects of a table that another sync has created with the same name."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    source.sync(on_drop="drop")
    source.execute("RENAME TABLE t TO s" if is_rename else "DROP TABLE t")
    real, left = getattr(owner, name), calls

    def late(*arguments: Any, **keywords: Any) -> Any:
        nonlocal left
        left -= name != "delete" or "shop/t/" in str(arguments[1])
        if left == 0:
            patched.undo()
            assert source.store
            source.store.fail()
            source.execute("CREATE TABLE t (x INT PRIMARY KEY)", "INSERT INTO t VALUES (5)")
            other.run(source.sync, on_drop="drop")
        return real(*arguments, **keywords)

    assert source.store
    if name == "sleep":  # the first attempt to delete the objects fails
        source.store.fail(method="POST", times=1, status=503, code="SlowDown")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, late)
        with pytest.raises(binarrow.TargetBusyError, match="No change is lost"):
            source.sync(on_drop="drop", once=False, every=0)
    assert left <= 0
    tables = ("shop.t", "shop.s")[: 1 + is_rename]
    source.check(*tables)
    source.execute("UPDATE t SET x = 6")
    other.run(source.sync, on_drop="drop")
    source.check(*tables)
