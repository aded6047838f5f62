"""Positions as values: other fields, order, GTID sets alone."""

import pickle

import pytest

import binarrow
from binarrow import Position

UUID = "55778904-0299-11f1-b1b8-4ef0c4956feb"


def at_42() -> Position:
    return Position("binlog.000042", 900)


def test_other_fields():
    place = at_42()
    new = place.replace(
        server="7",
        file="binlog.000043",
        offset=4,
        file_created=1_790_000_000,
        gtid_set="0-1-5",
        by_gtid=True,
        version_shift=3,
    )
    assert (new.server, new.file, new.offset, new.file_created) == (
        "7",
        "binlog.000043",
        4,
        1_790_000_000,
    )
    assert (new.gtid_set, new.by_gtid, new.version_shift) == ("0-1-5", True, 3)
    assert (place.server, place.file_created, place.by_gtid) == (None, None, False)
    assert new.replace(server=None, gtid_set=None, file_created=None).gtid_set is None
    assert Position.from_json(new.to_json()) == new == pickle.loads(pickle.dumps(new))
    assert place.replace() == place
    assert (place.file_number, Position("stdin", 4).file_number) == (42, None)


def test_another_file_was_created_at_another_time():
    place = at_42().replace(file_created=1_790_000_000)
    assert place.replace(offset=1000).file_created == 1_790_000_000
    assert place.replace(file="binlog.000043", offset=4).file_created is None


def test_a_stored_position_with_the_first_name_of_a_field():
    place = at_42().replace(file_created=1_790_000_000)
    stored = place.to_json()
    assert "file_created" in stored
    assert Position.from_json(stored.replace("file_created", "begun")) == place


def test_fields_that_do_not_fit():
    place = at_42()
    with pytest.raises(TypeError, match="unexpected keyword argument 'gtids'"):
        place.replace(gtids="0-1-5")  # type: ignore[call-arg]
    for fields in ({"file": ""}, {"offset": 0}, {"gtid_set": "x"}):
        with pytest.raises(binarrow.ConfigError):
            place.replace(**fields)  # type: ignore[arg-type]


def test_a_gtid_set_alone():
    place = Position.after_gtids(f"{UUID}:1-5")
    assert (place.file, place.offset, place.gtid_set) == ("", 0, f"{UUID}:1-5")
    assert Position.after_gtids("").gtid_set == ""
    with pytest.raises(binarrow.ConfigError):
        Position.after_gtids("no set")


def test_order():
    place = at_42()
    later = Position("binlog.1000000", 4)
    assert place < later
    assert later > place
    assert place <= place.replace(server="7") <= later
    assert max(later, place) is later
    assert sorted([later, place]) == [place, later]
    sets = [Position.after_gtids(f"{UUID}:1-{last}") for last in (5, 9)]
    assert sets[0] < sets[1]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Position("mysql-bin.000001", 4), "different series"),
        (Position.after_gtids("0-1-5"), "one is a GTID set alone"),
        (at_42().replace(server="8"), "different servers"),
    ],
)
def test_positions_without_an_order(other: Position, why: str):
    place = at_42()
    with pytest.raises(ValueError, match=why):
        assert place.replace(server="7") < other
    with pytest.raises(TypeError):
        assert place < "binlog.000042:901"  # type: ignore[operator]
    assert place != "binlog.000042:900"
