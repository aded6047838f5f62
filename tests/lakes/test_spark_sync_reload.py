"""`binarrow.spark.sync(reload=...)` with all changes, and with versions of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binarrow.spark.syncing import filled_columns
from binarrow.spark.syncing.filled_columns import READ, FilledColumns
from support.oracles.valid_rows import last_version
from support.servers.servers import Server
from support.spark_sync import LOADED, ONE, OTHER, WAIT, CrashError, Synced

ROWS = "INSERT INTO shop.empty VALUES (1, 'a'), (2, 'b'), (3, 'c')"


@pytest.mark.parametrize("server", ONE, indirect=True)
def test_a_history_continues_with_all_rows(lake: Any, server: Server, tmp_path: Path) -> None:
    server.execute(ROWS)
    synced = Synced(lake, server, tmp_path, mode="history", **LOADED)
    synced.run()
    server.execute(
        "UPDATE shop.empty SET note = 'd' WHERE id = 3", "DELETE FROM shop.empty WHERE id = 1"
    )
    version = last_version(server)
    query = synced.start(once=True, reload="shop.empty")
    assert query.awaitTermination(WAIT)
    synced.run()
    server.execute("UPDATE shop.empty SET note = 'e' WHERE id = 2")
    synced.run()
    order = ("_commit_version", "_change_ordinal", "id")
    changes = synced.frame("empty").orderBy(*order).collect()
    found = [(row._commit_version, row._change_type, row.id, row.note) for row in changes]
    # The rows that were read have the version of the end of the log.
    assert [one[1:] for one in found if one[0] == version] == [
        ("insert", 2, "b"),
        ("insert", 3, "d"),
    ]
    assert [one[1:] for one in found if one[0] > version] == [
        ("update_preimage", 2, "b"),
        ("update_postimage", 2, "e"),
    ]
    assert [one[1:] for one in found if one[0] < version] == [
        *(("insert", *row) for row in ((1, "a"), (2, "b"), (3, "c"))),
        ("update_preimage", 3, "c"),
        ("update_postimage", 3, "d"),
        ("delete", 1, "a"),
    ]


@pytest.mark.parametrize("server", OTHER, indirect=True)
def test_each_row_gets_a_new_version(
    lake: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the program is killed before the place of the rows is stored."""
    server.execute(ROWS)
    synced = Synced(lake, server, tmp_path, mode="scd2", **LOADED)
    synced.run()
    server.execute(
        "UPDATE shop.empty SET note = 'd' WHERE id = 3",
        "DELETE FROM shop.empty WHERE id = 1",
        "ALTER TABLE shop.empty ADD COLUMN n INT NOT NULL DEFAULT 5",
    )
    before = last_version(server)

    def crash(*_: Any) -> None:
        raise CrashError

    with monkeypatch.context() as patch:
        patch.setattr(filled_columns, "replace_versions", crash)
        with pytest.raises(CrashError):
            synced.start(once=True, reload="shop.empty")
    with monkeypatch.context() as patch:
        patch.setattr(FilledColumns, "_set_read", crash)
        with pytest.raises(CrashError):
            synced.start(once=True, reload="shop.empty")
    read = [
        row.key for row in lake.spark.sql(f"SHOW TBLPROPERTIES {synced.name('empty')}").collect()
    ]
    assert READ not in read
    server.execute("UPDATE shop.empty SET n = 6 WHERE id = 2")
    synced.run()
    rows = synced.frame("empty").collect()
    versions = sorted(
        (row.id, row.note, row.n, row._valid_to_version is None, row._valid_from_version >= before)
        for row in rows
        if row.id != 2
    )
    assert versions == [
        (1, "a", None, False, False),
        (3, "c", None, False, False),
        (3, "d", 5, True, True),
    ]
    second = sorted((row for row in rows if row.id == 2), key=lambda row: row._valid_from_version)
    assert [row.n for row in second] == [None, 5, 6]
    assert [row._valid_to_version for row in second[:2]] == [
        row._valid_from_version for row in second[1:]
    ]
    assert [row._valid_to for row in second[:2]] == [row._valid_from for row in second[1:]]
    assert second[2]._valid_to is None
    assert {row._valid_to is None for row in rows if row.id == 1} == {False}
