"""The recipes in `examples/`, against servers under load."""

from __future__ import annotations

import runpy
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import archive
import live_mirror
import pyarrow as pa
import pytest
import sql

import binarrow
from binarrow.spark import read_mirror
from binarrow.spark.schema import arrow_schema
from support import live
from support.servers.servers import Server
from support.workloads.spark_load import GRANT, ORDERS, TABLE, Load, selected

EXAMPLES = Path(archive.__file__).parent


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with live.server("mysql") as started:
        started.execute(ORDERS, GRANT)
        yield started


def options(server: Server) -> dict[str, str]:
    return {
        "url": f"mysql://live@127.0.0.1:{server.port}/?allow_public_key_retrieval=true",
        "password": str(live.USER["password"]),
        "table": TABLE,
    }


def mirrored(spark: Any, to: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in read_mirror(spark, str(to)).collect())


@pytest.mark.parametrize("name", ["archive", "first_load", "live_mirror", "sql"])
def test_help(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    assert f"examples/{name}.py" in capsys.readouterr().out


def test_archive(spark: Any, shop: Any, tmp_path: Path) -> None:
    """Each file once, whatever ended a run: also a file that was still growing, and columns that come later."""
    logs, to = tmp_path / "logs", tmp_path / "to"
    logs.mkdir()
    whole = shop.files[0].read_bytes()
    half = next(
        split.stop for split in binarrow.scan_splits(shop.files[0], target_bytes=len(whole) // 2)
    )
    (logs / "binlog.000001").write_bytes(whole[:half])

    def run() -> int:
        return len(archive.archive(spark, f"{logs}/binlog.*", "shop.orders", to))

    def expected() -> list[dict[str, Any]]:
        target = archive.structure(spark, sorted(map(str, logs.iterdir())), "shop.orders")
        reader = binarrow.read_binlog(f"{logs}/binlog.*", types="spark")
        found = reader.table("shop.orders", schema=arrow_schema(target), on_schema_change="conform")
        return pa.table(found).to_pylist()

    def archived() -> list[dict[str, Any]]:
        frame = spark.read.option("mergeSchema", value=True).parquet(str(to))
        rows = frame.orderBy("_commit_version", "_change_ordinal")
        assert {row["file"] for row in rows.select("file").distinct().collect()} <= {1, 2}
        return rows.drop("day", "file").toArrow().to_pylist()

    assert run() == 1
    assert archived() == expected()
    assert run() == 0
    (logs / "binlog.000001").write_bytes(whole)
    shutil.copy(shop.files[1], logs)
    assert run() == 2
    first = archived()
    assert first == expected()
    assert "channel" in first[0]
    (to / "_archived" / "binlog.000002").unlink()  # a run that was killed before it could note it
    assert run() == 1
    assert archived() == first


def test_sql(spark: Any, server: Server) -> None:
    with Load(server) as load:
        load.transactions = 0
        live.until(lambda: load.transactions > 20)
    sql.make_view(spark, {**options(server), "startingOffsets": "earliest"})
    counted = {row["_change_type"]: row["changes"] for row in spark.sql(sql.HOW_OFTEN).collect()}
    with live.reach(server) as connection:
        stream = connection.stream("earliest", stop="end", types="spark")
        with stream, stream.table(TABLE) as changes:
            assert counted == Counter(pa.table(changes)["_change_type"].to_pylist())
    latest = spark.sql(sql.LATEST).collect()
    assert len(latest) == 5
    spark.catalog.dropTempView("changes")


@pytest.mark.thorough(by="tests/lakes/test_mirror_of_server.py, test_spark_load.py")
def test_mirrors(spark: Any, server: Server, tmp_path: Path) -> None:
    """From the existing rows, while the table changes; and from the log alone, which has all changes."""
    to, checkpoint = tmp_path / "mirror", tmp_path / "checkpoint"
    loaded = {"startingOffsets": "snapshot", "snapshotStateFile": f"{checkpoint}.rows"}
    loaded |= {"chunkRows": "100"}

    def first_load() -> None:
        query = live_mirror.mirror(
            spark,
            {**options(server), **loaded},
            str(to),
            keys=["id"],
            kind="parquet",
            checkpoint=str(checkpoint),
            once=True,
        )
        query.awaitTermination()

    with Load(server, seed=2) as load:
        before = load.transactions
        live.until(lambda: load.transactions > before + 100)
        first_load()
        assert mirrored(spark, to)
    first_load()
    assert mirrored(spark, to) == selected(server)
    to = tmp_path / "other"
    query = live_mirror.mirror(
        spark,
        {**options(server), "startingOffsets": "earliest"},
        str(to),
        keys=None,
        kind="parquet",
        checkpoint=str(tmp_path / "other.checkpoint"),
        once=True,
    )
    query.awaitTermination()
    assert mirrored(spark, to) == selected(server)
