"""Effects of foreign keys that sync computes, or for which it must read tables again: unusual cases.

In each case, statements are executed between two runs of sync, so all of their changes are in one commit.
"""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

import binarrow
from binarrow.syncing import effects
from binarrow.syncing.settings import Mode
from support import live
from support.oracles.valid_rows import check_current
from support.servers.servers import Session
from support.sync_source import Source, new_source, repairs_of

KINDS = ["duckdb"]


@dataclass(frozen=True)
class Case:
    created: tuple[str, ...]
    changes: tuple[str, ...]
    repaired: frozenset[str] = frozenset()


P, Q, R = (f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)" for name in "pqr")
PARENTS = tuple(f"INSERT INTO {name} VALUES (1, 1), (2, 2), (3, 3)" for name in "pqr")

CASES = {
    "a unique key that is not the primary key": Case(
        (
            "CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, n INT, KEY (n))",
            (
                "CREATE TABLE c (id INT PRIMARY KEY, u INT,"
                " FOREIGN KEY (u) REFERENCES p (u) ON DELETE CASCADE)"
            ),
            (
                "CREATE TABLE n (id INT PRIMARY KEY, n INT,"
                " FOREIGN KEY (n) REFERENCES p (n) ON DELETE SET NULL)"
            ),
            "INSERT INTO p VALUES (1, 11, 5), (2, 12, 6), (3, 13, 7)",
            "INSERT INTO c VALUES (1, 11), (2, 12), (3, NULL), (4, 13)",
            "INSERT INTO n VALUES (1, 5), (2, 6), (3, NULL), (4, 7)",
        ),
        (
            "DELETE FROM p WHERE id = 1",
            "INSERT INTO p VALUES (1, 21, 8)",
            "INSERT INTO c VALUES (5, 21)",
            "DELETE FROM p WHERE id IN (1, 3)",
        ),
    ),
    "two parents for one column": Case(
        (
            *(P, Q),
            (
                "CREATE TABLE c (id INT PRIMARY KEY, x INT,"
                " FOREIGN KEY (x) REFERENCES p (id) ON DELETE SET NULL,"
                " FOREIGN KEY (x) REFERENCES q (id) ON DELETE CASCADE)"
            ),
            *PARENTS[:2],
            "INSERT INTO c VALUES (10, 1), (11, 2)",
        ),
        ("DELETE FROM p WHERE id = 1", "DELETE FROM q WHERE id = 1"),
        repaired=frozenset({"rows"}),
    ),
    "a key that is NULL before its row is deleted": Case(
        (
            *(P, R),
            (
                "CREATE TABLE c (id INT PRIMARY KEY, x INT UNIQUE, r INT,"
                " FOREIGN KEY (x) REFERENCES p (id) ON DELETE SET NULL,"
                " FOREIGN KEY (r) REFERENCES r (id) ON DELETE CASCADE)"
            ),
            (
                "CREATE TABLE g (id INT PRIMARY KEY, y INT,"
                " FOREIGN KEY (y) REFERENCES c (x) ON DELETE CASCADE)"
            ),
            *PARENTS[::2],
            "INSERT INTO c VALUES (10, 1, 1)",
        ),
        (
            "DELETE FROM p WHERE id = 1",
            "INSERT INTO p VALUES (1, 1)",
            "INSERT INTO c VALUES (11, 1, 2)",
            "INSERT INTO g VALUES (100, 1)",
            "DELETE FROM r WHERE id = 1",
        ),
        repaired=frozenset({"rows", "keys"}),
    ),
    "columns that the server computes": Case(
        (
            P,
            (
                "CREATE TABLE c (id INT PRIMARY KEY, p INT, twice INT AS (p * 2) VIRTUAL,"
                " FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL)"
            ),
            PARENTS[0],
            "INSERT INTO c (id, p) VALUES (10, 1), (11, 2)",
        ),
        ("DELETE FROM p WHERE id = 1",),
        repaired=frozenset({"rows"}),
    ),
    "a foreign key that is dropped between two deletes": Case(
        (
            *(R, Q),
            (
                "CREATE TABLE p (id INT PRIMARY KEY, r INT, q INT,"
                " FOREIGN KEY (r) REFERENCES r (id) ON DELETE CASCADE,"
                " FOREIGN KEY (q) REFERENCES q (id) ON DELETE CASCADE)"
            ),
            (
                "CREATE TABLE c (id INT PRIMARY KEY, p INT,"
                " CONSTRAINT of_p FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)"
            ),
            *PARENTS[1:],
            "INSERT INTO p VALUES (1, 1, NULL), (2, NULL, 2)",
            "INSERT INTO c VALUES (10, 1), (20, 2)",
        ),
        (
            "DELETE FROM r WHERE id = 1",
            "ALTER TABLE c DROP FOREIGN KEY of_p",
            "DELETE FROM q WHERE id = 2",
        ),
        repaired=frozenset({"keys"}),
    ),
    "a row that two parents delete, and that has a child": Case(
        (
            *(P, Q),
            (
                "CREATE TABLE c (id INT PRIMARY KEY, p INT, q INT,"
                " FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE,"
                " FOREIGN KEY (q) REFERENCES q (id) ON DELETE CASCADE)"
            ),
            (
                "CREATE TABLE g (id INT PRIMARY KEY, c INT,"
                " FOREIGN KEY (c) REFERENCES c (id) ON DELETE CASCADE)"
            ),
            *PARENTS[:2],
            "INSERT INTO c VALUES (10, 1, 2), (11, 2, 1)",
            "INSERT INTO g VALUES (100, 10), (101, 11)",
        ),
        (
            "DELETE FROM q WHERE id = 2",
            "INSERT INTO c VALUES (10, 2, 3)",
            "INSERT INTO g VALUES (100, 10)",
            "DELETE FROM p WHERE id = 1",
            "DELETE FROM q WHERE id = 1",
        ),
    ),
    "a cycle of two tables": Case(
        (
            "CREATE TABLE a (id INT PRIMARY KEY, b INT)",
            (
                "CREATE TABLE b (id INT PRIMARY KEY, a INT,"
                " FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE)"
            ),
            "ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE",
            "INSERT INTO a VALUES (1, NULL), (2, NULL), (9, NULL)",
            "INSERT INTO b VALUES (1, 1), (2, 2)",
            "UPDATE a SET b = 3 - id WHERE id < 3",
        ),
        (
            "DELETE FROM a WHERE id = 1",
            "INSERT INTO a VALUES (1, NULL)",
            "INSERT INTO b VALUES (1, 1)",
            "UPDATE a SET b = 1 WHERE id = 1",
            "DELETE FROM b WHERE id = 1",
        ),
        repaired=frozenset({"keys"}),  # two deletes reach a row, the second one in fewer steps
    ),
    "keys of rows that change": Case(
        (
            P,
            (
                "CREATE TABLE c (id INT PRIMARY KEY, p INT,"
                " FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)"
            ),
            PARENTS[0],
            "INSERT INTO c VALUES (10, 1), (11, 1), (12, 2)",
        ),
        (
            "UPDATE c SET id = 110 WHERE id = 10",
            "UPDATE c SET id = 10 WHERE id = 12",
            "BEGIN",
            "UPDATE c SET id = 12 WHERE id = 11",
            "DELETE FROM p WHERE id = 1",
            "INSERT INTO c VALUES (110, 2)",
            "COMMIT",
            "UPDATE c SET id = id + 1 ORDER BY id DESC",
        ),
    ),
}


@pytest.mark.parametrize("kind", ["duckdb", "delta"])
def test_cases(unlogged_source: Source) -> None:
    """Each case has its own database."""
    source = unlogged_source
    databases = {f"shop{number}": case for number, case in enumerate(CASES.values())}
    for database, case in databases.items():
        source.execute(f"CREATE DATABASE {database}")
        execute(source, database, case.created)
    source.sync(tables="shop*.*")
    for database, case in databases.items():
        execute(source, database, case.changes)
    summary = source.sync(tables="shop*.*")
    found: dict[str, set[str]] = {}
    for (database, name), table in summary.tables.items():
        source.check(f"{database}.{name}")
        found.setdefault(database, set()).update(repairs_of([table]))
    titles = dict(zip(databases, CASES, strict=True))
    assert {titles[one]: how for one, how in found.items()} == {
        title: case.repaired for title, case in CASES.items()
    }


def execute(source: Source, database: str, statements: tuple[str, ...]) -> None:
    with closing(Session(source.server, database=database)) as session:
        for statement in statements:
            session.execute(statement)


def test_names_of_other_letter_case(tmp_path: Path) -> None:
    """With lower_case_table_names=1, a foreign key has the names of its statement."""
    options = ("--binlog-format=ROW", "--lower-case-table-names=1")
    with live.server("mariadb-11.8", *options) as server:
        source = new_source(server, tmp_path, "duckdb")
        server.execute(
            *(P, PARENTS[0]),
            "CREATE TABLE C (id INT PRIMARY KEY, p INT,"
            " FOREIGN KEY (P) REFERENCES P (ID) ON DELETE CASCADE)",
            "CREATE TABLE G (id INT PRIMARY KEY, c INT,"
            " FOREIGN KEY (C) REFERENCES C (ID) ON DELETE CASCADE)",
            "INSERT INTO c VALUES (10, 1), (20, 2)",
            "INSERT INTO g VALUES (100, 10), (200, 20)",
        )
        source.sync()
        source.execute("DELETE FROM P WHERE id = 1")
        summary = source.sync()
        source.check("shop.p", "shop.c", "shop.g")
        assert not repairs_of(summary.tables.values())


def test_many_children_of_one_level(
    unlogged_source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is for levels, not for tables. One table is not selected, and has no children."""
    monkeypatch.setattr(effects, "MAX_LEVELS", 3)
    source = unlogged_source
    refers = "FOREIGN KEY (p) REFERENCES {} (id) ON DELETE CASCADE"
    source.execute(P, PARENTS[0])
    for number in range(6):
        key = "id INT PRIMARY KEY, p INT"
        source.execute(
            f"CREATE TABLE c{number} ({key}, {refers.format('p')})",
            f"CREATE TABLE g{number} ({key}, {refers.format(f'c{number}')})",
            f"INSERT INTO c{number} VALUES (10, 1), (20, 2)",
            f"INSERT INTO g{number} VALUES (100, 10), (200, 20)",
        )
    source.sync(exclude_tables="shop.g0")
    source.execute("DELETE FROM p WHERE id = 1")
    summary = source.sync(exclude_tables="shop.g0")
    source.check(
        "shop.p", *(f"shop.{one}{n}" for one in "cg" for n in range(6) if one + str(n) != "g0")
    )
    assert not repairs_of(summary.tables.values())


ROWS = 2000


@pytest.mark.parametrize(
    ("shape", "at", "every"),
    [("levels", 2, 0.1), ("levels", 4, 0.1), ("tree", 2, 0.1), ("levels", 1, 20), ("tree", 1, 20)],
)
def test_deletes_during_the_initial_load(
    unlogged_source: Source, shape: str, at: int, every: float
) -> None:
    """Rows that connect a deleted row with its descendants may not be in the target yet.

    With a large `every`, the delete is in the commit that ends the load.
    """
    source = unlogged_source
    values = ", ".join(f"({number}, NULL)" for number in range(1, ROWS))
    if shape == "levels":
        tables, delete = ("shop.p", "shop.m", "shop.c"), "DELETE FROM p WHERE id = 1"
        source.execute(
            *(P, PARENTS[0]),
            "CREATE TABLE m (id INT PRIMARY KEY, p INT,"
            " FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
            "CREATE TABLE c (id INT PRIMARY KEY, m INT,"
            " FOREIGN KEY (m) REFERENCES m (id) ON DELETE CASCADE)",
            f"INSERT INTO m VALUES {values}",
            f"UPDATE m SET p = 1 WHERE id > {ROWS - 10}",
            "INSERT INTO c SELECT id, id FROM m",
        )
    else:
        tables, delete = ("shop.t",), "DELETE FROM t WHERE id = 1"
        source.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, up INT,"
            " FOREIGN KEY (up) REFERENCES t (id) ON DELETE CASCADE)",
            f"INSERT INTO t VALUES {values}",
            f"UPDATE t SET up = {ROWS - 1} WHERE id = 5",
            f"UPDATE t SET up = 1 WHERE id = {ROWS - 1}",
        )
    commits = 0

    def execute_once(_: object) -> None:
        nonlocal commits
        commits += 1
        if commits == at:
            late.start()

    late = threading.Timer(0 if every < 1 else 0.7, source.execute, ("USE shop", delete))
    source.sync(every=every, max_rows_per_second=1000, on_commit=execute_once)
    late.join()
    assert commits > at
    source.sync()
    source.check(*tables)


@pytest.mark.parametrize(
    "mode",
    ["mirror", pytest.param("scd2", marks=pytest.mark.thorough(by="mirror; test_cases has scd2"))],
)
def test_a_tree_with_deletes_all_the_time(unlogged_source: Source, mode: Mode) -> None:
    """It is loaded once: rows that the source has deleted are found by a comparison of keys."""
    source, size = unlogged_source, ROWS // 2
    rows = ", ".join(f"('k{number}', {number % 7}, NULL, NULL)" for number in range(size))
    source.execute(
        "CREATE TABLE t (name VARCHAR(9), id INT, up_name VARCHAR(9), up INT, node INT UNIQUE,"
        " above INT, PRIMARY KEY (name, id), KEY (above),"
        " FOREIGN KEY (above) REFERENCES t (node) ON DELETE CASCADE)",
        f"INSERT INTO t (name, id, up_name, up) VALUES {rows}",
        "SET @n := 0",
        "UPDATE t SET node = (@n := @n + 1) ORDER BY name, id",
        # Rows refer to rows that are read later, and these to rows that are read later still.
        f"UPDATE t SET above = node + {size // 3} WHERE node < {size} * 2 / 3",
        "CREATE TABLE c (id INT PRIMARY KEY, node INT,"
        " FOREIGN KEY (node) REFERENCES t (node) ON DELETE CASCADE)",
        "INSERT INTO c SELECT node, node FROM t",
    )
    ended, roots = threading.Event(), iter(range(size, 0, -1))

    def delete() -> None:
        for node in roots:
            source.execute("USE shop", f"DELETE FROM t WHERE node = {node}")
            if ended.wait(0.03):
                return

    thread = threading.Thread(target=delete)
    status: list[str] = []
    loads = 0

    def follow(summary: binarrow.SyncSummary) -> None:
        nonlocal loads
        if not status:
            thread.start()
        status.append(summary.of(("shop", "t")).status)
        loads = sum(one.loads for one in summary.tables.values())

    given = {"mode": mode, "every": 0.1, "max_rows_per_second": 1000}
    with source.syncing(**given, on_commit=follow):
        live.until(lambda: "incomplete" in status)
        live.until(lambda: status[-1] == "followed")
        assert thread.is_alive()
        ended.set()
        thread.join()
    assert loads == 2  # one for each table
    source.sync(mode=mode)
    check_current(source, "shop.t", "shop.c") if mode == "scd2" else source.check(
        "shop.t", "shop.c"
    )


def test_a_delete_while_versions_are_read_again(unlogged_source: Source) -> None:
    """A version that began before this does not become current again."""
    source = unlogged_source
    values = ", ".join(f"({number}, 1, 'q{number % 200}')" for number in range(1, ROWS))
    texts = ", ".join(f"('q{number}')" for number in range(200))
    source.execute(
        *(P, PARENTS[0], "CREATE TABLE q (id VARCHAR(9) PRIMARY KEY)"),
        f"INSERT INTO q VALUES {texts}",
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, q VARCHAR(9),"
        " FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL,"
        " FOREIGN KEY (q) REFERENCES q (id) ON UPDATE CASCADE)",
        f"INSERT INTO c VALUES {values}",
    )
    source.sync(mode="scd2")
    source.execute("UPDATE q SET id = CONCAT('x', id) WHERE id IN ('q1', 'q199')")
    commits = 0

    def execute_once(_: object) -> None:
        nonlocal commits
        commits += 1
        if commits == 2:
            source.execute("DELETE FROM p WHERE id = 1")

    source.sync(mode="scd2", every=0.1, max_rows_per_second=800, on_commit=execute_once)
    assert commits > 2
    source.sync(mode="scd2")
    check_current(source, "shop.p", "shop.q", "shop.c")


def test_dropped_columns_of_new_versions(unlogged_source: Source) -> None:
    """A version that SET NULL begins has no values of columns that the source does not have."""
    source = unlogged_source
    source.execute(
        *(P, PARENTS[0]),
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, w INT,"
        " FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL)",
        "INSERT INTO c VALUES (10, 1, 7), (20, 2, 8)",
    )
    source.sync(mode="scd2")
    source.execute("ALTER TABLE c DROP COLUMN w")
    source.sync(mode="scd2")
    source.execute("DELETE FROM p WHERE id = 1")
    source.sync(mode="scd2")
    check_current(source, "shop.p", "shop.c")
    with duckdb.connect(str(source.file), read_only=True) as file:
        rows = file.execute(
            "SELECT id, p, w, _valid_to IS NULL FROM shop.c ORDER BY ALL"
        ).fetchall()
    assert rows == [(10, 1, 7, False), (10, None, None, True), (20, 2, 8, True)]
