"""XA transactions that were prepared before a live read began: rows are given where they are committed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import binarrow
from binarrow.stream import Stream
from support import live
from support.servers.servers import Server

FLAVORS = ("mysql", "mariadb-11.8")

READ = {"tables": "live.t", **live.COLUMNS}


@pytest.fixture(scope="module", params=FLAVORS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        yield started


def prepare(server: Server, xid: str, *statements: str) -> None:
    """A transaction that is left prepared, by a connection that ends."""
    session = server.connect()
    session.execute(f"XA START '{xid}'", *statements, f"XA END '{xid}'", f"XA PREPARE '{xid}'")
    session.close()


def ids_in(batch: binarrow.ChangeBatch) -> list[tuple[int, int, str]]:
    data = batch.to_pyarrow()
    names = ("_commit_version", "_change_ordinal")
    versions, ordinals = (data.column(name).to_pylist() for name in names)
    return list(zip(versions, ordinals, map(str, data.column(0).to_pylist()), strict=True))


def ids(stream: Stream[Any]) -> list[str]:
    """The first column of all rows, in log order."""
    with stream as batches:
        return [cell for _, _, cell in sorted(one for batch in batches for one in ids_in(batch))]


@pytest.mark.filterwarnings("error::binarrow.BinarrowWarning")
def test_rows_of_a_transaction_prepared_in_an_earlier_file(server: Server) -> None:
    with live.reach(server) as connection:
        start = connection.position()
        # An id that was used and decided, then one that is left open, in the file's first part.
        prepare(server, "again", "INSERT INTO live.t VALUES (1, 'one')")
        live.decide(server, "XA COMMIT 'again'")
        prepare(
            server,
            "again",
            "INSERT INTO live.t VALUES (2, 'two')",
            "INSERT INTO live.t VALUES (3, 'x')",
        )
        prepare(server, "undone", "INSERT INTO live.t VALUES (4, 'four')")
        own = connection.position()
        prepare(server, "late", "INSERT INTO live.t VALUES (5, 'five')")
        server.execute("INSERT INTO live.t VALUES (6, 'six')", "FLUSH BINARY LOGS")
        between = connection.position()
        latest = connection.stream("latest", stop=None, **READ)
        server.execute("INSERT INTO live.t VALUES (7, 'seven')")
        live.decide(server, "XA ROLLBACK 'undone'")
        server.execute("FLUSH BINARY LOGS")
        third = connection.position()
        live.decide(server, "XA COMMIT 'again'")
        server.execute("INSERT INTO live.t VALUES (8, 'eight')")
        live.decide(server, "XA COMMIT 'late'")
        prepare(server, "undone", "INSERT INTO live.t VALUES (9, 'nine')")
        live.decide(server, "XA COMMIT 'undone'")
        head = connection.position()
        whole = ids(connection.range(start, head, **READ))
        assert whole == ["1", "6", "7", "2", "3", "8", "5", "9"]
        # The own file's part before the start, an earlier file, and one before that.
        for cut, first in ((own, ["1"]), (between, ["1", "6"]), (third, ["1", "6", "7"])):
            assert ids(connection.range(start, cut, **READ)) == first
            assert ids(connection.range(cut, head, **READ)) == whole[len(first) :]
        assert ids(connection.stream(third, stop=head, **READ)) == whole[3:]
        if not server.is_mariadb:  # by GTID the dump has no place in a file to look before
            read = third.gtid_set
            assert read is not None
            assert ids(connection.stream(read, stop=head.gtid_set, **READ)) == whole[3:]
        # A stream from where the log ended while they were prepared.
        with latest as batches:
            seen: list[str] = []
            for batch in batches:
                seen += [cell for _, _, cell in ids_in(batch)]
                if "9" in seen:
                    break
        assert seen == whole[2:]


def test_with_a_history(server: Server) -> None:
    """The structures are those of the place where the transaction was prepared. If the history begins later, its tables have
    not been changed until then."""
    with binarrow.connect(socket=str(server.socket), user="root") as connection:
        start = connection.position()
        prepare(server, "kept", "INSERT INTO live.t VALUES (21, 'x')")
        server.execute("FLUSH BINARY LOGS")
        middle = connection.position()
        live.decide(server, "XA COMMIT 'kept'")
        head = connection.position()
        options = {"tables": "live.t"}
        with binarrow.SchemaHistory.open("memory:") as history:
            connection.range_end(start, history=history)
            snapshot = history.schema_snapshot(middle, head, tables="live.t")
            assert ids(connection.range(middle, head, schema_snapshot=snapshot, **options)) == [
                "21"
            ]
            assert ids(connection.stream(middle, stop=head, history=history, **options)) == ["21"]
        with binarrow.SchemaHistory.open("memory:") as history:
            assert ids(connection.stream(middle, stop=head, history=history, **options)) == ["21"]


def test_a_transaction_whose_file_is_gone(server: Server) -> None:
    """Its rows are not given, and a warning says so."""
    with live.reach(server) as connection:
        prepare(server, "gone", "INSERT INTO live.t VALUES (31, 'x')")
        server.execute("FLUSH BINARY LOGS")
        start = connection.position()
        server.execute("FLUSH BINARY LOGS")
        server.execute("INSERT INTO live.t VALUES (32, 'x')")
        live.decide(server, "XA COMMIT 'gone'")
        head = connection.position()
        if server.is_mariadb:
            server.execute("SET GLOBAL slave_connections_needed_for_purge = 0")

        def is_purged() -> bool:
            server.execute(f"PURGE BINARY LOGS TO '{start.file}'")
            return connection.binlogs()[0].name == start.file

        live.until(
            is_purged
        )  # MariaDB keeps a file that holds a transaction of its engines for a moment
        with pytest.warns(
            binarrow.BinarrowWarning,
            match="prepared before the start of the input.*do not contain it",
        ):
            assert ids(connection.range(start, head, **READ)) == ["32"]
