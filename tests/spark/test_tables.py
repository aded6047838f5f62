"""Several tables in one frame: options, and what `table_of` refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType, VariantType

from binarrow import ConfigError
from binarrow.spark import decoder, register, schema, splits, table_of, tables_schema
from binarrow.spark.source_options import SourceOptions

if TYPE_CHECKING:
    from conftest import Shop
    from pyspark.sql import SparkSession

ORDERS = "shop.orders"


def test_format_and_decoder_give_the_same(spark: SparkSession, shop: Shop) -> None:
    register(spark)
    wanted = schema(str(shop.files[0]), ORDERS)
    alone = spark.read.format("binarrow").option("table", ORDERS).load(shop.glob)
    ways = {
        "format": spark.read.format("binarrow")
        .options(tables="shop.*", excludeTables="shop.order_items")
        .load(shop.glob),
        "mapInArrow": splits(spark, shop.glob).mapInArrow(
            decoder(tables=["shop.*"], exclude_tables="shop.order_items", layout="nested-json"),
            tables_schema(),
        ),
    }
    expected = sorted(alone.collect(), key=place)
    for way, frame in ways.items():
        assert frame.schema == tables_schema(), way
        tables = {row[0] for row in frame.select("_table").distinct().collect()}
        assert tables == {"orders", "customers", "products"}
        rows = table_of(frame, ORDERS, wanted)
        assert rows.schema == alone.schema
        assert sorted(rows.collect(), key=place) == expected
    # Rows have the columns that they had: one that came later is there for the asking.
    later = StructType.fromDDL("id decimal(20,0), channel string")
    found = table_of(frame, ORDERS, later).select("channel").distinct().count()
    assert found > 1
    assert table_of(frame, ORDERS, later).columns[:3] == ["id", "channel", "_change_type"]


def place(row: object) -> tuple[int, int]:
    return row["_commit_version"], row["_change_ordinal"]  # type: ignore[index]


def test_values_that_do_not_fit_fail(spark: SparkSession, shop: Shop) -> None:
    frame = splits(spark, shop.glob).mapInArrow(decoder(tables="shop.*"), tables_schema())
    narrow = StructType.fromDDL("id tinyint, status string")
    with pytest.raises(Exception, match="MALFORMED_RECORD"):
        table_of(frame, ORDERS, narrow).collect()


def test_what_table_of_refuses(spark: SparkSession, shop: Shop) -> None:
    wanted = schema(str(shop.files[0]), ORDERS)
    frame = spark.createDataFrame([], tables_schema())
    for broken, message in [
        (
            lambda: table_of(spark.createDataFrame([], wanted), ORDERS, wanted),
            "no column '_database'",
        ),
        (lambda: table_of(frame, ORDERS, wanted, envelope_prefix="x"), "envelope_prefix"),
        (lambda: table_of(frame, "orders", wanted), "database.table"),
        (lambda: table_of(frame, ORDERS, StructType().add("j", VariantType())), "json="),
        (lambda: table_of(frame, ORDERS, StructType.fromDDL("_op string")), "no columns"),
        (lambda: table_of(frame, ORDERS, StructType.fromDDL("id int, _gtid string")), "'_gtid'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            broken()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "tables"),
        ({"table": "a.b", "tables": "a.*"}, "set either"),
        ({"tables": "a.*", "layout": "flat"}, "nested-json"),
        ({"table": "a.b", "layout": "nested-json"}, "tables"),
        ({"table": "a.b", "excludeTables": "a.c"}, "excludeTables"),
        ({"table": "a.b", "truncates": "emit_all"}, "truncates=emit_all is for several tables"),
        ({"tables": "a.*", "columns": "id"}, "table_of"),
        ({"tables": "a.*", "schemaChangePolicy": "fail"}, "schemaChangePolicy"),
    ],
)
def test_options_that_contradict(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SourceOptions.parse({**options, "path": "/nowhere"})


def test_options_of_several() -> None:
    given = {"tables": "a.*, b.c", "layout": "nested-json", "mask": "a.t.x=null", "path": "/log"}
    options = SourceOptions.parse(given)
    assert options.table is None
    assert options.tables == ("a.*", "b.c")
    assert options.name == "a.*, b.c"
    assert options.read["mask"] == {"a.t.x": "null"}
    assert "layout" not in options.read
    assert SourceOptions.parse({"table": "a.b", "path": "/log"}).tables == "a.b"


def test_what_the_decoder_refuses() -> None:
    wanted = StructType.fromDDL("id int")
    for keywords, message in [
        ({}, "either a table or tables="),
        ({"table": "a.b", "schema": wanted, "tables": "a.*"}, "either a table or tables="),
        ({"table": "a.b"}, "schema"),
        ({"tables": "a.*", "layout": "nested"}, "nested-json"),
        ({"table": "a.b", "schema": wanted, "layout": "nested-json"}, "tables"),
    ]:
        with pytest.raises(ConfigError, match=message):
            decoder(**keywords)  # type: ignore[arg-type]
