"""A server's log in parts: their ends, and their rows, which together are those of the complete log."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import binarrow
from binarrow import Position
from support import live
from support.live import COLUMNS, flat, reach
from support.oracles.replay import ENVELOPE
from support.servers import replicas
from support.servers.servers import Server

READ = {**COLUMNS, "envelope": ENVELOPE}

FLAVORS = ("mysql", "mariadb-11.8")


@pytest.fixture(scope="module", params=FLAVORS)
def played(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Position]]:
    """A server whose log has three files with rows, and where that begins."""
    with live.server(request.param) as server, reach(server) as connection:
        start = connection.position()
        for number in range(3):
            rows = [f"INSERT INTO live.t VALUES ({number * 100 + row}, 'x')" for row in range(20)]
            server.execute(*rows, f"INSERT INTO live.big VALUES ({number}, REPEAT('b', 60000))")
            server.execute(f"CREATE TABLE live.other{number} (a INT)", "FLUSH BINARY LOGS")
        server.execute("DELETE FROM live.t WHERE id < 10")
        if server.is_mariadb:
            # Its thread adds an event with the file's own name, some time after the file begins.
            last = server.binlog_files()[-1]
            live.until(lambda: last.name.encode() in last.read_bytes())
        yield server, start


def root(server: Server) -> binarrow.Server:
    """A connection that sees all tables."""
    return binarrow.connect(socket=str(server.socket), user="root")


def whole(connection: binarrow.Server, start: Position, stop: Position) -> live.Changes:
    with connection.stream(start, stop=stop, **READ) as stream:
        return flat(stream)


def test_drains(played: tuple[Server, Position]) -> None:
    """Each part is not the end of a transaction within its bytes; all of them end where the log does."""
    server, start = played
    with reach(server) as connection:
        head = connection.position()
        assert connection.range_end(start) == head
        assert connection.range_end(head) == head
        with connection.stream(start, stop=head, include=["transaction"], **COLUMNS) as stream:
            ends = {str(item.position) for item in stream}
        places, here = [start], start
        while here != head:
            after = connection.range_end(here, max_bytes=5_000)
            assert after != here
            if after.file == here.file:
                one = connection.range_end(here, max_bytes=0)
                assert after.offset - here.offset <= 5_000 or after == one
            places.append(after)
            here = after
        assert len(places) > 8
        assert len(ends & {str(place) for place in places}) > 5
        sizes = {one.name: one.size for one in connection.binlogs()}
        middle = places[len(places) // 2]
        assert connection.range_end(start, stop=middle) == middle
        # Places within a transaction are not used.
        within = Position.from_json(
            middle.to_json().replace(f'"offset":{middle.offset}', f'"offset":{middle.offset - 1}')
        )
        before = connection.range_end(start, stop=within)
        assert (before.file, before.offset) < (middle.file, middle.offset)
        for name in list(sizes)[1:]:
            begun = connection.file_start(name)
            assert (begun.file, begun.offset) == (name, 4)
            if name > start.file:
                assert begun.gtid_set == connection.range_end(start, stop=begun).gtid_set
        with pytest.raises(binarrow.ConfigError, match=r"has no nothing\.000001: its files are"):
            connection.file_start("nothing.000001")


def test_ranges_are_the_whole(played: tuple[Server, Position]) -> None:
    """Ranges one after the other give what one read of all gives, at whatever ends they meet."""
    server, start = played
    with reach(server) as connection:
        head = connection.position()
        places = [start]
        while places[-1] != head:
            places.append(connection.range_end(places[-1], max_bytes=30_000))
        files = [connection.file_start(one.name) for one in connection.binlogs()]
        files = [one for one in files if one.file > start.file]
        rows = whole(connection, start, head)
        for cuts in (places, [start, *files, head]):
            batches = []
            for first, last in itertools.pairwise(cuts):
                with connection.range(first, last, **READ) as stream:
                    batches += list(stream)
            assert flat(batches) == rows
        with pytest.raises(binarrow.ConfigError, match="goes backwards"):
            connection.range(head, start)


@contextmanager
def once_it_waits(
    caplog: pytest.LogCaptureFixture, act: Callable[..., object], *arguments: object
) -> Iterator[None]:
    """Does something in a thread when the range's end is not there yet."""
    caplog.set_level("INFO", "binarrow.live")
    caplog.clear()

    def run() -> None:
        live.until(lambda: "requesting it again" in caplog.text)
        act(*arguments)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()


def test_range_beyond_the_log(
    played: tuple[Server, Position], caplog: pytest.LogCaptureFixture
) -> None:
    """A log that ends before a range does is waited for, then an error that names both places."""
    server, start = played
    with reach(server) as connection:
        head = connection.position()
        stored = json.loads(head.to_json())
        behind = Position.from_json(json.dumps(stored | {"offset": head.offset + 1000}))
        begun = time.monotonic()
        with (
            connection.range(start, behind, reconnect=0.3, **READ) as stream,
            pytest.raises(
                binarrow.ServerIdentityError, match=re.escape(f"{head}, before {behind}")
            ),
        ):
            list(stream)
        assert time.monotonic() - begun > 0.3
        # One that comes to it meanwhile is read to its end.
        server.execute("INSERT INTO live.t VALUES (901, REPEAT('z', 150))")
        after = connection.position()
        grown = Position.from_json(
            after.to_json().replace(
                f'"offset":{after.offset}', f'"offset":{2 * after.offset - head.offset}'
            )
        )
        late = "INSERT INTO live.t VALUES (900, REPEAT('y', 150))"
        with (
            once_it_waits(caplog, server.execute, late),
            connection.range(head, grown, reconnect=live.WAIT, **READ) as stream,
        ):
            changes = flat(stream)
        assert len(changes[0][1]) == 2
        # An end within a transaction is not valid.
        cut = Position.from_json(
            after.to_json().replace(f'"offset":{after.offset}', f'"offset":{after.offset - 9}')
        )
        with (
            connection.range(head, cut, reconnect=0.5, **READ) as stream,
            pytest.raises(binarrow.ConfigError, match="is not the end of a transaction"),
        ):
            list(stream)


def test_a_drain_ends_with_its_server(caplog: pytest.LogCaptureFixture) -> None:
    """If a server has ended, a range waits for it; closing the server's object ends the wait."""
    with live.server("mysql") as server:
        connection = reach(server)
        start = connection.position()
        server.stop()
        failed: list[Exception] = []

        def range_end() -> None:
            try:
                connection.range_end(start)
            except binarrow.BinarrowError as error:
                failed.append(error)

        waiting = threading.Thread(target=range_end)
        waiting.start()
        live.until(lambda: any("cannot continue yet" in one for one in caplog.messages))
        assert waiting.is_alive()
        connection.close()
        waiting.join(live.WAIT)
        assert isinstance(failed[0], binarrow.CancelledError)


def test_parts_of_a_history(played: tuple[Server, Position]) -> None:
    """A search for a range's end takes a history along; a range then needs its part alone."""
    server, start = played
    with root(server) as connection, binarrow.SchemaHistory.open("memory:") as history:
        head = connection.position()
        middle = connection.range_end(start, max_bytes=50_000, history=history)
        assert connection.range_end(middle, history=history) == head
        parts = []
        for first, last in ((start, middle), (middle, head)):
            snapshot = history.schema_snapshot(first, last, tables="live.*")
            with connection.range(
                first, last, schema_snapshot=snapshot, envelope=ENVELOPE
            ) as stream:
                parts += list(stream)
        with connection.stream(start, stop=head, history=history, envelope=ENVELOPE) as stream:
            assert flat(parts) == flat(stream)
        assert all("id" in batch.to_pyarrow().schema.names for batch in parts)


@pytest.mark.parametrize("flavor", FLAVORS)
def test_ranges_on_another_server(flavor: str, caplog: pytest.LogCaptureFixture) -> None:
    """A replica gives the same rows, by GTID; the range waits for one that lags, and then it is an error."""
    with replicas.pair(flavor) as (source, replica), root(source) as first, root(replica) as second:
        source.execute("CREATE DATABASE live", live.SMALL)
        start = first.position()
        source.execute("INSERT INTO live.t VALUES (1, 'a')", "INSERT INTO live.t VALUES (2, 'b')")
        middle = first.position()
        source.execute("FLUSH BINARY LOGS", "UPDATE live.t SET note = 'c' WHERE id = 1")
        late = first.position()
        replicas.catch_up(replica, replicas.executed(source))
        replicas.stop_applying(replica)
        source.execute("INSERT INTO live.t VALUES (3, 'd')", "DELETE FROM live.t WHERE id = 2")
        head = first.position()
        replicas.receive_all(replica, source)

        def rows(connection: binarrow.Server, begin: Position, end: Position) -> list[object]:
            with connection.range(begin, end, reconnect=live.WAIT, **COLUMNS) as stream:
                tables = [batch.to_pyarrow() for batch in stream]
            kinds = [kind for one in tables for kind in one.column("_change_type").to_pylist()]
            return [kinds, [str(cell) for one in tables for cell in one.column(0).to_pylist()]]

        for begin, end in ((start, middle), (middle, late), (start, late)):
            assert rows(second, begin, end) == rows(first, begin, end)
        reached = second.range_end(start, stop=middle)
        assert reached.server == second.id
        assert reached.gtid_set == middle.gtid_set
        with (
            second.range(late, head, reconnect=0.5, **COLUMNS) as stream,
            pytest.raises(binarrow.ServerIdentityError, match=re.escape(f"before {head}")),
        ):
            list(stream)
        with once_it_waits(caplog, replicas.apply, replica):
            assert rows(second, late, head) == rows(first, late, head) != [[], []]
