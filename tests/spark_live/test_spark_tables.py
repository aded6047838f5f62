"""Several tables in one frame: each table's rows out of it are those of reading the table alone.

Every type, charset and key of two servers, as JSON text and as VARIANT, complete and partial; and a
stream over three tables, fanned out to a mirror each.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import VariantType

import binarrow
from binarrow import TypeOptions
from binarrow.spark import (
    apply_changes,
    decoder,
    read_mirror,
    register,
    schema,
    splits,
    table_of,
    tables_schema,
)
from binarrow.spark.schema import arrow_schema
from support import live
from support.logged import logging
from support.servers.servers import Server, Session
from support.workloads import matrix
from support.workloads.matrix import Case, Matrix, Played

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

ENVELOPE = ("change_type", "commit_version", "commit_timestamp", "change_ordinal", "present")

FORMS = {
    "text": {"types": TypeOptions(profile="spark"), "envelope": ENVELOPE},
    "variant": {
        "types": TypeOptions(profile="spark", json="variant", time="interval"),
        "envelope": ENVELOPE,
    },
}

CASES = [
    ("mysql", "text", "FULL"),
    ("mysql", "variant", "MINIMAL"),
    ("mariadb-11.8", "text", "MINIMAL"),
    ("mariadb-11.8", "variant", "FULL"),
]

# A NULL, and documents that are easily taken for one.
NULLS = ["NULL", "'null'", "'[null]'", "'\"null\"'", "'{\"a\": null}'"]


@dataclass
class Log:
    """The log of the matrix's tables, by image; and of `nulls`."""

    played: dict[str, Played]
    nulls: list[Path]


@pytest.fixture(scope="module")
def logs() -> Iterator[dict[str, Log]]:
    with ExitStack() as servers:  # until the tests have read their logs
        found = {}
        for flavor in ("mysql", "mariadb-11.8"):
            server = servers.enter_context(Server.start(flavor, matrix.options(flavor)))
            player = Matrix(server)
            images = [image for name, _, image in CASES if name == flavor]
            played = {image: player.play(Case(image, "FULL"), n) for n, image in enumerate(images)}
            server.execute("CREATE DATABASE n", "CREATE TABLE n.nulls (id INT PRIMARY KEY, j JSON)")
            with logging(server) as files:
                rows = ", ".join(f"({number}, {text})" for number, text in enumerate(NULLS))
                server.execute(
                    f"INSERT INTO n.nulls VALUES {rows}",
                    "UPDATE n.nulls SET j = NULL WHERE id = 1",
                    "UPDATE n.nulls SET j = 'null' WHERE id = 0",
                )
            found[flavor] = Log(played, list(files))
        yield found


@pytest.mark.parametrize(
    ("flavor", "form", "image"),
    [
        pytest.param(
            *case, marks=pytest.mark.thorough(by="MINIMAL, which has all columns of inserts")
        )
        if case[2] == "FULL"
        else case
        for case in CASES
    ],
)
def test_every_type(
    spark: SparkSession, logs: dict[str, Log], flavor: str, form: str, image: str
) -> None:
    played = logs[flavor].played[image]
    files = [str(file) for file in played.files]
    names = [name for name in played.names() if is_compared(name, form, image)]
    told = FORMS[form]
    frame = several(spark, files, f"{played.database}.*", told).persist()
    failures = []
    compared = 0
    for name in names:
        wanted = schema(files, name, **told)
        found = sorted_rows(table_of(frame, name, wanted))
        expected = sorted_rows(alone(spark, files, name, wanted, told))
        compared += found.num_rows
        if not found.equals(expected):
            failures.append(f"{name}:\n{difference(found, expected)}")
    frame.unpersist()
    assert not failures, "\n".join([f"{len(failures)} tables", *failures])
    assert compared > 25 * len(names)


def is_compared(name: str, form: str, image: str) -> bool:
    """Those that differ in keys alone, or are slow, in one case; forms of text but one in none."""
    if ".charsets_" in name:
        return False
    if name.endswith(".wide"):
        return (form, image) == ("text", "FULL")
    if "_key" in name or name.endswith((".plain", ".widths")):
        return (form, image) == ("variant", "MINIMAL")
    return True


def test_nulls_and_layouts(spark: SparkSession, logs: dict[str, Log]) -> None:
    files = [str(file) for file in logs["mysql"].nulls]
    for form, told in FORMS.items():
        frame = several(spark, files, "n.*", told)
        for layout in ("flat", "nested"):
            wanted = schema(files, "n.nulls", layout=layout, **told)
            rows = table_of(frame, "n.nulls", wanted, layout=layout)
            assert rows.schema == wanted, (form, layout)
            found = sorted_rows(rows)
            assert found.num_rows == {"flat": 9, "nested": 7}[layout]
            assert found.equals(
                sorted_rows(spark_alone(spark, files, "n.nulls", wanted, told, layout))
            )
    own = table_of(frame, "n.nulls", schema(files, "n.nulls", envelope=(), types=told["types"]))
    assert own.columns == ["id", "j", *(f"_{name}" for name in ENVELOPE)]
    assert table_of(frame, "n.other", own.schema).count() == 0


def several(spark: SparkSession, files: list[str], tables: str, told: dict[str, Any]) -> DataFrame:
    """A frame of all tables."""
    return splits(spark, files).mapInArrow(decoder(tables=tables, **told), tables_schema(**told))


def alone(
    spark: SparkSession, files: list[str], name: str, wanted: StructType, told: dict[str, Any]
) -> Any:
    """The table's rows without the others', as the reader itself gives them where Arrow can."""
    if any(isinstance(field.dataType, VariantType) for field in wanted):
        return spark_alone(spark, files, name, wanted, told, "flat")
    with binarrow.read_binlog(files, **told) as reader:
        return reader.table(name, schema=arrow_schema(wanted)).read_all()


def spark_alone(
    spark: SparkSession,
    files: list[str],
    name: str,
    wanted: StructType,
    told: dict[str, Any],
    layout: Any,
) -> DataFrame:
    return splits(spark, files).mapInArrow(decoder(name, wanted, layout=layout, **told), wanted)


def sorted_rows(rows: Any) -> pa.Table:
    """In the order of the log; variants as text with their types."""
    if not hasattr(rows, "sort_by"):
        if any("variant" in field.dataType.simpleString() for field in rows.schema):
            shown = [
                f"to_json(struct(`{name}`)) AS `{name}`"
                if "variant" in rows.schema[name].dataType.simpleString()
                else f"`{name}`"
                for name in rows.columns
            ]
            typed = [
                f"schema_of_variant(`{field.name}`) AS `{field.name} type`"
                for field in rows.schema
                if isinstance(field.dataType, VariantType)
            ]
            rows = rows.selectExpr(*shown, *typed)
        rows = rows.toArrow()
    order = [("_commit_version", "ascending"), ("_change_ordinal", "ascending")]
    return rows.sort_by(order).combine_chunks()


def difference(found: pa.Table, expected: pa.Table) -> str:
    if found.schema != expected.schema or len(found) != len(expected):
        return f"{len(found)} rows of {found.schema}\nand not {len(expected)} of {expected.schema}"
    columns = zip(found.column_names, found.columns, expected.columns, strict=True)
    different = [
        (
            name,
            [pair for pair in zip(a.to_pylist(), b.to_pylist(), strict=True) if pair[0] != pair[1]],
        )
        for name, a, b in columns
        if not a.equals(b)
    ]
    return "\n".join(f"  {name}: {str(pairs[:2])[:400]}" for name, pairs in different)


TABLES = {
    "orders": "id INT PRIMARY KEY, price DECIMAL(10,2), note VARCHAR(40)",
    "users": "name VARCHAR(20), town VARCHAR(20), n BIGINT UNSIGNED, PRIMARY KEY (name, town)",
    "visits": "id INT PRIMARY KEY, at DATETIME, page TEXT",
    "audit": "id INT PRIMARY KEY, what TEXT",
}
SCHEMAS = {
    "orders": "id int, price decimal(10,2), note string, extra int",
    "users": "name string, town string, n decimal(20,0)",
    "visits": "id int, at timestamp_ntz, page string",
}
KEYS = {"orders": "id", "users": ("name", "town"), "visits": "id"}


def change(rng: random.Random, table: str, has_extra: bool) -> str:
    number = rng.randint(1, 60)
    key = (
        f"name = 'n{number % 9}' AND town = 't{number % 7}'"
        if table == "users"
        else f"id = {number}"
    )
    if rng.random() < 0.2:
        return f"DELETE FROM fan.{table} WHERE {key}"
    if rng.random() < 0.2:
        column = "name = 'n8'" if table == "users" else f"id = {number + 61}"
        return f"UPDATE IGNORE fan.{table} SET {column} WHERE {key}"
    values = {
        "orders": f"{number}, {rng.randint(0, 10**6) / 100}, '{rng.choice('aé🎉')}'"
        + (f", {rng.randint(0, 9)}" if has_extra else ""),
        "users": f"'n{number % 9}', 't{number % 7}', {rng.choice([0, 7, 2**64 - 1])}",
        "visits": f"{number}, '{rng.choice(['1000', '1582', '9999'])}-10-10 11:12:13', REPEAT('p\"', {number})",
        "audit": f"{number}, 'w'",
    }[table]
    return f"REPLACE INTO fan.{table} VALUES ({values})"


def play(session: Session, rng: random.Random) -> None:
    session.execute(
        "CREATE DATABASE fan",
        *(f"CREATE TABLE fan.{name} ({columns})" for name, columns in TABLES.items()),
    )
    for step in range(80):
        if step == 40:
            session.execute("ALTER TABLE fan.orders ADD COLUMN extra INT", "FLUSH BINARY LOGS")
        statements = [
            change(rng, rng.choice(list(TABLES)), step >= 40) for _ in range(rng.randint(1, 6))
        ]
        session.execute("BEGIN", *statements, "COMMIT")


def test_a_stream_is_fanned_out(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    mirrors = {
        name: apply_changes(str(tmp_path / name), KEYS[name], format="parquet") for name in SCHEMAS
    }

    def fan_out(changes: DataFrame, batch_id: int) -> None:
        changes.persist()
        counted.append(changes.count())
        for name, mirror in mirrors.items():
            mirror(table_of(changes, f"fan.{name}", schemas[name]), batch_id)
        changes.unpersist()

    from pyspark.sql.types import StructType

    schemas = {name: StructType.fromDDL(ddl) for name, ddl in SCHEMAS.items()}
    counted: list[int] = []
    with live.server("mysql") as server:
        session = server.connect()
        play(session, random.Random(5))
        frame = (
            spark.readStream.format("binarrow")
            .options(host="127.0.0.1", port=server.port, user="live", password="l1ve")
            .options(allowPublicKeyRetrieval=True, startingOffsets="earliest")
            .options(tables="fan.*, live.none", excludeTables="fan.audit", maxBytesPerTrigger="30k")
            .load()
        )
        query = (
            frame.writeStream.foreachBatch(fan_out)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(180)
        read = [progress.numInputRows for progress in query.recentProgress]
        selected = {
            name: session.query(
                "SELECT "
                + ", ".join(f"CAST({one} AS CHAR)" for one in schemas[name].names)
                + f" FROM fan.{name}"
            )
            for name in SCHEMAS
        }
        logs = server.binlog_files()
        with binarrow.read_binlog(
            [str(log) for log in logs], tables=[f"fan.{t}" for t in SCHEMAS], types="spark"
        ) as reader:
            rows = sum(batch.num_rows for batch in reader.nested_json())
    assert len([count for count in counted if count]) > 1
    assert sum(read) == sum(counted) == rows, "each change is read once, whatever is done with it"
    for name, expected in selected.items():
        shown = read_mirror(spark, str(tmp_path / name)).selectExpr(
            *(f"CAST({one} AS STRING)" for one in schemas[name].names)
        )
        found = {tuple(row) for row in shown.collect()}
        wanted = {tuple(None if cell is None else str(cell) for cell in row) for row in expected}
        assert found == wanted, name
        assert len(found) == len(expected) > 10
