#!/usr/bin/env python3
r"""Copies tables of a server into Delta or Iceberg tables with one query, and follows the log.

    DELTA=org.apache.spark.sql.delta
    spark-submit --packages io.delta:delta-spark_4.2_2.13:4.4.0 \
        --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \
        --conf spark.sql.catalog.spark_catalog=$DELTA.catalog.DeltaCatalog \
        examples/sync_spark.py mysql://repl@db/ 'shop.*' delta+file:////lake --password-file secret

You can stop it at any time and start it again: it continues from the checkpoint. The account needs
SELECT on the tables: see "Read existing rows" in the documentation.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from binarrow.spark import sync


def main() -> None:
    """Syncs the tables of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="the server: mysql://user@host:3306/")
    parser.add_argument("tables", help="globs of database.table, separated by commas")
    parser.add_argument("to", help="delta+file:////lake, delta://CATALOG or iceberg://CATALOG")
    parser.add_argument("--mode", choices=("mirror", "history"), default="mirror")
    parser.add_argument("--password-file", help="a file whose first line is the password")
    parser.add_argument("--checkpoint", help="a folder; a target that is no local folder needs it")
    parser.add_argument("--once", action="store_true", help="end at the current end of the log")
    parser.add_argument(
        "--option", action="append", default=[], help="NAME=VALUE, another option of the format"
    )
    arguments = parser.parse_args()
    query = sync(
        SparkSession.builder.appName("sync").getOrCreate(),
        arguments.url,
        arguments.tables,
        arguments.to,
        mode=arguments.mode,
        once=arguments.once,
        checkpoint=arguments.checkpoint,
        password_file=arguments.password_file,
        options=dict(option.split("=", 1) for option in arguments.option),
    )
    print(f"{arguments.tables}: rows and changes are applied to {arguments.to}", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
