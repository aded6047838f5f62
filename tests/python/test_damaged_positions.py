"""Stored positions that were edited or damaged: an error, as far as this can be found out, and no lost row."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import BinarrowWarning, ConfigError, Position

FIXTURES = Path(__file__).parents[1] / "fixtures"

READ: dict[str, Any] = {"column_names": "positional", "threads": 1, "segment_bytes": 1000}


@pytest.fixture(params=["mysql-transactions", "mysql-no-gtids", "mariadb11-transactions"])
def files(request: pytest.FixtureRequest) -> list[str]:
    return [str(path) for path in sorted((FIXTURES / request.param).glob("binlog.0*"))]


def batches(files: list[str], **keywords: Any) -> list[binarrow.ChangeBatch]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "XA COMMIT", BinarrowWarning)
        return list(binarrow.read_binlog(files, **READ, **keywords))


def rows(found: list[binarrow.ChangeBatch]) -> list[Any]:
    return [row for batch in found for row in batch.to_pyarrow().to_pylist()]


def edited(position: Position, **fields: Any) -> Position:
    """The position with other fields in its first entry of `ahead`."""
    stored = json.loads(position.to_json())
    stored["ahead"][0] |= fields
    return Position.from_json(json.dumps(stored))


def test_text_that_cannot_be(files: list[str]) -> None:
    position = next(one.position for one in batches(files) if one.position.ahead)
    stored = json.loads(position.to_json())
    entry = stored["ahead"][0]
    gtids = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb:1"
    other = "0-1-5" if stored["gtid_set"] and ":" in stored["gtid_set"] else gtids
    bad: list[tuple[dict[str, Any], str]] = [
        ({"offset": 4, "changes": 1}, "is not after the position"),
        ({"offset": -1}, "not a stored position"),
        ({"offset": "900"}, "not a stored position"),
        ({"changes": 1.5}, "not a stored position"),
        ({"tables": []}, "has no tables"),
        ({"tables": [["d", ""]]}, "without a name"),
        ({"tables": [["d", "x"], ["d", "x"]]}, "twice"),
        ({"gtid_set": "1-2"}, "GTID"),
        ({"changes": 0, "next_gtid": other}, "has a `next_gtid`"),
        ({"v": 3}, "unknown field"),
    ]
    if stored["gtid_set"]:
        bad.append(({"gtid_set": other}, "kind of server"))
    for fields, message in bad:
        text = json.dumps({**stored, "ahead": [{**entry, **fields}]})
        with pytest.raises(ConfigError, match=message):
            Position.from_json(text)
    with pytest.raises(ConfigError, match="twice"):
        Position.from_json(json.dumps({**stored, "ahead": [entry, entry]}))


def test_places_that_are_not_in_the_log(files: list[str]) -> None:
    found = refused = 0
    for batch in batches(files):
        position = batch.position
        if not position.ahead:
            continue
        found += 1
        offset = json.loads(position.to_json())["ahead"][0]["offset"]
        rest = rows(batches(files, start=position))
        for wrong in (offset - 1, offset + 1, 10**9):
            try:
                found_rows = rows(batches(files, start=edited(position, offset=wrong)))
            except ConfigError as error:
                assert "position is damaged" in str(error)  # noqa: PT017
                refused += 1
            else:
                # Within the last event of the file, which is of no transaction.
                assert wrong == offset - 1
                assert found_rows == rest
    assert found
    assert refused >= 3 * found - 1


def test_more_changes_than_a_transaction_has(files: list[str]) -> None:
    found = 0
    for batch in batches(files, batch_rows=1):
        position = batch.position
        changes = position.ahead and json.loads(position.to_json())["ahead"][0].get("changes", 0)
        if changes:
            found += 1
            with pytest.raises(ConfigError, match=r"more changes of d\..* than the transaction"):
                batches(files, start=edited(position, changes=10**6))
    assert found


def test_gtids_of_other_transactions() -> None:
    files = [str(FIXTURES / "mysql-transactions" / f"binlog.00000{number}") for number in (1, 2)]
    places = [one.position for one in batches(files, batch_end="transaction")]
    ends = [place.offset for place in places if place.file.endswith("1")]
    ahead = [place for place in places if place.ahead and place.file.endswith("1")]
    assert ahead
    for position in ahead:
        own = json.loads(position.to_json())["ahead"][0]["offset"]
        for end in {end for end in ends if end > own}:
            with pytest.raises(ConfigError, match="log has different GTIDs"):
                batches(files, start=edited(position, offset=end))
