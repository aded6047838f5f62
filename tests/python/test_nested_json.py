"""Changes of many tables under one schema: `nested_json()`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import binarrow
from binarrow import ConfigError, TypeOptions

if TYPE_CHECKING:
    from conftest import Shop

ORDER = [("_commit_version", "ascending"), ("_change_ordinal", "ascending")]


def test_one_stream_holds_what_the_tables_hold(shop: Shop) -> None:
    with binarrow.read_binlog(shop.glob, types="spark").nested_json() as reader:
        rows = pa.RecordBatchReader.from_stream(reader).read_all().sort_by(ORDER)
    assert rows.schema == binarrow.nested_json_schema(types="spark")
    assert rows.schema.names[:5] == ["_database", "_table", "_op", "before", "after"]
    assert set(rows["_database"].to_pylist()) == {"shop"}
    found: dict[str, list[Any]] = {}
    for row in rows.to_pylist():
        sides = [
            None if row[side] is None else json.loads(row[side]) for side in ("before", "after")
        ]
        found.setdefault(f"shop.{row['_table']}", []).append([row["_op"], *sides])
    expected: dict[str, list[Any]] = {}
    for change in binarrow.read_binlog(shop.glob, types="spark", layout="nested"):
        batch = change.to_pyarrow()
        for row in batch.to_pylist():
            sides = [row["before"], row["after"]]
            expected.setdefault(f"shop.{change.table}", []).append([row["_op"], *sides])
    assert found.keys() == expected.keys()
    for table, changes in expected.items():
        assert len(found[table]) == len(changes)
        for (op, *sides), (expected_op, *expected_sides) in zip(found[table], changes, strict=True):
            assert op == expected_op
            for side, wanted in zip(sides, expected_sides, strict=True):
                assert (side is None) == (wanted is None)
                assert side is None or side.keys() == wanted.keys()


def test_small_batches_of_many_tables_are_put_together(shop: Shop) -> None:
    options = {"types": "spark", "segment_bytes": 4096}
    changes = list(binarrow.read_binlog(shop.glob, **options))
    with binarrow.read_binlog(shop.glob, batch_rows=1000, **options).nested_json() as reader:
        sizes = [batch.num_rows for batch in reader]
    assert len(changes) > 20 * len(sizes)
    assert set(sizes[:-1]) == {1000}


def test_a_position_counts_only_what_was_handed_out(shop: Shop) -> None:
    complete = list(rows_of(binarrow.read_binlog(shop.glob, types="spark").nested_json()))
    options = {"types": "spark", "batch_rows": 300, "segment_bytes": 4096}
    reader = binarrow.read_binlog(shop.glob, **options).nested_json()
    handed_out = []
    with reader:
        for batch in reader:
            handed_out += rows_of([batch])
            if len(handed_out) > 1500:
                break
        position = reader.position
    assert position is not None
    again = binarrow.read_binlog(shop.glob, types="spark", start=position).nested_json()
    rest = list(rows_of(again))
    assert set(handed_out) | set(rest) == set(complete)
    assert len(handed_out) + len(rest) == len(complete)


@pytest.mark.parametrize("sizes", [(300, 4096), (70, 64 << 10), (300, 8 << 20)])
def test_each_row_comes_once_batch_by_batch(shop: Shop, sizes: tuple[int, int]) -> None:
    complete = list(rows_of(binarrow.read_binlog(shop.glob, types="spark").nested_json()))
    most, start, rows, runs = len(complete), None, [], 0
    while len(rows) <= most:
        options: dict[str, Any] = {
            "types": "spark",
            "batch_rows": sizes[0],
            "segment_bytes": sizes[1],
        }
        with binarrow.read_binlog(shop.glob, start=start, **options).nested_json() as reader:
            # The second batch also begins at the end of another one, in the middle of the rows.
            batches = [batch for _, batch in zip(range(7), reader, strict=False)]
            rows += rows_of(batches)
            start = reader.position
        if not batches:
            break
        runs += 1
    assert runs > 1
    assert sorted(map(repr, rows)) == sorted(map(repr, complete))


@pytest.mark.parametrize("batches_per_run", [1, 2])
@pytest.mark.parametrize("sizes", [(70, 64 << 10), (70, 8 << 20)])
@pytest.mark.parametrize("operations", [["insert"], ["update", "delete"]])
def test_some_operations_batch_by_batch(
    shop: Shop, operations: list[str], sizes: tuple[int, int], batches_per_run: int
) -> None:
    """Rows may be returned again, but none is lost, and the read ends."""
    own: dict[str, Any] = {"types": "spark", "operations": operations}
    complete = set(rows_of(binarrow.read_binlog(shop.glob, **own).nested_json()))
    own |= {"batch_rows": sizes[0], "segment_bytes": sizes[1]}
    start, rows, runs = None, set(), 0
    while True:
        with binarrow.read_binlog(shop.glob, start=start, **own).nested_json() as reader:
            batches = [batch for _, batch in zip(range(batches_per_run), reader, strict=False)]
            rows |= set(rows_of(batches))
            start = reader.position
        if not batches:
            break
        runs += 1
        assert runs <= len(complete), "the same rows are returned again and again"
    assert rows == complete


def rows_of(batches: Any) -> Any:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name, _ in ORDER]
        yield from zip(*columns, strict=True)


def test_what_cannot_be(shop: Shop) -> None:
    with pytest.raises(ConfigError, match="types='spark'"):
        binarrow.read_binlog(shop.glob).nested_json()
    with pytest.raises(ConfigError, match="include"):
        binarrow.read_binlog(shop.glob, types="spark", include="truncate").nested_json()
    reader = binarrow.read_binlog(shop.glob, types="spark")
    next(reader)
    with pytest.raises(ConfigError, match="before the first batch"):
        reader.nested_json()
    with binarrow.read_binlog(shop.glob, types="spark").nested_json() as reader:
        reader.read_all()
        with pytest.raises(ConfigError, match="read already"):
            reader.read_all()
    reader.close()
    with pytest.raises(ConfigError, match="closed"):
        next(reader)


def test_variants_are_as_spark_marks_them() -> None:
    types = TypeOptions(profile="spark", json="variant")
    schema = binarrow.nested_json_schema(types=types, envelope=["gtid"], envelope_prefix="x_")
    assert schema.names == ["x_database", "x_table", "x_op", "before", "after", "x_gtid"]
    after = schema.field("after").type
    assert after.field("metadata").metadata == {b"variant": b"true"}
    assert [(field.name, field.nullable) for field in after] == [
        ("value", False),
        ("metadata", False),
    ]
