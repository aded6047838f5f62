"""`rows_at` against servers: the rows are those that SELECT showed at that moment."""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from binarrow._native import PastRows, read_table
from support import live
from support.extent import rounds
from support.oracles import oracle
from support.oracles.cells import column_cells
from support.oracles.compare import assert_same_rows
from support.oracles.oracle import Selected
from support.oracles.replay import remapped
from support.servers.fixtures import loading_servers
from support.servers.servers import Server
from support.workloads import matrix, old_times
from support.workloads.matrix import Case, Matrix
from support.workloads.table import Table

SEED = int(os.environ.get("BINARROW_SEED", "1"))
MOMENTS = rounds("BINARROW_MOMENTS", 3, 3)

LEFT_OUT = {"versioned", "periods", "plain", old_times.NAME}
"""Tables whose old rows MariaDB keeps, and those of MyISAM, which has no snapshots."""

LEFT_OUT_IN_5_7 = {"choices", "documents"}
"""Tables with members that SHOW CREATE TABLE does not print, and with documents in which the server
prints numbers in another way than its log contains them."""


server = loading_servers()


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    server.execute("DROP DATABASE live", "CREATE DATABASE live", "USE live")
    with live.reach(server) as connected:
        yield connected


@dataclass(frozen=True)
class Moment:
    """Rows that SELECT showed, and the place in the log."""

    place: Any
    rows: dict[str, Selected]


@pytest.mark.parametrize("flavor", live.SERVERS)
def test_every_type_at_random_moments(flavor: str) -> None:
    with live.server(flavor, *matrix.options(flavor)) as server, ExitStack() as stack:
        server.execute("GRANT SELECT, RELOAD ON *.* TO live@'%'")
        source = stack.enter_context(live.reach(server))
        for has_keys in (True, False):
            compare_at_moments(server, source, has_keys=has_keys)


def compare_at_moments(server: Server, source: binarrow.Server, *, has_keys: bool) -> None:
    """Changes all tables between moments, and compares some of them at each moment."""
    rng = random.Random(SEED)
    player = Matrix(server, SEED)
    left_out = LEFT_OUT | (LEFT_OUT_IN_5_7 if server.flavor == "mysql-5.7" else set())
    tables = [table for table in player.tables if table.name not in left_out]
    player.session.execute(
        "DROP DATABASE IF EXISTS earlier", "CREATE DATABASE earlier CHARACTER SET utf8mb4"
    )
    player.session.execute("USE earlier")
    for table in tables:
        if not has_keys:
            table.tail = table.tail.removeprefix("PRIMARY KEY (id)")
        player.create("earlier", table)
    player.set(Case("FULL", matrix.cases(server.flavor)[-1].metadata))
    for table in tables:
        player.session.execute(table.insert(rng, 12))
    moments = []
    for _ in range(MOMENTS):
        moments.append(moment(server, source, rng.sample(tables, 6)))
        for table in tables:
            player.session.execute(*changes(rng, table))
    for one in moments:
        for name in one.rows:
            is_keyed = bool(source.describe(name).row_key)
            assert_same(source, name, one, locks=None if is_keyed else "brief")
            assert_rolled_forward(
                source, name, moments[0], one, locks=None if is_keyed else "brief"
            )


def assert_rolled_forward(
    source: binarrow.Server, table: str, first: Moment, last: Moment, **keywords: Any
) -> None:
    with binarrow.rows_at(source, table, first.place, **keywords) as rows:
        stored = rows.read_all()
    start = source.range_end(first.place, stop=first.place)
    with binarrow.roll_forward(stored, start, source, table, last.place) as later:
        assert_equal(table, last, later.read_all())


def moment(server: Server, source: binarrow.Server, tables: list[Table]) -> Moment:
    """A moment between two changes."""
    names = [f"earlier.{table.name}" for table in tables]
    return Moment(
        source.position(), {name: oracle.select(server, name, written_out=True) for name in names}
    )


def changes(rng: random.Random, table: Table) -> Iterator[str]:
    for _ in range(2):
        make = rng.choice((table.insert, table.update, table.delete))
        yield make(rng)


def assert_same(source: binarrow.Server, table: str, moment: Moment, **keywords: Any) -> None:
    with binarrow.rows_at(source, table, moment.place, **keywords) as rows:
        found = rows.read_all()
    assert_equal(table, moment, found)


def assert_equal(table: str, moment: Moment, found: pa.Table) -> None:
    wanted = moment.rows[table]
    names = tuple(found.schema.names)
    expected = [remapped(row, wanted.names, names) for row in wanted.rows]
    assert_same_rows(f"{table} at {moment.place}", names, cells(found), expected)


def cells(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [
        column_cells(table.column(index).combine_chunks(), field)
        for index, field in enumerate(table.schema)
    ]
    return list(zip(*columns, strict=True))


def test_moments_of_a_busy_server(server: Server, source: binarrow.Server) -> None:
    """Rows move between keys that a collation does not distinguish, while the table is read."""
    server.execute(
        "CREATE TABLE t (k VARCHAR(9) COLLATE utf8mb4_general_ci, n INT, s TEXT, PRIMARY KEY (k, n))",
        "CREATE TABLE pile (a INT, b VARCHAR(9))",
    )
    lock = threading.Lock()
    done = threading.Event()
    rng = random.Random(SEED)

    def write() -> None:
        session = server.connect()
        while not done.is_set():
            with lock:
                session.execute("USE live", *statements(rng))
        session.close()

    writer = threading.Thread(target=write)
    writer.start()
    moments = []
    try:
        for _ in range(MOMENTS):
            done.wait(0.2)  # the writer writes meanwhile
            with lock:
                names = ("live.t", "live.pile")
                rows = {name: oracle.select(server, name) for name in names}
                moments += [
                    Moment(place, rows)
                    for place in (source.position(), datetime.now(UTC), last_gtid(server))
                ]
                # MariaDB's log has the second of a change.
                live.later_second(server) if server.is_mariadb else None
        for one in moments:
            assert_same(source, "live.t", one)
            assert_same(source, "live.pile", one, locks="brief")
    finally:
        done.set()
        writer.join()


def statements(rng: random.Random) -> list[str]:
    key = f"'{rng.choice(('a', 'A', 'b', 'ä'))}', {rng.randint(1, 9)}"
    changed = rng.choice(
        (
            f"REPLACE INTO t VALUES ({key}, '{rng.random()}')",
            f"DELETE FROM t WHERE (k, n) = ({key})",
            f"UPDATE IGNORE t SET k = UPPER(k), n = n + 1 WHERE n < {rng.randint(1, 9)} ORDER BY n DESC",
            "UPDATE t SET k = LOWER(k)",
        )
    )
    row = rng.randint(1, 3)
    piled = rng.choice(
        (
            f"INSERT INTO pile VALUES ({row}, 'x'), ({row}, 'x'), (NULL, 'y')",
            f"DELETE FROM pile WHERE a = {row} LIMIT 2",
            "DELETE FROM pile LIMIT 1",
            f"UPDATE pile SET a = {row} LIMIT 3",
        )
    )
    return ["BEGIN", changed, piled, rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))]


def last_gtid(server: Server) -> str:
    if server.is_mariadb:
        [(state,)] = server.query("SELECT @@gtid_binlog_pos")
        return str(state)
    [(executed,)] = server.query("SELECT @@gtid_executed")
    source, *_, last = str(executed).split(",")[-1].strip().split(":")
    return f"{source}:{last.rpartition('-')[2]}"


class TestOneTable:
    """A table with a few rows, and the place before they change."""

    @pytest.fixture
    def place(self, server: Server, source: binarrow.Server) -> binarrow.Position:
        server.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9), n INT)",
            "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL), (4, 'd', 4)",
        )
        place = source.position()
        server.execute(
            "UPDATE t SET n = 20 WHERE id = 2",
            "UPDATE t SET id = 30 WHERE id = 3",
            "DELETE FROM t WHERE id = 4",
            "INSERT INTO t VALUES (4, 'x', 4), (5, 'e', 5)",
        )
        return place

    def test_selections(self, source: binarrow.Server, place: binarrow.Position) -> None:
        assert ids(source, place) == [1, 2, 3, 4]
        for where, wanted in (
            ("id = 2", [2]),
            ("id IN (3, 30, 5)", [3]),
            ("n IS NULL", [3]),
            ("n = 20", []),
            ("s = 'd' OR n < 2", [1, 4]),
        ):
            assert ids(source, place, where=where) == wanted, where
        with binarrow.rows_at(source, "live.t", place, columns=["s"], where="n = 2") as rows:
            assert pa.table(rows).to_pydict() == {"s": ["b"]}

    @pytest.mark.usefixtures("place")
    def test_conditions_that_the_server_evaluates(self, source: binarrow.Server) -> None:
        source_of_rows = source.__binarrow_connection__()
        for where, wanted in (
            ("id = 7", "`id` = 7"),
            ("s = 'a-1' AND n IS NULL", "(`s` = 'a-1')"),
            ("s = 'ä' AND id <> -5", "(`id` <> -5)"),
            ("id IN (1, 2) OR n >= 3", "(`id` IN (1, 2) OR `n` >= 3)"),
            ("id = 1 OR s LIKE 'a%'", None),
            ("s <> 'a'", None),
            ("s IN ('a', 'b')", "`s` IN ('a', 'b')"),
            ("id < 1.5", None),
            ("NOT id = 1", None),
            ("s = 'a''b'", None),
        ):
            with read_table(source_of_rows, "live.t", where="FALSE", envelope=[]) as rows:
                assert PastRows(rows, where=where, columns=None).condition == wanted, where

    def test_places(
        self, server: Server, source: binarrow.Server, place: binarrow.Position
    ) -> None:
        gtid = last_gtid(server)
        assert ids(source, f"{place.file}:{place.offset}") == [1, 2, 3, 4]
        assert ids(source, gtid) == [1, 2, 4, 5, 30]
        if not server.is_mariadb:
            assert ids(source, gtid, before=True) == [1, 2, 30]
            assert ids(source, gtid.upper()) == [1, 2, 4, 5, 30]
        with pytest.raises(binarrow.ConfigError, match="in the middle of a transaction"):
            ids(source, f"{place.file}:{inside(server, place)}")
        server.flush_binlog()
        assert ids(source, gtid) == [1, 2, 4, 5, 30]

    @pytest.mark.parametrize(
        "statement",
        [
            "TRUNCATE TABLE t",
            "ALTER TABLE t ADD COLUMN m INT",
            "RENAME TABLE t TO u, u TO t",
            "CREATE TABLE u LIKE t; DROP TABLE t; RENAME TABLE u TO t",
        ],
    )
    def test_statements_after_it(
        self, server: Server, source: binarrow.Server, place: binarrow.Position, statement: str
    ) -> None:
        server.execute(*statement.split("; "))
        with pytest.raises(
            binarrow.SchemaError, match=r"is after the moment|its structure"
        ) as caught:
            ids(source, place)
        assert re.search("Choose a (moment after it|later moment)", str(caught.value))
        assert ids(source, source.position()) is not None

    def test_other_tables_do_not_matter(
        self, server: Server, source: binarrow.Server, place: binarrow.Position
    ) -> None:
        server.execute("CREATE TABLE other (id INT)", "DROP TABLE other")
        assert ids(source, place) == [1, 2, 3, 4]

    def test_changes_that_are_not_logged(
        self, server: Server, source: binarrow.Server, place: binarrow.Position
    ) -> None:
        server.execute(
            "SET SESSION sql_log_bin = 0", "UPDATE t SET n = 7 WHERE id = 2", "SET sql_log_bin = 1"
        )
        with pytest.raises(binarrow.UnsupportedEventError, match="sql_log_bin"):
            ids(source, place)

    @pytest.mark.parametrize(
        ("method", "value", "message"),
        [
            ("database_filters", ["other"], "binlog_ignore_db: other"),
            ("logs_all_changes", False, "log_replica_updates=OFF"),
        ],
    )
    def test_servers_that_do_not_log_all_changes(
        self,
        source: binarrow.Server,
        place: binarrow.Position,
        monkeypatch: pytest.MonkeyPatch,
        method: str,
        value: object,
        message: str,
    ) -> None:
        assert source.logs_all_changes()
        monkeypatch.setattr(binarrow.Server, method, lambda _: value)
        with pytest.warns(binarrow.BinarrowWarning, match=message):
            assert ids(source, place) == [1, 2, 3, 4]

    @pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
    def test_images_without_all_columns(
        self, server: Server, source: binarrow.Server, place: binarrow.Position, image: str
    ) -> None:
        server.execute(
            "ALTER TABLE t ADD COLUMN b BLOB",
            f"SET SESSION binlog_row_image = {image}",
        )
        place = source.position()
        server.execute("UPDATE t SET n = 8 WHERE id = 1", "SET SESSION binlog_row_image = FULL")
        with pytest.raises(binarrow.SchemaError, match="binlog_row_image=FULL"):
            ids(source, place)

    def test_bad_calls(self, source: binarrow.Server, place: binarrow.Position) -> None:
        now = datetime.now(UTC)
        for moment, error in (
            (now + timedelta(days=1), binarrow.ConfigError),
            (now - timedelta(days=9), binarrow.PositionPurgedError),
            ("earliest", binarrow.ConfigError),
            ("00000000-0000-0000-0000-000000000000:1", binarrow.PositionPurgedError),
            ("binlog.999999:4", binarrow.BinarrowError),
        ):
            with pytest.raises(error):
                ids(source, moment)
        for keywords in (
            {"where": "old.n = 1"},
            {"where": "nn = 1"},
            {"columns": []},
            {"columns": ["nn"]},
            {"before": True},
        ):
            with pytest.raises((binarrow.ConfigError, binarrow.SchemaError)):
                ids(source, place, **keywords)


def inside(server: Server, place: binarrow.Position) -> int:
    """The offset of the second statement of a transaction: the text of it in MariaDB."""
    server.execute("BEGIN", *[f"INSERT INTO t (id) VALUES ({n})" for n in (97, 98)], "COMMIT")
    server.execute("DELETE FROM t WHERE id > 90")
    names = ("Annotate_rows", "Table_map")
    path = str(server.binlog_files()[-1])
    events = [
        one for one in binarrow.inspect(path) if one.type_name == names[not server.is_mariadb]
    ]
    return events[-2].offset


def ids(source: binarrow.Server, moment: Any, **keywords: Any) -> list[int]:
    with binarrow.rows_at(source, "live.t", moment, **keywords) as rows:
        return sorted(rows.read_all().column("id").to_pylist())


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
def test_actions_of_foreign_keys(server: Server, source: binarrow.Server) -> None:
    server.execute(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)"
        " ON UPDATE CASCADE)",
        "INSERT INTO parent VALUES (1)",
        "INSERT INTO t VALUES (1, 1)",
    )
    place = source.position()
    server.execute("UPDATE parent SET id = 2")
    with pytest.raises(binarrow.UnsupportedEventError, match="ON UPDATE CASCADE"):
        ids(source, place)
    assert ids(source, place, unlogged_changes="ignore") == [1]


def test_actions_through_other_tables(tmp_path: Path) -> None:
    """The log contains only the delete of a grandparent, which no foreign key of the table names."""
    with live.loading_server("mysql-5.7") as server, live.reach(server) as source:
        server.execute(
            "DROP DATABASE live",
            "CREATE DATABASE live",
            "USE live",
            "CREATE TABLE grandparent (id INT PRIMARY KEY)",
            "CREATE TABLE parent (id INT PRIMARY KEY, g INT, FOREIGN KEY (g)"
            " REFERENCES grandparent (id) ON DELETE CASCADE)",
            "CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)"
            " ON DELETE CASCADE)",
            "INSERT INTO grandparent VALUES (1)",
            "INSERT INTO parent VALUES (1, 1)",
            "INSERT INTO t VALUES (1, 1)",
            "CREATE TABLE other (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)"
            " ON DELETE CASCADE)",
            "CREATE TABLE child (id INT PRIMARY KEY, o INT, FOREIGN KEY (o) REFERENCES other (id)"
            " ON DELETE CASCADE)",
            "INSERT INTO other VALUES (1, 1)",
        )
        place = source.position()
        # The keys of t do not lead to this table.
        server.execute("DELETE FROM other")
        assert ids(source, place) == [1]
        server.execute("DELETE FROM grandparent")
        with pytest.raises(binarrow.UnsupportedEventError, match="CASCADE"):
            ids(source, place)
        archived = str(shutil.copy(server.flush_binlog(), tmp_path))
        server.execute(f"PURGE BINARY LOGS TO '{server.binlog_files()[-1].name}'")
        with pytest.raises(binarrow.UnsupportedEventError, match="CASCADE"):
            ids(source, place, archive=archived)


def test_tables_without_snapshots(server: Server, source: binarrow.Server) -> None:
    server.execute("CREATE TABLE t (id INT PRIMARY KEY) ENGINE=MyISAM")
    with pytest.raises(binarrow.UnsupportedEventError, match="MyISAM"):
        ids(source, source.position())
    if server.is_mariadb:
        server.execute("CREATE OR REPLACE TABLE t (id INT PRIMARY KEY) WITH SYSTEM VERSIONING")
        with pytest.raises(binarrow.UnsupportedEventError, match="SYSTEM_TIME"):
            ids(source, source.position())
