"""Binary logs in Spark, decoded by its tasks in parallel.

As a format:

    from binarrow.spark import register

    register(spark)
    df = spark.read.format("binarrow").option("table", "shop.orders").load("/archive/binlog.*")

or by hand, where the list of files shall not be scanned on the driver:

    from binarrow.spark import decoder, schema, splits

    orders = schema("/archive/binlog.000001", "shop.orders")
    df = splits(spark, "/archive/binlog.*").mapInArrow(decoder("shop.orders", orders), orders)

Changes, in batches or streams, keep a mirror of the table up to date by
:func:`binarrow.spark.apply_changes`.

Needs the extra ``binarrow[spark]``, and the package on the driver and on every executor.
"""

from typing import TYPE_CHECKING, Any

from binarrow.spark.decoder import decoder
from binarrow.spark.nested_json import table_of
from binarrow.spark.registration import register
from binarrow.spark.schema import schema, tables_schema
from binarrow.spark.splits import splits

if TYPE_CHECKING:
    from binarrow.spark.mirror import apply_changes, read_mirror

__all__ = [
    "apply_changes",
    "decoder",
    "read_mirror",
    "register",
    "schema",
    "splits",
    "table_of",
    "tables_schema",
]


def __getattr__(name: str) -> Any:
    # The mirror imports pyspark, which the others do when they are called.
    if name in ("apply_changes", "read_mirror"):
        from binarrow.spark import mirror

        return getattr(mirror, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
