"""Keys that change between changes of one commit: the target equals SELECT.

Each case is a table with random changes of rows and of its key. `BINARROW_MOVED_KEYS=500` runs this number of cases for each
target, server and mode.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest
from pymysql.err import DataError, IntegrityError, OperationalError

from support.extent import rounds
from support.oracles.valid_rows import check_current
from support.sync_source import Source, each_kind

CASES = rounds("BINARROW_MOVED_KEYS", 20, 60)
SEED = int(os.environ.get("BINARROW_SEED", "1"))

COLUMNS = ("id", "o", "s")
TABLE = (
    "(id INT NOT NULL, o INT NOT NULL, s VARCHAR(9) NOT NULL COLLATE utf8mb4_bin, f VARCHAR(9),"
    " {key})"
)
SMALLEST = (
    "UPDATE {t} SET f = 'x' WHERE id = 1",
    "ALTER TABLE {t} DROP PRIMARY KEY, ADD PRIMARY KEY (o)",
)
"""Statements after which rows must not be reduced together with those before them."""

THIRD = (
    "UPDATE {t} SET id = 5 WHERE o = 10",
    "UPDATE {t} SET id = 2 WHERE o = 10",
    "UPDATE {t} SET o = 11 WHERE o = 10",
    "DELETE FROM {t} WHERE o = 10",
    "INSERT INTO {t} VALUES (1, 30, 'n', 'n')",
)


def rows(draw: random.Random, table: str) -> str:
    """Returns a random statement that changes rows. It can fail because of a duplicate key."""
    value = {
        "id": str(draw.randint(1, 6)),
        "o": str(draw.randint(1, 6)),
        "s": f"'{draw.choice('abcAB')}'",
        "f": f"'{draw.randint(0, 99)}'",
    }
    column, other = draw.choice(COLUMNS), draw.choice([*COLUMNS, "f"])
    match draw.choice(["insert", "insert", "update", "update", "swap", "delete", "replace"]):
        case "insert":
            return f"INSERT INTO {table} (id, o, s, f) VALUES ({', '.join(value.values())})"
        case "replace":
            return f"REPLACE INTO {table} (id, o, s, f) VALUES ({', '.join(value.values())})"
        case "swap":
            return f"UPDATE {table} SET {other} = {value[other]} ORDER BY {column} DESC LIMIT 1"
        case "delete":
            return f"DELETE FROM {table} WHERE {column} = {value[column]}"
    return f"UPDATE {table} SET {other} = {value[other]} WHERE {column} = {value[column]}"


def key(draw: random.Random, table: str) -> list[str]:
    """Returns statements that give a table another key, or its key other types."""
    names = ", ".join(draw.sample(COLUMNS, draw.randint(1, 2)))
    return draw.choice(
        [
            [f"ALTER TABLE {table} DROP PRIMARY KEY, ADD PRIMARY KEY ({names})"],
            [f"ALTER TABLE {table} DROP PRIMARY KEY, ADD PRIMARY KEY ({names})"],
            [
                f"ALTER TABLE {table} ADD UNIQUE KEY u ({names}), DROP PRIMARY KEY",
                rows(draw, table),
                f"ALTER TABLE {table} ADD PRIMARY KEY ({names}), DROP KEY u",
            ],
            [f"ALTER TABLE {table} MODIFY s VARCHAR(9) NOT NULL COLLATE utf8mb4_general_ci"],
            [f"ALTER TABLE {table} MODIFY s VARCHAR(9) NOT NULL COLLATE utf8mb4_bin"],
            [
                (
                    f"ALTER TABLE {table} DROP PRIMARY KEY, ADD COLUMN n INT NOT NULL DEFAULT 4,"
                    f" ADD PRIMARY KEY ({names}, n)"
                ),
                rows(draw, table),
                f"ALTER TABLE {table} DROP PRIMARY KEY, ADD PRIMARY KEY ({names}), DROP COLUMN n",
            ],
        ]
    )


def script(draw: random.Random, table: str) -> Iterator[str]:
    """Returns random statements on a table."""
    for _ in range(draw.randint(4, 14)):
        yield rows(draw, table)
    for _ in range(draw.randint(1, 3)):
        yield from key(draw, table)
        for _ in range(draw.randint(1, 8)):
            yield rows(draw, table)


def play(source: Source, statements: Iterator[str]) -> None:
    """Runs statements, except those that fail because a key has a duplicate."""
    for statement in statements:
        try:
            source.execute(statement)
        except (IntegrityError, OperationalError, DataError):
            continue


@each_kind
@pytest.mark.parametrize("mode", ["mirror", "scd2"])
def test_the_smallest_cases(source: Source, mode: str) -> None:
    names = [f"p{number}" for number in range(len(THIRD))]
    for name in names:
        source.execute(
            f"CREATE TABLE {name} {TABLE.format(key='PRIMARY KEY (id)')}",
            f"INSERT INTO {name} VALUES (1, 10, 'a', 'a'), (2, 20, 'b', 'b')",
        )
    source.sync(mode=mode)
    for name, third in zip(names, THIRD, strict=True):
        source.execute(*(one.format(t=name) for one in (*SMALLEST, third)))
    summary = source.sync(mode=mode)
    assert [table.loads for table in summary.tables.values()] == [0] * len(names)
    check(source, names, mode)


@each_kind
@pytest.mark.parametrize("mode", ["mirror", "scd2"])
def test_random_changes(source: Source, mode: str) -> None:
    draw = random.Random(SEED)
    names = [f"r{number}" for number in range(CASES)]
    for name in names:
        source.execute(f"CREATE TABLE {name} {TABLE.format(key='PRIMARY KEY (id)')}")
        play(source, (rows(draw, name) for _ in range(5)))
    source.sync(mode=mode)
    for name in names:
        play(source, script(draw, name))
    source.sync(mode=mode)
    check(source, names, mode)


def check(source: Source, names: list[str], mode: str) -> None:
    """Compares the current rows of the target with SELECT."""
    tables = [f"shop.{name}" for name in names]
    if mode == "mirror":
        source.check(*tables)
    else:
        check_current(source, *tables)
