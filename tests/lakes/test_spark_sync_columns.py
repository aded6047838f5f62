"""`binarrow.spark.sync` over ALTER TABLE: values that the log does not contain are read from the server, once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from binarrow.spark.live.read_limit import IS_LIMITED
from binarrow.spark.mirror.table import TableMirror
from binarrow.spark.syncing.filled_columns import FILL, FilledColumns
from binarrow.spark.syncing.structures import Structures
from support.servers.servers import Server
from support.spark_sync import LOADED, ONE, WAIT, CrashError, Synced, Writer


@pytest.mark.parametrize("server", ONE, indirect=True)
def test_columns(
    lake: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New and renamed columns, also after a crash at each step, while the query reads an older log."""
    replace, evolve, read = TableMirror.replace_rows, TableMirror.evolve, FilledColumns.read_again
    crashes: list[str] = []
    reads: Counter[str] = Counter()

    def replace_or_crash(*arguments: Any, **keywords: Any) -> None:
        if crashes[:1] == ["before the rows"]:
            raise CrashError
        replace(*arguments, **keywords)
        if crashes[:1] == ["after the rows"]:
            raise CrashError

    def evolve_or_crash(*arguments: Any) -> None:
        if crashes[:1] == ["before the columns"]:
            raise CrashError
        evolve(*arguments)

    def count_read(*arguments: Any) -> None:
        reads[arguments[2][1]] += 1
        read(*arguments)

    monkeypatch.setattr(TableMirror, "replace_rows", replace_or_crash)
    monkeypatch.setattr(TableMirror, "evolve", evolve_or_crash)
    monkeypatch.setattr(FilledColumns, "read_again", count_read)
    writer = Writer(server, 4)
    writer.play(60)
    server.execute("INSERT INTO shop.empty VALUES (1, 'only in the target')")
    synced = Synced(lake, server, tmp_path, **LOADED)
    synced.run()
    server.execute("ALTER TABLE shop.empty DROP COLUMN note")
    writer.play(10)
    synced.run()
    assert not reads

    writer.play(60)
    server.execute(
        "ALTER TABLE shop.visits ADD COLUMN filled INT NOT NULL DEFAULT 5, ADD COLUMN plain INT",
        "ALTER TABLE shop.visits ADD COLUMN at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
        "UPDATE shop.visits SET filled = 6 WHERE id < 50",
        "ALTER TABLE shop.empty ADD COLUMN Note TEXT, ADD COLUMN price DECIMAL(8,2) NOT NULL",
        "ALTER TABLE shop.users RENAME COLUMN n TO number",
    )
    writer.play(60)
    crashes += ["before the columns", "before the rows", "after the rows"]
    if IS_LIMITED:
        synced.keywords["options"] = {"numPartitions": "2", "maxBytesPerTrigger": "24k"}
    while crashes:
        query = synced.start(once=True)
        with pytest.raises(Exception, match="CrashError"):
            query.awaitTermination(WAIT)
        crashes.pop(0)
    reads.clear()
    batches = synced.run()
    assert batches > 1 or not IS_LIMITED
    assert reads == Counter(["empty", "users", "visits"])
    synced.check()
    properties = lake.spark.sql(f"SHOW TBLPROPERTIES {synced.name('visits')}").collect()
    assert FILL not in {row.key for row in properties}
    assert synced.rows("empty", "id, note") == Counter([(1, None)])

    server.execute(
        "UPDATE shop.visits SET filled = 7 WHERE id < 60",
        "DELETE FROM shop.users WHERE name = 'n1'",
        "ALTER TABLE shop.empty DROP PRIMARY KEY, ADD COLUMN n INT PRIMARY KEY AUTO_INCREMENT",
        "INSERT INTO shop.empty VALUES (1, 'other key', 1, 3)",
        # Several rows of the target have the same name, and the last change of each is a delete.
        "REPLACE INTO shop.users (name, town) VALUES ('n2', 't1'), ('n2', 't2'), ('n3', 't1')",
        "DELETE FROM shop.users WHERE town <> 't1'",
        "ALTER TABLE shop.users DROP PRIMARY KEY, ADD PRIMARY KEY (name)",
        # The target needs no other columns, but existing rows get other values.
        "ALTER TABLE shop.visits DROP COLUMN plain",
        "ALTER TABLE shop.visits ADD COLUMN plain INT NOT NULL DEFAULT 8",
        "ALTER TABLE shop.orders MODIFY COLUMN at DATETIME",
    )
    synced.run()
    synced.check()
    assert reads == Counter({"empty": 2, "orders": 1, "users": 2, "visits": 2})

    # If it is not known which changes SELECT sees, each batch is applied, and only the new columns are read.
    server.execute(
        "UPDATE shop.users SET number = 9 WHERE name = 'n2'",
        "ALTER TABLE shop.users ADD COLUMN later INT NOT NULL DEFAULT 8",
        "UPDATE shop.users SET later = 10, number = 11 WHERE name = 'n3'",
        "DROP TABLE shop.empty",
    )
    with monkeypatch.context() as patch:
        patch.setattr(Structures, "_version_before_select", lambda *_: -1)
        synced.run()
    synced.check("orders", "users", "visits")
    assert reads["users"] == 2
    assert synced.rows("empty", "n, id") == Counter([(1, 1), (3, 1)])

    # A table that is created again in a later batch has none of the earlier rows.
    server.execute(
        "CREATE TABLE shop.empty (n INT PRIMARY KEY, id INT)",
        "INSERT INTO shop.empty VALUES (9, 9)",
    )
    synced.run()
    synced.check("empty")
