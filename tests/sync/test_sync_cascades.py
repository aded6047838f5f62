"""Rows that foreign keys change, and that the log of MySQL 5.7 and of MariaDB does not contain.

`BINARROW_SYNC_CASCADES=200` compares this number of random runs on each server with SELECT.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pymysql
import pytest

from binarrow.syncing import cascades, effects, images
from support import live
from support.extent import rounds
from support.servers.servers import Session
from support.sync_source import Source, new_source, repairs_of
from support.workloads.many_tables import TYPES

KINDS = ["duckdb"]
each_kind = pytest.mark.parametrize("kind", ["duckdb", "delta", "iceberg"])

RUNS = rounds("BINARROW_SYNC_CASCADES", 3, 6)
SEED = int(os.environ.get("BINARROW_SEED", "1"))
TABLES = ("shop.p", "shop.c", "shop.g", "shop.n", "shop.tree")


@pytest.fixture
def source(unlogged_source: Source) -> Source:
    return unlogged_source


def create(source: Source, *rows: str, key: str = "INT", action: str = "CASCADE") -> None:
    """Creates a parent, its children and their children."""
    refers = f"FOREIGN KEY (p) REFERENCES p (id) ON DELETE {action} ON UPDATE CASCADE"
    source.execute(
        f"CREATE TABLE p (id {key} PRIMARY KEY, v INT)",
        f"CREATE TABLE c (id INT PRIMARY KEY, p {key}, v INT, {refers})",
        "CREATE TABLE g (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id)"
        " ON DELETE CASCADE)",
        *rows,
    )


def run(
    source: Source, statements: Sequence[str], *tables: str, repaired: str = "", **keywords: Any
) -> None:
    """Syncs, executes statements in one session, syncs again, and compares.

    `repaired` is how tables are repaired whose changes cannot be computed: "keys" or "rows".
    """
    source.sync()
    with closing(Session(source.server, database="shop")) as session:
        for statement in statements:
            session.execute(statement)
    summary = source.sync(**keywords)
    source.check(*(f"shop.{table}" for table in tables))
    assert repairs_of(summary.tables.values()) == {repaired} - {""}


ROWS = (
    "INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    "INSERT INTO c VALUES (10, 1, 0), (11, 1, 0), (20, 2, 0), (30, 3, 0), (40, NULL, 0)",
    "INSERT INTO g VALUES (100, 10), (101, 11), (200, 20), (300, 30), (400, 40)",
)


DELETES = (
    ["DELETE FROM p WHERE id = 1"],
    ["DELETE FROM p WHERE id < 4"],
    ["INSERT INTO c VALUES (12, 1, 0)", "INSERT INTO g VALUES (102, 12)", "DELETE FROM p"],
    # The rows come again after their delete, in the same transaction or in a later one.
    [
        "BEGIN",
        "REPLACE INTO p VALUES (1, 9)",
        "INSERT INTO c VALUES (10, 1, 5), (15, 1, 5)",
        "INSERT INTO g VALUES (150, 15)",
        "COMMIT",
    ],
    [
        "DELETE FROM p WHERE id = 2",
        "INSERT INTO p VALUES (2, 8)",
        "INSERT INTO c VALUES (20, 2, 1)",
        "DELETE FROM p WHERE id = 1",
        "INSERT INTO g VALUES (201, 20)",
    ],
    # The child belongs to another parent when the first one is deleted.
    ["UPDATE c SET p = 4 WHERE id = 10", "DELETE FROM p WHERE id = 1"],
    ["UPDATE c SET p = 1 WHERE id = 30", "DELETE FROM p WHERE id = 1", "DELETE FROM p"],
    # The session's setting decides, statement by statement.
    ["SET foreign_key_checks = 0", "DELETE FROM p WHERE id = 1"],
    [
        "BEGIN",
        "SET foreign_key_checks = 0",
        "DELETE FROM p WHERE id = 1",
        "SET foreign_key_checks = 1",
        "DELETE FROM p WHERE id = 2",
        "COMMIT",
    ],
    ["DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.id = 1", "DELETE FROM p WHERE id = 2"],
    ["DELETE c, p FROM c JOIN p ON c.p = p.id WHERE c.id = 10"],
    # MySQL's log says of all tables of a statement that foreign keys refer to them, also of `g`.
    ["DELETE c, g FROM c JOIN g ON g.c = c.id WHERE c.id = 10", "DELETE FROM p WHERE id = 1"],
    ["DELETE g FROM g JOIN c ON g.c = c.id WHERE c.id = 10"],
    ["UPDATE g SET c = 30 WHERE c IN (SELECT id FROM c WHERE p = 1)", "DELETE FROM p WHERE id = 3"],
    [
        "CREATE TRIGGER log_delete BEFORE DELETE ON g FOR EACH ROW UPDATE p SET v = 7 WHERE id = 2",
        "DELETE FROM g WHERE id = 100",
    ],
)


REFERS = "FOREIGN KEY (p) REFERENCES p (id) ON DELETE {action} ON UPDATE CASCADE"
LEAF = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    f"CREATE TABLE c (id INT PRIMARY KEY, p INT, v INT, {REFERS})",
    "CREATE TABLE q (id INT PRIMARY KEY)",
    *ROWS[:2],
    "INSERT INTO q VALUES (1), (2), (3)",
)


@pytest.mark.parametrize("action", ["CASCADE", "SET NULL"])
@pytest.mark.parametrize(
    ("trigger", "statement"),
    [
        ("BEFORE DELETE ON p FOR EACH ROW UPDATE c SET v = v + 1 WHERE id = 20", "DELETE FROM p"),
        (
            "BEFORE DELETE ON p FOR EACH ROW UPDATE c SET v = v + 1 WHERE id IN (10, 30)",
            "DELETE FROM p WHERE id = 1",
        ),
        (
            "AFTER DELETE ON p FOR EACH ROW INSERT INTO c VALUES (OLD.id + 50, 4, 0)",
            "DELETE FROM p WHERE id < 3",
        ),
        ("BEFORE DELETE ON p FOR EACH ROW DELETE FROM c WHERE id = 10", "DELETE FROM p"),
        ("AFTER DELETE ON q FOR EACH ROW DELETE FROM p WHERE id = OLD.id", "DELETE FROM q"),
    ],
)
def test_triggers(source: Source, trigger: str, statement: str, action: str) -> None:
    """The log has other rows of the child in the statement that deletes rows of the parent."""
    source.execute(*(one.format(action=action) for one in LEAF))
    source.execute(f"CREATE TRIGGER changes {trigger}")
    run(source, [statement], "p", "c", "q")


def test_later_mysql_with_foreign_keys_of_innodb(tmp_path: Path, kind: str) -> None:
    with live.server("mysql", "--innodb-native-foreign-keys=ON") as server:
        source = new_source(server, tmp_path, kind)
        create(source, *ROWS)
        changes = [*DELETES[-3], "DELETE FROM p WHERE id = 3"]
        run(source, changes, "p", "c", "g")


def test_updates_of_parent_and_child(source: Source) -> None:
    """The statement changes a key, and other columns of the child."""
    source.execute(*(one.format(action="CASCADE") for one in LEAF))
    source.execute(
        "CREATE TRIGGER changes BEFORE UPDATE ON p FOR EACH ROW"
        " UPDATE c SET v = v + 1 WHERE id = 20"
    )
    run(source, ["UPDATE p SET id = 7 WHERE id = 1"], "p", "c", repaired="rows")
    run(source, ["UPDATE p SET v = 7 WHERE id = 2"], "p", "c")


@each_kind
def test_deletes(source: Source) -> None:
    """All of them are in one commit, each in its own database."""
    databases = [f"shop{number}" for number in range(len(DELETES))]
    for database in databases:
        source.execute(f"CREATE DATABASE {database}", f"USE {database}")
        create(source, *ROWS)
    source.sync(tables="shop*.*")
    for database, statements in zip(databases, DELETES, strict=True):
        with closing(Session(source.server, database=database)) as session:
            for statement in statements:
                session.execute(statement)
    summary = source.sync(tables="shop*.*")
    for database in databases:
        source.check(*(f"{database}.{table}" for table in ("p", "c", "g")))
    assert not repairs_of(summary.tables.values())


@pytest.mark.parametrize(("least", "repaired"), [(250_000, ""), (3, "keys")])
def test_a_delete_of_more_rows_than_a_commit(
    source: Source, monkeypatch: pytest.MonkeyPatch, *, least: int, repaired: str
) -> None:
    """A small limit does not divide it. Only then must the keys of children be compared."""
    assert cascades.LEAST_ROWS == 250_000
    monkeypatch.setattr(cascades, "LEAST_ROWS", least)
    create(source, *ROWS)
    deletes = ["DELETE FROM p"]
    run(source, deletes, "p", "c", "g", repaired=repaired, max_rows_per_commit=1)


@pytest.mark.parametrize(
    "limit", [(images, "MAX_ROWS"), (images, "MAX_PAIRS"), (effects, "MAX_LEVELS")]
)
def test_limits(
    source: Source, monkeypatch: pytest.MonkeyPatch, limit: tuple[ModuleType, str]
) -> None:
    """Two child rows, which have children."""
    monkeypatch.setattr(*limit, 1)
    create(source, *ROWS)
    run(source, ["DELETE FROM p WHERE id = 1"], "p", "c", "g", repaired="keys")


def test_set_null(source: Source) -> None:
    create(source, *ROWS, action="SET NULL")
    run(source, ["DELETE FROM p WHERE id < 3"], "p", "c", "g")


@each_kind
def test_other_columns_of_rows_with_null(source: Source) -> None:
    """The target's rows are read and written again, with values of all types."""
    names = [f"c{place}" for place in range(len(TYPES))]
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in zip(names, TYPES, strict=True))
    key = "k VARCHAR(9), b BIGINT UNSIGNED, PRIMARY KEY (k, b)"
    values = ", ".join(value for _, value in TYPES)
    nulls = ", ".join("NULL" for _ in TYPES)
    rows = ", ".join(f"('k', {place}, {place % 3 + 1}, {values})" for place in range(9))
    source.execute(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "INSERT INTO p VALUES (1), (2), (3)",
        f"CREATE TABLE c ({key}, p INT, {columns}, FOREIGN KEY (p) REFERENCES p (id)"
        " ON DELETE SET NULL)",
        f"INSERT INTO c VALUES {rows}, ('null', 1, 1, {nulls})",
    )
    changes = [f"INSERT INTO c VALUES ('new', 1, 2, {values})", "DELETE FROM p WHERE id < 3"]
    run(source, changes, "p", "c")


def test_tree(source: Source) -> None:
    """A table that refers to itself."""
    source.execute(
        "CREATE TABLE tree (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES tree (id)"
        " ON DELETE CASCADE)",
        "INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, NULL), (6, 5)",
    )
    statements = ["DELETE FROM tree WHERE id = 2", "INSERT INTO tree VALUES (3, 1), (7, 6)"]
    run(source, [*statements, "DELETE FROM tree WHERE id = 5"], "tree")


def test_composite_and_binary_keys(source: Source) -> None:
    refers = "FOREIGN KEY (a, b) REFERENCES p (a, b) ON DELETE CASCADE"
    source.execute(
        "CREATE TABLE p (a BIGINT UNSIGNED, b BINARY(3), PRIMARY KEY (a, b))",
        f"CREATE TABLE c (id INT PRIMARY KEY, a BIGINT UNSIGNED, b BINARY(3), {refers})",
        "INSERT INTO p VALUES (18446744073709551615, 'x '), (1, 'x'), (1, 'X'), (1, 'x  ')",
        "INSERT INTO c VALUES (1, 18446744073709551615, 'x '), (2, 1, 'x'), (3, 1, 'X'),"
        " (4, 1, 'x  '), (5, 1, NULL)",
    )
    deletes = ["DELETE FROM p WHERE a > 1", "DELETE FROM p WHERE b = 'x\\0\\0'"]
    run(source, deletes, "p", "c")


ROMAN = "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_roman_ci"
"""The server does not distinguish I and J, or U and V."""


@pytest.mark.parametrize(
    ("key", "action", "statements", "repaired"),
    [
        (ROMAN, "CASCADE", ["DELETE FROM p WHERE id = '1'"], "keys"),
        (ROMAN, "SET NULL", ["DELETE FROM p WHERE id = '1'"], "rows"),
        ("INT", "CASCADE", ["UPDATE p SET id = 7 WHERE id = 1"], "rows"),
        (
            "INT",
            "CASCADE",
            ["DELETE FROM p WHERE id = 1", "ALTER TABLE c ADD COLUMN w INT DEFAULT 5"],
            "keys",
        ),
    ],
)
def test_repaired_tables(
    source: Source, key: str, action: str, statements: list[str], repaired: str
) -> None:
    create(source, *ROWS, key=key, action=action)
    run(source, statements, "p", "c", "g", repaired=repaired)


RENAMES = (
    ["RENAME TABLE p TO p2", "DELETE FROM p2 WHERE id = 1"],
    ["RENAME TABLE c TO c2", "DELETE FROM p WHERE id = 1"],
    ["RENAME TABLE p TO p2", "RENAME TABLE c TO c2", "DELETE FROM p2 WHERE id = 1"],
    ["ALTER TABLE c ADD w INT, RENAME TO c2", "RENAME TABLE p TO p2, c2 TO c3"]
    + ["INSERT INTO c3 (id, p) VALUES (50, 4)", "DELETE FROM p2 WHERE id IN (1, 4)"],
    ["ALTER TABLE p RENAME p2", "DELETE FROM p2 WHERE id = 1"],
    # Another table gets the parent's name.
    ["RENAME TABLE p TO p2, q TO p", "DELETE FROM p WHERE id = 2", "DELETE FROM p2 WHERE id = 1"],
    ["RENAME TABLE p TO x, q TO p, x TO q", "DELETE FROM p WHERE id = 2"]
    + ["DELETE FROM q WHERE id = 1"],
    ["RENAME TABLE p TO {other}.p", "DELETE FROM {other}.p WHERE id = 1"],
    ["RENAME TABLE c TO {other}.c", "DELETE FROM p WHERE id = 1"],
    ["RENAME TABLE c TO {other}.c, p TO {other}.p2", "DELETE FROM {other}.p2 WHERE id = 1"],
)


@pytest.mark.parametrize(
    ("key", "syncs"),
    [
        ("INT", "one"),
        ("VARCHAR(9)", "each"),
        pytest.param("INT", "each", marks=pytest.mark.thorough(by="the other two pairs")),
        pytest.param("VARCHAR(9)", "one", marks=pytest.mark.thorough(by="the other two pairs")),
    ],
)
def test_renames_of_parents_and_children(source: Source, key: str, syncs: str) -> None:
    """Each case is in two databases. Rows of children are deleted in the log, or only on the server."""
    cases = []
    for number, statements in enumerate(RENAMES):
        own, other = f"shop{number}", f"shop_{number}"
        source.execute(f"CREATE DATABASE {own}", f"CREATE DATABASE {other}", f"USE {own}")
        create(source, *ROWS, key=key)
        source.execute("CREATE TABLE q (id INT PRIMARY KEY)", "INSERT INTO q VALUES (1), (2)")
        cases.append((own, [statement.format(other=other) for statement in statements]))
    source.sync(tables="shop*.*")
    for step in range(max(map(len, RENAMES))):
        for database, statements in cases:
            source.execute(f"USE {database}", *statements[step : step + 1])
        if syncs == "each":
            source.sync(tables="shop*.*")
    source.sync(tables="shop*.*")
    source.check(
        *(
            f"{database}.{table}"
            for database, table in source.server.query(
                "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
                " WHERE TABLE_SCHEMA LIKE 'shop%'"
            )
        )
    )


@pytest.mark.parametrize("left_out", ["shop.p", "shop.c"])
def test_tables_that_are_left_out(source: Source, left_out: str) -> None:
    """Their rows are not in the stream, and their foreign keys have effects."""
    create(source, *ROWS)
    source.sync(exclude_tables=left_out)
    source.execute("DELETE FROM p WHERE id = 1")
    source.sync(exclude_tables=left_out)
    source.check(*({"shop.p", "shop.c", "shop.g"} - {left_out}))


def test_a_foreign_key_whose_values_are_not_known(source: Source) -> None:
    """The target cannot find the rows that a delete of a parent deletes."""
    default = "(id)" if source.server.is_mariadb else "1950"  # MySQL 5.7 permits only constants
    values = ", ".join(f"({number})" for number in range(2000))
    source.execute(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        f"INSERT INTO p VALUES {values}",
        "CREATE TABLE c (id INT PRIMARY KEY)",
        "INSERT INTO c SELECT id FROM p",
    )
    source.sync()
    source.execute(
        f"ALTER TABLE c ADD COLUMN p INT NOT NULL DEFAULT {default},"
        " ADD FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE"
    )
    left = ["SELECT 1", "DELETE FROM p WHERE id > 1900"]

    def execute(_: object) -> None:
        """The commit with the ALTER TABLE is the second one."""
        if left:
            source.execute(left.pop(0))

    source.sync(every=0.2, max_rows_per_second=1500, on_commit=execute)
    source.sync()
    source.check("shop.c", "shop.p")


def test_history_mode(source: Source) -> None:
    """A history of changes contains what the log contains, and a warning says so."""
    create(source, *ROWS)
    source.sync(mode="history")
    source.execute("DELETE FROM p WHERE id = 1")
    with pytest.warns(match="no event contains the rows of shop.c"):
        source.sync(mode="history")


@each_kind
def test_random_statements(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of a few rows and of all rows; the last run begins in the middle of the log."""
    monkeypatch.setattr(cascades, "LEAST_ROWS", 0)
    create(
        source,
        "CREATE TABLE n (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id)"
        " ON DELETE SET NULL)",
        "CREATE TABLE tree (id INT PRIMARY KEY, up INT, p INT, FOREIGN KEY (up) REFERENCES tree (id)"
        " ON DELETE CASCADE, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
        *ROWS,
    )
    chosen = random.Random(SEED)
    repeated = 0
    for number in range(RUNS):
        with closing(Session(source.server, database="shop")) as session:
            for _ in range(chosen.choice((5, 40, 120))):
                for statement in change(chosen):
                    with suppress(pymysql.err.MySQLError):  # a key that exists or does not
                        session.execute(statement)
            session.execute("COMMIT")
        rows = chosen.choice((2, 15, 250_000))
        summary = source.sync(every=chosen.choice((0, 10)), max_rows_per_commit=rows)
        repeated += number > 0 and not repairs_of(summary.tables.values())
        source.check(*TABLES)
    assert repeated > RUNS // 3


def change(chosen: random.Random) -> list[str]:
    """Returns statements on rows with few keys."""
    p, c, g = chosen.randrange(8), chosen.randrange(24), chosen.randrange(40)
    return chosen.choice(
        [
            [f"DELETE FROM p WHERE id = {p}"],
            [f"DELETE FROM p WHERE id BETWEEN {p} AND {p + 2}"],
            [f"DELETE FROM c WHERE id = {c}"],
            [f"DELETE FROM tree WHERE id = {c}"],
            [f"INSERT INTO p VALUES ({p}, {g})"],
            [f"INSERT INTO p VALUES ({p}, {g})", f"INSERT INTO c VALUES ({c}, {p}, {g})"],
            [f"REPLACE INTO p VALUES ({p}, {g})"],
            [f"INSERT INTO c VALUES ({c}, {p}, {g})", f"INSERT INTO g VALUES ({g}, {c})"],
            [f"INSERT INTO g VALUES ({g}, {c})"],
            [f"INSERT INTO n VALUES ({c}, {p})"],
            [f"INSERT INTO tree VALUES ({c}, {g % 24}, {p})"],
            [f"INSERT INTO tree VALUES ({c}, NULL, NULL)"],
            [f"UPDATE c SET p = {p} WHERE id = {c}"],
            [f"UPDATE g SET c = {c} WHERE id = {g}"],
            [f"UPDATE tree SET up = {g % 24} WHERE id = {c}"],
            ["BEGIN"],
            ["COMMIT"],
            ["ROLLBACK"],
        ]
    )
