"""`binarrow.spark.sync`: statements after which the log has no rows, or whose types before are not known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.servers.servers import Server
from support.spark_sync import LOADED, ONE, OTHER, WAIT, Synced


def status(length: int) -> str:
    return f"MODIFY COLUMN status VARCHAR({length}) CHARACTER SET utf8mb4"


@pytest.mark.parametrize("server", ONE, indirect=True)
def test_a_table_is_emptied_by_its_creation(lake: Any, server: Server, tmp_path: Path) -> None:
    """Not by the first change of its rows."""
    server.execute(
        "INSERT INTO shop.empty VALUES (1, 'a')", "INSERT INTO shop.visits (id) VALUES (1)"
    )
    synced = Synced(lake, server, tmp_path, **LOADED)
    synced.run()
    server.execute("DROP TABLE shop.empty", "INSERT INTO shop.visits (id) VALUES (2)")
    synced.run()
    assert synced.rows("empty") == Counter([(1, "a")])
    server.execute(
        "CREATE TABLE shop.empty (id INT PRIMARY KEY, note TEXT)",
        "CREATE TABLE IF NOT EXISTS shop.visits (id INT)",
        "CREATE TABLE shop.later (id INT PRIMARY KEY)",
    )
    synced.run()
    synced.check("empty", "later", "visits")
    assert synced.rows("empty") == synced.rows("later") == Counter()
    server.execute(
        "DROP TABLE shop.empty",
        "CREATE TABLE shop.empty (id INT PRIMARY KEY, note TEXT)",
        "INSERT INTO shop.empty VALUES (2, 'b')",
        "CREATE TABLE IF NOT EXISTS shop.empty (id INT)",
        "INSERT INTO shop.empty VALUES (3, 'c')",
    )
    synced.run()
    synced.check("empty")


@pytest.mark.parametrize("server", OTHER, indirect=True)
def test_types_before_a_statement(lake: Any, server: Server, tmp_path: Path) -> None:
    """A statement may leave a type. A column that becomes narrower and wider has lost values."""
    server.execute("INSERT INTO shop.orders VALUES (1, 'a long status', 1, NULL)")
    keywords: dict[str, Any] = {"mode": "scd2", "schema_changes": "widen", **LOADED}
    synced = Synced(lake, server, tmp_path, **keywords)
    synced.run()
    server.execute(
        f"ALTER TABLE shop.orders {status(20)} DEFAULT 'x' COMMENT 'y' FIRST",
        "ALTER TABLE shop.orders MODIFY COLUMN id INT NOT NULL",
        "ALTER TABLE shop.orders MODIFY COLUMN id INT AFTER total",
        "ALTER TABLE shop.orders MODIFY COLUMN total DECIMAL(10,2) NULL",
        f"ALTER TABLE shop.orders {status(25)}",
        f"ALTER TABLE shop.orders {status(30)}",
        "INSERT INTO shop.orders (id, status) VALUES (2, 'another status')",
    )
    synced.run()
    current = synced.frame("orders").where("_valid_to IS NULL").select("id", "status")
    expected = Counter([(1, "a long status"), (2, "another status")])
    assert Counter(map(tuple, current.collect())) == expected
    server.execute(
        "SET SESSION sql_mode = ''",
        f"ALTER TABLE shop.orders {status(5)}",
        f"ALTER TABLE shop.orders {status(40)}",
        "INSERT INTO shop.orders (id) VALUES (3)",
    )
    query = synced.start(once=True)
    with pytest.raises(Exception, match=r"status gets the type VARCHAR\(5\), not VARCHAR\(30\)"):
        query.awaitTermination(WAIT)
