"""A consumer that is killed, again and again, and continues from its checkpoint."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import FileCheckpoint
from support import live
from support.logged import database
from support.servers.servers import Server
from support.waiting import WAIT, until

KILLS = 8
TRANSACTIONS = 500

CONSUMER = """
import json, os, sys
import binarrow

port, checkpoint, output = sys.argv[1:]
file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
server = binarrow.connect(
    host="127.0.0.1", port=int(port), user="kept", password="k3pt", allow_public_key_retrieval=True
)
checkpoint = binarrow.FileCheckpoint(checkpoint, interval=0.03)
with server.stream("latest", checkpoint=checkpoint, tables=["kept.t", "kept.mark"], batch_rows=20) as changes:
    changes.start()
    os.write(file, b"started\\n")
    for change in changes:
        if change.table == "mark":
            os.write(file, b"end\\n")
            break
        columns = change.to_pyarrow().select(["_commit_version", "_change_ordinal", "id", "_change_type"])
        rows = list(zip(*columns.to_pydict().values()))
        os.write(file, json.dumps(rows).encode() + b"\\n")
"""


pytestmark = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)


@pytest.fixture
def kept(server: Server) -> Iterator[Server]:
    with database(server, "kept"):
        server.execute(
            "CREATE USER kept@'%' IDENTIFIED BY 'k3pt'",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO kept@'%'",
            "CREATE TABLE t (id INT PRIMARY KEY, filler VARCHAR(200))",
            "CREATE TABLE other (id INT PRIMARY KEY)",
            "CREATE TABLE mark (id INT PRIMARY KEY)",
        )
        yield server
        server.execute("DROP USER kept@'%'")


class Consumer:
    """A process that streams to a file of its own."""

    def __init__(self, server: Server, checkpoint: Path, output: Path) -> None:
        self._output = output
        arguments = [str(server.port), str(checkpoint), str(output)]
        self._process = subprocess.Popen([sys.executable, "-c", CONSUMER, *arguments])
        until(self.lines)

    def lines(self) -> list[str]:
        return self._output.read_text().splitlines() if self._output.exists() else []

    def batches(self) -> list[list[list[Any]]]:
        return [json.loads(line) for line in self.lines() if line.startswith("[")]

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def wait(self) -> None:
        assert self._process.wait(WAIT) == 0
        assert self.lines()[-1] == "end"


def test_a_consumer_that_is_killed_misses_nothing(kept: Server, tmp_path: Path) -> None:
    rng = random.Random(kept.flavor)
    checkpoint = tmp_path / "pos.json"
    consumers = [Consumer(kept, checkpoint, tmp_path / "0")]
    session = kept.connect(database="kept")
    number = 0
    for transaction in range(TRANSACTIONS):
        session.execute("BEGIN")
        for _ in range(rng.randrange(1, 40)):
            number += 1
            session.execute(f"INSERT INTO t VALUES ({number}, REPEAT('x', {rng.randrange(200)}))")
            if rng.random() < 0.1:
                session.execute(f"INSERT INTO other VALUES ({number})")
        session.execute(f"DELETE FROM t WHERE id = {rng.randrange(1, number + 1)}", "COMMIT")
        if transaction % (TRANSACTIONS // KILLS) == 30:
            consumers[-1].kill()
            consumers.append(Consumer(kept, checkpoint, tmp_path / str(len(consumers))))
    session.execute("INSERT INTO mark VALUES (1)")
    session.close()
    consumers[-1].wait()
    assert len(consumers) == KILLS + 1

    # Within a run in order and once; a run begins at or before where the one before it was killed.
    seen: dict[tuple[int, int], list[Any]] = {}
    again = 0
    for consumer in consumers:
        rows = [row for batch in consumer.batches() for row in batch]
        keys = [(row[0], row[1]) for row in rows]
        assert keys == sorted(set(keys))
        known = [key for key in keys if key in seen]
        assert keys[: len(known)] == known  # repeated rows come first: a replay without gaps
        if known:
            before = sorted(seen)
            at = before.index(known[0])
            assert known == before[at : at + len(known)]
            assert len(known) == len(keys) or known[-1] == before[-1]
        assert all(seen[key] == row for key, row in zip(keys, rows, strict=True) if key in seen)
        again += len(known)
        seen |= dict(zip(keys, rows, strict=True))
    print(f"\n{len(seen)} rows, {again} again, {KILLS} kills")
    table = set()
    for key in sorted(seen):
        _, _, row, kind = seen[key]
        (table.add if kind == "insert" else table.remove)(row)
    assert table == {row[0] for row in kept.query("SELECT id FROM kept.t")}
    inserted = [row[2] for row in seen.values() if row[3] == "insert"]
    assert sorted(inserted) == list(range(1, number + 1))


def test_latest_means_one_place(kept: Server, tmp_path: Path) -> None:
    """Killed before the first row: what comes then is not passed over."""
    consumer = Consumer(kept, tmp_path / "pos.json", tmp_path / "0")
    consumer.kill()
    kept.execute("INSERT INTO kept.t VALUES (7, '')", "INSERT INTO kept.mark VALUES (1)")
    consumer = Consumer(kept, tmp_path / "pos.json", tmp_path / "1")
    consumer.wait()
    assert [[row[2] for row in batch] for batch in consumer.batches()] == [[7]]


def reach(server: Server) -> binarrow.Server:
    return binarrow.connect(
        host="127.0.0.1",
        port=server.port,
        user="kept",
        password="k3pt",
        allow_public_key_retrieval=True,
    )


def test_it_moves_on_where_no_row_comes(kept: Server, tmp_path: Path) -> None:
    """Over tables that are left out, statements, and new files: the old ones may be purged."""
    checkpoint = FileCheckpoint(tmp_path / "pos.json", interval=0)
    with reach(kept) as connection:
        changes = connection.stream("latest", checkpoint=checkpoint, tables="kept.t")
        assert changes.position is None
        changes.start()
        assert checkpoint.load() == connection.position()
        for statements in (
            ["INSERT INTO kept.other VALUES (1)"],
            ["CREATE TABLE kept.more (id INT PRIMARY KEY)"],
            ["FLUSH BINARY LOGS"],
            ["INSERT INTO kept.other VALUES (2)", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS"],
        ):
            kept.execute(*statements)
            now = connection.position()

            def is_saved(now: binarrow.Position = now) -> bool:
                assert changes.poll(0.02) is None
                saved = checkpoint.load()
                assert saved is not None
                # MariaDB notes a moment later that files before this one are no longer needed.
                return saved.file == now.file and saved.offset >= now.offset

            until(is_saved, shown=checkpoint.load)
        changes.close()

        def is_purged() -> bool:
            kept.execute(f"PURGE BINARY LOGS TO '{now.file}'")
            return connection.binlogs()[0].name == now.file

        until(is_purged)  # some files are in use for a moment more
        kept.execute("INSERT INTO kept.t VALUES (1, '')")
        with connection.stream(checkpoint=checkpoint, tables="kept.t", stop="end") as changes:
            assert [change.num_rows for change in changes] == [1]


def test_a_checkpoint_of_another_server(kept: Server, tmp_path: Path) -> None:
    checkpoint = FileCheckpoint(tmp_path / "pos.json")
    with reach(kept) as connection:
        checkpoint.save(live.of_another_server(connection.position()))
        with pytest.raises(binarrow.ServerIdentityError) as caught:
            next(connection.stream("earliest", checkpoint=checkpoint, stop="end"))
        assert any("pos.json" in note for note in caught.value.__notes__)
        checkpoint.path.write_text("{")
        with pytest.raises(binarrow.CheckpointError, match="incomplete"):
            connection.stream("earliest", checkpoint=checkpoint)


def test_ctrl_c_while_it_waits(kept: Server, tmp_path: Path) -> None:
    """Changes that were processed are saved, however long the interval is; others are not."""
    program = """
import sys, binarrow
server = binarrow.connect(
    host="127.0.0.1", port=int(sys.argv[1]), user="kept", password="k3pt", allow_public_key_retrieval=True
)
checkpoint = binarrow.FileCheckpoint(sys.argv[2], interval=3600)
with server.stream("latest", checkpoint=checkpoint, tables="kept.t", heartbeat=600) as changes:
    changes.start()
    print("started", flush=True)
    for change in changes:
        print(change.position, flush=True)
"""
    path = tmp_path / "pos.json"
    done = live.interrupted(
        program,
        str(kept.port),
        str(path),
        change=lambda: kept.execute("INSERT INTO kept.t VALUES (1, '')"),
    )
    assert str(FileCheckpoint(path).load()) == done


def test_arguments_of_a_wrong_kind(kept: Server) -> None:
    with reach(kept) as connection:
        with pytest.raises(TypeError, match="pass FileCheckpoint"):
            connection.stream(checkpoint="pos.json")  # type: ignore[arg-type]
        with pytest.raises(
            TypeError, match=r"stream\(\) got an unexpected keyword argument 'table'"
        ):
            connection.stream(table="kept.t")
        with pytest.raises(binarrow.ConfigError, match="is not a place in the log"):
            connection.stream("newest")
