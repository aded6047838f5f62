"""A streaming query in a process of its own, which a test may kill: the changes by batch, and a mirror.

python spark_query.py FOLDER FORMAT OPTIONS-AS-JSON [--once] [--crash]

Prints "started", then a line for each batch that is done. `FOLDER/raw/batch=N` gets the changes of batch N,
in place of what a killed process left there. `--once` ends at the log's end, and copies the mirror to
`FOLDER/mirrored`; `--crash` kills the process in its first batch, when all is written and nothing committed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from binarrow.spark import apply_changes, read_mirror, register

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"


def session(kind: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", value=False)
    if kind == "delta":
        builder = (
            builder.config("spark.jars.packages", DELTA)
            .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
            .config(
                "spark.sql.catalog.spark_catalog",
                "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            )
        )
    return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()


def main() -> None:
    folder, kind, options = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    once, crash = "--once" in sys.argv, "--crash" in sys.argv
    spark = session(kind)
    register(spark)
    mirror = apply_changes(str(folder / "mirror"), ["id"], format=kind)

    def write(frame: DataFrame, batch_id: int) -> None:
        frame.persist()
        frame.write.mode("overwrite").parquet(str(folder / "raw" / f"batch={batch_id}"))
        mirror(frame, batch_id)
        frame.unpersist()
        if crash:
            os.killpg(0, signal.SIGKILL)
        print("batch", batch_id, flush=True)

    writer = (
        spark.readStream.format("binarrow")
        .options(**options)
        .load()
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    if once:
        writer = writer.trigger(availableNow=True)
    query = writer.start()
    print("started", flush=True)
    query.awaitTermination()
    if once:
        path = str(folder / "mirror")
        held = spark.read.format(kind).load(path) if kind != "parquet" else read_mirror(spark, path)
        held.write.mode("overwrite").parquet(str(folder / "mirrored"))


if __name__ == "__main__":
    main()
