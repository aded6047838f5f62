"""Both layouts contain the same changes of every recorded log."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow

FIXTURES = Path(__file__).parent.parent / "fixtures"
LOGS = sorted(path.parent for path in FIXTURES.glob("m*/binlog.000001"))
READ = {
    "envelope": ["change_type", "commit_version", "change_ordinal", "present"],
    "column_names": "positional",
    "gaps": "allow",
}

Row = tuple[Any, ...]
"""The change type, the version and ordinal, the cells, and the bits of a row."""


@pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_nested_rows_are_the_flat_ones(log):
    for old_value, split in itertools.product((True, False), (True, False)):
        rules = {"old_value": old_value, "split_key_updates": split}
        flat = by_table(log, of_flat, **rules)
        assert flat
        for way in ({}, {"threads": 2, "segment_bytes": 3000, "batch_rows": 7}):
            assert by_table(log, of_nested, layout="nested", **rules, **way) == flat, rules


def by_table(log: Path, rows_of: Any, **keywords: Any) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = defaultdict(list)
    for batch in binarrow.read_binlog(str(log / "binlog.*"), **READ, **keywords):
        rows[f"{batch.database}.{batch.table}"].extend(rows_of(batch.to_pyarrow()))
    return rows


def of_flat(batch: pa.RecordBatch) -> Iterator[Row]:
    *columns, kinds, versions, ordinals, present = map(cells, batch.columns)
    images = zip(*columns, strict=True)
    return zip(kinds, versions, ordinals, images, present, strict=True)


def of_nested(batch: pa.RecordBatch) -> Iterator[Row]:
    column = {name: batch.column(name) for name in batch.schema.names}
    sides = (images(column["before"]), images(column["after"]))
    rest = (cells(column[f"_{name}"]) for name in ("op", "commit_version", "change_ordinal"))
    bits = (cells(column[f"_present_{side}"]) for side in ("before", "after"))
    for operation, version, ordinal, before, after, held_before, held_after in zip(
        *rest, *sides, *bits, strict=True
    ):
        if before is not None:
            kind = "delete" if operation == "d" else "update_preimage"
            yield kind, version, ordinal, before, held_before
        if operation == "c":
            yield "insert", version, ordinal, after, held_after
        elif operation == "u":  # the second half, whether or not a first one is given
            yield "update_postimage", version, ordinal | 1, after, held_after


def images(side: pa.StructArray) -> Iterator[Row | None]:
    columns = [cells(one) for one in side.flatten()]
    rows = zip(*columns, strict=True)
    return (
        row if there else None for row, there in zip(rows, side.is_valid().to_pylist(), strict=True)
    )


def cells(column: pa.Array) -> list[Any]:
    """Values that can be compared: NaN as text, times as numbers, because Python has no year 0."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    plain = (int, bytes, str, type(None))
    values = column.to_pylist()
    return [value if isinstance(value, plain) else repr(value) for value in values]
