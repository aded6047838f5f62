"""The server of a sync is replaced by its replica: the target equals SELECT there, without a row twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import binarrow
from support import live
from support.extent import IS_ALL
from support.oracles.valid_rows import check_current
from support.servers import replicas
from support.servers.servers import Server
from support.sync_source import SECRET, Source
from support.workloads.sync_storm import TABLES, Storm, created

FLAVORS = ("mysql", "mariadb-11.8")
TRIED = FLAVORS if IS_ALL else FLAVORS[:1]
"""The servers of most tests."""
METADATA = {"mysql": "MINIMAL", "mariadb-11.8": "NO_LOG"}
SHOP = tuple(f"shop.{table}" for table in TABLES)


class Pair:
    """A source, its replica, and a target."""

    def __init__(self, source: Server, replica: Server, folder: Path, kind: str) -> None:
        password = folder / "password"
        password.write_text(SECRET)
        password.chmod(0o600)
        self.source = Source(source, folder, password, kind)
        self.replica = Source(replica, folder, password, kind)

    def fail_over(self) -> None:
        """The source dies, and the replica has all that it logged."""
        replicas.catch_up(self.replica.server, replicas.executed(self.source.server))
        self.source.server.kill()
        replicas.promote(self.replica.server)
        self.replica.execute("SET GLOBAL read_only = OFF")

    def execute(self, *statements: str) -> None:
        self.source.execute("USE shop", *statements)


@pytest.fixture(params=TRIED)
def pair(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> Iterator[Pair]:
    flavor = request.param
    with replicas.pair(flavor) as (source, replica):
        for server in (source, replica):
            server.execute(f"SET GLOBAL binlog_row_metadata = {METADATA[flavor]}")
            if server.is_mariadb:
                server.execute("SET GLOBAL binlog_format = ROW")
        source.execute(
            f"CREATE USER mirror@'%' IDENTIFIED BY '{SECRET}'",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT, RELOAD ON *.* TO mirror@'%'",
            "CREATE DATABASE shop CHARACTER SET utf8mb4",
        )
        found = Pair(source, replica, tmp_path, kind)
        # The files of the two logs have other numbers.
        for _ in range(3):
            replica.flush_binlog()
        yield found


@pytest.mark.parametrize("pair", FLAVORS, indirect=True)
def test_a_storm(pair: Pair) -> None:
    """Rows and structures change before, during and after the exchange of the servers."""
    pair.execute(*(created(table) for table in TABLES))
    storms = [Storm(pair.source.server, number, alters=True) for number in range(2)]
    for storm in storms:
        storm.start()
    with pair.source.syncing(every=0.3) as progress:
        live.until(lambda: progress.stats().tables, 300)
        done = sum(storm.statements for storm in storms) + random.Random(7).randrange(100, 200)
        live.until(lambda: sum(storm.statements for storm in storms) > done, 300)
    for storm in storms:
        storm.end()
    # The history of structures in the target ends before the position of the target.
    pair.execute("INSERT IGNORE INTO s0 (id) VALUES (1001)")
    pair.source.sync()
    pair.execute("DELETE FROM s0 WHERE id = 1001", "INSERT IGNORE INTO s1 (id) VALUES (1002)")
    pair.fail_over()
    pair.replica.sync()
    pair.replica.check(*SHOP)
    with pair.replica.syncing(every=0.3) as progress:
        storm = Storm(pair.replica.server, 9, alters=True)
        storm.start()
        live.until(lambda: storm.statements > 80, 300)
        storm.end()
    for _ in range(2):
        summary = pair.replica.sync()
        pair.replica.check(*SHOP)
    assert summary.position is not None
    assert summary.position.server == binarrow_id(pair.replica)


def binarrow_id(source: Source) -> str:
    with binarrow.connect(source.url, password_file=source.password_file) as server:
        return server.id


@pytest.mark.parametrize("mode", ["mirror", "history", "scd2"])
def test_each_mode(pair: Pair, mode: str) -> None:
    """A change is applied once: a history has no row twice, and versions no overlap."""
    pair.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"
    )
    pair.source.sync(mode=mode)
    pair.execute("UPDATE t SET v = 10 WHERE id = 1", "ALTER TABLE t ADD COLUMN w INT DEFAULT 5")
    pair.source.sync(mode=mode)
    pair.execute("DELETE FROM t WHERE id = 2", "CREATE TABLE n (id INT PRIMARY KEY)")
    pair.source.sync(mode=mode)
    pair.execute("INSERT INTO t VALUES (4, 4, 4)", "INSERT INTO n VALUES (1)")
    pair.fail_over()
    for number in (5, 6, 7):
        pair.replica.execute(
            f"INSERT INTO shop.t (id, v) VALUES ({number}, 0)",
            f"ALTER TABLE shop.t ADD COLUMN x{number} INT",
            f"UPDATE shop.t SET v = v + 1, x{number} = 1",
        )
        pair.replica.sync(mode=mode)
    if mode == "mirror":
        pair.replica.check("shop.t", "shop.n")
    elif mode == "scd2":
        check_current(pair.replica, "shop.t")
    else:
        rows = [dict(row) for row in pair.replica.read("shop.t").elements()]
        kinds = [(row["id"], row["_change_type"]) for row in rows]
        assert kinds.count(("4", "insert")) == 1
        assert kinds.count(("1", "update_postimage")) == 4
        assert kinds.count(("2", "delete")) == 1


def test_a_load_that_is_not_complete(pair: Pair) -> None:
    """It begins again on the other server; the tables that were loaded are not loaded again."""
    rows = ", ".join(f"({number}, {number})" for number in range(4000))
    pair.execute("CREATE TABLE a (id INT PRIMARY KEY, v INT)", "INSERT INTO a VALUES (1, 1)")
    pair.source.sync()
    pair.execute("CREATE TABLE crm (id INT PRIMARY KEY, v INT)", f"INSERT INTO crm VALUES {rows}")
    pair.source.sync(tables="shop.a")
    slow = {"max_rows_per_second": 1000, "every": 0.1}
    with pair.source.syncing(**slow) as progress:
        live.until(lambda: loaded(progress, "crm") >= 1000)
    pair.execute("UPDATE crm SET v = v + 1 WHERE id % 7 = 0", "DELETE FROM crm WHERE id % 11 = 0")
    pair.fail_over()
    pair.replica.execute("UPDATE shop.crm SET v = v + 1 WHERE id % 5 = 0")
    summary = pair.replica.sync()
    assert summary.tables["shop", "crm"].loads == 1
    assert summary.tables["shop", "a"].loads == 0
    pair.replica.check("shop.a", "shop.crm")


def loaded(progress: binarrow.SyncProgress, table: str) -> int:
    found = progress.stats().tables.get(("shop", table))
    return 0 if found is None else found.loaded


def test_a_load_of_a_history_is_refused(pair: Pair) -> None:
    rows = ", ".join(f"({number}, {number})" for number in range(4000))
    pair.execute("CREATE TABLE a (id INT PRIMARY KEY, v INT)", f"INSERT INTO a VALUES {rows}")
    with pair.source.syncing(mode="history", max_rows_per_second=1000, every=0.1) as progress:
        live.until(lambda: loaded(progress, "a") >= 1000)
    before = pair.source.read("shop.a")
    pair.fail_over()
    for _ in range(2):
        with pytest.raises(binarrow.SyncError, match=r"a part of the rows of shop\.a"):
            pair.replica.sync(mode="history")
    assert pair.replica.read("shop.a") == before


def test_another_history_of_gtids(pair: Pair, tmp_path: Path) -> None:
    """A server that never was in the group is refused, and the sync continues on the first one."""
    pair.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    pair.source.sync()
    own = ["--gtid-domain-id=7"] if pair.source.server.is_mariadb else []
    flavor = "mariadb-11.8" if pair.source.server.is_mariadb else "mysql"
    with Server.start(flavor, ["--server-id=3", *own]) as other:
        if other.is_mariadb:
            other.execute("SET GLOBAL binlog_format = ROW")
        other.execute(
            f"CREATE USER mirror@'%' IDENTIFIED BY '{SECRET}'",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO mirror@'%'",
            "CREATE DATABASE shop",
            "CREATE TABLE shop.t (id INT PRIMARY KEY)",
        )
        stranger = Source(other, tmp_path, pair.source.password_file, pair.source.kind)
        with pytest.raises(binarrow.ServerIdentityError):
            stranger.sync()
    pair.execute("INSERT INTO t VALUES (2)")
    pair.source.sync()
    pair.source.check("shop.t")
