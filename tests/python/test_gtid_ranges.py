"""Files that are read from or to a GTID set: missing files are an error, and a resumed read returns nothing twice."""

from __future__ import annotations

import json
import operator
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import BinarrowWarning, ConfigError, Position
from binarrow.cli import app

FIXTURES = Path(__file__).parents[1] / "fixtures"

MYSQL, MARIADB, TAGGED = "mysql-transactions", "mariadb11-transactions", "mysql-tagged"

UUID = "ec08d421-e59b-11f1-80a1-02fc00000001"

OTHER = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb"

TAGS = "f4413d78-e59b-11f1-a06d-02fc00000001"


def files(name: str) -> list[str]:
    return [str(path) for path in sorted((FIXTURES / name).glob("binlog.0*"))]


READ: dict[str, Any] = {
    "column_names": "positional",
    "envelope": ["change_type", "gtid"],
    "threads": 1,
}


Rows = list[tuple[str, dict[str, Any]]]


def rows(source: Any, **keywords: Any) -> Rows:
    """The rows with their tables, in the order of each table; warnings about XA transactions are ignored."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "XA COMMIT", BinarrowWarning)
        return by_table(binarrow.read_binlog(source, **READ, **keywords))


def by_table(batches: Iterable[binarrow.ChangeBatch]) -> Rows:
    found = [(batch.table, row) for batch in batches for row in batch.to_pyarrow().to_pylist()]
    return sorted(found, key=operator.itemgetter(0))


def gtids_alone(gtid_set: str) -> Position:
    """A Position that is a GTID set alone."""
    stored = json.loads(Position("binlog.000001", 4).to_json())
    return Position.from_json(json.dumps({**stored, "file": "", "offset": 0, "gtid_set": gtid_set}))


MISSING = [
    (MYSQL, f"{UUID}:1-10", f"{UUID}:11-21"),
    (MYSQL, f"{UUID}:1-9:11-30", f"{UUID}:10"),
    (MYSQL, f"{OTHER}:1-10", f"{UUID}:1-21"),
    (MYSQL, f"{UUID}:tag:1-21", f"{UUID}:1-21"),
    (TAGGED, f"{TAGS}:1-3:tag_a:1", f"{TAGS}:b:1"),
    (MARIADB, "0-1-10", "up to 0-1-25"),
    (MARIADB, "1-1-100", "up to 0-1-25"),
]


@pytest.mark.parametrize(("name", "start", "missing"), MISSING)
def test_older_files_are_missing(name: str, start: str, missing: str) -> None:
    second = files(name)[1]
    for given in (start, gtids_alone(start)):
        with pytest.raises(ConfigError) as caught:
            rows(second, start=given)
        message = str(caught.value)
        assert f"the first file, binlog.000002, are missing: {missing}." in message
        assert "add the older files" in message
        assert "gaps='allow'" in message
        with pytest.warns(BinarrowWarning, match="are missing"):
            allowed = rows(second, start=given, gaps="allow")
        assert allowed == [row for row in rows(files(name), start=given) if row in rows(second)]
    shown = CliRunner().invoke(app, ["stats", second, "--start", start])
    assert shown.exit_code != 0
    assert "are missing" in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("name", "start"),
    [
        (MYSQL, f"{UUID}:1-21"),
        (MYSQL, f"{UUID}:1-25"),
        (MYSQL, f"{UUID}:1-21:23"),
        (MYSQL, f"{UUID}:1-30,{OTHER}:5"),
        (MARIADB, "0-1-25"),
        (MARIADB, "0-1-28,7-1-4"),
    ],
)
def test_a_later_file_alone_is_enough(name: str, start: str) -> None:
    """Nothing is missing: the same rows as from all files."""
    both, second = files(name), files(name)[1]
    assert rows(second, start=start) == [
        row for row in rows(both, start=start) if row in rows(second)
    ]


def test_what_the_stop_does_not_contain_is_not_missing() -> None:
    second = files(MYSQL)[1]
    stop = f"{UUID}:1-5:22-24"
    assert rows(second, start=f"{UUID}:1-5", stop=stop) == rows(
        second, start=f"{UUID}:1-21", stop=f"{UUID}:1-24"
    )
    with pytest.raises(ConfigError, match=f"are missing: {UUID}:4-5"):
        rows(second, start=f"{UUID}:1-3", stop=stop)
    with pytest.raises(ConfigError, match="are missing: up to 0-1-25"):
        rows(files(MARIADB)[1], start="0-1-10", stop="0-1-28")


@pytest.mark.parametrize("stop", ["end", "time"])
def test_files_without_gtids(stop: str) -> None:
    source = files("mysql-no-gtids")
    for start in (f"{UUID}:1-5", gtids_alone(f"{UUID}:1-5")):
        with pytest.raises(ConfigError, match=r"transaction at binlog\.000001:\d+ has no GTID"):
            rows(source, start=start, gaps="allow" if stop == "time" else "error")


def test_a_set_of_the_other_kind_of_server() -> None:
    with pytest.raises(ConfigError, match=r"GTID set of MySQL, and binlog\.000001 is of MariaDB"):
        rows(files(MARIADB), start=f"{UUID}:1-5")
    with pytest.raises(ConfigError, match=r"MariaDB, and binlog\.00000\d is of MySQL"):
        rows(files(MYSQL), start="0-1-5")
    with pytest.raises(ConfigError, match=r"MariaDB, and binlog\.000002 is of MySQL"):
        rows(files(MYSQL)[1], start="0-1-5")


@pytest.mark.parametrize(
    ("name", "stop", "missing"),
    [
        (MYSQL, f"{UUID}:1-40", f"{UUID}:31-40"),
        (MYSQL, f"{UUID}:1-30,{OTHER}:1", f"{OTHER}:1"),
        (TAGGED, f"{TAGS}:1-3:b:1-3:tag_a:1", f"{TAGS}:b:3"),
        (MARIADB, "0-1-40", "up to 0-1-40"),
        (MARIADB, "0-1-34,5-1-1", "up to 5-1-1"),
    ],
)
def test_newer_files_are_missing(name: str, stop: str, missing: str) -> None:
    """The rows of the files are returned, then the error: a stop that was not reached is not silent."""
    source = files(name)
    for given in (stop, gtids_alone(stop)):
        reader = binarrow.read_binlog(source, stop=given, column_names="positional", threads=1)
        got = 0
        with pytest.raises(ConfigError) as caught:  # noqa: PT012
            for batch in reader:
                got += batch.num_rows
        assert f"before the stop: they do not contain {missing}" in str(caught.value)
        assert got == len(rows(source))
        with pytest.warns(BinarrowWarning, match="before the stop"):
            assert rows(source, stop=given, gaps="allow") == rows(source)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        (MYSQL, f"{UUID}:1-3:7-12:24"),
        (MYSQL, f"{UUID}:1-2:30"),
        (MARIADB, "0-1-12"),
        (MARIADB, "0-1-30"),
    ],
)
def test_a_read_after_a_set_is_resumed(name: str, start: str) -> None:
    """After each batch: transactions of the set that are logged later are not returned."""
    source = files(name)
    expected = rows(source, start=start)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "XA COMMIT", BinarrowWarning)
        small = {"batch_end": "transaction", "segment_bytes": 1000}
        batches = list(binarrow.read_binlog(source, start=start, **READ, **small))
    assert batches
    for count, batch in enumerate(batches, start=1):
        position = Position.from_json(batch.position.to_json())
        rest = rows(source, start=position)
        got = by_table(batches[:count]) + rest
        assert sorted(got, key=operator.itemgetter(0)) == expected
