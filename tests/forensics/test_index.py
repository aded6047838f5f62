"""A read of files that have an index returns what a full read returns.

BINARROW_INDEX_READS=5000 BINARROW_SEED=7 pytest tests/forensics/test_index.py
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from support.extent import rounds
from support.indexed import Logs, bytes_read, damaged, outcome, read_keywords, resumed
from support.servers.servers import Server

SEED = int(os.environ.get("BINARROW_SEED", "1"))
READS = rounds("BINARROW_INDEX_READS", 60, 150)
ROOM = 1 << 20
"""Enough for Bloom filters in the index of a small log."""


def compare(rng: random.Random, logs: Logs, reads: int) -> int:
    """Compares random reads; returns how many of them returned rows or items."""
    filled = 0
    for number in range(reads):
        keywords = read_keywords(rng, logs)
        expected = outcome(logs, "ignore", keywords)
        assert outcome(logs, "use", keywords) == expected, (number, keywords)
        if number % 5 == 0:
            resumed(rng, logs, keywords)
        filled += bool(expected[0])
    return filled


def indexed(files: list[Path], segment_bytes: int) -> list[Path]:
    found = []
    for file in files:
        summary = binarrow.write_index(str(file), segment_bytes=segment_bytes, most_bytes=ROOM)
        assert binarrow.check_index(str(file)) == summary
        found.append(Path(summary.path))
    return found


@pytest.fixture
def shop_files(shop, tmp_path):
    return [Path(shutil.copy(file, tmp_path)) for file in shop.files]


def test_random_reads_of_the_shop(shop_files):
    rng = random.Random(SEED)
    for segment_bytes in (3000, 60_000):
        indexed(shop_files, segment_bytes)
        logs = Logs([str(file) for file in shop_files])
        assert compare(rng, logs, READS // 3) > READS // 12


FIXTURES = sorted(
    {log.parent for log in Path(__file__).parents[1].joinpath("fixtures").glob("*/binlog.0*")}
)


def test_random_reads_of_recorded_logs(tmp_path):
    rng = random.Random(SEED)
    covered = filled = 0
    for folder in FIXTURES:
        shutil.copytree(folder, tmp_path / folder.name)
        files = sorted(tmp_path.joinpath(folder.name).glob("binlog.0*"))
        for file in files:
            try:
                [index] = indexed([file], rng.choice([500, 5000]))
            except binarrow.UnsupportedEventError:
                continue
            assert index.stat().st_size > 0
            covered += binarrow.check_index(str(file)).covered_bytes
        logs = Logs([str(file) for file in files], {"column_names": "positional"})
        filled += compare(rng, logs, max(3, READS // 30))
    assert covered > 50_000
    assert filled > len(FIXTURES)


def cost(files: list[str], index: str, **keywords: object) -> int:
    """The bytes that a read of all rows reads."""
    before = bytes_read()
    with binarrow.read_binlog(files, index=index, segment_bytes=1 << 16, **keywords) as reader:
        sum(batch.num_rows for batch in reader)
    return bytes_read() - before


def test_parts_are_not_read(shop_files):
    indexed(shop_files, 20_000)
    files = [str(file) for file in shop_files]
    for keywords in (
        {"tables": "shop.customers", "where": "id = 55"},
        {"tables": "shop.customers", "where": "id = 123456 OR new.id IN (-1, 123457)"},
    ):
        chosen = {**keywords, "unlogged_changes": "ignore"}
        assert cost(files, "use", **chosen) < 0.7 * cost(files, "ignore", **chosen)


def test_parts_are_skipped_although_foreign_keys_are_known(shop_files):
    """Only parts in which an action may have been executed are read."""
    indexed(shop_files, 20_000)
    files = [str(file) for file in shop_files]
    schemas = {
        "shop.notes": "CREATE TABLE notes (id INT PRIMARY KEY, customer INT UNSIGNED,"
        " FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE)"
    }
    chosen = {"tables": "shop.*", "where": "id = 123456", "schemas": schemas}
    chosen = {**chosen, "exclude_tables": ["shop.products", "shop.order_items"]}
    assert cost(files, "use", **chosen) < 0.7 * cost(files, "ignore", **chosen)


def test_compressed_files_have_an_index(shop_files):
    packed = []
    for file in shop_files:
        path = file.with_name(f"{file.name}.gz")
        path.write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
        packed.append(path)
    indexes = indexed(packed, 20_000)
    assert [path.name for path in indexes] == [f"{path.name}.binarrow-index" for path in packed]
    logs = Logs([str(shop_files[0].parent)])
    compare(random.Random(SEED), logs, 10)


def test_a_damaged_index_changes_nothing(shop_files):
    rng = random.Random(SEED)
    index, _ = indexed(shop_files, 20_000)
    content = index.read_bytes()
    logs = Logs([str(file) for file in shop_files])
    keywords = {"tables": ["shop.customers"], "where": "id IN (55, 19)"}
    expected = outcome(logs, "ignore", keywords)
    for changed in damaged(rng, content):
        index.write_bytes(changed)
        assert outcome(logs, "use", keywords) == expected
        with pytest.warns(binarrow.BinarrowWarning, match="binarrow-index is not used"):
            list(logs.opened(**keywords))
        with pytest.raises((binarrow.InputError, binarrow.LaterVersionError)):
            binarrow.check_index(str(shop_files[0]))


def test_the_index_of_another_file(shop_files):
    first, second = indexed(shop_files, 20_000)
    shutil.copy(second, first)
    with pytest.warns(binarrow.BinarrowWarning, match="index of another file"):
        list(binarrow.read_binlog(str(shop_files[0]), tables="shop.orders"))
    with pytest.raises(binarrow.InputError, match="is not the index of the file"):
        binarrow.check_index(str(shop_files[0]))
    indexed(shop_files, 20_000)
    data = bytearray(shop_files[0].read_bytes())
    shop_files[0].write_bytes(data + data[:100])
    with (
        pytest.warns(binarrow.BinarrowWarning, match="the file has changed since"),
        pytest.raises(binarrow.MalformedBinlogError),
    ):
        list(binarrow.read_binlog(str(shop_files[0]), tables="shop.orders"))


def test_the_size_is_limited(shop_files):
    for file in shop_files:
        summary = binarrow.write_index(str(file))
        assert summary.bytes <= max(4096, summary.log_bytes // 200)
        assert summary.bytes == Path(summary.path).stat().st_size
        small = binarrow.write_index(str(file), segment_bytes=60_000, most_bytes=summary.bytes * 3)
        assert small.bytes <= summary.bytes * 3
        with pytest.raises(binarrow.UnsupportedEventError, match="too many tables"):
            binarrow.write_index(str(file), most_bytes=200)


def test_an_open_log_has_no_index(shop_files):
    data = shop_files[0].read_bytes()
    shop_files[0].write_bytes(data[:-100])
    with pytest.raises(binarrow.BinarrowError):
        binarrow.write_index(str(shop_files[0]))


def test_uris(objects):
    options = objects.s3_options
    name = "s3://logs/shop/binlog.000001"
    keywords = {"tables": ["shop.customers"], "where": "id = 55"}
    logs = Logs([name], {"storage_options": options})
    expected = outcome(logs, "ignore", keywords)
    assert expected[0]
    assert outcome(logs, "use", keywords) == expected
    with pytest.raises(binarrow.MissingInputError):
        binarrow.check_index(name, storage_options=options)
    [index] = indexed([objects.folder / "logs" / "shop" / "binlog.000001"], 20_000)
    summary = binarrow.check_index(name, storage_options=options)
    assert (summary.path, summary.bytes) == (f"{name}.binarrow-index", index.stat().st_size)
    assert outcome(logs, "use", keywords) == expected
    index.write_bytes(b"")
    with pytest.warns(binarrow.BinarrowWarning, match=r"s3://.*binarrow-index is not used"):
        list(logs.opened(**keywords))


def test_an_index_is_written_to_a_uri(shop):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe_file("/indexed/binlog.000001", shop.files[0].read_bytes())
    summary = binarrow.write_index("memory://indexed/binlog.000001")
    assert system.size("/indexed/binlog.000001.binarrow-index") == summary.bytes
    assert binarrow.check_index("memory://indexed/binlog.000001") == summary


def test_the_command(shop_files):
    files = [str(file) for file in shop_files]
    run = CliRunner().invoke
    result = run(app, ["index", *files, "--format", "json"])
    assert (result.exit_code, result.stderr) == (0, "")
    written = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["path"] for each in written] == [f"{file}.binarrow-index" for file in files]
    checked = run(app, ["index", str(shop_files[0].parent), "--check"])
    assert (checked.exit_code, checked.stderr) == (0, "")
    chosen = ["--tables", "shop.customers", "--where", "id = 55", "--format", "json"]
    found = run(app, ["find", *files, *chosen])
    assert found.stdout == run(app, ["find", *files, *chosen, "--ignore-index"]).stdout
    assert found.exit_code == 0
    Path(written[0]["path"]).write_bytes(b"binarrow-index")
    damaged = run(app, ["index", *files, "--check"])
    assert damaged.exit_code == 1
    assert f"{files[0]}.binarrow-index" in damaged.stderr


COMPRESSED = ["--binlog-transaction-compression=ON"]


@pytest.mark.parametrize(
    ("flavor", "options"), [("mysql", []), ("mysql", COMPRESSED), ("mariadb-11.8", [])]
)
def test_random_reads_of_a_busy_server(flavor, options, tmp_path):
    rng = random.Random(SEED)
    with Server.start(flavor, ["--binlog-row-metadata=FULL", *options]) as server:
        write(server, rng, rounds=60)
        server.flush_binlog()
        files = [Path(shutil.copy(file, tmp_path)) for file in server.binlog_files()[:-1]]
    indexes = indexed(files, 4000)
    covered = [binarrow.check_index(str(file)).covered_bytes for file in files]
    assert sum(covered) > sum(file.stat().st_size for file in files) // 4
    logs = Logs([str(file) for file in files])
    assert compare(rng, logs, READS) > READS // 4
    compare_splits(rng, [str(file) for file in files])
    content = indexes[-1].read_bytes()
    for changed in damaged(rng, content):
        indexes[-1].write_bytes(changed)
        compare(rng, logs, 1)


@pytest.mark.parametrize("flavor", ["mysql", "mariadb-11.8"])
def test_undo_and_splits_read_parts(flavor, tmp_path):
    with Server.start(flavor, ["--binlog-row-metadata=FULL"]) as server:
        session = server.connect()
        session.execute("CREATE DATABASE busy", "USE busy")
        for name, create in zip(("t0", "t1", "t2"), CREATE, strict=True):
            session.execute(create.format(name))
        server.flush_binlog()
        for key in range(1000):
            session.execute(
                "BEGIN",
                f"INSERT INTO t0 VALUES ({key}, 'note {key % 7}', {2**63 + key}, {key % 128})",
                f"INSERT INTO t1 VALUES ('ké{key}', {key}, REPEAT('w', 9000))",
                f"UPDATE t0 SET note = NULL WHERE id = {key}",
                f"DELETE FROM t0 WHERE id = {key - 5}",
                "COMMIT",
            )
            if key == 500:
                session.execute("TRUNCATE t2")
        server.flush_binlog()
        [file] = [shutil.copy(file, tmp_path) for file in server.binlog_files()[1:-1]]
    binarrow.write_index(file, segment_bytes=200_000)

    def read(work: Callable[[], Any]) -> tuple[Any, int]:
        before = bytes_read()
        return work(), bytes_read() - before

    def undone(index: str, **keywords: Any) -> bytes:
        chosen = {"tables": "busy.t0", "segment_bytes": 4096, **keywords}
        with binarrow.undo(file, index=index, **chosen) as script:
            return b"".join(script)

    where = "id BETWEEN 400 AND 420"
    text, cost = read(lambda: undone("use", where=where))
    expected, all_bytes = read(lambda: undone("ignore", where=where))
    assert text == expected
    assert text.count(b"START TRANSACTION") > 20
    assert cost < 0.7 * all_bytes
    assert undone("use") == undone("ignore")
    scan = partial(binarrow.scan_splits, file, target_bytes=1 << 20)
    splits, cost = read(scan)
    expected, all_bytes = read(partial(scan, index="ignore"))
    assert cost < 0.5 * all_bytes
    assert (splits[0].start, splits[-1].stop) == (expected[0].start, expected[-1].stop)
    assert len(splits) > 3
    Path(f"{file}.binarrow-index").write_bytes(b"")
    with pytest.warns(binarrow.BinarrowWarning, match="is not used"):
        assert [split.stop for split in scan()] == [split.stop for split in expected]


def compare_splits(rng: random.Random, files: list[str]) -> None:
    """With an index, ranges begin and end at places at which they may also do so without one, and have the same rows."""

    def scanned(index: str, target_bytes: int) -> list[binarrow.Split]:
        return [
            split
            for place, file in enumerate(files, start=1)
            for split in binarrow.scan_splits(
                file, place=place, target_bytes=target_bytes, index=index
            )
        ]

    def rows(splits: list[binarrow.Split]) -> list[Any]:
        found = []
        for split in binarrow.link_splits(splits):
            with binarrow.read_split(split, options=options) as reader:
                found += [row for batch in reader for row in batch.to_pyarrow().to_pylist()]
        return found

    options = {"tables": "busy.t0", "statements": "skip", "unlogged_changes": "ignore"}
    expected = scanned("ignore", target_bytes=1 << 40)
    assert scanned("use", target_bytes=1 << 40) == expected
    places = {
        (split.path, split.start): json.loads(split.to_json())["start"]
        for split in scanned("ignore", target_bytes=1)
    }
    wanted = sorted(rows(expected), key=repr)
    for target_bytes in (1, rng.randrange(2000, 20_000), rng.randrange(20_000, 200_000)):
        splits = scanned("use", target_bytes)
        for split in splits:
            assert json.loads(split.to_json())["start"] == places[split.path, split.start]
        assert sorted(rows(splits), key=repr) == wanted


CREATE = (
    "CREATE TABLE {} (id INT PRIMARY KEY, note VARCHAR(30), amount BIGINT UNSIGNED, small TINYINT)",
    "CREATE TABLE {} (code VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, id INT, word TEXT)",
    "CREATE TABLE {} (a INT, b INT, c CHAR(8), PRIMARY KEY (b, a))",
)


def write(server: Server, rng: random.Random, rounds: int) -> None:
    """Writes transactions of all kinds: simple ones, and those that an index must not contain."""
    one, two = server.connect(), server.connect()
    for session in (one, two):
        session.execute("CREATE DATABASE IF NOT EXISTS busy", "USE busy")
    tables = ["t0", "t1", "t2"]
    for name, create in zip(tables, CREATE, strict=True):
        one.execute(create.format(name))
    one.execute(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT,"
        " FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
    )
    for number in range(rounds):
        session = rng.choice([one, two])
        base = number * 40
        for _ in range(rng.randint(1, 4)):
            simple(session, rng, base)
        special(session, rng, number)
        if number % 20 == 19:
            server.flush_binlog()


def simple(session, rng: random.Random, base: int) -> None:
    """Changes a few rows around a key."""
    session.execute("BEGIN")
    for _ in range(rng.randint(1, 6)):
        key = base + rng.randrange(60)
        session.execute(
            rng.choice(
                [
                    f"REPLACE INTO t0 VALUES ({key}, 'note {key % 7}', {2**63 + key}, {key % 128})",
                    f"UPDATE t0 SET note = NULL, id = id + 1000000 WHERE id = {key}",
                    f"DELETE FROM t0 WHERE id BETWEEN {key} AND {key + 3}",
                    f"REPLACE INTO t1 VALUES ('ké{key}', {key}, REPEAT('w', {key % 50}))",
                    f"UPDATE t1 SET word = 'x' WHERE id < {key % 30}",
                    f"REPLACE INTO t2 VALUES ({key}, {-key}, 'c{key % 9}')",
                    f"DELETE FROM t2 WHERE a = {key}",
                ]
            )
        )
    session.execute("COMMIT")


def special(session, rng: random.Random, number: int) -> None:
    """Runs statements that must not be skipped, or fewer."""
    key = 5_000_000 + number
    session.execute(*rng.choice(SPECIAL).format(key=key, number=number).split("; "))


SPECIAL = (
    (
        "ALTER TABLE t0 ADD COLUMN extra{number} INT DEFAULT 3 FIRST;"
        " ALTER TABLE t0 DROP COLUMN extra{number}"
    ),
    "TRUNCATE TABLE t2",
    (
        "BEGIN; REPLACE INTO t0 (id) VALUES ({key}); SAVEPOINT s; DELETE FROM t0 WHERE id = {key};"
        " REPLACE INTO t1 VALUES ('lost{key}', 1, ''); ROLLBACK TO s; COMMIT"
    ),
    (
        "XA START 'x{number}'; REPLACE INTO t0 (id, note) VALUES ({key}, 'xa'); XA END 'x{number}';"
        " XA PREPARE 'x{number}'; XA COMMIT 'x{number}'"
    ),
    (
        "XA START 'x{number}'; REPLACE INTO t0 (id, note) VALUES ({key}, 'xa'); XA END 'x{number}';"
        " XA PREPARE 'x{number}'; XA ROLLBACK 'x{number}'"
    ),
    (
        "CREATE TEMPORARY TABLE temp (id INT); BEGIN; INSERT INTO temp VALUES ({key});"
        " REPLACE INTO t0 (id) SELECT id FROM temp; COMMIT; DROP TEMPORARY TABLE temp"
    ),
    (
        "REPLACE INTO parent VALUES ({key}); REPLACE INTO child VALUES ({key}, {key});"
        " DELETE FROM parent WHERE id = {key}"
    ),
    "RENAME TABLE t1 TO other; RENAME TABLE other TO t1",
    "BEGIN; REPLACE INTO t0 (id) VALUES ({key}); ROLLBACK; ANALYZE TABLE t0",
    (
        "SET binlog_row_image = MINIMAL; REPLACE INTO t0 (id) VALUES ({key});"
        " UPDATE t0 SET small = 9 WHERE id = {key}; SET binlog_row_image = FULL"
    ),
    (
        "SET binlog_format = STATEMENT; UPDATE t1 SET word = 'statement' WHERE id = 3;"
        " SET binlog_format = ROW"
    ),
    "REPLACE INTO t2 VALUES ({key}, 1, NULL)",
)
