"""`where=`: the changes that a condition keeps, without a server."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import binarrow

Row = dict[str, Any] | None


def changes(source: str, **keywords: Any) -> list[tuple[Row, Row]]:
    """Each change as the rows before and after it."""
    with binarrow.read_binlog(source, layout="nested", **keywords) as reader:
        rows = [row for batch in reader for row in batch.to_pyarrow().to_pylist()]
    return [(row["before"], row["after"]) for row in rows]


def either(holds: Callable[[dict[str, Any]], bool]) -> Callable[[Row, Row], bool]:
    return lambda old, new: any(row is not None and holds(row) for row in (old, new))


CONDITIONS: list[tuple[str, str, Callable[[Row, Row], bool]]] = [
    ("shop.orders", "id = 7", either(lambda row: row["id"] == 7)),
    ("shop.orders", "`ID` IN (7, 8, 400)", either(lambda row: row["id"] in (7, 8, 400))),
    (
        "shop.orders",
        "old.status <> new.status",
        lambda old, new: bool(old and new and old["status"] != new["status"]),
    ),
    ("shop.orders", "old.id IS NULL", lambda old, new: old is None),
    ("shop.order_items", "new.order_id IS NULL", lambda old, new: new is None),
    ("shop.orders", "id < 0", lambda old, new: False),
    ("shop.orders", "id > 0 OR id <= 0", lambda old, new: True),
    (
        "shop.products",
        "old.sku <> new.sku",
        lambda old, new: bool(old and new and old["sku"] != new["sku"]),
    ),
]


@pytest.mark.parametrize(("table", "where", "holds"), CONDITIONS, ids=[c[1] for c in CONDITIONS])
def test_a_filter_is_the_complete_read_filtered_afterwards(shop, table, where, holds):
    keywords: dict[str, Any] = {"tables": table, "split_key_updates": False}
    expected = [pair for pair in changes(shop.glob, **keywords) if holds(*pair)]
    for more in ({}, {"threads": 3, "segment_bytes": 2000}, {"batch_rows": 1}, {"types": "spark"}):
        found = changes(shop.glob, where=where, **{**keywords, **more})
        if "types" not in more:
            assert found == expected
        assert len(found) == len(expected)
    with binarrow.read_binlog(shop.glob, where=where, **keywords) as reader:
        rows = [len(batch.to_pyarrow()) for batch in reader]
        stats = reader.stats()
    assert 0 not in rows
    assert sum(rows) == sum((old is not None) + (new is not None) for old, new in expected)
    assert (stats["rows"], stats["batches"]) == (sum(rows), len(rows))


def test_an_update_that_changes_the_key_stays_together(shop):
    """It is a delete and an insert; the filter compares both rows."""
    where = "old.sku <> new.sku"
    with binarrow.read_binlog(shop.glob, tables="shop.products", where=where) as reader:
        kinds = [
            kind for batch in reader for kind in batch.to_pyarrow()["_change_type"].to_pylist()
        ]
    assert kinds == ["delete", "insert"] * shop.tables["shop.products"]["key_update"]


def test_a_read_resumes_after_each_batch(shop):
    """Rows that the filter leaves out are not read again, and none is lost."""
    keywords: dict[str, Any] = {"tables": "shop.orders", "where": "id > 300", "batch_rows": 5}

    def rows(batch: Any) -> list[Any]:
        return batch.to_pyarrow().to_pylist()

    with binarrow.read_binlog(shop.glob, **keywords) as reader:
        batches = [(rows(batch), batch.position) for batch in reader]
    complete = [row for batch, _ in batches for row in batch]
    read = 0
    for number, (batch, position) in enumerate(batches):
        read += len(batch)
        if number % 10 == 0:
            with binarrow.read_binlog(shop.glob, start=position, **keywords) as reader:
                assert [row for each in reader for row in rows(each)] == complete[read:]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("id = 7 AND", "where: .* is missing near the end"),
        ("id ~ 7", "where: a comparison is missing"),
        ("statu = 'x'", 'there is no column "statu"; did you mean "status"?'),
        ("status = 7", r'column "status" of the type enum.* cannot be compared with a number'),
        ("id = 'x'", 'column "id" of the type .*int.* cannot be compared with a string'),
        ("id = NULL", "write IS NULL or IS NOT NULL"),
    ],
)
def test_a_filter_that_is_wrong(shop, where, message):
    with pytest.raises(binarrow.ConfigError) as failure:
        changes(shop.glob, tables="shop.orders", where=where)
    assert re.search(message.replace("?", r"\?"), str(failure.value)), str(failure.value)


def test_the_place_of_an_error_has_a_caret(shop):
    with pytest.raises(binarrow.ConfigError) as failure:
        changes(shop.glob, where="id = 7 AN status = 'paid'")
    *_, line, caret = str(failure.value).splitlines()
    assert line[caret.index("^") :].startswith("AN status")


def test_columns_that_are_not_read(shop):
    with pytest.raises(binarrow.ConfigError, match='column "status" is not read: add it to'):
        changes(
            shop.glob, columns={"shop.orders": ["id"]}, tables="shop.orders", where="status='x'"
        )
    with pytest.raises(binarrow.ConfigError, match="hides the values of column"):
        changes(shop.glob, mask={"*.*.status": "null"}, tables="shop.orders", where="status='x'")
    with pytest.raises(binarrow.ConfigError, match="old_value"):
        binarrow.read_binlog(shop.glob, where="id = 1", old_value=False)
    with pytest.raises(binarrow.ConfigError, match="column_names"):
        binarrow.read_binlog(shop.glob, where="id = 1", column_names="none")
