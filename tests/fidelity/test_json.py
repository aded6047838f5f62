"""JSON as text is byte for byte what `CAST(column AS CHAR)` gives, after updates in place too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.extent import rounds
from support.logged import database, logged, read
from support.servers.servers import Server
from support.workloads.json_documents import SOURCE_COLUMNS, documents, source_row

DOCUMENTS = rounds("BINARROW_DOCUMENTS", 2_000, 10_000)
SOURCE_ROWS = 200

# Any key of an object, any element of an array; the statements take one of them apart from the others by the row's id.
KEY = "CONCAT('$.', JSON_EXTRACT(JSON_KEYS(j), CONCAT('$[', id % JSON_LENGTH(j), ']')))"
ELEMENT = "CONCAT('$[', id % JSON_LENGTH(j), ']')"

# Results of updates in place: shorter values, gaps, values that moved.
ROUNDS = (
    ("OBJECT", f"JSON_REPLACE(j, {KEY}, id)"),
    ("ARRAY", f"JSON_REPLACE(j, {ELEMENT}, CAST(id AS DECIMAL(9,3)))"),
    ("OBJECT", f"JSON_SET(j, CONCAT({KEY}, '[0]'), 'in it', CONCAT({KEY}, '.k'), 1e300)"),
    ("OBJECT", f"JSON_REMOVE(j, {KEY})"),
    ("ARRAY", f"JSON_REMOVE(j, {ELEMENT}, CONCAT({ELEMENT}, '[0]'))"),
    ("OBJECT", f"JSON_SET(j, {KEY}, REPEAT('é', id % 40), '$.new', TIME'-00:00:01.5')"),
    ("ARRAY", f"JSON_SET(j, {ELEMENT}, JSON_OBJECT('k', 1.5e0), '$[1000]', NULL)"),
)


@pytest.fixture
def table(mysql: Server) -> Iterator[Server]:
    with database(mysql, "json_exact", "CREATE TABLE t (id INT PRIMARY KEY, j JSON)"):
        mysql.execute("SET sql_mode = '', time_zone = '+05:00'")
        yield mysql
        mysql.execute("SET sql_mode = DEFAULT, time_zone = DEFAULT")


def test_documents(table: Server) -> None:
    made = documents(random.Random(20_240_229), DOCUMENTS)
    rows = [f"({number}, {document})" for number, document in enumerate(made)]
    inserts = [
        f"INSERT INTO t VALUES {', '.join(rows[start : start + 500])}"
        for start in range(0, len(rows), 500)
    ]
    expect_images(logged(table, *inserts), {}, printed(table))

    for kind, change in ROUNDS:
        before = printed(table)
        condition = f"JSON_TYPE(j) = '{kind}' AND JSON_LENGTH(j) > 0"
        files = logged(table, f"UPDATE t SET j = {change} WHERE {condition}")
        changed = expect_images(files, before, printed(table))
        assert changed > DOCUMENTS / 10, change
    [(gaps,)] = table.query("SELECT COUNT(*) FROM t WHERE JSON_STORAGE_FREE(j) > 0")
    assert gaps > DOCUMENTS / 10


def test_columns_as_opaque_values(table: Server) -> None:
    rng = random.Random(9)
    columns = [column.split()[0] for column in SOURCE_COLUMNS]
    rows = ", ".join(source_row(rng) for _ in range(SOURCE_ROWS))
    table.execute(
        f"CREATE TABLE source (id INT AUTO_INCREMENT PRIMARY KEY, {', '.join(SOURCE_COLUMNS)})",
        f"INSERT INTO source ({', '.join(columns)}) VALUES {rows}",
    )
    pairs = ", ".join(f"'{name}', {name}" for name in columns)
    files = logged(
        table,
        f"INSERT INTO t SELECT id, JSON_OBJECT({pairs}) FROM source",
        f"INSERT INTO t SELECT id + 1000, JSON_ARRAY({', '.join(columns)}) FROM source",
    )
    assert expect_images(files, {}, printed(table)) == 2 * SOURCE_ROWS


def printed(server: Server) -> dict[int, str]:
    """Each document as the server prints it."""
    rows = server.query("SELECT id, CAST(j AS CHAR) FROM t")
    return dict(rows)


def expect_images(files: list[Path], before: dict[int, str], after: dict[int, str]) -> int:
    """Every row image is the document before or after; gives how many documents changed."""
    wanted = {
        "insert": after,
        "update_preimage": before,
        "update_postimage": after,
    }
    seen: dict[str, set[int]] = {kind: set() for kind in wanted}
    for batch in read(files, "json_exact.t"):
        data = batch.to_pyarrow()
        kinds, ids = data["_change_type"].to_pylist(), data["id"].to_pylist()
        for kind, number, text in zip(kinds, ids, data["j"].to_pylist(), strict=True):
            expected = wanted[kind][number]
            assert text == expected, (
                f"document {number}, {kind}: {first_difference(text, expected)}"
            )
            seen[kind].add(number)
    changed = {number for number, text in after.items() if before.get(number) != text}
    assert seen["insert"] | seen["update_postimage"] >= changed
    assert seen["update_preimage"] == seen["update_postimage"]
    return len(changed)


def first_difference(found: str, expected: str) -> str:
    """The place where two texts differ, with the text around it."""
    pairs = zip(found, expected, strict=False)
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))
    around = slice(max(0, place - 60), place + 60)
    return f"{found[around]!r} should be {expected[around]!r}"
