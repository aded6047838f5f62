"""A table that is altered while it is read: columns go by their names, in files and in a stream alike.

Each test's expectation is written out; the values say which column they were stored in.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

import binarrow
from support import live
from support.logged import logging
from support.servers.servers import Server

TABLE = "live.altered"

CREATE = (
    "CREATE TABLE live.altered (id INT PRIMARY KEY, name VARCHAR(10), qty INT, price DECIMAL(6,2),"
    " day DATE, a INT, b INT) DEFAULT CHARACTER SET utf8mb4"
)

STEPS = (
    "INSERT INTO live.altered VALUES (1, 'n1', 1, 1.25, '2026-01-01', 101, 201)",
    "ALTER TABLE live.altered ADD COLUMN extra INT AFTER id",
    "INSERT INTO live.altered VALUES (2, 302, 'n2', 2, 2.25, '2026-01-02', 102, 202)",
    "ALTER TABLE live.altered DROP COLUMN day",
    "INSERT INTO live.altered VALUES (3, 303, 'n3', 3, 3.25, 103, 203)",
    # Two columns of one type change their names for each other's.
    "ALTER TABLE live.altered CHANGE a was_a INT, CHANGE b a INT",
    "ALTER TABLE live.altered CHANGE was_a b INT",
    "INSERT INTO live.altered VALUES (4, 304, 'n4', 4, 4.25, 204, 104)",
    # A name that nothing of before had.
    "ALTER TABLE live.altered CHANGE extra label INT",
    "INSERT INTO live.altered VALUES (5, 405, 'n5', 5, 5.25, 205, 105)",
    "ALTER TABLE live.altered MODIFY qty BIGINT, MODIFY name VARCHAR(400)",
    f"INSERT INTO live.altered VALUES (6, 406, '{'n' * 300}', 5000000006, 6.25, 206, 106)",
    "ALTER TABLE live.altered MODIFY b INT FIRST, MODIFY price DECIMAL(12,3) AFTER b",
    "INSERT INTO live.altered VALUES (207, 700000.125, 7, 407, 'n7', 7, 107)",
    # Only the case differs, which no server minds.
    "ALTER TABLE live.altered CHANGE name NAME VARCHAR(400)",
    "UPDATE live.altered SET NAME = 'n8' WHERE id = 7",
)

TARGET = pa.schema(
    {
        "price": pa.decimal128(12, 3),
        "id": pa.int64(),
        "name": pa.string(),
        "qty": pa.int64(),
        "day": pa.timestamp("us"),
        "a": pa.int32(),
        "b": pa.int32(),
        "nowhere": pa.string(),
    }
)

EXPECTED = [
    {
        "price": Decimal(price),
        "id": number,
        "name": name,
        "qty": qty,
        "day": day and datetime.fromisoformat(day),
        "a": a,
        "b": b,
        "nowhere": None,
    }
    for price, number, name, qty, day, a, b in (
        ("1.250", 1, "n1", 1, "2026-01-01", 101, 201),
        ("2.250", 2, "n2", 2, "2026-01-02", 102, 202),
        ("3.250", 3, "n3", 3, None, 103, 203),
        ("4.250", 4, "n4", 4, None, 104, 204),
        ("5.250", 5, "n5", 5, None, 105, 205),
        ("6.250", 6, "n" * 300, 5_000_000_006, None, 106, 206),
        ("700000.125", 7, "n7", 7, None, 107, 207),
        ("700000.125", 7, "n7", 7, None, 107, 207),  # before the update
        ("700000.125", 7, "n8", 7, None, 107, 207),  # and after it
    )
]

WARNED = ["extra", "label"]  # once each, however many batches and structures have it

CONFORM: dict[str, Any] = {"schema": TARGET, "on_schema_change": "conform"}

SIDE = pa.struct(list(TARGET))

NESTED = pa.schema({"after": SIDE, "_op": pa.string(), "before": SIDE})


@dataclass
class Altered:
    server: Server
    before: binarrow.Position
    files: list[Path]

    def read(self, **keywords: Any) -> binarrow.BinlogReader:
        return binarrow.read_binlog(list(map(str, self.files)), **keywords)


@pytest.fixture(scope="module", params=["mysql", "mariadb-11.8"])
def altered(request: pytest.FixtureRequest) -> Iterator[Altered]:
    """A server that has run the steps, and then made an INT a VARCHAR."""
    with live.server(request.param) as server:
        server.execute(CREATE)
        with logging(server) as files, live.reach(server) as connection:
            before = connection.position()
            server.execute(
                *STEPS,
                "ALTER TABLE live.altered MODIFY a VARCHAR(10)",
                "UPDATE live.altered SET a = 'word' WHERE id = 7",
            )
        yield Altered(server, before, files)


def dropped(warnings: Iterable[warnings.WarningMessage]) -> list[str]:
    found = [
        re.search(r"the column (\w+) is not in the requested", str(w.message)) for w in warnings
    ]
    return [match[1] for match in found if match]


def rows_before_the_error(table: binarrow.TableReader) -> tuple[list[dict[str, Any]], str]:
    found: list[dict[str, Any]] = []
    with pytest.raises(binarrow.SchemaError) as caught:  # noqa: PT012 - what came before counts
        for batch in table:
            found += batch.to_pylist()
    return found, str(caught.value)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("segment_bytes", [None, 1])
def test_columns_go_by_name_through_every_alter(
    altered: Altered, threads: int, segment_bytes: int | None
) -> None:
    reader = altered.read(threads=threads, segment_bytes=segment_bytes, envelope=[])
    table = reader.table(TABLE, **CONFORM)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, error = rows_before_the_error(table)
    assert found == EXPECTED
    assert dropped(told) == WARNED
    assert f"table {TABLE}: column a is Utf8 in the log and cannot become Int32" in error


@pytest.mark.parametrize("threads", [1, 4])
def test_so_do_they_inside_of_before_and_after(altered: Altered, threads: int) -> None:
    reader = altered.read(threads=threads, layout="nested", envelope=[])
    table = reader.table(TABLE, schema=NESTED, on_schema_change="conform")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, error = rows_before_the_error(table)
    *inserted, before, after = EXPECTED
    assert found == [
        *({"after": row, "_op": "c", "before": None} for row in inserted),
        {"after": after, "_op": "u", "before": before},
    ]
    assert dropped(told) == WARNED
    assert "column a is Utf8 in the log" in error


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")
def test_a_stream_is_altered_while_it_is_read(altered: Altered, threads: int) -> None:
    server = altered.server
    server.execute("DROP TABLE live.altered", CREATE)
    with live.reach(server) as connection:
        start = connection.position()
        server.execute(*STEPS[:5])
        stream = connection.stream(start, threads=threads, envelope=[])
        found: list[dict[str, Any]] = []
        with stream, stream.table(TABLE, **CONFORM) as table:
            for batch in table:
                if not found:
                    server.execute(*STEPS[5:])
                found += batch.to_pylist()
                if len(found) >= len(EXPECTED):
                    break
    assert found == EXPECTED


@pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")
@pytest.mark.parametrize(
    ("column", "narrow", "error"),
    [
        ("qty", pa.int32(), "column qty is Int64 in the log and cannot become Int32"),
        ("price", pa.decimal128(6, 2), r"column price is Decimal128(12, 3) in the log"),
        ("name", pa.int32(), "column name is Utf8 in the log and cannot become Int32"),
    ],
)
def test_narrowing_and_other_types_are_refused(
    altered: Altered, column: str, narrow: pa.DataType, error: str
) -> None:
    """Rows before the ALTER were returned, under the narrow schema."""
    target = pa.schema([(column, narrow), ("id", pa.int32())])
    table = altered.read(envelope=[]).table(TABLE, schema=target, on_schema_change="conform")
    found, message = rows_before_the_error(table)
    came = {"qty": 5, "price": 6, "name": 0}[column]
    assert [row["id"] for row in found] == list(range(1, came + 1))
    assert error in message


def test_without_conform_a_change_is_an_error_that_names_it(altered: Altered) -> None:
    found, error = rows_before_the_error(altered.read().table(TABLE))
    assert [row["id"] for row in found] == [1]
    assert f"table {TABLE}" in error
    assert "extra is new" in error
    assert "on_schema_change='conform'" in error


@pytest.mark.parametrize("layout", ["flat", "nested"])
def test_what_may_be_a_new_name_is_an_error(
    altered: Altered, layout: Literal["flat", "nested"]
) -> None:
    """The envelope's columns are not wanted, which says nothing; nor does it that some come or go."""
    numbers = [(name, pa.int64()) for name in ("id", "qty", "a", "b")]
    side = pa.schema([*numbers, ("name", pa.string()), ("day", pa.date32())])
    wanted = side if layout == "flat" else pa.schema({"after": pa.struct(list(side))})
    table = altered.read(layout=layout).table(TABLE, schema=wanted, on_schema_change="evolve")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, error = rows_before_the_error(table)
    rows = found if layout == "flat" else [row["after"] for row in found]
    assert [row["id"] for row in rows] == [1, 2]  # the next one has no day
    assert re.search(
        r"the log has (extra, )?price, which .* and lacks day, which the schema has", error
    )
    assert "schema=" in error
    # A change that is refused is not skipped, and earlier rows are not returned again.
    with pytest.raises(binarrow.ConfigError, match="closed"):
        next(table)
    reader = altered.read(layout=layout, start=table.position)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        conformed = reader.table(TABLE, schema=wanted, on_schema_change="conform")
        found, error = rows_before_the_error(conformed)
    rows = found if layout == "flat" else [row["after"] for row in found]
    assert [row["id"] for row in rows][:4] == [3, 4, 5, 6]
    assert "column a is Utf8 in the log" in error


@pytest.mark.parametrize("threads", [1, 4])
def test_a_batch_has_one_structure(altered: Altered, threads: int) -> None:
    """Names as they were when the rows were written."""
    with altered.read(threads=threads, tables=TABLE, envelope=[], batch_rows=100) as reader:
        batches = [batch.to_pyarrow() for batch in reader]
    own = [batch.schema.names for batch in batches]
    assert own == [
        ["id", "name", "qty", "price", "day", "a", "b"],
        ["id", "extra", "name", "qty", "price", "day", "a", "b"],
        ["id", "extra", "name", "qty", "price", "a", "b"],
        ["id", "extra", "name", "qty", "price", "b", "a"],
        ["id", "label", "name", "qty", "price", "b", "a"],
        ["id", "label", "name", "qty", "price", "b", "a"],
        ["b", "price", "id", "label", "name", "qty", "a"],
        ["b", "price", "id", "label", "NAME", "qty", "a"],
        ["b", "price", "id", "label", "NAME", "qty", "a"],
    ]
    assert [row for batch in batches for row in batch.column("a").to_pylist()] == [
        *(101, 102, 103, 104, 105, 106, 107, 107, 107),
        *("107", "word"),
    ]


def test_a_selection_follows_names_too(altered: Altered) -> None:
    """If batches are converted to one schema, a selected column that does not exist is NULL."""
    columns = {TABLE: ["id", "extra", "a"]}
    with pytest.raises(binarrow.SchemaError, match='columns contains "extra"'):
        list(altered.read(columns=columns, tables=TABLE))
    target = pa.schema({"a": pa.int64(), "extra": pa.int32(), "id": pa.int32()})
    reader = altered.read(columns=columns, envelope=[])
    table = reader.table(TABLE, schema=target, on_schema_change="conform")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, _ = rows_before_the_error(table)
    assert dropped(told) == []
    assert found == [
        {"a": row["a"], "extra": 300 + row["id"] if 2 <= row["id"] <= 4 else None, "id": row["id"]}
        for row in EXPECTED
    ]
