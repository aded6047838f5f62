"""Files in an object store: Spark reads them as it reads files here, and shows no secret."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import binarrow
from binarrow.spark import decoder, register, schema, splits
from binarrow.spark.schema import arrow_schema

pytestmark = pytest.mark.filterwarnings("ignore:.*shop.orders. the column channel:UserWarning")

TABLE = "shop.products"
ORDER = ["_commit_version", "_change_ordinal"]


def test_a_bucket(spark, shop, objects):
    register(spark)
    options = objects.s3_options
    declared = schema("s3://logs/shop/", TABLE, storage_options=options)
    plain = binarrow.read_binlog(shop.glob, types="spark").table(
        TABLE, schema=arrow_schema(declared)
    )
    expected = pa.table(plain).to_pylist()

    def rows(frame):
        return frame.sort(*ORDER).toArrow().to_pylist()

    reader = spark.read.format("binarrow").option("table", TABLE).option("numPartitions", "3")
    reader = reader.option("storageOptions", json.dumps(options))
    for source in ("s3a://logs/shop", "s3://logs/*/binlog.*"):
        frame = reader.load(source)
        assert frame.schema == declared
        assert frame.rdd.getNumPartitions() == 3
        assert rows(frame) == expected

    ranges = splits(spark, "s3://logs/shop/", target_bytes="200k", storage_options=options)
    found = ranges.collect()
    assert len(found) > 5
    assert {row.path for row in found} == {f"s3://logs/shop/{path.name}" for path in shop.files}
    assert options["secret_key"] not in str(found)
    decode = decoder(TABLE, declared, storage_options=options)
    assert rows(ranges.mapInArrow(decode, declared)) == expected
    names = spark.createDataFrame(
        [(f"{objects.http}/logs/shop/{path.name}",) for path in shop.files]
    )
    complete = names.toDF("path").mapInArrow(decoder(TABLE, declared), declared)
    assert rows(complete) == expected


def test_storage_options_are_shown_nowhere(spark, objects, capfd):
    register(spark)
    reader = spark.read.format("binarrow").option("table", TABLE)
    broken = '{"secret_key": "oh-so-secret",'
    with pytest.raises(
        Exception, match="option 'storageOptions': it must be a JSON object"
    ) as failure:
        reader.option("storageOptions", broken).load("s3://logs/shop")
    assert "oh-so-secret" not in str(failure.value)
    given = reader.option("storageOptions", json.dumps(objects.s3_options))
    frame = given.load("s3://logs/shop")
    frame.explain(extended=True)
    assert "oh-so-secret" not in capfd.readouterr().out
    with pytest.raises(Exception, match="no such file") as failure:
        given.load("s3://logs/shop/binlog.000009").collect()
    assert "oh-so-secret" not in str(failure.value)
