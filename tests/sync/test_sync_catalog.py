"""`binarrow.sync` into a catalog of Iceberg tables, whose files are in an object store."""

from __future__ import annotations

import subprocess
from collections import Counter
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

import binarrow
from binarrow.syncing import catalog_state, iceberg_table, lake_tables
from support.documents import environment, examples
from support.extent import rounds
from support.servers.s3 import KEY, SECRET
from support.sync_source import SECRET as PASSWORD
from support.sync_source import Source

SERVERS = ["mysql"]
KINDS = ["sql"]

STRIDE = rounds("BINARROW_SYNC_CRASHES", 183, 61)


@pytest.mark.parametrize("kind", ["sql", "glue"])
def test_changes(shop: Source) -> None:
    """Statements and changes of all kinds arrive, and verify compares them."""
    assert shop.store
    shop.execute(
        "UPDATE t SET v = 2",
        "CREATE TABLE u (id INT PRIMARY KEY, d DECIMAL(30, 2))",
        "INSERT INTO u VALUES (1, 2), (2, 3)",
    )
    shop.sync()
    shop.check("shop.t", "shop.u")
    shop.execute(
        "ALTER TABLE u ADD COLUMN c INT DEFAULT 7 FIRST",
        "RENAME TABLE t TO s, u TO t, s TO u",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO u VALUES (2, 3)",
    )
    shop.sync()
    shop.check("shop.t", "shop.u")
    shop.execute("TRUNCATE u", "DROP TABLE t", "CREATE TABLE t (x INT PRIMARY KEY)")
    shop.execute("INSERT INTO t VALUES (9)")
    shop.sync(on_drop="drop")
    shop.check("shop.t", "shop.u")
    assert {one.result for one in shop.verify().tables.values()} == {"MATCH"}
    table = load_catalog("lake").load_table(("_binarrow", "sync"))
    prefix = table.location().removeprefix("s3://lake/")
    left = [one.split("/files/")[1] for one in shop.store.objects(prefix) if "/files/" in one]
    found = Counter(one.partition("-")[0] for one in left if one)
    assert found == {"complete_through.json": 1, "position": 1, "structures": 1}


def test_a_cut_at_each_request(shop: Source) -> None:
    """The store refuses all writes after one, as if the process had ended there."""
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
            "TRUNCATE c",
            f"INSERT INTO c VALUES ({place}, 0)",
            "RENAME TABLE a TO x, d TO a, x TO d",
            "UPDATE a SET v = v + 1",
            f"DROP TABLE IF EXISTS `e{place - STRIDE}`",
            f"CREATE TABLE e{place} (id INT PRIMARY KEY)",
        )
        shop.store.fail(method="PUT|POST|DELETE", skip=place - 1, status=403, code="AccessDenied")
        errors = 0
        try:
            shop.sync(on_drop="drop", every=60)
        except binarrow.SyncError as error:
            text = str(error)
            errors += "access is denied: the credentials need" in text
            errors += (KEY in text or SECRET in text or "\n" in text) * 100
        shop.store.fail()
        assert errors < 2
        shop.sync(on_drop="drop")
        shop.check(*(f"shop.{one}" for one in "abcd"), f"shop.e{place}")
        place += STRIDE
    assert place > 60


@pytest.mark.parametrize(
    ("owner", "name", "calls"),
    [
        (catalog_state.CatalogState, "write_rows", 1),
        (catalog_state.CatalogState, "commit", 1),
        (lake_tables.LakeTables, "_apply_patiently", 2),
        (iceberg_table, "_write", 1),
        (catalog_state.CatalogState, "remove_folder", 1),
        (catalog_state.CatalogState, "remove_others", 2),
    ],
)
def test_a_sync_that_was_overtaken(
    source: Source, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, calls: int
) -> None:
    """Another sync starts on another machine, at each step of a commit: no change is applied twice."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    source.sync(mode="history")
    source.execute("INSERT INTO t VALUES (2, 2)", "CREATE TABLE u (id INT PRIMARY KEY)")
    source.execute("INSERT INTO u VALUES (1)")
    real, left = getattr(owner, name), calls
    local = catalog_state.local_folder

    def late(*arguments: Any, **keywords: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            patched.undo()
            source.execute("INSERT INTO t VALUES (3, 3)", "INSERT INTO u VALUES (2)")
            with pytest.MonkeyPatch.context() as other:
                other.setattr(catalog_state, "local_folder", lambda name: local(f"other {name}"))
                source.sync(mode="history")
        return real(*arguments, **keywords)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, late)
        with pytest.raises(binarrow.TargetBusyError, match="No change is lost"):
            source.sync(mode="history", once=False, every=0)
    source.execute("INSERT INTO t VALUES (4, 4)")
    source.sync(mode="history")
    for table, count in (("t", 4), ("u", 2)):
        found = Counter(dict(row)["id"] for row in source.read(f"shop.{table}").elements())
        assert [*found.values()] == [1] * count


def test_two_syncs_of_a_machine(shop: Source) -> None:
    def second(_: binarrow.SyncSummary) -> None:
        with pytest.raises(binarrow.TargetBusyError, match="another sync writes iceberg://lake"):
            shop.sync()

    shop.execute("INSERT INTO t VALUES (2, 2)")
    shop.sync(on_commit=second)
    shop.check("shop.t")


def test_many_commits(shop: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of tables and of the state are deleted when no snapshot uses them any more."""
    assert shop.store
    catalog = load_catalog("lake")
    table = catalog.load_table(("shop", "t"))
    with table.transaction() as transaction:
        transaction.set_properties({"history.expire.max-snapshot-age-ms": "0"})
    monkeypatch.setattr(iceberg_table, "MAINTAINED", 3)
    monkeypatch.setattr(catalog_state, "KEPT", 3)
    for number in range(2, 9):
        shop.execute(f"INSERT INTO t VALUES ({number}, 1)")
        shop.sync()
    shop.check("shop.t")
    for name in (("shop", "t"), ("_binarrow", "sync")):
        table = catalog.load_table(name)
        prefix = table.location().removeprefix("s3://lake/")
        assert len(table.snapshots()) < 8
        assert len([one for one in shop.store.objects(f"{prefix}/metadata") if ".avro" in one]) < 24
        assert len(shop.store.objects(f"{prefix}/data")) < 12


def test_errors(shop: Source) -> None:
    """Errors are one line with a remedy, without credentials."""
    assert shop.store
    for code, status, words in (
        ("AccessDenied", 403, "access is denied: the credentials need"),
        ("SlowDown", 503, "the store answers requests with errors: run the command again"),
    ):
        shop.execute("UPDATE t SET v = v + 1")
        shop.store.fail(method="PUT|POST", status=status, code=code)
        with pytest.raises(binarrow.SyncError, match=words) as error:
            shop.sync(busy_timeout=0)
        assert not any(one in str(error.value) for one in (KEY, SECRET, "\n"))
        shop.store.fail()
    shop.sync()
    shop.check("shop.t")


def test_the_examples(shop: Source) -> None:
    """The example of the documentation; the variables of pyiceberg describe the catalog."""
    (shop.folder / "secret").write_text(PASSWORD)
    shop.execute("INSERT INTO t VALUES (2, 2)")
    for example in examples("sh", "catalog"):
        ran = subprocess.run(
            ["bash", "-euc", example.replace("mysql://repl@db.example/", f"'{shop.url}'")],
            cwd=shop.folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == 0, ran.stderr
        shop.check("shop.t")
