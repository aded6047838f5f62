"""Positions and other files that each version has stored while it read logs: the current code continues from them.

`tests/fixtures/stored/README.md` describes them. The logs are those of the repository.
"""

from __future__ import annotations

import base64
import json
import pickle
import random
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest

import binarrow
from binarrow import FileCheckpoint, Position, SchemaHistory, Split
from binarrow.stream import Stream
from support.archives import unpack
from support.indexed import Logs, bytes_read, outcome, read_keywords
from support.stored import logs
from support.stored.servers import STORED

FOLDERS = sorted(STORED.glob("*/files"))

POSITIONS = [
    pytest.param(stored, id="-".join((folder.parent.name, stored["log"], stored["kind"])))
    for folder in FOLDERS
    for stored in json.loads((folder / "positions.json").read_text())
]


@pytest.fixture(params=FOLDERS, ids=lambda path: path.parent.name)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def described(folder: Path, name: str) -> Any:
    return json.loads((folder / "files.json").read_text())[name]


@pytest.mark.parametrize("stored", POSITIONS)
def test_a_read_continues(stored: dict[str, Any]) -> None:
    """It returns the changes that were not returned before, as a read from the beginning does."""
    text = stored["position"]
    start = Position.from_json(text) if text.startswith("{") else text
    with logs.opened(stored["log"], stored["way"]) as source:
        expected = logs.after(logs.rows_of(logs.read(source)), stored["delivered"])
        assert expected
        assert logs.rows_of(logs.read(source, start=start)) == expected


def test_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    """Its position is read, and then replaced."""
    stored = described(folder, "checkpoint")
    path = Path(shutil.copy(folder / "checkpoint.json", tmp_path))
    files = logs.files_of(stored["log"])
    expected = logs.after(logs.rows_of(logs.read(files)), stored["delivered"])
    for rows in (expected, {}):
        checkpoint = FileCheckpoint(path)
        start = checkpoint.load()
        assert start is not None
        assert logs.rows_of(Stream(logs.read(files, start=start), checkpoint)) == rows


def test_pickles(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(logs.REPOSITORY)
    stored = described(folder, "pickles")
    position, split = (pickle.loads(base64.b64decode(stored[one])) for one in ("position", "split"))
    assert position.to_json() in {
        one["position"] for one in json.loads((folder / "positions.json").read_text())
    }
    [other, *_] = binarrow.scan_splits("examples/shop/binlog.000001", target_bytes=1500)
    assert split == other


def test_an_index(folder: Path, tmp_path: Path) -> None:
    """It is the index of the file. Reads with it return what full reads return, and skip parts of the file."""
    files = [Path(shutil.copy(path, tmp_path)) for path in logs.files_of("shop")]
    for path in files:
        shutil.copy(folder / f"{path.name}{binarrow.index.SUFFIX}", tmp_path)
        assert binarrow.check_index(str(path)).covered_bytes > 0
        assert bytes_of_read(path, "use") < 0.7 * bytes_of_read(path, "ignore")
    log, draw, filled = Logs([str(files[1])]), random.Random(1), 0
    for _ in range(8):
        keywords = read_keywords(draw, log)
        expected = outcome(log, "ignore", keywords)
        assert outcome(log, "use", keywords) == expected, keywords
        filled += bool(expected[0])
    assert filled > 2


def bytes_of_read(path: Path, index: Literal["use", "ignore"]) -> int:
    """The size of what a read of a row that does not exist reads."""
    before = bytes_read()
    keywords = {"tables": "shop.customers", "where": "id = 123456", "unlogged_changes": "ignore"}
    for _ in binarrow.read_binlog(path, index=index, segment_bytes=1 << 16, **keywords):
        pass
    return bytes_read() - before


@pytest.mark.parametrize("log", ["shop", "mysql-altered"])
def test_a_history_in_a_file(folder: Path, tmp_path: Path, log: str) -> None:
    """It contains the structures of the first half of the log. The second half is added."""
    unpack(folder / "history.tar.xz", tmp_path)
    url, files = f"sqlite:///{tmp_path}/history.db?source={log}", logs.files_of(log)
    middle = Position.from_json(described(folder, "history")[log])
    database = "shop" if log == "shop" else "d"
    with SchemaHistory.open(url) as history, SchemaHistory.open("memory:") as other:
        assert history.covered[-1].stop == middle
        other.baseline(f"CREATE DATABASE {database}", f"{files[0].name}:4")
        expected = logs.rows_of(logs.read(files, history=other))
        rest = logs.rows_of(logs.read(files, start=middle, history=history))
        assert logs.rows_of(logs.read(files, history=history)) == expected
        before = {table: len(rows) - len(rest.get(table, ())) for table, rows in expected.items()}
        assert logs.after(expected, before) == rest
        assert sum(before.values()) > 0
        assert history.covered == other.covered
        assert structures(history, database) == structures(other, database)
    with SchemaHistory.open(url) as history:
        assert history.covered[-1].stop > middle


def structures(history: SchemaHistory, database: str) -> list[Any]:
    """The statements of a history, and the structures of tables after each."""
    return [
        (change.position, change.statement, history.tables(change.position))
        for change in history.changes(database)
    ]


@pytest.mark.parametrize("log", ["mysql-transactions", "mysql-altered"])
def test_splits(folder: Path, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranges of a log have its rows: also of XA transactions of other ranges, and of tables that the log does not describe."""
    monkeypatch.chdir(logs.REPOSITORY)
    files, history = logs.files_of(log), None
    if log == "mysql-altered":
        history = SchemaHistory.open("memory:")
        history.baseline("CREATE DATABASE d", f"{files[0].name}:4")
    expected = logs.rows_of(logs.read(files, history=history))
    rows: logs.Rows = {}
    texts = (folder / f"splits-{log}.jsonl").read_text().splitlines()
    assert len(texts) > 3
    for text in texts:
        options = {"envelope": logs.ENVELOPE, "statements": "skip"}
        found = logs.rows_of(binarrow.read_split(Split.from_json(text), options=options))
        for table, changes in found.items():
            rows.setdefault(table, []).extend(changes)
    assert rows == expected
