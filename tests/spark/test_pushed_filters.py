"""Why the format does not accept Spark's filters: Spark uses those of one query of a DataFrame for its other queries.

If this test fails, Spark is fixed, and the format can accept filters: see the commit "Spark's filters are not used".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from binarrow.spark.file_reader import FileReader
from binarrow.spark.live.batch_reader import LiveBatchReader

CONF = "spark.sql.python.filterPushdown.enabled"


def numbers() -> type[DataSource]:
    """A data source that Spark sends to its workers by value."""

    class NumbersReader(DataSourceReader):
        """Returns 0 to 9, or the number that a filter names."""

        def __init__(self) -> None:
            self.numbers = list(range(10))

        def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802
            for each in filters:
                if type(each).__name__ == "EqualTo":
                    self.numbers = [each.value]  # type: ignore[attr-defined]
            return filters

        def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
            del partition
            yield from ((number,) for number in self.numbers)

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers"

        def schema(self) -> str:
            return "n int"

        def reader(self, schema: Any) -> NumbersReader:
            del schema
            return NumbersReader()

    return Numbers


def test_spark_reuses_filters(spark: Any) -> None:
    spark.conf.set(CONF, "true")
    try:
        spark.dataSource.register(numbers())
        frame = spark.read.format("numbers").load()
        assert frame.where("n = 5").count() == 1
        assert frame.count() == 1, "Spark is fixed: it reads 10 rows"
        fresh = spark.read.format("numbers").load()
        assert fresh.count() == 10
    finally:
        spark.conf.unset(CONF)


def test_no_reader_accepts_filters() -> None:
    for reader in (FileReader, LiveBatchReader):
        assert reader.pushFilters is DataSourceReader.pushFilters
