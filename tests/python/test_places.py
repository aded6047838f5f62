"""Places in the log as text: one parser for Python, Spark's options and the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import ConfigError, Position, SchemaHistory
from binarrow._native import LiveLog, parse_place
from binarrow.cli import app
from binarrow.cli.arguments import where
from binarrow.server.target import target
from binarrow.spark.live.offset import end_of_batch, initial
from binarrow.spark.option_parsers import parse

LOG = "examples/shop/binlog.000001"
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
POSITION = Position("binlog.000001", 1234)
SIX = datetime(2026, 11, 22, 6, tzinfo=UTC)

PLACES: dict[str, Any] = {
    " earliest": "earliest",
    "latest": "latest",
    "end": "latest",
    "binlog.000001:1234": POSITION,
    "copy of a log:1234": Position("copy of a log", 1234),
    "20261122.000042:12": Position("20261122.000042", 12),
    POSITION.to_json(): POSITION,
    '{"file": "binlog.000001", "offset": 1234}': POSITION,
    json.dumps(end_of_batch(initial(Position("binlog.000001", 4)), POSITION)): POSITION,
    "0-1-5": Position.after_gtids("0-1-5"),
    "0-1-5, 1-8-9": Position.after_gtids("0-1-5,1-8-9"),
    "gtid:0-1-5": Position.after_gtids("0-1-5"),
    "GTID: 2026-11-22": Position.after_gtids("2026-11-22"),
    f"{UUID}:1-5": Position.after_gtids(f"{UUID}:1-5"),
    f"gtid:{UUID}:5": Position.after_gtids(f"{UUID}:5"),
    "2026-11-22T06:00:00Z": SIX,
    "2026-11-22 07:00:00.000+01:00": SIX,
    "20261122T060000Z": SIX,
}

NOT_A_PLACE = (
    "is not a place in the log: write file:offset, a GTID set, a time with its zone"
    " (2026-11-22T06:00:00Z), the JSON of a position, earliest or latest"
)
NO_ZONE = (
    "is a time without a zone: add it, as in 2026-11-22T06:00:00Z or 2026-11-22T06:00:00+01:00"
)
WRONG = {
    "": f'"" {NOT_A_PLACE}',
    "newest": f'"newest" {NOT_A_PLACE}',
    "gtid:": f'"gtid:" {NOT_A_PLACE}',
    "binlog.000001": f'"binlog.000001" {NOT_A_PLACE}',
    ":4": f'":4" {NOT_A_PLACE}',
    "[1]": f'"[1]" {NOT_A_PLACE}',
    "9" * 30: f'"{"9" * 30}" {NOT_A_PLACE}',
    "binlog.000001:3": '"binlog.000001:3" is not a position: the first event is at offset 4',
    "gtid:x": '"x" is not a MariaDB GTID (domain-server-sequence)',
    f"{UUID}:x-y": f'"{UUID}:x-y" is not part of a GTID set',
    "{}": "not a stored position: missing field `v` at line 1 column 2",
    "2026-11-22T06:30:00": f'"2026-11-22T06:30:00" {NO_ZONE}',
    "2026-11-22": f'"2026-11-22" {NO_ZONE}; write a GTID of MariaDB as gtid:2026-11-22',
}


def stream(start: str) -> object:
    spec = target("mysql://u@host/", environ={}).connection_spec()
    return LiveLog.after(
        spec, start, ends=True, server_id=None, heartbeat=1.0, reconnect=None, max_latency=1.0
    )


def stats(name: str) -> Callable[[str], object]:
    def run(text: str) -> object:
        done = CliRunner().invoke(app, ["stats", LOG, name, text])
        error = " ".join(done.stderr.removeprefix("binarrow: ").split())
        if done.exit_code != 0:
            raise ConfigError(error)
        return done

    return run


SURFACES: dict[str, Callable[[str], object]] = {
    "parse_place": parse_place,
    "stream": stream,
    "read_binlog(start)": lambda text: binarrow.read_binlog(LOG, start=text),
    "read_binlog(stop)": lambda text: binarrow.read_binlog(LOG, stop=text),
    "Spark": lambda text: parse("startingOffsets", text),
    "history": lambda text: SchemaHistory.open("memory:").rollback(text),
    "--start": stats("--start"),
    "--stop": stats("--stop"),
}

DIFFERENCES = {
    ("read_binlog(start)", "latest"): "start='latest' is for the log of a server",
    ("read_binlog(stop)", "earliest"): "a read cannot end at the start of the log",
    ("history", "earliest"): "a place in a history is a Position",
    ("history", "latest"): "a place in a history is a Position",
    ("--start", "latest"): "--start latest is for the log of a server",
    ("--stop", "earliest"): "a read cannot end at the start of the log",
}
"""Places that a surface does not accept."""


@pytest.mark.parametrize("text", PLACES)
def test_every_form_is_the_same_place(text: str) -> None:
    assert parse_place(text) == parse("startingOffsets", text) == PLACES[text]
    assert parse("endingOffsets", text) == PLACES[text]
    is_time = isinstance(PLACES[text], datetime)
    assert where(text) == (PLACES[text] if is_time else text)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("text", PLACES)
def test_every_surface_accepts_every_form(surface: str, text: str) -> None:
    expected = PLACES[text]
    refused = DIFFERENCES.get((surface, expected)) if isinstance(expected, str) else None
    said = error_of(SURFACES[surface], text)
    if refused is not None:
        assert refused in said
    elif said:
        # This log does not contain the place, or the history is empty.
        assert re.search(r"GTID|binlog\.000001|copy of a log|20261122\.000042|history", said)
        assert "place in the log" not in said


def error_of(surface: Callable[[str], object], text: str) -> str:
    try:
        surface(text)
    except binarrow.BinarrowError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("text", WRONG)
def test_every_surface_has_the_same_message(surface: str, text: str) -> None:
    if surface.startswith("--") and WRONG[text].find(NO_ZONE) > 0:
        return  # on the command line it is local time
    with pytest.raises(ConfigError) as error:
        SURFACES[surface](text)
    assert WRONG[text] in str(error.value)


def test_a_time_without_a_zone_is_local_on_the_command_line() -> None:
    for text in ("2026-11-22", "2026-11-22T06:30", "2026-11-22 06:30:00"):
        assert where(text) == datetime.fromisoformat(text).astimezone()
    assert parse_place("2026-11-22T06:00:00.123456Z") == SIX + timedelta(microseconds=123456)
    east = timezone(timedelta(hours=5, minutes=30))
    assert parse_place("2026-11-22T11:30:00+05:30") == datetime(2026, 11, 22, 11, 30, tzinfo=east)
    with pytest.raises(ConfigError, match="is not a place in the log"):
        where("2026-11-22 99h")


def test_other_values() -> None:
    with pytest.raises(TypeError, match="a place in the log is a Position, a datetime or text"):
        binarrow.read_binlog(LOG, start=5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a datetime needs a time zone"):
        binarrow.read_binlog(LOG, start=datetime(2026, 11, 22))
