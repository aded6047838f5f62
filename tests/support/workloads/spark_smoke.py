"""The features of binarrow that must work in each version of Spark, classic and with Connect, as one program.

    python spark_smoke.py '{"connect": false, "files": "examples/shop/binlog.*", ...}'

It prints what was read as JSON, for `test_spark_versions.py` to compare. It needs pyspark, pyarrow, pandas and binarrow;
nothing of the other tests.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession

from binarrow.spark import decoder, register, schema, splits


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """All rows in log order, as JSON has them."""
    ordered = frame.sort("_commit_version", "_change_ordinal").toArrow().to_pylist()
    return json.loads(json.dumps(ordered, default=str))


def stream(spark: SparkSession, task: dict[str, Any]) -> Any:
    """The rows of a streaming query that foreachBatch wrote."""
    folder = f"{task['work']}/{pyspark.__version__}-{task['connect']}"

    def save(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(f"{folder}/rows/batch={number}")

    reader = spark.readStream.format("binarrow").options(**task["options"])
    reader = reader.option("table", task["table"]).option("startingOffsets", "earliest")
    writer = reader.load().writeStream.foreachBatch(save).trigger(availableNow=True)
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").start()
    query.awaitTermination()
    return rows(spark.read.parquet(f"{folder}/rows").drop("batch"))


def main(task: dict[str, Any]) -> None:
    builder = SparkSession.builder
    builder = builder.remote("local[2]") if task["connect"] else builder.master("local[2]")
    if not task["connect"]:
        builder = builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 2)
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    register(spark)
    result: dict[str, Any] = {"version": pyspark.__version__}

    declared = schema(task["files"], task["shop_table"])
    reader = spark.read.format("binarrow").option("table", task["shop_table"])
    frame = reader.option("targetBytes", "200k").load(task["files"])
    assert frame.schema == declared
    result["files"] = rows(frame)
    ranges = splits(spark, task["files"], target_bytes="200k")
    decode = decoder(task["shop_table"], declared)
    result["ranges"] = rows(ranges.mapInArrow(decode, declared))

    live = spark.read.format("binarrow").options(**task["options"])
    frame = live.option("table", task["table"]).load()
    result["server"] = rows(frame)
    ranges = splits(spark, task["url"], num_partitions=2, **task["login"])
    decode = decoder(task["table"], frame.schema, **task["login"])
    result["server_ranges"] = rows(ranges.mapInArrow(decode, frame.schema))
    result["stream"] = stream(spark, task)
    spark.stop()
    print(json.dumps(result))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
