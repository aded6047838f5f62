"""Files that tasks write for `mode="history"`: the tables equal those that Spark writes, rows and types."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from binarrow.spark import sync
from binarrow.spark.live.read_limit import IS_LIMITED
from support import live
from support.servers.servers import Server
from support.workloads.table import Column, Table
from support.workloads.type_tables import type_tables

WAIT = 240

GROUPS = {
    "numbers": ("ints", "decimals", "floats", "bits", "times", "choices", "vectors"),
    "contents": ("bytes", "documents", "shapes"),
    "texts": ("text_utf8mb4",),
}
"""Tables of the test, and the tables of types whose columns they have."""


@dataclass
class Pair:
    """Two targets of one server: tasks write the files of one, and Spark writes those of the other."""

    lake: Any
    server: Server
    folder: Path
    options: dict[str, str] = field(default_factory=lambda: {"startingOffsets": "earliest"})
    keywords: dict[str, Any] = field(default_factory=dict)
    """More arguments of ``sync``."""
    loaded_rows: int = 0
    """The number of existing rows of each table."""

    def __post_init__(self) -> None:
        (self.folder / "secret").write_text(f"{live.USER['password']}\n")
        if self.lake.format == "iceberg":
            for files in ("auto", "spark"):  # a catalog does not change after its first use
                catalog = self.catalog(files)
                conf = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop"}
                conf |= {".warehouse": str(self.folder / files), ".cache-enabled": "false"}
                for name, value in conf.items():
                    self.lake.spark.conf.set(f"spark.sql.catalog.{catalog}{name}", value)

    def catalog(self, files: str) -> str:
        return f"{files}_{self.folder.name}"

    def run(self, *ways: str) -> None:
        """Copies the log to its current end into both targets, or into one."""
        for files in ways or ("auto", "spark"):
            url = f"mysql://live@127.0.0.1:{self.server.port}/?allow_public_key_retrieval=true"
            is_delta = self.lake.format == "delta"
            query = sync(
                self.lake.spark,
                url,
                "shop.*",
                f"delta+file:///{self.folder}/{files}"
                if is_delta
                else f"iceberg://{self.catalog(files)}",
                mode="history",
                files=files,
                once=True,
                checkpoint=self.folder / f"{files}.checkpoint",
                password_file=self.folder / "secret",
                options={"numPartitions": "2", **self.options},
                **self.keywords,
            )
            assert query.awaitTermination(WAIT)
            assert query.exception() is None, str(query.exception())

    def name(self, files: str, table: str) -> str:
        if self.lake.format == "delta":
            return f"delta.`{self.folder}/{files}/shop/{table}`"
        return f"{self.catalog(files)}.shop.{table}"

    def check(self, *tables: str) -> None:
        """The rows and the types of both targets are equal."""
        spark = self.lake.spark
        for table in tables:
            found, expected = (spark.table(self.name(files, table)) for files in ("auto", "spark"))
            assert found.schema == expected.schema, table
            rows, wanted = (
                frame.orderBy("_commit_version", "_change_ordinal").toArrow()
                for frame in (found, expected)
            )
            assert rows.num_rows == wanted.num_rows > 0, table
            for column in wanted.column_names:
                # The existing rows have the time at which they were read.
                first = self.loaded_rows if column == "_commit_timestamp" else 0
                assert rows[column][first:].equals(wanted[column][first:]), (table, column)

    def written(self, table: str) -> list[str]:
        """The names of the files of a table that tasks have written."""
        folder = self.folder / "auto" / "shop" / table
        query = (self.folder / "auto.checkpoint" / "metadata").read_text().split('"')[3]
        return sorted(path.name for path in folder.rglob(f"part-{query}-*.parquet"))


def all_types(server: Server) -> list[Table]:
    """Tables with all types of a server."""
    of_server = {table.name: table.columns for table in type_tables(server.flavor)}
    tables = []
    for name, parts in GROUPS.items():
        columns = [
            Column(f"{part}_{column.name}", column.definition, column.value)
            for part in parts
            for column in of_server.get(part, ())
            if column.value is not None
        ]
        tables.append(Table(name, columns))
    return tables


@pytest.fixture
def pair(request: Any, lake: Any, tmp_path: Path) -> Any:
    flavor = "mysql" if lake.format == "delta" else "mariadb-11.8"
    with live.server(flavor) as server:
        server.execute("CREATE DATABASE shop", "GRANT SELECT ON shop.* TO live@'%'")
        yield Pair(lake, server, tmp_path)


def test_types(pair: Pair) -> None:
    """Each type, with random values, in changes of all kinds."""
    rng = random.Random(5)
    tables = all_types(pair.server)
    session = pair.server.connect(database="shop")
    session.execute(*(table.create() for table in tables))
    session.execute(*(table.insert(rng, 5) for table in tables))
    if IS_LIMITED:
        pair.options, pair.loaded_rows = {}, 5
        pair.run()
    for table in tables:
        session.execute(
            *(table.insert(rng, 5) for _ in range(6)),
            *(table.update(rng) for _ in range(20)),
            *(table.delete(rng) for _ in range(3)),
        )
    session.close()
    pair.run()
    pair.check(*GROUPS)
    assert all(pair.written(table) for table in GROUPS)


def test_statements(pair: Pair) -> None:
    """Structures change between batches and within them. Spark writes some of the batches."""
    pair.server.execute(
        "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT, b VARCHAR(9) CHARACTER SET utf8mb4)",
        "CREATE TABLE shop.u (id INT PRIMARY KEY, a INT)",
        "INSERT INTO shop.t VALUES (1, 1, 'x'), (2, NULL, 'y')",
        "INSERT INTO shop.u VALUES (1, 1)",
        "CREATE TABLE shop.dropped (id INT PRIMARY KEY)",
    )
    pair.run()
    first = pair.written("t")
    query = first[0].removeprefix("part-").rpartition("-0-")[0]
    [folder] = {path.parent for path in (pair.folder / "auto").rglob(first[0])}
    (folder / f"part-{query}-1-of-a-task-that-was-killed.parquet").write_bytes(b"PAR1")
    pair.server.execute(
        "UPDATE shop.t SET a = 7 WHERE id = 1",
        "ALTER TABLE shop.t ADD COLUMN c DECIMAL(5,1), ADD COLUMN d DATE",
        "INSERT INTO shop.t VALUES (3, 5, 'z', 2.5, '2020-02-29')",
        "CREATE TABLE shop.later (id INT PRIMARY KEY)",
        "INSERT INTO shop.later VALUES (1), (2)",
        "DELETE FROM shop.t WHERE id = 2",
    )
    pair.run("auto")
    assert len(pair.written("t")) == 2
    assert len(pair.written("later")) == 1
    pair.server.execute(
        "UPDATE shop.t SET b = 'w' WHERE id = 1",
        "ALTER TABLE shop.t DROP COLUMN b",
        "TRUNCATE shop.u",
        "INSERT INTO shop.t (id) VALUES (4)",
    )
    pair.run("auto")  # by Spark, because a statement has deleted rows
    assert len(pair.written("t")) == 2
    pair.server.execute("INSERT INTO shop.t (id) VALUES (5)")
    pair.run("auto")
    assert len(pair.written("t")) == 3
    pair.keywords["on_table_error"] = "park"
    of_other = pair.name("auto", "parked")
    pair.lake.spark.sql(f"CREATE TABLE {of_other} (id INT) USING {pair.lake.format}")
    pair.server.execute(
        "CREATE TABLE shop.parked (id INT PRIMARY KEY)",
        "INSERT INTO shop.parked VALUES (1)",
        "INSERT INTO shop.t (id) VALUES (6)",
    )
    pair.run("auto")  # tasks leave out the rows of the parked table
    assert "shop.parked" in (pair.folder / "auto.checkpoint.parked.json").read_text()
    assert len(pair.written("t")) == 4
    pair.lake.spark.sql(f"ALTER TABLE {pair.name('auto', 'u')} {UNSUPPORTED[pair.lake.format]}")
    pair.server.execute(
        "INSERT INTO shop.t (id) VALUES (7)",
        "INSERT INTO shop.u VALUES (2, 2)",
        "INSERT INTO shop.dropped VALUES (9)",
        "DROP TABLE shop.dropped",
    )
    pair.run()
    assert len(pair.written("t")) == 4
    pair.check("t", "u", "later", "dropped")  # of `dropped` also what was read after DROP TABLE


UNSUPPORTED = {
    "delta": "ADD CONSTRAINT positive CHECK (id IS NULL OR id > 0)",
    "iceberg": "SET TBLPROPERTIES ('write.format.default' = 'avro')",
}
"""Changes of a table after which only Spark can write it."""
