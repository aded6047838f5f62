"""Existing rows in Spark: read in parallel, joined with the changes that are made in the meantime."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binarrow.spark import apply_changes, read_mirror, register, table_of
from binarrow.spark.live.row_ranges import RowChunks, TableChunks
from support import live
from support.servers.servers import Server
from support.waiting import pause_at_random
from support.workloads.spark_load import GRANT, ORDERS, TABLE, Load, selected

WAIT = 120.0
"""Seconds."""


both = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(getattr(request, "param", "mysql")) as started:
        started.execute(GRANT)
        yield started


@pytest.fixture
def orders(server: Server) -> Server:
    """A server with rows that no reader of its log finds."""
    server.execute("DROP TABLE IF EXISTS live.orders, live.other", ORDERS)
    load = Load(server, seed=7)
    load.play(300)
    server.execute("FLUSH BINARY LOGS")
    return server


def options(server: Server, folder: Path | None = None, **more: str) -> dict[str, str]:
    found = {
        "url": f"mysql://live@127.0.0.1:{server.port}/?allow_public_key_retrieval=true",
        "password": str(live.USER["password"]),
        "table": TABLE,
        "startingOffsets": "snapshot",
        "chunkRows": "25",
        "numPartitions": "2",
    }
    if folder is not None:
        found["snapshotStateFile"] = str(folder / "rows.json")
    return {**found, **more}


def stream(spark: Any, server: Server, folder: Path, *, once: bool = False, **more: str) -> Any:
    register(spark)
    changes = spark.readStream.format("binarrow").options(**options(server, folder, **more)).load()
    apply = apply_changes(str(folder / "to"), ["id"], format="parquet", missing_rows="ignore")
    writer = changes.writeStream.foreachBatch(apply)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    return (writer.trigger(availableNow=True) if once else writer).start()


def mirrored(spark: Any, folder: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in read_mirror(spark, str(folder / "to")).collect())


def offsets(folder: Path) -> list[dict[str, Any]]:
    """The ends of all batches, as Spark stored them."""
    files = sorted(
        (folder / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name)
    )
    return [json.loads(file.read_text().splitlines()[-1]) for file in files]


@both
def test_the_mirror_is_the_table(spark: Any, orders: Server, tmp_path: Path) -> None:
    """The query is stopped at random moments while it loads, and the table changes all the time."""
    draw = random.Random(3)
    with Load(orders, seed=4, pause=0.02):
        for _ in range(2):
            query = stream(spark, orders, tmp_path)
            live.until(lambda: offsets_of(tmp_path), WAIT)
            pause_at_random(draw, 0.6, 0.1)
            query.stop()
        query = stream(spark, orders, tmp_path)
        live.until(lambda: query.exception() or "chunks" not in offsets(tmp_path)[-1], WAIT)
        assert query.exception() is None
        query.stop()
    query = stream(spark, orders, tmp_path, once=True)
    query.awaitTermination()
    assert query.exception() is None
    assert mirrored(spark, tmp_path) == selected(orders)
    loaded = [offset["chunks"] for offset in offsets(tmp_path) if "chunks" in offset]
    assert loaded == sorted(loaded)
    assert loaded
    assert "values" not in json.dumps(offsets(tmp_path))


def offsets_of(folder: Path) -> list[dict[str, Any]]:
    return offsets(folder) if (folder / "checkpoint" / "offsets").exists() else []


def test_available_now_ends_when_the_rows_are_loaded(
    spark: Any, orders: Server, tmp_path: Path
) -> None:
    """On an idle server too; a second run finds nothing new."""
    wanted = selected(orders)
    for _ in range(2):
        query = stream(spark, orders, tmp_path, once=True)
        query.awaitTermination()
        assert query.exception() is None
        assert mirrored(spark, tmp_path) == wanted
    assert "chunks" not in offsets(tmp_path)[-1]


@both
def test_a_batch_query_reads_the_rows(spark: Any, orders: Server) -> None:
    register(spark)
    reader = spark.read.format("binarrow").options(**options(orders, numPartitions="3"))
    frame = reader.load()
    assert frame.rdd.getNumPartitions() == 3
    rows = frame.collect()
    assert sorted(tuple(row)[:4] for row in rows) == selected(orders)
    assert {row["_change_type"] for row in rows} == {"insert"}
    assert len({row["_change_ordinal"] for row in rows}) == len(rows)


def test_several_tables(spark: Any, orders: Server) -> None:
    orders.execute(
        "CREATE TABLE live.other (id VARCHAR(20) CHARACTER SET utf8mb4 PRIMARY KEY, n INT)",
        "INSERT INTO live.other VALUES ('a', 1), ('ü', NULL)",
    )
    register(spark)
    given = options(orders, tables="live.o*", chunkRows="100")
    del given["table"]
    frame = spark.read.format("binarrow").options(**given).load().persist()
    single = spark.read.format("binarrow").options(**options(orders)).load()
    found = table_of(frame, TABLE, single.schema).collect()
    assert sorted(tuple(row)[:4] for row in found) == selected(orders)
    assert frame.count() == len(found) + 2
    frame.unpersist()


def test_a_table_that_is_replaced_is_loaded_again(
    spark: Any, orders: Server, tmp_path: Path
) -> None:
    """RENAME gives the name to a table with other rows, after some chunks. By default this is an error of the log."""
    query = stream(spark, orders, tmp_path, maxRowsPerTrigger="100", truncates="skip")
    live.until(lambda: len(offsets_of(tmp_path)) > 1, WAIT)
    assert "chunks" in offsets(tmp_path)[-1]
    before = len(selected(orders))
    orders.execute(
        f"CREATE TABLE live.other LIKE {TABLE}",
        f"INSERT INTO live.other SELECT id + 100000, 'sent', total, NULL FROM {TABLE}",
        f"RENAME TABLE {TABLE} TO live.gone, live.other TO {TABLE}",
        "DROP TABLE live.gone",
    )
    live.until(lambda: "chunks" not in offsets(tmp_path)[-1], WAIT)
    query.processAllAvailable()
    query.stop()
    # The rows of the table that was dropped remain: the log has no changes of them.
    assert set(mirrored(spark, tmp_path)) >= set(selected(orders))
    assert len(selected(orders)) == before


@both
def test_tables_that_were_created_in_the_same_second(
    spark: Any, orders: Server, tmp_path: Path
) -> None:
    """Only the log shows that they exchange their names."""
    created = "SELECT COUNT(DISTINCT create_time) FROM information_schema.tables WHERE table_schema = 'live' AND table_name IN ('orders', 'other')"

    def create() -> bool:
        orders.execute(
            "DROP TABLE IF EXISTS live.orders, live.other",
            ORDERS,
            ORDERS.replace("live.orders", "live.other"),
            "SET SESSION information_schema_stats_expiry = 0" if not orders.is_mariadb else "DO 0",
        )
        return list(orders.query(created)) == [(1,)]

    live.until(create)
    Load(orders, seed=7).play(300)
    orders.execute("INSERT INTO live.other SELECT id, 'other', total, paid_at FROM live.orders")
    query = stream(spark, orders, tmp_path, maxRowsPerTrigger="25", truncates="skip")
    live.until(lambda: len(offsets_of(tmp_path)) > 1, WAIT)
    assert "chunks" in offsets(tmp_path)[-1]
    orders.execute(
        f"RENAME TABLE {TABLE} TO live.third, live.other TO {TABLE}, live.third TO live.other"
    )
    live.until(lambda: "chunks" not in offsets(tmp_path)[-1], WAIT)
    query.processAllAvailable()
    query.stop()
    assert mirrored(spark, tmp_path) == selected(orders)
    assert {row[1] for row in selected(orders)} == {"other"}


def test_the_number_of_rows_per_second(spark: Any, orders: Server) -> None:
    register(spark)
    frame = spark.read.format("binarrow").options(**options(orders, maxRowsPerSecond="200")).load()
    began = time.monotonic()
    count = frame.count()
    # Each of the two tasks reads at most half of the rows per second, and waits after a tenth of them.
    assert time.monotonic() - began > (count - 2 * 20) / 200
    assert count == len(selected(orders)) > 100


REFUSED = {
    "no state file": ({}, "snapshotStateFile", "set the option snapshotStateFile"),
    "another place": (
        {"startingOffsets": "earliest"},
        None,
        "it is for the option startingOffsets=snapshot",
    ),
    "no inserts": ({"operations": "update,delete"}, None, "leaves out the existing rows"),
    "a time too": ({"startingTimestamp": "0"}, None, "both name a place"),
    "a limit without rows": (
        {"startingOffsets": "earliest", "maxRowsPerSecond": "10"},
        "snapshotStateFile",
        "it is for the option startingOffsets=snapshot",
    ),
    "no table": ({"table": "live.nothing"}, None, "no table live.nothing"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_are_refused(spark: Any, orders: Server, tmp_path: Path, name: str) -> None:
    more, without, message = REFUSED[name]
    given = options(orders, tmp_path, **more)
    given.pop(without or "", None)
    register(spark)
    with pytest.raises(Exception, match=message):
        started(spark, given, tmp_path)


def started(spark: Any, given: dict[str, str], folder: Path) -> None:
    """Runs a query until it ends, with an error."""
    frame = spark.readStream.format("binarrow").options(**given).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder / "c"))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_a_table_without_a_key(spark: Any, orders: Server, tmp_path: Path) -> None:
    """A stream refuses it, and a batch query reads it in one partition."""
    orders.execute(
        "CREATE TABLE live.other (v INT)", "INSERT INTO live.other VALUES (1), (1), (NULL)"
    )
    given = options(orders, tmp_path, table="live.other")
    register(spark)
    with pytest.raises(Exception, match=r"live\.other has no key by which its rows can be read"):
        started(spark, given, tmp_path)
    del given["snapshotStateFile"]
    frame = spark.read.format("binarrow").options(**given).load()
    assert sorted(str(row["v"]) for row in frame.collect()) == ["1", "1", "None"]


def test_a_state_of_another_query(spark: Any, orders: Server, tmp_path: Path) -> None:
    state = tmp_path / "rows.json"
    state.write_text(RowChunks("live.other", ()).to_json())
    with pytest.raises(Exception, match=r"is the state of a load of live\.other"):
        started(spark, options(orders, tmp_path), tmp_path)
    state.write_text("{}")
    with pytest.raises(Exception, match="is not the state of a load"):
        started(spark, options(orders, tmp_path), tmp_path)


def test_a_lost_state(spark: Any, orders: Server, tmp_path: Path) -> None:
    """A query that was started needs the division of the rows with which it was started."""
    query = stream(spark, orders, tmp_path, maxRowsPerTrigger="25")
    live.until(lambda: len(offsets_of(tmp_path)) > 1, WAIT)
    query.stop()
    assert "chunks" in offsets(tmp_path)[-1]
    (tmp_path / "rows.json").unlink()
    query = stream(spark, orders, tmp_path, once=True)
    with pytest.raises(Exception, match=r"rows.json: No such file or directory"):
        query.awaitTermination()


def test_ranges_of_chunks() -> None:
    """Consecutive chunks of a table become one range; tables are not joined."""
    chunks = RowChunks("x", (TableChunks("a", "x", ("1", "2", "3")), TableChunks("b", "x", ())))
    assert chunks.count == 5

    def shown(first: int, stop: int, most: int) -> list[tuple[str, int, str | None, str | None]]:
        return [(r.table, r.number, r.after, r.upto) for r in chunks.ranges(first, stop, most)]

    assert shown(0, 5, 1) == [("a", 0, None, None), ("b", 4, None, None)]
    assert shown(1, 3, 1) == [("a", 1, "1", "3")]
    assert shown(1, 4, 2) == [("a", 1, "1", "2"), ("a", 2, "2", None)]
    assert shown(3, 3, 2) == []
    assert RowChunks.from_json(chunks.to_json()) == chunks
    assert "1" not in repr(chunks.tables[0])
