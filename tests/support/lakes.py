"""The settings of Spark sessions for Delta and Iceberg."""

from __future__ import annotations

from collections.abc import Mapping

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "delta": {
        "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    },
    "iceberg": {
        "spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        # Each query has its own catalog, because a catalog of another query caches earlier tables for a while.
        "spark.sql.catalog.lake.cache-enabled": "false",
    },
}
