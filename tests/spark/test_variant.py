"""JSON of a live MySQL as Spark's VARIANT holds what the server prints, value by value."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import VariantType, VariantVal

import binarrow
from binarrow.spark import decoder, register, schema, splits
from support.servers.servers import Server
from support.workloads.json_documents import plain_documents

TYPES = binarrow.TypeOptions(profile="spark", json="variant")

JACKSON_LONGEST_KEY = 50_000
"""Spark's parse_json refuses longer ones."""

KEYS = [*(f"k{number}" for number in range(40)), "😀", "\ue000", "Ａ", "é", ""]
"""Their order by UTF-16 is not that of their bytes."""

# An SQL expression for a document, and what Spark makes of the variant: its schema, and to_json.
VALUES = [
    ("'null'", "VOID", "null"),
    ("'true'", "BOOLEAN", "true"),
    ("JSON_ARRAY()", "ARRAY<VOID>", "[]"),
    ("JSON_OBJECT()", "OBJECT<>", "{}"),
    ("'\"short\"'", "STRING", '"short"'),
    ("JSON_QUOTE(REPEAT('é', 100))", "STRING", f'"{"é" * 100}"'),
    ("'-9223372036854775808'", "BIGINT", "-9223372036854775808"),
    ("'9223372036854775807'", "BIGINT", "9223372036854775807"),
    ("'18446744073709551615'", "DECIMAL(20,0)", "18446744073709551615"),
    ("'1.5'", "DOUBLE", "1.5"),
    ("'1e300'", "DOUBLE", "1.0E300"),
    ("JSON_ARRAY(1.50)", "ARRAY<DECIMAL(2,1)>", "[1.5]"),
    ("JSON_ARRAY(12345678901.123456789)", "ARRAY<DECIMAL(20,9)>", "[12345678901.123456789]"),
    (
        "JSON_ARRAY(-99999999999999999999999999999999999999)",
        "ARRAY<DECIMAL(38,0)>",
        f"[-{'9' * 38}]",
    ),
    (
        "JSON_ARRAY(CAST('12345678901.5' AS DECIMAL(65,30)))",
        "ARRAY<DECIMAL(12,1)>",
        "[12345678901.5]",
    ),
    ("JSON_ARRAY(CAST(REPEAT('9', 39) AS DECIMAL(65)))", "ARRAY<STRING>", f'["{"9" * 39}"]'),
    ("JSON_ARRAY(DATE'2012-03-18')", "ARRAY<DATE>", '["2012-03-18"]'),
    ("JSON_ARRAY(CAST('0000-00-00' AS DATE))", "ARRAY<STRING>", '["0000-00-00"]'),
    (
        "JSON_ARRAY(TIMESTAMP'1012-03-18 11:30:45.5')",
        "ARRAY<TIMESTAMP_NTZ>",
        '["1012-03-18 11:30:45.5"]',
    ),
    ("JSON_ARRAY(TIME'-838:59:58.000001')", "ARRAY<STRING>", '["-838:59:58.000001"]'),
    ("JSON_ARRAY(CAST(x'00ff10' AS BINARY))", "ARRAY<BINARY>", '["AP8Q"]'),
    ("JSON_ARRAY(b'100000001')", "ARRAY<BINARY>", '["AQE="]'),
    ('\'{"b": 1, "a": [true, "x"]}\'', "OBJECT<a: ARRAY<VARIANT>, b: BIGINT>", None),
    ("NULL", None, None),
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A binlog with the tables `plain`, of documents that JSON text can say, `of_types` and `keys`."""
    folder = tmp_path_factory.mktemp("variant")
    plain = enumerate(plain_documents(random.Random(3), 2_000))
    rows = [f"({number}, {document})" for number, document in plain]
    pairs = ", ".join(f"'{key}', {place}" for place, key in enumerate(KEYS))
    of_types = [f"({number}, {document})" for number, (document, _, _) in enumerate(VALUES)]
    with Server.start("mysql") as server:
        server.execute(
            "CREATE DATABASE v",
            "USE v",
            "SET sql_mode = ''",
            "CREATE TABLE plain (id INT PRIMARY KEY, j JSON)",
            "CREATE TABLE of_types (id INT PRIMARY KEY, j JSON)",
            *(
                f"INSERT INTO plain VALUES {', '.join(rows[start : start + 500])}"
                for start in range(0, len(rows), 500)
            ),
            *(f"INSERT INTO of_types VALUES {row}" for row in of_types),
            "CREATE TABLE `keys` (id INT PRIMARY KEY, j JSON)",
            f"INSERT INTO `keys` VALUES (1, JSON_OBJECT({pairs}))",
            "CREATE TABLE altered (id INT PRIMARY KEY)",
            "INSERT INTO altered VALUES (1)",
            "ALTER TABLE altered ADD j JSON",
            "INSERT INTO altered VALUES (2, '[2]'), (3, NULL)",
        )
        path = server.flush_binlog()
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def frames(spark: SparkSession, log: Path) -> dict[str, DataFrame]:
    """The table `plain` as the format and mapInArrow give it."""
    register(spark)
    options = {"table": "v.plain", "json": "variant", "targetBytes": "1m"}
    declared = schema(str(log), "v.plain", types=TYPES)
    ranges = splits(spark, str(log), target_bytes="1m")
    return {
        "format": spark.read.format("binarrow").options(**options).load(str(log)),
        "mapInArrow": ranges.mapInArrow(decoder("v.plain", declared, types=TYPES), declared),
    }


@pytest.mark.parametrize("way", ["format", "mapInArrow"])
def test_documents(frames: dict[str, DataFrame], log: Path, way: str) -> None:
    frame = frames[way]
    assert frame.schema["j"].dataType == VariantType()
    found = dict(frame.selectExpr("id", "to_json(j)").collect())
    texts = texts_of(log, "v.plain")
    assert len(texts) == 2_000
    assert found.keys() == texts.keys()
    for number, text in texts.items():
        assert_same(parse(found[number]), parse(text), f"document {number}")


def test_as_parse_json_has_it(spark: SparkSession, frames: dict[str, DataFrame], log: Path) -> None:
    texts = {
        number: text
        for number, text in texts_of(log, "v.plain").items()
        if "k" * JACKSON_LONGEST_KEY not in text
    }
    parsed = spark.createDataFrame(list(texts.items()), "id int, text string").selectExpr(
        "id", "parse_json(text) AS p"
    )
    joined = (
        frames["format"]
        .join(parsed, "id")
        .selectExpr(
            "id",
            "to_json(j)",
            "to_json(p)",
            # A key whose place in an object depends on how keys are compared, and one that is not there.
            "variant_get(j, '$.k0', 'string') <=> variant_get(p, '$.k0', 'string')",
            "typeof(j)",
        )
    )
    rows = joined.collect()
    assert len(rows) == len(texts)
    for number, ours, theirs, same_field, kind in rows:
        assert_same(parse(ours), parse(theirs), f"document {number}")
        assert same_field
        assert kind == "variant"


def test_values(spark: SparkSession, log: Path) -> None:
    register(spark)
    options = {"table": "v.of_types", "json": "variant"}
    frame = spark.read.format("binarrow").options(**options).load(str(log)).orderBy("id")
    rows = frame.selectExpr("schema_of_variant(j)", "to_json(j)", "j IS NULL").collect()
    assert len(rows) == len(VALUES)
    for (expression, kind, text), (found_kind, found_text, is_null) in zip(
        VALUES, rows, strict=True
    ):
        assert found_kind == kind, expression
        assert is_null == (kind is None), expression
        if text is not None:
            assert found_text == text, expression


def test_keys_of_large_objects_are_found(spark: SparkSession, log: Path) -> None:
    """Spark halves the keys of objects from 32 fields on: they must be in its own order."""
    register(spark)
    frame = spark.read.format("binarrow").options(table="v.keys", json="variant").load(str(log))
    [row] = frame.selectExpr(*(f"variant_get(j, '$[\"{key}\"]', 'int')" for key in KEYS)).collect()
    assert list(row) == list(range(len(KEYS)))


def test_rows_from_before_the_column(spark: SparkSession, log: Path) -> None:
    register(spark)
    declared = "id int, j variant, _change_type string"
    frame = (
        spark.read.format("binarrow")
        .options(table="v.altered", json="variant")
        .schema(declared)
        .load(str(log))
        .selectExpr("id", "to_json(j)")
    )
    assert sorted(map(tuple, frame.collect())) == [(1, None), (2, "[2]"), (3, None)]


def test_without_spark(log: Path) -> None:
    """The native profile has the same struct, and pyspark's own reader understands it."""
    types = binarrow.TypeOptions(json="variant")
    inferred = binarrow.infer_schema(str(log), "v.of_types", types=types)
    reader = binarrow.read_binlog(str(log), types=types).table("v.of_types")
    table = pa.table(reader)
    assert table.schema.field("j").equals(inferred.field("j"))
    # A schema of the caller's own, without Spark's mark on it.
    storage = pa.struct(
        [pa.field(name, pa.binary(), nullable=False) for name in ("value", "metadata")]
    )
    unmarked = pa.schema([pa.field("j", storage) if f.name == "j" else f for f in table.schema])
    reader = binarrow.read_binlog(str(log), types=types).table("v.of_types", schema=unmarked)
    assert pa.table(reader).column("j").to_pylist() == table.column("j").to_pylist()
    kind = table.schema.field("j").type
    assert [field.name for field in kind] == ["value", "metadata"]
    values = [
        cell and VariantVal(cell["value"], cell["metadata"]).toPython()
        for cell in table.column("j").to_pylist()
    ]
    assert values[6:9] == [-(2**63), 2**63 - 1, 2**64 - 1]
    assert values[11] == [Decimal("1.50")]
    assert values[-2] == {"a": [True, "x"], "b": 1}
    assert values[-1] is None


def texts_of(log: Path, table: str) -> dict[int, str]:
    data = pa.table(binarrow.read_binlog(str(log), types="spark").table(table))
    return dict(zip(data["id"].to_pylist(), data["j"].to_pylist(), strict=True))


def parse(text: str) -> Any:
    return json.loads(text)


def assert_same(found: Any, expected: Any, where: str) -> None:
    """Equal, but that a double may be written as a decimal of the same value."""
    if isinstance(expected, dict) and isinstance(found, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_same(found[key], value, where)
    elif isinstance(expected, list) and isinstance(found, list):
        assert len(found) == len(expected), where
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, where)
    elif isinstance(expected, float) or isinstance(found, float):
        assert not isinstance(found, str | bool | None), where
        assert float(found) == float(expected), where
    else:
        assert (found, type(found)) == (expected, type(expected)), where
