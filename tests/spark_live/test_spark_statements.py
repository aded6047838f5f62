"""The option `statements` of Spark's format, for statements that were logged as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from binarrow.spark import register
from support.logged import database, logged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.servers.servers import Server


def test_the_option(spark: SparkSession, mysql: Server) -> None:
    register(spark)
    with database(mysql, "texts_spark", "CREATE TABLE t (id INT PRIMARY KEY)"):
        (log,) = logged(
            mysql,
            "INSERT INTO t VALUES (1)",
            "SET SESSION binlog_format = STATEMENT",
            "INSERT INTO t VALUES (2)",
            "SET SESSION binlog_format = ROW",
            "INSERT INTO t VALUES (3)",
        )
    read = spark.read.format("binarrow").option("table", "texts_spark.t")
    with pytest.raises(Exception, match="statements=skip"):
        read.load(str(log)).collect()
    rows = read.option("statements", "skip").load(str(log)).collect()
    assert sorted(row.id for row in rows) == [1, 3]
