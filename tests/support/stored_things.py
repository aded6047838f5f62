"""Things that binarrow stores: how one is made and read, and how its version is changed."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import binarrow
from binarrow import FileCheckpoint, Position, Split
from binarrow.history import SchemaHistory
from binarrow.server import certificate
from binarrow.syncing.operations import Append, Create, Record, State
from binarrow.syncing.settings import Settings
from binarrow.syncing.target import Target, open_target
from support.later_versions import LATER, set_field, with_field

SHOP = Path(__file__).parents[2] / "examples/shop"
PLACE = Position("binlog.000001", 4)
RECORD = Record(("shop", "t"), pa.schema([("id", pa.int32())]), ("id",), unknown_columns=("id",))


@dataclass(frozen=True)
class Stored:
    """A kind of things that are stored: how one is made and read, and how its version is changed."""

    make: Callable[[Path], Any]
    """Stores one in a folder, and returns its file or its text."""
    set_version: Callable[[Any, int | None], Any]
    """Returns it with another version; None is a thing without one."""
    read: Callable[[Any], Any]
    earlier: Callable[[Any], Any] | None = None
    """Returns it in the first form; None if that was the current one."""


def in_text(key: str) -> Callable[[str, int | None], str]:
    return lambda text, version: with_field(text, key, version)


def in_file(key: str, name: str = "") -> Callable[[Path, int | None], Path]:
    """Changes a field of a file; `name` is its pattern in a folder."""

    def edit(place: Path, version: int | None) -> Path:
        (file,) = place.glob(name) if name else [place]
        set_field(file, key, version)
        return place

    return edit


# ------------------------------------------------------------------------------ positions, logs


def saved_checkpoint(folder: Path) -> Path:
    FileCheckpoint(folder / "pos.json").save(PLACE)
    return folder / "pos.json"


def split_of_shop(folder: Path) -> str:
    """A range with the structures of tables at its start."""
    log = str(SHOP / "binlog.000001")
    table = next(binarrow.read_binlog(log, tables="shop.orders")).table_schema.create_statement
    with SchemaHistory.open("memory:") as history:
        history.baseline(f"CREATE DATABASE shop; USE shop; {table}", "binlog.000001:4")
        splits = binarrow.scan_splits(log)
        (split,) = binarrow.link_splits(splits, history=history, tables="shop.orders")
    return split.to_json()


def read_split(text: str) -> int:
    options = {"tables": "shop.orders"}
    changes = binarrow.read_split(Split.from_json(text), options=options)
    return sum(change.num_rows for change in changes)


def set_snapshot(text: str, version: int | None) -> str:
    """Changes the version of the structures in a range. They have always had one."""
    history = json.loads(text)["history"]
    return with_field(
        text, "history", re.sub(r"^1:", f"{1 if version is None else version}:", history)
    )


def written_index(folder: Path) -> Path:
    log = shutil.copy(SHOP / "binlog.000001", folder)
    binarrow.write_index(str(log))
    return Path(log)


def set_index(log: Path, version: int | None) -> Path:
    """Changes the byte after the magic number. An index has always had it."""
    file = log.with_name(f"{log.name}.binarrow-index")
    content = bytearray(file.read_bytes())
    content[len(b"binarrow-index")] = 1 if version is None else version
    file.write_bytes(content)
    return log


def written_certificate(folder: Path) -> Path:
    begin = {"version": 1, "position": json.loads(PLACE.to_json())}
    (folder / "load").write_text(f"{json.dumps({'begin': begin})}\n")
    return folder / "load"


def set_certificate(file: Path, version: int | None) -> Path:
    begin = json.loads(file.read_text())["begin"]
    file.write_text(f'{{"begin": {with_field(json.dumps(begin), "version", version)}}}\n')
    return file


# ------------------------------------------------------------------------------ histories


def written_history(folder: Path) -> Path:
    with SchemaHistory.open(folder / "shop.db") as history:
        history.baseline("CREATE DATABASE shop; CREATE TABLE shop.t (id INT)", str(PLACE))
        history.apply("binlog.000001:100", "shop", "ALTER TABLE t ADD c INT")
    return folder / "shop.db"


def set_history(file: Path, version: int | None) -> Path:
    """Changes the number in a table of the history. It has always had it."""
    changed = sqlite3.connect(file)
    number = 1 if version is None else version
    changed.execute("UPDATE binarrow_history_version SET version = ?", [number])
    changed.commit()
    changed.close()
    return file


def read_history(file: Path) -> list[str]:
    with SchemaHistory.open(file) as history:
        found = history.find("shop", "t")
        assert found is not None
        return [column.name for column in found.columns]


# ------------------------------------------------------------------------------ targets of a sync


def target(url: str, mode: Any = "mirror") -> Target:
    return open_target(url, Settings(mode=mode, busy_timeout=0.1))


def commit(place: Target, copy: bytes | None = b"structures", mode: Any = "mirror") -> None:
    """Commits a table with a row."""
    rows = pa.table({"id": pa.array([1], pa.int32())})
    state = State(mode, PLACE, (5, 1), {RECORD.name: RECORD})
    with place.lock():
        place.load()
        made = [] if copy is None else [Create(RECORD.name, RECORD.schema)]
        place.commit([*made, Append(RECORD.name, rows)], state, copy)


def load(url: str, mode: Any = "mirror") -> tuple[Any, ...]:
    """Reads the state as a sync does at its start, and then as `verify` does."""
    place = target(url, mode)
    with place.lock():
        stored = place.load()
    if hasattr(place, "snapshot"):
        with place.snapshot() as snapshot:
            assert snapshot.stored == stored
    assert stored is not None
    state, copy = stored
    return state, copy


def stored_target(scheme: str, name: str, mode: Any = "mirror") -> dict[str, Callable[[Path], Any]]:
    def make(folder: Path) -> Path:
        commit(target(f"{scheme}:///{folder / name}", mode), mode=mode)
        return folder / name

    return {"make": make, "read": lambda path: load(f"{scheme}:///{path}", mode)}


def set_duckdb(file: Path, version: int | None) -> Path:
    with duckdb.connect(str(file)) as opened:
        opened.execute("UPDATE _binarrow.sync SET version = ?", [version])
        if version == LATER:  # with tables that this version does not know
            opened.execute("ALTER TABLE _binarrow.sync RENAME mode TO kind")
            opened.execute("DROP TABLE _binarrow.structures")
    return file


def earlier_duckdb(file: Path) -> Path:
    """Removes the columns that the first version did not have."""
    with duckdb.connect(str(file)) as opened:
        opened.execute("ALTER TABLE _binarrow.sync DROP complete_through")
        opened.execute("ALTER TABLE _binarrow.tables DROP details")
    return file


def earlier_json(pattern: str) -> Callable[[Path], Path]:
    """Removes the fields that the first version did not have."""

    def edit(folder: Path) -> Path:
        (file,) = folder.glob(pattern)
        for key in ("details", "complete_through", "rows"):
            set_field(file, key, None)
        return folder

    return edit


STORED = {
    "position": Stored(lambda _: PLACE.to_json(), in_text("v"), Position.from_json),
    "offset of a streaming query": Stored(
        lambda _: with_field(PLACE.to_json(), "offset_version", 1),
        in_text("offset_version"),
        binarrow._native.parse_place,
    ),
    "checkpoint": Stored(
        saved_checkpoint, in_file("version"), lambda path: FileCheckpoint(path).load()
    ),
    "split": Stored(split_of_shop, in_text("v"), read_split),
    "history snapshot": Stored(split_of_shop, set_snapshot, read_split),
    "index": Stored(written_index, set_index, lambda log: binarrow.check_index(str(log))),
    "certificate": Stored(
        written_certificate,
        set_certificate,
        lambda file: certificate.lines(file)[0]["begin"]["position"],
    ),
    "history file": Stored(written_history, set_history, read_history),
    "state of a sync in DuckDB": Stored(
        **stored_target("duckdb", "shop.duckdb"), set_version=set_duckdb, earlier=earlier_duckdb
    ),
    "state of a sync in Delta or Iceberg tables": Stored(
        **stored_target("delta+file", "lake"),
        set_version=in_file("version", "_binarrow/position-*.json"),
        earlier=earlier_json("_binarrow/position-*.json"),
    ),
    "state of a sync in Parquet files": Stored(
        **stored_target("parquet+file", "changes", "history"),
        set_version=in_file("version", "_binarrow/state.json"),
        earlier=earlier_json("_binarrow/state.json"),
    ),
}
"""The kinds of things that are stored, by the names of their forms."""

MORE = {
    "state of a sync in Iceberg tables": replace(
        STORED["state of a sync in Delta or Iceberg tables"], **stored_target("iceberg+file", "ice")
    ),
}
"""Other things with the same versions."""
