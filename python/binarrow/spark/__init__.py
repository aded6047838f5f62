"""Binary logs in Spark, decoded by its tasks in parallel.

Read them as a format:

    from binarrow.spark import register

    register(spark)
    df = spark.read.format("binarrow").option("table", "shop.orders").load("/archive/binlog.*")

Or read them with functions, which scan the files in tasks and not on the driver:

    from binarrow.spark import decoder, schema, splits

    orders = schema("/archive/binlog.000001", "shop.orders")
    df = splits(spark, "/archive/binlog.*").mapInArrow(decoder("shop.orders", orders), orders)

To keep a mirror of a table up to date, pass batches or streams of changes to
:func:`binarrow.spark.apply_changes`. :func:`binarrow.spark.sync` copies several tables into Delta
or Iceberg, and follows the log.

Requires the extra ``binarrow[spark]`` on the driver and on every executor.
"""

from typing import TYPE_CHECKING, Any

from binarrow.spark.decoder import decoder
from binarrow.spark.nested_json import table_of
from binarrow.spark.registration import register
from binarrow.spark.schema import schema, tables_schema
from binarrow.spark.splits import splits

if TYPE_CHECKING:
    from binarrow.spark.metrics_listener import MetricsListener
    from binarrow.spark.mirror import apply_changes, read_mirror
    from binarrow.spark.syncing.sync import sync

__all__ = [
    "MetricsListener",
    "apply_changes",
    "decoder",
    "read_mirror",
    "register",
    "schema",
    "splits",
    "sync",
    "table_of",
    "tables_schema",
]


def __getattr__(name: str) -> Any:
    # These import pyspark at once; the other functions import it when they are called.
    if name == "MetricsListener":
        from binarrow.spark.metrics_listener import MetricsListener

        return MetricsListener
    if name in ("apply_changes", "read_mirror"):
        from binarrow.spark import mirror

        return getattr(mirror, name)
    if name == "sync":
        from binarrow.spark.syncing.sync import sync

        return sync
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
