"""A server and its replica by GTID."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from support.servers.servers import Server
from support.waiting import until

PASSWORD = "r3pl"


@contextlib.contextmanager
def pair(flavor: str) -> Iterator[tuple[Server, Server]]:
    """A source and a replica that logs what it replicates."""
    with (
        Server.start(flavor) as source,
        Server.start(flavor, ["--server-id=2", "--log-slave-updates=ON"]) as replica,
    ):
        source.execute(
            f"CREATE USER repl@'%' IDENTIFIED BY '{PASSWORD}'",
            "GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
        )
        follow(replica, source)
        yield source, replica


def follow(replica: Server, source: Server) -> None:
    """Lets `replica` take all that `source` logs, from its beginning on."""
    if replica.is_mariadb:
        # What made the data folder has GTIDs that differ.
        replica.execute(
            "RESET MASTER",
            "SET GLOBAL gtid_slave_pos = ''",
            f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={source.port}, MASTER_USER='repl', "
            f"MASTER_PASSWORD='{PASSWORD}', MASTER_USE_GTID=slave_pos, MASTER_SSL=0",
            "START SLAVE",
        )
        return
    replica.execute(
        "RESET BINARY LOGS AND GTIDS",
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={source.port}, "
        f"SOURCE_USER='repl', SOURCE_PASSWORD='{PASSWORD}', SOURCE_AUTO_POSITION=1, "
        "GET_SOURCE_PUBLIC_KEY=1",
        "START REPLICA",
    )


def executed(source: Server) -> str:
    """By GTID, all that it has logged."""
    name = "gtid_binlog_pos" if source.is_mariadb else "gtid_executed"
    [(executed,)] = source.query(f"SELECT @@global.{name}")
    return str(executed)


def catch_up(replica: Server, executed: str) -> None:
    """Waits until `replica` has applied all of it."""
    if replica.is_mariadb:
        [(result,)] = replica.query(f"SELECT MASTER_GTID_WAIT('{executed}', 60)")
    else:
        [(result,)] = replica.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60)")
    assert result == 0, "the replica does not catch up"


def receive_all(replica: Server, source: Server) -> None:
    """Waits until `replica` has received all that `source` has logged."""
    status = "SHOW MASTER STATUS" if source.is_mariadb else "SHOW BINARY LOG STATUS"
    of_replica = "SHOW SLAVE STATUS" if replica.is_mariadb else "SHOW REPLICA STATUS"
    [(file, offset, *_)] = source.query(status)
    until(lambda: replica.query(of_replica)[0][5:7] == (file, offset))


def stop_applying(replica: Server) -> None:
    """The replica continues to receive, and applies nothing."""
    replica.execute("STOP SLAVE SQL_THREAD" if replica.is_mariadb else "STOP REPLICA SQL_THREAD")


def apply(replica: Server) -> None:
    """It applies again what it received."""
    replica.execute("START SLAVE SQL_THREAD" if replica.is_mariadb else "START REPLICA SQL_THREAD")


def promote(replica: Server) -> None:
    """The replica no longer follows a source."""
    if replica.is_mariadb:
        replica.execute("STOP SLAVE", "RESET SLAVE ALL")
    else:
        replica.execute("STOP REPLICA", "RESET REPLICA ALL")
