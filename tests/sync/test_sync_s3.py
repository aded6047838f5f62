"""`binarrow.sync` into Delta tables in an object store: what the store and other syncs can do."""

from __future__ import annotations

import os
from typing import Any

import pytest

import binarrow
from support.sync_source import Source

STRIDE = int(os.environ.get("BINARROW_SYNC_CRASHES", "13"))


@pytest.fixture(scope="session", params=["mysql"])
def started(request: pytest.FixtureRequest, started: Any) -> Any:
    return started


@pytest.fixture
def kind() -> str:
    return "delta+s3"


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    source.sync()
    return source


def test_changes(shop: Source) -> None:
    """Statements and changes of all kinds arrive, also with names that need quoting."""
    assert shop.store
    shop.execute(
        "UPDATE t SET v = 2",
        'CREATE TABLE `a/b %41.ü x` (`C` INT PRIMARY KEY, `select` INT, `d.e` INT, `f"` INT)',
        "INSERT INTO `a/b %41.ü x` VALUES (1, 2, 3, 4)",
        "CREATE TABLE u (id INT PRIMARY KEY, d DECIMAL(30, 2))",
        "INSERT INTO u VALUES (1, 2), (2, 3)",
    )
    shop.sync()
    shop.check("shop.t", "shop.u", "shop.a/b %41.ü x")
    shop.execute(
        "UPDATE `a/b %41.ü x` SET `d.e` = 5",
        "ALTER TABLE u ADD COLUMN c INT DEFAULT 7 FIRST",
        "RENAME TABLE t TO s, u TO t, s TO u",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO u VALUES (2, 3)",
    )
    shop.sync()
    shop.check("shop.t", "shop.u", "shop.a/b %41.ü x")
    shop.execute("TRUNCATE u", "DROP TABLE t", "CREATE TABLE t (x INT PRIMARY KEY)")
    shop.execute("INSERT INTO t VALUES (9)")
    shop.sync(on_drop="drop")
    shop.check("shop.t", "shop.u", "shop.a/b %41.ü x")
    own = [
        one.split("/")[3].split("-")[0] for one in shop.store.objects(f"{shop.prefix}/_binarrow")
    ]
    assert sorted(own) == ["complete_through.json", "position.json", "structures"]


def test_a_cut_at_each_request(shop: Source) -> None:
    """The store refuses all writes after one, as if the process had ended there.

    `BINARROW_SYNC_CRASHES=1` does this at each write, not at a few.
    """
    assert shop.store
    shop.execute(
        *(f"CREATE TABLE {one} (id INT PRIMARY KEY, v INT)" for one in "abcd"),
        *(f"INSERT INTO {one} VALUES (1, 1), (2, 2), (3, 3)" for one in "abcd"),
    )
    shop.sync(on_drop="drop")
    place, errors = 1, 1
    while errors:
        shop.execute(
            "UPDATE a SET v = v + 1",
            f"INSERT INTO b (id) VALUES ({place + 10})",
            "DELETE FROM b WHERE id = 2",
            "TRUNCATE c",
            f"INSERT INTO c VALUES ({place}, 0)",
            "RENAME TABLE a TO x, d TO a, x TO d",
            "UPDATE a SET v = v + 1",
            f"DROP TABLE IF EXISTS `e{place - STRIDE}`",
            f"CREATE TABLE e{place} (id INT PRIMARY KEY)",
        )
        shop.execute(f"INSERT INTO e{place} VALUES (1)")
        shop.store.fail(method="PUT|POST|DELETE", skip=place - 1, status=403, code="AccessDenied")
        errors = 0
        try:
            shop.sync(on_drop="drop", every=60)
        except binarrow.SyncError as error:
            errors += str(error).count("access is denied: the credentials need")
        shop.store.fail()
        shop.sync(on_drop="drop")
        shop.check(*(f"shop.{one}" for one in "abcd"), f"shop.e{place}")
        place += STRIDE
    assert place > 60
    found = {
        one.split("/")[3].split("-")[0] for one in shop.store.objects(f"{shop.prefix}/_binarrow")
    }
    assert found == {"complete_through.json", "position.json", "structures"}
