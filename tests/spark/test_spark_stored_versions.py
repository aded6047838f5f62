"""Later versions of what streaming queries, `sync` and mirrors in Spark store are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from binarrow import BinarrowError, Position
from binarrow.server.target import Endpoint
from binarrow.spark import read_mirror, register
from binarrow.spark.live.live_range import LiveRange
from binarrow.spark.live.live_splits import LiveSplit
from binarrow.spark.live.offset import end_of_batch, initial, offset_of, position_of
from binarrow.spark.live.row_ranges import RowChunks, TableChunks
from binarrow.spark.live.state_file import StateFile
from binarrow.spark.mirror.parquet import ParquetMirror, _parsed
from binarrow.spark.syncing.parked import ParkedTables
from binarrow.spark.syncing.properties import check_version, written_version
from binarrow.stored_forms import FORMS
from support.later_versions import LATER, check_refused, content_of, set_field, with_field
from support.stored_things import set_history, written_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACE = Position("binlog.000001", 4)
NAME = ("shop", "orders")
FORM = {form.name: form for form in FORMS}


def stored_split(folder: Path) -> str:
    place = PLACE.to_json()
    split = LiveSplit((Endpoint("db.example"),), "repl", LiveRange(place, place)).to_json()
    (folder / "split").write_text(split)
    return "split"


def stored_chunks(folder: Path) -> str:
    chunks = RowChunks("shop.*", (TableChunks("shop.orders", "1", ()),))
    StateFile(str(folder / "rows.json")).save(chunks)
    return "rows.json"


def parked_tables(folder: Path) -> ParkedTables:
    parked = ParkedTables("park", folder / "parked.json")
    parked.begin("query")
    return parked


def stored_parked(folder: Path) -> str:
    parked_tables(folder)._park(NAME, "the reason")
    return "parked.json"


def stored_pointer(folder: Path) -> str:
    schema = {"type": "struct", "fields": []}
    form = FORM["Parquet mirror"]
    pointer = {**form.stamp, "version": 7, "folder": "versions/7", "schema": schema}
    (folder / "current.json").write_text(json.dumps(pointer))
    return "current.json"


THINGS: dict[str, tuple[Callable[[Path], str], Callable[[Path], object]]] = {
    "chunks of a load in Spark": (
        stored_chunks,
        lambda folder: StateFile(str(folder / "rows.json")).load(),
    ),
    "parked tables of a query": (stored_parked, lambda folder: parked_tables(folder).has(NAME)),
    "Parquet mirror": (
        stored_pointer,
        lambda folder: ParquetMirror(None, folder).schema(),  # type: ignore[arg-type]
    ),
    "range of a server's log": (
        stored_split,
        lambda folder: LiveSplit.parse((folder / "split").read_text()),
    ),
}
"""The functions that store a file in a folder and return its name, and those that read it."""

each_thing = pytest.mark.parametrize("name", [*THINGS])


@each_thing
def test_a_later_version_is_refused(name: str, tmp_path: Path) -> None:
    store, read = THINGS[name]
    form = FORM[name]
    file = tmp_path / store(tmp_path)
    expected = read(tmp_path)
    assert json.loads(file.read_text())[form.key] == form.version
    set_field(file, form.key, None)
    before = content_of(tmp_path)
    assert read(tmp_path) == expected  # without a version, it is the first
    assert content_of(tmp_path) == before
    set_field(file, form.key, LATER)
    check_refused(lambda: read(tmp_path), form.version)


@pytest.mark.parametrize("field", ["", "Version", "versions", "\0", "self"])
@each_thing
def test_unknown_fields_are_refused(name: str, field: str, tmp_path: Path) -> None:
    store, read = THINGS[name]
    set_field(tmp_path / store(tmp_path), field, 1)
    with pytest.raises(BinarrowError, match="unknown field"):
        read(tmp_path)


def test_a_parked_table_of_a_later_version_ends_the_query(tmp_path: Path) -> None:
    """An error of a version does not park a table."""
    stored_parked(tmp_path)
    parked = parked_tables(tmp_path)
    (tmp_path / "parked.json").unlink()

    def read() -> None:
        with parked.parking(NAME):
            check_version({"binarrow.sync.version": str(LATER)}, "lake.shop.orders")

    check_refused(read, 1)
    assert content_of(tmp_path) == {}


def test_properties() -> None:
    """The "properties of a table of a query" have a version."""
    assert written_version() == {"binarrow.sync.version": "1"}
    check_version(written_version(), "lake.shop.orders")
    check_version({}, "lake.shop.orders")
    for text in ("", "0", "-1", "1.0", "x", "²"):
        with pytest.raises(BinarrowError, match=r"lake\.shop\.orders is damaged"):
            check_version({"binarrow.sync.version": text}, "lake.shop.orders")


def test_offsets() -> None:
    first = offset_of(PLACE)
    assert first["offset_version"] == 1
    later = {**first, "offset_version": LATER, "next": 1}
    check_refused(lambda: position_of(later), 1)
    check_refused(lambda: end_of_batch(later, PLACE), 1)
    check_refused(lambda: position_of({**first, "v": LATER}), 3)


def test_an_offset_without_a_version_is_the_same() -> None:
    """A query that continues after an update has no new batch."""
    earlier: dict[str, Any] = json.loads(
        with_field(json.dumps(offset_of(PLACE)), "offset_version", None)
    )
    assert position_of(earlier) == PLACE
    assert end_of_batch(earlier, PLACE) is earlier
    start = {**earlier, "initial": True}
    assert end_of_batch(start, PLACE)["from"] == earlier
    assert initial(PLACE) == {**start, "offset_version": 1}


def test_the_first_line_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    history = set_history(written_history(tmp_path), LATER)
    register(spark)
    read = spark.read.format("binarrow").option("history", str(history))
    with pytest.raises(Exception, match="format version") as caught:
        read.option("table", "shop.t").load("examples/shop/binlog.000001")
    assert f"has the format version {LATER}" in str(caught.value).split("\n")[0]


def test_a_mirror_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    set_field(tmp_path / stored_pointer(tmp_path), "format_version", LATER)
    check_refused(lambda: read_mirror(spark, str(tmp_path)), 1)
    assert _parsed('{"version": 7}', "lake") == {"version": 7}
