"""A streaming query whose driver is killed: no change is missing, none comes twice, the mirror is right.

BINARROW_KILLS=20 kills it so often, at random moments; with BINARROW_LAKE=delta the mirror is one of Delta
(`make test-lakes` installs it), else of Parquet.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binarrow import Position
from support import live
from support.extent import rounds
from support.servers.servers import Server
from support.waiting import pause_at_random, until
from support.workloads.spark_load import GRANT, ORDERS, TABLE, Load, selected

KILLS = rounds("BINARROW_KILLS", 1, 1)
KIND = os.environ.get("BINARROW_LAKE", "parquet")
PYTHON = (
    sys.executable
    if KIND == "parquet"
    else str(Path(__file__).parents[2] / ".venv" / "spark-4.2" / "bin" / "python")
)
STARTED = 120.0
"""Seconds within which Spark is up and the query begins."""
CAUGHT_UP = STARTED + 60 * KILLS
LONGEST = 15.0
"""Seconds for which a query runs until it is killed, at most."""


class Query:
    """The script `spark_query.py`, and what it printed."""

    def __init__(self, folder: Path, server: Server, *flags: str) -> None:
        options = {
            "host": "127.0.0.1",
            "port": str(server.port),
            "user": "live",
            "password": live.USER["password"],
            "allowPublicKeyRetrieval": "true",
            "table": TABLE,
            "startingOffsets": "latest",
        }
        script = Path(__file__).parents[1] / "support" / "workloads" / "spark_query.py"
        self._log = (folder / "stderr.txt").open("a")
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [PYTHON, str(script), str(folder), KIND, json.dumps(options), *flags],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={
                **os.environ,
                "PYSPARK_PYTHON": PYTHON,
                "PYSPARK_DRIVER_PYTHON": PYTHON,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_CONF_DIR": str(Path(__file__).parents[1] / "spark" / "conf"),
            },
            start_new_session=True,  # its JVM and the JVM's workers are killed with it
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def batches(self) -> int:
        return sum(line.startswith("batch") for line in self.lines)

    def until_started(self) -> None:
        until(lambda: "started" in self.lines or self.process.poll() is not None, STARTED)
        assert self.process.poll() is None

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.ended()

    def ended(self, seconds: float = STARTED) -> int:
        code = self.process.wait(seconds)
        self._reader.join(STARTED)
        self._log.close()
        return code


@contextmanager
def killed_at_last(query: Query) -> Iterator[Query]:
    try:
        yield query
    finally:
        if query.process.poll() is None:
            query.kill()


def anchor(folder: Path) -> Position:
    """The start of the query, from its checkpoint."""
    lines = (folder / "checkpoint" / "offsets" / "0").read_text().splitlines()
    [offset] = [json.loads(line) for line in lines if '"from"' in line]
    position = {key: value for key, value in offset["from"].items() if key != "offset_version"}
    return Position.from_json(json.dumps(position))


def raw(folder: Path, schema: pa.Schema) -> pa.Table:
    """All that the raw log holds, in the order of changes."""
    files = sorted((folder / "raw").glob("batch=*/*.parquet"))
    tables = [pq.read_table(file, partitioning=None).cast(schema) for file in files]
    return in_order(pa.concat_tables(tables))


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([("_commit_version", "ascending"), ("_change_ordinal", "ascending")])


def serial(server: Server, start: Position, stop: Position) -> pa.Table:
    """The rows of a plain reader."""
    with live.reach(server) as connection:
        stream = connection.stream(start, stop=stop, types="spark")
        with stream, stream.table(TABLE) as changes:
            table = pa.table(changes)
    return in_order(table.replace_schema_metadata().cast(plain(table.schema)))


def plain(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, field.type) for field in schema])


def mirrored(folder: Path) -> list[tuple[Any, ...]]:
    """The mirror, in the order of its keys."""
    rows = pq.read_table(folder / "mirrored").to_pylist()
    return sorted(tuple(row.values()) for row in rows)


@pytest.mark.thorough(
    by="test_spark_stream.py::test_a_crash_before_the_first_commit_loses_nothing, test_a_batch_is_played_again_as_it_was"
)
def test_killed_at_random_moments(tmp_path: Path) -> None:
    rng = random.Random(KILLS)
    with live.server("mysql") as server:
        server.execute(ORDERS, GRANT)
        # The first batch is written and not committed; the query began before anything happened.
        with killed_at_last(Query(tmp_path, server, "--crash")) as first:
            assert first.ended() == -signal.SIGKILL
        assert not list((tmp_path / "checkpoint").glob("commits/*"))
        with Load(server, pause=0.002) as load:
            until(lambda: load.transactions > 100)
            for _ in range(KILLS - 1):
                with killed_at_last(Query(tmp_path, server)) as query:
                    query.until_started()
                    pause_at_random(rng, LONGEST)
                    assert query.process.poll() is None
            until(lambda: load.transactions > 300)
        with live.reach(server) as connection:
            end = connection.position()
        with killed_at_last(Query(tmp_path, server, "--once")) as last:
            assert last.ended(CAUGHT_UP) == 0
            assert last.batches() > 0
        expected = serial(server, anchor(tmp_path), end)
        assert expected.num_rows > 300
        found = raw(tmp_path, expected.schema)
        assert found.num_rows == expected.num_rows
        assert found.equals(expected)
        assert mirrored(tmp_path) == selected(server)
        print(
            f"\n{KIND}: {KILLS} kills, {load.transactions} transactions, {expected.num_rows} changes"
        )
