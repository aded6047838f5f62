#!/usr/bin/env python3
"""Queries changes of a table in Spark SQL: a temporary view of files, or of a server's log.

    python examples/sql.py 'examples/shop/binlog.*' shop.orders
    python examples/sql.py mysql://repl@db/ shop.orders --password-file secret

The view exists until the session ends. In `spark-sql` and notebooks the statements are the same,
after `binarrow.spark.register(spark)`. (`CREATE TABLE ... USING binarrow` does not work: Spark 4.3
does not pass a table's OPTIONS to formats that are written in Python.)
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import SparkSession

from binarrow.spark import register

VIEW = """
CREATE OR REPLACE TEMPORARY VIEW changes
USING binarrow
OPTIONS ({})
"""

HOW_OFTEN = """
SELECT _change_type, count(*) AS changes, count(DISTINCT _commit_version) AS transactions
FROM changes
GROUP BY _change_type
ORDER BY _change_type
"""

LATEST = """
SELECT * FROM changes
ORDER BY _commit_version DESC, _change_ordinal DESC
LIMIT 5
"""


def make_view(spark: SparkSession, options: dict[str, str]) -> None:
    """Creates the view `changes`; `options` are those of the format: `path` or `url`, `table`."""
    register(spark)
    quoted = [f"{name} '{value.replace(chr(39), chr(39) * 2)}'" for name, value in options.items()]
    spark.sql(VIEW.format(", ".join(quoted)))


def main() -> None:
    """Shows the changes of the table of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", help="files, as a quoted pattern; or mysql://user@host:3306/")
    parser.add_argument("table", help="database.table")
    parser.add_argument("--start", default="earliest", help="for a server (default: %(default)s)")
    parser.add_argument("--password-file", type=Path, help="its first line is the password")
    arguments = parser.parse_args()
    options = {"table": arguments.table}
    if "://" in arguments.log:
        options |= {"url": arguments.log, "startingOffsets": arguments.start}
    else:
        options["path"] = arguments.log
    if arguments.password_file:
        options["passwordFile"] = str(arguments.password_file.absolute())
    spark = SparkSession.builder.appName("sql").getOrCreate()
    make_view(spark, options)
    spark.sql(HOW_OFTEN).show()
    spark.sql(LATEST).show(truncate=False)
    spark.stop()


if __name__ == "__main__":
    main()
