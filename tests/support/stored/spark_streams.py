"""Streaming queries of Spark into Parquet mirrors, and the moments at which they stop.

loading    inside a load of the existing rows: a batch is in the mirror, and not in the checkpoint
latest     in the first batch, before changes are made: only its offset contains the place "latest"
repeated   a batch is in the mirror, and not in the checkpoint; only the table history names its columns
mirror     in the log, in Delta or Iceberg: a batch is in the mirror, and not in the checkpoint
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binarrow import SchemaHistory
from binarrow.spark import apply_changes, read_mirror, register, splits
from binarrow.spark.live.read_limit import IS_LIMITED
from support.servers.servers import Server
from support.stored.consumer import connected
from support.sync_source import SECRET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAIT = 240

MOMENTS = {
    "loading": ("shop.orders", "snapshot"),
    "latest": ("shop.later", "latest"),
    "repeated": ("old.t", "earliest"),
    "mirror": ("shop.orders", "earliest"),
}
"""The table of each query, and where it starts."""

SPLITS = "splits.jsonl"

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def url_of(server: Server) -> str:
    """Returns the URL of a server, without the password."""
    return f"mysql://mirror@127.0.0.1:{server.port}/?tls=disabled&allow_public_key_retrieval=true"


class CrashError(Exception):
    """The end of a query."""


class Query:
    """A query with its checkpoint and its mirror in a folder."""

    def __init__(
        self, spark: SparkSession, server: Server, folder: Path, moment: str, form: str = "parquet"
    ) -> None:
        self.spark, self.folder, self.form = spark, folder, form
        self.target = str(folder / "mirror") if form != "iceberg" else f"{moment}.shop.orders"
        table, start = MOMENTS[moment]
        self.options = {
            "url": url_of(server),
            "password": SECRET,
            "table": table,
            "startingOffsets": start,
            "numPartitions": "1",
        }
        if moment == "loading":
            self.options |= {
                "chunkRows": "10",
                "maxRowsPerTrigger": "20",
                "snapshotStateFile": str(folder / "rows.json"),
            }
        elif IS_LIMITED:
            self.options["maxBytesPerTrigger"] = "3000"
        if moment == "repeated":
            self.options |= {"history": self.history, "schemaChangePolicy": "project"}

    @property
    def history(self) -> str:
        """The URL of the table history."""
        return f"sqlite:///{self.folder}/history.db"

    def run(self, crash: Callable[[int, str], bool] = lambda _batch, _step: False) -> int:
        """Runs to the end of the log, or until a condition is true. Returns the number of batches."""
        apply = apply_changes(self.target, ["id"], format=self.form, missing_rows="ignore")
        batches = 0

        def write(frame: DataFrame, batch: int) -> None:
            nonlocal batches
            batches += 1
            if crash(batch, "before"):
                raise CrashError
            apply(frame, batch)
            if crash(batch, "after"):
                raise CrashError

        register(self.spark)
        changes = self.spark.readStream.format("binarrow").options(**self.options).load()
        writer = changes.writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(WAIT)
        except Exception as error:
            if "CrashError" not in str(error):
                raise
        return batches

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns the rows of the mirror in the order of the key."""
        if self.form == "parquet":
            frame = read_mirror(self.spark, self.target)
        else:
            name = f"delta.`{self.target}`" if self.form == "delta" else self.target
            frame = self.spark.table(name)
        return sorted(tuple(row) for row in frame.collect())

    def offsets(self) -> list[dict[str, Any]]:
        """Returns the ends of all batches that the checkpoint has planned."""
        files = (self.folder / "checkpoint" / "offsets").glob("[0-9]*")
        ordered = sorted(files, key=lambda file: int(file.name))
        return [json.loads(file.read_text().splitlines()[-1]) for file in ordered]

    def commits(self) -> int:
        """Returns the number of batches that the checkpoint contains as complete."""
        return len([*(self.folder / "checkpoint" / "commits").glob("[0-9]*")])


def renew_identities(state: Path, server: Server) -> list[dict[str, Any]]:
    """Replaces the times at which tables were created, and returns the stored tables of a load.

    The tables of a recorded server are created again at each start.
    """
    stored = json.loads(state.read_text())
    for table in stored["tables"]:
        database, _, name = table["table"].partition(".")
        [(created,)] = server.query(
            "SELECT create_time FROM information_schema.tables"
            f" WHERE table_schema = '{database}' AND table_name = '{name}'"
        )
        identity, count = TIME.subn(str(created), table["identity"])
        assert count == 1, table
        table["identity"] = identity
    state.write_text(json.dumps(stored))
    tables: list[dict[str, Any]] = stored["tables"]
    return tables


def stop_loading(spark: SparkSession, server: Server, folder: Path) -> None:
    """Stops after the third batch of the load."""
    query = Query(spark, server, folder / "loading", "loading")
    query.run(lambda batch, step: (batch, step) == (2, "after"))
    assert query.offsets()[-1]["chunks"] > 0


def stop_latest(spark: SparkSession, server: Server, folder: Path) -> None:
    """Stops before the first batch is written, which has no changes."""
    query = Query(spark, server, folder / "latest", "latest")
    query.run(lambda batch, step: (batch, step) == (0, "before"))
    [offset] = query.offsets()
    assert "from" in offset


def stop_repeated(spark: SparkSession, server: Server, folder: Path) -> None:
    """Stops after the first batch with changes of a table whose columns the log does not name."""
    query = Query(spark, server, folder / "repeated", "repeated")
    query.folder.mkdir(parents=True)
    # A history that the query begins would have no structures of earlier changes.
    source = connected(server)
    begin = source.file_start(source.binlogs()[0].name)
    with SchemaHistory.open(query.history) as history:
        source.range_end(begin, stop=begin, history=history)
    query.run(lambda _, step: step == "after" and bool(query.rows()))
    assert len(query.offsets()) == query.commits() + 1
    for lock in query.folder.glob("*.lock"):  # it names this machine
        lock.unlink()


def stop_mirror(spark: SparkSession, server: Server, folder: Path, form: str) -> None:
    """Stops after a batch. Before Spark 4.2 it is the first one, which has the complete log."""
    query = Query(spark, server, folder / "mirror", "mirror", form)
    last = 2 if IS_LIMITED else 0
    query.run(lambda batch, step: (batch, step) == (last, "after"))
    assert query.rows()


def store_splits(spark: SparkSession, server: Server, folder: Path) -> None:
    """Stores the ranges of the log up to now, as a program stores its DataFrame."""
    found = splits(spark, url_of(server), password=SECRET, num_partitions=3)
    lines = [json.dumps(row.asDict()) for row in found.collect()]
    (folder / SPLITS).write_text("".join(f"{line}\n" for line in lines))
