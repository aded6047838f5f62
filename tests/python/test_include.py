"""`include=` and `online_schema_change=`: their accepted values, and the items of a recorded log."""

from __future__ import annotations

import pytest

import binarrow
from binarrow import BinlogReader, ChangeBatch, ConfigError, SchemaChange, Stream, Transaction


def test_a_word_that_is_none_of_them(shop):
    for wrong in ("rows", ["schema_change", "ddl"], ["schema_change", ""]):
        with pytest.raises(ConfigError, match=r"include must be one of .*heartbeat"):
            binarrow.read_binlog(shop.glob, include=wrong)
    with pytest.raises(ConfigError, match="online_schema_change must be one of"):
        binarrow.read_binlog(shop.glob, online_schema_change="none")


def test_table_gives_rows_alone(shop):
    reader = binarrow.read_binlog(shop.glob, include="schema_change")
    with pytest.raises(ConfigError, match="leave out include="):
        reader.table("shop.orders")
    assert isinstance(next(reader), SchemaChange | ChangeBatch)  # it is not used up
    reader = binarrow.read_binlog(shop.glob, include=[])
    assert reader.table("shop.customers").read_all().num_rows > 0


def test_items_of_the_shop(shop):
    reader = binarrow.read_binlog(shop.glob, include=["schema_change", "transaction"])
    changes = list(reader)
    alters = [change for change in changes if isinstance(change, SchemaChange)]
    assert "shop.orders" in {table for change in alters for table in change.tables}
    rows = 0
    for change in changes:
        if isinstance(change, ChangeBatch):
            rows += change.num_rows
        elif isinstance(change, Transaction):
            assert change.rows == (None if change.kind == "begin" else rows)
            rows = 0
    ends = [change for change in changes if isinstance(change, Transaction) and change.rows]
    assert sum(change.rows for change in ends) == reader.stats()["rows"]
    plain = list(binarrow.read_binlog(shop.glob))
    assert all(isinstance(change, ChangeBatch) for change in plain)
    assert sum(change.num_rows for change in plain) == reader.stats()["rows"]


def test_items_are_values(shop):
    first, again = (
        [
            change
            for change in binarrow.read_binlog(shop.glob, include=["schema_change", "transaction"])
            if not isinstance(change, ChangeBatch)
        ]
        for _ in range(2)
    )
    assert first == again
    assert {*first} == {*again}
    assert first[0] != first[1]
    with pytest.raises(AttributeError):
        first[0].kind = "drop"
    assert BinlogReader[ChangeBatch].__origin__ is BinlogReader
    assert Stream[ChangeBatch].__origin__ is Stream
