"""`binarrow.sync` into Parquet files: each change is in them once, also after a crash of a commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import binarrow
from support.sync_source import Source

ORDER = "ORDER BY _commit_version, _change_ordinal"


def changes(folder: Path, table: str) -> list[tuple[Any, ...]]:
    files = folder / "shop" / table / "*.parquet"
    return duckdb.sql(
        f"SELECT _change_type, id, v FROM read_parquet('{files}', union_by_name = true) {ORDER}"
    ).fetchall()


def sync(source: Source, **keywords: Any) -> binarrow.SyncSummary:
    given = {"once": True, "tables": "shop.*", "password_file": source.password_file}
    target = f"parquet+file:///{source.folder}/changes"
    return binarrow.sync(source.url, target, mode="history", **{**given, **keywords})


def test_changes(source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
    )
    sync(source)
    folder = source.folder / "changes"
    assert sorted(changes(folder, "t")) == [("insert", 1, 1), ("insert", 2, 2)]
    source.execute(
        "UPDATE t SET v = 3 WHERE id = 1",
        "ALTER TABLE t ADD COLUMN c INT",
        "DELETE FROM t WHERE id = 2",
        "TRUNCATE t",
    )
    sync(source)
    sync(source)
    assert changes(folder, "t")[2:] == [
        ("update_preimage", 1, 1),
        ("update_postimage", 1, 3),
        ("delete", 2, 2),
        ("truncate", None, None),
    ]
    assert {one.name for one in folder.iterdir()} == {"_binarrow", "shop"}


@pytest.mark.parametrize("committed", [False, True])
def test_crash_of_a_commit(
    source: Source, monkeypatch: pytest.MonkeyPatch, *, committed: bool
) -> None:
    """Before the state file is replaced, and after it."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    sync(source)
    source.execute("INSERT INTO t VALUES (2, 2)")
    from binarrow.syncing import parquet_folder

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if committed:
            patched.setattr(parquet_folder.ParquetFolder, "_complete", crash)
        else:
            patched.setattr(parquet_folder, "replace_file", crash)
        with pytest.raises(KeyboardInterrupt):
            sync(source, every=0)
    sync(source)
    folder = source.folder / "changes"
    assert sorted(changes(folder, "t")) == [("insert", 1, 1), ("insert", 2, 2)]
    assert not [*folder.rglob(".part*")]


def test_files_of_another_program(source: Source) -> None:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    other = source.folder / "changes" / "shop" / "t"
    other.mkdir(parents=True)
    (other / "x.parquet").write_bytes(b"")
    with pytest.raises(binarrow.SyncError, match="no sync created"):
        sync(source)


@pytest.mark.parametrize("mode", ["mirror", "scd2"])
def test_other_modes_are_refused(mode: Any) -> None:
    """The message names the targets to use instead."""
    with pytest.raises(binarrow.ConfigError, match=r"use delta\+file:///FOLDER.*mode='history'"):
        binarrow.sync("mysql://repl@localhost/", "parquet+file:///changes", mode=mode, once=True)
