"""Targets of `binarrow.spark.sync`, and the moments at which their queries stop.

loading    inside a load, between the commits of two tables; in Delta, another table is parked
columns    the values of a new column are still to be read; a table was dropped on the server
history    in the log, between the commits of two tables
scd2       the same as `columns`
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from binarrow.spark import sync
from binarrow.spark.history_files.target import FileTarget
from binarrow.spark.live.read_limit import IS_LIMITED
from binarrow.spark.mirror.table import TableMirror
from binarrow.spark.syncing.filled_columns import FilledColumns
from support.servers.servers import Server
from support.stored import orders
from support.stored.spark_streams import WAIT, CrashError, url_of
from support.stored.target import ROOT
from support.sync_source import SECRET

SERVERS = {"delta": "mysql", "iceberg": "mariadb-11.8"}
"""The server of each format."""

# Before Spark 4.2, runs with once=True do not find out that a load is complete, and refuse ALTER TABLE afterwards.
FIRST_PLACE = {"startingOffsets": "snapshot" if IS_LIMITED else "earliest"}

EARLIEST = {"startingOffsets": "earliest"}

ARGUMENTS: dict[str, dict[str, Any]] = {
    "loading": {
        "tables": "shop.orders,shop.codes,shop.later",
        "on_truncate": "fail",
        "on_table_error": "park",
        "options": {"chunkRows": "20"},
    },
    "columns": {"tables": "shop.orders,shop.codes,shop.items,shop.gone", "options": FIRST_PLACE},
    "history": {
        "tables": "shop.entries,shop.kinds,shop.pending",
        "mode": "history",
        "schema_changes": "widen",
        "options": EARLIEST,
    },
    "scd2": {"tables": "shop.codes,shop.items,shop.gone", "mode": "scd2", "options": FIRST_PLACE},
}
"""The arguments of the query of each moment."""

CREATED = (
    *orders.CREATED,
    "CREATE TABLE gone (id INT PRIMARY KEY, v INT)",
    "INSERT INTO gone VALUES (1, 1), (2, 2)",
    "INSERT INTO later VALUES (7, 7)",
)

CHANGED = (
    "USE shop",
    "INSERT INTO pending VALUES (1, 1), (2, 2)",
    "BEGIN",
    "INSERT INTO entries VALUES ('2026-02-01', 5)",
    "UPDATE kinds SET vc = 'changed' WHERE id = 1",
    "UPDATE pending SET v = 3 WHERE id = 2",
    "COMMIT",
)

COLUMNS = (
    "USE shop",
    "ALTER TABLE codes ADD COLUMN w INT NOT NULL DEFAULT 5",
    "UPDATE codes SET w = 6 WHERE v = 2",
    "DROP TABLE gone",
    "ALTER TABLE items DROP COLUMN sku",
    "UPDATE orders SET total = total + 1 WHERE id < 10",
)

PENDING = (
    "USE shop",
    "ALTER TABLE items ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'n'",
    "UPDATE items SET note = 'x' WHERE line = 2",
    "UPDATE codes SET v = 9 WHERE v = 1",
)

DURING = (
    "USE shop",
    "TRUNCATE later",
    "UPDATE codes SET v = 10 WHERE v = 5",
    "UPDATE orders SET customer = 'during' WHERE id IN (2, 90)",
    "DELETE FROM orders WHERE id IN (5, 95)",
)

AGAIN = (
    "UPDATE shop.codes SET v = 12 WHERE v = 6",
    "UPDATE shop.orders SET customer = 'again' WHERE id IN (3, 91)",
)

LATER = (
    "USE shop",
    "UPDATE orders SET customer = 'later' WHERE id % 5 = 0",
    "UPDATE codes SET w = 7 WHERE v = 3",
    "DELETE FROM items WHERE order_id = 4",
    "INSERT INTO items VALUES (90, 1, 'later')",
    "INSERT INTO later VALUES (8, 8)",
    "UPDATE pending SET v = v + 1",
    "DELETE FROM entries WHERE v = 1 LIMIT 1",
)

LIVE = (
    "USE shop",
    "UPDATE orders SET total = total * 2 WHERE id % 2 = 0",
    "INSERT INTO orders VALUES (400, 'live', 4, NULL)",
    "UPDATE codes SET v = 11 WHERE code LIKE 'code 2%'",
    "UPDATE items SET note = 'live' WHERE line = 1",
    "UPDATE later SET v = 9",
    "CREATE TABLE gone (id INT PRIMARY KEY, v INT)",
    "INSERT INTO gone VALUES (2, 3), (3, 3)",
    "DELETE FROM kinds WHERE id = 2",
    "INSERT INTO entries VALUES (NULL, 2)",
    "ALTER TABLE pending ADD COLUMN w BIGINT",
    "INSERT INTO pending VALUES (9, 9, 99999999999)",
)


class Target:
    """A target of a query, in a folder; that of Iceberg is in `ROOT`, because its metadata contains absolute paths."""

    def __init__(
        self, spark: Any, form: str, server: Server, moment: str, folder: Path = ROOT
    ) -> None:
        self.spark, self.form, self.server = spark, form, server
        self.moment, self.folder = moment, folder / moment
        self.mode = ARGUMENTS[moment].get("mode", "mirror")
        if form == "iceberg":
            use_catalog(spark, moment)

    @property
    def tables(self) -> list[str]:
        """The names of the tables in the database `shop`."""
        names = ARGUMENTS[self.moment]["tables"].split(",")
        return [name.removeprefix("shop.") for name in names]

    @property
    def checkpoint(self) -> Path:
        """The folder of the checkpoint."""
        if self.form == "delta":
            return self.folder / "lake/_binarrow_spark/checkpoint"
        return self.folder / "checkpoint"

    def start(self, **more: Any) -> Any:
        """Starts the query."""
        self.folder.mkdir(exist_ok=True)
        password = self.folder / "password"
        password.write_text(SECRET)
        arguments = dict(ARGUMENTS[self.moment])
        tables, options = arguments.pop("tables"), arguments.pop("options")
        target = f"delta+file:///{self.folder}/lake"
        if self.form == "iceberg":
            target = f"iceberg://{self.moment}"
            arguments["checkpoint"] = self.checkpoint
        options = {"numPartitions": "1", **options}
        if IS_LIMITED and self.moment == "loading":
            options["maxRowsPerTrigger"] = "40"
        keywords = {"once": True, "password_file": password, "options": options, **arguments}
        return sync(self.spark, url_of(self.server), tables, target, **{**keywords, **more})

    def run(self, **more: Any) -> int:
        """Runs to the end of the log. Returns the number of batches.

        Before Spark 4.2, a run may end with the batch that it repeats.
        """
        batches = 0
        for _ in range(1 if IS_LIMITED else 2):
            query = self.start(**more)
            assert query.awaitTermination(WAIT)
            batches += len(query.recentProgress)
            more.pop("reload", None)
        return batches

    def crash(self, **more: Any) -> None:
        """Runs until a crash that was planted."""
        query = self.start(**more)
        with pytest.raises(Exception, match="CrashError"):
            query.awaitTermination(WAIT)
        offsets, commits = (self.numbers(name) for name in ("offsets", "commits"))
        assert len(offsets) == len(commits) + 1

    def numbers(self, name: str) -> list[int]:
        """Returns the numbers of the batches that were planned (`offsets`) or completed (`commits`)."""
        return sorted(int(file.name) for file in (self.checkpoint / name).glob("[0-9]*"))

    def offset(self) -> dict[str, Any]:
        """Returns the end of the last batch that was planned."""
        file = self.checkpoint / "offsets" / str(self.numbers("offsets")[-1])
        offset: dict[str, Any] = json.loads(file.read_text().splitlines()[-1])
        return offset

    def is_loading(self) -> bool:
        """Returns true if the last batch that was planned has rows of the load.

        Before Spark 4.2, only the first batch has, and its offset contains its start.
        """
        offset = self.offset()
        return "chunks" in offset or "chunks" in offset.get("from", {})

    def parked(self) -> list[str]:
        """Returns the tables that are parked."""
        file = Path(f"{self.checkpoint}.parked.json")
        return list(json.loads(file.read_text())["tables"]) if file.exists() else []

    def name(self, table: str) -> str:
        """Returns the name of a table in Spark's SQL."""
        if self.form == "delta":
            return f"delta.`{self.folder}/lake/shop/{table}`"
        return f"{self.moment}.shop.{table}"

    def rows(self, table: str, *columns: str, where: str = "true") -> Counter[tuple[Any, ...]]:
        """Returns rows of a table."""
        frame = self.spark.table(self.name(table)).where(where).select(*columns)
        return Counter(tuple(row) for row in frame.collect())

    def properties(self, table: str) -> set[str]:
        """Returns the names of the properties of a table."""
        shown = self.spark.sql(f"SHOW TBLPROPERTIES {self.name(table)}").collect()
        return {row.key.removeprefix("binarrow.sync.") for row in shown}


def use_catalog(spark: Any, name: str) -> None:
    """Adds an Iceberg catalog to a session, whose tables are in a folder of `ROOT`."""
    prefix = f"spark.sql.catalog.{name}"
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", f"file://{ROOT}/{name}/lake")
    spark.conf.set(f"{prefix}.cache-enabled", "false")


@contextmanager
def crashing(function: tuple[type, str], ends: Callable[..., bool]) -> Iterator[None]:
    """Ends the query after a call of a method for which a condition is true."""
    owner, name = function
    method = getattr(owner, name)

    def call_or_crash(*arguments: Any) -> Any:
        result = method(*arguments)
        if ends(result, *arguments):
            raise CrashError
        return result

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, call_or_crash)
        yield


def stop_loading(target: Target) -> None:
    """Stops in a batch of the load, after the commits of some of the tables that it changes.

    A table is parked in the batch before. Before Spark 4.2, the load has one batch, so the statement
    after which the table is parked is in the next one.
    """
    statements = [DURING, AGAIN] if IS_LIMITED else [DURING]

    def is_between(_result: None, mirror: TableMirror, *_arguments: Any) -> bool:
        is_first = len(statements) > 1
        if not statements:
            return "codes" in mirror.name or not IS_LIMITED
        if not IS_LIMITED or ("orders" in mirror.name and (is_first or target.parked())):
            target.server.execute(*statements.pop(0))
        return False

    with crashing((TableMirror, "merge"), is_between):
        target.crash(once=IS_LIMITED, every=0.1)
    assert target.is_loading()
    assert target.parked() == (["shop.later"] if IS_LIMITED else [])


def stop_columns(target: Target) -> None:
    """Stops before the values of the new column of `items` are read."""

    def is_noted(columns: tuple[str, ...], _filled: Any, _mirror: Any, name: Any, *_: Any) -> bool:
        return name == ("shop", "items") and "note" in columns

    with crashing((FilledColumns, "begin"), is_noted):
        target.crash()
    assert "fill" in target.properties("items")
    assert "dropped" in target.properties("items")


def stop_history(target: Target) -> None:
    """Stops after the commit of the first of three tables."""
    with crashing((FileTarget, "commit"), lambda *_: True):
        target.crash()
