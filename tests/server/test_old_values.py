"""Old values and keys: what comes out of the random workload with and without them, in both layouts.

What is wanted is worked out here from the plain reading of the same log: a pair of rows for each update.
"""

from __future__ import annotations

import pytest
from logged import database, logged, rows
from servers import Server

T = "CREATE TABLE t (a VARCHAR(9), b INT, note VARCHAR(20), PRIMARY KEY (a, b))"
KEYLESS = "CREATE TABLE keyless (a INT, note VARCHAR(20))"


@pytest.fixture
def small(server: Server) -> Server:
    """A server with a database `small` for one test."""
    with database(server, "small", T, KEYLESS):
        yield server


CHANGES = (
    "INSERT INTO t VALUES ('go', 1, 'x')",
    "UPDATE t SET note = 'y'",
    "UPDATE t SET a = 'GO'",  # the same key to the server
    "UPDATE t SET b = 2, note = NULL",
    "DELETE FROM t",
)


def test_without_old_values(small: Server) -> None:
    files = logged(small, *CHANGES)

    assert rows(files, "small.t", old_value=False) == [
        ("insert", "go", 1, "x"),
        ("update_postimage", "go", 1, "y"),
        ("delete", "go", 1, None),
        ("insert", "GO", 1, "y"),
        ("delete", "GO", 1, None),
        ("insert", "GO", 2, None),
        ("delete", "GO", 2, None),
    ]
    assert rows(files, "small.t", old_value=False, split_key_updates=False) == [
        ("insert", "go", 1, "x"),
        ("update_postimage", "go", 1, "y"),
        ("delete", "go", 1, None),
        ("update_postimage", "GO", 1, "y"),
        ("delete", "GO", 1, None),
        ("update_postimage", "GO", 2, None),
        ("delete", "GO", 2, None),
    ]


def test_a_table_without_a_key_keeps_whole_rows(small: Server) -> None:
    files = logged(
        small,
        "INSERT INTO keyless VALUES (1, 'x'), (1, 'x')",
        "UPDATE keyless SET note = 'y' LIMIT 1",
        "DELETE FROM keyless WHERE note = 'x'",
    )

    changed = [("insert", 1, "x"), ("insert", 1, "x"), ("delete", 1, "x"), ("insert", 1, "y")]
    assert rows(files, "small.keyless", old_value=False) == [*changed, ("delete", 1, "x")]
    assert rows(files, "small.keyless") == [*changed, ("delete", 1, "x")]
    assert rows(files, "small.keyless", split_key_updates=False)[2:4] == [
        ("update_preimage", 1, "x"),
        ("update_postimage", 1, "y"),
    ]
