"""A read that stops at a GTID set and is resumed at its position returns each row once, whatever the set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import binarrow
from support import live
from support.live import COLUMNS, ids, insert, reach

TABLE = {"tables": "live.t", **COLUMNS}


@pytest.fixture(scope="module", params=["mysql", "mariadb-11.8"])
def played(request: pytest.FixtureRequest) -> Any:
    """Rows 1 to 6, one transaction each, and the position before each of them."""
    with live.server(request.param) as server, reach(server) as connection:
        places = [connection.position()]
        for number in range(1, 7):
            insert(server, number)
            places.append(connection.position())
        yield server, connection, places


def without(places: list[binarrow.Position], hole: int) -> str:
    """The GTID set of all six transactions but one; MariaDB's positions cannot have a gap."""
    source, _, numbers = str(places[-1].gtid_set).partition(":")
    last = int(numbers.rpartition("-")[2])
    missing = last - 6 + hole
    rest = f":{missing + 1}-{last}" if hole < 6 else ""
    return f"{source}:1-{missing - 1}{rest}"


def sets(places: list[binarrow.Position], flavor: str) -> list[tuple[str, int]]:
    """GTID sets to stop at, and how many of the rows are before the first that is not in the set."""
    prefixes = [(str(place.gtid_set), number) for number, place in enumerate(places) if number]
    holes = [(without(places, hole), hole - 1) for hole in (2, 5)] if flavor == "mysql" else []
    return prefixes + holes


@pytest.mark.parametrize("batch_rows", [1, 1000])
def test_nothing_is_lost_behind_a_stop(played: Any, batch_rows: int) -> None:
    server, connection, places = played
    start, files = places[0], server.binlog_files()
    for stop, count in sets(places, server.flavor):
        for stop_at in (stop, position_of(start, stop)):
            stream = connection.stream(start, stop=stop_at, batch_rows=batch_rows, **TABLE)
            assert ids(stream) == list(range(1, count + 1)), stop
            rest = list(range(count + 1, 7))
            assert ids(connection.stream(stream.position, stop="end", **TABLE)) == rest
            reader = binarrow.read_binlog(
                files, start=start, stop=stop_at, batch_rows=batch_rows, **TABLE
            )
            assert ids(reader) == list(range(1, count + 1)), stop
            assert ids(binarrow.read_binlog(files, start=reader.position, **TABLE)) == rest


def position_of(start: binarrow.Position, gtid_set: str) -> binarrow.Position:
    """A Position that is a GTID set alone."""
    stored = {**json.loads(start.to_json()), "file": "", "offset": 0, "gtid_set": gtid_set}
    return binarrow.Position.from_json(json.dumps(stored))


def test_a_foreign_set_ends_the_read_with_a_warning(played: Any) -> None:
    server, connection, places = played
    foreign = {"mysql": "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb:1-3"}.get(server.flavor, "77-7-3")
    stream = connection.stream(places[0], stop=foreign, **TABLE)
    with pytest.warns(binarrow.BinarrowWarning, match="not in the GTID set"):
        assert ids(stream) == []
    assert ids(connection.stream(stream.position, stop="end", **TABLE)) == [1, 2, 3, 4, 5, 6]


def test_a_read_by_gtid_continues_from_files(played: Any) -> None:
    """Transactions after the position's offset may have been read already."""
    server, connection, places = played
    if server.flavor != "mysql":
        return  # a GTID position of one domain has no gaps
    read = without(places, 2)  # all but row 2
    stream = connection.stream(read, stop="end", batch_rows=1, **TABLE)
    assert ids(stream) == [2]
    files = server.binlog_files()
    assert ids(binarrow.read_binlog(files, start=stream.position, **TABLE)) == []
    read = f"{without(places, 1).rpartition('-')[0]}".rpartition(":")[0]
    numbers = str(places[0].gtid_set).rpartition("-")[2]
    read = f"{read}:{int(numbers) + 3}"  # row 3 besides what was before row 1
    first = next(connection.stream(read, stop="end", batch_rows=1, **TABLE))
    assert ids([first]) == [1]
    assert ids(binarrow.read_binlog(files, start=first.position, **TABLE)) == [2, 4, 5, 6]


def test_a_stop_without_gtids_in_the_log() -> None:
    with live.server("mysql", *live.NO_GTIDS) as server, reach(server) as connection:
        start = connection.position()
        insert(server, 1)
        foreign = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb:1-3"
        with pytest.raises(binarrow.ConfigError, match=r"has no GTID|GTIDs before"):
            list(connection.stream(start, stop=foreign, **TABLE))
        with pytest.raises(binarrow.ConfigError, match="has no GTID"):
            list(binarrow.read_binlog(server.binlog_files(), stop=foreign, **TABLE))


def test_a_stop_of_another_server(tmp_path: Path) -> None:
    with (
        live.server("mysql", *live.NO_GTIDS) as one,
        live.server("mysql", *live.NO_GTIDS) as other,
        reach(one) as connection,
        reach(other) as elsewhere,
    ):
        stop = elsewhere.position()
        stream = connection.stream("earliest", stop=stop, **TABLE)
        with pytest.raises(binarrow.ServerIdentityError, match="is a position in the log of the"):
            next(stream)


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_compressed_transactions_of_one_operation_advance(batch_rows: int) -> None:
    """Every batch is a place to resume at, although the INSERT of its transaction is not read."""
    compression = "--binlog-transaction-compression=ON"
    with live.server("mysql", compression) as server, reach(server) as connection:
        position = connection.position()
        server.execute(
            "BEGIN",
            "INSERT INTO live.t (id) VALUES (11), (12), (13), (14)",
            "DELETE FROM live.t WHERE id < 13",
            "COMMIT",
        )
        options: dict[str, Any] = {
            "operations": "delete",
            "include": "transaction",
            "batch_rows": batch_rows,
            **TABLE,
        }
        found: list[int] = []
        for _ in range(4):  # one batch per run; the last runs find none
            with connection.stream(position, stop="end", **options) as stream:
                changes = (item for item in stream if isinstance(item, binarrow.ChangeBatch))
                batch = next(changes, None)
            if batch is not None:
                found += ids([batch])
                position = batch.position
        assert found == [11, 12]
