"""The rows for each change, for every key, row image and choice of keywords.

The expected rows are in the files of `truth_table`, written by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import binarrow
from support.oracles import truth
from support.servers.servers import Session

COLUMNS = "area INT NOT NULL, code VARCHAR(10) NOT NULL, n INT, note TEXT"
OPTIONS = "DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci"
KEYS = {
    "primary": ", PRIMARY KEY (code)",
    "composite": ", PRIMARY KEY (code, area)",
    "prefix": ", PRIMARY KEY (code(2))",
    "unique": ", UNIQUE KEY (code)",
    "none": "",
}
ENVELOPE = ("change_type", "commit_version", "change_ordinal", "present")
SERVERS = ("mysql", "mariadb")
CHANGES = truth.changes()

Played = dict[str, dict[truth.Case, list[truth.Row]]]
"""By change: what came out in each case."""


@pytest.fixture(scope="module", params=SERVERS)
def played(request: pytest.FixtureRequest) -> Played:
    """All changes played on one server, and its log read with every choice of keywords."""
    flavor = request.param
    server = request.getfixturevalue({"mysql": "mysql", "mariadb": "mariadb_11_8"}[flavor])
    server.flush_binlog()
    session = server.connect()
    session.execute("DROP DATABASE IF EXISTS truth", "CREATE DATABASE truth")
    schemas = {
        table_name(change, key, image): play(session, change, key, image)
        for image in truth.DIMENSIONS["image"]
        for key in KEYS
        for change in CHANGES
    }
    session.execute("DROP DATABASE truth")
    session.close()
    log = str(server.flush_binlog())
    told = {name: text for name, text in schemas.items() if "_unique_" in name}

    found: Played = {change.name: {} for change in CHANGES}
    choices = itertools.product(
        *(truth.DIMENSIONS[one] for one in ("layout", "old_value", "split"))
    )
    for layout, old_value, split in choices:
        rows = last_transactions(
            binarrow.read_binlog(
                log,
                tables="truth.*",
                schemas=told,
                envelope=ENVELOPE,
                layout=layout,
                old_value=old_value == "old",
                split_key_updates=split == "split",
            ),
            words_of_flat if layout == "flat" else words_of_nested,
        )
        for change, key, image in itertools.product(CHANGES, KEYS, truth.DIMENSIONS["image"]):
            case = (flavor, key, image, layout, old_value, split)
            found[change.name][case] = rows[table_name(change, key, image)]
    return found


def table_name(change: truth.Change, key: str, image: str) -> str:
    return f"truth.{change.name}_{key}_{image.lower()}"


def play(session: Session, change: truth.Change, key: str, image: str) -> str:
    """Plays a change as the last transaction on a table of its own; gives the table's structure."""
    table = table_name(change, key, image)
    session.execute(
        f"SET SESSION binlog_row_image = {image}",
        f"CREATE TABLE {table} ({COLUMNS}{KEYS[key]}) {OPTIONS}",
    )
    if change.rows:
        session.execute(f"INSERT INTO {table} VALUES {change.rows}")
    statements = [statement.replace("@", table) for statement in change.statements]
    session.execute("BEGIN", *statements, "COMMIT")
    return str(session.query(f"SHOW CREATE TABLE {table}")[0][1])


def last_transactions(reader: binarrow.BinlogReader, words: Any) -> dict[str, list[truth.Row]]:
    """The rows of each table's last transaction, as words."""
    rows: dict[str, tuple[int, list[truth.Row]]] = {}
    for batch in reader:
        table = f"{batch.database}.{batch.table}"
        for row in batch.to_pyarrow().to_pylist():
            version = row.pop("_commit_version")
            newest, before = rows.get(table, (-1, []))
            assert version >= newest, "versions rise"
            rows[table] = (version, [*(before if version == newest else []), words(row)])
    return {table: found for table, (_, found) in rows.items()}


def words_of_flat(row: dict[str, Any]) -> truth.Row:
    kind, ordinal, present = (row.pop(f"_{name}") for name in (ENVELOPE[0], *ENVELOPE[2:]))
    assert list(row) == ["area", "code", "n", "note"]
    return (kind, place(ordinal), *cells(row), bits(present))


def words_of_nested(row: dict[str, Any]) -> truth.Row:
    wanted = ["_op", "before", "after", "_change_ordinal", "_present_before", "_present_after"]
    assert list(row) == wanted
    images = itertools.chain(image(row, "before"), image(row, "after"))
    return (row["_op"], place(row["_change_ordinal"]), *images)


def image(row: dict[str, Any], which: str) -> Iterator[str]:
    held, present = row[which], row[f"_present_{which}"]
    assert (held is None) == (present is None)
    if held is None:
        yield "null"
        return
    assert list(held) == ["area", "code", "n", "note"]
    yield from cells(held)
    yield bits(present)


def cells(row: dict[str, Any]) -> list[str]:
    return ["-" if cell is None else str(cell) for cell in row.values()]


def bits(present: bytes) -> str:
    assert len(present) == 1
    assert present[0] >> truth.WIDTH == 0
    return "".join(str(present[0] >> column & 1) for column in range(truth.WIDTH))


def place(ordinal: int) -> str:
    return f"{ordinal >> 32}:{ordinal & 0xFFFF_FFFF}"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_every_case_of(change: truth.Change, played: Played) -> None:
    differences = [
        f"{' '.join(case)}:\n  expected {shown(change.outputs[case])}\n  found    {shown(found)}"
        for case, found in played[change.name].items()
        if found != change.outputs[case]
    ]
    assert not differences, "\n".join([f"{len(differences)} cases", *differences[:10]])
    assert len(played[change.name]) == 5 * 3 * 2 * 2 * 2


def shown(rows: list[truth.Row]) -> str:
    return " | ".join(" ".join(row) for row in rows)


def test_the_files_hold_each_case_once() -> None:
    every = set(itertools.product(*truth.DIMENSIONS.values()))
    assert len(CHANGES) == 6
    for change in CHANGES:
        assert set(change.outputs) == every, change.name
        assert all(change.outputs.values()), f"{change.name}: a case without rows"
