#!/usr/bin/env python3
r"""Mirrors a table of a live server in Delta, Iceberg or Parquet, as changes are committed.

    DELTA=org.apache.spark.sql.delta
    spark-submit --packages io.delta:delta-spark_4.2_2.13:4.4.0 \
        --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \
        --conf spark.sql.catalog.spark_catalog=$DELTA.catalog.DeltaCatalog \
        examples/live_mirror.py mysql://repl@db/ shop.orders /lake/orders --format delta \
        --password-file secret

    python examples/live_mirror.py mysql://repl@db/ shop.orders /lake/orders --format parquet \
        --password-file secret --start earliest

You can stop it at any time and start it again: it continues from the checkpoint. It mirrors changes
that are committed after its start: for a table with existing rows use `first_load.py`, which is
this program with `--start snapshot`, or `--start earliest` if the log contains all of its changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from binarrow.spark import apply_changes, register


def mirror(
    spark: SparkSession,
    options: dict[str, str],
    to: str,
    *,
    keys: list[str] | None,
    kind: str,
    checkpoint: str,
    once: bool,
) -> StreamingQuery:
    """Starts to mirror; with `once` it ends at the current end of the log.

    `options` are those of the format: `url` or `host`, `table`, `startingOffsets`, ...
    """
    register(spark)
    changes = spark.readStream.format("binarrow").options(**options).load()
    # A change may be of a row that is not loaded yet.
    missing = "ignore" if options.get("startingOffsets") == "snapshot" else "error"
    apply = apply_changes(to, keys, format=kind, missing_rows=missing)
    writer = changes.writeStream.foreachBatch(apply)
    writer = writer.option("checkpointLocation", checkpoint)
    return (writer.trigger(availableNow=True) if once else writer).start()


def main() -> None:
    """Mirrors the table of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="the server: mysql://user@host:3306/")
    parser.add_argument("table", help="database.table")
    parser.add_argument("to", help="a folder, or a table of the catalog")
    parser.add_argument("--format", choices=("delta", "iceberg", "parquet"), default="delta")
    parser.add_argument("--keys", nargs="+", help="columns (default: the primary key)")
    parser.add_argument("--password-file", help="a file whose first line is the password")
    parser.add_argument("--start", default="latest", help="startingOffsets (default: %(default)s)")
    parser.add_argument("--checkpoint", help="a folder (default: TO.checkpoint)")
    parser.add_argument("--once", action="store_true", help="end at the current end of the log")
    parser.add_argument(
        "--option", action="append", default=[], help="NAME=VALUE, another option of the format"
    )
    arguments = parser.parse_args()
    options = {
        "url": arguments.url,
        "table": arguments.table,
        "startingOffsets": arguments.start,
        **dict(option.split("=", 1) for option in arguments.option),
    }
    if arguments.password_file:
        options["passwordFile"] = str(Path(arguments.password_file).absolute())
    spark = SparkSession.builder.appName("live mirror").getOrCreate()
    query = mirror(
        spark,
        options,
        arguments.to,
        keys=arguments.keys,
        kind=arguments.format,
        checkpoint=arguments.checkpoint or f"{arguments.to.rstrip('/')}.checkpoint",
        once=arguments.once,
    )
    print(f"{arguments.table}: changes are applied to {arguments.to}", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
