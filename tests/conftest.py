"""What several folders of tests share: the shop's binlog and what is known of it, a Spark session."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A shell that runs the tests in the background ignores Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Shop:
    """A recorded binlog in two files; the second holds an ALTER of shop.orders."""

    folder: Path
    files: list[Path]
    expected: dict[str, Any]

    @property
    def glob(self) -> str:
        return str(self.folder / "binlog.*")

    @property
    def tables(self) -> dict[str, dict[str, int]]:
        """For each table the rows at the end, and changes by kind."""
        tables: dict[str, dict[str, int]] = self.expected["tables"]
        return tables

    def change_types(self, table: str) -> Counter[str]:
        """How often each `_change_type` must come, a key change being a delete and an insert."""
        counts = self.tables[table]
        keys_changed = counts["key_update"]
        types = {
            "insert": counts["insert"] + keys_changed,
            "delete": counts["delete"] + keys_changed,
            "update_preimage": counts["update"] - keys_changed,
            "update_postimage": counts["update"] - keys_changed,
        }
        return Counter({name: count for name, count in types.items() if count})


@pytest.fixture(scope="session")
def shop() -> Shop:
    folder = REPOSITORY / "examples" / "shop"
    expected = json.loads((folder / "expected.json").read_text())
    return Shop(folder, [folder / name for name in expected["files"]], expected)


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session for all tests."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", value=False)
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")  # compiles quicker
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.pyspark.validateSchema.enabled", value=True)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
