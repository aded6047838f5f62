"""Changes as lines, without a server."""

from __future__ import annotations

import json
from datetime import UTC
from decimal import Decimal

import pytest

import binarrow
from binarrow.cli.change_lines import (
    ENVELOPE,
    PREFIX,
    Change,
    changes_of,
    json_line,
    key_of,
    lag,
    text_line,
)

NOON = 1_795_262_400_000_000
"""2026-11-21T12:00:00 UTC."""

KEY = frozenset({"id"})


def text(kind, before, after, key=KEY):
    line = text_line(
        "shop.orders", Change(kind, NOON, before, after), NOON, key, UTC, in_seconds=False
    )
    return line.split(kind, 1)[1].strip()


def test_a_line_for_people():
    change = Change("insert", NOON + 17, None, {"id": 1})
    line = text_line("shop.orders", change, NOON + 12_317, KEY, UTC, in_seconds=False)
    assert line == ("2026-11-21T12:00:00.000017   12.3 ms  shop.orders              insert  id=1")


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (None, "NULL"),
        (True, "1"),
        (-7, "-7"),
        (1.5, "1.5"),
        (Decimal("12.30"), "12.30"),
        (b"\x00\xff", "0x00ff"),
        ("", "''"),
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        ("two\nlines\x1b[31m", r"'two\nlines\x1b[31m'"),
        ("Zoë 数", "'Zoë 数'"),
        ("\u2028", r"'\u2028'"),
        ([1.0, 2.5], "[1.0, 2.5]"),
    ],
)
def test_cells(cell, shown):
    assert text("delete", {"a": cell}, None) == f"a={shown}"


def test_an_update_shows_its_key_and_what_changed():
    before, after = {"id": 1, "a": "x", "b": None}, {"id": 1, "a": "y", "b": None}
    assert text("update", before, after) == "id=1 a='x'→'y'"
    assert text("update", before, after, frozenset()) == "id=1 a='x'→'y' b=NULL"
    # images that hold the key, and what was set
    assert text("update", {"id": 1}, {"b": 7}) == "id=1 b=7"


def test_lags():
    assert lag(812, in_seconds=False) == "0.8 ms"
    assert lag(999_949, in_seconds=False) == "999.9 ms"
    assert lag(1_250_000, in_seconds=False) == "1.2 s"
    assert lag(3_600_000_000, in_seconds=False) == "3600 s"
    assert lag(-2_000, in_seconds=False) == "-2.0 ms"
    assert lag(640_000, in_seconds=True) == "< 1 s"
    assert lag(1_640_000, in_seconds=True) == "2 s"


def test_every_change_of_a_log_is_a_line(shop):
    kinds = {"insert": 0, "update": 0, "delete": 0}
    for batch in binarrow.read_binlog(shop.glob, envelope=ENVELOPE, envelope_prefix=PREFIX):
        for change in changes_of(batch):
            kinds[change.kind] += 1
            record = json.loads(json_line("t", change, change.committed + 5, UTC))
            assert record["lag_us"] == 5
            assert (record["before"] is None) == (change.kind == "insert")
            assert (record["after"] is None) == (change.kind == "delete")
            row = record["after"] or record["before"]
            assert list(row) == [name for name in batch.schema.names if not name.startswith(PREFIX)]
            line = text_line("t", change, change.committed, key_of(batch), UTC, in_seconds=False)
            assert line.isprintable()
    counted = [shop.change_types(table) for table in shop.tables]
    assert kinds == {
        "insert": sum(one["insert"] for one in counted),
        "update": sum(one["update_postimage"] for one in counted),
        "delete": sum(one["delete"] for one in counted),
    }
