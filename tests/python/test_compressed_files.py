"""Compressed logs are read like the plain ones, and trees of archives folder by folder."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


def members(pack):
    """Compresses in several members or frames."""
    return lambda data: b"".join(pack(data[at : at + 9000]) for at in range(0, len(data), 9000))


PACKERS = {
    ".gz": gzip.compress,
    ".zst": zstd,
    "+.gz": members(gzip.compress),
    "+.zst": members(zstd),
}


@pytest.fixture(params=PACKERS)
def packed(request, shop, tmp_path):
    """The files of the shop, compressed, and the function that compressed them."""
    pack = PACKERS[request.param]
    suffix = request.param.removeprefix("+")
    paths = []
    for file in shop.files:
        path = tmp_path / f"{file.name}{suffix}"
        path.write_bytes(pack(file.read_bytes()))
        paths.append(path)
    return paths, pack


def content(source, **keywords):
    """Everything that a reader returns, with positions."""
    envelope = ["change_type", "commit_version", "binlog_file", "binlog_position", "gtid"]
    with binarrow.read_binlog(source, envelope=envelope, **keywords) as reader:
        found = [
            (each.table, each.to_pyarrow().to_pylist(), reader.position.to_json())
            for each in reader
        ]
        return found, reader.position.to_json()


def test_the_result_is_that_of_the_plain_files(packed, shop):
    paths, _ = packed
    plain = content(shop.glob)
    assert plain[0]
    assert content(f"{paths[0].parent}/binlog.*") == plain
    assert content(paths) == plain
    assert content(str(paths[0].parent)) == plain
    for path, file in zip(paths, shop.files, strict=True):
        assert content(path.read_bytes()) == content(file.read_bytes())
        with path.open("rb") as packed_file, file.open("rb") as plain_file:
            assert content(packed_file) == content(plain_file)


def test_a_read_resumes_in_a_compressed_file(packed, shop):
    paths, _ = packed
    with binarrow.read_binlog(shop.glob, segment_bytes=20_000) as reader:
        positions = [reader.position for _ in reader]
    assert len(set(positions)) > 3
    for position in positions[:: len(positions) // 4]:
        assert content(paths, start=position) == content(shop.glob, start=position)
        assert content(paths, stop=position) == content(shop.glob, stop=position)
    with pytest.raises(binarrow.ConfigError, match="is after the end of the file"):
        content(paths, start=f"{shop.files[-1].name}:99999999")


@pytest.mark.parametrize("command", ["inspect", "stats", "find", "splits", "export"])
def test_commands(packed, shop, command, tmp_path):
    def run(files):
        options = {
            "export": ["--to", str(tmp_path / "out"), "--overwrite"],
            "splits": ["--target-bytes", "1g", "--format", "json"],
        }.get(command, [])
        result = CliRunner().invoke(app, [command, *map(str, files), *options])
        assert result.exit_code == 0, result.stderr
        if command == "export":
            parts = sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())
            return [(path.name, path.read_bytes()) for path in parts]
        return result.stdout.replace(str(files[0].parent), "")

    paths, _ = packed
    plain = run(shop.files)
    got = run(paths)
    if command == "splits":
        got = got.replace(f'{paths[0].suffix}"', '"')
    if command != "stats":  # it prints its speed
        assert got == plain


def test_a_compressed_file_is_one_range(packed, shop):
    paths, _ = packed
    for path, file in zip(paths, shop.files, strict=True):
        [split] = binarrow.scan_splits(path, target_bytes=10_000)
        assert len(binarrow.scan_splits(file, target_bytes=10_000)) > 1
        assert (split.start, split.stop) == (
            binarrow.scan_splits(file)[0].start,
            file.stat().st_size,
        )
        [linked] = binarrow.link_splits([split])
        rows = sum(batch.num_rows for batch in binarrow.read_split(linked))
        assert rows == sum(batch.num_rows for batch in binarrow.read_binlog(file))


def test_truncated_files_are_errors_with_their_place(packed, shop, tmp_path):
    paths, _ = packed
    data = paths[0].read_bytes()
    path = tmp_path / f"cut{paths[0].suffix}"
    size = shop.files[0].stat().st_size
    for end in range(5, len(data), max(1, len(data) // 12)):
        path.write_bytes(data[:end])
        failure = None
        try:
            content(path)
        except binarrow.MalformedBinlogError as error:
            failure = error
        if failure is not None:
            assert str(path) in str(failure)
            assert 0 <= failure.offset <= size
        else:
            # The file ends after a member: like a plain file that the server still writes.
            with pytest.warns(binarrow.BinarrowWarning, match="ends"):
                list(binarrow.read_binlog(path))


def test_damaged_files_are_never_read_as_something_else(packed, shop, tmp_path):
    paths, _ = packed
    data = bytearray(paths[0].read_bytes())
    plain = content(shop.files[0])[0]
    path = tmp_path / f"binlog.000001{paths[0].suffix}.d"
    refused = 0
    for at in range(4, len(data), max(1, len(data) // 24)):
        data[at] ^= 0x55
        path.write_bytes(data)
        data[at] ^= 0x55
        try:
            found = content({"binlog.000001": path})[0]
        except binarrow.BinarrowError:
            refused += 1
        else:
            rows = [row for _, rows, _ in plain for row in rows]
            assert [row for _, each, _ in found for row in each] == rows[: len(rows)]
    assert refused > 5


def test_compressed_twice_is_refused(shop, tmp_path):
    path = tmp_path / "binlog.000001.gz.gz"
    path.write_bytes(gzip.compress(gzip.compress(shop.files[0].read_bytes())))
    with pytest.raises(binarrow.MalformedBinlogError, match="compressed with gzip"):
        content(path)


def test_a_file_beside_its_compressed_form_is_an_error(shop, tmp_path):
    shutil.copy(shop.files[0], tmp_path)
    (tmp_path / "binlog.000001.gz").write_bytes(gzip.compress(shop.files[0].read_bytes()))
    with pytest.raises(binarrow.ConfigError, match=r"binlog\.000001\.gz\)"):
        content(tmp_path)


@pytest.fixture(params=["path", "s3"])
def tree(request, tmp_path, objects, shop):
    """An archive of two hosts: its folder, the form of a name in it, and the storage options."""
    folder, name, options = tmp_path / "archive", str(tmp_path / "archive"), None
    if request.param == "s3":
        folder, name, options = objects.folder / "archive", "s3://archive", objects.s3_options
    for host in ("db1", "db2"):
        (folder / host).mkdir(parents=True)
    shutil.copy(shop.files[0], folder / "db1")
    shutil.copy(shop.files[1], folder / "db1")
    packed = gzip.compress(shop.files[1].read_bytes())
    (folder / "db2" / f"{shop.files[1].name}.gz").write_bytes(packed)
    return folder, name, options


def test_a_tree_is_never_mixed(tree, shop):
    _, name, options = tree
    with pytest.raises(binarrow.ConfigError, match=r"are in 2 folders .*db1, .*db2\)"):
        binarrow.read_binlog(f"{name}/*/binlog.*", storage_options=options)
    found = binarrow.find_logs(f"{name}/*/binlog.*", storage_options=options)
    names = [file.name for file in shop.files[:2]]
    assert found == {
        f"{name}/db1": [f"{name}/db1/{each}" for each in names],
        f"{name}/db2": [f"{name}/db2/{names[1]}.gz"],
    }
    with binarrow.read_binlog(found[f"{name}/db2"], storage_options=options) as reader:
        assert sum(batch.num_rows for batch in reader) > 0


def test_a_folder_for_each_day_is_one_log(shop, tmp_path):
    for day, file in enumerate(shop.files, start=1):
        (tmp_path / f"2026-11-0{day}").mkdir()
        shutil.copy(file, tmp_path / f"2026-11-0{day}")
    whole = binarrow.read_binlog(shop.files)
    expected = [(batch.position, batch.to_pyarrow()) for batch in whole]
    days = binarrow.read_binlog(str(tmp_path / "*" / "binlog.*"))
    assert [(batch.position, batch.to_pyarrow()) for batch in days] == expected
    paths = sorted(str(path) for path in tmp_path.iterdir())
    assert CliRunner().invoke(app, ["stats", *paths]).exit_code == 0
    last = tmp_path / "2026-11-02" / shop.files[1].name
    last.rename(last.with_suffix(".000009"))  # files are missing
    assert "2 folders" in CliRunner().invoke(app, ["stats", *paths]).stderr


def test_commands_and_trees(shop, tmp_path):
    for host in ("db1", "db2"):
        (tmp_path / host).mkdir()
        for file in shop.files:
            shutil.copy(file, tmp_path / host)
    files = sorted(str(path) for path in tmp_path.glob("*/binlog.*"))
    for given in (files, [f"{tmp_path}/*/binlog.*"]):
        refused = CliRunner().invoke(app, ["stats", *given])
        assert refused.exit_code == 2, refused.stderr
        assert "2 folders" in refused.stderr
    chosen = ["--tables", "shop.customers", "--where", "id = 19", "--format", "json"]
    result = CliRunner().invoke(app, ["find", f"{tmp_path}/*/binlog.*", *chosen])
    assert result.exit_code == 0, result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    alone = CliRunner().invoke(app, ["find", str(Path(shop.folder)), *chosen])
    expected = [json.loads(line) for line in alone.stdout.splitlines()]
    assert [each.pop("log") for each in found] == [
        f"{tmp_path}/{host}" for host in ("db1", "db2") for _ in expected
    ]
    assert found == expected * 2
    named = [f"{Path(file).name}={file}" for file in files[: len(files) // 2]]
    assert CliRunner().invoke(app, ["stats", *named]).exit_code == 0
