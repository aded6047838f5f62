"""`binarrow.sync` into Delta tables: other programs, names, and many commits."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

import binarrow
from binarrow.syncing import delta_table
from support.oracles.delta_tables import folder_of
from support.sync_source import Source

SERVERS = ["mysql"]
KINDS = ["delta"]


def test_other_targets_and_tools(shop: Source, tmp_path: Path) -> None:
    """A folder of another tool, or of another kind of target, is refused and stays as it is."""
    other = shop.other()
    write_deltalake(
        str(folder_of(other.file, "shop.t")),
        DeltaTable(str(folder_of(shop.file, "shop.t"))).to_pyarrow_table(),
    )
    with pytest.raises(binarrow.SyncError, match="no sync created"):
        other.sync()
    for scheme, folder, words in (
        ("parquet+file", shop.file, r"write delta\+file"),
        ("delta+file", tmp_path / "changes", r"write parquet\+file"),
    ):
        target = f"{scheme}:///{folder}"
        if scheme == "delta+file":
            given = {"tables": "shop.*", "once": True, "password_file": shop.password_file}
            binarrow.sync(shop.url, f"parquet+file:///{folder}", mode="history", **given)
        with pytest.raises(binarrow.SyncError, match=words):
            binarrow.sync(
                shop.url, target, mode="history", once=True, password_file=shop.password_file
            )
    for target, words in (
        ("delta+file://host/x", "has no folder"),
        ("delta+gs://bucket/x", "is not supported: write"),
    ):
        with pytest.raises(binarrow.ConfigError, match=words):
            binarrow.sync(shop.url, target, once=True, password_file=shop.password_file)


def test_two_syncs(shop: Source) -> None:
    def second(_: binarrow.SyncSummary) -> None:
        with pytest.raises(binarrow.TargetBusyError, match="another sync writes"):
            shop.sync()

    shop.execute("INSERT INTO t VALUES (2, 2)")
    shop.sync(on_commit=second)
    shop.check("shop.t")


def test_changes_of_another_program(shop: Source) -> None:
    """It may compact a table while the sync runs; a table that it replaced is refused."""
    folder = str(folder_of(shop.file, "shop.t"))
    shop.execute("INSERT INTO t VALUES (2, 2)")
    real = delta_table._tagged

    def late(*arguments: Any) -> Any:
        DeltaTable(folder).optimize.compact()
        write_deltalake(folder, DeltaTable(folder).to_pyarrow_table(), mode="overwrite")
        patched.undo()
        return real(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delta_table, "_tagged", late)
        shop.sync()
    shop.check("shop.t")
    rows = DeltaTable(folder).to_pyarrow_table()
    shutil.rmtree(folder)
    write_deltalake(folder, rows)
    shop.execute("INSERT INTO t VALUES (3, 3)")
    with pytest.raises(binarrow.SyncError, match=r"shop\.t: .* reload="):
        shop.sync()
    shop.execute("CREATE TABLE other (id INT PRIMARY KEY)")
    shop.sync(exclude_tables="shop.t")
    shop.sync()
    shop.check("shop.t", "shop.other")


def test_names(shop: Source) -> None:
    """Names of tables are encoded; columns that Delta does not permit are refused."""
    shop.execute(
        'CREATE TABLE `a/b %41.ü` (`C` INT PRIMARY KEY, `select` INT, `d.e` INT, `f"` INT)',
        "INSERT INTO `a/b %41.ü` VALUES (1, 2, 3, 4)",
    )
    shop.sync()
    shop.execute("UPDATE `a/b %41.ü` SET `d.e` = 5, `select` = 6")
    shop.sync()
    shop.check("shop.a/b %41.ü")
    shop.execute("CREATE TABLE n (id INT PRIMARY KEY, `a b` INT)", "INSERT INTO t VALUES (9, 9)")
    with pytest.raises(binarrow.SyncError, match=r"shop\.n has a column 'a b'"):
        shop.sync()
    shop.sync(exclude_tables="shop.n")
    shop.check("shop.t")


def test_statistics(shop: Source) -> None:
    """Conditions on numbers of many digits find all rows: their statistics would be inexact."""
    shop.execute("ALTER TABLE t ADD d DECIMAL(30, 2)", "UPDATE t SET d = 1234567890123456789012")
    shop.sync()
    shop.execute("ALTER TABLE t MODIFY v BIGINT UNSIGNED", f"UPDATE t SET v = {2**64 - 1}")
    shop.sync()
    shop.check("shop.t")
    table = DeltaTable(str(folder_of(shop.file, "shop.t")))
    for column, value in (("v", Decimal(2**64 - 1)), ("d", Decimal("1234567890123456789012"))):
        condition = pc.field(column) == pa.scalar(value, pa.decimal128(38, 2))
        assert table.to_pyarrow_dataset().to_table(filter=condition).num_rows == 1
    statistics = table.get_add_actions(flatten=True).schema
    assert "max.id" in pa.schema(statistics).names


def test_a_failed_commit(shop: Source) -> None:
    """A table that cannot be written ends the sync; the next one completes the commit."""
    shop.execute("UPDATE t SET v = 5", "INSERT INTO t VALUES (2, 2)")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delta_table.Table, "write", fails)
        with pytest.raises(binarrow.SyncError, match="cannot be written: No space left"):
            shop.sync()
    shop.sync()
    shop.check("shop.t")


def test_many_commits(shop: Source) -> None:
    """Small files are compacted, and old ones are deleted as the properties of the table say."""
    folder = folder_of(shop.file, "shop.t")
    retention = "delta.deletedFileRetentionDuration"
    table = DeltaTable(str(folder))
    assert table.metadata().configuration[retention] == "interval 1 hours"
    table.alter.set_table_properties({retention: "interval 0 seconds"})
    number = 10

    def insert(_: binarrow.SyncSummary) -> None:
        nonlocal number
        number += 1
        shop.execute(f"INSERT INTO t VALUES ({number}, {number})")

    shop.execute("INSERT INTO t VALUES (10, 10)")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delta_table, "MAINTAINED", 20)
        shop.sync(every=0, on_commit=insert, once=False, is_stopped=lambda: number > 60)
    shop.sync()
    shop.check("shop.t")
    table = DeltaTable(str(folder))
    assert table.version() > 45
    assert len(table.file_uris()) < 25
    operations = Counter(one["operation"] for one in table.history())
    assert operations["OPTIMIZE"] >= 1
    assert len([*folder.glob("*.parquet")]) < 45
    position = next((shop.file / "_binarrow").glob("position-*.json"))
    assert json.loads(position.read_text())["version"] == 1
