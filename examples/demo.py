"""The shop's binlog, decoded by Spark in several tasks, and what the shop looks like at its end.

make demo                       # or, with binarrow[spark] installed:
python examples/demo.py
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

import binarrow
from binarrow.spark import decoder, schema, splits

SHOP = Path(__file__).parent / "shop"
TABLES = ("shop.customers", "shop.products", "shop.orders", "shop.order_items")
ADDED_LATER = {"shop.orders": [("channel", "string")]}
"""Columns that an ALTER in mid-log adds: ask for them, and rows from before have NULL there."""
QUICK_JVM = "-XX:TieredStopAtLevel=1"
"""For some seconds of work Java's slower, better compiler does not pay off."""
SPLIT_SIZE = "256k"  # a demonstration on a small log; in earnest it is 64m

ENVELOPE = ("_change_type", "_commit_version", "_commit_timestamp", "_change_ordinal")


def main(out: Path) -> None:
    """Decode, print and write every table."""
    started = time.monotonic()
    binlogs = str(SHOP / "binlog.*")
    spark = start_spark()
    ranges = splits(spark, binlogs, target_bytes=SPLIT_SIZE).cache()
    print(f"\n{ranges.count()} ranges of {binlogs}, each decoded by a task of its own")

    for table in TABLES:
        changes_schema = schema(binlogs, table)
        for name, kind in ADDED_LATER.get(table, ()):
            changes_schema = changes_schema.add(name, kind)
        changes = ranges.mapInArrow(decoder(table, changes_schema), changes_schema).cache()
        state = final_state(changes, primary_key(binlogs, table))
        show(table, changes)
        write(changes, out / "changes" / table)
        write(state, out / "state" / table)
        print(f"{table}: {spark.read.parquet(str(out / 'state' / table)).count()} rows at the end")
        changes.unpersist()

    spark.stop()
    print(f"\nall changes:           {out / 'changes'}/<table>/*.parquet")
    print(f"tables at the end:     {out / 'state'}/<table>/*.parquet")
    print(f"took {time.monotonic() - started:.1f} s")


def start_spark() -> SparkSession:
    """A small local session with all cores."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers like this process
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # whatever the machine's name resolves to
    return (
        SparkSession.builder.master("local[*]")
        .appName("binarrow demo")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.extraJavaOptions", QUICK_JVM)
        .config("spark.ui.enabled", value=False)
        .config("spark.ui.showConsoleProgress", value=False)
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )


def primary_key(binlogs: str, table: str) -> list[str]:
    """The columns of the table's primary key, in the key's order, from the log itself."""
    places = {
        int(field.metadata[b"mysql.primary_key"]): field.name
        for field in binarrow.infer_schema(binlogs, table)
        if b"mysql.primary_key" in (field.metadata or {})
    }
    return [places[place] for place in sorted(places)]


def final_state(changes: DataFrame, key: list[str]) -> DataFrame:
    """The table after the last change: of each key the latest row, unless that is a delete."""
    latest_first = Window.partitionBy(*key).orderBy(
        f.col("_commit_version").desc(), f.col("_change_ordinal").desc()
    )
    return (
        changes.withColumn("_age", f.row_number().over(latest_first))
        .where("_age = 1 AND _change_type IN ('insert', 'update_postimage')")
        .drop("_age", *ENVELOPE)
    )


def show(table: str, changes: DataFrame) -> None:
    """Counts by change type, and a few columns of the first few changes."""
    print(f"\n== {table}")
    changes.groupBy("_change_type").count().orderBy("_change_type").show(truncate=False)
    few = [*changes.columns[:5], "_change_type", "_commit_version", "_change_ordinal"]
    changes.select(few).orderBy("_commit_version", "_change_ordinal").show(4, truncate=22)


def write(frame: DataFrame, folder: Path) -> None:
    """As Parquet, in one file: these tables are small."""
    frame.coalesce(1).write.mode("overwrite").parquet(str(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", type=Path, default="out", help="a folder for the results")
    main(parser.parse_args().out.resolve())
