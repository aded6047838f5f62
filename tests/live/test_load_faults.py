"""Initial loads that are disturbed, refused or limited: nothing is lost, nothing is returned twice."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pty
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import binarrow
from support import live
from support.servers.fixtures import loading_servers
from support.servers.proxy import Proxy
from support.servers.servers import Server, Session

ROWS = 2000
WAITING = (
    "SELECT ID FROM information_schema.PROCESSLIST"
    " WHERE USER = 'live' AND STATE LIKE 'Waiting for table metadata lock%'"
)


server = loading_servers("--performance-schema=ON")


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    live.two_tables(server, ROWS)
    with live.reach(server) as connected:
        yield connected


def add(seen: Counter[Any], batch: binarrow.ChangeBatch) -> None:
    table = batch.to_pyarrow()
    assert set(table["_change_type"].to_pylist()) == {"insert"}
    seen.update((batch.table, key) for key in table["id"].to_pylist())


def add_all(seen: Counter[Any], batches: Iterable[binarrow.ChangeBatch]) -> None:
    for batch in batches:
        add(seen, batch)


class Full:
    """A checkpoint whose disk is full after a few positions."""

    interval = 0.0

    def __init__(self) -> None:
        self.saved: list[str] = []

    def load(self) -> binarrow.Position | None:
        return binarrow.Position.from_json(self.saved[-1]) if self.saved else None

    def save(self, position: binarrow.Position) -> None:
        if len(self.saved) == 4:
            raise binarrow.CheckpointError("the disk is full") from OSError(errno.ENOSPC, "")
        self.saved.append(position.to_json())


ALL = Counter({(table, key): 1 for table in "ab" for key in range(ROWS)})


def test_the_server_is_killed(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    """During a chunk, and again while the load continues from its checkpoint: each row is returned once."""
    seen: Counter[Any] = Counter()
    read: dict[str, Any] = {"tables": "live.*", "chunk_rows": 500, "batch_rows": 100}
    checkpoint = binarrow.FileCheckpoint(tmp_path / "load.json", interval=0)
    path = tmp_path / "load.jsonl"
    with source.stream("snapshot", checkpoint=checkpoint, certificate=path, **read) as changes:
        for number in range(12):
            add(seen, next(changes))
            if number == 6:
                server.restart(crash=True)
    position = checkpoint.load()
    assert position is not None
    assert position.loading is not None
    with (
        live.reach(server) as again,
        again.stream(stop="end", checkpoint=checkpoint, certificate=path, **read) as changes,
    ):
        for number, batch in enumerate(changes):
            add(seen, batch)
            if number == 3:
                server.restart(crash=True)
    assert seen == ALL
    chunks = [line["chunk"] for line in map(json.loads, path.open()) if "chunk" in line]
    assert sum(chunk["rows"] for chunk in chunks) == 2 * ROWS


def test_a_connection_is_lost_before_the_first_row(server: Server, source: binarrow.Server) -> None:
    seen: Counter[Any] = Counter()
    with (
        Proxy(server.port) as proxy,
        live.reach(server, proxy.port) as reached,
        closing(Session(server)) as other,
    ):
        other.execute("LOCK TABLES live.a WRITE")
        with reached.stream("snapshot", stop="end", tables="live.*") as changes:
            assert changes.poll(0.0) is None
            live.until(lambda: server.query(WAITING))
            proxy.cut()
            other.execute("UNLOCK TABLES")
            for batch in changes:
                add(seen, batch)
    assert seen == ALL


def test_close_ends_a_wait_for_a_lock(server: Server, source: binarrow.Server) -> None:
    with closing(Session(server)) as other:
        other.execute("LOCK TABLES live.a WRITE")
        changes = source.stream("snapshot", tables="live.*")
        assert changes.poll(0.0) is None
        live.until(lambda: server.query(WAITING))
        changes.close()
        # Its wait for the lock would end after thirty seconds.
        live.until(lambda: not server.query(WAITING))


def test_a_disk_is_full(source: binarrow.Server) -> None:
    """The position is not saved, which is an error; the load continues where it was saved last."""

    full: Any = Full()
    read: dict[str, Any] = {"tables": "live.*", "chunk_rows": 500, "batch_rows": 100}
    returned: list[binarrow.ChangeBatch] = []
    with (
        pytest.raises(binarrow.CheckpointError, match="full"),
        source.stream("snapshot", checkpoint=full, **read) as changes,
    ):
        returned.extend(changes)
    stored = full.load()
    done = [index for index, batch in enumerate(returned, 1) if batch.position == stored]
    seen: Counter[Any] = Counter()
    for batch in returned[: done[0]]:
        add(seen, batch)
    with source.stream(stored, stop="end", **read) as changes:
        add_all(seen, changes)
    assert seen == ALL


def test_missing_privileges(server: Server, source: binarrow.Server) -> None:
    server.execute(
        "DROP USER IF EXISTS few@'%'",
        "CREATE USER few@'%' IDENTIFIED BY 'l1ve'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO few@'%'",
        "GRANT SELECT ON live.a TO few@'%'",
    )
    with live.reach(server, user="few") as few:
        with pytest.raises(
            binarrow.SchemaError, match=r"no table live\.b, or the user has no SELECT on it"
        ):
            next(few.stream("snapshot", tables=["live.a", "live.b"]))
        server.execute("GRANT INSERT ON live.b TO few@'%'")
        seen: Counter[Any] = Counter()
        with (
            pytest.raises(binarrow.ServerError, match=r"SELECT command denied .* table") as raised,
            few.stream("snapshot", tables="live.*", batch_rows=500) as changes,
        ):
            add_all(seen, changes)
        assert raised.value.code == 1142
        # The table before it is complete.
        assert seen == Counter({key: count for key, count in ALL.items() if key[0] == "a"})


def test_what_cannot_be_loaded(server: Server, source: binarrow.Server) -> None:
    server.execute("CREATE VIEW live.v AS SELECT * FROM live.a", "CREATE TABLE live.k (v INT)")
    with pytest.raises(binarrow.SchemaError, match=r"no table live\.v"):
        next(source.stream("snapshot", tables=["live.v"]))
    with source.stream("snapshot", stop="end", tables="live.?", exclude_tables="live.k") as changes:
        assert {batch.table for batch in changes} == {"a", "b"}
        position = changes.position
    assert position is not None
    for wrong, where in (
        ("nonsense(", "where"),
        ("no_such_column = 1", "no_such_column"),
        ("id = ?", "parameter"),
    ):
        with pytest.raises(binarrow.BinarrowError, match=where):
            next(source.stream(position.with_load("live.a", where=wrong), tables="live.*"))
    with pytest.raises(binarrow.SchemaError, match=r"no table live\.none"):
        next(source.stream(position.with_load("live.none"), tables="live.*"))
    with pytest.raises(binarrow.ConfigError, match=r"does not select live\.b"):
        next(source.stream(position.with_load("live.b"), tables="live.a"))
    with pytest.raises(binarrow.ConfigError, match="no key"):
        next(source.stream(position.with_load("live.k"), tables="live.*"))
    with pytest.raises(binarrow.ConfigError, match=r"write database\.table"):
        position.with_load("a")
    if position.gtid_set:
        with pytest.raises(binarrow.ConfigError, match="GTID set alone"):
            binarrow.Position.after_gtids(position.gtid_set).with_load("live.a")
    with source.stream("snapshot", tables="live.a", chunk_rows=100) as changes:
        inside = next(changes).position
    with pytest.raises(binarrow.ServerIdentityError):
        next(source.stream(inside.replace(server="another"), tables="live.a"))


def test_tables_are_loaded_again(server: Server, source: binarrow.Server) -> None:
    """One table that is new to a stream, and a part of another, while changes continue."""
    with source.stream("snapshot", stop="end", tables="live.a") as changes:
        for _ in changes:
            pass
        position = changes.position
    assert position is not None
    # More tables alone load nothing.
    with source.stream(position, stop="end", tables=["live.a", "live.b"]) as changes:
        assert list(changes) == []
    server.execute(
        "UPDATE live.b SET v = -v WHERE id % 2 = 0", "DELETE FROM live.b WHERE id % 10 = 1"
    )
    again = position.with_load("live.b").with_load("live.a", where="id >= 1900 -- the last")
    assert again.loading == ("live.b", "live.a")
    rows: dict[tuple[str, int], int] = {}
    inserted = Counter[str]()
    read: dict[str, Any] = {"tables": ["live.a", "live.b"], "chunk_rows": 300}

    def apply(batch: binarrow.ChangeBatch) -> None:
        for row in batch.to_pyarrow().to_pylist():
            inserted[batch.table] += row["_change_type"] == "insert"
            if row["_change_type"] in ("delete", "update_preimage"):
                rows.pop((batch.table, row["id"]), None)
            else:
                rows[batch.table, row["id"]] = row["v"]

    with source.stream(again, **read) as changes:
        for number, batch in enumerate(changes):
            apply(batch)
            if number == 4:
                server.execute(
                    "UPDATE live.b SET v = v + 1", "UPDATE live.a SET v = 7 WHERE id = 3"
                )
                break
    stored = binarrow.Position.from_json(batch.position.to_json())
    with source.stream(stored, stop="end", **read) as changes:
        for batch in changes:
            apply(batch)
        end = changes.position
    assert end is not None
    with source.stream(end, stop="end", **read) as changes:
        for batch in changes:
            apply(batch)
    wanted = {("b", key): v for key, v in server.query("SELECT id, v FROM live.b")}
    assert {key: v for key, v in rows.items() if key[0] == "b"} == wanted
    assert inserted["b"] == len(wanted)
    assert inserted["a"] == 100
    assert rows["a", 3] == 7


def test_tables_are_added_during_a_load(server: Server, source: binarrow.Server) -> None:
    # Its name begins with that of another.
    server.execute("CREATE TABLE live.ab LIKE live.a", "INSERT INTO live.ab SELECT * FROM live.a")
    seen: Counter[Any] = Counter()
    with source.stream("snapshot", tables="live.a", chunk_rows=300, batch_rows=300) as changes:
        batch = next(changes)
        add(seen, batch)
    with source.stream(batch.position, stop="end", tables=["live.a", "live.b"]) as changes:
        for batch in changes:
            add(seen, batch)
    assert seen == ALL


def test_chunks_of_skewed_and_sparse_keys(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    """Each chunk has the requested size: 99 % of the keys are in 1 % of the range, or keys are far apart."""
    dense = [*range(1_980), *range(10_000, 200_000, 9_500)]
    sparse = [2**62 // 999 * n for n in range(1000)]
    # With many rows per first column, a row comparison would read the index from its start.
    for table, keys in {"dense": dense, "sparse": sparse}.items():
        server.execute(
            f"CREATE TABLE live.{table} (a BIGINT, b BIGINT, v INT, PRIMARY KEY (a, b))",
            f"INSERT INTO live.{table} VALUES "
            + ", ".join(f"({key % 3}, {key}, 0)" for key in keys),
        )
    path = tmp_path / "load.jsonl"
    # Rows that the storage engine was asked for, by table.
    reads = (
        "SELECT SUM(COUNT_FETCH) FROM performance_schema.table_io_waits_summary_by_table"
        " WHERE OBJECT_NAME IN ('dense', 'sparse')"
    )
    server.execute("TRUNCATE performance_schema.table_io_waits_summary_by_table")
    with source.stream(
        "snapshot",
        stop="end",
        tables=["live.dense", "live.sparse"],
        chunk_rows=50,
        certificate=path,
    ) as changes:
        rows = sum(batch.num_rows for batch in changes)
    [(fetched,)] = server.query(reads)
    assert rows == len(dense) + len(sparse)
    chunks = [line["chunk"] for line in map(json.loads, path.open()) if "chunk" in line]
    for table, keys in {"dense": dense, "sparse": sparse}.items():
        sizes = [chunk["rows"] for chunk in chunks if chunk["table"] == table]
        full, rest = divmod(len(keys), 50)
        assert sizes == [50] * full + [rest], table
    # Each row is read once, and each chunk needs one read to find its first row. If each chunk read the index from its start,
    # there would be 50,000 reads.
    print(f"{fetched} reads of {rows} rows in {len(chunks)} chunks")
    assert rows <= fetched <= rows + 4 * len(chunks)


def test_locks_and_transactions_of_a_chunk(server: Server, source: binarrow.Server) -> None:
    """While rows of a chunk wait for their consumer, only its table is protected, and only from other structures."""
    server.execute(
        "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'"
        " WHERE NAME = 'wait/lock/metadata/sql/mdl'"
    )
    locks = (
        "SELECT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, LOCK_TYPE FROM performance_schema.metadata_locks l"
        " JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID"
        " WHERE t.PROCESSLIST_USER = 'live'"
    )
    seen = set()
    rows = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_locked > 0 OR trx_tables_locked > 0"
    # On a busy machine, a chunk may have been read completely before its first batch is returned.
    with source.stream("snapshot", tables="live.*", chunk_rows=200, batch_rows=20) as changes:
        for _ in range(60):
            next(changes)
            assert server.query(rows) == [(0,)]
            seen.update(server.query(locks))
        # A statement that changes rows does not wait.
        server.execute("SET lock_wait_timeout = 1", "UPDATE live.a SET v = v + 1")
    assert ("TABLE", "live", "a", "SHARED_READ") in seen
    assert {lock[3] for lock in seen} <= {"SHARED_READ", "INTENTION_EXCLUSIVE", "SHARED"}, seen


def test_a_gap_in_the_gtids(server: Server, source: binarrow.Server) -> None:
    """The positions of a user without further privileges are GTID sets; this one has gaps."""
    if server.is_mariadb:
        [(domain,)] = server.query("SELECT @@gtid_domain_id")
        gap = (
            "SET gtid_domain_id = 7",
            "SET gtid_seq_no = 900",
            "INSERT INTO live.a VALUES (-1, 0)",
        )
        after = (
            "SET gtid_seq_no = 1000",
            "INSERT INTO live.a VALUES (-2, 0)",
            f"SET gtid_domain_id = {domain}",
        )
    else:
        [(uuid,)] = server.query("SELECT @@server_uuid")
        gap = (
            f"SET gtid_next = '{uuid}:100000'",
            "INSERT INTO live.a VALUES (-1, 0)",
            "SET gtid_next = AUTOMATIC",
        )
        after = (
            f"SET gtid_next = '{uuid}:100010'",
            "INSERT INTO live.a VALUES (-2, 0)",
            "SET gtid_next = AUTOMATIC",
        )
    server.execute(
        "DROP USER IF EXISTS few@'%'",
        "CREATE USER few@'%' IDENTIFIED BY 'l1ve'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO few@'%'",
        *gap,
    )
    rows: dict[tuple[str, int], int] = {}
    read: dict[str, Any] = {"tables": "live.*", "chunk_rows": 500, "batch_rows": 250}
    with live.reach(server, user="few") as few:
        place: Any = "snapshot"
        for number in range(100):
            with few.stream(place, stop="end", **read) as changes:
                for batch in changes:
                    for row in batch.to_pyarrow().to_pylist():
                        rows[batch.table, row["id"]] = row["v"]
                    place = batch.position
                    if number < 3:
                        break
                else:
                    break
            if number == 1:
                server.execute(*after)
            server.execute(f"INSERT INTO live.b VALUES ({-1 - number}, 0)")
    wanted = {
        (table, key): v
        for table in "ab"
        for key, v in server.query(f"SELECT id, v FROM live.{table}")
    }
    assert rows == wanted


def test_a_table_without_statistics(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    """The server estimates no rows: chunks have the requested size."""
    server.execute(
        "CREATE TABLE live.unknown (id INT PRIMARY KEY, v INT) STATS_PERSISTENT=1 STATS_AUTO_RECALC=0",
        "INSERT INTO live.unknown SELECT id, v FROM live.a",
    )
    path = tmp_path / "load.jsonl"
    with source.stream(
        "snapshot", stop="end", tables="live.unknown", chunk_rows=500, certificate=path
    ) as changes:
        assert sum(batch.num_rows for batch in changes) == ROWS
    sizes = [line["chunk"]["rows"] for line in map(json.loads, path.open()) if "chunk" in line]
    assert sizes == [500, 500, 500, 500, 0]


def test_the_log_is_purged_during_a_load(server: Server, source: binarrow.Server) -> None:
    """Files of the log before the position are not needed. Without those after it, the load cannot continue."""
    if server.is_mariadb:
        # Otherwise the server keeps files until a replica is connected.
        server.execute("SET GLOBAL slave_connections_needed_for_purge = 0")
    read: dict[str, Any] = {"tables": "live.*", "chunk_rows": 200, "batch_rows": 200}
    rows: dict[tuple[str, int], int] = {}
    with source.stream("snapshot", stop="end", **read) as changes:
        for number, batch in enumerate(changes):
            for row in batch.to_pyarrow().to_pylist():
                rows[batch.table, row["id"]] = row["v"]
            if number == 2:
                early = batch.position
            if number in (3, 6, 9):
                server.execute("UPDATE live.b SET v = v + 1", "FLUSH BINARY LOGS")
                server.execute(f"PURGE BINARY LOGS TO '{batch.position.file}'")
        end = changes.position
    assert end is not None
    with source.stream(end, stop="end", **read) as changes:
        for batch in changes:
            for row in batch.to_pyarrow().to_pylist():
                rows[batch.table, row["id"]] = row["v"]
    assert {key: v for (table, key), v in rows.items() if table == "b"} == dict(
        server.query("SELECT id, v FROM live.b")
    )
    server.execute("FLUSH BINARY LOGS")

    def is_purged() -> bool:
        # The server keeps files that it still sends to a reader.
        files = [file.name for file in server.binlog_files()]
        server.execute(f"PURGE BINARY LOGS TO '{files[-1]}'")
        return early.file not in files

    live.until(is_purged)
    with pytest.raises(binarrow.PositionPurgedError, match="start again from a snapshot"):
        list(source.stream(early, stop="end", **read))


def test_the_number_of_rows_per_second(source: binarrow.Server) -> None:
    began = time.monotonic()
    with source.stream(
        "snapshot", stop="end", tables="live.a", max_rows_per_second=4 * ROWS
    ) as changes:
        assert sum(batch.num_rows for batch in changes) == ROWS
    assert time.monotonic() - began > 0.2
    began = time.monotonic()
    rows = source.read_table("live.a", max_rows_per_second=4 * ROWS, envelope=[])
    assert ROWS / 2 < rows.estimated_rows < 2 * ROWS
    assert rows.read_all().num_rows == ROWS
    assert time.monotonic() - began > 0.2
    assert ROWS < source.estimated_rows("live.a", "live.b") < 4 * ROWS
    with pytest.raises(binarrow.ConfigError, match="max_rows_per_second= must be above 0"):
        source.stream("snapshot", max_rows_per_second=0)


def test_partitions_without_events(server: Server, source: binarrow.Server) -> None:
    """TRUNCATE and EXCHANGE PARTITION change rows without events: a marker shows them, and the table can be loaded again."""
    values = ", ".join(f"({n}, {n})" for n in range(ROWS))
    server.execute(
        "CREATE TABLE live.p (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id)"
        " (PARTITION low VALUES LESS THAN (100), PARTITION middle VALUES LESS THAN (1000), PARTITION high VALUES LESS THAN MAXVALUE)",
        f"INSERT INTO live.p VALUES {values}",
        "CREATE TABLE live.other (id INT PRIMARY KEY, v INT)",
        "INSERT INTO live.other VALUES (1500, -1)",
    )
    rows: dict[int, int] = {}
    kinds = []
    read: dict[str, Any] = {"tables": "live.p", "chunk_rows": 400, "include": "schema_change"}
    with source.stream("snapshot", stop="end", **read) as changes:
        for number, item in enumerate(changes):
            if isinstance(item, binarrow.SchemaChange):
                kinds.append(item.kind)
                continue
            for row in item.to_pyarrow().to_pylist():
                rows[row["id"]] = row["v"]
            if number == 0:
                server.execute(
                    "ALTER TABLE live.p TRUNCATE PARTITION low",
                    "ALTER TABLE live.p EXCHANGE PARTITION high WITH TABLE live.other",
                )
    assert kinds == ["alter", "alter"]
    wanted = dict(server.query("SELECT id, v FROM live.p"))
    # Only rows that were read before the statement remain.
    assert {key: v for key, v in rows.items() if key >= 400} == {
        key: v for key, v in wanted.items() if key >= 400
    }


def test_tail_shows_the_progress_of_a_load(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    """On a terminal, while the rows go to a file."""
    terminal, its_end = pty.openpty()
    url = f"mysql://live@127.0.0.1:{server.port}/?allow_public_key_retrieval=true"
    arguments = ["tail", url, "--start", "snapshot", "--stop", "end", "--tables", "live.*"]
    own = ["--max-rows-per-second", str(ROWS), "--certificate", str(tmp_path / "load.jsonl")]
    with (tmp_path / "rows").open("wb") as rows:
        process = subprocess.Popen(
            [sys.executable, "-m", "binarrow", *arguments, *own],
            stdout=rows,
            stderr=its_end,
            env={**os.environ, "MYSQL_PWD": "l1ve", "TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(its_end)
        shown = b""
        with contextlib.suppress(OSError):  # the process has ended
            while piece := os.read(terminal, 4096):
                shown += piece
        assert process.wait(30) == 0, shown
    os.close(terminal)
    assert re.search(rb"[1-9][\d,]* of about [\d,]+ rows.* [\d,]+ rows/s", shown), shown
    assert (tmp_path / "rows").read_bytes().count(b"live.") == 2 * ROWS
    ran = subprocess.run(
        [sys.executable, "-m", "binarrow", "load", "check", str(tmp_path / "load.jsonl"), url],
        env={**os.environ, "MYSQL_PWD": "l1ve"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.count("the rows of all chunks are those of the server") == 2, ran.stdout


def test_a_table_is_dropped_while_it_is_loaded_again(
    server: Server, source: binarrow.Server
) -> None:
    """The rows of the other tables of the stream are not loaded."""
    with source.stream("snapshot", stop="end", tables="live.a") as changes:
        for _ in changes:
            pass
        position = changes.position
    assert position is not None
    read: dict[str, Any] = {"tables": "live.*", "chunk_rows": 300, "batch_rows": 300}
    with source.stream(position.with_load("live.b"), **read) as changes:
        first = next(changes)
    assert first.table == "b"
    server.execute("DROP TABLE live.b")
    stored = binarrow.Position.from_json(first.position.to_json())
    with source.stream(stored, stop="end", **read) as changes:
        assert {batch.table for batch in changes} <= {"b"}
        assert changes.position is not None
        assert changes.position.loading is None
