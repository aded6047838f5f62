"""A consumer that stores each batch with its position and stops at any time gets every row exactly once."""

from __future__ import annotations

import json
import pickle
from itertools import product
from typing import Any

import pytest

import binarrow
from binarrow import ConfigError, FileCheckpoint, Position
from binarrow.spark.live.offset import offset_of
from binarrow.spark.live.place import place_from
from binarrow.stored_forms import OFFSET
from binarrow.stream import Stream

WAYS: list[dict[str, Any]] = [
    {"threads": threads, "segment_bytes": segment, "batch_rows": rows}
    for (threads, segment), rows in zip(
        product((1, 2, 4), (1500, 64 << 10, 64 << 20)),
        (65_536, 500, 3000, 100, 65_536, 900, 2000, 300, 65_536),
        strict=True,
    )
]


def keys(change: binarrow.ChangeBatch) -> list[tuple[str, int, int]]:
    columns = change.to_pyarrow().select(["_commit_version", "_change_ordinal"]).to_pydict()
    return [(change.table, *key) for key in zip(*columns.values(), strict=True)]


def by_table(rows: list[tuple[str, int, int]]) -> dict[str, list[tuple[str, int, int]]]:
    """A table's rows in the order in which they were returned."""
    tables: dict[str, list[tuple[str, int, int]]] = {}
    for row in rows:
        tables.setdefault(row[0], []).append(row)
    return tables


@pytest.fixture(scope="module")
def complete(shop):
    return [key for change in binarrow.read_binlog(shop.glob) for key in keys(change)]


def test_a_consumer_that_runs_once_for_each_batch(shop, complete):
    rows, stored, runs = [], None, 0
    while True:
        start = None if stored is None else Position.from_json(stored)
        keywords = WAYS[runs % len(WAYS)]
        with binarrow.read_binlog(shop.glob, start=start, **keywords) as reader:
            change = next(reader, None)
            if change is None:
                break
            rows += keys(change)
            stored = change.position.to_json()
            assert reader.position == change.position
        runs += 1
        assert len(rows) <= len(complete)
    assert runs > 20
    assert by_table(rows) == by_table(complete)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_any_batch_is_a_place_to_resume_at(shop, complete, way):
    ends, rows = [], []
    for change in binarrow.read_binlog(shop.glob, **way):
        rows += keys(change)
        ends.append((len(rows), change.position))
    assert by_table(rows) == by_table(complete)
    for number, (end, position) in enumerate([*ends[:: max(len(ends) // 3, 1)], ends[-1]]):
        other = WAYS[(WAYS.index(way) + 4 * number + 1) % len(WAYS)]
        rest = [
            key
            for change in binarrow.read_binlog(shop.glob, start=position, **other)
            for key in keys(change)
        ]
        assert by_table(rest) == by_table(rows[end:]), position.to_json()


def test_a_checkpoint_of_a_consumer_that_stops_in_the_middle(shop, complete, tmp_path):
    checkpoint = FileCheckpoint(tmp_path / "pos.json", interval=0)
    rows, runs = [], 0
    while True:
        start = checkpoint.load() or Position(shop.files[0].name, 4)
        reader = binarrow.read_binlog(shop.glob, start=start, threads=2, batch_rows=4000)
        with Stream(reader, checkpoint) as changes:
            change = next(changes, None)
            if change is not None:
                rows += keys(change)
        if change is None:
            break
        runs += 1
        assert len(rows) <= len(complete)
    assert runs > 5
    assert by_table(rows) == by_table(complete)


@pytest.mark.parametrize("asks_for_schema", [False, True])
def test_a_table_batch_by_batch(shop, complete, asks_for_schema):
    count, start = 0, None
    while True:
        reader = binarrow.read_binlog(shop.glob, start=start, batch_rows=700)
        table = reader.table("shop.orders", on_schema_change="evolve")
        if asks_for_schema:
            try:
                assert len(table.schema) > 0
            except binarrow.SchemaError:
                break
            before = table.position
        batch = next(table, None)
        if batch is None:
            break
        if asks_for_schema:
            # A batch that was read only for its schema was not returned, but statements before it were passed.
            again = binarrow.read_binlog(shop.glob, start=before, batch_rows=700)
            assert next(again.table("shop.orders", on_schema_change="evolve")) == batch
        count += batch.num_rows
        assert count <= len(by_table(complete)["orders"])
        start = table.position
        table.close()
    assert count == len(by_table(complete)["orders"])


@pytest.fixture(scope="module")
def ahead(shop):
    """A position with some tables in `ahead`."""
    for change in binarrow.read_binlog(shop.glob, batch_rows=500):
        if change.position.ahead:
            return change.position
    raise AssertionError("no such position")


def test_what_a_position_says(shop, ahead):
    assert all(table.startswith("shop.") for table in ahead.ahead)
    stored = json.loads(ahead.to_json())
    assert stored["v"] == 2
    assert list(stored) == sorted(stored)
    assert Position.from_json(ahead.to_json()) == ahead == pickle.loads(pickle.dumps(ahead))
    assert hash(Position.from_json(ahead.to_json())) == hash(ahead)
    assert ahead.base != ahead
    assert ahead.base.ahead == ()
    assert str(ahead.base) == str(ahead)
    assert "ahead" not in json.loads(ahead.base.to_json())
    version_1 = {**json.loads(ahead.base.to_json()), "v": 1}
    assert Position.from_json(json.dumps(version_1)) == ahead.base
    with pytest.raises(ConfigError, match="format version 4"):
        Position.from_json(json.dumps({**version_1, "v": 4}))


def test_a_stop_is_the_base(shop, ahead):
    def up_to(stop):
        return [
            key for change in binarrow.read_binlog(shop.glob, stop=stop) for key in keys(change)
        ]

    assert up_to(ahead) == up_to(ahead.base)


def test_more_tables_begin_at_the_base(shop, complete):
    rows = []
    for change in binarrow.read_binlog(shop.glob, tables="shop.orders", batch_rows=500):
        rows += keys(change)
        if change.position.ahead:
            position = change.position
            break
    assert position.ahead == ("shop.orders",)
    found = by_table(
        [key for one in binarrow.read_binlog(shop.glob, start=position) for key in keys(one)]
    )
    expected = by_table(complete)
    assert found["orders"] == expected["orders"][len(rows) :]
    base = int(position.file.rpartition(".")[2]) << 40 | position.offset
    for table in expected.keys() - {"orders"}:
        assert found.get(table, []) == [row for row in expected[table] if row[1] >= base]


def test_offsets_of_spark_are_bases(ahead):
    assert offset_of(ahead) == json.loads(ahead.base.to_json()) | OFFSET.stamp
    for refused in (lambda: place_from(ahead.to_json()), lambda: place_from(ahead)):
        with pytest.raises(ConfigError, match=r"shop.*`base`"):
            refused()
    assert place_from(ahead.base.to_json()) == ahead.base
