"""The workload's promise holds: a server that replays the log has the same rows.

This takes no part of binarrow: the other server is a replica.
"""

from __future__ import annotations

import pytest

from support.servers.servers import FLAVORS, Server
from support.workloads import workload
from support.workloads.table import quote

REPLICATION_SECONDS = 60


@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_replica_has_the_same_rows(flavor: str) -> None:
    with Server.start(flavor) as source, Server.start(flavor, ["--server-id=2"]) as replica:
        tables = workload.run(source, seed=1, transactions=200, zero_dates=True)
        replicate(source, replica)

        for table in tables:
            assert content(replica, table) == content(source, table), table


def replicate(source: Server, replica: Server) -> None:
    """Makes one server follow the other until it has all that the other's binlog holds."""
    address = f"'127.0.0.1', {{}}_PORT = {source.port}, {{}}_USER = 'lab', {{}}_PASSWORD = 'lab'"
    if source.is_mariadb:
        state = source.query("SELECT @@gtid_binlog_pos")[0][0]
        replica.execute(
            f"CHANGE MASTER TO MASTER_HOST = {address.format(*['MASTER'] * 3)}",
            "START SLAVE",
        )
        wait = f"SELECT MASTER_GTID_WAIT('{state}', {REPLICATION_SECONDS})"
        status = "SHOW SLAVE STATUS"
    else:
        state = source.query("SELECT @@gtid_executed")[0][0]
        replica.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = {address.format(*['SOURCE'] * 3)},"
            " SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
            "START REPLICA",
        )
        wait = f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{state}', {REPLICATION_SECONDS})"
        status = "SHOW REPLICA STATUS"
    assert replica.query(wait) == [(0,)], replica.query(status)


def content(server: Server, table: str) -> list[tuple[object, ...]]:
    """All rows, in an order that does not depend on how they are stored."""
    database, name = table.split(".", 1)
    sql_name = f"{database}.{quote(name)}"
    shown = [
        f"HEX({quote(column)})" if kind.startswith("vector") else quote(column)
        for (column, kind, *_) in server.query(f"SHOW COLUMNS FROM {sql_name}")
    ]
    return sorted(server.query(f"SELECT {', '.join(shown)} FROM {sql_name}"), key=repr)
