"""Files that end without a Rotate or Stop event: every way to read them warns, with file and offset."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app

FLAGS_AT = 4 + 17  # of the format description
IN_USE = 1


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def events(repository) -> tuple[bytes, list[binarrow.Event]]:
    """A closed log with transactions, and its events."""
    path = repository / "tests" / "fixtures" / "mysql-transactions" / "binlog.000001"
    return path.read_bytes(), [e for e in binarrow.inspect(str(path)) if not e.compressed]


@pytest.fixture(params=["inside an event", "inside a header", "inside a transaction", "after"])
def cut(request, tmp_path, events) -> tuple[Path, int]:
    """A truncated copy that is marked as in use; and the offset in the warning."""
    data, found = events
    last = max(n for n, event in enumerate(found) if event.type_name == "Xid")
    begins, rows = found[last - 3], found[last - 1]
    assert rows.type_name.endswith("_rows")
    end = {
        "inside an event": rows.offset + rows.size // 2,
        "inside a header": rows.offset + 7,
        "inside a transaction": rows.offset,
        "after": begins.offset
        if begins.type_name == "Gtid"
        else found[last].offset + found[last].size,
    }[request.param]
    offset = end if request.param in ("after", "inside a transaction") else rows.offset
    path = tmp_path / "binlog.000001"
    path.write_bytes(marked(data[:end]))
    return path, offset


def marked(data: bytes) -> bytes:
    """Sets the flag that marks the file as in use; the checksum does not cover it."""
    return data[:FLAGS_AT] + bytes([data[FLAGS_AT] | IN_USE]) + data[FLAGS_AT + 1 :]


def about(path: Path, offset: int) -> str:
    return rf"{re.escape(str(path))} ends .*at offset {offset}\b.*in use"


def test_every_reader_warns(cut):
    path, offset = cut
    with pytest.warns(binarrow.BinarrowWarning, match=about(path, offset)):
        rows = sum(change.num_rows for change in binarrow.read_binlog(str(path)))
    assert rows > 0
    with pytest.warns(binarrow.BinarrowWarning, match=about(path, offset)):
        assert len(list(binarrow.inspect(str(path)))) > 5
    with pytest.warns(binarrow.BinarrowWarning, match=about(path, offset)):
        found = binarrow.scan_splits(str(path), target_bytes=1)
    [message] = found[-1].warnings  # also of scans in other processes
    assert re.search(about(path, offset), message)
    assert not any(split.warnings for split in found[:-1])
    assert binarrow.Split.from_json(found[-1].to_json()) == found[-1]


@pytest.mark.parametrize("command", ["inspect", "stats", "splits", "export"])
def test_every_command_warns(cut, tmp_path, command):
    path, offset = cut
    result = run(command, path, *(["--to", tmp_path / "out"] if command == "export" else []))
    assert result.exit_code == 0, result.output
    assert len(re.findall(about(path, offset), result.stderr)) == 1, result.stderr
    if command == "inspect":  # whatever is shown
        for arguments in (["--type", "xid"], ["--tables", "no.such"], ["--format", "json"]):
            assert re.search(about(path, offset), run(command, path, *arguments).stderr)


@pytest.mark.pyspark
def test_spark_warns_on_the_driver(cut):
    from binarrow.spark.file_reader import FileReader
    from binarrow.spark.source_options import SourceOptions

    path, offset = cut
    options = SourceOptions.parse({"path": str(path), "table": "d.t"})
    with pytest.warns(binarrow.BinarrowWarning, match=about(path, offset)):
        FileReader(options, options.place, None).partitions()


def test_a_file_before_others_warns_too(cut, tmp_path, repository):
    path, offset = cut
    later = repository / "tests" / "fixtures" / "mysql-transactions" / "binlog.000002"
    (tmp_path / later.name).write_bytes(later.read_bytes())
    folder = str(tmp_path)
    for read in (binarrow.read_binlog, binarrow.inspect):
        with pytest.warns(binarrow.BinarrowWarning, match=about(path, offset)):
            list(read(folder))


def test_a_warning_that_is_raised_loses_nothing(cut):
    path, _ = cut
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = [event.offset for event in binarrow.inspect([str(path), path.read_bytes()])]
    found, raised = [], 0
    events = binarrow.inspect([str(path), path.read_bytes()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while True:
            try:
                found.append(next(events).offset)
            except binarrow.BinarrowWarning:
                raised += 1
            except StopIteration:
                break
    assert (found, raised) == (every, 2)


def test_a_file_that_is_closed_or_read_in_part_does_not_warn(cut, tmp_path, events):
    data, found = events
    closed = tmp_path / "binlog.000002"
    closed.write_bytes(data)
    path, _ = cut
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(binarrow.inspect(str(closed)))
        binarrow.scan_splits(str(closed))
        list(binarrow.inspect(str(path), stop=f"{path.name}:{found[5].offset}"))
        list(binarrow.inspect(str(closed), start=f"{closed.name}:{len(data)}"))


def test_at_its_end_a_file_in_use_still_warns(cut):
    path, _ = cut
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = binarrow.read_binlog(str(path))
        list(reader)
    with pytest.warns(binarrow.BinarrowWarning, match="in use"):
        assert list(binarrow.read_binlog(str(path), start=reader.position)) == []


def test_a_closed_file_without_its_last_event(tmp_path, events):
    data, found = events
    end = found[-1].offset
    path = tmp_path / "binlog.000001"
    path.write_bytes(data[:end])
    expected = rf"{re.escape(str(path))} ends at offset {end} without a Rotate or Stop event"
    for read in (binarrow.read_binlog, binarrow.inspect, binarrow.scan_splits):
        with pytest.warns(binarrow.BinarrowWarning, match=expected):
            list(read(str(path)))


@pytest.mark.parametrize("size", [0, 1, 3, 4, 10, 22, 60])
@pytest.mark.parametrize("command", ["inspect", "stats", "splits"])
def test_without_a_format_description_it_is_an_error(tmp_path, events, size, command):
    data, _ = events
    path = tmp_path / "binlog.000001"
    path.write_bytes(marked(data)[:size])
    result = run(command, path)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert str(path) in line
    assert f"at offset {0 if size < 4 else 4}" in line or "offset" in line, line
    assert re.search("empty|ends inside its first 4 bytes|before its format description", line), (
        line
    )


def test_events_of_a_cut_file_as_json(cut):
    path, _ = cut
    result = run("inspect", path, "--format", "json")
    assert next(json.loads(line)["offset"] for line in result.stdout.splitlines()) == 4
