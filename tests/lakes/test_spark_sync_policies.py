"""`binarrow.spark.sync`: the reactions to DROP TABLE, TRUNCATE, and errors of one table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from binarrow import ConfigError
from binarrow.spark.mirror.table import TableMirror
from binarrow.spark.syncing.filled_columns import READ
from support.servers.servers import Server
from support.spark_sync import LOADED, OTHER, WAIT, CrashError, Synced

NOT_THERE = r"NOT_FOUND|not exist|not a Delta table|PATH_DOES_NOT_EXIST|MISSING_DELTA_TABLE"


@pytest.mark.parametrize("server", OTHER, indirect=True)
def test_policies(
    lake: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.execute(
        "CREATE TABLE shop.keyless (n INT)",
        "INSERT INTO shop.keyless VALUES (1)",
        "INSERT INTO shop.orders VALUES (1, 'x', 1, NULL)",
        "INSERT INTO shop.users VALUES ('n', 't', 1)",
        "INSERT INTO shop.visits VALUES (1, 'p', 1)",
    )
    synced = Synced(lake, server, tmp_path, **LOADED)
    synced.keywords |= {"on_truncate": "keep", "on_drop": "drop", "on_table_error": "park"}
    synced.keywords["exclude_tables"] = "shop.empty"
    if not LOADED:  # a load needs keys
        server.execute("DROP TABLE shop.keyless")
    synced.run()
    parked = Path(f"{synced.checkpoint}.parked.json")
    assert parked.exists() == bool(LOADED)
    server.execute(
        "CREATE TABLE IF NOT EXISTS shop.keyless (n INT)",
        "INSERT INTO shop.keyless VALUES (2)",
        "TRUNCATE shop.visits",
        "INSERT INTO shop.visits VALUES (2, 'q', 2)",
        "DROP TABLE shop.users",
        "ALTER TABLE shop.orders ADD COLUMN extra INT NOT NULL DEFAULT 5",
        "INSERT INTO shop.orders VALUES (2, 'x', 1, NULL, 6)",
    )
    stop: dict[str, Any] = {"on_table_error": "stop", "on_drop": "keep"}
    left_out = "shop.empty,shop.keyless"
    for more, message in (
        (
            {"schema_changes": "fail"},
            "shop.orders was altered: columns were added or have other types",
        ),
        ({"on_drop": "fail"}, "shop.users was dropped: continue with on_drop='keep'"),
        ({"on_truncate": "fail"}, "shop.visits was emptied: continue with on_truncate='apply'"),
    ):
        more["exclude_tables"] = left_out
        left_out = "shop.empty,shop.keyless,shop.orders"
        query = synced.start(once=True, **{**stop, **more})
        with pytest.raises(Exception, match=message):
            query.awaitTermination(WAIT)
    synced.keywords["schema_changes"] = "fail"
    synced.run()
    visits = Counter([(1, "p"), (2, "q")])
    assert synced.rows("visits", "id, page") == visits
    assert synced.rows("orders", "id") == Counter([(1,)])
    with pytest.raises(Exception, match=NOT_THERE):
        synced.frame("users").collect()
    reasons = json.loads(parked.read_text())["tables"]
    assert list(reasons) == ["shop.keyless", "shop.orders"]
    assert "mode='mirror' needs a key" in reasons["shop.keyless"]

    synced.keywords |= {"schema_changes": "follow", "on_table_error": "stop"}
    server.execute(
        # The rows are read again, and the row that TRUNCATE has removed stays.
        "DELETE FROM shop.visits WHERE id = 2",
        "ALTER TABLE shop.visits MODIFY COLUMN page VARCHAR(9) CHARACTER SET utf8mb4",
        "INSERT INTO shop.visits VALUES (3, 'r', 3)",
        "ALTER TABLE shop.keyless ADD PRIMARY KEY (n)",
        "INSERT INTO shop.keyless VALUES (3)",
        "INSERT INTO shop.orders VALUES (3, 'x', 1, NULL, 6)",
        "CREATE TABLE shop.users (id INT PRIMARY KEY)",
        "INSERT INTO shop.users VALUES (8)",
    )
    synced.run()
    assert synced.rows("visits", "id, page") == Counter([(1, "p"), (3, "r")])
    assert synced.rows("users") == Counter([(8,)])
    assert synced.rows("orders", "id") == Counter([(1,)])
    with pytest.raises(Exception, match=NOT_THERE):
        synced.frame("keyless").collect()

    again = {"reload": "shop.orders,shop.keyless", "schema_changes": "widen"}
    monkeypatch.setattr(TableMirror, "set_property", crash_at(READ))
    with pytest.raises(CrashError):  # after the rows of the first table were written
        synced.start(once=True, **again)
    monkeypatch.undo()
    assert list(json.loads(parked.read_text())["tables"]) == ["shop.keyless", "shop.orders"]
    with pytest.raises(ConfigError, match="no table that reload= and tables= select"):
        synced.start(once=True, reload="shop.nothing")
    server.execute("INSERT INTO shop.orders VALUES (4, 'x', 1, NULL, 6)")
    finish(synced.start(once=True, **again))
    assert json.loads(parked.read_text())["tables"] == {}
    synced.check("orders", "keyless", "users")

    server.execute(
        "INSERT INTO shop.orders VALUES (5, 'x', 1, NULL, 6)",
        "ALTER TABLE shop.orders ADD COLUMN url INT, MODIFY COLUMN status VARCHAR(30)",
        "DELETE FROM shop.keyless WHERE n = 2",
    )
    finish(synced.start(once=True, schema_changes="widen"))
    synced.check("orders", "keyless")
    server.execute(
        "ALTER TABLE shop.orders DROP COLUMN url",
        "ALTER TABLE shop.orders ADD COLUMN url INT",
        "INSERT INTO shop.orders VALUES (6, 'x', 1, NULL, 6, 7)",
    )
    synced.keywords["schema_changes"] = "widen"
    query = synced.start(once=True)
    with pytest.raises(Exception, match="the column url is dropped"):
        query.awaitTermination(WAIT)
    synced.keywords["reload"] = "shop.orders"
    synced.run()
    synced.check("orders", "users")


def finish(query: Any) -> None:
    assert query.awaitTermination(WAIT)


def crash_at(key: str) -> Any:
    """Returns a function that sets properties of tables, and fails at one of them."""
    set_property = TableMirror.set_property

    def set_or_crash(mirror: TableMirror, name: str, value: str) -> None:
        if name == key:
            raise CrashError
        set_property(mirror, name, value)

    return set_or_crash
