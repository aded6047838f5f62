"""Statements that change tables while `Server.stream("snapshot")` loads them, and tables without a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pymysql
import pytest

import binarrow
from support import live
from support.servers.fixtures import loading_servers
from support.servers.servers import Server, Session

ROWS = 1000
Rows = dict[tuple[str, int], dict[str, Any]]


server = loading_servers()


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    live.two_tables(server, ROWS)
    with live.reach(server) as connected:
        yield connected


def apply(rows: Rows, item: object) -> None:
    if isinstance(item, binarrow.Truncate):
        for key in [key for key in rows if key[0] == item.table]:
            del rows[key]
    if not isinstance(item, binarrow.ChangeBatch):
        return
    for row in item.to_pyarrow().to_pylist():
        kind = row["_change_type"]
        values = {name: value for name, value in row.items() if not name.startswith("_")}
        if kind in ("delete", "update_preimage"):
            rows.pop((item.table, row["id"]), None)
        else:
            rows[item.table, row["id"]] = values


def load_while(
    server: Server,
    source: binarrow.Server,
    *statements: str,
    after: int = 2,
    tables: str = "live.*",
) -> Rows:
    """Runs statements after a few chunks of the first table, and returns the rows at the end."""
    rows: Rows = {}
    with source.stream(
        "snapshot", stop="end", tables=tables, chunk_rows=100, include="truncate"
    ) as changes:
        for number, item in enumerate(changes):
            apply(rows, item)
            if number == after:
                with closing(Session(server)) as session:
                    session.execute(*statements)
        stopped = changes.position
    # The stream ends at the end of the log when its last part began.
    assert stopped is not None
    with source.stream(stopped, stop="end", tables=tables, include="truncate") as changes:
        for item in changes:
            apply(rows, item)
    return rows


def table_of(source: binarrow.Server, table: str) -> Rows:
    read = source.read_table(f"live.{table}", envelope=[]).read_all().to_pylist()
    return {(table, row["id"]): row for row in read}


def of_table(rows: Rows, table: str) -> Rows:
    return {key: row for key, row in rows.items() if key[0] == table}


def test_a_column_is_added(server: Server, source: binarrow.Server) -> None:
    rows = load_while(
        server,
        source,
        "ALTER TABLE live.a ADD COLUMN w INT NOT NULL DEFAULT 7",
        "INSERT INTO live.a VALUES (5000, 1, 2)",
        "UPDATE live.a SET v = -v WHERE id % 3 = 0",
    )
    wanted = table_of(source, "a")
    for key, row in of_table(rows, "a").items():
        # A row that was read before the statement, and not changed since, has no such column.
        assert row in (wanted[key], {"id": key[1], "v": wanted[key]["v"]}), key
    assert len(of_table(rows, "a")) == len(wanted)
    assert of_table(rows, "b") == table_of(source, "b")


def test_the_key_is_changed(server: Server, source: binarrow.Server) -> None:
    rows = load_while(
        server,
        source,
        "ALTER TABLE live.a MODIFY id BIGINT NOT NULL",
        "DELETE FROM live.a WHERE id % 5 = 0",
    )
    assert of_table(rows, "a") == table_of(source, "a")


def test_truncate_and_another_table_of_the_name(server: Server, source: binarrow.Server) -> None:
    rows = load_while(
        server, source, "TRUNCATE live.a", "INSERT INTO live.a VALUES (3, 4), (900, 901)"
    )
    assert of_table(rows, "a") == table_of(source, "a") != {}


def test_a_table_is_dropped(server: Server, source: binarrow.Server) -> None:
    rows = load_while(server, source, "DROP TABLE live.a")
    assert of_table(rows, "b") == table_of(source, "b")


def test_a_table_is_renamed(server: Server, source: binarrow.Server) -> None:
    """The rest of its rows is loaded under the new name, and so are the others."""
    rows = load_while(
        server, source, "RENAME TABLE live.a TO live.z", "INSERT INTO live.z VALUES (-1, 0)"
    )
    assert of_table(rows, "z") == table_of(source, "z")
    assert of_table(rows, "b") == table_of(source, "b")


def create_other(server: Server) -> None:
    """Creates the table that gets the name of `a`."""
    values = ", ".join(f"({n}, {-n})" for n in range(-500, 1500))
    server.execute(
        "CREATE TABLE live.n (id INT PRIMARY KEY, v INT)", f"INSERT INTO live.n VALUES {values}"
    )


def test_another_table_gets_the_name(server: Server, source: binarrow.Server) -> None:
    """The rest of the rows of `a` is not read from the other table, and that of `a` under its new name."""
    create_other(server)
    rows = load_while(server, source, "RENAME TABLE live.a TO live.old, live.n TO live.a")
    assert of_table(rows, "a") == table_of(source, "a") != {}
    assert of_table(rows, "old") == table_of(source, "old") != {}


def test_names_are_exchanged(server: Server, source: binarrow.Server) -> None:
    """`a` is loaded already, and gets the rest of the rows of `b`, which is not."""
    server.execute("UPDATE live.b SET v = -v")
    exchange = "RENAME TABLE live.a TO live.t, live.b TO live.a, live.t TO live.b"
    rows = load_while(server, source, exchange, after=ROWS // 100 + 3)
    for table in ("a", "b"):
        assert of_table(rows, table) == table_of(source, table) != {}


def test_a_stop_after_another_table_got_the_name(server: Server, source: binarrow.Server) -> None:
    """A position between the statement and the next chunk."""
    create_other(server)
    rows: Rows = {}
    read: dict[str, Any] = {"tables": "live.*", "chunk_rows": 100, "batch_end": "transaction"}
    with source.stream("snapshot", **read) as changes:
        for number, batch in enumerate(changes):
            apply(rows, batch)
            if ("b", 7001) in rows:
                break
            if number == 2:
                server.execute(
                    "RENAME TABLE live.a TO live.old, live.n TO live.a",
                    *(f"INSERT INTO live.b VALUES ({n}, 0)" for n in (7001, 7002, 7003)),
                )
    assert ("b", 7002) not in rows
    with source.stream(batch.position, stop="end", **read) as changes:
        for batch in changes:
            apply(rows, batch)
    for table in ("a", "old", "b"):
        assert of_table(rows, table) == table_of(source, table) != {}


def test_a_table_is_created(server: Server, source: binarrow.Server) -> None:
    rows = load_while(
        server,
        source,
        "CREATE TABLE live.c (id INT PRIMARY KEY, v INT)",
        "INSERT INTO live.c VALUES (1, 2), (3, 4)",
    )
    assert of_table(rows, "c") == table_of(source, "c") != {}


def test_rows_without_a_key_are_returned_once(server: Server, source: binarrow.Server) -> None:
    server.execute(
        "CREATE TABLE live.k (id INT, v INT)",
        "INSERT INTO live.k VALUES (1, 1), (1, 1), (2, 2)",
        "INSERT INTO live.k SELECT id, v FROM live.a",
    )
    # It is read before the others, in one snapshot with all tables that have no key.
    server.execute("CREATE TABLE live.l LIKE live.k", "INSERT INTO live.l VALUES (9, 9)")
    seen: Counter[tuple[str, int, int]] = Counter()
    with source.stream("snapshot", stop="end", tables="live.*", batch_rows=100) as changes:
        for number, batch in enumerate(changes):
            for row in batch.to_pyarrow().to_pylist():
                sign = -1 if row["_change_type"] in ("delete", "update_preimage") else 1
                seen[batch.table, row["id"], row["v"]] += sign
            if number == 0:
                unfinished = batch.position
            if number < 30:
                server.execute(
                    "INSERT INTO live.k VALUES (1, 1)",
                    f"DELETE FROM live.k WHERE id = {number}",
                    "INSERT INTO live.l VALUES (9, 9)",
                )
    for table in ("k", "l"):
        wanted = Counter((table, *row) for row in server.query(f"SELECT id, v FROM live.{table}"))
        found = Counter({row: count for row, count in seen.items() if row[0] == table})
        assert +found == wanted
    with (
        pytest.raises(binarrow.ConfigError, match="no key, and the load was interrupted"),
        source.stream(unfinished, tables="live.*") as changes,
    ):
        next(changes)


def test_no_transaction_outlives_the_load(server: Server, source: binarrow.Server) -> None:
    server.execute("CREATE TABLE live.k (id INT, v INT)", "INSERT INTO live.k VALUES (1, 1)")
    for tables in ("live.k", "live.a"):
        with source.stream("snapshot", tables=tables, chunk_rows=400) as changes:
            while changes.position is None or changes.position.loading is not None:
                changes.poll(0.05)
            [[transactions]] = server.query("SELECT COUNT(*) FROM information_schema.INNODB_TRX")
            assert transactions == 0, tables


def test_a_lost_snapshot_of_tables_without_a_key(server: Server, source: binarrow.Server) -> None:
    """The connection is lost between two of these tables: the second is not read in another snapshot."""
    server.execute(
        "CREATE TABLE live.k (id INT, v INT)",
        "INSERT INTO live.k SELECT * FROM live.a",
        "CREATE TABLE live.l LIKE live.k",
        "INSERT INTO live.l VALUES (1, 1)",
    )
    waiting = (
        "SELECT ID FROM information_schema.PROCESSLIST"
        " WHERE USER = 'live' AND STATE LIKE 'Waiting for table metadata lock%'"
    )
    with (
        closing(Session(server)) as other,
        source.stream("snapshot", tables=["live.k", "live.l"], batch_rows=10) as changes,
    ):
        assert next(changes).table == "k"
        other.execute("LOCK TABLES live.l WRITE")
        for _ in range(ROWS // 10 - 1):
            assert next(changes).table == "k"
        found = live.until(lambda: server.query(waiting))
        server.execute(f"KILL {found[0][0]}")
        other.execute("INSERT INTO live.l VALUES (2, 2)", "UNLOCK TABLES")
        with pytest.raises(binarrow.ConfigError, match="no key, and the load was interrupted"):
            next(changes)


def test_a_connection_is_killed(server: Server, source: binarrow.Server) -> None:
    """Once in a chunk and once in the log between two chunks, the connection is lost: nothing else is."""
    rows: Rows = {}
    killed = 0
    with source.stream("snapshot", stop="end", tables="live.*", chunk_rows=100) as changes:
        for number, item in enumerate(changes):
            apply(rows, item)
            if number % 3 == 0:
                server.execute(f"UPDATE live.b SET v = v + 1 WHERE id % 7 = {number % 7}")
                own = "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'live'"
                for (connection,) in server.query(own):
                    # It may have ended meanwhile.
                    with suppress(pymysql.OperationalError):
                        server.execute(f"KILL {connection}")
                        killed += 1
        stopped = changes.position
    assert killed > 2
    assert stopped is not None
    with live.reach(server) as again, again.stream(stopped, stop="end", tables="live.*") as changes:
        for item in changes:
            apply(rows, item)
        assert rows == {**table_of(again, "a"), **table_of(again, "b")}


def test_masks_and_operations(source: binarrow.Server) -> None:
    mask: dict[str, Any] = {"live.a.v": "null", "live.b.id": "sha256"}
    with source.stream(
        "snapshot", stop="end", tables="live.*", mask=mask, mask_salt=b"salt", types="spark"
    ) as changes:
        for batch in changes:
            table = batch.to_pyarrow()
            assert (table["v"].null_count == table.num_rows) == (batch.table == "a")
            assert (table["id"].to_pylist() == list(range(ROWS))) == (batch.table == "a")
    with pytest.raises(binarrow.ConfigError, match="leaves out the existing rows"):
        next(source.stream("snapshot", tables="live.*", operations=["update", "delete"]))


def test_other_tables_than_at_the_start(server: Server, source: binarrow.Server) -> None:
    with source.stream("snapshot", tables="live.a", chunk_rows=100) as changes:
        position = next(changes).position
    # With more tables it continues: see `test_tables_are_added_during_a_load`.
    with (
        pytest.raises(
            binarrow.ConfigError, match=r"began with other tables: .* does not select live\.a"
        ),
        source.stream(position, tables=["live.b"]) as changes,
    ):
        next(changes)
    with (
        pytest.raises(
            binarrow.SchemaError, match=r"no table live\.missing, or the user has no SELECT"
        ),
        source.stream("snapshot", tables=["live.a", "live.missing"]) as changes,
    ):
        next(changes)


def until_it_ends_sessions(server: Server) -> None:
    """Waits until the server ends a session that is idle in a transaction."""
    with closing(Session(server)) as idle:
        [(number,)] = idle.query("SELECT CONNECTION_ID()")
        idle.execute("BEGIN", "SELECT * FROM live.a WHERE id = 1")
        sql = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {number}"
        live.until(lambda: server.query(sql) == [(0,)])


def test_settings_of_the_server(server: Server, source: binarrow.Server) -> None:
    """Settings that end transactions or connections, or refuse large queries, have no effect on a load."""
    settings = {
        "autocommit": "0",
        "completion_type": "2",
        "wait_timeout": "1",
        "sql_select_limit": "7",
        "max_join_size": "500",
        "sql_safe_updates": "1",
    }
    if server.flavor.startswith("mariadb"):
        settings["idle_transaction_timeout"] = "1"
    rows: Rows = {}
    try:
        server.execute(*(f"SET GLOBAL {name} = {value}" for name, value in settings.items()))
        with source.stream("snapshot", stop="end", tables="live.*", chunk_rows=400) as changes:
            for number, item in enumerate(changes):
                apply(rows, item)
                if number == 0:
                    until_it_ends_sessions(server)
    finally:
        server.execute(*(f"SET GLOBAL {name} = DEFAULT" for name in settings))
    assert rows == {**table_of(source, "a"), **table_of(source, "b")}


def test_dates_that_do_not_exist_as_keys(server: Server, source: binarrow.Server) -> None:
    with closing(Session(server)) as session:
        session.execute(
            "SET sql_mode = 'ALLOW_INVALID_DATES'",
            "CREATE TABLE live.d (id INT, day DATE, PRIMARY KEY (day, id))",
            "INSERT INTO live.d VALUES (1, '2026-02-30'), (2, '2026-02-31'), (3, '2026-03-00'), (4, '0000-00-00')",
        )
    with source.stream("snapshot", stop="end", tables="live.d", chunk_rows=1) as changes:
        found = [row for batch in changes for row in batch.to_pyarrow()["id"].to_pylist()]
    assert found == [4, 1, 2, 3]
