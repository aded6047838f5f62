"""The plan of existing rows, driven as Spark drives it: statements, crashes and failovers between any two of its calls.

All runs end with the rows of the table, and none with a stale row.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxFiles, ReadMaxRows

from binarrow import BinarrowError
from binarrow.spark.datasource import BinarrowDataSource
from binarrow.spark.live.stream_reader import LiveStreamReader
from support import live
from support.servers.servers import Server

ROWS = 60
DIGITS = " UNION ALL SELECT ".join(map(str, range(10)))
FILL = f"INSERT INTO live.o SELECT a.d * 10 + b.d + 1, 0 FROM (SELECT {DIGITS.replace('0', '0 d', 1)}) a, (SELECT {DIGITS.replace('0', '0 d', 1)}) b WHERE a.d < 6"
FEW, ALL = ReadMaxRows(20), ReadMaxFiles(2)

# A table with other rows gets the name. The time of creation has no fractions of seconds.
OTHER = [
    "CREATE TABLE live.o2 (id INT PRIMARY KEY, v INT)",
    "INSERT INTO live.o2 SELECT id, -7 FROM live.o",
]
SWAP = "RENAME TABLE live.o TO live.gone, live.o2 TO live.o"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with live.server("mysql") as started:
        started.execute("GRANT SELECT ON live.* TO live@'%'")
        yield started


class Query:
    """A query whose offsets are stored, and whose process may end at any time."""

    def __init__(self, server: Server, folder: Path, **more: str) -> None:
        server.execute(
            "DROP TABLE IF EXISTS live.o, live.o2, live.ox, live.gone",
            "CREATE TABLE live.o (id INT PRIMARY KEY, v INT)",
            FILL,
            "DO SLEEP(1.1)",
        )
        self.server = server
        self.options = {
            "url": f"mysql://live@127.0.0.1:{server.port}/?allow_public_key_retrieval=true",
            "password": str(live.USER["password"]),
            "table": "live.o",
            "startingOffsets": "snapshot",
            "snapshotStateFile": str(folder / "rows"),
            "chunkRows": "10",
            "numPartitions": "2",
            "truncates": "skip",
            "reconnect": "5",
            **more,
        }
        if "tables" in more:
            del self.options["table"]
        self.rows: list[dict[str, Any]] = []
        self.reader = self.restarted()
        self.offset = self.reader.initialOffset()
        self.batches = 0

    def restarted(self) -> LiveStreamReader:
        """Another process of the same query."""
        source = BinarrowDataSource(self.options)
        self.reader = source.streamReader(source.schema())
        return self.reader

    def batch(self, limit: Any = FEW) -> bool:
        """Runs a batch; False if there is none."""
        end = self.reader.latestOffset(self.offset, limit)
        if end == self.offset:
            return False
        self.read(end)
        return True

    def read(self, end: dict[str, Any]) -> None:
        found = [
            row
            for part in self.reader.partitions(self.offset, end)
            for batch in self.reader.read(part)
            for row in batch.to_pylist()
        ]
        self.rows += found
        self.offset = end
        self.batches += 1
        assert self.batches < 100

    def finish(self, limit: Any = FEW) -> None:
        """Runs all batches until nothing is new."""
        while self.batch(limit):
            self.reader._planner.log.new_head()
        self.reader._planner.log.new_head()
        while self.batch(limit):
            pass
        assert "chunks" not in self.offset

    def mirror(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for row in sorted(
            self.rows, key=lambda row: (row["_commit_version"], row["_change_ordinal"])
        ):
            if row["_change_type"] in ("insert", "update_postimage"):
                found[row["id"]] = row["v"]
            else:
                found.pop(row["id"], None)
        return found

    def table(self) -> dict[int, int]:
        return {
            int(str(key)): int(str(v)) for key, v in self.server.query("SELECT id, v FROM live.o")
        }

    def assert_is_table(self) -> None:
        assert self.mirror() == self.table()


@pytest.fixture
def query(server: Server, tmp_path: Path) -> Query:
    return Query(server, tmp_path)


def test_a_table_is_replaced_far_ahead(query: Query) -> None:
    """The log between the batch and the statement needs several batches."""
    query.batch()
    query.server.execute(
        *(f"UPDATE live.o SET v = {1000 + n} WHERE id = {n}" for n in range(1, 50))
    )
    query.server.execute(*OTHER, SWAP)
    query.finish()
    query.assert_is_table()


def test_a_table_is_replaced_just_after_the_end_was_asked_for(query: Query) -> None:
    query.batch()
    query.server.execute(*OTHER)
    query.reader._planner.log.new_head()
    query.server.execute("UPDATE live.o SET v = 5", SWAP)
    query.finish(ALL)
    query.assert_is_table()


def test_a_crash_after_the_state_is_stored(query: Query) -> None:
    query.batch()
    query.server.execute("UPDATE live.o SET v = 5", *OTHER, SWAP)
    query.reader.latestOffset(query.offset, ALL)  # its offset is not stored
    query.restarted()
    query.finish(ALL)
    query.assert_is_table()


def test_a_batch_is_repeated_after_a_table_was_replaced(query: Query) -> None:
    query.batch()
    end = query.reader.latestOffset(query.offset, FEW)  # its offset is stored
    query.server.execute("UPDATE live.o SET v = 5", *OTHER, SWAP)
    query.restarted()
    query.read(end)
    query.finish()
    query.assert_is_table()


def test_a_table_is_away_for_a_batch(query: Query) -> None:
    query.batch()
    end = query.reader.latestOffset(query.offset, FEW)
    query.server.execute("RENAME TABLE live.o TO live.gone")
    query.read(end)
    query.server.execute("RENAME TABLE live.gone TO live.o")
    query.finish()
    query.assert_is_table()


def test_a_table_is_away_while_a_task_reads(query: Query) -> None:
    """The task fails, and the batch is repeated."""
    query.batch()
    end = query.reader.latestOffset(query.offset, FEW)
    parts = query.reader.partitions(query.offset, end)
    query.server.execute("RENAME TABLE live.o TO live.gone")
    with pytest.raises(BinarrowError, match=r"no table live\.o"):
        [list(query.reader.read(part)) for part in parts]
    query.server.execute("RENAME TABLE live.gone TO live.o")
    query.restarted()
    query.read(end)
    query.finish()
    query.assert_is_table()


def test_a_privilege_is_missing_for_a_batch(query: Query) -> None:
    """An error, and not the end of the table's rows."""
    query.batch()
    end = query.reader.latestOffset(query.offset, FEW)
    query.server.execute("REVOKE SELECT ON live.* FROM live@'%'")
    try:
        with pytest.raises(BinarrowError, match="SELECT"):
            query.read(end)
    finally:
        query.server.execute("GRANT SELECT ON live.* TO live@'%'")
    query.restarted()
    query.read(end)
    query.finish()
    query.assert_is_table()


def test_the_key_is_changed(query: Query) -> None:
    query.batch()
    end = query.reader.latestOffset(query.offset, FEW)
    parts = query.reader.partitions(query.offset, end)
    query.server.execute("ALTER TABLE live.o MODIFY id BIGINT")
    with pytest.raises(BinarrowError, match="start the query again"):
        [list(query.reader.read(part)) for part in parts]
    query.server.execute("ALTER TABLE live.o MODIFY id INT")
    query.restarted()
    query.read(end)
    query.finish()
    query.assert_is_table()


def of_another_server(offset: dict[str, Any]) -> dict[str, Any]:
    return {**offset, "server": "00000000-e724-11f1-a09f-02fc00000001"}


def test_a_failover(query: Query) -> None:
    """The batch in flight is repeated on the other server."""
    query.batch()
    query.server.execute("UPDATE live.o SET v = 3 WHERE id = 3")
    end = of_another_server(query.reader.latestOffset(query.offset, FEW))
    query.offset = of_another_server(query.offset)
    state = Path(query.options["snapshotStateFile"])
    state.write_text(state.read_text().replace(query.reader._planner.log.server, end["server"]))
    query.restarted()
    query.read(end)
    query.finish()
    query.assert_is_table()


def test_a_statement_that_is_not_logged(query: Query) -> None:
    """The query does not end before all rows are read."""
    query.batch()
    with_no_log = query.server.connect()
    with_no_log.execute("SET sql_log_bin = 0", "ALTER TABLE live.o ENGINE = InnoDB")
    query.finish()
    query.assert_is_table()


def test_a_table_is_created_before_the_first_batch(server: Server, tmp_path: Path) -> None:
    """A process ended before its first offset was stored."""
    query = Query(server, tmp_path, tables="live.o*", layout="nested-json")
    server.execute(
        "CREATE TABLE live.ox (id INT PRIMARY KEY)", "INSERT INTO live.ox VALUES (1), (2)"
    )
    query.restarted()
    query.offset = query.reader.initialOffset()
    query.finish()
    assert {row["_table"] for row in query.rows} == {"o", "ox"}


def test_the_first_batch_is_repeated_with_another_division(query: Query) -> None:
    end = query.reader.latestOffset(query.offset, ALL)  # its offset is stored
    query.server.execute("UPDATE live.o SET v = 5")
    query.options["chunkRows"] = "30"
    query.restarted()
    assert query.reader.initialOffset()["chunks"] == 0
    query.read(end)
    query.finish(ALL)
    query.assert_is_table()


def test_a_dropped_table_in_a_batch_that_is_repeated(server: Server, tmp_path: Path) -> None:
    query = Query(server, tmp_path, tables="live.o*", layout="nested-json")
    server.execute(
        "CREATE TABLE live.ox (id INT PRIMARY KEY)", "INSERT INTO live.ox VALUES (1), (2)"
    )
    query.restarted()
    query.offset = query.reader.initialOffset()
    query.batch()
    end = query.reader.latestOffset(query.offset, ALL)
    server.execute("DROP TABLE live.ox", *OTHER, SWAP)
    query.restarted()
    query.read(end)
    query.finish(ALL)
    last = [row for row in query.rows if row["_table"] == "o"]
    latest = {row["after"]: row for row in last}
    assert sum('"v":-7' in str(text) for text in latest) == ROWS


def test_a_table_is_replaced_after_a_failover(query: Query) -> None:
    """Positions on the new server are shifted, so that versions grow."""
    query.batch()
    before = json.loads(json.dumps(query.offset))
    query.offset = {**before, "version_shift": 7}
    query.server.execute("UPDATE live.o SET v = 5", *OTHER, SWAP)
    query.finish(ALL)
    query.assert_is_table()


def test_a_load_in_one_batch(query: Query, caplog: pytest.LogCaptureFixture) -> None:
    """Spark before 4.2: the end of the load finds a table that was replaced, and so does each restart."""
    caplog.set_level(logging.ERROR)
    end = query.reader.latestOffset()
    query.read(end)
    query.reader.commit(end)
    query.assert_is_table()
    query.server.execute("ALTER TABLE live.o ENGINE = InnoDB")
    query.reader.commit(query.reader.latestOffset())


def test_a_table_is_replaced_in_one_batch(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binarrow.spark.live.stream_reader.IS_LIMITED", False)
    query.restarted()
    end = query.reader.latestOffset()
    query.read(end)
    query.server.execute(*OTHER, SWAP)
    with pytest.raises(BinarrowError, match="start the query with a new checkpoint"):
        query.reader.commit(end)
    for _ in range(2):
        with pytest.raises(BinarrowError, match="start the query with a new checkpoint"):
            query.restarted().latestOffset()


def test_a_table_is_replaced_before_the_only_batch(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binarrow.spark.live.stream_reader.IS_LIMITED", False)
    query.restarted()
    end = query.reader.latestOffset()
    query.server.execute("UPDATE live.o SET v = 5", *OTHER, SWAP)
    with pytest.raises(BinarrowError, match="start the query with a new checkpoint"):
        query.read(end)


def test_the_state_of_a_complete_load(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new checkpoint needs another file."""
    monkeypatch.setattr("binarrow.spark.live.stream_reader.IS_LIMITED", False)
    query.restarted()
    end = query.reader.latestOffset()
    query.read(end)
    query.reader.commit(end)
    query.assert_is_table()
    query.restarted()
    query.offset = query.reader.initialOffset()
    with pytest.raises(BinarrowError, match="name another file"):
        query.read(query.reader.latestOffset())
