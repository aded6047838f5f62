"""`columns=` and `operations=`: what is left out is as if it had been taken away afterwards."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest

import binarrow

FIXTURES = Path(__file__).parent.parent / "fixtures"
LOGS = sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "binlog.000001").exists())
ENVELOPE = ["_change_type", "_commit_version", "_commit_timestamp", "_change_ordinal"]
PRESENT = ["change_type", "commit_version", "change_ordinal", "present"]


def batches(source: str, **keywords: Any) -> list[tuple[str, pa.RecordBatch]]:
    """Table and rows of each batch, one batch a table and structure."""
    with binarrow.read_binlog(source, **keywords) as reader:
        return [(f"{each.database}.{each.table}", each.to_pyarrow()) for each in reader]


def own_columns(batch: pa.RecordBatch) -> list[str]:
    return [name for name in batch.schema.names if not name.startswith("_")]


@pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")
@pytest.mark.parametrize("log", LOGS)
def test_a_selection_is_what_the_whole_has_in_those_columns(log):
    source = str(FIXTURES / log / "binlog.*")
    keywords: dict[str, Any] = {"column_names": "positional", "envelope": PRESENT}
    complete = batches(source, **keywords)
    assert complete
    names: dict[str, set[str]] = defaultdict(set)
    for table, batch in complete:
        own = set(own_columns(batch))
        names[table] = names[table] & own if names[table] else own
    # Every second column, the others, and one alone.
    for picks in (slice(0, None, 2), slice(1, None, 2), slice(-1, None)):
        columns = {table: sorted(own)[picks] for table, own in names.items()}
        columns = {table: picked for table, picked in columns.items() if picked}
        for threads in (1, 3):
            part = batches(source, **keywords, columns=columns, threads=threads)
            assert len(part) == len(complete)
            for (table, all_columns), (of_table, selected) in zip(complete, part, strict=True):
                assert table == of_table
                picked = columns.get(table, own_columns(all_columns))
                kept = [
                    name
                    for name in all_columns.schema.names
                    if name in picked or name.startswith("_")
                ]
                assert selected.schema.names == kept
                assert selected.schema == all_columns.select(kept).schema
                assert selected.equals(all_columns.select(kept))


@pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")
@pytest.mark.parametrize("old_value", [True, False])
@pytest.mark.parametrize("log", [*LOGS, "shop"])
def test_a_selection_in_both_layouts_and_without_old_values(shop, log, old_value):
    """The rows of `layout="nested"` are the flat ones', column by column; keys are looked at all the same."""
    source = shop.glob if log == "shop" else str(FIXTURES / log / "binlog.*")
    keywords: dict[str, Any] = {"column_names": "positional", "old_value": old_value}
    names: dict[str, set[str]] = defaultdict(set)
    for table, batch in batches(source, **keywords):
        own = set(own_columns(batch))
        names[table] = names[table] & own if names[table] else own
    columns = {table: sorted(own)[1::2] or sorted(own) for table, own in names.items()}
    for layout in ("flat", "nested"):
        complete = rows_of(source, columns, **keywords, layout=layout)
        part = rows_of(source, None, **keywords, layout=layout, columns=columns)
        assert part == complete
        assert complete


def rows_of(
    source: str, cut_to: dict[str, list[str]] | None, **keywords: Any
) -> list[tuple[str, dict[str, Any]]]:
    """Table and row, cut down to the columns where they are given."""

    def cut(row: dict[str, Any], kept: list[str]) -> dict[str, Any]:
        sides = {side: row[side] and cut(row[side], kept) for side in SIDES if is_side(row, side)}
        own = {name: cell for name, cell in row.items() if name in kept or name.startswith("_")}
        return own | sides

    def is_side(row: dict[str, Any], side: str) -> bool:
        return "_op" in row and side in row

    rows = [
        (table, row) for table, batch in batches(source, **keywords) for row in batch.to_pylist()
    ]
    return rows if cut_to is None else [(table, cut(row, cut_to[table])) for table, row in rows]


SIDES = ("before", "after")


def test_column_patterns_add_up_and_case_does_not_count(shop):
    columns = {"shop.*": ["ID"], "shop.o?ders": "NOTE"}
    tables = {"tables": ["shop.orders", "shop.customers"]}
    for table, batch in batches(shop.glob, **tables, columns=columns):
        expected = ["id", "note"] if table == "shop.orders" else ["id"]
        assert own_columns(batch) == expected
    schema = binarrow.infer_schema(shop.glob, "shop.orders", columns=columns)
    assert schema.names == ["id", "note", *ENVELOPE]


def test_an_unselected_key_still_splits_updates(shop):
    """The recorded changes of keys are returned as deletes and inserts."""
    found: dict[str, int] = defaultdict(int)
    for _, batch in batches(
        shop.glob, columns={"shop.products": ["title"]}, tables="shop.products"
    ):
        assert own_columns(batch) == ["title"]
        for change in batch.column("_change_type").to_pylist():
            found[change] += 1
    assert dict(found) == dict(shop.change_types("shop.products"))
    assert shop.tables["shop.products"]["key_update"] > 0


def test_columns_that_cannot_be_are_errors(shop):
    def read(columns: Any) -> None:
        batches(shop.glob, columns=columns)

    with pytest.raises(binarrow.SchemaError, match=r'shop\.orders: columns contains "price"') as no:
        read({"shop.orders": ["id", "price"]})
    assert "binlog_row_metadata" not in str(no.value)
    with pytest.raises(binarrow.ConfigError, match="is empty"):
        read({"shop.orders": []})
    with pytest.raises(binarrow.ConfigError, match="not a table pattern"):
        read({"orders": ["id"]})
    for unfit in (["id"], {"shop.orders": 5}, {5: "id"}):
        with pytest.raises(TypeError, match="dict of tables"):
            read(unfit)
    frozen = MappingProxyType({"shop.orders": ("id",)})
    assert batches(shop.glob, columns=frozen, tables="shop.orders")[0][1].num_columns == 5
    # Of tables that are not read nothing is asked.
    assert batches(shop.glob, columns={"shop.orders": ["price"]}, tables="shop.products")


def test_operations_are_what_the_source_did(shop):
    """An update that splits counts as an update; ordinals and versions stay those of all rows."""
    kinds = {"insert": ("inserts",), "update": ("updates",), "delete": ("deletes",)}
    order = ["_commit_version", "_change_ordinal"]
    complete = [
        tuple(row[name] for name in (*order, "_change_type"))
        for _, batch in batches(shop.glob)
        for row in batch.select([*order, "_change_type"]).to_pylist()
    ]
    together = []
    for count in (1, 2):
        for operations in itertools.combinations(kinds, count):
            with binarrow.read_binlog(shop.glob, operations=operations) as reader:
                rows = [row for each in reader for row in each.to_pyarrow().to_pylist()]
                stats = reader.stats()
            for table, counts in stats["tables"].items():
                books = shop.tables[table]
                for operation, (counted,) in kinds.items():
                    expected = books[operation] if operation in operations else 0
                    assert counts[counted] == expected, (table, operations)
            if count == 1:
                together += [(*(row[name] for name in order), row["_change_type"]) for row in rows]
    assert sorted(together) == sorted(complete)


@pytest.mark.parametrize(
    ("operations", "message"), [([], "is empty"), (["upsert"], "upsert"), ("Insert", "Insert")]
)
def test_operations_that_cannot_be_are_errors(shop, operations, message):
    with pytest.raises(binarrow.ConfigError, match=message):
        batches(shop.glob, operations=operations)
