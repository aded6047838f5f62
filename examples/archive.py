#!/usr/bin/env python3
"""Converts archived binary logs to Parquet: all changes of a table, by day, each file exactly once.

    python examples/archive.py '/archive/binlog.*' shop.orders /lake/orders_changes

Run it again when there are new files, with Python or `spark-submit`. For each written log file it
creates a note in TO/_archived. A run that was killed leaves no notes, and the next one replaces its
rows.

The rows in TO are partitioned by `day`, the day of the commit, and `file`, the number of the binlog
file:

    spark.read.parquet("/lake/orders_changes").where("day = '2026-01-05'")
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructField, StructType

import binarrow
from binarrow.spark import register

PARTITIONS = ("day", "file")
ENVELOPE = ("_change_type", "_commit_version", "_commit_timestamp", "_change_ordinal")


def archive(spark: SparkSession, logs: str, table: str, to: Path, overlap: int = 1) -> list[str]:
    """Writes the changes in new files, and returns these files.

    `overlap`: an XA transaction may be prepared in one file and committed in a later one, and its
    rows belong to the later one. So this number of files before the first new one are read too.
    """
    notes = to / "_archived"  # Spark ignores folders that begin with an underscore
    files = binarrow.expand_source(logs)
    new = [path for path in files if not is_noted(notes, path)]
    if not new:
        return []
    begin = max(0, files.index(new[0]) - overlap)
    schema = structure(spark, new, table)
    if schema is not None:
        register(spark)
        changes = (
            spark.read.format("binarrow").option("table", table).schema(schema).load(files[begin:])
        )
        # A transaction's version begins with the number of the file that it was committed in.
        numbered = changes.withColumn("file", f.expr("shiftright(_commit_version, 40)"))
        rows = numbered.where(f.col("file").isin([number(path) for path in new]))
        (
            rows.withColumn("day", f.to_date("_commit_timestamp"))
            .repartition(*PARTITIONS)  # one Parquet file for each
            .sortWithinPartitions(*PARTITIONS, "_commit_version", "_change_ordinal")
            .write.partitionBy(*PARTITIONS)
            .option("partitionOverwriteMode", "dynamic")  # replace only the written partitions
            .mode("overwrite")
            .parquet(str(to))
        )
    notes.mkdir(parents=True, exist_ok=True)
    for path in new:
        note(notes, path).write_text(f"{Path(path).stat().st_size}\n")
    return new


def structure(spark: SparkSession, files: Sequence[str], table: str) -> StructType | None:
    """Returns all columns of the table in the files, with their latest types; None without rows.

    A table that was altered has several structures. To find them, tasks decode one file each.
    """

    def structures(path: str) -> list[StructType]:
        import pyarrow as pa
        from pyspark.sql.pandas.types import from_arrow_schema

        found: dict[str, StructType] = {}
        for change in binarrow.read_binlog(path, tables=table, types="spark", threads=1):
            plain = [  # without extension types, such as JSON, which Spark does not know
                (each.name, getattr(each.type, "storage_type", each.type)) for each in change.schema
            ]
            schema = from_arrow_schema(pa.schema(plain), prefer_timestamp_ntz=True)
            found.setdefault(schema.json(), schema)
        return list(found.values())

    tasks = spark.sparkContext.parallelize(files, len(files))
    columns: dict[str, StructField] = {}
    for schema in tasks.flatMap(structures).collect():
        for field in schema:
            # A column whose type changes keeps its place.
            columns[field.name.lower()] = field
    # The columns of the envelope are after those of the table, also after those added later.
    in_order = sorted(columns.values(), key=lambda field: field.name in ENVELOPE)
    return StructType(in_order) if in_order else None


def number(path: str) -> int:
    """The number of a binlog file: 12 of binlog.000012."""
    found = re.search(r"\.(\d+)$", path)
    if found is None:
        sys.exit(f"archive: {path}: the name of a binlog file ends in a number")
    return int(found[1])


def note(notes: Path, path: str) -> Path:
    """Returns the path of the note that a file was written."""
    return notes / Path(path).name


def is_noted(notes: Path, path: str) -> bool:
    """True if a file was written with its current size."""
    noted = note(notes, path)
    return noted.exists() and int(noted.read_text()) == Path(path).stat().st_size


def main() -> None:
    """Archives the table of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", help="binary log files: a folder, or a quoted pattern")
    parser.add_argument("table", help="database.table")
    parser.add_argument("to", type=Path, help="a folder for the Parquet files")
    parser.add_argument(
        "--overlap",
        type=int,
        default=1,
        help="files before the first new one to look for XA transactions in (default: %(default)s)",
    )
    arguments = parser.parse_args()
    spark = (
        SparkSession.builder.appName("archive")
        .config("spark.sql.session.timeZone", "UTC")  # `day` is the day in UTC
        .getOrCreate()
    )
    done = archive(spark, arguments.logs, arguments.table, arguments.to, arguments.overlap)
    print(f"{arguments.to}: {len(done)} log files were archived: {', '.join(done) or 'none new'}")
    spark.stop()


if __name__ == "__main__":
    main()
