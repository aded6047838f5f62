"""The effect of each kind of batch on a mirror, with changes written by hand."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

import binarrow
from binarrow.spark import apply_changes

COLUMNS = "id int, name string, n int"
ALL, ENVELOPE = (
    b"\x07",
    "_change_type string, _commit_version bigint, _change_ordinal bigint, _present binary",
)
WIDER = "id int, name string, n bigint, price decimal(10,2)"


def insert(version: int, ordinal: int, *row: Any, bits: bytes = ALL) -> tuple[Any, ...]:
    return (*row, "insert", version, ordinal, bits)


def delete(version: int, ordinal: int, *row: Any, bits: bytes = ALL) -> tuple[Any, ...]:
    return (*row, "delete", version, ordinal, bits)


def before(version: int, ordinal: int, *row: Any, bits: bytes = ALL) -> tuple[Any, ...]:
    return (*row, "update_preimage", version, ordinal, bits)


def after(version: int, ordinal: int, *row: Any, bits: bytes = ALL) -> tuple[Any, ...]:
    return (*row, "update_postimage", version, ordinal + 1, bits)


def truncate(version: int, columns: int = 3) -> tuple[Any, ...]:
    return (*(None,) * columns, "truncate", version, 0, None)


@pytest.fixture
def mirror(lake):
    """Applies batches to a new mirror, and returns its rows.

    With Parquet, each batch is applied twice. MERGE is the same for all batches, so only some are repeated.
    """

    class Mirror:
        target = lake.target()

        def frame(self, *changes: Any, columns: str = COLUMNS):
            return lake.spark.createDataFrame(list(changes), f"{columns}, {ENVELOPE}")

        def apply(self, *changes: Any, columns: str = COLUMNS, times: int = 0, **keywords: Any):
            apply = lake.apply(self.target, **{"keys": "id", **keywords})
            times = times or (2 if lake.format == "parquet" else 1)
            for _ in range(times):
                apply(self.frame(*changes, columns=columns), 7)
            return self.rows()

        def rows(self):
            return sorted((tuple(row) for row in lake.read(self.target).collect()), key=str)

    return Mirror()


def test_whole_images(lake, mirror):
    """Several changes of a key in a batch, changes of keys as halves of an update or as two changes."""
    assert mirror.apply() == []
    rows = mirror.apply(
        insert(1, 0, 1, "a", 1),
        insert(1, 2, 2, "b", 2),
        insert(1, 4, 3, "c", 3),
        before(2, 0, 1, "a", 1),
        after(2, 0, 1, "A", 10),
        delete(2, 2, 2, "b", 2),
        insert(1, 6, None, "null", 0),
        times=2,
    )
    assert rows == [(1, "A", 10), (3, "c", 3), (None, "null", 0)]
    commits = lake.commits(mirror.target)
    mirror.apply()
    assert lake.commits(mirror.target) == commits
    swap = [  # 1 and 3 change places by way of 0, and NULL becomes 4
        before(3, 0, 1, "A", 10),
        after(3, 0, 0, "A", 10),
        delete(3, 2, 3, "c", 3),
        insert(3, 3, 1, "c", 3),
        before(3, 4, 0, "A", 10),
        after(3, 4, 3, "A", 10),
        delete(3, 6, None, None, None),
        insert(3, 7, 4, "null", 0),
    ]
    assert mirror.apply(*swap[::-1], times=1) == [(1, "c", 3), (3, "A", 10), (4, "null", 0)]
    assert lake.commits(mirror.target) == commits + 1
    assert mirror.apply(*swap, times=2) == [(1, "c", 3), (3, "A", 10), (4, "null", 0)]


def test_images_with_holes(mirror):
    """Columns that an image leaves out are unchanged; an insert leaves out columns that are NULL."""
    mirror.apply(insert(1, 0, 1, "a", 1), insert(1, 2, 2, "b", 2), insert(1, 4, 3, "c", 3))
    rows = mirror.apply(
        before(2, 0, 1, None, None, bits=b"\x01"),
        after(2, 0, None, None, 7, bits=b"\x04"),
        after(2, 2, 1, "A", None, bits=b"\x03"),  # old_value=False
        insert(2, 4, 4, None, 5, bits=b"\x05"),
        before(2, 6, 4, None, None, bits=b"\x01"),
        after(2, 6, None, "d", None, bits=b"\x02"),
        delete(2, 8, 2, None, None, bits=b"\x01"),
        before(2, 10, 3, "c", 3),  # which the row after leaves out
        after(2, 10, 5, None, None, bits=b"\x01"),
        after(2, 12, 5, None, None, bits=b"\x03"),
        backfilled_columns="null",
        times=2,
    )
    assert rows == [(1, "A", 7), (4, "d", 5), (5, None, 3)]


@pytest.mark.any_format
def test_holes_that_nothing_fills(lake, mirror):
    rows = mirror.apply(insert(1, 0, 1, "a", 1))
    moved = (before(2, 0, 1, None, None, bits=b"\x01"), after(2, 0, 9, None, 7, bits=b"\x05"))
    with pytest.raises(binarrow.SchemaError, match=r"1 rows get another key .*binlog_row_image"):
        mirror.apply(*moved)
    deleted = (delete(2, 0, 1, None, None, bits=b"\x01"), after(2, 2, 1, None, 7, bits=b"\x05"))
    with pytest.raises(binarrow.SchemaError, match="after they were deleted"):
        mirror.apply(*deleted)
    unknown = after(2, 0, 77, None, 7, bits=b"\x05")
    with pytest.raises(binarrow.SchemaError, match=r"only a part of a row .* missing_rows=.ignore"):
        mirror.apply(unknown)
    with pytest.raises(binarrow.SchemaError, match="do not contain the key"):
        mirror.apply(before(2, 0, 1, None, None, bits=b"\x02"))
    with pytest.raises(binarrow.ConfigError, match="present has bits for other columns"):
        mirror.apply(after(2, 0, 1, "x", 7, bits=b"\x07\x00"))
    assert mirror.rows() == rows
    assert mirror.apply(unknown, insert(2, 2, 2, "b", 2), missing_rows="ignore") == [
        (1, "a", 1),
        (2, "b", 2),
    ]


def test_truncate(lake, mirror):
    """It empties the mirror in its place among the changes."""
    mirror.apply(insert(1, 0, 1, "a", 1), insert(1, 2, 2, "b", 2))
    rows = mirror.apply(
        insert(2, 0, 3, "c", 3),
        truncate(3),
        insert(4, 0, 4, "d", 4),
        truncate(5),
        insert(6, 0, 5, "e", 5),
        before(7, 0, 5, None, None, bits=b"\x01"),
        after(7, 0, None, None, 6, bits=b"\x04"),
        times=2,
    )
    assert rows == [(5, "e", 6)]
    commits = lake.commits(mirror.target)
    assert mirror.apply(truncate(8), times=1) == []
    assert lake.commits(mirror.target) == commits + 1
    assert mirror.apply(truncate(8, 4), truncate(9, 4), columns=f"{COLUMNS}, price int") == []
    assert lake.read(mirror.target).columns == ["id", "name", "n", "price"]


def test_columns_come_and_widen(lake, mirror, caplog):
    mirror.apply(insert(1, 0, 1, "a", 1), insert(1, 2, 2, "b", 2))
    changes = (
        insert(2, 0, 3, "c", 1 << 40, Decimal("1.50"), bits=b"\x0f"),
        after(2, 2, 1, "a", 1 << 41, None, bits=b"\x05"),
        insert(2, 4, 4, "d", 4, None, bits=b"\x07"),
    )
    if lake.format == "delta":
        with pytest.raises(binarrow.SchemaError, match=r"n of .* bigint.*enableTypeWidening"):
            mirror.apply(*changes, columns=WIDER, backfilled_columns="null")
        lake.spark.sql(
            f"ALTER TABLE {mirror.target} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
        )
    price = Decimal("1.50")
    rows = [(1, "a", 1 << 41, None), (2, "b", 2, None), (3, "c", 1 << 40, price), (4, "d", 4, None)]
    caplog.clear()
    with pytest.raises(binarrow.SchemaError, match="inserted rows leave out price"):
        mirror.apply(*changes, columns=WIDER)  # the log alone does not show the DEFAULT
    assert mirror.apply(*changes, columns=WIDER, backfilled_columns="null") == rows
    [warning] = caplog.messages
    assert "gets the columns price: NULL in existing rows" in warning
    # A stream that began before knows neither.
    with pytest.raises(binarrow.SchemaError, match=r"lack: price.*missing_columns='null'"):
        mirror.apply(insert(3, 0, 5, "e", 5))
    old = (insert(3, 0, 5, "e", 5), after(3, 2, 3, None, 33, bits=b"\x05"))
    rows[2:3] = [(3, "c", 33, price)]
    assert mirror.apply(*old, missing_columns="null") == [*rows, (5, "e", 5, None)]
    with pytest.raises(binarrow.SchemaError, match=r"name of .* is string and int in the changes"):
        mirror.apply(
            insert(4, 0, 1, 2, 3, None, bits=b"\x0f"),
            columns="id int, name int, n int, price decimal(10,2)",
        )


def test_added_columns_of_new_types(lake, mirror):
    """Delta must enable the type of DATETIME columns before one can be added to a table."""
    mirror.apply(insert(1, 0, 1, "a", 1))
    moment = datetime(2026, 11, 26, 10, 42, 0, 123456)
    rows = mirror.apply(
        insert(2, 0, 2, "b", 2, moment, bits=b"\x0f"),
        columns=f"{COLUMNS}, at timestamp_ntz",
        backfilled_columns="null",
    )
    assert rows == [(1, "a", 1, None), (2, "b", 2, moment)]
    if lake.format == "delta":
        frame = mirror.frame(
            insert(3, 0, 3, "c", 3, None, None, bits=b"\x1f"),
            columns=f"{COLUMNS}, at timestamp_ntz, document variant",
        )
        lake.apply(mirror.target, "id", backfilled_columns="null")(frame)
        assert lake.read(mirror.target).schema["document"].dataType.simpleString() == "variant"


def described(columns: str, **metadata_of: dict[str, str]) -> Any:
    """A schema of changes, with properties of columns in their metadata."""
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(f"{columns}, {ENVELOPE}")
    for name, metadata in metadata_of.items():
        schema[name].metadata = metadata
    return schema


@pytest.mark.any_format
@pytest.mark.parametrize("metadata", [{"mysql.nullable": "false"}, {"mysql.has_default": "true"}])
def test_a_column_that_the_source_has_filled(lake, mirror, metadata):
    """Existing rows have a value that no change contains."""
    schema = described(f"{COLUMNS}, price decimal(10,2)", price=metadata)
    change = insert(2, 0, 2, "b", 2, Decimal("1.50"), bits=b"\x0f")
    frame = lake.spark.createDataFrame([change], schema)
    mirror.apply(insert(1, 0, 1, "a", 1))
    with pytest.raises(
        binarrow.SchemaError, match=r"no DEFAULT: price decimal.*backfilled_columns='null'"
    ):
        lake.apply(mirror.target, "id")(frame)
    assert mirror.rows() == [(1, "a", 1)]
    lake.apply(mirror.target, "id", backfilled_columns="null")(frame)
    assert mirror.rows() == [(1, "a", 1, None), (2, "b", 2, Decimal("1.50"))]
    empty = lake.target()
    lake.apply(empty, "id")(mirror.frame())
    lake.apply(empty, "id")(frame)  # no row there
    assert lake.read(empty).count() == 1


@pytest.mark.any_format
def test_what_inserts_leave_out(lake, mirror):
    """With binlog_row_image=MINIMAL a column that an INSERT does not name may have a DEFAULT."""
    plain = {"mysql.nullable": "true", "mysql.has_default": "false"}
    short = insert(1, 0, 1, "a", None, bits=b"\x03")
    apply = lake.apply(mirror.target, "id")
    apply(lake.spark.createDataFrame([short], described(COLUMNS, n=plain)))
    assert mirror.rows() == [(1, "a", None)]
    for metadata in ({}, {"mysql.nullable": "false"}, {**plain, "mysql.has_default": "true"}):
        frame = lake.spark.createDataFrame([short], described(COLUMNS, n=metadata))
        with pytest.raises(binarrow.SchemaError, match=r"leave out n, .*backfilled_columns='null'"):
            apply(frame)
    assert mirror.apply(short, backfilled_columns="null") == [(1, "a", None)]
    computed = described(COLUMNS, n={**plain, "mariadb.generated": "true"})
    hidden = after(2, 0, 1, "b", None, bits=b"\x03")
    with pytest.raises(binarrow.SchemaError, match="1 updates leave out columns that MariaDB"):
        apply(lake.spark.createDataFrame([hidden], computed))


def test_names_in_another_case(lake, mirror):
    mirror.apply(insert(1, 0, 1, "a", 1))
    upper = "ID int, Name string, N int"
    assert mirror.apply(insert(2, 0, 1, "b", 2), columns=upper, keys=["iD"]) == [(1, "b", 2)]
    assert lake.read(mirror.target).columns == ["id", "name", "n"]
    lake.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(binarrow.ConfigError, match="key column iD"):
            mirror.apply(insert(2, 0, 1, "b", 2), keys=["iD"])
    finally:
        lake.spark.conf.set("spark.sql.caseSensitive", "false")


def test_keys_that_are_odd(lake, mirror):
    """Several columns, NaN, -0.0 and NULL; a value is NULL or it is not."""
    columns = "a double, b string, n int"
    nan = float("nan")
    rows = mirror.apply(
        insert(1, 0, nan, None, 1),
        insert(1, 2, 0.0, "x", 2),
        after(1, 4, nan, None, 3),
        insert(1, 6, None, None, 4),
        columns=columns,
        keys=["b", "a"],
    )
    assert [row[2] for row in rows] == [2, 4, 3]
    rows = mirror.apply(
        after(2, 0, -0.0, "x", 5),
        delete(2, 2, nan, None, None),
        after(2, 4, None, None, None),
        columns=columns,
        keys=["b", "a"],
    )
    assert [row[2] for row in rows] == [5, None]


@pytest.mark.any_format
def test_a_primary_key_that_is_null(lake, mirror):
    """A zero date: two of them would become one row. What an image leaves out is none."""

    def apply(*changes: Any) -> None:
        frame = mirror.frame(*changes).withMetadata("id", {"mysql.primary_key": "1"})
        lake.apply(mirror.target)(frame)

    apply(insert(1, 0, 1, "a", 1), before(1, 2, 1, None, None, bits=b"\x01"))
    apply(before(2, 0, 1, "a", 1), after(2, 0, None, "b", None, bits=b"\x02"), truncate(1))
    assert mirror.rows() == [(1, "b", 1)]
    for change in (insert(3, 0, None, "a", 1), delete(3, 0, None, "a", 1)):
        with pytest.raises(binarrow.SchemaError, match=r"1 changes have NULL.*zeroDates=text"):
            apply(change)


@pytest.mark.any_format
def test_what_is_refused(lake, mirror):
    frame = mirror.frame(insert(1, 0, 1, "a", 1))
    with pytest.raises(binarrow.ConfigError, match=r"differences of name \(the option json=diff\)"):
        lake.apply(mirror.target, "id")(frame.withMetadata("name", {"binarrow.json_diff": "true"}))
    updated = mirror.frame(after(1, 0, 1, "a", 1)).withMetadata("id", {"mysql.primary_key": "1"})
    lake.apply(lake.target(), "id", missing_rows="ignore")(updated)
    with pytest.raises(binarrow.ConfigError, match=r"whether one changes name: .*oldValue=true"):
        lake.apply(mirror.target, "name")(updated)
    with pytest.raises(binarrow.ConfigError, match="the key of the table is unknown"):
        lake.apply(mirror.target)(frame)
    with pytest.raises(binarrow.ConfigError, match="a mirror needs a key"):
        lake.apply(mirror.target, [])
    with pytest.raises(binarrow.ConfigError, match="key column ip is not in the changes"):
        lake.apply(mirror.target, "ip")(frame)
    with pytest.raises(binarrow.ConfigError, match=r"no column cdc_change_type.*envelopePrefix"):
        lake.apply(mirror.target, "id", envelope_prefix="cdc_")(frame)
    with pytest.raises(binarrow.ConfigError, match="1 rows have an unknown _change_type"):
        mirror.apply((1, "a", 1, "insertion", 1, 0, ALL))
    with pytest.raises(binarrow.ConfigError, match="1 changes have no _commit_version"):
        mirror.apply((1, "a", 1, "insert", None, 0, ALL))
    with pytest.raises(binarrow.ConfigError, match="pass format="):
        apply_changes(mirror.target, "id")(frame)
    with pytest.raises(binarrow.ConfigError, match="format 'orc'"):
        apply_changes(mirror.target, "id", format="orc")  # type: ignore[arg-type]


def test_another_prefix_and_the_format_found_out(lake, mirror):
    envelope = ENVELOPE.replace("_c", "cdc_c").replace("_p", "cdc_p")
    frame = lake.spark.createDataFrame([insert(1, 0, 1, "a", 1)], f"{COLUMNS}, {envelope}")
    lake.apply(mirror.target, "id", envelope_prefix="cdc_")(frame)
    apply_changes(mirror.target, "id")(mirror.frame(insert(2, 0, 2, "b", 2)))
    assert mirror.rows() == [(1, "a", 1), (2, "b", 2)]
