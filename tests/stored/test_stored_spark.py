"""Checkpoints, mirrors and ranges of Spark that each version has stored: the current code continues, and the rows equal SELECT.

`tests/fixtures/stored/README.md` describes them.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from binarrow import Position, SchemaHistory
from binarrow.spark import decoder
from binarrow.spark.live.login import login
from binarrow.spark.schema import server_schema
from support.archives import unpack
from support.servers.servers import Server
from support.stored.consumer import connected
from support.stored.servers import STORED, RecordedServers
from support.stored.spark_streams import MOMENTS, SPLITS, Query, renew_identities, url_of
from support.sync_source import SECRET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVES = sorted(STORED.glob("*/streams/spark-*.tar.xz"))


def archives_with(name: str) -> Any:
    """Returns the archives that contain a file or folder."""
    found = []
    for archive in ARCHIVES:
        with tarfile.open(archive) as files:
            if name in files.getnames():
                found.append(pytest.param(archive, id=f"{archive.parts[-3]}-{flavor_of(archive)}"))
    return pytest.mark.parametrize("archive", found)


def flavor_of(archive: Path) -> str:
    return archive.name.removeprefix("spark-").removesuffix(".tar.xz")


@pytest.fixture
def server(archive: Path, tmp_path: Path, recorded_servers: RecordedServers) -> Server:
    unpack(archive, tmp_path)
    return recorded_servers.of(archive.parent, flavor_of(archive))


def continued(
    spark: SparkSession, server: Server, folder: Path, moment: str
) -> tuple[Query, list[dict[str, Any]]]:
    """Runs a query until the end of the log. Returns it with its earlier offsets."""
    query = Query(spark, server, folder / moment, moment)
    before = query.offsets()
    assert query.run() > 1
    table = MOMENTS[moment][0]
    assert query.rows() == server.query(f"SELECT * FROM {table} ORDER BY id")
    assert query.offsets()[: len(before)] == before
    assert Query(spark, server, folder / moment, moment).run() == 0
    return query, before


@archives_with("loading")
def test_a_load_continues(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """The rows are not divided again, and those that the checkpoint contains are not read again."""
    state = tmp_path / "loading" / "rows.json"
    tables = renew_identities(state, server)
    query, before = continued(spark, server, tmp_path, "loading")
    chunks = [offset["chunks"] for offset in query.offsets() if "chunks" in offset]
    assert chunks == sorted(chunks)
    assert len(before) < len(chunks)
    assert json.loads(state.read_text())["tables"] == tables
    assert "chunks" not in query.offsets()[-1]


@archives_with("latest")
def test_latest_is_the_same_place(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """The query has no change before the first batch, and all changes since its first start."""
    continued(spark, server, tmp_path, "latest")


@archives_with("repeated")
def test_a_history_is_continued(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """A batch is repeated whose columns only the table history names, and later statements are added to it."""
    history = f"sqlite:///{tmp_path}/repeated/history.db"
    before = statements_of(history)
    assert before
    continued(spark, server, tmp_path, "repeated")
    after = statements_of(history)
    assert after[: len(before)] == before
    assert len(after) > len(before)


def statements_of(history: str) -> list[str]:
    """Returns the statements of a table history."""
    with SchemaHistory.open(history) as opened:
        return [change.statement for change in opened.changes("old", "t")]


@archives_with(SPLITS)
def test_ranges(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """The stored ranges of the log have its changes."""
    rows = []
    for line in (tmp_path / SPLITS).read_text().splitlines():
        row = json.loads(line)
        split = json.loads(row["split"])
        split["endpoints"][0]["port"] = server.port  # the recorded server has another one now
        rows.append((*list(row.values())[:3], json.dumps(split)))
    assert len(rows) > 1
    declared = server_schema(login(url_of(server), {"password": SECRET}), "shop.orders")
    ranges = spark.createDataFrame(rows, "path string, start long, stop long, split string")
    decode = decoder("shop.orders", declared, password=SECRET, tls="disabled")
    found = [tuple(row) for row in ranges.mapInArrow(decode, declared).collect()]
    stop = Position.from_json(json.loads(rows[-1][3])["range"]["stop"])
    with connected(server).stream(
        "earliest", stop=stop, tables="shop.orders", types="spark"
    ) as changes:
        expected = [
            tuple(row.values()) for batch in changes for row in batch.to_pyarrow().to_pylist()
        ]
    assert len(expected) > 100
    assert [row[:4] for row in found] == [row[:4] for row in expected]
