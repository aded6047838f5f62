"""`Server.read_table`: the snapshot and its position, options, and what cannot be read."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pytest

import binarrow
from support import live
from support.servers.servers import Server
from support.waiting import WAIT, until, within

FLAVORS = ("mysql", "mysql-5.7", "mariadb-11.8")
ROWS = 3000
TABLE = "CREATE TABLE live.n (id INT PRIMARY KEY, v INT NOT NULL, note VARCHAR(20)) DEFAULT CHARSET=utf8mb4"


@pytest.fixture(scope="module", params=FLAVORS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        started.execute(
            "GRANT SELECT ON live.* TO live@'%'",
            TABLE,
            "INSERT INTO live.n VALUES " + ", ".join(f"({n}, 0, 'n{n}')" for n in range(ROWS)),
            "CREATE VIEW live.seen AS SELECT * FROM live.n",
            "CREATE TABLE live.none (id INT PRIMARY KEY)",
            "CREATE TABLE live.wide (id INT PRIMARY KEY, body LONGBLOB)",
            "CREATE TABLE live.`odd``name` (`a``b` INT PRIMARY KEY)",
            "INSERT INTO live.`odd``name` VALUES (7)",
        )
        yield started


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    with live.reach(server) as connected:
        yield connected


def read(source: binarrow.Server, table: str = "live.n", **keywords: Any) -> pa.Table:
    return source.read_table(table, **keywords).read_all()


def test_rows_columns_and_conditions(source: binarrow.Server) -> None:
    table = read(source)
    assert table.column_names[:3] == ["id", "v", "note"]
    assert table["id"].to_pylist() == list(range(ROWS))
    assert set(table["_change_type"].to_pylist()) == {"insert"}
    assert len(set(table["_change_ordinal"].to_pylist())) == ROWS
    some = read(source, columns=["note"], where="id IN (5, 6) -- not the others", envelope=[])
    assert some.to_pydict() == {"note": ["n5", "n6"]}
    assert read(source, columns="id", where="id < 0").num_rows == 0
    assert read(source, "live.none").num_rows == 0
    assert read(source, "live.odd`name", envelope=[]).to_pydict() == {"a`b": [7]}
    nested = read(source, layout="nested", where="id = 1", types="spark")
    assert nested["after"].to_pylist() == [{"id": 1, "v": 0, "note": "n1"}]
    assert nested["before"].to_pylist() == [None]
    masked = read(source, where="id = 1", mask={"live.n.note": "null"})
    assert masked["note"].to_pylist() == [None]


def test_batches_and_arrow_streams(source: binarrow.Server) -> None:
    with source.read_table("live.n", batch_rows=1000) as rows:
        assert [batch.num_rows for batch in rows] == [1000, 1000, 1000]
        assert rows.rows == ROWS
        assert next(rows, None) is None
        with pytest.raises(binarrow.ConfigError, match="read already"):
            rows.read_all()
    reader = pa.RecordBatchReader.from_stream(source.read_table("live.n"))
    assert reader.read_all().num_rows == ROWS
    rows = source.read_table("live.n")
    rows.close()
    with pytest.raises(binarrow.ConfigError, match="closed"):
        next(rows)


def test_two_streams_do_not_share_the_rows(source: binarrow.Server) -> None:
    rows = source.read_table("live.n", batch_rows=1000)
    one = pa.RecordBatchReader.from_stream(rows)
    other = pa.RecordBatchReader.from_stream(rows)
    assert one.read_next_batch().num_rows == 1000
    with pytest.raises(Exception, match="read already"):
        other.read_next_batch()
    with pytest.raises(binarrow.ConfigError, match="read already"):
        next(rows)
    assert one.read_all().num_rows == ROWS - 1000


def test_limits_of_the_server_cut_no_rows(server: Server, source: binarrow.Server) -> None:
    server.execute("SET GLOBAL sql_select_limit = 10")
    try:
        assert read(source).num_rows == ROWS
    finally:
        server.execute("SET GLOBAL sql_select_limit = DEFAULT")


def test_names_in_another_letter_case(server: Server) -> None:
    with live.server(server.flavor, "--lower-case-table-names=1") as folded:
        folded.execute(
            "GRANT SELECT ON live.* TO live@'%'",
            "CREATE TABLE live.Cased (id INT PRIMARY KEY, secret INT)",
            "INSERT INTO live.Cased VALUES (1, 2)",
        )
        with live.reach(folded) as source:
            table = read(source, "Live.CASED", columns=["id"], envelope=[])
    assert table.to_pydict() == {"id": [1]}
    assert table.schema.metadata[b"mysql.table"] == b"cased"


def test_engines_without_snapshots_have_no_exact_position(
    server: Server, source: binarrow.Server
) -> None:
    server.execute("CREATE TABLE live.isam (id INT PRIMARY KEY) ENGINE=MyISAM")
    with source.read_table("live.isam") as rows:
        assert not rows.is_exact


def test_values_at_the_ends_of_their_types(server: Server, source: binarrow.Server) -> None:
    columns = {"e": "ENUM('yes','?')", "t": "TINYTEXT", "m": "TEXT", "y": "YEAR"}
    if server.is_mariadb:
        columns |= {"t": "TINYTEXT COMPRESSED", "m": "TEXT COMPRESSED", "y": "YEAR(2)"}
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    session = server.connect()
    session.execute("SET SESSION sql_mode = ''")
    session.execute(f"CREATE TABLE live.ends (id INT PRIMARY KEY, {listed}) CHARSET=utf8mb4")
    for number, (small, large, year) in enumerate(
        [(255, 65_535, 1999), (254, 65_534, 2069), (0, 0, 1970)]
    ):
        values = f"REPEAT('a', {small}), REPEAT('b', {large}), {year}"
        session.execute(f"INSERT INTO live.ends VALUES ({number}, {number}, {values})")
    session.close()
    rows = read(source, "live.ends", envelope=[]).to_pylist()
    assert [row["e"] for row in rows] == ["", "yes", "?"]
    assert [(len(row["t"]), len(row["m"])) for row in rows] == [
        (255, 65_535),
        (254, 65_534),
        (0, 0),
    ]
    assert [row["y"] for row in rows] == [1999, 2069, 1970]
    server.execute("DROP TABLE live.ends")


def test_a_failed_read_stays_failed(server: Server, source: binarrow.Server) -> None:
    rows = source.read_table("live.n", where="SLEEP(0.001) = 0", batch_rows=100)
    next(rows)
    session = server.connect()
    own = "User = 'live' AND Info LIKE '%SLEEP(0.001)%'"
    for [connection] in session.query(f"SELECT id FROM information_schema.processlist WHERE {own}"):
        session.execute(f"KILL {connection}")
    session.close()
    with pytest.raises(binarrow.BinarrowError) as first:
        list(rows)
    assert not isinstance(first.value, binarrow.InternalError)
    with pytest.raises(binarrow.ConfigError, match="has failed"):
        next(rows)


def test_a_forked_process_reads_again(source: binarrow.Server) -> None:
    rows = source.read_table("live.n", batch_rows=100)
    next(rows)
    child = os.fork()
    if child == 0:
        try:
            next(rows)
        except binarrow.ConfigError as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sum(batch.num_rows for batch in rows) == ROWS - 100


def test_rows_larger_than_a_packet(server: Server, source: binarrow.Server) -> None:
    size = 70 << 20
    server.execute("SET GLOBAL max_allowed_packet = 1 << 30")
    session = server.connect()
    session.execute(f"INSERT INTO live.wide VALUES (1, REPEAT('x', {size})), (2, ''), (3, NULL)")
    session.close()
    bodies = read(source, "live.wide")["body"].to_pylist()
    assert [None if body is None else len(body) for body in bodies] == [size, 0, None]


def test_what_cannot_be_read(server: Server, source: binarrow.Server) -> None:
    for table, message in {
        "live.seen": "is a view",
        "live.missing": "no table live.missing|does not return the structure",
        "n": "write database.table",
    }.items():
        with pytest.raises(binarrow.BinarrowError, match=message):
            source.read_table(table)
    for where in ("nothing = 1", "id = ", "id = ?", "1) UNION (SELECT 1", "SLEEP("):
        with pytest.raises(binarrow.BinarrowError, match=r"where|parameter"):
            source.read_table("live.n", where=where)
    with pytest.raises(binarrow.BinarrowError, match=r"nothing"):
        source.read_table("live.n", columns=["nothing"])
    with pytest.raises(TypeError, match=r"read_table.*envelop'; did you mean 'envelope'"):
        source.read_table("live.n", envelop=[])
    with pytest.raises(binarrow.ConfigError, match="locks must be"):
        source.read_table("live.n", locks="all")
    with pytest.raises(binarrow.ConfigError, match=r"live\.m\.note matches no column"):
        source.read_table("live.n", mask={"live.m.note": "null"})
    with pytest.raises(binarrow.ConfigError, match="columns is empty"):
        source.read_table("live.n", columns=[])
    if source.flavor == "mysql":
        # RELOAD is missing.
        with pytest.raises(binarrow.ServerError, match="GRANT RELOAD"):
            source.read_table("live.n", locks="brief")


@contextmanager
def writing(server: Server) -> Iterator[None]:
    """Three sessions update three rows until the block ends."""
    stop = threading.Event()

    def write() -> None:
        session = server.connect()
        while not stop.is_set():
            session.execute("UPDATE live.n SET v = v + 1 WHERE id < 3")
        session.close()

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        yield
    finally:
        stop.set()
        for writer in writers:
            writer.join()


@dataclass
class Load:
    """The three rows of a load, and its position."""

    rows: dict[int, dict[str, Any]]
    position: binarrow.Position
    is_exact: bool


def load(source: binarrow.Server, locks: Literal["brief"] | None) -> Load:
    rows = source.read_table("live.n", where="id < 3", locks=locks)
    loaded = {row["id"]: row for row in rows.read_all().to_pylist()}
    assert rows.position is not None
    return Load(loaded, rows.position, rows.is_exact)


def apply_changes(load: Load, source: binarrow.Server) -> dict[int, int]:
    """Applies the later changes to the loaded rows, and returns each row's value before its first change."""
    first: dict[int, int] = {}
    schemas = {"live.n": TABLE}
    with source.stream(load.position, stop="end", tables="live.n", schemas=schemas) as changes:
        for row in (row for change in changes for row in change.to_pyarrow().to_pylist()):
            if row["_change_type"] == "update_preimage":
                first.setdefault(row["id"], row["v"])
            elif row["_commit_version"] > load.rows[row["id"]]["_commit_version"]:
                load.rows[row["id"]] = row
    return first


def test_the_position_is_that_of_the_snapshot(server: Server, source: binarrow.Server) -> None:
    """The changes after the position, applied to the loaded rows, give the table."""
    server.execute("GRANT RELOAD ON *.* TO live@'%'")
    with writing(server):
        loads = [load(source, None if number % 3 else "brief") for number in range(30)]
    final = {row["id"]: row["v"] for row in read(source, where="id < 3").to_pylist()}
    exact_values = 0
    for one in loads:
        loaded = {key: row["v"] for key, row in one.rows.items()}
        first = apply_changes(one, source)
        assert {key: row["v"] for key, row in one.rows.items()} == final
        for key, before in first.items():
            # The first change from the position on finds the loaded row, or a row before it.
            assert before == loaded[key] if one.is_exact else before <= loaded[key]
            exact_values += one.is_exact
    assert exact_values > 10


def test_a_change_of_the_table_while_it_is_read(server: Server, source: binarrow.Server) -> None:
    """The snapshot is read to its end, or there is an error: rows of two structures are never mixed."""
    session = server.connect()
    session.execute("CREATE TABLE live.altered (id INT PRIMARY KEY, a INT)")
    values = ", ".join(f"({n}, {n})" for n in range(1000))
    session.execute(f"INSERT INTO live.altered VALUES {values}")
    done = threading.Event()

    def alter() -> None:
        other = server.connect()
        other.execute("ALTER TABLE live.altered ADD COLUMN b INT DEFAULT 7 FIRST")
        other.close()
        done.set()

    with source.read_table("live.altered", batch_rows=100) as rows:
        first = next(rows)
        writer = threading.Thread(target=alter)
        writer.start()
        table = pa.Table.from_batches([first, *rows])
    writer.join()
    assert table["id"].to_pylist() == table["a"].to_pylist() == list(range(1000))
    assert read(source, "live.altered").column_names[:3] == ["b", "id", "a"]
    session.execute("DROP TABLE live.altered")
    session.close()


LONG = int(2 * WAIT)
"""Seconds, for a row that the server does not return."""


def test_closing_ends_the_query(server: Server, source: binarrow.Server) -> None:
    """At once, not when the server writes its next rows."""
    where = f"id < 2000 OR SLEEP({LONG}) = 0"
    rows = source.read_table("live.n", where=where, batch_rows=100)
    next(rows)
    with within():
        rows.close()
    session = server.connect()

    def runs() -> bool:
        processes = session.query("SHOW FULL PROCESSLIST")
        return any(f"SLEEP({LONG}) = 0" in str(row) for row in processes)

    until(lambda: not runs())
    session.close()
