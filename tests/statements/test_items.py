"""Items that are not rows: between the rows, in the order of execution, from files and from streams.

Ghost tables of online schema changes, whose statements are played as the tools send them, are in `test_online_changes.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

import binarrow
from binarrow import (
    Change,
    ChangeBatch,
    FileCheckpoint,
    Heartbeat,
    Position,
    SchemaChange,
    Transaction,
)
from support.live import COLUMNS, ids, insert, reach, until
from support.oracles.changes import joined, shown
from support.servers.servers import Server, Session

ALL = ["schema_change", "truncate", "transaction"]

WAYS: list[dict[str, Any]] = [
    {"threads": 1},
    {"threads": 4},
    {"threads": 4, "segment_bytes": 100},  # each transaction in pieces
    {"threads": 1, "segment_bytes": 1000},
]

XAER_NOTA, XAER_RMFAIL = 1397, 1399

COLUMNS_OF_A = "(id DECIMAL(9,0) PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4)"
"""Any server's log contains enough about them."""

XA = "XA START '{0}'|INSERT INTO items.a VALUES ({1}, 'x')|XA END '{0}'"


def play(server: Server) -> Iterator[tuple[str, list[str]]]:
    """Statements, `|` between those of one line, and what comes of them."""
    xa = "X'{}',X'',1"
    yield "CREATE DATABASE items", ["create items"]
    yield "USE items", []
    yield f"CREATE TABLE a {COLUMNS_OF_A}", ["create items.a"]
    yield "CREATE TABLE IF NOT EXISTS items.b LIKE a", ["create items.b"]
    yield "INSERT INTO a VALUES (1, 'x'), (2, 'y')", ["begin", "a 2", "end 2"]
    two = "BEGIN|INSERT INTO a VALUES (3, 'x')|INSERT INTO b VALUES (1, 'x')|UPDATE a SET v = 'z'|COMMIT"
    yield two, ["begin", "rows 8", "end 8"]
    yield "BEGIN|INSERT INTO a VALUES (4, 'x')|ROLLBACK", []
    yield "/* why */ ALTER TABLE a /*!50000 ADD COLUMN w INT */", ["alter items.a"]
    yield "CREATE UNIQUE INDEX i ON b (v)", ["alter items.b"]
    yield "DROP INDEX i ON items.b", ["alter items.b"]
    yield "ALTER TABLE a DROP COLUMN w, RENAME TO c", ["alter items.a items.c"]
    yield "ALTER TABLE c RENAME a", ["rename items.c items.a"]
    yield "RENAME TABLE a TO c, b TO a, c TO b", ["rename items.a items.c items.b"]
    yield (
        "SET sql_mode = 'ANSI_QUOTES'|ALTER TABLE \"a\" COMMENT 'x'|SET sql_mode = DEFAULT",
        ["alter items.a"],
    )
    yield "CREATE TABLE `größe``x` (id INT)", ["create items.größe`x"]
    yield "CREATE TEMPORARY TABLE t (id INT)|INSERT INTO t VALUES (1)|DROP TEMPORARY TABLE t", []
    yield "CREATE VIEW v AS SELECT 1|DROP VIEW v|CREATE USER x|DROP USER x|ANALYZE TABLE a", []
    yield "CREATE PROCEDURE p() DROP TABLE a|DROP PROCEDURE p", []
    if server.flavor != "mysql-5.7":
        # MariaDB's and MySQL's forms differ, and are one transaction each.
        yield "CREATE TABLE s SELECT * FROM b", ["begin", "create items.s", "s 3", "end 3"]
        yield "DROP TABLE s", ["drop items.s"]
    if server.is_mariadb:
        yield "CREATE OR REPLACE TABLE s (id INT)", ["create items.s"]
        yield "SET STATEMENT max_statement_time = 9 FOR ALTER TABLE s ADD v INT", ["alter items.s"]
        yield "DROP TABLE IF EXISTS s, missing", ["drop items.s items.missing"]
        yield "SET GLOBAL log_bin_compress = ON", []
        yield "SET GLOBAL log_bin_compress_min_len = 10", []
        yield (
            "CREATE TABLE s (a_column_with_a_name INT, another_with_a_name INT)",
            ["create items.s"],
        )
        yield "INSERT INTO s VALUES (1, 1), (2, 2), (3, 3)", ["begin", "s 3", "end 3"]
        yield "SET GLOBAL log_bin_compress = OFF", []
    if server.flavor == "mariadb-11.8":
        yield "SET binlog_alter_two_phase = ON", []
        yield "ALTER TABLE b ADD w INT, ALGORITHM = COPY", ["alter items.b"]
        yield "ALTER TABLE b DROP w, ALGORITHM = COPY", ["alter items.b"]
        yield "SET binlog_alter_two_phase = OFF", []
    if server.flavor == "mysql":
        yield "SET binlog_transaction_compression = ON", []
        yield "INSERT INTO a VALUES (11, 'x'), (12, 'y')", ["begin", "a 2", "end 2"]
        yield "CREATE TABLE s SELECT * FROM b", ["begin", "create items.s", "s 3", "end 3"]
        prepared = xa.format("77")
        compressed = "SET binlog_transaction_compression = ON|"
        yield compressed + XA.format("w", 13) + "|XA PREPARE 'w'", [f"prepare {prepared} prepared"]
        yield "SET binlog_transaction_compression = OFF", []
        committed = [f"begin {prepared} committed", "a 1", f"end 1 {prepared} committed"]
        yield "XA COMMIT 'w'", committed
    one, two = xa.format("67"), xa.format("68")
    yield XA.format("g", 21) + "|XA PREPARE 'g'", [f"prepare {one} prepared"]
    yield "INSERT INTO b VALUES (21, 'between')", ["begin", "b 1", "end 1"]
    yield "XA COMMIT 'g'", [f"begin {one} committed", "a 1", f"end 1 {one} committed"]
    yield XA.format("h", 22) + "|XA PREPARE 'h'", [f"prepare {two} prepared"]
    yield "TRUNCATE b", ["truncate items.b"]
    yield "XA ROLLBACK 'h'", [f"rollback {two} rolled_back"]
    three = "" if server.is_mariadb else f" {xa.format('69')} committed"
    yield XA.format("i", 23) + "|XA COMMIT 'i' ONE PHASE", [f"begin{three}", "a 1", f"end 1{three}"]
    yield "ALTER DATABASE items CHARACTER SET utf8mb4", ["alter items"]
    yield "DROP DATABASE items", ["drop items"]


def decided(session: Session, statement: str) -> bool:
    """True if an XA transaction could be decided: false while its own session is ending."""
    try:
        session.execute(statement)
    except pymysql.err.Error as error:
        if error.args[0] not in (XAER_NOTA, XAER_RMFAIL):
            raise
        return False
    return True


class Logged:
    """A file that holds what was played, and what is expected of it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        server.flush_binlog()
        session = server.connect()
        self.expected: list[str] = []
        for line, lines in play(server):
            self.run(session, line)
            self.expected += lines
        session.close()
        self.file = server.flush_binlog()

    def run(self, session: Session, line: str) -> None:
        """Runs a line; one with XA PREPARE in a session that ends with it, because others cannot continue."""
        if line.startswith(("XA COMMIT", "XA ROLLBACK")):
            until(lambda: decided(session, line))
            return
        own = self.server.connect() if "XA PREPARE" in line else session
        own.execute(*line.split("|"))
        if own is not session:
            own.close()

    def read(self, **keywords: Any) -> list[Change]:
        """Reads the rows and items of the file."""
        return list(binarrow.read_binlog(self.file, include=ALL, **COLUMNS, **keywords))


@pytest.fixture(scope="module")
def logged(live_server: Server) -> Logged:
    return Logged(live_server)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(f"{k}{v}" for k, v in way.items()))
def test_items_stand_between_the_rows_in_order(logged: Logged, way: dict[str, Any]) -> None:
    changes = logged.read(**way)
    assert joined(changes) == logged.expected
    items = [change for change in changes if not isinstance(change, ChangeBatch | Heartbeat)]
    versions = [item.commit_version for item in items]
    assert versions == sorted(versions)
    assert all(item.commit_timestamp.year >= 2024 for item in items)
    for item in items:
        if isinstance(item, SchemaChange):
            assert item.statement not in repr(item)
        if isinstance(item, Transaction):
            assert item.gtid
            assert (item.original_commit_timestamp is not None) == (logged.server.flavor == "mysql")


def test_a_stream_gives_what_the_file_gives(logged: Logged) -> None:
    with reach(logged.server) as connection:
        start = f"{logged.file.name}:4"
        with connection.stream(start, stop="end", include=ALL, **COLUMNS) as stream:
            assert joined(list(stream)) == logged.expected


def test_a_stream_goes_on_between_prepare_and_decision(logged: Logged) -> None:
    changes = logged.read(segment_bytes=3000)
    prepared = [index for index, change in enumerate(changes) if "prepare" in shown(change)]
    assert len(prepared) >= 2
    with reach(logged.server) as connection:
        for index in prepared:
            start = Position.from_json(changes[index].position.to_json())
            stop = changes[-1].position
            with connection.stream(start, stop=stop, include=ALL, **COLUMNS) as stream:
                assert joined(list(stream)) == joined(changes[index + 1 :])


def test_each_position_resumes_with_the_rest(logged: Logged) -> None:
    """After a resume in a transaction, its items are returned again, and its rows are not."""
    changes = logged.read(segment_bytes=3000)
    begin, given = None, 0
    for index, change in enumerate(changes):
        if isinstance(change, Transaction):
            begin, given = (index if change.kind == "begin" else None), 0
        elif isinstance(change, ChangeBatch):
            given += change.num_rows
        rest = [shown(each) for each in changes[index + 1 :]]
        if begin is not None:
            items = [
                each for each in changes[begin : index + 1] if not isinstance(each, ChangeBatch)
            ]
            end = next(at for at, each in enumerate(rest) if each.startswith(("end", "rollback")))
            word, rows, *state = rest[end].split(" ", 2)
            rest[end] = " ".join([word, str(int(rows) - given), *state])
            rest = [shown(each) for each in items] + rest
        stored = Position.from_json(change.position.to_json())
        again = [shown(other) for other in logged.read(start=stored, segment_bytes=3000)]
        assert again == rest, change


def test_positions_and_gtids_stop_and_start_items_as_they_do_rows(logged: Logged) -> None:
    changes = logged.read(segment_bytes=3000)
    ends = [index for index, change in enumerate(changes) if shown(change).startswith("end")]
    for index in ends[:: len(ends) // 4]:
        before, rest = joined(changes[: index + 1]), joined(changes[index + 1 :])
        position = changes[index].position
        assert joined(logged.read(stop=position)) == before
        assert position.gtid_set is not None
        assert joined(logged.read(start=position.gtid_set)) == rest
        assert joined(logged.read(stop=position.gtid_set)) == before


def test_one_kind_of_item_alone(logged: Logged) -> None:
    def read(include: Any, **keywords: Any) -> list[str]:
        reader = binarrow.read_binlog(logged.file, include=include, **COLUMNS, **keywords)
        return [shown(change) for change in reader if not isinstance(change, ChangeBatch)]

    kinds = ("create", "alter", "drop", "rename", "truncate")
    is_statement = [line for line in logged.expected if line.startswith(kinds)]
    assert (
        read("schema_change") == is_statement
    )  # including a truncate, because those are not selected
    assert read(["truncate"]) == ["truncate items.b"]
    of_b = [line for line in is_statement if "items.b" in line or line.endswith(" items")]
    assert read("schema_change", tables="items.b") == of_b
    assert read("schema_change", exclude_tables="items.*") == []
    assert read("heartbeat") == []


def test_rows_that_never_happened_have_their_marks(logged: Logged) -> None:
    changes = [shown(change) for change in logged.read(uncommitted="emit", tables="items.a")]
    two = "X'68',X'',1"
    at = changes.index(f"prepare 1 {two} prepared")
    assert changes[at - 2 : at] == [f"begin {two} prepared", "a 1"]
    assert f"rollback 0 {two} rolled_back" in changes or f"rollback {two} rolled_back" in changes


def test_heartbeats_come_while_nothing_else_does(live_server: Server, tmp_path: Any) -> None:
    live_server.execute("DELETE FROM live.t")
    kept = FileCheckpoint(tmp_path / "position.json", interval=0)
    with reach(live_server) as connection:
        stream = connection.stream(
            "latest",
            include=["heartbeat", "transaction"],
            heartbeat=0.2,
            checkpoint=kept,
            **COLUMNS,
        )
        with stream:
            began = time.monotonic()
            first = [next(stream) for _ in range(3)]
            assert all(isinstance(change, Heartbeat) for change in first)
            assert time.monotonic() - began > 0.3
            while len({change.position for change in first}) > 1:
                # What MariaDB notes of its own of a file that it began comes a while after it.
                first = [*first[1:], next(stream)]
            insert(live_server, 1, 2)
            seen: list[Change] = []
            until(lambda: seen.append(next(stream)) or len(beats_after(seen)) == 2)
            lines = [shown(change) for change in seen if not isinstance(change, Heartbeat)]
            assert lines == ["begin", "t 1", "end 1"] * 2
            ends = [change for change in seen if isinstance(change, Transaction)]
            assert beats_after(seen)[0].position.offset >= ends[-1].position.offset
        assert kept.load() == seen[-1].position
    assert repr(seen[-1]) == f"<Heartbeat, position {seen[-1].position}>"


def beats_after(changes: list[Change]) -> list[Change]:
    """The heartbeats after the last change."""
    beats = [change for change in changes if isinstance(change, Heartbeat)]
    others = [index for index, change in enumerate(changes) if not isinstance(change, Heartbeat)]
    return beats if not others else [*changes[max(others) + 1 :]]


def test_a_checkpoint_follows_items_as_it_does_batches(live_server: Server, tmp_path: Any) -> None:
    live_server.execute("DELETE FROM live.t")
    path = tmp_path / "position.json"
    with reach(live_server) as connection:
        start = connection.position()
        insert(live_server, 7)
        live_server.execute("ALTER TABLE live.t COMMENT 'x'", "TRUNCATE live.t")
        insert(live_server, 8)

        def stream() -> binarrow.Stream[Change]:
            kept = FileCheckpoint(path, interval=0)
            include: Any = ["schema_change", "truncate"]
            return connection.stream(start, stop="end", checkpoint=kept, include=include, **COLUMNS)

        def take(count: int) -> None:
            """Takes one after the other; the last is not done with."""
            with stream() as changes:
                for _, change in zip(range(count), changes, strict=False):
                    seen.append(shown(change))
                raise RuntimeError

        seen: list[str] = []
        for _ in range(3):
            with pytest.raises(RuntimeError):
                take(2)
        # What was not done with when the block was left came again, and nothing was left out.
        assert seen == [
            "t 1",
            "alter live.t",
            "alter live.t",
            "truncate live.t",
            "truncate live.t",
            "t 1",
        ]
        with stream() as changes:
            rest = [change for change in changes if isinstance(change, ChangeBatch)]
        assert ids(rest) == [8]
