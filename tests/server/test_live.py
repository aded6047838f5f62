"""Reading a server's log while it is written, whatever happens to the connection."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracle
import pytest
import workload
from compare import assert_same_tables
from cutting_proxy import CuttingProxy
from oracle import Selected
from replay import ENVELOPE, changes_of, replay, truncations_in
from servers import Server

import binarrow

SERVERS = ("mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.11")
USER = {"user": "live", "password": "l1ve", "allow_public_key_retrieval": True}
TRANSACTIONS = 150
CUTS = 60


@dataclass
class Played:
    """A server, what was streamed from it while it played the workload, and what it holds now."""

    server: Server
    streamed: list[binarrow.ChangeBatch]
    tables: list[str]
    files: list[Path]
    selected: dict[str, Selected]

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        return workload.GENERATED if self.server.flavor == "mariadb-11.8" else {}

    @property
    def schemas(self) -> str | None:
        return None

    def changes(self) -> list[object]:
        """All changes, as the files hold them."""
        paths = [str(path) for path in self.files]
        return flat(binarrow.read_binlog(paths, envelope=ENVELOPE))


def flat(batches: Any) -> list[object]:
    """The changes of each table, in order."""
    tables: dict[str, list[object]] = {}
    for batch in batches:
        changes = changes_of(batch)
        tables.setdefault(changes.table, []).extend(
            (changes.names, change) for change in changes.items
        )
    return sorted(tables.items())


def reach(server: Server, port: int | None = None, **keywords: Any) -> binarrow.Server:
    return binarrow.connect(host="127.0.0.1", port=port or server.port, **{**USER, **keywords})


@pytest.fixture(scope="module", params=("mysql", "mariadb-11.8", "mariadb-10.11"))
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    with Server.start(request.param) as server:
        server.execute(
            "CREATE USER live@'%' IDENTIFIED BY 'l1ve'",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO live@'%'",
            "CREATE DATABASE mark",
            "CREATE TABLE mark.t (id INT PRIMARY KEY)",
        )
        first = server.flush_binlog()
        streamed: list[binarrow.ChangeBatch] = []
        with reach(server) as connection:
            stream = connection.stream("latest", envelope=ENVELOPE)

            def collect() -> None:
                for batch in stream:
                    if batch.database == "mark":
                        return
                    streamed.append(batch)

            # The dump begins with the first batch asked for: it must be from before the workload.
            position = connection.position()
            stream = connection.stream(position, envelope=ENVELOPE)
            collector = threading.Thread(target=collect)
            collector.start()
            tables = workload.run(server, 11, TRANSACTIONS, compressed_share=0.3, extras=True)
            server.execute("INSERT INTO mark.t VALUES (1)")
            collector.join(60)
            assert not collector.is_alive()
            stream.close()
        server.flush_binlog()
        files = [path for path in server.binlog_files()[:-1] if path.name > first.name]
        selected = {table: oracle.select(server, table) for table in tables}
        yield Played(server, streamed, tables, files, selected)


def test_streaming_while_it_happens_gives_what_select_gives(played: Played) -> None:
    replayed = replay(played.streamed, truncations_in(played.files))
    compared = assert_same_tables(replayed, played.selected, played.left_out)
    assert compared.rows > 500


@pytest.mark.parametrize("how", ["file", "gtid", "time", "tls", "zlib", "zstd"])
def test_however_it_is_read(played: Played, how: str) -> None:
    server = played.server
    keywords: dict[str, Any] = {}
    if how == "tls":
        if server.flavor == "mariadb-10.11":
            return  # it makes no certificate by itself; test_login has one
        keywords = {"tls": "required"}
    if how in ("zlib", "zstd"):
        if how == "zstd" and server.is_mariadb:
            return
        keywords = {"compression": how}
    start: Any = f"{played.files[0].name}:4"
    if how == "time":
        start = "earliest"
    with reach(server, **keywords) as connection:
        if how == "gtid":
            start = gtids_before(played)
        stream = connection.stream(start, stop="end", envelope=ENVELOPE, tables="*.*")
        found = flat(batch for batch in stream if batch.database != "mark")
    wanted = [one for one in played.changes() if not str(one[0]).startswith("mark.")]
    assert found == wanted


def gtids_before(played: Played) -> str:
    """The transactions that the first file begins after."""
    events = binarrow.inspect(str(played.files[0]))
    [event] = [one for one in events if one.type_name in ("Previous_gtids", "Gtid_list")]
    return event.info.split()[-1]


def test_connections_that_are_cut(played: Played) -> None:
    """Nothing is lost and nothing comes twice, wherever the connection breaks."""
    rng = random.Random(played.server.flavor)
    size = sum(path.stat().st_size for path in played.files)
    with CuttingProxy(played.server.port, rng, CUTS, max(2_000, 2 * size // CUTS)) as proxy:
        for _attempt in range(CUTS):
            try:
                connection = reach(played.server, proxy.port)
                break
            except binarrow.BinarrowError:
                continue
        stream = connection.stream(
            f"{played.files[0].name}:4",
            stop="end",
            envelope=ENVELOPE,
            reconnect=60.0,
            heartbeat=1.0,
        )
        begin = time.monotonic()
        found = flat(batch for batch in stream if batch.database != "mark")
        print(f"\n{proxy.cuts} cuts, {time.monotonic() - begin:.1f} s")
        connection.close()
    wanted = [one for one in played.changes() if not str(one[0]).startswith("mark.")]
    assert found == wanted
    assert proxy.cuts >= 10
