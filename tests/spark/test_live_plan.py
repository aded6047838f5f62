"""The ends of batches of a live server, and their distribution, on an artificial log."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from binarrow import (
    ConfigError,
    ConnectionLostError,
    Position,
    PositionPurgedError,
    ServerIdentityError,
)
from binarrow.server import Binlog
from binarrow.spark.grouping import grouped
from binarrow.spark.live.batch_end import end_of_next_batch
from binarrow.spark.live.batch_ranges import ranges
from binarrow.spark.live.history_follower import HistoryFollower
from binarrow.spark.live.log_files import shift_above
from binarrow.spark.live.offset import (
    end_of_batch,
    initial,
    offset_of,
    position_of,
    start_of_batch,
)
from binarrow.spark.live.options import LiveOptions
from binarrow.spark.live.patience import patiently
from binarrow.spark.live.place import parse_timestamp, place_from
from binarrow.spark.live.planner import Planner
from binarrow.spark.source_options import SourceOptions

HERE, THERE = "server-a", "server-b"
SIZES = (500, 1000, 1000, 2000, 700)
STEP = 100
"""Transactions end at multiples of it."""


def at(number: int, offset: int, server: str = HERE, **fields: Any) -> Position:
    return Position(f"binlog.{number:06}", offset).replace(server=server, **fields)


@dataclass
class FakeLog:
    """Files 3 to 7, and what planning asked of them."""

    server: str = HERE
    asked: list[str] = field(default_factory=list)

    def files(self) -> list[Binlog]:
        self.asked.append("files")
        return [Binlog(f"binlog.{number:06}", size) for number, size in enumerate(SIZES, 3)]

    def file_start(self, file: str) -> Position:
        return Position(file, 4).replace(server=self.server)

    def range_end(self, start: Position, stop: Position, max_bytes: int) -> Position:
        self.asked.append("range_end")
        if start.server != self.server:
            return stop.replace(version_shift=shift_above(start, stop.file))
        size = next(one.size for one in self.files() if one.name == start.file)
        if start.offset + STEP > size:  # what is left of the file holds no transaction
            start = at(int(start.file[-6:]) + 1, 4)
        end = max(start.offset + STEP, (start.offset + max_bytes) // STEP * STEP)
        return start.replace(offset=end) if end < stop.offset else stop

    def count(self, start: Position, stop: Position, max_rows: int) -> Position:
        self.asked.append(f"count {max_rows}")
        return self.range_end(start, stop, max_rows * STEP)


HEAD = at(7, 700)


def limit(name: str, **fields: int) -> Any:
    return type(name, (), fields)()


@pytest.mark.parametrize(
    ("given", "start", "end"),
    [
        (None, at(3, 4), HEAD),
        (limit("ReadAllAvailable"), at(3, 4), HEAD),
        (limit("ReadMaxFiles", max_files=2), at(3, 300), at(5, 4)),
        (limit("ReadMaxFiles", max_files=4), at(3, 4), at(7, 4)),
        (limit("ReadMaxFiles", max_files=5), at(3, 4), HEAD),
        (limit("ReadMaxBytes", max_bytes=496), at(3, 4), at(4, 4)),
        (limit("ReadMaxBytes", max_bytes=1496), at(3, 4), at(5, 4)),
        (limit("ReadMaxBytes", max_bytes=2500), at(3, 4), at(6, 4)),
        (limit("ReadMaxBytes", max_bytes=250), at(4, 100), at(4, 300)),
        (limit("ReadMaxBytes", max_bytes=1), at(4, 100), at(4, 200)),
        (limit("ReadMaxBytes", max_bytes=600), at(7, 100), HEAD),
        (limit("ReadMaxBytes", max_bytes=599), at(7, 100), at(7, 600)),
        (limit("ReadMaxBytes", max_bytes=1 << 40), at(3, 4), HEAD),
        (limit("ReadMaxRows", max_rows=3), at(4, 100), at(4, 400)),
    ],
)
def test_where_a_batch_ends(given: Any, start: Position, end: Position) -> None:
    assert end_of_next_batch(FakeLog(), start, HEAD, given) == end


def test_every_limit_gets_to_the_end_and_never_back() -> None:
    limits = [
        *(limit("ReadMaxFiles", max_files=count) for count in (1, 2, 9)),
        *(limit("ReadMaxBytes", max_bytes=size) for size in (1, 99, 250, 1000, 10_000)),
        limit("ReadMaxRows", max_rows=4),
    ]
    for each in limits:
        log, place, steps = FakeLog(), at(3, 4), 0
        while (end := end_of_next_batch(log, place, HEAD, each)) != place:
            assert (end.file, end.offset) > (place.file, place.offset), each
            place, steps = end, steps + 1
            assert steps < 100
        assert place == HEAD


def test_an_idle_query_asks_the_server_nothing_more() -> None:
    log = FakeLog()
    assert end_of_next_batch(log, HEAD, HEAD, limit("ReadMaxFiles", max_files=1)) is HEAD
    assert log.asked == []


def test_a_query_that_is_ahead_of_what_available_now_saw_stays() -> None:
    start = at(7, 600)
    assert end_of_next_batch(FakeLog(), start, at(7, 500), None) == start
    assert end_of_next_batch(FakeLog(), at(7, 4), at(6, 2000), None) == at(7, 4)


def test_lost_logs_are_told_apart() -> None:
    with pytest.raises(PositionPurgedError, match=r"no longer has binlog\.000002.*binlog\.000003"):
        end_of_next_batch(FakeLog(), at(2, 100), HEAD, None)
    for beyond in (at(8, 4), at(7, 701), at(4, 1001)):
        with pytest.raises(ServerIdentityError, match="reset"):
            end_of_next_batch(FakeLog(), beyond, HEAD, None)


def test_what_no_limit_of_spark_is_is_an_error() -> None:
    with pytest.raises(ConfigError, match="ReadMinRows"):
        end_of_next_batch(FakeLog(), at(3, 4), HEAD, limit("ReadMinRows", min_rows=1))


def test_on_another_server_a_batch_is_one_range_by_gtid_and_versions_rise() -> None:
    log = FakeLog(server=THERE)
    start, head = at(40, 200, gtid_set=None), at(7, 700, THERE)
    end = end_of_next_batch(log, start, head, limit("ReadMaxFiles", max_files=2))
    assert (end.server, end.file, end.version_shift) == (THERE, head.file, 34)
    assert ranges(log, start, end, 4) == [(start, end)]
    later = end_of_next_batch(log, end.replace(file="binlog.000003", offset=4), head, None)
    assert later.version_shift == 34  # of the same server from then on, by files
    by_gtid = at(4, 100, by_gtid=True)
    assert ranges(FakeLog(), by_gtid, HEAD, 4) == [(by_gtid, HEAD)]


def test_ranges_are_files_and_follow_each_other() -> None:
    start = at(3, 100, version_shift=9)
    stop = HEAD.replace(version_shift=9)
    files = ranges(FakeLog(), start, stop, 10)
    assert [(first.file[-1], last.file[-1]) for first, last in files] == [
        ("3", "4"),
        ("4", "5"),
        ("5", "6"),
        ("6", "7"),
        ("7", "7"),
    ]
    for count in (1, 2, 3, 4, 5):
        parts = ranges(FakeLog(), start, stop, count)
        assert 1 <= len(parts) <= count
        assert (parts[0][0], parts[-1][1]) == (start, stop)
        assert all(before[1] == after[0] for before, after in pairwise(parts))
        assert {place.version_shift for part in parts for place in part} == {9}
    assert len(ranges(FakeLog(), start, at(5, 4, version_shift=9), 10)) == 2
    assert ranges(FakeLog(), start, start, 4) == []
    with pytest.raises(ConfigError, match="backwards"):
        ranges(FakeLog(), stop, start, 4)


def test_groups_hold_everything_once() -> None:
    for sizes in ([], [0], [0, 0, 0, 0], [9, 1, 1, 1, 9], list(range(20))):
        for count in (1, 2, 3, 7):
            groups = grouped(sizes, count)
            assert [place for group in groups for place in group] == list(range(len(sizes)))
            assert len(groups) <= count


def test_the_first_batch_is_anchored() -> None:
    begin, head = at(4, 100), at(4, 200)
    first = initial(begin)
    # "latest" moved on while the first batch was not committed: it begins where it began.
    end = end_of_batch(first, head)
    assert start_of_batch(initial(at(4, 150)), end) == begin
    assert start_of_batch(first, end_of_batch(first, begin)) == begin
    assert json.dumps(end_of_batch(first, begin)) != json.dumps(first)  # it is a batch, if empty
    after = end_of_batch(end, at(4, 300))
    assert start_of_batch(end, after) == head
    assert end_of_batch(end, head) is end
    lost = end_of_batch(end, at(6, 300), at(5, 4))
    assert start_of_batch(end, lost) == at(5, 4)
    assert position_of(lost) == at(6, 300)


def test_places() -> None:
    assert place_from(" earliest") == "earliest"
    assert place_from("latest") == "latest"
    assert place_from("gtid: 0-1-5") == Position.after_gtids("0-1-5")
    assert place_from(json.dumps(end_of_batch(initial(at(4, 4)), at(4, 9)))) == at(4, 9)
    assert place_from(at(4, 9).to_json()) == at(4, 9)
    for text in ("binlog.000004:9", '{"file": "binlog.000004", "offset": 9}'):
        assert place_from(text) == Position("binlog.000004", 9)
    time = place_from("2026-11-22T06:00:00+01:00")
    assert place_from("2026-11-22T06:00:00.000+01:00") == time
    assert time == parse_timestamp("2026-11-22T05:00:00Z") == parse_timestamp("1795323600000")
    for bad in ("", "newest", "gtid:", "2026-11-22", "{}", '{"v":1}', "[1]", "{", "9" * 30):
        with pytest.raises(ValueError, match=r".+"):
            place_from(bad)
    for bad in ("", "2026-11-22T06:00:00", "9" * 30, "-5"):
        with pytest.raises(ValueError, match=r".+"):
            parse_timestamp(bad)


def test_the_driver_runs_the_command_of_a_password() -> None:
    given = {"host": "db", "user": "u", "table": "shop.t", "passwordCommand": "printf 'a b'"}
    assert SourceOptions.parse(given).place.target.secret() == b"a b"


def test_the_command_of_the_password_of_a_history() -> None:
    given = {"path": "/archive", "table": "shop.t", "history": "mysql://u@127.0.0.1:1/h"}
    own = {"historyPasswordCommand": "sh -c 'echo hidden; exit 3'"}
    parsed = SourceOptions.parse({**given, **own})
    assert "hidden" not in repr(parsed)
    for opened in (parsed.opened_history().__enter__, HistoryFollower(parsed)._opened):
        with pytest.raises(ConfigError, match="password_command: sh failed: exit code 3"):
            opened()
    with pytest.raises(ConfigError, match="and the option historyPasswordCommand: set one of them"):
        SourceOptions.parse({**given, **own, "historyPasswordFile": "secret"})
    del given["history"]
    with pytest.raises(ConfigError, match="historyPasswordCommand is for a history on a server"):
        SourceOptions.parse({**given, **own})


SERVER = {"host": "db", "user": "u", "password": "hidden", "table": "shop.t"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**SERVER, "startingOfsets": "latest"}, "did you mean 'startingOffsets'"),
        ({**SERVER, "startingOffsets": "newest"}, "is not a place in the log"),
        ({**SERVER, "gaps": "allow"}, "gaps: it is for files"),
        ({**SERVER, "path": "/archive"}, "name one of them"),
        ({"table": "shop.t", "url": "mysql://u:hidden@db/"}, "passwordFile"),
        ({"table": "shop.t", "path": "mysql://u:hidden@db/"}, "passwordFile"),
        ({**SERVER, "history": "mysql://u:hidden@db/h"}, "historyPasswordFile"),
        (
            {"table": "shop.t", "path": "/archive", "reconnect": "5"},
            "reconnect: it is for a server",
        ),
        ({**SERVER, "reconnect": "never"}, "reconnect"),
    ],
)
def test_options_that_do_not_fit_say_so_and_quote_no_password(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        SourceOptions.parse(options)
    assert "hidden" not in str(error.value)


def test_options_of_streams_and_of_batches() -> None:
    def live(**options: str) -> LiveOptions:
        parsed = SourceOptions.parse({**SERVER, **options})
        assert "hidden" not in repr(parsed)
        assert isinstance(parsed.place, LiveOptions)
        return parsed.place

    with pytest.raises(ConfigError, match="endingOffsets"):
        live(endingOffsets="latest").check_stream()
    with pytest.raises(ConfigError, match=r"maxBytesPerTrigger.*readStream"):
        live(maxBytesPerTrigger="1m").check_batch()
    with pytest.raises(ConfigError, match="set one of them"):
        live(maxBytesPerTrigger="1m", maxRowsPerTrigger="5").check_stream()
    with pytest.raises(ConfigError, match="set one of them"):
        live(startingOffsets="latest", startingTimestamp="0").starting("latest")
    assert live().starting("earliest") == "earliest"
    assert live(startingOffsets=at(4, 4).to_json()).starting("latest") == at(4, 4)
    assert offset_of(at(4, 4)) == {**json.loads(at(4, 4).to_json()), "offset_version": 1}


def test_a_server_that_is_away_is_not_waited_for_unknowing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A wrong host is one too: what is waited for is said, and said once."""

    def ask() -> None:
        raise ConnectionLostError("db.example:3306: cannot connect")

    with pytest.raises(ConnectionLostError):
        patiently(ask, 0.5)
    assert caplog.messages == [
        "db.example:3306: cannot connect. Retrying for up to 0.5 seconds (reconnect)"
    ]


def test_what_to_do_at_a_foreign_server() -> None:
    """No option continues there, so none is advised."""
    parsed = {"host": "db.example", "table": "shop.orders", "failOnDataLoss": "false"}
    options = SourceOptions.parse(parsed)
    assert isinstance(options.place, LiveOptions)
    planner = Planner(options, options.place, pa.schema([]))
    planner.log = FakeLog(THERE)
    lost = at(3, 4)
    said = "connect to the server of the checkpoint"
    with pytest.raises(ServerIdentityError, match=said) as error:
        planner.resumed(lost, ServerIdentityError("this is another server"))
    assert "failOnDataLoss" not in str(error.value)
