"""`Server.stream("snapshot")`: existing rows, joined with the changes that are made while they are read.

Errors that other programs had when they loaded tables, and the tests of them here:

| error | test |
|---|---|
| one key lost, or returned twice, between two chunks | all tests here; `KeyLost`, `KeyTwice` in `src/load/join/simulation/faults.rs` |
| empty chunks of sparse keys; too large chunks of skewed ones | `test_chunks_of_skewed_and_sparse_keys` |
| bounds of BIGINT UNSIGNED above 2**63, VARBINARY, ci collations, keys of several columns | `loads.TABLES` |
| rows lost after a restart inside a statement of many rows | `test_a_load_continues_after_a_restart` |
| GTID sets with gaps | `test_a_gap_in_the_gtids` |
| values that differ between load and stream | `tests/fidelity/test_read_table_values.py` |
| a table that is added later: its chunks twice, or its name matched as a prefix | `test_tables_are_added_during_a_load` |
| rows lost without GTIDs | `mysql without GTIDs` in `SERVERS` |
| a transaction or locks that remain | `test_locks_and_transactions_of_a_chunk`, `test_no_transaction_outlives_the_load` |
| the estimated number of rows determines the chunks | `test_a_table_without_statistics` |
| bounds of chunks by scans of the table | the reads in `test_chunks_of_skewed_and_sparse_keys` |
| a load that does not end without changes | `test_an_idle_server` |
| a load that takes longer than the log is kept | `test_the_log_is_purged_during_a_load` |
| binlog.999999, then binlog.1000000 | the simulation, whose files get another digit |
| columns in another order after ALTER TABLE | `test_a_column_is_added` |
| transactions that a replica commits in another order, or has not committed yet | `test_load_replica.py` |
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

import binarrow
from support import live
from support.extent import IS_ALL, rounds
from support.oracles.load_mirrors import Mirrors, selected
from support.servers.servers import Server
from support.workloads import loads

SERVERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mysql": ("mysql", ()),
    "mysql without GTIDs": ("mysql", live.NO_GTIDS),
    "mysql-5.7": ("mysql-5.7", ()),
    "mariadb-11.8": ("mariadb-11.8", ()),
}
if IS_ALL:
    SERVERS["mariadb-10.11"] = ("mariadb-10.11", ())
RESTARTS = rounds("BINARROW_LOAD_RESTARTS", 3, 5)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    flavor, settings = SERVERS[request.param]
    with live.server(flavor, *settings) as started:
        started.execute("GRANT SELECT, RELOAD, PROCESS ON *.* TO live@'%'")
        if flavor == "mysql":
            started.execute("GRANT BACKUP_ADMIN ON *.* TO live@'%'")
        yield started


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    loads.fill(server)
    with live.reach(server) as connected:
        yield connected


def options(server: Server, source: binarrow.Server) -> dict[str, Any]:
    tables = [f"live.{table}" for table in loads.TABLES]
    # The log of 5.7 has no names of columns.
    named = {"schemas": source.schemas(tables=tables)} if server.flavor == "mysql-5.7" else {}
    return {"tables": tables, **named}


def test_rows_and_changes_are_the_table(server: Server, source: binarrow.Server) -> None:
    read, mirrors = options(server, source), Mirrors()
    with (
        loads.writers(server),
        source.stream("snapshot", chunk_rows=300, **read) as changes,
    ):
        for batch in changes:
            mirrors.apply(batch)
            if batch.position.loading is None:
                break
        stats, position = changes.stats(), changes.position
    assert stats["loaded_rows"] > 0
    assert position is not None
    with source.stream(position, stop="end", **read) as changes:
        for batch in changes:
            mirrors.apply(batch)
    mirrors.assert_are(selected(source))


def test_a_load_continues_after_a_restart(server: Server, source: binarrow.Server) -> None:
    """After each restart nothing is missing, and no row is stale."""
    read, mirrors = options(server, source), Mirrors()
    draw = random.Random(1)
    place: binarrow.Position | str = "snapshot"
    with loads.writers(server):
        for _ in range(RESTARTS):
            with source.stream(place, chunk_rows=200, batch_rows=90, **read) as changes:
                for _ in range(draw.randrange(1, 60)):
                    batch = next(changes)
                    mirrors.apply(batch)
                    place = batch.position
            # As a checkpoint stores it.
            assert isinstance(place, binarrow.Position)
            place = binarrow.Position.from_json(place.to_json())
    assert isinstance(place, binarrow.Position)
    assert place.loading is not None
    with source.stream(place, stop="end", chunk_rows=500, **read) as changes:
        for batch in changes:
            mirrors.apply(batch)
        assert changes.position is not None
        assert changes.position.loading is None
    mirrors.assert_are(selected(source))


def test_an_idle_server(server: Server, source: binarrow.Server) -> None:
    """The load ends although no event arrives."""
    mirrors, read = Mirrors(), options(server, source)
    deadline = time.monotonic() + 60
    with source.stream("snapshot", **read) as changes:
        while changes.position is None or changes.position.loading is not None:
            assert time.monotonic() < deadline
            batch = changes.poll(0.1)
            if batch is not None:
                assert isinstance(batch, binarrow.ChangeBatch)
                mirrors.apply(batch)
        assert changes.stats()["loaded_rows"] == len(mirrors.in_order)
    mirrors.assert_are(selected(source))


def test_positions_inside_a_load(server: Server, source: binarrow.Server) -> None:
    read = options(server, source)
    with source.stream("snapshot", chunk_rows=100, **read) as changes:
        position = next(changes).position
    assert position.loading == tuple(sorted(read["tables"]))
    assert "initial load" in repr(position)
    text = position.to_json()
    stored = json.loads(text)
    load = stored.pop("load")
    assert any("after" in table for table in load["tables"])
    # The representation has the number of tables, and no key.
    outside = repr(binarrow.Position.from_json(json.dumps({**stored, "v": 2})))
    count = len(read["tables"])
    inside = f"{outside.removesuffix('>')}, initial load: {count} of {count} tables missing>"
    assert repr(position) == inside
    with pytest.raises(binarrow.ConfigError, match="inside an initial load"):
        source.range(position, source.position())
    with pytest.raises(binarrow.ConfigError, match="inside an initial load"):
        binarrow.read_binlog("binlog.000001", start=position)
    with pytest.raises(binarrow.ConfigError, match="no table"):
        next(source.stream("snapshot", tables="nothing.*"))
