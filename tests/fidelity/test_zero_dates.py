"""Dates that no calendar has: '0000-00-00', '2020-02-00'."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

import binarrow
from binarrow import TypeOptions
from support.logged import database, logging, read, rows, rows_of
from support.servers.servers import Server
from support.workloads import type_tables

TABLE = (
    "CREATE TABLE t (id INT PRIMARY KEY, d DATE, dt DATETIME, dt3 DATETIME(3),"
    " ts TIMESTAMP NULL, ts2 TIMESTAMP(2) NULL)"
)
DATES = ("d", "dt", "dt3", "ts", "ts2")


@pytest.fixture
def zero_files(server: Server) -> list[Path]:
    with database(server, "zero", TABLE), logging(server) as files:
        server.execute(
            "SET SESSION sql_mode = ''",
            "INSERT INTO t VALUES (1, '0000-00-00', '0000-00-00', '0000-00-00', 0, 0)",
            "INSERT INTO t VALUES (2, '2020-00-00', '2020-02-00 01:02:03', '2020-02-29 1:2:3.5',"
            " '2020-02-29 01:02:03', '2020-02-29 01:02:03.25')",
            "INSERT INTO t VALUES (3, NULL, NULL, NULL, NULL, NULL)",
            "SET SESSION sql_mode = DEFAULT",
        )
    return files


def test_they_are_null_with_one_warning_a_column(zero_files: list[Path]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader = read(zero_files, "zero.t")
        found = rows_of(reader)

    assert found[0] == ("insert", 1, None, None, None, None, None)
    assert found[1][2:4] == (None, None)
    assert str(found[1][4]) == "2020-02-29 01:02:03.500000"
    assert str(found[1][5]) == "2020-02-29 01:02:03+00:00"
    assert str(found[1][6]) == "2020-02-29 01:02:03.250000+00:00"
    assert found[2] == ("insert", 3, None, None, None, None, None)
    counts = {f"zero.t.{name}": count for name, count in zip(DATES, (2, 2, 1, 1, 1), strict=True)}
    assert reader.stats()["zero_dates"] == counts
    messages = [str(w.message) for w in caught if issubclass(w.category, binarrow.BinarrowWarning)]
    assert len(messages) == len(DATES)
    for name in DATES:
        assert sum(f"zero.t.{name}" in message.split() for message in messages) == 1


def test_they_can_be_errors(zero_files: list[Path]) -> None:
    with pytest.raises(binarrow.BinarrowError, match="zero_dates") as caught:
        rows(zero_files, "zero.t", types=TypeOptions(zero_dates="error"))
    assert caught.value.event_type is not None
    assert caught.value.event_type.startswith("Write_rows")
    assert caught.value.offset
    assert "column d" in str(caught.value)


def test_they_can_be_text(zero_files: list[Path]) -> None:
    assert rows(zero_files, "zero.t", types=TypeOptions(zero_dates="text")) == [
        (
            *("insert", 1, "0000-00-00", "0000-00-00 00:00:00", "0000-00-00 00:00:00.000"),
            *("0000-00-00 00:00:00", "0000-00-00 00:00:00.00"),
        ),
        (
            *("insert", 2, "2020-00-00", "2020-02-00 01:02:03", "2020-02-29 01:02:03.500"),
            *("2020-02-29 01:02:03", "2020-02-29 01:02:03.25"),
        ),
        ("insert", 3, None, None, None, None, None),
    ]


def test_random_dates_as_text_are_what_select_shows(server: Server) -> None:
    rng = random.Random(1)
    table = type_tables.zero_table()
    names = [column.name for column in table.columns]
    with database(server, "zero"), logging(server) as files:
        server.execute("SET SESSION sql_mode = ''", table.create())
        server.execute(*(table.insert(rng, 10) for _ in range(20)))
        shown = ", ".join(f"CAST({name} AS CHAR)" for name in names)
        wanted = server.query(f"SELECT id, {shown} FROM zero_dates ORDER BY id")
        server.execute("SET SESSION sql_mode = DEFAULT")

    for profile in ("native", "spark"):
        options = TypeOptions(profile=profile, zero_dates="text")
        found = rows(files, "zero.zero_dates", types=options)
        assert [row[1:] for row in found] == wanted

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", binarrow.BinarrowWarning)
        batches = list(read(files, "zero.zero_dates", types=TypeOptions(zero_dates="null")))
    for index, name in enumerate(names, 1):
        nulls = [null for batch in batches for null in batch.to_pyarrow()[name].is_null()]
        for null, (text, *_) in zip(nulls, (row[index:] for row in wanted), strict=True):
            is_zero = text is not None and name != "e" and "-00" in text
            assert null.as_py() == (text is None or is_zero), (name, text)
