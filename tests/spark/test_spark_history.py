"""The option `history`: splits that fall between the statements that change a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import binarrow
from binarrow import SchemaHistory
from binarrow.spark import decoder, register, schema, splits

ROWS = [
    {"id": 1, "name": "one"},
    {"id": 2, "name": "two"},
    {"id": 3, "name": None},
    {"id": 4, "name": None},
]


@pytest.fixture
def log(repository: Path) -> str:
    return str(repository / "tests/fixtures/mysql-altered/binlog.000001")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A history that begins where the log does, and knows no statement of it yet."""
    place = f"sqlite:///{tmp_path}/history.db"
    with SchemaHistory.open(place, source="shop") as history:
        history.baseline("CREATE DATABASE other", "binlog.000001:4", server="mysql-9.7")
    return place


def shown(frame: DataFrame) -> list[dict[str, object]]:
    rows = [row.asDict() for row in frame.select("id", "name").collect()]
    return sorted(rows, key=lambda row: str(row["id"]))


def test_the_format(spark: SparkSession, log: str, url: str) -> None:
    register(spark)
    reader = spark.read.format("binarrow").option("table", "d.a").option("targetBytes", "1")
    reader = reader.option("history", url).option("historySource", "shop")
    with pytest.raises(Exception, match=r"has (kind, )?note, qty, which.*and lacks name"):
        reader.load(log).collect()
    frame = reader.option("schemaChangePolicy", "project").load(log)
    assert frame.rdd.getNumPartitions() > len(ROWS)
    assert frame.columns[:2] == ["id", "name"]
    assert shown(frame) == ROWS
    assert shown(frame) == ROWS  # followed already


def test_splits_carry_what_their_tasks_need(
    spark: SparkSession, log: str, url: str, tmp_path: Path
) -> None:
    with SchemaHistory.open(url, source="shop") as history:
        table = schema(log, "d.a", history=history)
        ranges = splits(spark, log, target_bytes=1, history=history, tables="d.a")
        with pytest.raises(binarrow.ConfigError, match="cannot be sent to tasks"):
            decoder("d.a", table, history=history)  # type: ignore[arg-type]
    ranges.cache().count()
    for file in tmp_path.glob("history.db*"):
        file.unlink()
    assert shown(ranges.mapInArrow(decoder("d.a", table), table)) == ROWS


def test_options_that_do_not_fit(spark: SparkSession, log: str, url: str) -> None:
    register(spark)
    reader = spark.read.format("binarrow").option("table", "d.a")
    for options in (
        {"history": url, "schemas": "CREATE TABLE a (id INT)"},
        {"historySource": "shop"},
    ):
        with pytest.raises(Exception, match="history"):
            reader.options(**options).load(log).collect()
