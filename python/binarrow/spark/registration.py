"""Makes the format ``binarrow`` known to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the data source ``binarrow`` with a session; doing it twice does no harm."""
    from binarrow.spark.datasource import BinarrowDataSource

    spark.dataSource.register(BinarrowDataSource)
