"""Spark streams from live servers: batches, restarts, lost logs, failover, changes of tables."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import binarrow
from binarrow.spark import register
from support import live
from support.servers import replicas
from support.servers.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

PASSWORD = "l1ve"
FILES = 6
WAIT = 60.0


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    register(spark)
    return spark


@pytest.fixture(scope="module")
def mysql() -> Iterator[Server]:
    """One whose log names columns, with a user who may see the tables."""
    with live.server("mysql") as started:
        started.execute("GRANT SELECT ON live.* TO live@'%'")
        yield started


def options(server: Server, **more: Any) -> dict[str, str]:
    own = {
        "host": "127.0.0.1",
        "port": server.port,
        "user": "live",
        "password": PASSWORD,
        "allowPublicKeyRetrieval": "true",
        "table": "live.t",
        "reconnect": "20",
        **more,
    }
    return {key: str(value) for key, value in own.items()}


class Query:
    """A query with a checkpoint, started again as often as a test needs, and its rows."""

    def __init__(self, session: SparkSession, server: Server, folder: Path, **more: Any) -> None:
        self.session = session
        self.options = options(server, **more)
        self.checkpoint = folder / "checkpoint"
        self.batches: dict[int, list[Any]] = {}
        self.partitions: list[int] = []
        self.fail: Callable[[int], bool] = lambda _: False
        self.schema: str | None = None

    def start(self, **trigger: Any) -> StreamingQuery:
        reader = self.session.readStream.format("binarrow").options(**self.options)
        frame = (reader.schema(self.schema) if self.schema else reader).load()
        writer = frame.writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(**(trigger or {"availableNow": True})).start()

    def run(self) -> StreamingQuery:
        """Up to what is there now."""
        query = self.start()
        assert query.awaitTermination(120)
        return query

    def fails(self, **trigger: Any) -> str:
        """The error that ends a query."""
        from pyspark.errors import StreamingQueryException

        with pytest.raises(StreamingQueryException) as error:
            self.start(**trigger).awaitTermination(120)
        return str(error.value)

    def rows(self) -> list[Any]:
        return [row for _, rows in sorted(self.batches.items()) for row in rows]

    def ids(self) -> list[int]:
        return [int(row["id"]) for row in self.rows()]

    def _take(self, frame: DataFrame, batch: int) -> None:
        self.partitions.append(frame.rdd.getNumPartitions())
        rows = frame.collect()
        if self.fail(batch):
            raise RuntimeError("the sink fails")
        self.batches[batch] = rows


def insert(server: Server, *numbers: int) -> None:
    live.insert(server, *numbers)


def here(server: Server) -> str:
    """The end of its log, for `startingOffsets`."""
    with live.reach(server) as connection:
        return connection.position().to_json()


COLUMNS = ("id", "note", "_change_type", "_commit_version", "_change_ordinal")


def plain(rows: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in COLUMNS) for row in rows]


def serial(server: Server, start: str) -> list[tuple[Any, ...]]:
    """The rows that one reader gets, in order."""
    first = binarrow.Position.from_json(start)
    with live.reach(server) as connection:
        stream = connection.stream(first, stop="end", tables="live.t", types="spark")
        with stream.table("live.t") as rows:
            return plain([row for batch in rows for row in batch.to_pylist()])


def write_files(server: Server, base: int) -> None:
    """Several files with changes of all kinds, in transactions of one row and of many."""
    for number in range(base, base + FILES * 100, 100):
        many = ", ".join(f"({number + place}, 'm')" for place in range(10, 40))
        insert(server, number, number + 1, number + 2)
        server.execute(
            f"INSERT INTO live.t VALUES {many}",
            f"UPDATE live.t SET note = 'changed' WHERE id BETWEEN {number} AND {number + 11}",
            f"INSERT INTO live.mark VALUES ({number})",
            f"UPDATE live.t SET id = id + 50 WHERE id = {number + 1}",
            f"DELETE FROM live.t WHERE id = {number + 2}",
            "FLUSH BINARY LOGS",
        )
    insert(server, base + 99)


@pytest.mark.thorough(by="test_spark_catch_up.py::test_twenty_files")
@pytest.mark.parametrize("flavor", ["mysql", "mariadb-11.8"])
def test_catching_up(
    session: SparkSession, flavor: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Many batches and tasks give what one reader gives, and no transaction is split."""
    server = request.getfixturevalue(flavor.partition("-")[0])
    start = here(server)
    live.later_second(server)
    write_files(server, 10_000)
    expected = serial(server, start)
    assert len(expected) == FILES * (3 + 30 + 2 * 5 + 2 + 1) + 1

    limits: list[dict[str, Any]] = [
        {"numPartitions": 2},
        {"maxBytesPerTrigger": "2500b"},
        {"maxRowsPerTrigger": 100, "numPartitions": 1},
    ]
    for limit in limits:
        query = Query(session, server, tmp_path / next(iter(limit)), startingOffsets=start, **limit)
        done = query.run()
        assert plain(query.rows()) == expected, limit
        assert len(query.batches) >= FILES // 2, limit
        versions = [{row["_commit_version"] for row in rows} for rows in query.batches.values()]
        assert sum(map(len, versions)) == len(set().union(*versions)), limit
        assert max(query.partitions) == (1 if "maxRowsPerTrigger" in limit else 2), limit
        if "maxRowsPerTrigger" in limit:
            assert max(map(len, query.batches.values())) <= 100
        progress = json.loads(done.lastProgress.json)["sources"][0]
        assert progress["latestOffset"]["file"] == progress["endOffset"]["file"]
        assert PASSWORD not in done.lastProgress.json

    def batch(**more: Any) -> list[tuple[Any, ...]]:
        own = options(server, **{"startingOffsets": start, **more})
        frame = session.read.format("binarrow").options(**own).load()
        assert PASSWORD not in frame._jdf.queryExecution().toString()
        return plain(frame.collect())

    assert batch(numPartitions=3) == expected
    # Offsets in a query's progress, and their places in the log.
    middle = next(iter(done.recentProgress)).sources[0].endOffset
    cut = [row for row in expected if row in plain(query.batches[0])]
    assert 0 < len(cut) < len(expected)
    assert batch(endingOffsets=middle) == cut
    assert batch(startingOffsets=middle) == expected[len(cut) :]
    gtids = json.loads(middle)["gtid_set"]
    assert batch(startingOffsets=f"gtid:{gtids}") == expected[len(cut) :]
    # A Position of a GTID set alone means the same, also if the set has a later transaction too.
    sets = [gtids]
    if ":" in gtids:
        sets.append(f"{gtids}:{int(gtids.rpartition('-')[2]) + 2}")
    for given in sets:
        alone = {**json.loads(middle), "file": "", "offset": 0, "gtid_set": given}
        alone = {key: alone[key] for key in json.loads(binarrow.Position("b.000001", 4).to_json())}
        rest = batch(startingOffsets=f"gtid:{given}")
        assert batch(startingOffsets=json.dumps(alone)) == rest
        assert rest == [row for row in expected[len(cut) :] if row in rest]
    first = int(time.time() * 1000) - 600_000
    assert batch(startingOffsets="earliest")[-len(expected) :] == expected
    assert batch(startingOffsets="earliest", endingTimestamp=first) == []
    since = session.read.format("binarrow").options(**options(server)).load().collect()
    begun = next(row for row in since if plain([row]) == expected[:1])["_commit_timestamp"]
    assert batch(startingOffsets=begun.isoformat() + "+00:00") == expected


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    """A server of MariaDB whose account may read the tables."""
    with live.server("mariadb-11.8") as started:
        started.execute("GRANT SELECT ON live.* TO live@'%'")
        yield started


def test_a_crash_before_the_first_commit_loses_nothing(
    session: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    query = Query(session, mysql, tmp_path, startingOffsets="latest")
    query.fail = lambda _: True
    for first in (20_000, 20_010):
        # What comes now is after "latest" of the first start, whatever "latest" means later.
        assert "the sink fails" in query.fails()
        insert(mysql, first, first + 1)
    assert query.batches == {}
    query.fail = lambda _: False
    query.run()
    assert query.ids() == [20_000, 20_001, 20_010, 20_011]
    query.run()  # nothing is new
    assert query.ids() == [20_000, 20_001, 20_010, 20_011]


def test_a_batch_is_played_again_as_it_was(
    session: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    query = Query(session, mysql, tmp_path, startingOffsets=here(mysql))
    insert(mysql, 21_000, 21_001)
    query.run()
    insert(mysql, 21_002, 21_003)
    query.fail = lambda batch: batch == 1
    query.fails()
    insert(mysql, 21_004)
    mysql.flush_binlog()
    insert(mysql, 21_005)
    query.fail = lambda _: False
    query.options["maxBytesPerTrigger"] = "1"
    query.run()
    assert [[int(row["id"]) for row in rows] for rows in query.batches.values()] == [
        [21_000, 21_001],
        [21_002, 21_003],
        [21_004],
        [21_005],
    ]


def test_lost_logs(session: SparkSession, tmp_path: Path) -> None:
    """Purged, and reset: an error that says what to do, or the rest with a warning."""
    with live.server("mysql") as server:
        server.execute("GRANT SELECT ON live.* TO live@'%'")
        query = Query(session, server, tmp_path, startingOffsets=here(server))
        insert(server, 1, 2)
        query.run()
        for step, lose in enumerate(("PURGE BINARY LOGS TO '{}'", "RESET BINARY LOGS AND GTIDS")):
            insert(server, 100 * step + 3)
            server.flush_binlog()
            server.execute(lose.format(server.binlog_files()[-1].name))
            insert(server, 100 * step + 4)
            query.options["failOnDataLoss"] = "true"
            said = query.fails()
            assert "failOnDataLoss=false" in said, said
            assert "new checkpoint" in said, said
            query.options["failOnDataLoss"] = "false"
            query.run()
            insert(server, 100 * step + 5)
            query.run()
        assert query.ids() == [1, 2, 4, 5, 104, 105]
        versions = [row["_commit_version"] for row in query.rows()]
        assert versions == sorted(set(versions))


def test_a_reset_log_that_has_grown_past_the_place(session: SparkSession, tmp_path: Path) -> None:
    """Without GTIDs, only the creation time of the file of that name shows it."""
    with live.server("mysql", *live.NO_GTIDS) as server:
        server.execute("GRANT SELECT ON live.* TO live@'%'", "RESET BINARY LOGS AND GTIDS")
        query = Query(session, server, tmp_path, startingOffsets=here(server))
        insert(server, 1, 2)
        query.run()
        live.next_second(server)
        server.execute("RESET BINARY LOGS AND GTIDS")
        after = range(100, 160)
        insert(server, *after)
        said = query.fails()
        assert "log was reset" in said, said
        query.options["failOnDataLoss"] = "true"
        said = query.fails()
        assert "new checkpoint" in said, said
        query.options["failOnDataLoss"] = "false"
        query.run()
        assert query.ids() == [1, 2, *after]


def wait_for(query: Query, running: StreamingQuery, numbers: list[int]) -> None:
    def happened() -> bool:
        assert running.exception() is None, running.exception()
        return query.ids() == numbers

    live.until(happened, WAIT)


def test_a_server_that_starts_again_is_waited_for(
    session: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    query = Query(session, mysql, tmp_path, startingOffsets=here(mysql))
    running = query.start(processingTime="0 seconds")
    try:
        insert(mysql, 22_000)
        wait_for(query, running, [22_000])
        mysql.restart(crash=True)
        insert(mysql, 22_001, 22_002)
        wait_for(query, running, [22_000, 22_001, 22_002])
    finally:
        running.stop()
    live.until(lambda: live.dumps(mysql) == [])


def test_failover(session: SparkSession, tmp_path: Path) -> None:
    """The checkpoint is of one server, and the query continues at its replica."""
    with replicas.pair("mysql") as (source, replica):
        live.prepare(source)
        source.execute("GRANT SELECT ON live.* TO live@'%'")
        query = Query(session, source, tmp_path, startingOffsets=here(source), numPartitions=2)
        for number in (1, 2, 3):
            insert(source, number)
            source.flush_binlog()
        query.run()
        insert(source, 4)
        query.fail = lambda _: True
        query.fails()  # its batch is logged, and is read from the replica
        query.fail = lambda _: False
        insert(source, 5)
        replicas.catch_up(replica, replicas.executed(source))
        replicas.promote(replica)
        source.kill()
        for number in (6, 7, 8):
            insert(replica, number)
            replica.flush_binlog()
        query.options["port"] = str(replica.port)
        query.run()
        insert(replica, 9)
        query.run()
    assert query.ids() == list(range(1, 10))
    versions = [row["_commit_version"] for row in query.rows()]
    assert versions == sorted(set(versions))


def test_new_columns_end_a_query_that_follows_them(
    session: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    mysql.execute("CREATE TABLE live.wide (id INT PRIMARY KEY, old INT)")
    query = Query(session, mysql, tmp_path, table="live.wide", startingOffsets=here(mysql))
    mysql.execute("INSERT INTO live.wide VALUES (1, 10)")
    query.run()
    running = query.start(processingTime="0 seconds")
    mysql.execute(
        "INSERT INTO live.wide VALUES (2, 20)",
        "ALTER TABLE live.wide ADD added INT",
        "INSERT INTO live.wide VALUES (3, 0, 30)",
    )
    live.until(lambda: running.exception() is not None, WAIT)
    said = str(running.exception())
    assert "added" in said, said
    assert "Restart the query" in said, said
    query.run()
    rows = {row["id"]: row.asDict().get("added") for row in query.rows()}
    assert rows == {1: None, 2: None, 3: 30}

    query.options["schemaChangePolicy"] = "fail"
    mysql.execute(
        "ALTER TABLE live.wide ADD more INT",
        "INSERT INTO live.wide VALUES (4, 0, 40, 400)",
        "ALTER TABLE live.wide DROP COLUMN more",
    )
    said = query.fails()
    assert "live.wide" in said, said
    query.options["schemaChangePolicy"] = "project"
    query.run()
    assert [row["id"] for row in query.rows()] == [1, 2, 3, 4]


def test_a_new_name_loses_no_values(session: SparkSession, mysql: Server, tmp_path: Path) -> None:
    """To a log a column under a new name is another column: rows of before have no such value."""
    mysql.execute("CREATE TABLE live.named (id INT PRIMARY KEY, note VARCHAR(9))")
    query = Query(session, mysql, tmp_path, table="live.named", startingOffsets=here(mysql))
    mysql.execute(
        "INSERT INTO live.named VALUES (1, 'one')",
        "ALTER TABLE live.named RENAME COLUMN note TO remark",
        "INSERT INTO live.named VALUES (2, 'two')",
    )
    said = query.fails()
    assert "has note, which" in said, said
    assert "lacks remark" in said, said
    query.schema = "id INT, note STRING, remark STRING, _change_type STRING"
    query.run()
    assert [tuple(row)[:3] for row in query.rows()] == [(1, "one", None), (2, None, "two")]

    query.schema = None
    mysql.execute("INSERT INTO live.named VALUES (3, 'three')")
    query.run()
    assert [row["id"] for row in query.rows()] == [1, 2, 3]
    assert query.rows()[-1]["remark"] == "three"


def test_rows_that_are_logged_in_part(session: SparkSession, mysql: Server, tmp_path: Path) -> None:
    """An INSERT leaves out a column with a DEFAULT; only `present` distinguishes it from NULL."""
    mysql.execute("CREATE TABLE live.part (id INT PRIMARY KEY, a INT, d INT DEFAULT 7)")
    more = {"table": "live.part", "startingOffsets": here(mysql)}
    query = Query(session, mysql, tmp_path, **more)
    mysql.execute(
        "SET SESSION binlog_row_image = MINIMAL",
        "INSERT INTO live.part (id, a) VALUES (1, 1)",
        "UPDATE live.part SET a = 2",
        "DELETE FROM live.part",
    )
    said = query.fails()
    assert "leaves out column d of rows that are inserted" in said, said
    assert "add 'present' to the envelope" in said, said
    query.options["partialImages"] = "null"
    query.run()
    assert [row["d"] for row in query.rows()] == [None] * 4
    names = "change_type,commit_version,change_ordinal,present"
    told = Query(session, mysql, tmp_path / "told", envelope=names, **more)
    told.run()
    assert [row["_present"][0] for row in told.rows()] == [0b011, 0b001, 0b010, 0b001]
    frame = session.readStream.format("binarrow").options(**told.options).load()
    defaults = [frame.schema[name].metadata["mysql.has_default"] for name in ("id", "a", "d")]
    assert defaults == ["false", "false", "true"]


def test_a_swap_of_tables(session: SparkSession, mysql: Server, tmp_path: Path) -> None:
    """A reload through the names that pt-online-schema-change uses."""
    mysql.execute("CREATE TABLE live.swap (id INT PRIMARY KEY)")
    query = Query(session, mysql, tmp_path, table="live.swap", startingOffsets=here(mysql))
    mysql.execute(
        "INSERT INTO live.swap VALUES (1)",
        "CREATE TABLE live._swap_new LIKE live.swap",
        "RENAME TABLE live.swap TO live._swap_old, live._swap_new TO live.swap",
        "INSERT INTO live.swap VALUES (2)",
    )
    said = query.fails()
    assert "other rows by a RENAME" in said, said
    assert re.search(r"online_?schema_?change='?=?'?trust", said, re.IGNORECASE), said
    query.options["onlineSchemaChange"] = "trust"
    query.run()
    assert [row["id"] for row in query.rows()] == [1, 2]


def test_rows_that_foreign_keys_change(session: SparkSession, tmp_path: Path) -> None:
    with live.server("mysql", "--innodb-native-foreign-keys=ON") as server:
        server.execute(
            "GRANT SELECT ON live.* TO live@'%'",
            "CREATE TABLE live.top (id INT PRIMARY KEY)",
            "CREATE TABLE live.below (id INT PRIMARY KEY, top INT,"
            " FOREIGN KEY (top) REFERENCES live.top (id) ON DELETE CASCADE)",
        )
        query = Query(session, server, tmp_path, table="live.below", startingOffsets=here(server))
        server.execute(
            "INSERT INTO live.top VALUES (1)",
            "INSERT INTO live.below VALUES (1, 1)",
            "DELETE FROM live.top",
        )
        said = query.fails()
        assert "a foreign key of live.below has ON DELETE CASCADE" in said, said
        query.options["unloggedChanges"] = "ignore"
        query.run()
        assert [row["id"] for row in query.rows()] == [1]


def test_a_log_without_names_needs_a_history(session: SparkSession, tmp_path: Path) -> None:
    """With MINIMAL metadata, a history contains the columns of the table at each row."""
    from pyspark.errors import AnalysisException

    with live.server("mysql", "--binlog-row-metadata=MINIMAL") as server:
        server.execute("GRANT SELECT ON live.* TO live@'%'")
        with pytest.raises(AnalysisException) as error:
            session.readStream.format("binarrow").options(**options(server)).load()
        message = str(error.value).rpartition("Error: ")[2]  # without Spark's traceback
        assert "SET PERSIST binlog_row_metadata = FULL" in message
        assert "the option history" in message
        assert not re.search(r"\b(history|schemas|column_names)=", message)

        history = f"sqlite:///{tmp_path}/late.db"
        insert(server, 0)
        late = Query(
            session, server, tmp_path / "late", history=history, startingOffsets="earliest"
        )
        assert "the history begins at" in late.fails()

        history = f"sqlite:///{tmp_path}/history.db"
        query = Query(session, server, tmp_path, history=history, numPartitions=2)
        query.run()  # from now on
        query.options["schemaChangePolicy"] = "project"  # over names that change, as NULL
        insert(server, 1)
        server.flush_binlog()
        server.execute("ALTER TABLE live.t ADD first INT FIRST, CHANGE note text VARCHAR(50)")
        server.flush_binlog()
        server.execute("INSERT INTO live.t VALUES (7, 2, 'two')")
        query.fail = lambda _: True
        query.fails()
        query.fail = lambda _: False
        server.execute("ALTER TABLE live.t DROP COLUMN text")
        server.execute("INSERT INTO live.t VALUES (8, 3)")
        query.run()
        query.run()
        assert [(int(row["id"]), row["first"]) for row in query.rows()] == [
            (1, None),
            (2, 7),
            (3, 8),
        ]
        assert max(query.partitions) == 2
        with binarrow.SchemaHistory.open(history) as kept:
            assert len(kept.covered) == 1
            assert len(list(kept.changes(database="live", table="t"))) == 3


def test_nothing_is_left_behind_and_no_password_shows(
    session: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    """A stopped query and a killed worker leave no dump; a wrong password says so, unseen."""
    secret = tmp_path / "secret"
    secret.write_text(PASSWORD)
    query = Query(session, mysql, tmp_path, startingOffsets=here(mysql))
    del query.options["password"]
    query.options["passwordFile"] = str(secret)
    running = query.start(processingTime="0 seconds")
    insert(mysql, 23_000)
    wait_for(query, running, [23_000])
    # A password that changes is read again for the next batch.
    mysql.execute("ALTER USER live@'%' IDENTIFIED BY 'changed'")
    secret.write_text("changed\n")
    insert(mysql, 23_001)
    try:
        wait_for(query, running, [23_000, 23_001])
    finally:
        mysql.execute(f"ALTER USER live@'%' IDENTIFIED BY '{PASSWORD}'")
        running.stop()
    live.until(lambda: live.dumps(mysql) == [])

    query.options.pop("passwordFile")
    query.options["password"] = "wr0ng"
    schema = session.read.format("binarrow").options(**options(mysql)).load().schema
    frame = session.readStream.format("binarrow").options(**query.options).schema(schema).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "other"))
    failed = writer.trigger(availableNow=True).start()
    live.until(lambda: failed.exception() is not None, WAIT)
    said = str(failed.exception())
    assert "Access denied" in said, said
    assert "wr0ng" not in said
    for file in query.checkpoint.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes(), file
            assert b"changed" not in file.read_bytes(), file
