"""Rows of Delta and Iceberg tables, replaced and deleted by keys of each type, and a dictionary.

Statistics of files exclude those that cannot contain a key. `BINARROW_SEED` selects other values.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binarrow.syncing.delta_folders import LocalFolders
from binarrow.syncing.delta_table_set import DeltaTableSet
from binarrow.syncing.folder_table_set import FolderTableSet
from binarrow.syncing.lake_types import storable
from binarrow.syncing.operations import Create, Operation, Write
from binarrow.syncing.table_set import TableSet

SEED = int(os.environ.get("BINARROW_SEED", "3"))
COMMITS = 12 if "BINARROW_SEED" in os.environ else 7
NAME = ("shop", "t")

Random = random.Random


def text(chosen: Random) -> str:
    letters = "aAzZ \u00fc\u07ff\uffff\U0001f389\U0010ffff"
    return chosen.choice(["", "x" * 16, "x" * 31, "\U0010ffff" * 33]) + "".join(
        chosen.choice(letters) for _ in range(chosen.randrange(4))
    )


def time(chosen: Random) -> dt.datetime:
    first = chosen.choice([dt.datetime(1000, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_990)])
    first = chosen.choice([first, dt.datetime(9999, 12, 31, 23, 59, 59, 999_980)])
    return first + dt.timedelta(microseconds=chosen.randrange(20))


KEYS: dict[str, tuple[pa.DataType, Callable[[Random], Any]]] = {
    "tiny": (pa.int8(), lambda chosen: chosen.randrange(-128, 128)),
    "unsigned": (pa.uint64(), lambda chosen: 2**64 - 1 - chosen.randrange(60) ** 10),
    "long": (pa.int64(), lambda chosen: chosen.choice([-(2**63), 2**63 - 9]) + chosen.randrange(9)),
    "float": (pa.float64(), lambda chosen: chosen.choice([1e308, -1e-308, 0.1]) * chosen.random()),
    "decimal": (pa.decimal128(38, 9), lambda chosen: Decimal(chosen.randrange(-50, 50)) / 10**9),
    "text": (pa.string(), text),
    "binary": (
        pa.binary(),
        lambda chosen: b"\xff" * chosen.choice([0, 16, 40]) + bytes([chosen.randrange(256)]),
    ),
    "date": (pa.date32(), lambda chosen: dt.date(1969, 12, 1) + dt.timedelta(chosen.randrange(60))),
    "datetime": (pa.timestamp("us"), time),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        lambda chosen: time(chosen).replace(tzinfo=dt.UTC),
    ),
    "bit": (pa.bool_(), lambda chosen: chosen.random() < 0.5),
}


def apply(table_set: TableSet, operation: Operation, number: int) -> None:
    stored = storable(table_set.format, operation)
    table = table_set.table(NAME, "id")
    if isinstance(stored, Create):
        table.create(stored.schema, table_set.mirror, number)
    elif isinstance(stored, Write):
        table.write(stored, number)


def rows_of(table_set: TableSet) -> list[dict[str, Any]]:
    table: Any = table_set.table(NAME, "id")._table  # type: ignore[attr-defined]
    found = table.to_pyarrow_table() if table_set.kind == "delta" else table.scan().to_arrow()
    return list(found.to_pylist())


def delta(lake: Path) -> TableSet:
    return DeltaTableSet(LocalFolders(lake))


@pytest.mark.parametrize("table_set", [delta, FolderTableSet])
@pytest.mark.parametrize("key", [*KEYS, "two"])
def test_keys(table_set: Callable[[Path], TableSet], key: str, tmp_path: Path) -> None:
    chosen = random.Random(SEED)
    opened = table_set(tmp_path)
    columns = ["text", "tiny"] if key == "two" else [key]
    fields = [pa.field(name, KEYS[name][0]) for name in columns]
    schema = pa.schema([*fields, pa.field("v", pa.int32())])
    apply(opened, Create(NAME, schema), 1)
    expected: dict[tuple[Any, ...], int] = {}
    for number in range(2, COMMITS):
        changed = {
            tuple(KEYS[name][1](chosen) for name in columns): chosen.random() < 0.7
            for _ in range(chosen.randrange(1, 9))
        }
        written = [one for one, exists in changed.items() if exists]
        deleted = [one for one, exists in changed.items() if not exists]
        rows = [dict(zip(schema.names, (*one, number), strict=True)) for one in written]
        keys = [dict(zip(columns, one, strict=True)) for one in deleted]
        change = Write(
            NAME,
            tuple(columns),
            pa.Table.from_pylist(rows, schema),
            pa.Table.from_pylist(keys, pa.schema(fields)),
        )
        apply(opened, change, number)
        expected |= dict.fromkeys(written, number)
        expected = {one: value for one, value in expected.items() if one not in deleted}
        assert opened.table(NAME, "id").number == number
    found = {tuple(row[name] for name in columns): row["v"] for row in rows_of(opened)}
    assert len(found) == len(rows_of(opened))
    assert found == expected
