"""The option `schemas`, over a log that names no columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType

import binarrow
from binarrow.spark import decoder, register, schema, splits

STATEMENT = b"CREATE TABLE a (id int unsigned PRIMARY KEY, t varchar(40) DEFAULT '\xff')"
DUMP = b"-- Host: localhost    Database: d\n" + STATEMENT


@pytest.fixture
def log(repository: Path) -> str:
    return str(repository / "tests/fixtures/mysql-minimal-metadata/binlog.000001")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "d.sql"
    path.write_bytes(DUMP)
    return path


def assert_rows(frame: DataFrame, log: str) -> None:
    expected = binarrow.read_binlog(log, types="spark", schemas=DUMP).table("d.a").read_all()
    assert frame.columns == expected.column_names
    assert frame.schema["id"].dataType == LongType()
    assert frame.toArrow().column("t").to_pylist() == expected.column("t").to_pylist()
    assert frame.count() == 5


def test_the_format(spark: SparkSession, log: str, dump: Path) -> None:
    register(spark)
    text = STATEMENT.decode(errors="replace")
    for options in (
        {"schemas": text},
        {"SCHEMAS": f"USE other; {text.replace(' a ', ' d.a ')}"},
        {"schemasFile": str(dump)},
    ):
        reader = spark.read.format("binarrow").option("table", "d.a").options(**options)
        assert_rows(reader.load(log), log)


def test_files_are_read_by_the_driver(spark: SparkSession, log: str, dump: Path) -> None:
    declared = schema(log, "d.a", schemas=dump)
    decode = decoder("d.a", declared, schemas=dump)
    by_table = decoder("d.a", declared, schemas={"d.a": dump})
    several = decoder("d.a", declared, schemas=[dump, b"CREATE TABLE other.b (x int)"])
    dump.unlink()
    for each in (decode, by_table, several):
        assert_rows(splits(spark, log).mapInArrow(each, declared), log)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "with the option schemas"),
        ({"schemasFile": "/missing.sql"}, "missing"),
        ({"schemas": "CREATE TABLE b (x int)"}, "without this table"),
        ({"schemas": "CREATE TABLE a (id int)"}, "the log has 2 columns, the given structure 1"),
        ({"schemas": "CREATE TABLE a (id", "schemasFile": "a"}, "set one of them"),
    ],
)
def test_errors(spark: SparkSession, log: str, options: dict[str, str], message: str) -> None:
    register(spark)
    with pytest.raises(PySparkException, match=message):
        spark.read.format("binarrow").option("table", "d.a").options(**options).load(log)
