"""Decodes the shop's binlog with Spark in several tasks, and builds the tables at its end.

make demo                       # or, with binarrow[spark] installed:
python examples/demo.py
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from binarrow.spark import apply_changes, decoder, read_mirror, schema, splits

SHOP = Path(__file__).parent / "shop"
TABLES = ("shop.customers", "shop.products", "shop.orders", "shop.order_items")
ADDED_LATER = {"shop.orders": [("channel", "string")]}
"""Columns that an ALTER TABLE in the log adds. In rows from before it they are NULL."""
QUICK_JVM = "-XX:TieredStopAtLevel=1"
"""For a few seconds of work, Java's optimizing compiler costs more time than it saves."""
SPLIT_SIZE = "256k"  # the log is small; the default is 64m


def main(out: Path) -> None:
    """Decodes, prints and writes the tables."""
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
        show(table, changes)
        write(changes, out / "changes" / table)
        folder = out / "mirror" / table
        shutil.rmtree(folder, ignore_errors=True)
        apply = apply_changes(str(folder), format="parquet", backfilled_columns="null")
        apply(changes)
        state = read_mirror(spark, str(folder))
        write(state, out / "state" / table)
        print(f"{table}: {state.count()} rows at the end")
        changes.unpersist()

    spark.stop()
    print(f"\nall changes:           {out / 'changes'}/<table>/*.parquet")
    print(f"tables at the end:     {out / 'state'}/<table>/*.parquet")
    print(f"took {time.monotonic() - started:.1f} s")


def start_spark() -> SparkSession:
    """Starts a small local session."""
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


def show(table: str, changes: DataFrame) -> None:
    """Prints counts by change type, and a few columns of the first changes."""
    print(f"\n== {table}")
    changes.groupBy("_change_type").count().orderBy("_change_type").show(truncate=False)
    few = [*changes.columns[:5], "_change_type", "_commit_version", "_change_ordinal"]
    changes.select(few).orderBy("_commit_version", "_change_ordinal").show(4, truncate=22)


def write(frame: DataFrame, folder: Path) -> None:
    """Writes the frame as one Parquet file."""
    frame.coalesce(1).write.mode("overwrite").parquet(str(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", type=Path, default="out", help="a folder for the results")
    main(parser.parse_args().out.resolve())
