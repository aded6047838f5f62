"""A lake: a Spark session with the format that `BINARROW_LAKE` names, and the versions of Spark that it wants.

The same tests run for each: `make test` calls pytest with Parquet, and for Delta and Iceberg from
environments of their own.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from binarrow.spark import apply_changes, read_mirror
from support import live
from support.java import JAVA_OPTIONS
from support.lakes import SETTINGS
from support.servers.servers import Server
from support.spark_sync import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = os.environ.get("BINARROW_LAKE", "parquet")

# Pipelines with AUTO CDC are there from Spark 4.2 on: that of Delta's environment.
collect_ignore = (
    []
    if FORMAT == "delta"
    else ["test_pipeline.py", "test_spark_sync_connect.py", "test_spark_sync_examples.py"]
)
if FORMAT == "parquet":
    collect_ignore += [
        *("test_spark_sync.py", "test_spark_sync_files.py", "test_spark_sync_recipe.py"),
        *(
            "test_spark_sync_columns.py",
            "test_spark_sync_policies.py",
            "test_spark_sync_versions.py",
        ),
        *("test_spark_sync_reload.py", "test_spark_sync_statements.py", "test_stored_lakes.py"),
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests that another run of the same tests, with Parquet, contains."""
    if FORMAT == "parquet":
        return
    left_out = [item for item in items if item.get_closest_marker("any_format")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@dataclass
class Lake:
    """The folder of mirrors, and their format."""

    spark: SparkSession
    format: str
    folder: Path
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def target(self) -> str:
        """A mirror that is not there yet."""
        number = next(self.numbers)
        return {
            "parquet": str(self.folder / f"mirror {number} [a]{{b}}*ü%20#"),
            "delta": f"mirror_{number}",
            "iceberg": f"lake.shop.mirror_{number}",
        }[self.format]

    def apply(self, target: str, keys: Any = None, **keywords: Any) -> Callable[..., None]:
        return apply_changes(target, keys, format=self.format, **keywords)

    def read(self, target: str) -> DataFrame:
        if self.format == "parquet":
            return read_mirror(self.spark, target)
        return self.spark.table(target)

    def commits(self, target: str) -> int:
        """The number of changes of the mirror."""
        if self.format == "parquet":
            return max(int(each.name[:8]) for each in (Path(target) / "versions").iterdir())
        if self.format == "delta":
            return self.spark.sql(f"DESCRIBE HISTORY {target}").count()
        return self.spark.table(f"{target}.snapshots").count()


@pytest.fixture(scope="session")
def lake(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("lake")
    if FORMAT == "parquet":
        yield Lake(request.getfixturevalue("spark"), FORMAT, folder)
        return
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", value=False)
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        .config("spark.sql.shuffle.partitions", 1)
        # To compile each plan takes longer than a few rows take without.
        .config("spark.sql.codegen.wholeStage", value=False)
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.catalog.lake.warehouse", str(folder / "iceberg"))
    )
    for name, value in SETTINGS[FORMAT].items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield Lake(session, FORMAT, folder)
    session.stop()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        started.execute(
            "CREATE DATABASE shop",
            "GRANT SELECT ON shop.* TO live@'%'",
            *(f"CREATE TABLE shop.{name} ({columns})" for name, columns in TABLES.items()),
        )
        yield started
