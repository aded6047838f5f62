"""Rows of `binarrow.spark.sync` from before a column got its name in other letter case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import StructField, StructType

from binarrow.spark.syncing.spellings import other_spellings, rows_of
from binarrow.spark.syncing.structures import Structure
from binarrow.spark.syncing.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_rename_of_letter_case(spark: SparkSession) -> None:
    changes = [
        ("c", None, '{"id": 1, "x": 5}'),
        ("u", '{"id": 1, "x": 5}', '{"id": 1, "X": 6}'),
        ("c", None, '{"id": 2, "X": null}'),
        ("t", None, None),
    ]
    frame = spark.createDataFrame(
        [("shop", "t", op, before, after, n, 0) for n, (op, before, after) in enumerate(changes)],
        "_database string, _table string, _op string, before string, after string,"
        " _commit_version bigint, _change_ordinal bigint",
    )
    schema = StructType.fromDDL("id int, X int, _change_type string, _commit_version bigint")
    fields = [StructField(one.name, one.dataType, metadata={"of": one.name}) for one in schema[:2]]
    schema = StructType([*fields, *schema[2:]])
    rows = rows_of(frame, "shop.t", schema, other_spellings(["id", "X"], ["id", "x", "X", "y"]))
    assert rows.schema["X"].metadata == {"of": "X"}
    assert spark.conf.get("spark.sql.caseSensitive") == "false"
    found = rows.orderBy("_commit_version", "x").select("_change_type", "id", "x").collect()
    assert [tuple(row) for row in found] == [
        ("insert", 1, 5),
        ("update_preimage", 1, 5),
        ("update_postimage", 1, 6),
        ("insert", 2, None),
        ("truncate", None, None),
    ]


def test_columns_of_earlier_spellings_are_not_dropped_ones(monkeypatch) -> None:
    held = StructType.fromDDL("x int, gone int")
    monkeypatch.setattr(Table, "held", lambda _: held)
    structure = Structure(StructType.fromDDL("X int, _change_type string"), ())
    table = Table(("shop", "t"), structure, None)  # type: ignore[arg-type]
    logged = [{"x", "gone"}, {"X"}]
    assert table.with_dropped_columns(logged).names == ["X", "gone", "_change_type"]
    assert table.spellings(logged) == {"x": "X"}
