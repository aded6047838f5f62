"""A stream whose server dies continues at the replica, by GTID."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import binarrow
from support.oracles import oracle
from support.oracles.compare import assert_same_tables
from support.oracles.replay import ENVELOPE, changes_of, replay, truncations_in
from support.servers import replicas
from support.servers.servers import Server
from support.waiting import WAIT, until
from support.workloads import workload

FLAVORS = ("mysql", "mariadb-11.8", "mariadb-10.11")
USER = {"user": "live", "password": "l1ve", "allow_public_key_retrieval": True}
STEPS = 60


def reach(*servers: Server) -> binarrow.Server:
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return binarrow.connect(f"mysql://{hosts}/", **USER)


def make_user(server: Server) -> None:
    server.execute(
        "CREATE USER live@'%' IDENTIFIED BY 'l1ve'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO live@'%'",
        "CREATE DATABASE mark",
        "CREATE TABLE mark.t (id INT PRIMARY KEY)",
    )


def flat(batches: list[binarrow.ChangeBatch]) -> list[object]:
    """The changes of each table, in order, wherever they are in the log."""
    tables: dict[str, list[object]] = {}
    for batch in batches:
        changes = changes_of(batch)
        tables.setdefault(changes.table, []).extend(
            (changes.names, change.kind, change.row, change.present) for change in changes.items
        )
    return sorted(tables.items())


def versions(batch: binarrow.ChangeBatch) -> list[int]:
    return batch.to_pyarrow().column("_commit_version").to_pylist()


class Collector(threading.Thread):
    """Reads a stream up to a row of the table `mark.t`."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream = stream
        self.batches: list[binarrow.ChangeBatch] = []
        self.error: binarrow.BinarrowError | None = None

    def run(self) -> None:
        try:
            for batch in self.stream:
                if batch.database == "mark":
                    return
                self.batches.append(batch)
        except binarrow.BinarrowError as error:  # for the thread that waits for this one
            self.error = error

    def wait(self) -> list[binarrow.ChangeBatch]:
        self.join(2 * WAIT)
        if self.error is not None:
            raise self.error
        assert not self.is_alive()
        return self.batches


def connections(server: Server) -> int:
    """The number of connections that were made so far."""
    return int(server.query("SHOW GLOBAL STATUS LIKE 'Connections'")[0][1])


@dataclass
class Failed:
    """The rows of a stream during a failover, and the server that remains."""

    survivor: Server
    batches: list[binarrow.ChangeBatch]
    selected: dict[str, Any]
    stats: dict[str, Any]
    position: binarrow.Position


@pytest.fixture(scope="module", params=FLAVORS)
def failed(request: pytest.FixtureRequest) -> Iterator[Failed]:
    with replicas.pair(request.param) as (source, replica):
        make_user(source)
        replicas.catch_up(replica, replicas.executed(source))
        with reach(source, replica) as connection:
            stream = connection.stream("latest", envelope=ENVELOPE, reconnect=60.0, heartbeat=1.0)
            collector = Collector(stream)
            collector.start()
            rng = random.Random(request.param)
            session = source.connect()
            session.execute(
                f"CREATE DATABASE {workload.DATABASE} CHARACTER SET utf8mb4",
                f"USE {workload.DATABASE}",
            )
            play = workload.Workload(source, session, rng, ("FULL",), 0.3, partial_json=False)
            play.create_tables(zero_dates=False, extras=False)
            for _ in range(STEPS):
                play.step()
            while len([one for one in play.prepared if one.inserted]) < 2:
                play.xa_transaction()
            replicas.catch_up(replica, replicas.executed(source))
            # A part of the last transactions comes to the replica only after the source's death.
            replicas.stop_applying(replica)
            for _ in range(10):
                play.several_statements()
            replicas.receive_all(replica, source)
            last, before = replicas.executed(source), connections(replica)
            source.kill()
            until(lambda: connections(replica) > before)
            replicas.apply(replica)
            replicas.catch_up(replica, last)
            replicas.promote(replica)
            play.server = replica
            play.session = replica.connect()
            play.session.execute(f"USE {workload.DATABASE}")
            # One that changed nothing died with its session.
            play.prepared = [one for one in play.prepared if one.inserted or one.changed]
            for one in play.prepared:
                one.session = replica.connect()
            for _ in range(STEPS):
                play.step()
            play.finish()
            replica.execute("INSERT INTO mark.t VALUES (1)")
            batches = collector.wait()
            stats, position = stream.stats(), stream.position
            assert position is not None
            stream.close()
        replica.flush_binlog()
        names = {f"{workload.DATABASE}.{name}" for name in (*play.tables, *play.copies)}
        tables = sorted(names.difference(workload.NOT_COMPARED))
        selected = {table: oracle.select(replica, table) for table in tables}
        yield Failed(replica, batches, selected, stats, position)


def test_nothing_is_missing_and_nothing_comes_twice(failed: Failed) -> None:
    files = failed.survivor.binlog_files()[:-1]
    replayed = replay(failed.batches, truncations_in(files))
    compared = assert_same_tables(replayed, failed.selected, {})
    assert compared.rows > 300
    assert failed.stats["reconnects"] >= 1


def test_commit_versions_rise(failed: Failed) -> None:
    found: dict[tuple[str, str], list[int]] = {}
    for batch in failed.batches:
        found.setdefault((batch.database, batch.table), []).extend(versions(batch))
    for of_table in found.values():
        assert of_table == sorted(of_table)


def test_positions_from_before_and_after_go_on_there(failed: Failed) -> None:
    """Each is stored and comes back, and what follows is what followed."""
    with reach(failed.survivor) as connection:
        assert failed.position.server == connection.id
        ahead = 0
        for index in range(0, len(failed.batches), max(len(failed.batches) // 24, 1)):
            ahead += bool(failed.batches[index].position.ahead)
            stored = failed.batches[index].position.to_json()
            stream = connection.stream(
                binarrow.Position.from_json(stored), stop="end", envelope=ENVELOPE
            )
            rest = [batch for batch in stream if batch.database != "mark"]
            assert flat(failed.batches[: index + 1] + rest) == flat(failed.batches), stored
        assert ahead > 3


@pytest.mark.parametrize("flavor", ["mysql", "mariadb-11.8"])
def test_a_server_of_another_history_is_refused(
    flavor: str, caplog: pytest.LogCaptureFixture
) -> None:
    # MariaDB distinguishes histories by their domains.
    own = ["--gtid-domain-id=7"] if flavor.startswith("mariadb") else []
    with Server.start(flavor, own) as one, Server.start(flavor, ["--server-id=2"]) as other:
        make_user(one)
        make_user(other)
        with reach(one) as connection:
            position = connection.position()
        with reach(other) as connection:
            stream = connection.stream(position, reconnect=WAIT)
            with pytest.raises(binarrow.ServerIdentityError, match="shares no GTIDs"):
                next(stream)
    # It was not tried again.
    assert not [one for one in caplog.messages if "cannot continue yet" in one]
