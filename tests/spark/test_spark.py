"""Spark gives the rows that plain Python gives, however the files are shared out."""

from __future__ import annotations

import gzip
import shutil

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException, PythonException
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructType, TimestampNTZType

import binarrow
from binarrow.spark import apply_changes, decoder, read_mirror, register, schema, splits
from binarrow.spark.schema import _plain as plain_schema
from binarrow.spark.schema import arrow_schema, difference

pytestmark = pytest.mark.filterwarnings("ignore:.*shop.orders. the column channel:UserWarning")

SHOP_TABLES = ("shop.customers", "shop.products", "shop.orders", "shop.order_items")


@pytest.fixture(autouse=True)
def _registered(spark):
    register(spark)


def sorted_rows(table: pa.Table) -> pa.Table:
    return table.sort_by([("_commit_version", "ascending"), ("_change_ordinal", "ascending")])


def plain(source, table: str, declared: StructType) -> pa.Table:
    """The rows that Python reads without Spark, with the same schema."""
    reader = binarrow.read_binlog(source, types="spark")
    target = arrow_schema(declared)
    return pa.table(reader.table(table, schema=target, on_schema_change="conform"))


def assert_same(frame: DataFrame, expected: pa.Table) -> None:
    got = sorted_rows(frame.toArrow()).cast(expected.schema)
    assert got.num_rows > 0
    assert got.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("table", SHOP_TABLES)
def test_map_in_arrow_over_several_files(spark, shop, table):
    declared = schema(shop.glob, table)
    ranges = splits(spark, shop.glob, target_bytes="200k")
    frame = ranges.mapInArrow(decoder(table, declared), declared)
    assert frame.schema == declared
    assert_same(frame, plain(shop.glob, table, declared))


def test_map_in_arrow_over_one_file_in_ranges(spark, shop):
    path = str(shop.files[0])
    declared = schema(path, "shop.products")
    ranges = splits(spark, path, target_bytes="50k")
    assert ranges.count() > 5
    frame = ranges.mapInArrow(decoder("shop.products", declared), declared)
    assert_same(frame, plain(path, "shop.products", declared))


def test_map_in_arrow_over_paths(spark, shop):
    declared = schema(shop.glob, "shop.orders")
    paths = spark.createDataFrame([(str(path),) for path in shop.files], "path string")
    frame = paths.mapInArrow(decoder("shop.orders", declared, batch_rows=100), declared)
    assert frame.count() == shop.change_types("shop.orders").total()


def test_every_range_is_a_partition(spark, shop):
    ranges = splits(spark, [str(path) for path in shop.files], target_bytes="50k")

    def count(batches):
        yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})

    rows = [row.rows for row in ranges.mapInArrow(count, "rows long").collect()]
    assert len(rows) > 10
    assert set(rows) == {1}
    assert sum(row.stop - row.start for row in ranges.collect()) > 1_500_000


@pytest.mark.parametrize("table", SHOP_TABLES)
@pytest.mark.parametrize(
    "options", [{}, {"targetBytes": "50k"}, {"NumPartitions": "3", "batchrows": "50"}], ids=str
)
def test_data_source(spark, shop, table, options):
    frame = spark.read.format("binarrow").options(table=table, **options).load(shop.glob)
    assert frame.schema == schema(shop.glob, table)
    assert_same(frame, plain(shop.glob, table, frame.schema))


def test_compressed_files_and_indexes(spark, shop, tmp_path):
    for file in shop.files:
        packed = tmp_path / f"{file.name}.gz"
        packed.write_bytes(gzip.compress(file.read_bytes()))
        binarrow.write_index(str(packed), segment_bytes=30_000, most_bytes=1 << 20)
    reader = spark.read.format("binarrow").options(table="shop.orders", targetBytes="50k")
    frame = reader.load(str(tmp_path))
    assert frame.rdd.getNumPartitions() == len(shop.files)
    assert_same(frame, plain(shop.glob, "shop.orders", frame.schema))
    found = reader.option("where", "id = 7").load(str(tmp_path))
    full = reader.option("where", "id = 7").option("index", "ignore").load(str(tmp_path))
    assert found.count() == full.count() > 0


def test_partitions_of_files_with_an_index(spark, shop, tmp_path):
    for file in shop.files:
        log = shutil.copy(file, tmp_path)
        binarrow.write_index(log, segment_bytes=30_000, most_bytes=1 << 20)
    reader = spark.read.format("binarrow").options(table="shop.orders", targetBytes="50k")
    frame = reader.load(str(tmp_path / "binlog.0*[0-9]"))
    assert frame.rdd.getNumPartitions() > 5
    assert_same(frame, plain(shop.glob, "shop.orders", frame.schema))


def test_data_source_partitions(spark, shop):
    def partitions(**options: str) -> int:
        reader = spark.read.format("binarrow").options(table="shop.orders", **options)
        return reader.load(shop.glob).rdd.getNumPartitions()

    assert partitions() == 2
    assert partitions(targetBytes="50k") > 10
    assert partitions(numPartitions="3") == 3
    assert partitions(numPartitions="1") == 1


def test_data_source_over_a_list_of_paths(spark, shop):
    paths = [str(path) for path in shop.files]
    frame = spark.read.format("binarrow").option("table", "shop.customers").load(paths)
    assert frame.count() == shop.change_types("shop.customers").total()


def test_gaps_between_files(spark, shop, tmp_path):
    for path, name in zip(shop.files, ("binlog.000001", "binlog.000003"), strict=True):
        (tmp_path / name).symlink_to(path)
    with pytest.raises(binarrow.ConfigError, match=r"binlog\.000002"):
        splits(spark, str(tmp_path))
    assert splits(spark, str(tmp_path), gaps="allow").count() == 2

    reader = spark.read.format("binarrow").option("table", "shop.customers")
    with pytest.raises(PySparkException, match=r"binlog\.000002"):
        reader.load(str(tmp_path)).count()
    everything = shop.change_types("shop.customers").total()
    assert reader.option("gaps", "allow").load(str(tmp_path)).count() == everything


def test_counts_by_change_type(spark, shop):
    for table in SHOP_TABLES:
        frame = spark.read.format("binarrow").option("table", table).load(shop.glob)
        counts = {
            row["_change_type"]: row["count"]
            for row in frame.groupBy("_change_type").count().collect()
        }
        assert counts == shop.change_types(table)


def test_an_alter_in_mid_log_conforms(spark, shop):
    before = schema(shop.glob, "shop.orders")
    assert "channel" not in before.names
    after = StructType([*before.fields]).add("channel", StringType())

    ranges = splits(spark, shop.glob, target_bytes="200k")
    frame = ranges.mapInArrow(decoder("shop.orders", after), after)
    assert frame.count() == shop.change_types("shop.orders").total()
    named = frame.where("channel IS NOT NULL").count()
    assert 0 < named < frame.count()

    source = spark.read.format("binarrow").option("table", "shop.orders").schema(after)
    assert source.load(shop.glob).where("channel IS NOT NULL").count() == named


def test_an_alter_in_mid_log_may_be_an_error(spark, shop):
    reader = spark.read.format("binarrow").option("table", "shop.orders")
    with pytest.raises(PythonException, match="SchemaError"):
        reader.option("schemaChangePolicy", "fail").load(shop.glob).count()


def test_options_shape_schema_and_rows_alike(spark, shop):
    reader = spark.read.format("binarrow").option("table", "shop.orders")
    frame = reader.options(envelopePrefix="cdc_", envelope="change_type,commit_version").load(
        shop.glob
    )
    assert frame.columns[-2:] == ["cdc_change_type", "cdc_commit_version"]
    assert frame.count() == shop.change_types("shop.orders").total()


@pytest.mark.parametrize("by_hand", [True, False], ids=["decoder", "format"])
def test_nested_rows_without_old_values(spark, shop, by_hand):
    table, settings = "shop.products", {"layout": "nested", "old_value": False}
    declared = schema(shop.glob, table, layout="nested")
    if by_hand:
        ranges = splits(spark, shop.glob, target_bytes="200k")
        frame = ranges.mapInArrow(decoder(table, declared, **settings), declared)
    else:
        options = {"table": table, "layout": "nested", "oldValue": "false"}
        frame = spark.read.format("binarrow").options(**options).load(shop.glob)
    assert frame.schema == declared
    reader = binarrow.read_binlog(shop.glob, types="spark", **settings)
    target = arrow_schema(declared)
    assert_same(frame, pa.table(reader.table(table, schema=target, on_schema_change="conform")))
    assert frame.where("_op = 'u' AND before IS NULL AND after.sku IS NOT NULL").count() > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "shop.orders", "tagetBytes": "1m"}, "did you mean 'targetBytes'"),
        ({"table": "shop.orders", "targetBytes": "many"}, "is not a size"),
        ({"table": "shop.orders", "time": "sundial"}, "micros, interval, text"),
        ({"table": "shop.orders", "numPartitions": "0"}, "at least 1"),
        ({}, "no table is set"),
    ],
)
def test_bad_options(spark, shop, options, message):
    with pytest.raises(AnalysisException, match=message):
        spark.read.format("binarrow").options(**options).load(shop.glob)


def test_bad_keywords():
    with pytest.raises(TypeError, match="did you mean 'batch_rows'"):
        decoder("shop.orders", StructType(), batch_row=1)
    with pytest.raises(binarrow.ConfigError, match="profile='spark'"):
        decoder("shop.orders", StructType(), types="native")


def test_a_table_that_is_not_there(spark, shop):
    with pytest.raises(AnalysisException, match=r"shop\.oders"):
        spark.read.format("binarrow").option("table", "shop.oders").load(shop.glob)


def test_schema_is_what_spark_would_make_of_it(shop):
    for table in SHOP_TABLES:
        declared = schema(shop.glob, table)
        inferred = binarrow.infer_schema(shop.glob, table, types="spark")
        assert all(field.nullable for field in declared)
        assert difference(arrow_schema(declared), plain_schema(inferred)) == ""
    created = schema(shop.glob, "shop.customers")["created_at"]
    assert created.dataType == TimestampNTZType()


def test_a_broken_file_is_named(spark, shop, tmp_path):
    declared = schema(shop.glob, "shop.orders")
    broken = tmp_path / "binlog.000001"
    data = bytearray(shop.files[0].read_bytes())
    data[len(data) // 2] ^= 1
    broken.write_bytes(data)
    paths = spark.createDataFrame([(str(broken),)], "path string")
    with pytest.raises(PythonException, match=str(broken)):
        paths.mapInArrow(decoder("shop.orders", declared), declared).count()


def test_a_limit_closes_the_reader(spark, shop):
    declared = schema(shop.glob, "shop.orders")
    frame = splits(spark, shop.glob).mapInArrow(
        decoder("shop.orders", declared, batch_rows=10), declared
    )
    assert frame.limit(5).count() == 5


def test_a_mirror_in_a_relative_folder(spark, shop, tmp_path, monkeypatch):
    """It is in the current folder, not in the one in which Spark was started."""
    monkeypatch.chdir(tmp_path)
    changes = spark.read.format("binarrow").option("table", "shop.products").load(shop.glob)
    apply_changes("lake/products", "sku", format="parquet")(changes)
    rows = shop.tables["shop.products"]["rows"]
    assert read_mirror(spark, "lake/products").count() == rows
    assert read_mirror(spark, str(tmp_path / "lake/products")).count() == rows
