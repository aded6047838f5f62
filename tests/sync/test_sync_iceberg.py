"""`binarrow.sync` into Iceberg tables: other programs, names, and many commits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from binarrow.syncing import iceberg_table
from support.oracles.iceberg_tables import catalog_of
from support.sync_source import Source

SERVERS = ["mysql"]
KINDS = ["iceberg"]

T = ("shop", "t")


def test_other_targets_and_tools(shop: Source) -> None:
    """A table of another tool, or another kind of target, is refused and stays as it is."""
    shop.execute("CREATE TABLE other (id INT PRIMARY KEY)")
    catalog_of(shop.file).create_table(("shop", "other"), pa.schema([("x", pa.int32())]))
    with pytest.raises(binarrow.SyncError, match=r"shop\.other of .* no sync created"):
        shop.sync()
    for scheme in ("delta+file", "parquet+file"):
        target = f"{scheme}:///{shop.file}"
        with pytest.raises(binarrow.SyncError, match="iceberg"):
            binarrow.sync(
                shop.url, target, mode="history", once=True, password_file=shop.password_file
            )
    for target, words in (
        ("iceberg+file://host/x", "has no folder"),
        ("iceberg://missing", "no complete settings of the catalog 'missing'"),
        ("iceberg://a:b@c", "contains only the name of a catalog"),
    ):
        with pytest.raises(binarrow.ConfigError, match=words):
            binarrow.sync(shop.url, target, once=True, password_file=shop.password_file)


def test_changes_of_another_program(shop: Source) -> None:
    """It may replace files while the sync runs; a table that it replaced is refused."""
    shop.execute("INSERT INTO t VALUES (2, 2)", "UPDATE t SET v = 5")
    real = iceberg_table._write

    def late(*arguments: Any) -> Any:
        patched.undo()
        table = catalog_of(shop.file).load_table(T)
        table.overwrite(table.scan().to_arrow())
        return real(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(iceberg_table, "_write", late)
        shop.sync()
    shop.check("shop.t")
    catalog = catalog_of(shop.file)
    rows = catalog.load_table(T).scan().to_arrow()
    catalog.drop_table(T)
    catalog.create_table(T, rows.schema)
    shop.execute("INSERT INTO t VALUES (3, 3)")
    with pytest.raises(binarrow.SyncError, match=r"shop\.t: .* reload="):
        shop.sync()
    shop.sync(exclude_tables="shop.t")
    shop.sync()
    shop.check("shop.t")


def test_names(shop: Source) -> None:
    shop.execute(
        'CREATE TABLE `a/b %41.ü` (`C` INT PRIMARY KEY, `select` INT, `d e` INT, `f"` INT)',
        "INSERT INTO `a/b %41.ü` VALUES (1, 2, 3, 4)",
    )
    shop.sync()
    shop.execute("UPDATE `a/b %41.ü` SET `d e` = 5, `select` = 6")
    shop.sync()
    shop.check("shop.a/b %41.ü")
    shop.execute("CREATE TABLE n (id INT PRIMARY KEY, `a.b` INT)", "INSERT INTO t VALUES (9, 9)")
    with pytest.raises(binarrow.SyncError, match=r"shop\.n has a column 'a\.b'"):
        shop.sync()
    shop.sync(exclude_tables="shop.n")
    shop.check("shop.t")


def test_many_commits(shop: Source) -> None:
    """Small files are compacted, and old ones are deleted as the properties of the table say."""
    table = catalog_of(shop.file).load_table(T)
    age = "history.expire.max-snapshot-age-ms"
    assert table.properties[age] == "3600000"
    with table.transaction() as transaction:
        transaction.set_properties({age: "0"})
    number = 10

    def insert(_: binarrow.SyncSummary) -> None:
        nonlocal number
        number += 1
        shop.execute(f"INSERT INTO t VALUES ({number}, {number})")

    shop.execute("INSERT INTO t VALUES (10, 10)")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(iceberg_table, "MAINTAINED", 10)
        shop.sync(every=0, on_commit=insert, once=False, is_stopped=lambda: number > 40)
    shop.sync()
    shop.check("shop.t")
    table = catalog_of(shop.file).load_table(T)
    operations = Counter(one.summary.operation.value for one in table.snapshots() if one.summary)
    assert 1 < sum(operations.values()) < 25
    folder = iceberg_table.path_of(table.location())
    assert len([*folder.glob("data/*.parquet")]) < 25
    assert len([*folder.glob("metadata/*.avro")]) < 75
    assert len([*folder.glob("metadata/*.json")]) < 25
    assert len(list(table.scan().plan_files())) < 15


def test_manifests_of_deleted_files(shop: Source) -> None:
    """Many changes of a row do not make later commits slower: a snapshot has only needed manifests."""
    shop.sync()
    for _ in range(8):
        shop.execute("UPDATE t SET v = v + 1")
        shop.sync()
    table = catalog_of(shop.file).load_table(T)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert len(snapshot.manifests(table.io)) == 2  # of the new file and of the replaced one
    shop.check("shop.t")
