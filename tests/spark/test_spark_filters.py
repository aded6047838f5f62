"""`columns`, `operations` and `mask` in Spark; the salt is in no plan."""

from __future__ import annotations

import hmac
from collections import Counter
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import binarrow
from binarrow.spark import decoder, register, schema, splits
from binarrow.spark.source_options import SourceOptions

SALT = "s4lt-of-spark"
TABLE = "shop.customers"
KEPT: dict[str, Any] = {"columns": {TABLE: ["id", "email", "country"]}, "operations": ["insert"]}
MASK: dict[str, Any] = {
    "mask": {f"{TABLE}.email": "sha256", f"{TABLE}.country": "null"},
    "mask_salt": SALT,
}


@pytest.fixture(autouse=True)
def _registered(spark):
    register(spark)


@pytest.fixture(scope="module")
def expected(shop):
    reader = binarrow.read_binlog(shop.glob, tables=TABLE, operations="insert")
    emails = [
        (row["id"], hmac.new(SALT.encode(), row["email"].encode(), "sha256").hexdigest(), None)
        for batch in reader
        for row in batch.to_pyarrow().to_pylist()
    ]
    assert len(emails) > 100
    return Counter(emails)


def plan_of(frame) -> str:
    return str(frame._jdf.queryExecution().toString())


def test_decoder(spark, shop, expected):
    declared = schema(shop.glob, TABLE, columns=KEPT["columns"], **MASK)
    assert declared.names[:3] == ["id", "email", "country"]
    assert declared.names[3].startswith("_")
    decode = decoder(TABLE, declared, **KEPT, **MASK)
    frame = splits(spark, shop.glob, target_bytes="200k").mapInArrow(decode, declared)
    assert Counter(tuple(row)[:3] for row in frame.collect()) == expected
    assert SALT not in plan_of(frame) + repr(frame) + repr(decode)


def test_data_source(spark, shop, expected, tmp_path):
    salt = tmp_path / "salt"
    salt.write_text(f"{SALT}\n")
    options = {
        "table": TABLE,
        "columns": "id, email, country",
        "operations": "insert",
        "mask": "email=sha256, country=null",
        "maskSaltFile": str(salt),
    }
    frame = spark.read.format("binarrow").options(**options).load(shop.glob)
    assert Counter(tuple(row)[:3] for row in frame.collect()) == expected
    assert SALT not in plan_of(frame)
    assert SALT not in repr(SourceOptions.parse({**options, "path": shop.glob}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mask": "email=sha256"}, "needs mask_salt"),
        ({"mask": "email=md5"}, "COLUMN=sha256"),
        ({"mask": "email"}, "COLUMN=sha256"),
        ({"mask": "email=sha256", "maskSalt": SALT}, "set the option maskSaltFile"),
        ({"mask": "email=sha256", "maskSaltFile": "/nowhere/salt"}, "the salt file"),
        ({"operations": "upsert"}, "upsert"),
        ({"columns": "price"}, "price"),
    ],
)
def test_bad_options(spark, shop, options, message):
    frame = spark.read.format("binarrow").options(table=TABLE, **options)
    if "operations" in options:  # which do not shape the schema
        with pytest.raises(Exception, match=message):
            frame.load(shop.glob).count()
        return
    with pytest.raises(AnalysisException, match=message) as caught:
        frame.load(shop.glob)
    assert SALT not in str(caught.value)
