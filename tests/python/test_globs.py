"""Globs and folders match the files that are numbered like a log."""

from __future__ import annotations

import lzma
import shutil
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app

NAMES = ["binlog.000001", "binlog.000002", "binlog.999999", "binlog.1000000"]


def write(folder: Path) -> None:
    """Files that a MariaDB 11.8 server has next to its logs, and logs with many digits."""
    for name in NAMES:
        (folder / name).write_bytes(b"\xfebin")
        (folder / f"{name}.idx").write_bytes(b"\xfe\xfe\x0b\x01")
    (folder / "binlog.index").write_text("".join(f"./{name}\n" for name in NAMES))
    (folder / "binlog.state").write_text("0-1-7\n")


@pytest.fixture(params=["path", "file", "s3"])
def place(request, tmp_path, objects):
    """The place of the files: a folder, the form of a name in it, and the function that opens it."""
    if request.param == "s3":
        folder = objects.folder / "logs" / "mariadb"
        folder.mkdir()
        return folder, "s3://logs/mariadb", objects.s3_options
    return tmp_path, f"file://{tmp_path}" if request.param == "file" else str(tmp_path), None


def test_a_glob_takes_what_is_numbered(place):
    folder, name, options = place
    write(folder)
    prefix = name.removeprefix("file://")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pattern in ("binlog.*", "binlog*", "b[i]nlog.*", "*", ""):
            found = binarrow.expand_source(f"{name}/{pattern}", storage_options=options)
            assert found == [f"{prefix}/{each}" for each in NAMES], pattern
    few = binarrow.expand_source(f"{name}/binlog.00000*", storage_options=options)
    assert few == [f"{prefix}/{each}" for each in NAMES[:2]]


def test_other_names_that_match_are_named(place):
    folder, name, options = place
    write(folder)
    for other in ("binlog.000002.bak", "notes.txt", "txns.binlog"):
        (folder / other).write_bytes(b"\xfebin")
    with pytest.warns(binarrow.BinarrowWarning) as caught:
        found = binarrow.expand_source(f"{name}/*", storage_options=options)
    assert [Path(each).name for each in found] == NAMES
    [message] = [str(each.message) for each in caught]
    assert '"binlog.000002.bak", "notes.txt", "txns.binlog"; if' in message
    with pytest.warns(binarrow.BinarrowWarning, match=r'"binlog.000002.bak"; if'):
        binarrow.expand_source(name, storage_options=options)


def test_no_numbered_file_is_an_error_that_says_so(place):
    folder, name, options = place
    (folder / "txns.binlog").write_bytes(b"\xfebin")
    with pytest.raises(
        binarrow.MissingInputError, match="but that of the file does not; list files"
    ):
        binarrow.expand_source(f"{name}/*.binlog", storage_options=options)
    with pytest.raises(binarrow.MissingInputError, match="no file matches"):
        binarrow.expand_source(f"{name}/x*", storage_options=options)
    with pytest.raises(binarrow.MissingInputError, match="contains no binary log"):
        binarrow.expand_source(f"{name}/", storage_options=options)


@pytest.mark.parametrize("pattern", ["binlog.*", ""])
def test_a_log_in_another_compressed_form_is_not_passed_over(place, shop, pattern):
    folder, name, options = place
    (folder / "binlog.000001.xz").write_bytes(lzma.compress(shop.files[0].read_bytes()))
    shutil.copy(shop.files[1], folder)
    with pytest.raises(binarrow.MalformedBinlogError, match="xz"):
        list(binarrow.read_binlog(f"{name}/{pattern}", storage_options=options))


def test_names_without_numbers_are_read_one_by_one(place, shop):
    folder, name, options = place
    for path, other in zip(shop.files, ("first.binlog", "second.binlog"), strict=True):
        shutil.copy(path, folder / other)
    names = [f"{name}/first.binlog", f"{name}/second.binlog"]
    read = pa.table(binarrow.read_binlog(names, storage_options=options).table("shop.products"))
    own = pa.table(binarrow.read_binlog(shop.glob).table("shop.products"))
    assert read.drop(["_commit_version"]).equals(own.drop(["_commit_version"]))


@pytest.mark.parametrize("command", ["inspect", "stats", "splits"])
def test_on_the_command_line(tmp_path, shop, command):
    for path in shop.files:
        shutil.copy(path, tmp_path)
        (tmp_path / f"{path.name}.idx").write_bytes(b"\xfe\xfe\x0b\x01")
    (tmp_path / "binlog.state").write_text("0-1-7\n")
    result = CliRunner().invoke(app, [command, f"{tmp_path}/binlog.*"])
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("command", ["find", "stats", "inspect", "splits", "index"])
def test_a_glob_that_the_shell_expands(command, repository, tmp_path):
    """It also matches the files of servers and the indexes next to logs."""
    for path in (repository / "examples" / "shop").glob("binlog.0*"):
        shutil.copy(path, tmp_path)
        (tmp_path / f"{path.name}.idx").write_bytes(b"\xfe\xfe\x0b\x01")
    for path in (tmp_path / "binlog.index", tmp_path / "binlog.state"):
        path.write_text("0-1-7\n")
    binarrow.write_index(str(tmp_path / "binlog.000001"))
    files = sorted(str(path) for path in tmp_path.iterdir())
    result = CliRunner().invoke(app, [command, *files])
    assert result.exit_code == 0, result.stderr
