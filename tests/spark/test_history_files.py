"""Files that tasks of `binarrow.spark.sync` write: their columns, their statistics, and the deletion of unused ones."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError

from binarrow.spark.history_files import writer
from binarrow.spark.history_files.errors import (
    UnreadableError,
    UnsupportedTableError,
    known_functions,
    layout_functions,
)
from binarrow.spark.history_files.layout import Layout, check_storable, codec, is_exact
from binarrow.spark.history_files.target import BatchId, Outcome, local_folder
from binarrow.spark.history_files.writer import FileWriters
from binarrow.spark.syncing.files import FilesWriter, _Found

COLUMNS = pa.schema(
    {
        "id": pa.int64(),
        "note": pa.string(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "price": pa.decimal128(20, 2),
        "parts": pa.list_(pa.float32()),
        "raw": pa.binary(),
    }
)


def layout(folder: Path, columns: pa.Schema = COLUMNS) -> Layout:
    return Layout(
        folder=str(folder),
        columns=columns,
        compression="snappy",
        is_case_sensitive=False,
        has_statistics=True,
    )


def rows(rng: random.Random, count: int) -> pa.RecordBatch:
    """Random rows, with the extreme values of types."""

    def some(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    def moment() -> datetime:
        return datetime(1970, 1, 1) + timedelta(microseconds=rng.randrange(-(10**14), 10**16))

    letters = ["a", "é", "日", "📦", "\U0010ffff", ""]
    values = {
        "id": [some(rng.choice((rng.randrange(100), -(2**63), 2**63 - 1))) for _ in range(count)],
        "note": [some("".join(rng.choices(letters, k=rng.randrange(60)))) for _ in range(count)],
        "day": [some(date(1970, 1, 1) + timedelta(rng.randrange(20_000))) for _ in range(count)],
        "at": [some(moment().replace(tzinfo=UTC)) for _ in range(count)],
        "local": [some(moment()) for _ in range(count)],
        "price": [some(Decimal(rng.randrange(10**20)) / 100) for _ in range(count)],
        "parts": [some([0.5] * rng.randrange(3)) for _ in range(count)],
        "raw": [some(rng.randbytes(4)) for _ in range(count)],
    }
    return pa.RecordBatch.from_pydict(values, schema=COLUMNS)


def test_statistics(tmp_path: Path) -> None:
    """The bounds in the log contain all values, and the counts are exact."""
    rng = random.Random(1)
    bounded = set()
    for count in (1, 3, 40, 40, 40):
        files = FileWriters("part", "4.2.0")
        batches = [rows(rng, count) for _ in range(2)]
        for batch in batches:
            files.add(("shop", "t"), layout(tmp_path), batch)
        [file] = files.finish()
        written = pq.read_table(file.path)
        assert written.equals(pa.Table.from_batches(batches))
        statistics = json.loads(str(file.statistics))
        assert statistics["numRecords"] == file.rows == 2 * count
        assert file.size == Path(file.path).stat().st_size
        assert pq.read_metadata(file.path).metadata[writer.MADE_BY.encode()] == b"4.2.0"
        for name in COLUMNS.names:
            nulls = statistics["nullCount"].get(name)
            assert nulls is None or nulls == written[name].null_count
        for name in statistics["minValues"]:
            bounds = (parsed(name, statistics[side][name]) for side in ("minValues", "maxValues"))
            low, high = bounds
            values = [value for value in written[name].to_pylist() if value is not None]
            bounded.add(name)
            assert low <= min(values), name
            assert max(values) <= high, name
    assert bounded == {"id", "note", "day", "at", "local"}


def parsed(name: str, bound: Any) -> Any:
    if name in ("at", "local"):
        return datetime.fromisoformat(bound)
    return date.fromisoformat(bound) if name == "day" else bound


@pytest.mark.parametrize(
    ("logged", "stored", "expected"),
    [
        (pa.int8(), pa.int32(), True),
        (pa.int64(), pa.int32(), False),
        (pa.int32(), pa.decimal128(10, 0), True),
        (pa.int32(), pa.decimal128(10, 1), False),
        (pa.decimal128(10, 2), pa.decimal128(12, 4), True),
        (pa.decimal128(10, 2), pa.decimal128(11, 4), False),
        (pa.float32(), pa.float64(), False),  # 0.1 is another number then
        (pa.date32(), pa.timestamp("us"), False),
        (pa.string(), pa.binary(), False),
        (pa.string(), pa.string(), True),
    ],
)
def test_exact_conversions(logged: pa.DataType, stored: pa.DataType, expected: bool) -> None:
    assert is_exact(logged, stored) is expected


def test_conversion(tmp_path: Path) -> None:
    """Columns are found by their names; those that rows lack are NULL."""
    target = layout(tmp_path, pa.schema({"A": pa.int64(), "b": pa.string(), "c": pa.date32()}))
    logged = pa.record_batch({"b": ["x"], "a": pa.array([5], pa.int8())})
    conversion = target.conversion(logged.schema)
    assert conversion is not None
    assert conversion.apply(logged).to_pylist() == [{"A": 5, "b": "x", "c": None}]
    for wrong in (
        pa.schema({"a": pa.int64(), "d": pa.string()}),
        pa.schema({"b": pa.int64()}),
        pa.schema([("b", pa.string()), ("B", pa.string())]),
    ):
        assert target.conversion(wrong) is None
    assert replace(target, is_case_sensitive=True).conversion(logged.schema) is None
    wider = layout(tmp_path, pa.schema({"A": pa.int64(), "b": pa.string()}))
    assert target.has_columns_of(wider)
    assert not wider.has_columns_of(target)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory, the size of files and the number of open files are limited; no row is lost."""
    monkeypatch.setattr(writer, "BUFFERED_BYTES", 1000)
    monkeypatch.setattr(writer, "FILE_BYTES", 4000)
    monkeypatch.setattr(writer, "OPEN_FILES", 2)
    rng = random.Random(2)
    files = FileWriters("part", "4.2.0")
    added: dict[str, int] = {}
    for _ in range(60):
        table = rng.choice("abcd")
        batch = rows(rng, rng.randrange(1, 9))
        files.add(("shop", table), layout(tmp_path / table), batch)
        added[table] = added.get(table, 0) + batch.num_rows
    written = files.finish()
    for table, count in added.items():
        own = [file for file in written if file.name == ("shop", table)]
        assert len(own) > 1
        assert sum(file.rows for file in own) == count
        assert pq.read_table(tmp_path / table).num_rows == count
        assert {file.path for file in own} == {str(path) for path in (tmp_path / table).iterdir()}
    files = FileWriters("part", "4.2.0")
    files.add(("shop", "e"), layout(tmp_path / "e"), rows(rng, 50))
    files.add(("shop", "e"), layout(tmp_path / "e"), rows(rng, 50))
    assert list((tmp_path / "e").iterdir())
    files.discard()
    assert not list((tmp_path / "e").iterdir())
    assert files.finish() == []


@pytest.mark.parametrize(
    ("location", "default", "expected"),
    [
        ("file:/lake/a b%", "hdfs://h", "/lake/a b%"),
        ("file:///lake/", "hdfs://h", "/lake"),
        ("/lake", "file:///", "/lake"),
    ],
)
def test_local_folders(location: str, default: str, expected: str) -> None:
    assert local_folder(location, default) == expected


@pytest.mark.parametrize(
    ("location", "default"), [("s3a://b/lake", "file:///"), ("/lake", "hdfs://h:1")]
)
def test_other_folders(location: str, default: str) -> None:
    with pytest.raises(UnsupportedTableError, match="not in a local or shared folder"):
        local_folder(location, default)


def test_unfit_columns() -> None:
    with pytest.raises(UnsupportedTableError, match="compressed with lzo"):
        codec("lzo")
    assert codec("UNCOMPRESSED") == "none"
    check_storable(COLUMNS, lists=True)
    with pytest.raises(UnsupportedTableError, match="its column parts"):
        check_storable(COLUMNS, lists=False)
    with pytest.raises(UnsupportedTableError, match="its column d is duration"):
        check_storable(pa.schema({"d": pa.duration("us")}), lists=True)


class LostTarget:
    """A target whose connection ends after it has committed."""

    def commit(self, *_: Any) -> Outcome:
        with known_functions("Delta"):
            raise Py4JError("An error occurred while calling o1.commit")


def test_files_of_a_lost_commit_stay(tmp_path: Path) -> None:
    """It is not known whether the table has the files, so they are not deleted."""
    name = ("shop", "t")
    files = FileWriters("part", "4.2.0")
    files.add(name, layout(tmp_path), rows(random.Random(3), 5))
    [file] = files.finish()
    found = _Found({name: layout(tmp_path)}, {name: [file]})
    sync = FilesWriter.__new__(FilesWriter)
    sync._may_have_leftovers, sync._refused = True, {}
    mirror: Any = None
    with pytest.raises(Py4JError, match=r"o1\.commit"):
        sync._commit(LostTarget(), {name: mirror}, found, BatchId("q", 1))
    found.delete_unused()
    assert Path(file.path).exists()


def test_missing_functions() -> None:
    trace = "An error occurred while calling o1.commit. Trace:\npy4j.Py4JException: Method commit([]) does not exist"
    for error in (Py4JError(trace), TypeError("'JavaPackage' object is not callable")):
        with (
            pytest.raises(UnsupportedTableError, match="lacks a function"),
            known_functions("Delta"),
        ):
            raise error
    with pytest.raises(UnreadableError), layout_functions("Delta"):
        raise Py4JError("An error occurred while calling o1.metadata")
    with pytest.raises(TypeError, match="other"), known_functions("Delta"):
        raise TypeError("other")
