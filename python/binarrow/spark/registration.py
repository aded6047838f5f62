"""Registers the format ``binarrow`` with a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Registers the data source ``binarrow`` with a session; a second call has no effect."""
    from binarrow.spark.datasource import BinarrowDataSource

    spark.dataSource.register(BinarrowDataSource)
