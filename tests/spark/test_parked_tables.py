"""Tables that `binarrow.spark.sync` parks: which errors park one, and what is stored."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import PySparkException

from binarrow import SchemaError, ServerError
from binarrow.spark.syncing.parked import ParkedTables
from binarrow.syncing.errors import SyncError, TableError

NAME = ("shop", "orders")
OTHER_NAME = ("shop", "a.b")


def test_errors_of_a_table(tmp_path):
    file = tmp_path / "folder" / "parked.json"
    parked = ParkedTables("park", file)
    parked.begin("own")
    assert not parked.has(NAME)
    with parked.parking(NAME):
        pass
    assert not file.exists()
    with parked.parking(NAME):
        raise SchemaError("a column is in the way")
    with parked.parking(OTHER_NAME):
        raise PySparkException("[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] 'secret cell'")
    assert parked.has(NAME)
    assert not parked.has(("shop", "users"))
    stored = json.loads(file.read_text())["tables"]
    assert stored["shop.orders"] == "a column is in the way"
    assert stored["shop.a.b"].startswith("a value does not have the type of its column")
    assert "secret" not in file.read_text()
    for query, is_parked in (("own", True), ("another", False)):
        later = ParkedTables("stop", file)
        later.begin(query)
        assert later.has(OTHER_NAME) == is_parked


@pytest.mark.parametrize(
    "error",
    [SyncError("of all tables"), ServerError("gone"), PySparkException("out of memory"), OSError()],
)
def test_other_errors_end_the_query(tmp_path, error):
    with (
        pytest.raises(type(error)),
        ParkedTables("park", tmp_path / "parked.json").parking(NAME),
    ):
        raise error
    assert not list(tmp_path.iterdir())


def test_stop(tmp_path):
    parked = ParkedTables("stop", None)
    with pytest.raises(TableError, match="no key"), parked.parking(NAME):
        raise TableError(NAME, "no key")
    assert not parked.has(NAME)
