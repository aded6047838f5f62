"""A process that writes a table history until it is killed, and what its history must be then."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import binarrow

TABLES = 12
BASE = "".join(
    f"CREATE TABLE t{number} (id BIGINT PRIMARY KEY, name VARCHAR(40) NOT NULL);\n"
    for number in range(TABLES)
)
BASELINE = f"CREATE DATABASE shop DEFAULT CHARSET utf8mb4;\nUSE shop;\n{BASE}"
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


def position(number: int) -> str:
    """Where statement `number` ends; 0 for the baseline's place."""
    return f"binlog.{1 + number // 700:06}:{200 + number % 700 * 100}"


def statement(number: int) -> str:
    """Statement `number`, from 1 on: always the same."""
    table = f"t{number * 7 % TABLES}"
    return (
        f"ALTER TABLE {table} ADD COLUMN c{number} INT COMMENT 'wäre''s \\\\ 😀' FIRST",
        f"ALTER TABLE {table} DROP COLUMN c{number - TABLES}",
        f"DROP TABLE IF EXISTS {table}",
        f"CREATE TABLE IF NOT EXISTS {table} (id INT, e ENUM('a', 'b') CHARACTER SET latin1)",
        f"ALTER TABLE {table} MODIFY COLUMN name VARCHAR({number % 200 + 1}), COMMENT '{number}'",
        f"ALTER TABLE {table} FROBNICATE" if number % 4 == 0 else f"CREATE INDEX i ON {table} (id)",
    )[number % 6]


def apply(history: binarrow.SchemaHistory, number: int) -> None:
    history.apply(
        position(number),
        "shop",
        statement(number),
        timestamp=BEGIN + timedelta(minutes=number),
        server="mysql-9.7",
    )


def number_of(place: binarrow.Position | None) -> int:
    """The number of the statement that ends there."""
    assert place is not None
    return (int(place.file.rpartition(".")[2]) - 1) * 700 + (place.offset - 200) // 100


def begin(history: binarrow.SchemaHistory) -> None:
    history.baseline(BASELINE, position(0), server="mysql-9.7")


def fresh(upto: int) -> binarrow.SchemaHistory:
    """A history of the same statements that nothing happened to."""
    history = binarrow.SchemaHistory.open("memory:")
    begin(history)
    for number in range(1, upto + 1):
        apply(history, number)
    return history


def told(history: binarrow.SchemaHistory) -> tuple[dict[str, str], dict[str, str | None]]:
    """All that it says of the place where its view is."""
    return history.snapshot(), history.tables()


def killed_again_and_again(url: str, kills: int, seed: int) -> int:
    """Kills the writer at random moments; after each, all that it had said to be stored is there.

    Returns the number of the last statement.
    """
    moments = random.Random(seed)
    last = 0
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, __file__, url], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline()]
            said += [writer.stdout.readline() for _ in range(moments.randrange(40))]
            # In the middle of something.
            busy = moments.random() / 100
            until = datetime.now(UTC) + timedelta(seconds=busy)
            while datetime.now(UTC) < until:
                pass
            writer.kill()
            said.extend(writer.stdout)
        acknowledged = int([line for line in said if line.endswith("\n")][-1])
        with binarrow.SchemaHistory.open(url) as history:
            there = number_of(history.position)
            assert acknowledged <= there <= acknowledged + 1, (acknowledged, there)
            assert there > last or acknowledged == last
            last = there
            statements = [c for c in history.changes() if c.kind == "statement"]
            assert len(statements) == there
            assert statements[-1:] == [] or statements[-1].statement == statement(there)
    with binarrow.SchemaHistory.open(url) as history:
        for number in {last, last // 2, last * 2 // 3}:
            history.rollback(position(number))
            assert told(history) == told(fresh(number)), number
    return last


def main(url: str) -> None:
    with binarrow.SchemaHistory.open(url) as history:
        if history.position is None:
            begin(history)
        reached = number_of(history.position)
        # What is there already is met again.
        history.rollback(position(max(reached - 5, 0)))
        for number in range(max(reached - 5, 0) + 1, reached + 100_000):
            apply(history, number)
            if number > reached:
                print(number, flush=True)
            if number % 9 == 0 and number > reached:
                history.checkpoint()


if __name__ == "__main__":
    main(sys.argv[1])
