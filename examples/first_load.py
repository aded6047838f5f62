#!/usr/bin/env python3
r"""Mirrors a table with existing rows: reads them in parallel, and applies the changes of the log.

    python examples/first_load.py mysql://repl@db/ shop.orders /lake/orders --format parquet \
        --password-file secret

It reads the rows in chunks, without locks, while the table is in use. You can stop it at any time
and start it again: it continues from the checkpoint. The account needs SELECT on the table, and a
way to know the place of its rows in the log: see "Read existing rows" in the documentation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from live_mirror import mirror
from pyspark.sql import SparkSession


def main() -> None:
    """Mirrors the table of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="the server: mysql://user@host:3306/")
    parser.add_argument("table", help="database.table")
    parser.add_argument("to", help="a folder, or a table of the catalog")
    parser.add_argument("--format", choices=("delta", "iceberg", "parquet"), default="delta")
    parser.add_argument("--password-file", help="a file whose first line is the password")
    parser.add_argument("--checkpoint", help="a folder (default: TO.checkpoint)")
    parser.add_argument("--once", action="store_true", help="end at the current end of the log")
    parser.add_argument(
        "--option", action="append", default=[], help="NAME=VALUE, another option of the format"
    )
    arguments = parser.parse_args()
    checkpoint = arguments.checkpoint or f"{arguments.to.rstrip('/')}.checkpoint"
    options = {
        "url": arguments.url,
        "table": arguments.table,
        "startingOffsets": "snapshot",
        "snapshotStateFile": f"{checkpoint}.rows",
        **dict(option.split("=", 1) for option in arguments.option),
    }
    if arguments.password_file:
        options["passwordFile"] = str(Path(arguments.password_file).absolute())
    spark = SparkSession.builder.appName("first load").getOrCreate()
    query = mirror(
        spark,
        options,
        arguments.to,
        keys=None,
        kind=arguments.format,
        checkpoint=checkpoint,
        once=arguments.once,
    )
    print(f"{arguments.table}: rows and changes are applied to {arguments.to}", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
