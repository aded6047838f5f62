"""Everything that is stored has a version. A later one is refused, and an earlier one is not changed when it is read."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import BinarrowError, FileCheckpoint, LaterVersionError
from binarrow._native import STORED_VERSIONS
from binarrow.cli import app
from binarrow.stored_forms import FORMS
from support.later_versions import LATER, check_refused, content_of, set_field, with_field
from support.stored_things import (
    MORE,
    RECORD,
    SHOP,
    STORED,
    Stored,
    commit,
    read_history,
    saved_checkpoint,
    set_history,
    set_index,
    target,
    written_history,
    written_index,
)

REPOSITORY = Path(__file__).parents[2]

ELSEWHERE = {
    "lock of a sync in an object store": "tests/python/test_stored_versions_in_stores.py",
    "history on a server": "tests/history/test_history_server_store.py",
    "chunks of a load in Spark": "tests/spark/test_spark_stored_versions.py",
    "parked tables of a query": "tests/spark/test_spark_stored_versions.py",
    "properties of a table of a query": "tests/spark/test_spark_stored_versions.py",
    "Parquet mirror": "tests/spark/test_spark_stored_versions.py",
    "range of a server's log": "tests/spark/test_spark_stored_versions.py",
}
"""The tests of other things. Most need a server or Spark."""

KNOWN = {**STORED_VERSIONS, **{form.name: form.version for form in FORMS}}
each_thing = pytest.mark.parametrize("name", [*STORED, *MORE])


def thing(name: str) -> tuple[Stored, int]:
    if name in MORE:
        return MORE[name], KNOWN["state of a sync in Delta or Iceberg tables"]
    return STORED[name], KNOWN[name]


def test_each_form_is_tested() -> None:
    assert {*STORED, *ELSEWHERE} == {*KNOWN}
    for name, file in ELSEWHERE.items():
        assert f'"{name}"' in (REPOSITORY / file).read_text(), name


@each_thing
def test_a_later_version_is_refused(name: str, tmp_path: Path) -> None:
    stored, known = thing(name)
    made = stored.set_version(stored.make(tmp_path), LATER)
    before = content_of(tmp_path)
    check_refused(lambda: stored.read(made), known)
    after = content_of(tmp_path)
    assert {path: after[path] for path in before} == before


@each_thing
def test_without_a_version_it_is_the_first(name: str, tmp_path: Path) -> None:
    stored, _ = thing(name)
    made = stored.make(tmp_path)
    expected = stored.read(made)
    if name == "position":  # always has one
        with pytest.raises(BinarrowError, match="not a stored position"):
            stored.read(stored.set_version(made, None))
        return
    assert stored.read(stored.set_version(made, None)) == expected


@each_thing
def test_reading_changes_nothing(name: str, tmp_path: Path) -> None:
    stored, _ = thing(name)
    made = stored.make(tmp_path)
    if stored.earlier is not None:
        made = stored.earlier(made)
    before = content_of(tmp_path)
    stored.read(made)
    stored.read(made)
    assert content_of(tmp_path) == before


TARGETS = {
    "state of a sync in DuckDB": "duckdb",
    "state of a sync in Delta or Iceberg tables": "delta+file",
    "state of a sync in Parquet files": "parquet+file",
}
each_target = pytest.mark.parametrize("name", [*TARGETS])


def url_of(name: str, place: Path) -> tuple[str, Any]:
    """Returns the URL of a target, and its mode."""
    return f"{TARGETS[name]}:///{place}", "history" if "Parquet" in name else "mirror"


@each_target
def test_a_commit_writes_the_current_version(name: str, tmp_path: Path) -> None:
    stored, known = thing(name)
    place = stored.make(tmp_path)
    expected = stored.read(place)
    assert stored.earlier is not None
    stored.set_version(stored.earlier(place), None)
    assert stored.read(place)[0].records[RECORD.name] == replace(RECORD, unknown_columns=())
    url, mode = url_of(name, place)
    commit(target(url, mode), None, mode)
    assert stored.read(place) == expected
    if place.is_file():
        with duckdb.connect(str(place), read_only=True) as opened:
            assert opened.execute("SELECT version FROM _binarrow.sync").fetchall() == [(known,)]
    else:
        (file,) = tmp_path.glob(JSON_FILES[name])
        assert json.loads(file.read_text())["version"] == known


@each_target
def test_a_sync_refuses_its_target(name: str, tmp_path: Path) -> None:
    stored, known = thing(name)
    url, mode = url_of(name, stored.set_version(stored.make(tmp_path), LATER))
    server: Any = None  # it is not asked
    check_refused(lambda: binarrow.sync(server, url, mode=mode), known)


# ------------------------------------------------------------------------------ JSON

NAMES = ("", "Version", "v2", "version ", "positions", "\0", "é", "__class__", "self")
"""Names of fields that no form has."""

JSON_FILES = {
    "checkpoint": "pos.json",
    "state of a sync in Delta or Iceberg tables": "lake/_binarrow/position-*.json",
    "state of a sync in Parquet files": "changes/_binarrow/state.json",
}


@pytest.mark.parametrize("field", NAMES)
@pytest.mark.parametrize("name", [*JSON_FILES])
def test_unknown_fields_of_files_are_refused(name: str, field: str, tmp_path: Path) -> None:
    stored, _ = thing(name)
    made = stored.make(tmp_path)
    (file,) = tmp_path.glob(JSON_FILES[name])
    set_field(file, field, 1)
    with pytest.raises(BinarrowError, match=re.escape(repr(field))):
        stored.read(made)


@pytest.mark.parametrize("field", NAMES)
@pytest.mark.parametrize("name", ["position", "offset of a streaming query", "split"])
def test_unknown_fields_of_texts_are_refused(name: str, field: str, tmp_path: Path) -> None:
    stored, _ = thing(name)
    with pytest.raises(BinarrowError, match="not a stored"):
        stored.read(with_field(stored.make(tmp_path), field, 1))


# ------------------------------------------------------------------------------ places of use


def test_a_position_in_something_of_this_version(tmp_path: Path) -> None:
    """The message names both."""
    path = saved_checkpoint(tmp_path)
    record = json.loads(path.read_text())
    record["position"]["v"] = LATER
    path.write_text(json.dumps(record))
    check_refused(FileCheckpoint(path).load, STORED_VERSIONS["position"])
    with pytest.raises(LaterVersionError, match=re.escape(f"the checkpoint {path}: the position")):
        FileCheckpoint(path).load()

    history = written_history(tmp_path)
    with sqlite3.connect(history) as opened:
        later = f'{{"v":{LATER},"place":1}}'
        opened.execute("UPDATE binarrow_timelines SET reached = ?", [later])
    opened.close()
    check_refused(lambda: read_history(history), STORED_VERSIONS["position"])


def test_the_structures_in_a_target(tmp_path: Path) -> None:
    """A target contains a history file. No copy of it is left."""
    history = set_history(written_history(tmp_path), LATER)
    url = f"duckdb:///{tmp_path}/shop.duckdb"
    commit(target(url), history.read_bytes())
    before = content_of(tmp_path)
    server: Any = SimpleNamespace(variables=lambda *_: {}, flavor="mysql")
    check_refused(lambda: binarrow.sync(server, url), STORED_VERSIONS["history file"])
    assert content_of(tmp_path) == before


def test_a_read_of_a_log_ignores_its_index(tmp_path: Path) -> None:
    log = str(set_index(written_index(tmp_path), LATER))
    expected = sum(change.num_rows for change in binarrow.read_binlog(log, index="ignore"))
    with pytest.warns(binarrow.BinarrowWarning, match=f"has the format version {LATER}"):
        changes = [*binarrow.read_binlog(log, tables="shop.*")]
    assert sum(change.num_rows for change in changes) == expected


@pytest.mark.parametrize(
    "arguments", [("find", "{log}", "--start", "{position}"), ("history", "show", "{history}")]
)
def test_the_command_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    places = {
        "log": SHOP / "binlog.000001",
        "position": json.dumps({"v": LATER}),
        "history": set_history(written_history(tmp_path), LATER),
    }
    ran = CliRunner().invoke(app, [text.format(**places) for text in arguments])
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("binarrow: the ")
    assert ran.stderr.count("\n") == 1
    assert f"format version {LATER}" in ran.stderr
