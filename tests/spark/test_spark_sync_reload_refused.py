"""`binarrow.spark.sync(reload=...)`: tables that cannot be loaded again, without a Spark session."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from binarrow import ConfigError
from binarrow.spark import sync
from binarrow.spark.syncing import filled_columns, reloading
from binarrow.spark.syncing.filled_columns import READ, READING, FilledColumns
from binarrow.spark.syncing.policies import Policies
from binarrow.spark.syncing.properties import encoded
from binarrow.spark.syncing.reloading import Reload
from binarrow.spark.syncing.structures import Structure
from binarrow.syncing.errors import TableError

NAME = ("shop", "t")
STRUCTURE = Structure(StructType([StructField("id", IntegerType())]), ("id",), 7, "server")


class Connect:
    """A session of Spark Connect, which has no function."""


Connect.__module__ = "pyspark.sql.connect.session"


def test_spark_connect(tmp_path: Path) -> None:
    """The error is raised before anything is written."""
    target, session = f"delta+file:///{tmp_path}/x", Connect()
    with pytest.raises(ConfigError, match=r"needs a classic session \(not Spark Connect\)"):
        sync(session, "mysql://u@h/", "shop.*", target, reload="shop.t")  # type: ignore[arg-type]
    assert not any(tmp_path.iterdir())


class Reloaded:
    """A load of one table, and its steps."""

    def __init__(self, structure: Structure = STRUCTURE) -> None:
        self.steps: list[str] = []
        mirror = SimpleNamespace(name="t", evolve=self.add("evolve"))
        self.table = SimpleNamespace(
            name=NAME, mirror=mirror, structure=structure, own=[], held=StructType
        )

    def add(self, step: str) -> Any:
        return lambda *_, **__: self.steps.append(step)

    def run(self, monkeypatch: pytest.MonkeyPatch, mode: Any) -> list[str]:
        tables = SimpleNamespace(
            now=lambda: datetime.now(UTC),
            to_reload=lambda *_: [self.table],
            accept_rows=self.add("accept"),
        )
        filled = SimpleNamespace(
            rows=lambda *_: None,
            begin=self.add("begin"),
            read_again=self.add("replace"),
            read_versions=self.add("versions"),
        )
        monkeypatch.setattr(reloading, "append_rows", self.add("append"))
        monkeypatch.setattr(reloading, "compare", lambda *_: None)
        monkeypatch.setattr(reloading, "_without_rows", lambda *_: None)
        parked = SimpleNamespace(release=self.add("release"))
        changes = SimpleNamespace(accept=self.add("columns"))
        reload = Reload(tables, filled, Policies(mode), parked, changes)  # type: ignore[arg-type]
        reload(None, [NAME], "query")  # type: ignore[arg-type]
        return self.steps


@pytest.mark.parametrize(
    ("mode", "steps"),
    [
        ("mirror", ["begin", "evolve", "replace", "accept"]),
        ("history", ["append"]),
        ("scd2", ["begin", "versions"]),
    ],
)
def test_modes(monkeypatch: pytest.MonkeyPatch, mode: str, steps: list[str]) -> None:
    assert Reloaded().run(monkeypatch, mode) == [*steps, "columns", "release"]


def test_a_table_that_cannot_be_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reloaded = Reloaded(replace(STRUCTURE, key=()))
    with pytest.raises(TableError, match="has no key and cannot be loaded again: use another targ"):
        reloaded.run(monkeypatch, "history")
    other = Reloaded(replace(STRUCTURE, version=-1))
    with pytest.raises(TableError, match="it is not known which changes SELECT sees"):
        other.run(monkeypatch, "history")
    assert reloaded.steps == other.steps == []


@pytest.mark.parametrize("is_written", [True, False])
def test_a_load_that_was_killed(monkeypatch: pytest.MonkeyPatch, is_written: bool) -> None:
    """The next run finds out whether the versions of the rows were written."""
    properties: dict[str, str] = {}
    mirror: Any = SimpleNamespace(
        set_property=properties.__setitem__, unset_property=lambda key: properties.pop(key, None)
    )

    def write(*_: Any) -> None:
        assert properties == {READING: encoded(("server", 7))}
        raise RuntimeError

    monkeypatch.setattr(filled_columns, "replace_versions", write)
    monkeypatch.setattr(FilledColumns, "rows", lambda *_: None)
    filled = FilledColumns({})
    with pytest.raises(RuntimeError):
        filled.read_versions(mirror, NAME, STRUCTURE, datetime.now(UTC))
    later = FilledColumns({})
    later.restore(NAME, properties)
    later.restore_read(NAME, properties, lambda version: is_written and version == 7)
    assert later.version(NAME, STRUCTURE) == (7 if is_written else -1)
    monkeypatch.setattr(filled_columns, "replace_versions", lambda *_: None)
    later.read_versions(mirror, NAME, STRUCTURE, datetime.now(UTC))
    assert properties == {READ: encoded(("server", 7))}
