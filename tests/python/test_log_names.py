"""Files with names other than the server's: one place has one name in positions, messages, histories and ranges."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import SchemaHistory
from binarrow.cli import app

pytestmark = pytest.mark.filterwarnings("ignore:.*shop.orders. the column channel:UserWarning")

ENVELOPE = ["change_type", "commit_version", "change_ordinal", "binlog_file", "binlog_position"]


@pytest.fixture
def copies(shop, tmp_path) -> list[str]:
    """The shop's log under arbitrary names."""
    names = [tmp_path / name for name in ("txns.binlog", "more")]
    for path, copy in zip(shop.files, names, strict=True):
        shutil.copy(path, copy)
    return [str(name) for name in names]


def read(source, **keywords) -> tuple[list[tuple[str, dict]], list[str]]:
    """Rows with their tables, and the positions of batches."""
    rows, positions = [], []
    for change in binarrow.read_binlog(source, envelope=ENVELOPE, **keywords):
        rows += [(change.table, row) for row in change.to_pyarrow().to_pylist()]
        positions.append(str(change.position))
    return rows, positions


def test_files_are_called_as_their_server_calls_them(shop, copies):
    expected = read(shop.glob, threads=1)
    data = [Path(path).read_bytes() for path in copies]
    for source in (copies, data, [copies[0], data[1]], [str(shop.files[0]), copies[1]]):
        assert read(source, threads=1) == expected
    alone = copies[0]  # by its own Rotate event; the other ends with a Stop event
    assert read(alone, threads=1) == read(str(shop.files[0]), threads=1)
    assert {event.file for event in binarrow.inspect(alone)} == {shop.files[0].name}
    reader = binarrow.read_binlog(copies)
    list(reader)
    named = {each["file"] for each in reader.stats()["largest_transactions"]}
    assert named <= {path.name for path in shop.files}


def test_a_position_names_the_file_either_way(shop, copies):
    rows, positions = read(shop.glob, threads=1, batch_end="transaction", segment_bytes=20_000)
    for place in positions[:: len(positions) // 6]:
        rest = read(shop.glob, start=place, threads=1)
        assert read(copies, start=place, threads=1) == rest
        name, offset = place.rsplit(":")
        own = "txns.binlog" if name == shop.files[0].name else "more"
        assert read(copies, start=f"{own}:{offset}", threads=1) == rest
        assert read(copies, stop=f"{own}:{offset}", threads=1) == read(
            shop.glob, stop=place, threads=1
        )
        shown = [event.offset for event in binarrow.inspect(copies, start=f"{own}:{offset}")]
        assert shown == [event.offset for event in binarrow.inspect(shop.glob, start=place)]
    assert rows


def test_a_history_knows_them(shop, copies, tmp_path):
    """A history of the server's log, and of the copies, are one: the same places in both."""
    first = f"{shop.files[0].name}:4"
    for number, (earlier, later) in enumerate([(copies, shop.glob), (shop.glob, copies)]):
        with SchemaHistory.open(str(tmp_path / f"{number}.db")) as history:
            history.baseline("CREATE DATABASE shop", first)
            rows, positions = read(earlier, history=history, threads=1)
            assert rows
            assert read(later, history=history, threads=1) == (rows, positions)
            for one in (copies[0], {shop.files[1].name: copies[1]}):  # one at a time
                with binarrow.read_binlog(one, history=history) as reader:
                    assert sum(change.num_rows for change in reader) > 0
            places = {str(change.position).split(":")[0] for change in history.changes()}
            assert places <= {path.name for path in shop.files}
            assert history.find("shop", "orders", positions[-1]) is not None


def test_ranges_give_the_same(shop, copies):
    def ranges(paths, history=None):
        found = [
            split
            for place, path in enumerate(paths, start=1)
            for split in binarrow.scan_splits(str(path), target_bytes=50_000, place=place)
        ]
        return binarrow.link_splits(found, history=history)

    expected, _ = read(shop.glob)
    keys = [(row["_commit_version"], row["_change_ordinal"]) for _, row in expected]
    for history in (None, SchemaHistory.open("memory:")):
        if history is not None:
            history.baseline("CREATE DATABASE shop", f"{shop.files[0].name}:4")
        found = []
        splits = ranges(copies, history)
        assert len(splits) > 5
        for split in splits:
            again = binarrow.Split.from_json(split.to_json())
            for change in binarrow.read_split(again, options={"envelope": ENVELOPE}):
                found += [(change.table, row) for row in change.to_pyarrow().to_pylist()]
        order = [(row["_commit_version"], row["_change_ordinal"]) for _, row in found]
        assert sorted(order) == sorted(keys)
        assert {row["_binlog_file"] for _, row in found} == {path.name for path in shop.files}


def test_ranges_of_an_xa_transaction_over_two_files(repository, tmp_path):
    folder = repository / "tests" / "fixtures" / "mysql-transactions"
    paths = []
    for name, other in (("binlog.000001", "a.log"), ("binlog.000002", "b.log")):
        shutil.copy(folder / name, tmp_path / other)
        paths.append(str(tmp_path / other))

    def rows(paths):
        found = [
            split
            for place, path in enumerate(paths, start=1)
            for split in binarrow.scan_splits(path, target_bytes=1, place=place)
        ]
        return sorted(
            (row["_commit_version"], row["_change_ordinal"], change.table, str(row))
            for split in binarrow.link_splits(found)
            for change in binarrow.read_split(split, options={"envelope": ENVELOPE})
            for row in change.to_pyarrow().to_pylist()
        )

    assert rows(paths) == rows([str(folder / f"binlog.00000{n}") for n in (1, 2)])


def test_the_last_file_is_named_by_the_one_before(shop, tmp_path, copies):
    """It ends without a Rotate event, like the file that a server writes to."""
    last = [event.offset for event in binarrow.inspect(copies[1])][-1]
    active = tmp_path / "active"
    active.write_bytes(Path(copies[1]).read_bytes()[:last])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, positions = read([copies[0], str(active)], threads=1)
        assert positions[-1].startswith(f"{shop.files[1].name}:")
        alone, places = read(str(active), threads=1)
        assert places[-1].startswith("active:")
        said, places = read({shop.files[1].name: str(active)}, threads=1)
        assert places[-1] == positions[-1]
        assert [row for _, row in said] == [row for _, row in rows][-len(said) :]
        assert len(alone) == len(said)


def test_files_that_are_no_run_of_a_log_keep_their_names(shop, copies):
    for source in ([copies[1], copies[0]], [copies[0], Path(copies[0]).read_bytes()]):
        _, positions = read(source, threads=1)
        names = {place.rsplit(":", 1)[0] for place in positions}
        assert names == {"more", "txns.binlog"} or names == {"txns.binlog", "<input 2>"}
        found = [
            split
            for place, path in enumerate([copies[1], copies[0]], start=1)
            for split in binarrow.scan_splits(path, place=place)
        ]
        linked = binarrow.link_splits(found)
        versions = [
            {
                v >> 40
                for c in binarrow.read_split(s)
                for v in c.to_pyarrow()["_commit_version"].to_pylist()
            }
            for s in linked
        ]
        assert versions == [{1}, {2}]


def test_names_that_the_caller_gives(shop, copies):
    names = [path.name for path in shop.files]
    given = dict(zip(names, copies, strict=True))
    assert read(given, threads=1) == read(shop.glob, threads=1)
    assert {event.file for event in binarrow.inspect(given)} == set(names)
    other = {f"log.{number:06}": path for number, path in enumerate(copies, start=41)}
    with pytest.raises(binarrow.ConfigError, match=r"continues in binlog\.000002"):
        read(other)
    rows, positions = read(other, gaps="allow", threads=1)
    assert {place.split(":")[0] for place in positions} == set(other)
    assert {row["_commit_version"] >> 40 for _, row in rows} == {41, 42}
    for wrong, message in [
        ({"log": copies[0]}, "is not a name in a server's log"),
        ({"a/log.000001": copies[0]}, "is not a name in a server's log"),
        ({"log.000001": shop.glob}, "pass that file"),
    ]:
        with pytest.raises(binarrow.ConfigError, match=message):
            read(wrong)
    with pytest.raises(TypeError, match="a list of paths"):
        binarrow.expand_source(given)


def test_a_history_says_what_to_do_where_the_name_is_not_known(shop, tmp_path, copies):
    last = [event.offset for event in binarrow.inspect(copies[1])][-1]
    active = tmp_path / "active"
    active.write_bytes(Path(copies[1]).read_bytes()[:last])
    with SchemaHistory.open("memory:") as history, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history.baseline("CREATE DATABASE shop", f"{shop.files[0].name}:4")
        read(copies[0], history=history)
        with pytest.raises(binarrow.BinarrowError, match="has in the server's log") as caught:
            read(str(active), history=history)
        assert "{'binlog.000001': 'active'}" in str(caught.value)
        rows, _ = read({shop.files[1].name: str(active)}, history=history)
        assert rows


@pytest.mark.pyspark
def test_spark_plans_them(shop, copies):
    from binarrow.spark.file_reader import FileReader
    from binarrow.spark.source_options import SourceOptions

    def rows(paths):
        options = SourceOptions.parse({"path": paths[0], "table": "shop.customers"})
        reader = FileReader(options, options.place, None)
        return [
            pa.table(binarrow.read_split(binarrow.Split.from_json(text)).table("shop.customers"))
            for partition in reader.partitions()
            for text in partition.splits
        ]

    assert pa.concat_tables(rows(copies[:1])).equals(pa.concat_tables(rows([str(shop.files[0])])))


def test_names_on_the_command_line(shop, copies, tmp_path):
    given = [f"{path.name}={copy}" for path, copy in zip(shop.files, copies, strict=True)]

    def run(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    def largest(*files):
        return json.loads(run("stats", *files, "--format", "json"))["largest_transactions"]

    assert largest(*given) == largest(*shop.files)
    assert run("inspect", *given, "--type", "xid") == run("inspect", *shop.files, "--type", "xid")
    orders = ("--tables", "shop.customers", "--to")
    run("export", *given, *orders, tmp_path / "a")
    run("export", *shop.files, *orders, tmp_path / "b")
    assert pq.read_table(tmp_path / "a").equals(pq.read_table(tmp_path / "b"))
    assert "sku" in run("schema", given[0], "--table", "shop.products")
    for command in (["stats", given[0], copies[1]], ["splits", *given]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 2
        assert "NAME=" in result.stderr
    literal = tmp_path / "binlog.000001=x"
    shutil.copy(shop.files[0], literal)
    assert largest(literal)
