"""The rows of transactions and their order: small cases, written by hand."""

from __future__ import annotations

import pytest

import binarrow
from support.logged import cells_of, database, logged, logging, read, rows
from support.servers.servers import Server

pytestmark = pytest.mark.filterwarnings("ignore:no change of a table:binarrow.BinarrowWarning")

T = "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, note VARCHAR(20))"
U = "CREATE TABLE u (id INT UNSIGNED PRIMARY KEY, note VARCHAR(20))"
PLAIN = "CREATE TABLE plain (id INT PRIMARY KEY) ENGINE=MyISAM"


@pytest.fixture
def small(server: Server) -> Server:
    """A server with a database `small` for one test."""
    with database(server, "small", T, U, PLAIN):
        yield server


# -------------------------------------------------------------------------------------- values


def test_large_unsigned_value(small: Server) -> None:
    files = logged(
        small,
        "INSERT INTO t VALUES (3916586877, 'big')",
        "UPDATE t SET note = 'same' WHERE id = 3916586877",
        "DELETE FROM t",
    )
    assert rows(files, "small.t") == [
        ("insert", 3916586877, "big"),
        ("update_preimage", 3916586877, "big"),
        ("update_postimage", 3916586877, "same"),
        ("delete", 3916586877, "same"),
    ]
    assert rows(files, "small.t", types="spark") == rows(files, "small.t")


def test_key_change(small: Server) -> None:
    small.execute("INSERT INTO t VALUES (1, 'a')")
    files = logged(small, "UPDATE t SET id = 2, note = 'b'")
    assert rows(files, "small.t") == [("delete", 1, "a"), ("insert", 2, "b")]
    assert rows(files, "small.t", split_key_updates=False) == [
        ("update_preimage", 1, "a"),
        ("update_postimage", 2, "b"),
    ]


def test_update_of_several_tables(small: Server) -> None:
    small.execute(
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO u VALUES (1, 'x'), (2, 'y')"
    )
    files = logged(small, "UPDATE t JOIN u USING (id) SET t.note = u.note, u.note = 'z'")

    assert rows(files, "small.t") == [
        ("update_preimage", 1, "a"),
        ("update_postimage", 1, "x"),
        ("update_preimage", 2, "b"),
        ("update_postimage", 2, "y"),
    ]
    assert rows(files, "small.u") == [
        ("update_preimage", 1, "x"),
        ("update_postimage", 1, "z"),
        ("update_preimage", 2, "y"),
        ("update_postimage", 2, "z"),
    ]
    both = list(read(files, "small.*"))
    places = list(
        zip(cells_of(both, "_commit_version"), cells_of(both, "_change_ordinal"), strict=True)
    )
    assert len({version for version, _ in places}) == 1
    assert len(set(places)) == 8
    for table in ("small.t", "small.u"):
        few = cells_of(read(files, table), "_change_ordinal")
        assert set(few) < {ordinal for _, ordinal in places}


# ------------------------------------------------------------------------------ undone changes


def test_rolled_back_statements_and_savepoints(small: Server) -> None:
    files = logged(
        small,
        "BEGIN",
        "INSERT INTO t VALUES (1, 'kept')",
        "SAVEPOINT a",
        "INSERT INTO t VALUES (2, 'undone')",
        "SAVEPOINT b",
        "DELETE FROM t",
        "ROLLBACK TO b",
        "RELEASE SAVEPOINT b",
        "ROLLBACK TO a",
        "INSERT INTO t VALUES (3, 'kept')",
        "COMMIT",
        "BEGIN",
        "INSERT INTO t VALUES (4, 'undone')",
        "ROLLBACK",
    )
    assert rows(files, "small.t") == [("insert", 1, "kept"), ("insert", 3, "kept")]


@pytest.mark.parametrize("server", ["mariadb-10.11", "mariadb-11.8"], indirect=True)
def test_rollback_leaves_tables_without_transactions_alone(small: Server) -> None:
    files = logged(
        small,
        "BEGIN",
        "INSERT INTO t VALUES (1, 'undone')",
        "INSERT INTO plain VALUES (1)",
        "INSERT INTO t VALUES (2, 'undone')",
        "ROLLBACK",
    )
    assert small.query("SELECT COUNT(*) FROM t") == [(0,)]
    assert rows(files, "small.t") == []
    assert rows(files, "small.plain") == [("insert", 1)]


@pytest.mark.parametrize("server", ["mariadb-10.11", "mariadb-11.8"], indirect=True)
def test_mariadb_logs_a_rollback_with_a_temporary_table(small: Server) -> None:
    files = logged(
        small,
        "BEGIN",
        "INSERT INTO t VALUES (1, 'never')",
        "CREATE TEMPORARY TABLE passing (a INT)",
        "INSERT INTO t VALUES (2, 'never')",
        "ROLLBACK",
        "INSERT INTO t VALUES (3, 'kept')",
        "DROP TEMPORARY TABLE passing",
    )
    reader = read(files, "small.t")
    assert cells_of(reader, "id") == [3]
    assert reader.stats()["dropped_rows_events"] == 2
    emitted = rows(files, "small.t", uncommitted="emit")
    assert [row[1] for row in emitted] == [1, 2, 3]


@pytest.mark.parametrize("server", ["mariadb-10.11", "mariadb-11.8"], indirect=True)
def test_mariadb_logs_a_rollback_to_a_savepoint(small: Server) -> None:
    files = logged(
        small,
        "BEGIN",
        "INSERT INTO t VALUES (1, 'kept')",
        "SAVEPOINT `a 1`",
        "INSERT INTO t VALUES (2, 'never')",
        "CREATE TEMPORARY TABLE passing (a INT)",
        "SAVEPOINT b",
        "UPDATE t SET note = 'never' WHERE id = 1",
        "ROLLBACK TO `a 1`",
        "INSERT INTO t VALUES (3, 'kept')",
        "COMMIT",
        "DROP TEMPORARY TABLE passing",
    )
    assert small.query("SELECT id, note FROM t ORDER BY id") == [(1, "kept"), (3, "kept")]
    assert len(rows(files, "small.t", uncommitted="emit")) == 5
    assert rows(files, "small.t") == [("insert", 1, "kept"), ("insert", 3, "kept")]


# ------------------------------------------------------------------------------------------ XA


def test_xa_rows_come_out_at_the_commit(small: Server) -> None:
    other = small.connect(database="small")
    with logging(small) as files:
        small.execute(
            "XA START 'one'", "INSERT INTO t VALUES (1, 'xa')", "XA END 'one'", "XA PREPARE 'one'"
        )
        other.execute("INSERT INTO t VALUES (2, 'meanwhile')")
        small.execute("XA COMMIT 'one'")
        other.execute("INSERT INTO t VALUES (3, 'after')")
    other.close()

    batches = list(read(files, "small.t"))
    assert cells_of(batches, "id") == [2, 1, 3]
    versions = cells_of(batches, "_commit_version")
    assert versions == sorted(versions)
    assert len(set(versions)) == 3
    emitted = rows(files, "small.t", uncommitted="emit")
    assert [row[1] for row in emitted] == [1, 2, 3]


def test_xa_rollback_gives_nothing(small: Server) -> None:
    files = logged(
        small,
        "XA START 'one'",
        "INSERT INTO t VALUES (1, 'never')",
        "XA END 'one'",
        "XA PREPARE 'one'",
        "XA ROLLBACK 'one'",
        "XA START 'one'",
        "INSERT INTO t VALUES (2, 'never logged')",
        "XA END 'one'",
        "XA ROLLBACK 'one'",
        "INSERT INTO t VALUES (3, 'kept')",
    )
    assert rows(files, "small.t") == [("insert", 3, "kept")]
    emitted = rows(files, "small.t", uncommitted="emit")
    assert [row[1] for row in emitted] == [1, 3]


def test_xa_in_one_phase(small: Server) -> None:
    files = logged(
        small,
        "XA START X'00ff', X'6272', 7",
        "INSERT INTO t VALUES (1, 'xa')",
        "INSERT INTO u VALUES (1, 'xa')",
        "XA END X'00ff', X'6272', 7",
        "XA COMMIT X'00ff', X'6272', 7 ONE PHASE",
    )
    assert rows(files, "small.t") == [("insert", 1, "xa")]
    assert rows(files, "small.u") == [("insert", 1, "xa")]


@pytest.mark.parametrize("decision", ["COMMIT", "ROLLBACK"])
def test_xa_prepared_in_one_file_and_decided_in_another(small: Server, decision: str) -> None:
    other = small.connect(database="small")
    with logging(small) as files:
        small.execute("XA START 'far', 'b', 3", "INSERT INTO t VALUES (1, 'xa')")
        small.execute("XA END 'far', 'b', 3", "XA PREPARE 'far', 'b', 3")
        other.execute("INSERT INTO t VALUES (2, 'first file')")
        other.execute("FLUSH BINARY LOGS")
        other.execute("INSERT INTO t VALUES (3, 'second file')", "FLUSH BINARY LOGS")
        small.execute(f"XA {decision} 'far', 'b', 3")
    other.close()
    assert len(files) == 3

    rest = [("insert", 1, "xa")] if decision == "COMMIT" else []
    everything = [("insert", 2, "first file"), ("insert", 3, "second file"), *rest]
    assert rows(files, "small.t") == everything
    assert rows(files, "small.t", threads=4, segment_bytes=65_536) == everything

    # one file after another: what is prepared is part of the position
    reader = read(files[:1], "small.t")
    seen = cells_of(reader, "id")
    position = reader.position
    assert position is not None
    for upto in (2, 3):
        stored = binarrow.Position.from_json(position.to_json())
        reader = read(files[:upto], "small.t", start=stored)
        seen += cells_of(reader, "id")
        position = reader.position
        assert position is not None
    assert seen == [row[1] for row in everything]


# ---------------------------------------------------------------------------------- compressed


@pytest.mark.parametrize("server", ["mysql"], indirect=True)
def test_compressed_transactions(small: Server) -> None:
    with logging(small) as files:
        small.execute(
            "SET SESSION binlog_transaction_compression = ON",
            "BEGIN",
            "INSERT INTO t VALUES (1, REPEAT('a', 20)), (2, REPEAT('a', 20))",
            "INSERT INTO u VALUES (1, NULL)",
            "UPDATE t SET note = 'changed' WHERE id = 2",
            "COMMIT",
            "XA START 'packed'",
            "INSERT INTO t VALUES (3, REPEAT('a', 20))",
            "XA END 'packed'",
            "XA PREPARE 'packed'",
            "XA COMMIT 'packed'",
            "XA START 'dropped'",
            "INSERT INTO t VALUES (4, REPEAT('a', 20))",
            "XA END 'dropped'",
            "XA PREPARE 'dropped'",
            "XA ROLLBACK 'dropped'",
            "SET SESSION binlog_transaction_compression = OFF",
        )
    events = list(binarrow.inspect([str(path) for path in files]))
    assert sum(event.type_name == "Transaction_payload" for event in events) >= 1
    assert sum(event.compressed and "rows" in event.type_name for event in events) >= 3
    long = "a" * 20
    assert rows(files, "small.t") == [
        ("insert", 1, long),
        ("insert", 2, long),
        ("update_preimage", 2, long),
        ("update_postimage", 2, "changed"),
        ("insert", 3, long),
    ]
    assert rows(files, "small.u") == [("insert", 1, None)]
    ordinals = cells_of(read(files, "small.t"), "_change_ordinal")
    assert ordinals == [0, 2, 2 << 32, (2 << 32) + 1, 0]
