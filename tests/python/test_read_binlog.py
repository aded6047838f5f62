"""`read_binlog`: the inputs, the results, and the errors for invalid calls."""

from __future__ import annotations

import pickle
import threading
from collections import Counter, defaultdict
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest

import binarrow

ENVELOPE = ["_change_type", "_commit_version", "_commit_timestamp", "_change_ordinal"]


def rows_by_table(reader: binarrow.BinlogReader) -> dict[str, list[dict]]:
    tables: dict[str, list[dict]] = defaultdict(list)
    with reader:
        for change in reader:
            tables[f"{change.database}.{change.table}"] += change.to_pyarrow().to_pylist()
    return dict(tables)


@pytest.fixture(scope="module")
def everything(shop):
    return rows_by_table(binarrow.read_binlog(shop.glob))


def test_counts_are_those_of_the_books(shop, everything):
    assert set(everything) == set(shop.tables)
    for table, rows in everything.items():
        assert Counter(row["_change_type"] for row in rows) == shop.change_types(table), table


def test_replay_gives_the_rows_at_the_end(shop, everything):
    keys = {
        "shop.customers": ["id"],
        "shop.products": ["sku"],
        "shop.orders": ["id"],
        "shop.order_items": ["order_id", "line"],
    }
    for table, rows in everything.items():
        schema = binarrow.infer_schema(shop.glob, table)
        places = {
            int(field.metadata[b"mysql.primary_key"]): field.name
            for field in schema
            if b"mysql.primary_key" in (field.metadata or {})
        }
        key = [places[place] for place in sorted(places)]
        assert len(key) == len(keys[table])
        state = {}
        for row in rows:
            identity = tuple(row[column] for column in key)
            if row["_change_type"] in ("insert", "update_postimage"):
                state[identity] = row
            elif row["_change_type"] == "delete":
                del state[identity]
        assert len(state) == shop.tables[table]["rows"], table


def test_inputs_are_equal(shop, everything, tmp_path):
    paths = [str(path) for path in shop.files]
    opened = [path.open("rb") for path in shop.files]
    (tmp_path / "binlog.index").write_text("./binlog.000001\n./binlog.000002\n")
    for path in shop.files:
        (tmp_path / path.name).symlink_to(path)

    for source in (
        paths,
        shop.files,
        str(tmp_path / "binlog.*"),
        tmp_path,
        [path.read_bytes() for path in shop.files],
        [BytesIO(path.read_bytes()) for path in shop.files],
        opened,
        [paths[0], opened[1].name],
    ):
        assert rows_by_table(binarrow.read_binlog(source)) == everything, source
    for file in opened:
        file.close()


def test_one_file_is_part_of_all(shop, everything):
    rows = rows_by_table(binarrow.read_binlog(shop.files[0]))
    assert rows
    for table, first in rows.items():
        assert first == everything[table][: len(first)]


@pytest.mark.parametrize(
    "options",
    [
        {"threads": 1},
        {"threads": 4, "segment_bytes": 64 << 10},
        {"threads": 4, "segment_bytes": 64 << 20},
        {"batch_rows": 100},
        {"batch_bytes": 10_000},
        {"batch_end": "transaction"},
        {"verify_checksum": False},
    ],
    ids=str,
)
def test_rows_do_not_depend_on_how_the_work_is_shared_out(shop, everything, options):
    assert rows_by_table(binarrow.read_binlog(shop.glob, **options)) == everything


def test_rows_do_not_depend_on_the_choice_of_tables(shop, everything):
    for tables in ("shop.orders", ["shop.orders", "shop.products"], "shop.order*", "*.*"):
        rows = rows_by_table(binarrow.read_binlog(shop.glob, tables=tables))
        assert rows == {table: everything[table] for table in rows}
    rest = rows_by_table(binarrow.read_binlog(shop.glob, exclude_tables="shop.order*"))
    assert set(rest) == {"shop.customers", "shop.products"}


def test_order_is_strict_and_unique(everything):
    order = [
        (row["_commit_version"], row["_change_ordinal"])
        for rows in everything.values()
        for row in rows
    ]
    assert len(set(order)) == len(order)
    for rows in everything.values():
        own = [(row["_commit_version"], row["_change_ordinal"]) for row in rows]
        assert own == sorted(own)


def test_a_batch_knows_its_table_and_is_arrow(shop):
    with binarrow.read_binlog(shop.files[0], tables="shop.customers") as reader:
        change = next(reader)
        batch = change.to_pyarrow()
        assert (change.database, change.table) == ("shop", "customers")
        assert change.num_rows == len(change) == batch.num_rows > 0
        assert batch.schema.names[-4:] == ENVELOPE
        assert all(field.nullable for field in batch.schema)
        assert change.schema.equals(batch.schema)
        assert pa.record_batch(change).equals(batch)
        assert batch.column("_commit_timestamp")[0].as_py().utcoffset() == timedelta(0)
        batch.validate(full=True)
    assert reader.closed


def test_a_table_is_an_arrow_stream(shop, everything):
    stream = binarrow.read_binlog(shop.glob).table("shop.customers")
    table = pa.table(stream)
    assert table.to_pylist() == everything["shop.customers"]


def test_a_table_that_changes_is_an_error_unless_asked_to_conform(shop):
    with pytest.raises(binarrow.SchemaError, match="channel"):
        binarrow.read_binlog(shop.glob).table("shop.orders").read_all()

    latest = next(
        change.schema
        for change in binarrow.read_binlog(shop.files[1], tables="shop.orders")
        if "channel" in change.schema.names
    )
    reader = binarrow.read_binlog(shop.glob)
    rows = reader.table("shop.orders", schema=latest, on_schema_change="conform").read_all()
    assert rows.num_rows == shop.change_types("shop.orders").total()
    assert rows.schema.equals(latest)
    assert 0 < rows.column("channel").null_count < rows.num_rows


def test_reading_resumes_at_a_position(shop, everything):
    """Nothing is lost; (`_commit_version`, `_change_ordinal`) identifies repeated rows."""
    reader = binarrow.read_binlog(shop.files, batch_rows=100, segment_bytes=64 << 10)
    before = [next(reader) for _ in range(40)]
    reader.close()
    position = binarrow.Position.from_json(before[-1].position.to_json())
    assert position == before[-1].position
    assert pickle.loads(pickle.dumps(position)) == position
    assert position.offset > 4

    resumed = rows_by_table(binarrow.read_binlog(shop.files, start=position))
    for table, expected in everything.items():
        rows = [
            row
            for change in before
            if f"{change.database}.{change.table}" == table
            for row in change.to_pyarrow().to_pylist()
        ] + resumed.get(table, [])
        unique = {(row["_commit_version"], row["_change_ordinal"]): row for row in rows}
        assert [row for _, row in sorted(unique.items())] == expected
        assert len(rows) < 2 * len(expected)


def test_stats_count(shop):
    with binarrow.read_binlog(shop.glob) as reader:
        rows = sum(change.num_rows for change in reader)
        stats = reader.stats()
    assert stats["rows"] == rows
    assert stats["bytes_total"] == sum(path.stat().st_size for path in shop.files)
    assert stats["first_commit"] < stats["last_commit"]
    assert stats["batches"] > 0
    assert stats["transactions"] >= shop.expected["transactions"]
    for table, counts in shop.tables.items():
        own = stats["tables"][table]
        assert (own["inserts"], own["updates"], own["deletes"]) == (
            counts["insert"],
            counts["update"],
            counts["delete"],
        )


def test_stats_may_be_asked_for_by_another_thread(shop):
    reader = binarrow.read_binlog(shop.glob, batch_rows=50, threads=2)
    done = threading.Event()
    failures = []

    def watch():
        while not done.is_set():
            try:
                reader.stats()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test fails
                failures.append(error)
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in reader:
        pass
    done.set()
    watcher.join()
    assert not failures


def test_unknown_keyword():
    with pytest.raises(TypeError, match="tabels"):
        binarrow.read_binlog("binlog.000001", tabels="shop.*")


def test_missing_file():
    with pytest.raises(FileNotFoundError, match=r"nowhere/binlog\.000001"):
        list(binarrow.read_binlog("nowhere/binlog.000001"))


def test_a_glob_of_nothing(tmp_path):
    with pytest.raises((binarrow.ConfigError, FileNotFoundError), match="binlog"):
        list(binarrow.read_binlog(str(tmp_path / "binlog.*")))


def test_a_folder_without_binlogs(tmp_path):
    with pytest.raises((binarrow.ConfigError, FileNotFoundError), match=str(tmp_path)):
        list(binarrow.read_binlog(tmp_path))


def test_not_a_binlog(tmp_path):
    path = tmp_path / "binlog.000001"
    path.write_bytes(b"PAR1 and so on")
    with pytest.raises(binarrow.MalformedBinlogError) as caught:
        list(binarrow.read_binlog(path))
    assert caught.value.file == str(path)


def test_a_pattern_that_matches_nothing_is_a_warning(shop):
    with pytest.warns(binarrow.BinarrowWarning, match=r"shop\.oders"):
        assert list(binarrow.read_binlog(shop.glob, tables="shop.oders")) == []


def test_a_flipped_bit_is_found(shop):
    data = bytearray(shop.files[0].read_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(binarrow.BinarrowError) as caught:
        list(binarrow.read_binlog(bytes(data)))
    assert caught.value.offset is not None


def test_spark_types_hold_nothing_that_spark_does_not_take(shop):
    for table in shop.tables:
        schema = binarrow.infer_schema(shop.glob, table, types="spark")
        for field in schema:
            assert not pa.types.is_unsigned_integer(field.type), field
            assert not pa.types.is_dictionary(field.type), field
        stream = binarrow.read_binlog(shop.files[0], types="spark").table(table)
        assert stream.schema.equals(schema)


def test_type_options_are_values():
    options = binarrow.TypeOptions(profile="spark", time="text")
    assert options == binarrow.TypeOptions(profile="spark", time="text")
    assert options != binarrow.TypeOptions(profile="spark")
    assert hash(options) == hash(pickle.loads(pickle.dumps(options)))
    with pytest.raises((binarrow.ConfigError, TypeError)):
        binarrow.TypeOptions(profile="sparkle")


def test_splits_cover_the_file(shop, everything):
    found = [
        split
        for place, path in enumerate(shop.files, start=1)
        for split in binarrow.scan_splits(str(path), target_bytes=50_000, place=place)
    ]
    assert len(found) > 10
    rows: dict[str, list[dict]] = defaultdict(list)
    for split in binarrow.link_splits(found):
        copy = binarrow.Split.from_json(split.to_json())
        assert (copy.path, copy.start, copy.stop) == (split.path, split.start, split.stop)
        for table, part in rows_by_table(binarrow.read_split(copy)).items():
            rows[table] += part
    assert dict(rows) == everything


def test_expand_source_sorts_by_number(tmp_path):
    for name in ("binlog.9", "binlog.10", "binlog.000002", "binlog.index"):
        (tmp_path / name).touch()
    found = binarrow.expand_source(str(tmp_path / "binlog.*"))
    assert [Path(path).name for path in found] == ["binlog.000002", "binlog.9", "binlog.10"]


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
@pytest.mark.parametrize("split", [True, False])
def test_the_halves_of_an_update_stay_in_one_batch(shop, limit, split):
    reader = binarrow.read_binlog(
        shop.glob, tables="shop.products", batch_rows=limit, split_key_updates=split
    )
    sizes = Counter()
    for change in reader:
        ordinals = change.to_pyarrow().column("_change_ordinal").to_pylist()
        kinds = change.to_pyarrow().column("_change_type").to_pylist()
        assert ordinals[0] % 2 == 0
        assert kinds[-1] != "update_preimage"
        sizes[change.num_rows] += 1
    assert max(sizes) == max(limit, 2)
    assert sum(rows * count for rows, count in sizes.items()) == 2 * 1444 + 75 + 19


def test_one_envelope_column_needs_no_list(shop):
    """A single name is accepted, like for ``tables``, ``operations`` and ``include``."""
    reader = binarrow.read_binlog(shop.files[0], tables="shop.orders", envelope="server_id")
    names = next(iter(reader)).to_pyarrow().schema.names
    assert [name for name in names if name.startswith("_")] == ["_server_id"]
    with pytest.raises(binarrow.ConfigError, match="unknown envelope column"):
        binarrow.read_binlog(shop.files[0], envelope="")


def test_a_wanted_schema_has_columns(shop):
    """Rows of no columns are nothing that a table could hold."""
    reader = binarrow.read_binlog(shop.files[0])
    with pytest.raises(binarrow.ConfigError, match="no columns"):
        reader.table("shop.orders", schema=pa.schema([]), on_schema_change="conform")
    assert reader.table("shop.orders").read_all().num_rows > 0, "nothing was used up"


def test_a_wanted_schema_is_of_the_layout(shop):
    """By name a schema of the other layout fits no column, and every row would be of NULLs."""
    [path, *_] = shop.files
    layouts = ("flat", "nested")
    schemas = {name: binarrow.infer_schema(path, "shop.orders", layout=name) for name in layouts}
    for name, other in (layouts, layouts[::-1]):
        reader = binarrow.read_binlog(path, layout=name)
        with pytest.raises(binarrow.ConfigError, match="nested"):
            reader.table("shop.orders", schema=schemas[other], on_schema_change="conform")
        wider = schemas[name].append(pa.field("loaded_at", pa.timestamp("us")))
        table = reader.table("shop.orders", schema=wider, on_schema_change="conform").read_all()
        assert table.num_rows > 0
        assert table.column("loaded_at").null_count == table.num_rows
