"""An initial load whose rows come from a replica (`rows_from`), and its log from the source."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli.app import app
from support import live
from support.oracles.load_mirrors import Mirrors, selected
from support.servers import replicas
from support.servers.servers import Server, Session
from support.workloads import loads

FLAVORS = ("mysql", "mariadb-11.8")
TABLES = [f"live.{table}" for table in loads.TABLES]
GRANT = "GRANT SELECT, RELOAD, PROCESS, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO live@'%'"


def make_user(server: Server) -> None:
    server.execute("CREATE USER live@'%' IDENTIFIED BY 'l1ve'", GRANT, "CREATE DATABASE live")
    if server.flavor == "mysql":
        server.execute("GRANT BACKUP_ADMIN ON *.* TO live@'%'")


@pytest.fixture(scope="module", params=FLAVORS)
def servers(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Server]]:
    """The source and the replica."""
    with replicas.pair(request.param) as (source, replica):
        make_user(source)
        replicas.catch_up(replica, replicas.executed(source))
        yield source, replica


@pytest.fixture
def reached(
    servers: tuple[Server, Server],
) -> Iterator[tuple[binarrow.Server, binarrow.Server]]:
    with live.reach(servers[0]) as source, live.reach(servers[1]) as replica:
        yield source, replica


def fill(source: Server, replica: Server) -> None:
    loads.fill(source)
    source.execute(
        "DROP TABLE IF EXISTS live.nokey",
        "CREATE TABLE live.nokey (v INT)",
        "INSERT INTO live.nokey VALUES (1), (1), (2), (NULL)",
    )
    replicas.catch_up(replica, replicas.executed(source))


def read_all(
    source: binarrow.Server, start: binarrow.Position | str, mirrors: Mirrors, **keywords: Any
) -> binarrow.Position:
    """Reads to the end of the log."""
    with source.stream(start, stop="end", tables=TABLES, **keywords) as changes:
        for batch in changes:
            mirrors.apply(batch)
        assert changes.position is not None
        return changes.position


def test_a_busy_source_and_restarts(
    servers: tuple[Server, Server], reached: tuple[binarrow.Server, binarrow.Server]
) -> None:
    """Each restart reads the rest of the rows from the replica, at its position in the log of the source."""
    fill(*servers)
    source, replica = reached
    read: dict[str, Any] = {"rows_from": replica, "chunk_rows": 300}
    mirrors, draw = Mirrors(), random.Random(2)
    place: binarrow.Position | str = "snapshot"
    with loads.writers(servers[0]):
        for _ in range(3):
            with source.stream(place, tables=TABLES, batch_rows=90, **read) as changes:
                for _ in range(draw.randrange(5, 40)):
                    batch = next(changes)
                    mirrors.apply(batch)
                    place = batch.position
            assert isinstance(place, binarrow.Position)
            assert place.server == source.id
            place = binarrow.Position.from_json(place.to_json())
        end = read_all(source, place, mirrors, **read)
    assert end.loading is None
    read_all(source, end, mirrors)
    mirrors.assert_are(selected(source))


def counted(rows: Counter[int | None], batch: binarrow.ChangeBatch) -> None:
    for row in batch.to_pyarrow().to_pylist():
        sign = -1 if row["_change_type"] in ("delete", "update_preimage") else 1
        rows[row["v"]] += sign
        assert rows[row["v"]] >= 0


def test_a_replica_that_lags(
    servers: tuple[Server, Server], reached: tuple[binarrow.Server, binarrow.Server]
) -> None:
    """Its rows are older than the end of the log: they are returned at their place, and all later changes after them, once."""
    server, other = servers
    fill(server, other)
    source, replica = reached
    mirrors, rows = Mirrors(), Counter[int | None]()
    replicas.stop_applying(other)
    try:
        server.execute(
            "UPDATE live.whole SET v = -v WHERE v % 3 = 0",
            "DELETE FROM live.whole WHERE v % 5 = 1",
            "DELETE FROM live.nokey WHERE v = 1 LIMIT 1",
            "INSERT INTO live.nokey VALUES (7), (7)",
        )
        now = source.position()
        with source.stream(
            "snapshot", stop="end", tables=[*TABLES, "live.nokey"], rows_from=replica
        ) as changes:
            for number, batch in enumerate(changes):
                if number == 0:
                    assert batch.table == "nokey"
                    assert batch.position < now
                    assert batch.num_rows == 4
                if batch.table == "nokey":
                    counted(rows, batch)
                else:
                    mirrors.apply(batch)
        mirrors.assert_are(selected(source))
        assert +rows == Counter({1: 1, 2: 1, None: 1, 7: 2})
        # Rows that are older than the position would replace newer ones: it waits for the replica.
        again = now.with_load("live.whole")
        with pytest.raises(binarrow.ServerIdentityError, match="has not applied all transactions"):
            read_all(source, again, mirrors, rows_from=replica, reconnect=0.3)
    finally:
        replicas.apply(other)
    end = read_all(source, again, mirrors, rows_from=replica)
    assert end.loading is None
    mirrors.assert_are(selected(source))


def commit_together(server: Server, *statements: str) -> None:
    """Commits transactions in one group, in this order, so that a replica applies them at the same time."""
    delay = "SET GLOBAL binlog_group_commit_sync_delay = {}"
    count = "SET GLOBAL binlog_group_commit_sync_no_delay_count = {}"
    server.execute(delay.format(1_000_000), count.format(len(statements)))
    sessions = (
        "SELECT INFO FROM information_schema.PROCESSLIST WHERE STATE = 'waiting for handler commit'"
    )
    threads = []
    for statement in statements:
        threads.append(threading.Thread(target=run_alone, args=(server, statement)))
        threads[-1].start()
        live.until(
            lambda statement=statement: (
                (statement,) in server.query(sessions) or not threads[-1].is_alive()
            )
        )
    for thread in threads:
        thread.join()
    server.execute(delay.format(0), count.format(0))


on_mysql = pytest.mark.parametrize("servers", ["mysql"], indirect=True, scope="module")
"""MariaDB has GTIDs always, and commits the transactions of a domain in their order."""


def run_alone(server: Server, statement: str) -> None:
    with closing(Session(server)) as session:
        session.execute(statement)


@on_mysql
def test_another_order_of_commits(
    servers: tuple[Server, Server],
    reached: tuple[binarrow.Server, binarrow.Server],
    tmp_path: Path,
) -> None:
    """The replica has a transaction and not the one before it: the changes from the first on are returned again."""
    server, other = servers
    fill(server, other)
    source, replica = reached
    path, mirrors = tmp_path / "load.jsonl", Mirrors()
    setting = "SET GLOBAL replica_preserve_commit_order = {}"
    other.execute("STOP REPLICA", setting.format("OFF"), "START REPLICA")
    # The first transaction is applied alone.
    server.execute("UPDATE live.enum SET v = -1 ORDER BY id LIMIT 1")
    replicas.catch_up(other, replicas.executed(server))
    try:
        with closing(Session(other)) as session:
            session.execute("BEGIN", "SELECT * FROM live.whole WHERE id = 50 FOR UPDATE")
            [(key,)] = server.query("SELECT MIN(id) FROM live.`unsigned`")
            commit_together(
                server,
                "UPDATE live.whole SET v = -5 WHERE id = 50",
                f"UPDATE live.`unsigned` SET v = -7 WHERE id = {key}",
            )
            sql = f"SELECT v FROM live.`unsigned` WHERE id = {key}"
            live.until(lambda: list(other.query(sql)) == [(-7,)])
            with source.stream(
                "snapshot", stop="end", tables=TABLES, rows_from=replica, certificate=path
            ) as changes:
                for batch in changes:
                    mirrors.apply(batch)
            with pytest.raises(binarrow.ConfigError, match="has no key, and the position"):
                list(source.stream("snapshot", stop="end", tables="live.nokey", rows_from=replica))
    finally:
        other.execute("STOP REPLICA", setting.format("ON"), "START REPLICA")
    mirrors.assert_are(selected(source))
    chunks = [line["chunk"] for line in map(json.loads, path.open()) if "chunk" in line]
    assert not any(chunk["exact"] for chunk in chunks)
    assert all("until" in chunk for chunk in chunks)


def test_the_certificate_is_of_the_source(
    servers: tuple[Server, Server],
    reached: tuple[binarrow.Server, binarrow.Server],
    tmp_path: Path,
) -> None:
    from binarrow.server.certificate_check import Certificate, check_server

    fill(*servers)
    source, replica = reached
    path = tmp_path / "load.jsonl"
    with source.stream(
        "snapshot", stop="end", tables="live.whole", rows_from=replica, certificate=path
    ) as changes:
        assert sum(batch.num_rows for batch in changes) == loads.ROWS
    servers[0].execute("UPDATE live.whole SET v = v + 1")
    grades = {result.grade for result in check_server(Certificate(path), source)}
    assert grades == {"ok"}


def test_a_sync_reads_the_rows_of_a_replica(
    servers: tuple[Server, Server],
    reached: tuple[binarrow.Server, binarrow.Server],
    tmp_path: Path,
) -> None:
    fill(*servers)
    source, replica = reached
    target = f"duckdb:///{tmp_path / 'mirror.duckdb'}"

    def sent() -> int:
        [(_, count)] = servers[1].query("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")
        return int(count)

    before = sent()
    with loads.writers(servers[0]):
        binarrow.sync(source, target, tables=TABLES, once=True, rows_from=replica)
    assert sent() >= before + len(TABLES)
    binarrow.sync(source, target, tables=TABLES, once=True)
    assert binarrow.verify(source, target).result == "MATCH"
    # The command line.
    target = f"duckdb:///{tmp_path / 'command.duckdb'}"
    password = tmp_path / "password"
    password.write_text("l1ve")
    password.chmod(0o600)
    url, other = (f"mysql://live@127.0.0.1:{server.port}/" for server in servers)
    words = ["sync", url, target, "--once", "--rows-from", other, "--password-file", str(password)]
    words += [word for table in TABLES for word in ("--tables", table)]
    before = sent()
    ran = CliRunner().invoke(app, words, catch_exceptions=False)
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert sent() >= before + len(TABLES)
    assert binarrow.verify(source, target).result == "MATCH"


def refused(source: binarrow.Server, replica: binarrow.Server) -> str:
    with pytest.raises(binarrow.BinarrowError) as caught:
        list(source.stream("snapshot", stop="end", tables=TABLES, rows_from=replica, reconnect=0.3))
    return str(caught.value)


UNUSABLE = {
    "it does not log": (["--log-slave-updates=OFF"], "does not log what it replicates"),
    "another server": (["--log-slave-updates=ON"], "has transactions that"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_servers_that_are_no_replica(
    servers: tuple[Server, Server], reached: tuple[binarrow.Server, binarrow.Server], name: str
) -> None:
    options, message = UNUSABLE[name]
    is_unusable(servers, reached, options, message)


@on_mysql
def test_a_replica_without_gtids(
    servers: tuple[Server, Server], reached: tuple[binarrow.Server, binarrow.Server]
) -> None:
    is_unusable(servers, reached, live.NO_GTIDS, "rows_from= has gtid_mode=OFF")


def is_unusable(
    servers: tuple[Server, Server],
    reached: tuple[binarrow.Server, binarrow.Server],
    options: Sequence[str],
    message: str,
) -> None:
    fill(*servers)
    with Server.start(servers[0].flavor, ["--server-id=3", *options]) as other:
        make_user(other)
        loads.fill(other)
        with live.reach(other) as connected:
            assert message in refused(reached[0], connected)


def test_a_replica_with_transactions_of_its_own(
    servers: tuple[Server, Server], reached: tuple[binarrow.Server, binarrow.Server]
) -> None:
    """Last: the replica differs from its source from here on."""
    fill(*servers)
    servers[1].execute("UPDATE live.whole SET v = 0 WHERE id = 10")
    assert "has transactions that" in refused(*reached)
    if servers[0].is_mariadb:
        # The source gives the same number to another transaction.
        servers[0].execute("UPDATE live.whole SET v = 1 WHERE id = 10")
        assert "has transactions that" in refused(*reached)
