"""Helpers of the tests of `binarrow.spark.sync`: a workload, and a target that is compared with SELECT."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from binarrow.spark import sync
from binarrow.spark.live.read_limit import IS_LIMITED
from support import live
from support.servers.servers import Server

WAIT = 240
# Before Spark 4.2, runs with once=True do not find out that a load is complete, and refuse ALTER TABLE afterwards.
LOADED: dict[str, Any] = {} if IS_LIMITED else {"options": {"startingOffsets": "earliest"}}
TABLES = {
    "orders": "id INT PRIMARY KEY, status VARCHAR(20) CHARACTER SET utf8mb4, total DECIMAL(10,2), at DATETIME(6)",
    "users": "name VARCHAR(20) CHARACTER SET utf8mb4, town VARCHAR(20) CHARACTER SET utf8mb4, n BIGINT UNSIGNED, PRIMARY KEY (name, town)",
    "visits": "id BIGINT PRIMARY KEY, page TEXT CHARACTER SET utf8mb4, size FLOAT",
    "empty": "id INT PRIMARY KEY, note TEXT",
}


# Each test of a lake runs on one of the servers, in turn, to save time. `BINARROW_LAKE_SERVERS=all` runs each test on all servers.
ALL = ["mysql", "mariadb-11.8"]
ONE, OTHER = (
    ([ALL[0]], [ALL[1]]) if os.environ.get("BINARROW_LAKE") == "delta" else ([ALL[1]], [ALL[0]])
)
if os.environ.get("BINARROW_LAKE_SERVERS") == "all":
    ONE = OTHER = ALL


class Writer(threading.Thread):
    """Transactions on all tables but `empty`."""

    def __init__(self, server: Server, seed: int) -> None:
        super().__init__(daemon=True)
        self.session = server.connect()
        self.draw = random.Random(seed)
        self.over = threading.Event()
        self.error: Exception | None = None
        self.has_extra = False

    def run(self) -> None:
        try:
            while not self.over.wait(0.01):
                self.play(1)
        except Exception as error:  # noqa: BLE001 - raised again at the end
            self.error = error

    def play(self, transactions: int) -> None:
        for _ in range(transactions):
            statements = [self.statement() for _ in range(self.draw.choice((1, 2, 6)))]
            self.session.execute(
                "BEGIN", *statements, self.draw.choice(("COMMIT",) * 9 + ("ROLLBACK",))
            )

    def statement(self) -> str:
        draw = self.draw
        table = draw.choice(("orders", "users", "visits"))
        number = draw.randrange(200)
        key = f"id = {number}"
        if table == "users":
            key = f"name = 'n{number % 9}' AND town = 't{number % 7}'"
        match draw.randrange(8):
            case 0:
                return f"DELETE FROM shop.{table} WHERE {key}"
            case 1:
                other = "name = 'n8'" if table == "users" else f"id = {draw.randrange(200)}"
                return f"UPDATE IGNORE shop.{table} SET {other} WHERE {key}"
            case 2 if table == "orders":
                return f"UPDATE shop.orders SET total = total + 1 WHERE id BETWEEN {number} AND {number + 5}"
        columns = {"visits": " (id, page, size)"}.get(table, "")
        extra = f", {draw.choice(('NULL', '5'))}" if self.has_extra else ""
        status = draw.choice(("'new'", "'sent 📦'", "NULL"))
        values = {
            "orders": f"{number}, {status}, {number / 4}, NOW(6){extra}",
            "users": f"'n{number % 9}', 't{number % 7}', {draw.choice((0, 2**64 - 1))}",
            "visits": f"{number}, REPEAT('p\"', {number % 9}), {number / 8}",
        }[table]
        return f"REPLACE INTO shop.{table}{columns} VALUES ({values})"

    def __enter__(self) -> Writer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join(30)
        self.session.close()
        if self.error is not None:
            raise self.error


class CrashError(Exception):
    """Raised between the commits of two tables."""


class Synced:
    """A target, and the sync into it."""

    def __init__(self, lake: Any, server: Server, folder: Path, **keywords: Any) -> None:
        self.lake, self.server, self.folder, self.keywords = lake, server, folder, keywords
        self.may_repeat = False
        """True if the last query may not have completed its last batch."""
        self.target = f"delta+file:///{folder}/lake" if lake.format == "delta" else "iceberg://lake"
        (folder / "secret").write_text(f"{live.USER['password']}\n")
        if lake.format == "iceberg":
            for name in (*TABLES, "later", "keyless"):
                lake.spark.sql(f"DROP TABLE IF EXISTS lake.shop.{name}")
            lake.spark.sql("DROP TABLE IF EXISTS lake.crm.people")

    def start(self, **more: Any) -> Any:
        url = f"mysql://live@127.0.0.1:{self.server.port}/?allow_public_key_retrieval=true"
        keywords: dict[str, Any] = {
            "password_file": self.folder / "secret",
            "options": {"chunkRows": "40", "numPartitions": "2"},
            **self.keywords,
            **more,
        }
        if self.lake.format == "iceberg":
            keywords["checkpoint"] = self.checkpoint
        self.may_repeat = True
        return sync(self.lake.spark, url, "shop.*,crm.*", self.target, **keywords)

    def run(self) -> int:
        """Runs to the end of the log, and returns the number of batches.

        Before Spark 4.2, a run may end with the batch that it repeats.
        """
        batches = 0
        for _ in range(2 if self.may_repeat and not IS_LIMITED else 1):
            query = self.start(once=True)
            assert query.awaitTermination(WAIT)
            assert query.exception() is None, str(query.exception())
            batches += len(query.recentProgress)
        self.may_repeat = False
        return batches

    @property
    def checkpoint(self) -> Path:
        folder = "lake/_binarrow_spark/checkpoint" if self.lake.format == "delta" else "checkpoint"
        return self.folder / folder

    def name(self, table: str, database: str = "shop") -> str:
        if self.lake.format == "delta":
            return f"delta.`{self.folder}/lake/{database}/{table}`"
        return f"lake.{database}.{table}"

    def frame(self, table: str) -> Any:
        return self.lake.spark.table(self.name(table))

    def rows(self, table: str, columns: str = "*") -> Counter[Any]:
        frame = self.frame(table).selectExpr(*columns.split(", "))
        return Counter(tuple(row) for row in frame.collect())

    def check(self, *tables: str) -> None:
        """Compares tables with SELECT, by default those of `TABLES`."""
        for table in tables or TABLES:
            columns = [row[0] for row in self.server.query(f"SHOW COLUMNS FROM shop.{table}")]
            listed = ", ".join(columns)
            selected = self.server.query(f"SELECT {listed} FROM shop.{table}")
            assert self.rows(table, listed) == Counter(map(tuple, selected)), table
