"""Tables that sync repairs by a comparison of their keys: what happens while the keys are compared.

The foreign keys are texts whose effects sync does not compute.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import closing

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli.app import app
from binarrow.syncing import cascades, commits, comparison
from binarrow.syncing.settings import Mode
from support import live
from support.oracles.valid_rows import check_current
from support.servers.servers import Session
from support.sync_source import Source

KINDS = ["duckdb"]

KEY = "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_roman_ci"
REFERS = "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE"


@pytest.fixture
def source(unlogged_source: Source) -> Source:
    unlogged_source.execute(
        f"CREATE TABLE p (id {KEY} PRIMARY KEY)",
        f"CREATE TABLE c (id INT NOT NULL PRIMARY KEY, p {KEY}, v INT NOT NULL, {REFERS})",
        "INSERT INTO p VALUES ('a'), ('b'), ('z')",
        "INSERT INTO c VALUES (1, 'a', 1), (2, 'b', 2)",
    )
    return unlogged_source


def check(source: Source, mode: Mode, *tables: str) -> None:
    for table in tables:
        check_current(source, table) if mode == "scd2" else source.check(table)


BETWEEN = {
    "the row again": (["INSERT INTO p VALUES ('a')", "INSERT INTO c VALUES (1, 'a', 99)"], 1),
    "the row again, and its delete": (
        [
            *("INSERT INTO p VALUES ('a')", "INSERT INTO c VALUES (1, 'a', 9), (3, 'a', 9)"),
            *("DELETE FROM p WHERE id = 'a'", "INSERT INTO c VALUES (4, 'b', 9)"),
        ],
        1,
    ),
    "rotation": (["FLUSH BINARY LOGS", "INSERT INTO c VALUES (3, 'b', 3)"], 1),
    "a wider key": (
        ["ALTER TABLE c MODIFY id BIGINT NOT NULL", "INSERT INTO c VALUES (99999999999, 'b', 3)"],
        0,
    ),
    "another key": (["ALTER TABLE c DROP PRIMARY KEY, ADD PRIMARY KEY (v)"], 0),
    "TRUNCATE": (["TRUNCATE c", "INSERT INTO c VALUES (1, 'b', 7)"], 0),
    "no table": (["DROP TABLE c"], 0),
}


@pytest.mark.parametrize("mode", ["mirror", "scd2"])
@pytest.mark.parametrize("title", [*BETWEEN])
def test_changes_between_the_commit_and_the_snapshot(
    source: Source, title: str, mode: Mode
) -> None:
    statements, comparisons = BETWEEN[title]
    source.sync(mode=mode)
    source.execute("USE shop", "DELETE FROM p WHERE id = 'a'")
    commits = 0

    def execute(summary: binarrow.SyncSummary) -> None:
        """The second commit is the one with the delete."""
        nonlocal commits
        commits += 1
        if commits == 2:
            assert summary.of(("shop", "c")).status == "incomplete"
            source.execute("USE shop", *statements)

    summary = source.sync(mode=mode, on_commit=execute)
    table = summary.of(("shop", "c"))
    if title == "no table":
        source.sync(mode=mode)
        return
    assert (table.status, min(table.comparisons, 1)) == ("followed", comparisons)
    source.sync(mode=mode)
    check(source, mode, "shop.p", "shop.c")


def stop_before_the_repair(source: Source) -> None:
    """Deletes a parent, and ends a sync before it has read the keys of the source."""
    source.sync()
    ended = threading.Event()
    commits = 0

    def stop(_: object) -> None:
        nonlocal commits
        commits += 1
        if commits == 2:
            ended.set()

    with closing(Session(source.server, database="shop")) as session:
        session.execute("LOCK TABLES c WRITE, p WRITE")
        session.execute("DELETE FROM p WHERE id = 'a'")
        summary = source.sync(on_commit=stop, is_stopped=ended.is_set)
    assert summary.of(("shop", "c")).status == "incomplete"


def test_a_restart_continues_the_repair(source: Source) -> None:
    """The rows are not read again."""
    stop_before_the_repair(source)
    assert {name[1]: one.result for name, one in source.verify().tables.items()} == {
        "p": "MATCH",
        "c": "INCONCLUSIVE",
    }
    summary = source.sync()
    table = summary.of(("shop", "c"))
    assert (table.status, table.loads, table.comparisons) == ("followed", 0, 1)
    source.check("shop.p", "shop.c")


def test_keys_that_are_too_large(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    source.sync()
    monkeypatch.setattr(comparison, "MAX_BYTES", 1)
    source.execute("USE shop", "DELETE FROM p WHERE id = 'a'")
    table = source.sync().of(("shop", "c"))
    assert (table.status, table.loads, table.comparisons) == ("followed", 1, 0)
    source.check("shop.p", "shop.c")


def test_a_locked_table(source: Source) -> None:
    """Other tables are followed meanwhile, and the sync can be stopped."""
    source.execute("CREATE TABLE o (id INT PRIMARY KEY)")
    source.sync()
    states: list[tuple[str, int]] = []

    def note(summary: binarrow.SyncSummary) -> None:
        states.append((summary.of(("shop", "c")).status, summary.of(("shop", "o")).changes))

    with closing(Session(source.server, database="shop")) as session:
        with source.syncing(every=0.1, on_commit=note):
            live.until(lambda: states)
            session.execute("LOCK TABLES c WRITE, p WRITE")
            session.execute("DELETE FROM p WHERE id = 'a'")
            live.until(lambda: states[-1][0] == "incomplete")
            source.execute("USE shop", "INSERT INTO o VALUES (1)")
            live.until(lambda: states[-1] == ("incomplete", 1))
        session.execute("UNLOCK TABLES")
    source.sync()
    source.check("shop.p", "shop.c", "shop.o")


@pytest.mark.parametrize("names", ["c TO d", "c TO d, e TO c", "p TO p2, c TO d"])
@pytest.mark.parametrize("key", ["text", "integer"])
def test_a_rename_after_the_delete(source: Source, key: str, names: str) -> None:
    if key == "integer":
        source.execute(
            "DROP TABLE c",
            "DROP TABLE p",
            "CREATE TABLE p (id INT PRIMARY KEY)",
            f"CREATE TABLE c (id INT PRIMARY KEY, p INT, {REFERS})",
            "INSERT INTO p VALUES (1), (2)",
            "INSERT INTO c VALUES (1, 1), (2, 2)",
        )
    source.execute("CREATE TABLE e (id INT PRIMARY KEY)", "INSERT INTO e VALUES (1), (5)")
    source.sync()
    lowest = "(SELECT id FROM (SELECT MIN(id) AS id FROM p) m)"
    source.execute("USE shop", f"DELETE FROM p WHERE id = {lowest}", f"RENAME TABLE {names}")
    source.sync()
    source.check(*(f"shop.{name}" for (name,) in source.server.query("SHOW TABLES FROM shop")))


def test_a_transaction_that_fills_a_commit_exactly(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its effects are in the next commit, although there are no more rows."""
    monkeypatch.setattr(cascades, "LEAST_ROWS", 1)
    source.sync()
    comparisons = 0

    def note(summary: binarrow.SyncSummary) -> None:
        nonlocal comparisons
        comparisons = summary.of(("shop", "c")).comparisons

    with source.syncing(every=0.1, max_rows_per_commit=1, on_commit=note):
        source.execute("USE shop", "DELETE FROM p WHERE id <> 'z'")
        live.until(lambda: comparisons, 15)
    source.check("shop.p", "shop.c")


def test_a_table_that_is_left_out_meanwhile(source: Source) -> None:
    """It is loaded when it is selected again."""
    stop_before_the_repair(source)
    source.sync(exclude_tables="shop.c")
    source.execute(
        "USE shop", "INSERT INTO c VALUES (3, 'b', 1)", "UPDATE c SET v = 9 WHERE id = 2"
    )
    source.sync(exclude_tables="shop.c")
    assert source.sync().of(("shop", "c")).loads == 1
    source.check("shop.p", "shop.c")


def test_a_collation_that_is_changed_after_the_delete(source: Source) -> None:
    """The server deletes the child of an equal text, which is not equal later."""
    source.execute("INSERT INTO p VALUES ('i')", "INSERT INTO c VALUES (3, 'j', 3)")
    source.sync()
    kind = "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    [(name,)] = source.server.query(
        "SELECT constraint_name FROM information_schema.referential_constraints WHERE table_name = 'c'"
    )
    source.execute(
        "USE shop",
        "DELETE FROM p WHERE id = 'i'",
        f"ALTER TABLE c DROP FOREIGN KEY {name}",
        f"ALTER TABLE p MODIFY id {kind} NOT NULL",
        f"ALTER TABLE c MODIFY p {kind}",
        f"ALTER TABLE c ADD CONSTRAINT {name} {REFERS}",
    )
    source.sync()
    source.check("shop.p", "shop.c")


def test_the_exit_code_of_an_incomplete_target(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    refers = "FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL"
    source.execute(
        f"CREATE TABLE n (id INT PRIMARY KEY, p {KEY}, {refers})", "INSERT INTO n VALUES (1, 'a')"
    )
    given = ["sync", source.url, source.target, "--password-file", str(source.password_file)]
    command = [*given, "--tables", "shop.*", "--once"]
    assert CliRunner().invoke(app, command).exit_code == 0
    source.execute("USE shop", "DELETE FROM p WHERE id = 'a'")
    with monkeypatch.context() as patch:
        patch.setattr(commits, "MAX_ENDS", 0)
        ran = CliRunner().invoke(app, command)
    assert (ran.exit_code, "the next sync continues" in ran.stderr) == (4, True)
    assert CliRunner().invoke(app, command).exit_code == 0
    source.check("shop.p", "shop.c", "shop.n")


@pytest.mark.parametrize("reloads", [False, True])
@pytest.mark.parametrize("once", [True, False])
def test_deletes_all_the_time(source: Source, *, once: bool, reloads: bool) -> None:
    """A sync with `once` ends, and another one has moments without unknown effects."""
    rows = ", ".join(f"('k{number}')" for number in range(600))
    source.execute(f"INSERT INTO p VALUES {rows}")
    if reloads:
        refers = "FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL"
        source.execute(
            f"CREATE TABLE n (id INT PRIMARY KEY, p {KEY}, {refers})",
            "INSERT INTO n VALUES (1, 'z')",
        )
    source.sync()
    ended = threading.Event()

    def delete() -> None:
        with closing(Session(source.server, database="shop")) as session:
            for number in itertools.count():
                key = f"'k{number % 600}'"
                session.execute(
                    f"INSERT IGNORE INTO p VALUES ({key})",
                    f"INSERT INTO c VALUES ({number + 10}, {key}, 0)",
                    f"DELETE FROM p WHERE id = {key}",
                )
                if ended.wait(0.05):
                    return

    status: list[str] = []
    thread = threading.Thread(target=delete)
    thread.start()

    def note(summary: binarrow.SyncSummary) -> None:
        status.append(summary.of(("shop", "c")).status)

    def is_repaired() -> bool:
        return "incomplete" in status and "followed" in status[status.index("incomplete") :]

    if once:
        source.sync(on_commit=note)
    else:
        with source.syncing(every=0.3, on_commit=note):
            live.until(is_repaired)
    assert thread.is_alive()
    ended.set()
    thread.join()
    source.sync()
    source.check("shop.p", "shop.c")
