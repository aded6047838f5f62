"""Errors after which a stream cannot continue: it ends at once, with one error that says what to do.

The F's are those of the project's list of faults.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import binarrow
from support import live
from support.live import COLUMNS, NUMBERS, Collector, following, ids, insert, mark, reach, until
from support.servers.proxy import Proxy
from support.servers.servers import Server
from support.waiting import WAIT, within

pytestmark = pytest.mark.filterwarnings("ignore:no change of a table:binarrow.BinarrowWarning")


@pytest.fixture
def server(live_server: Server) -> Server:
    return live_server


def ended_with(collector: Collector, kind: type[Exception], match: str) -> None:
    """The stream ends with one such error, and then is over."""
    collector.join(WAIT)
    assert not collector.is_alive()
    assert type(collector.error) is kind
    assert re.search(match, str(collector.error))
    assert next(collector.stream, None) is None


def away(proxy: Proxy, collector: Collector, change: Callable[[], object]) -> None:
    """Something happens at the server while the stream cannot reach it."""
    proxy.refusing = True
    proxy.cut()
    change()
    proxy.refusing = False


def purge(server: Server) -> None:
    """All files but the last; MariaDB keeps one for a moment more, for its engines."""
    if server.flavor == "mariadb-11.8":  # it keeps what replicas might need, were there any
        server.execute("SET GLOBAL slave_connections_needed_for_purge = 0")
    closed = server.flush_binlog()
    last = server.binlog_files()[-1].name

    def purged() -> bool:
        server.execute(f"PURGE BINARY LOGS TO '{last}'")
        return not closed.exists()

    until(purged)


def reset(server: Server) -> None:
    statement = "RESET BINARY LOGS AND GTIDS" if server.flavor == "mysql" else "RESET MASTER"
    live.next_second(server)
    server.execute(statement)


# ------------------------------------------------------------------------------------------ lost


def test_purged_while_the_reader_is_away(server: Server) -> None:
    """F8."""
    with Proxy(server.port) as proxy, following(server, proxy.port) as collector:
        insert(server, next(NUMBERS))
        until(lambda: collector.batches)
        away(proxy, collector, lambda: purge(server))
        ended_with(collector, binarrow.PositionPurgedError, r"no longer has .*snapshot.*expire")


@pytest.mark.parametrize("by", ["position", "gtid_set"])
def test_a_start_that_was_purged(server: Server, by: str) -> None:
    with reach(server) as connection:
        position = connection.position()
        insert(server, next(NUMBERS))
        purge(server)
        start = position if by == "position" else position.gtid_set
        assert start is not None
        with (
            within(),
            pytest.raises(binarrow.PositionPurgedError, match=r"no longer has .*snapshot"),
        ):
            next(connection.stream(start, **COLUMNS))


def test_a_start_in_a_file_that_never_existed(server: Server) -> None:
    """Such a position was not purged: it is of another server, or mistyped."""
    with reach(server) as connection:
        newest = connection.binlogs()[-1].name
        base, number = newest.rsplit(".", 1)
        for file, error in [
            (f"other-bin.{number}", binarrow.ConfigError),
            (f"{base}.{int(number) + 5:06}", binarrow.ServerIdentityError),
        ]:
            with pytest.raises(error, match=rf"the server has no {re.escape(file)}.*{newest}"):
                next(connection.stream(f"{file}:4", **COLUMNS))
            with pytest.raises(error, match=re.escape(file)):
                connection.file_start(file)


@pytest.mark.parametrize("rows", [0, 60], ids=["shorter", "grown-past"])
def test_reset_while_the_reader_is_away(server: Server, rows: int) -> None:
    """F9, also where the new log has grown past the old offset."""
    reset(server)
    with Proxy(server.port) as proxy, following(server, proxy.port) as collector:
        insert(server, *itertools.islice(NUMBERS, 20))
        until(lambda: len(ids(collector.batches)) == 20)

        def change() -> None:
            reset(server)
            insert(server, *itertools.islice(NUMBERS, rows))

        away(proxy, collector, change)
        ended_with(collector, binarrow.ServerIdentityError, "log was reset")


def test_a_start_from_before_a_reset(server: Server) -> None:
    reset(server)
    insert(server, *itertools.islice(NUMBERS, 20))
    with reach(server) as connection:
        position = connection.position()
        reset(server)
        with pytest.raises(binarrow.ServerIdentityError, match="log was reset"):
            next(connection.stream(position, **COLUMNS))


@pytest.mark.parametrize("flavor", ["mysql", "mysql-5.7"])
def test_a_start_from_before_a_reset_without_gtids(flavor: str) -> None:
    """The new log has grown past the old place: the creation time of its file shows the difference."""
    with live.server(flavor, *live.NO_GTIDS) as server, reach(server) as connection:
        reset(server)
        insert(server, next(NUMBERS))
        stream = connection.stream("earliest", stop="end", **COLUMNS)
        list(stream)
        position = binarrow.Position.from_json(stream.position.to_json())
        assert list(connection.stream(position, stop="end", **COLUMNS)) == []
        reset(server)
        insert(server, *itertools.islice(NUMBERS, 60))
        with pytest.raises(binarrow.ServerIdentityError, match="log was reset"):
            next(connection.stream(position, **COLUMNS))


def test_reset_under_the_reader(server: Server) -> None:
    """Servers leave a dump of the old log as it is, and the next connection finds out; or they find out."""
    with Proxy(server.port) as proxy, following(server, proxy.port) as collector:
        first = next(NUMBERS)
        insert(server, first)
        until(lambda: collector.batches)
        reset(server)
        insert(server, *itertools.islice(NUMBERS, 60))
        proxy.cut()
        with pytest.raises(binarrow.BinarrowError, match="log was reset") as caught:
            collector.collected()
        assert type(caught.value) in {binarrow.ServerIdentityError, binarrow.ServerError}
        assert ids(collector.batches) == [first]


# ------------------------------------------------------------------------------------------ others


# A MariaDB with transactions of the same domain could be the same log, read too early.
OTHER = {True: ["--gtid-domain-id=9"], False: []}


@pytest.mark.parametrize("live_server", ["mysql", "mariadb-11.8"], indirect=True)
def test_another_server_at_the_address(server: Server) -> None:
    """F11."""
    with (
        live.server(server.flavor, *OTHER[server.is_mariadb]) as other,
        Proxy(server.port) as proxy,
    ):
        with following(server, proxy.port) as collector:
            insert(server, next(NUMBERS))
            until(lambda: collector.batches)
            position = collector.stream.position
            away(proxy, collector, lambda: proxy.lead_to(other.port))
            ended_with(collector, binarrow.ServerIdentityError, "the position belongs to")
        refused = pytest.raises(binarrow.ServerIdentityError, match="the position belongs to")
        with reach(other) as connection, refused:
            next(connection.stream(position, **COLUMNS))


def test_two_readers_with_one_id(server: Server) -> None:
    """The server cuts the older off; it does not come back, for that would cut off the other: F12."""
    with following(server, server_id=4242, heartbeat=WAIT) as older:
        insert(server, next(NUMBERS))
        until(lambda: older.batches)
        with following(server, server_id=4242, heartbeat=WAIT) as newer:
            number = next(NUMBERS)
            insert(server, number)
            ended_with(older, binarrow.ServerIdentityError, "server_id=")
            assert older.stream.stats()["reconnects"] == 0
            mark(server)
            assert ids(newer.collected()) == [number]
            assert newer.stream.stats()["reconnects"] == 0


# ------------------------------------------------------------------------------------------- ends


QUIET: dict[str, Any] = {"tables": "live.t", "heartbeat": 2 * WAIT, **COLUMNS}
"""No heartbeat comes that could end a wait."""


def ends_with(stream: binarrow.Stream, wanted: list[int]) -> None:
    """The stream ends after these rows, although the server sends nothing more."""
    with within():
        assert ids(stream) == wanted


def test_a_time_that_is_over(server: Server) -> None:
    number = next(NUMBERS)
    with reach(server) as connection:
        start = connection.position()
        insert(server, number)
        live.later_second(server)
        past = datetime.now(UTC)
        live.later_second(server)
        insert(server, next(NUMBERS))
        ends_with(connection.stream(start, stop=past, **QUIET), [number])


def test_a_time_that_comes_on_a_quiet_server(server: Server) -> None:
    number = next(NUMBERS)
    with reach(server) as connection:
        start = connection.position()
        insert(server, number)
        stop = datetime.now(UTC) + timedelta(seconds=1.5)
        ends_with(connection.stream(start, stop=stop, **{**QUIET, "heartbeat": 0.2}), [number])
        assert datetime.now(UTC) >= stop


def test_a_gtid_set(server: Server) -> None:
    with reach(server) as connection:
        insert(server, next(NUMBERS))
        before = connection.position()
        wanted = list(itertools.islice(NUMBERS, 3))
        insert(server, *wanted)
        stop = connection.position().gtid_set
        assert before.gtid_set
        assert stop
        keywords = {"stop": stop, **QUIET}
        ends_with(connection.stream(before, **keywords), wanted)
        ends_with(connection.stream(before.gtid_set, **keywords), wanted)
        # nothing of it is left to read
        ends_with(connection.stream("latest", **keywords), [])
        ends_with(connection.stream(stop, **keywords), [])
        # all of it is still to come
        ahead = connection.stream("latest", **{**keywords, "stop": after(server, stop)})
        number = next(NUMBERS)
        insert(server, number)
        ends_with(ahead, [number])


@pytest.mark.parametrize("live_server", ["mysql", "mysql-5.7"], indirect=True)
def test_a_gtid_set_from_where_no_gtids_are_known(server: Server) -> None:
    """MySQL does not report the GTIDs before a place in the middle of a file."""
    with reach(server) as connection:
        insert(server, next(NUMBERS))
        here = connection.position()
        stream = connection.stream(str(here), stop=here.gtid_set, **COLUMNS)
        with pytest.raises(binarrow.ConfigError, match=r"GTIDs before .* are not known"):
            next(stream)


def after(server: Server, gtids: str) -> str:
    """The set with the server's next transaction."""
    if server.is_mariadb:
        head, last = gtids.rsplit("-", 1)
        return f"{head}-{int(last) + 1}"
    head, last = (
        gtids.rsplit("-", 1)
        if "-" in gtids.rsplit(":", 1)[-1]
        else (gtids, gtids.rsplit(":", 1)[-1])
    )
    return f"{head}-{int(last) + 1}"
