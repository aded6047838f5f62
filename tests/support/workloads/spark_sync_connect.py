"""`binarrow.spark.sync` with Spark Connect, as one program: Delta tables in two modes, each in two runs.

    python spark_sync_connect.py FOLDER URL PASSWORD_FILE

Before the second run it waits for a line on its standard input. It prints the rows as JSON.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from binarrow.spark import sync
from support.lakes import SETTINGS


def main(folder: str, url: str, password_file: str) -> None:
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "1")
    for name, value in SETTINGS["delta"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for number in range(2):
        for mode in ("mirror", "scd2"):
            query = sync(
                spark,
                url,
                "shop.*",
                f"delta+file:///{folder}/{mode}",
                mode=mode,
                once=True,
                on_drop="drop",
                password_file=password_file,
            )
            query.awaitTermination()
            assert query.exception() is None, query.exception()
        if number == 0:
            print("loaded", flush=True)
            sys.stdin.readline()
    found = {}
    for mode in ("mirror", "scd2"):
        rows = spark.read.format("delta").load(f"{folder}/{mode}/shop/orders").collect()
        found[mode] = [[row.id, row.note] for row in rows]
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
