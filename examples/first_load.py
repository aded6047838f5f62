#!/usr/bin/env python3
r"""Mirrors a table with existing rows: copies them with Spark's JDBC source, then applies changes.

    spark-submit --packages com.mysql:mysql-connector-j:9.7.0 \
        examples/first_load.py mysql://repl@db/ shop.orders /lake/orders --keys id \
        --format parquet --password-file secret

It reads the position of the log, copies the rows while the table is in use, and then applies the
changes after the position. A SELECT sees all transactions before `position()`, so no change is
lost; if the server does not have such a position, the start of its current log file is used. Some
changes may already be in the copied rows; they are applied again without harm, because the last
change of each key wins. The mirror is correct when the stream has passed the position at which the
log ended at the end of the copy. The account also needs SELECT on the table.

You can stop it at any time and start it again: an incomplete copy is repeated; a complete one is
kept, and the stream continues from its checkpoint.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import DataType, DateType, StructType, TimestampNTZType, TimestampType

import binarrow
from binarrow.spark import apply_changes, register

ENVELOPE = ("_change_type", "_commit_version", "_commit_timestamp", "_change_ordinal")

AS_IN_CHANGES = {
    "time": "TIME_TO_SEC({0}) * 1000000 + IF({0} < 0, -1, 1) * MICROSECOND({0})",
    "bit": "{0} + 0",
    "year": "{0} + 0",
    "float": "{0} + 0E0",  # as a number of text it has six digits
    "date": "CAST({0} AS CHAR)",  # as text, for zero dates and for whatever zones are set
    "datetime": "CAST({0} AS CHAR)",
    "timestamp": "CAST({0} AS CHAR)",
    "decimal": "CAST({0} AS CHAR)",
    "json": "CAST({0} AS CHAR)",
}
"""SQL expressions that return a column's values in the form of the changes, by its DATA_TYPE."""

NOT_BY_JDBC = ("geometry", "point", "linestring", "polygon", "vector", "geomcollection")


def first_load(
    spark: SparkSession,
    options: dict[str, str],
    to: str,
    *,
    keys: list[str],
    kind: str,
    checkpoint: Path,
    password: str,
    partitions: int = 1,
    once: bool = False,
) -> StreamingQuery:
    """Copies the table, unless a complete copy exists, and starts the stream.

    `options` are those of the format: `url`, `table`, ...
    """
    register(spark)
    done = checkpoint.with_name(
        checkpoint.name + ".position"
    )  # the position before the copy; the file exists when the copy is complete
    if not done.exists():
        with binarrow.connect(options["url"], password=password) as server:
            position = server.position()
            if not position.visible_to_select:  # the copy would lack changes
                position = server.file_start(position.file)
        changes = spark.readStream.format("binarrow").options(**options).load().schema
        drop(spark, to)  # the rest of an incomplete copy
        rows = copy(spark, options["url"], password, options["table"], changes, partitions, keys)
        apply_changes(to, keys, format=kind)(rows)
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(position.to_json())
    stream = (
        spark.readStream.format("binarrow")
        .options(**options)
        .option("startingOffsets", done.read_text())
        .load()
    )
    apply = apply_changes(to, keys, format=kind, missing_rows="ignore")
    writer = stream.writeStream.foreachBatch(apply).option("checkpointLocation", str(checkpoint))
    return (writer.trigger(availableNow=True) if once else writer).start()


def copy(
    spark: SparkSession,
    url: str,
    password: str,
    table: str,
    changes: StructType,
    partitions: int,
    keys: list[str],
) -> DataFrame:
    """Returns the rows of a table, as inserts."""
    database, _, name = table.partition(".")
    place = urlsplit(url)
    common = {
        "driver": "com.mysql.cj.jdbc.Driver",
        "url": f"jdbc:mysql://{place.hostname}:{place.port or 3306}/"
        "?tinyInt1isBit=false&yearIsDateType=false&connectionTimeZone=UTC"
        "&forceConnectionTimeZoneToSession=true&allowPublicKeyRetrieval=true"
        "&useCursorFetch=true",  # otherwise a task reads all its rows into memory
        "user": place.username or "",
        "password": password,
        "fetchsize": "10000",
    }

    def jdbc(query: str, **more: str) -> DataFrame:
        options = {**common, "dbtable": f"({query}) AS t", **more}
        return spark.read.format("jdbc").options(**options).load()

    described = jdbc(
        "SELECT CAST(column_name AS CHAR) AS name, CAST(data_type AS CHAR) AS type"
        " FROM information_schema.columns"
        f" WHERE table_schema = '{database}' AND table_name = '{name}'"
    )
    types = {row["name"].lower(): row["type"].lower() for row in described.collect()}
    own = [field for field in changes if field.name not in ENVELOPE]
    unknown = [each.name for each in own if types.get(each.name.lower()) in (None, *NOT_BY_JDBC)]
    if unknown:
        sys.exit(f"first_load: {table}: JDBC cannot copy the columns {', '.join(unknown)}")
    asked = ", ".join(
        AS_IN_CHANGES.get(types[each.name.lower()], "{0}").format(f"`{each.name}`")
        + f" AS `{each.name}`"
        for each in own
    )
    source = f"`{database}`.`{name}`"
    ranges = {}
    if partitions > 1:
        key = keys[0]
        low, high = jdbc(f"SELECT MIN(`{key}`), MAX(`{key}`) FROM {source}").collect()[0]
        if low is not None:
            ranges = {"partitionColumn": key, "numPartitions": str(partitions)}
            ranges |= {"lowerBound": str(low), "upperBound": str(high)}
    rows = jdbc(f"SELECT {asked} FROM {source}", **ranges)
    return rows.select(
        *(cast(each.name, each.dataType) for each in own),
        f.lit("insert").alias("_change_type"),
        f.lit(0).cast("bigint").alias("_commit_version"),  # before all changes
        f.current_timestamp().alias("_commit_timestamp"),
        f.monotonically_increasing_id().alias("_change_ordinal"),
    )


def cast(name: str, kind: DataType) -> Column:
    """Returns a column in the form of the changes, in which a zero date is NULL."""
    cell = f.col(f"`{name}`")
    is_time = isinstance(kind, (DateType, TimestampType, TimestampNTZType))
    return (cell.try_cast(kind) if is_time else cell.cast(kind)).alias(name)


def drop(spark: SparkSession, to: str) -> None:
    """Removes a mirror."""
    if "/" not in to:
        spark.sql(f"DROP TABLE IF EXISTS {to}")
        return
    context = spark.sparkContext
    assert context._jvm is not None  # noqa: S101, SLF001 - the way to Hadoop's file systems
    path = context._jvm.org.apache.hadoop.fs.Path(to)  # noqa: SLF001
    path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)  # noqa: FBT003, SLF001


def main() -> None:
    """Mirrors the table of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="the server: mysql://user@host:3306/")
    parser.add_argument("table", help="database.table")
    parser.add_argument("to", help="a folder, or a table of the catalog")
    parser.add_argument("--keys", nargs="+", required=True, help="columns of the primary key")
    parser.add_argument("--format", choices=("delta", "iceberg", "parquet"), default="delta")
    parser.add_argument("--password-file", type=Path, help="its first line is the password")
    parser.add_argument(
        "--partitions",
        type=int,
        default=1,
        help="tasks of the copy, by ranges of the first key, which is then a number or a date",
    )
    parser.add_argument("--checkpoint", help="a folder (default: TO.checkpoint)")
    parser.add_argument("--once", action="store_true", help="end at the current end of the log")
    parser.add_argument(
        "--option", action="append", default=[], help="NAME=VALUE, another option of the format"
    )
    arguments = parser.parse_args()
    options = {
        "url": arguments.url,
        "table": arguments.table,
        **dict(option.split("=", 1) for option in arguments.option),
    }
    password = ""
    if arguments.password_file:
        options["passwordFile"] = str(arguments.password_file.absolute())
        password = arguments.password_file.read_text().split("\n", 1)[0]
    spark = (
        SparkSession.builder.appName("first load")
        .config("spark.sql.session.timeZone", "UTC")  # JDBC reads TIMESTAMP columns in UTC
        .getOrCreate()
    )
    query = first_load(
        spark,
        options,
        arguments.to,
        keys=arguments.keys,
        kind=arguments.format,
        checkpoint=Path(arguments.checkpoint or f"{arguments.to.rstrip('/')}.checkpoint"),
        password=password,
        partitions=arguments.partitions,
        once=arguments.once,
    )
    print(f"{arguments.table}: copied; changes are applied to {arguments.to}", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
