"""`binarrow.verify` of Delta and Iceberg tables, on disk and in an object store, while a sync runs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import binarrow
from binarrow.syncing import lake_tables
from binarrow.syncing.settings import Settings
from binarrow.syncing.target import open_target
from support.oracles.delta_tables import folder_of
from support.oracles.iceberg_tables import catalog_of
from support.servers.s3 import BUCKET
from support.sync_source import Source

SERVERS = ["mysql"]
KINDS = ["delta", "iceberg", "delta+s3"]

T = ("shop", "t")


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, small TINYINT UNSIGNED, big BIGINT UNSIGNED, tm TIME(6))",
        "CREATE TABLE u (id INT PRIMARY KEY)",
        f"INSERT INTO t VALUES (1, 255, {2**64 - 1}, '-838:59:58.000001'), (2, 0, 0, NULL), (3, 3, 3, '1:0:0')",
        "INSERT INTO u VALUES (1)",
    )
    source.sync()
    return source


def result(summary: binarrow.VerifySummary) -> dict[str, str]:
    return {name[1]: one.result for name, one in summary.tables.items()}


def replace(shop: Source, change: Any) -> None:
    """Another program changes the rows of the table."""
    if shop.kind == "iceberg":
        found = catalog_of(shop.file).load_table(T)
        found.overwrite(change(found.scan().to_arrow()))
        return
    options, folder = None, str(folder_of(shop.file, "shop.t"))
    if shop.store is not None:
        options = {**shop.store.environment, "AWS_ALLOW_HTTP": "true"}
        folder = f"s3://{BUCKET}/{shop.prefix}/shop/t"
    table = DeltaTable(folder, storage_options=options)
    write_deltalake(table, change(table.to_pyarrow_table()), mode="overwrite")


def test_differences(shop: Source) -> None:
    assert result(shop.verify()) == {"t": "MATCH", "u": "MATCH"}
    shop.execute("UPDATE t SET small = 7 WHERE id = 2", "INSERT INTO u VALUES (2)")
    assert result(shop.verify()) == {"t": "MATCH", "u": "MATCH"}

    def change(rows: pa.Table) -> pa.Table:
        rows = rows.sort_by("id")
        place = rows.column_names.index("big")
        bits = [one.as_py() for one in rows.column("big")]
        bits[1] += 1
        changed = rows.set_column(
            place, rows.schema.field(place), pa.array(bits, rows.column("big").type)
        )
        return pa.concat_tables([changed.slice(1), changed.slice(2)])

    replace(shop, change)
    found = shop.verify(show_keys=True).tables[T]
    assert found.result == "MISMATCH"
    assert {one.key["id"]: one.difference for one in found.keys} == {
        1: "missing",
        2: "different",
        3: "different",
    }


def test_a_commit_meanwhile(shop: Source) -> None:
    """The rows are those of the commit whose position was read, even if another commit follows."""
    place: Any = open_target(shop.target, Settings(busy_timeout=0))
    with place.snapshot() as snapshot:
        state, _ = snapshot.stored
        shop.execute("DELETE FROM t WHERE id < 3", "INSERT INTO t VALUES (9, 9, 9, NULL)")
        shop.sync()
        shop.execute("ALTER TABLE t DROP COLUMN small")
        shop.sync()
        rows = [row for batch in snapshot.rows(state.records[T]) for row in batch.to_pylist()]
    assert sorted(row["id"] for row in rows) == [1, 2, 3]
    assert result(shop.verify()) == {"t": "MATCH", "u": "MATCH"}


def test_an_incomplete_commit(shop: Source) -> None:
    """A sync has ended before it changed a table."""
    shop.execute("INSERT INTO t VALUES (9, 9, 9, NULL)")

    def fails(*_: object) -> None:
        raise OSError("no space")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lake_tables.LakeTables, "_apply", fails)
        with pytest.raises(binarrow.SyncError, match="no space"):
            shop.sync()
    with pytest.raises(binarrow.TargetBusyError, match=r"shop\.t: the last commit .* run binarrow"):
        shop.verify(busy_timeout=0)
    shop.sync()
    assert result(shop.verify()) == {"t": "MATCH", "u": "MATCH"}
