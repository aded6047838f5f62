"""Fixtures for several folders of tests: the shop's binlog with its known contents, a Spark session."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.extent import repeated
from support.fakes.object_server import ObjectServer, serving
from support.java import JAVA_OPTIONS
from support.servers.fixtures import (  # noqa: F401 - pytest finds them here
    live_server,
    mariadb_10_5,
    mariadb_10_11,
    mariadb_11_8,
    mariadb_case,
    mysql,
    mysql_5_6,
    mysql_5_7,
    server,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A shell that runs the tests in the background ignores Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).parent.parent

# Temporary files, and data folders of servers, are in memory if it has room. Servers wait for the disk several times
# for each statement that changes a table, whatever their options.
MEMORY, ROOM = "/dev/shm", 4 << 30

if (
    "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free >= ROOM
):
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several workers each file goes to one of them; the files that need Spark are two groups, each with one JVM."""
    left_out = repeated(items)
    config.hook.pytest_deselected(items=left_out)
    names = {item.nodeid for item in left_out}
    items[:] = [item for item in items if item.nodeid not in names]
    with_spark = {
        item.path for item in items if {"spark", "lake"} & {*getattr(item, "fixturenames", ())}
    }
    for item in items:
        name = f"{item.path.parent.name}.{item.path.stem}"
        is_live = item.path.parent.name == "spark_live"
        group = f"spark.{is_live}" if item.path in with_spark else name
        item.add_marker(pytest.mark.xdist_group(group))


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
        """The expected number of each `_change_type`; a change of a key is a delete and an insert."""
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


@pytest.fixture
def objects(shop: Shop, tmp_path: Path) -> Iterator[ObjectServer]:
    """The shop's binlog in a bucket `logs`, folder `shop`, beside files that are no binary logs."""
    folder = tmp_path / "served" / "logs" / "shop"
    folder.mkdir(parents=True)
    for path in shop.files:
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "binlog.index").write_text("binlog.000001\n")
    (folder / "README").write_text("no binary log")
    with serving(tmp_path / "served") as served:
        yield served


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def event_log_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which Spark records events of its tasks."""
    return tmp_path_factory.mktemp("event-log")


@pytest.fixture
def event_log(spark: SparkSession, event_log_folder: Path) -> Path:
    """The file of Spark's event log, written at the end of each job."""
    [log] = event_log_folder.rglob(f"*{spark.sparkContext.applicationId}*")
    return log


@pytest.fixture(scope="session")
def spark(event_log_folder: Path) -> Iterator[SparkSession]:
    """One small session for all tests."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", value=False)
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        # To compile each plan takes longer than a few rows take without. Scripts that tests run do compile them.
        .config("spark.sql.codegen.wholeStage", value=False)
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.eventLog.enabled", value=True)
        .config("spark.eventLog.dir", event_log_folder.as_uri())
        .config("spark.eventLog.compress", value=False)
        .config("spark.eventLog.rolling.enabled", value=False)
        .config("spark.sql.execution.arrow.pyspark.validateSchema.enabled", value=True)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
