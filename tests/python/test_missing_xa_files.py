"""Files without an older one that has the rows of a prepared XA transaction: messages name the transaction and the file."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import binarrow
from binarrow import BinarrowWarning, ConfigError, Position

FIXTURES = Path(__file__).parents[1] / "fixtures"


def batches(files: list[str], start: Position | None = None) -> list[binarrow.ChangeBatch]:
    read = binarrow.read_binlog(files, start=start, column_names="positional", segment_bytes=1000)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "XA COMMIT", BinarrowWarning)
        return list(read)


@pytest.mark.parametrize("name", ["mysql-transactions", "mariadb11-transactions"])
def test_an_older_file_with_a_prepared_transaction(name: str) -> None:
    """The message names XA, and the file that is needed."""
    files = [str(FIXTURES / name / f"binlog.00000{number}") for number in (1, 2)]
    positions = [one.position for one in batches(files)]
    # Two transactions are prepared in the first file; the second one is rolled back.
    before = next(one for one in positions if one.to_json().count('"gtrid"') == 2)
    later = Position("binlog.000002", 4).to_json()
    stored = {**json.loads(before.to_json()), "file": "binlog.000002", "offset": 4}
    stored["file_created"] = json.loads(later).get("file_created")
    start = Position.from_json(json.dumps(stored))
    with pytest.raises(ConfigError, match=r"XA transaction X'.* prepared at binlog\.000001:"):
        batches(files[1:], start=start)
    assert batches(files, start=start)
    with pytest.warns(BinarrowWarning, match=r"rows of the XA transaction X'.* older file"):
        list(binarrow.read_binlog(files[1], column_names="positional"))
