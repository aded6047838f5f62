"""Undo of rows that unlogged actions of foreign keys changed: MySQL before 9.6, and MariaDB."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow.undo.key_values import PLAIN
from support.extent import rounds
from support.logged import database, logging
from support.oracles import oracle
from support.oracles.compare import assert_same_rows
from support.servers import clients
from support.servers.servers import Server

SEED = int(os.environ.get("BINARROW_SEED", "1"))
ROUNDS = rounds("BINARROW_UNDO_CASCADES", 3, 3)

unlogged = pytest.mark.parametrize("server", ["mysql-5.7", "mariadb-11.8"], indirect=True)


class Shop:
    """Tables of one database, the log of statements on them, and their rows before and after."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.files: list[str] = []
        self.tables: list[str] = []
        self.schemas: dict[str, str] = {}

    def create(self, *statements: str, in_log: bool = True) -> None:
        """Creates the tables, in the log or before it."""
        self._create = list(statements)
        names = [re.findall(r"CREATE TABLE (\w+)", one) for one in statements]
        self.tables = [name for found in names for name in found]
        if not in_log:
            self.server.execute(*statements)
            self._create = []

    def run(self, before: Sequence[str], *changes: str) -> None:
        """Executes statements, of which only the last ones are reversed."""
        with logging(self.server) as files:
            self.server.execute(*self._create, *before)
            self.before = self.rows()
            self.server.flush_binlog()
            self.server.execute(*changes)
            self.after = self.rows()
        self.files = [str(file) for file in files]
        self.start = f"{files[-1].name}:4"
        self.schemas = {
            f"cascaded.{table}": self.server.query(f"SHOW CREATE TABLE {table}")[0][1]
            for table in self.tables
        }

    def rows(self) -> dict[str, oracle.Selected]:
        return {
            table: oracle.select(self.server, f"cascaded.{table}", text_as_bytes=True)
            for table in self.tables
        }

    def script(self, **keywords: Any) -> binarrow.UndoScript:
        own: dict[str, Any] = {
            "tables": "cascaded.*",
            "schemas": self.schemas,
            "start": self.start,
            "unlogged_changes": "ignore",
        }
        script = binarrow.undo(self.files, **{**own, **keywords})
        self.text = b"".join(script).decode()
        return script

    def apply(self) -> None:
        path = self.folder / "script.sql"
        path.write_text(self.text)
        clients.execute(self.server, path)

    def is_restored(self, **keywords: Any) -> binarrow.UndoScript:
        """Applies undo, then redo."""
        script = self.script(**keywords)
        self.apply()
        self.compare(self.before, "undo")
        self.script(redo=True, **keywords)
        self.apply()
        self.compare(self.after, "redo")
        return script

    def compare(self, wanted: dict[str, oracle.Selected], what: str) -> None:
        found = self.rows()
        for table, selected in wanted.items():
            names = selected.names
            assert_same_rows(f"{what}: {table}", names, found[table].rows, selected.rows)


@pytest.fixture
def shop(server: Server, tmp_path: Path) -> Iterator[Shop]:
    with database(server, "cascaded"):
        server.execute("USE cascaded")
        yield Shop(server, tmp_path)


A = "CREATE TABLE a (id INT PRIMARY KEY, s VARCHAR(9))"
B = (
    "CREATE TABLE b (id INT PRIMARY KEY, a_id INT, s TEXT, FOREIGN KEY (a_id) REFERENCES a (id)"
    " ON DELETE CASCADE ON UPDATE CASCADE)"
)
C = (
    "CREATE TABLE c (id INT PRIMARY KEY, b_id INT, f FLOAT, FOREIGN KEY (b_id) REFERENCES b (id)"
    " ON DELETE CASCADE)"
)
D = (
    "CREATE TABLE d (id INT PRIMARY KEY, a_id INT, c_id INT, FOREIGN KEY (a_id) REFERENCES a (id)"
    " ON DELETE SET NULL, FOREIGN KEY (c_id) REFERENCES c (id) ON DELETE SET NULL)"
)
TREE = (A, B, C, D)

ROWS = (
    "INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, NULL)",
    "INSERT INTO b VALUES (1, 1, 'é'), (2, 1, NULL), (3, 2, 'z')",
    "INSERT INTO c VALUES (1, 1, 0.1), (2, 2, NULL), (3, 3, 1e30)",
    "INSERT INTO d VALUES (1, 1, 3), (2, 2, 1), (3, NULL, NULL), (4, 1, 1)",
)


@unlogged
@pytest.mark.parametrize("foreign_key_checks", [False, True])
def test_a_delete_through_several_tables(shop: Shop, foreign_key_checks: bool) -> None:
    shop.create(*TREE)
    shop.run(ROWS, "DELETE FROM a WHERE id = 1")
    assert len(shop.after["b"].rows) == 1
    script = shop.is_restored(foreign_key_checks=foreign_key_checks)
    assert script.not_restored == ()
    counts = {each.table: (each.inserts, each.updates, each.deletes) for each in script.counts}
    assert counts == {
        "cascaded.a": (1, 0, 0),
        "cascaded.b": (2, 0, 0),
        "cascaded.c": (2, 0, 0),
        # Two rows referred to the row of `a`; rows 2 and 4 referred to a row of `c`.
        "cascaded.d": (0, counts["cascaded.d"][1], 0),
    }
    assert "-- Restored: the foreign key of cascaded.b (a_id), which refers to cascaded.a (id)" in (
        shop.text
    )


@unlogged
@pytest.mark.parametrize(
    "delete",
    [
        "DELETE FROM a WHERE id = 1",
        "DELETE b, a FROM b JOIN a ON b.a_id = a.id WHERE b.id = 1",
        "DELETE a, b FROM a JOIN b ON b.a_id = a.id WHERE b.id = 1",
    ],
)
def test_the_statement_also_logs_rows_of_the_child(shop: Shop, delete: str) -> None:
    shop.create(A, B)
    trigger = (
        "CREATE TRIGGER changes BEFORE DELETE ON a FOR EACH ROW"
        " UPDATE b SET s = 'trigger' WHERE id = 3"
    )
    # A trigger cannot change a table that the statement changes.
    has_trigger = delete.startswith("DELETE FROM")
    before = (*ROWS[:2], trigger) if has_trigger else ROWS[:2]
    shop.run(before, delete, "DROP TRIGGER IF EXISTS changes")
    assert {row[0] for row in shop.after["b"].rows} == {3}
    notes = shop.is_restored().not_restored
    # MySQL's log says that a foreign key refers to `b`, too, and `schemas` may lack its table.
    expected = [] if has_trigger or shop.server.is_mariadb else ["foreign keys to cascaded.b"]
    assert [one for one, note in zip(expected, notes, strict=True) if one in note] == expected


@unlogged
def test_updates_of_keys(shop: Shop) -> None:
    shop.create(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (a_id INT, n INT, PRIMARY KEY (a_id, n), FOREIGN KEY (a_id)"
        " REFERENCES a (id) ON UPDATE CASCADE)",
        "CREATE TABLE c (id INT PRIMARY KEY, a_id INT, FOREIGN KEY (a_id) REFERENCES a (id)"
        " ON UPDATE SET NULL)",
    )
    shop.run(
        (
            "INSERT INTO a VALUES (1), (2)",
            "INSERT INTO b VALUES (1, 1), (1, 2), (2, 1)",
            "INSERT INTO c VALUES (1, 1), (2, 1), (3, 2)",
        ),
        "UPDATE a SET id = 9 WHERE id = 1",
        "UPDATE b SET n = 5 WHERE a_id = 9 AND n = 2",
        "UPDATE c SET a_id = 2 WHERE id = 1",
    )
    assert shop.is_restored().not_restored == ()


@unlogged
def test_updates_of_keys_that_the_server_repeats(shop: Shop) -> None:
    shop.create(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY, a_id INT, FOREIGN KEY (a_id) REFERENCES a (id)"
        " ON UPDATE CASCADE)",
    )
    shop.run(("INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1, 1)"), "UPDATE a SET id = 9")
    shop.is_restored(foreign_key_checks=True)


@unlogged
def test_rows_without_earlier_images_are_named(shop: Shop) -> None:
    shop.create(*TREE, in_log=False)
    shop.server.execute(*ROWS)
    shop.run(
        ("INSERT INTO b VALUES (7, 1, 'new')", "UPDATE b SET s = 'seen' WHERE id = 2"),
        "DELETE FROM a WHERE id = 1",
    )
    with pytest.warns(binarrow.BinarrowWarning, match=r"cascaded\.b \(a_id\)") as caught:
        script = shop.script(unlogged_changes="warn")
    assert any("Restored from earlier images in the log: 2." in one for one in script.not_restored)
    assert {str(one.message) for one in caught} == {*script.not_restored}
    assert all(f"-- {one}" in shop.text for one in script.not_restored)
    shop.apply()
    rows = shop.rows()
    assert {row[0] for row in rows["b"].rows} == {2, 3, 7}
    wanted = {row[0]: row for row in shop.before["b"].rows}
    assert all(row == wanted[row[0]] for row in rows["b"].rows)
    assert rows["a"].rows == shop.before["a"].rows


@unlogged
def test_rows_that_may_be_gone_are_not_restored(shop: Shop) -> None:
    """A row of `c` whose row of `b` is unknown was deleted by an earlier action."""
    shop.create(*TREE[:3], in_log=False)
    shop.server.execute("INSERT INTO a VALUES (1, ''), (2, '')", "INSERT INTO b VALUES (1, 1, '')")
    shop.run(
        ("INSERT INTO c VALUES (1, 1, 0)", "DELETE FROM a WHERE id = 1"),
        "INSERT INTO b VALUES (1, 2, '')",
        "DELETE FROM a WHERE id = 2",
    )
    script = shop.is_restored()
    assert {each.table for each in script.counts} == {"cascaded.a", "cascaded.b"}


@unlogged
def test_a_table_that_refers_to_itself(shop: Shop) -> None:
    shop.create(
        "CREATE TABLE a (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES a (id)"
        " ON DELETE CASCADE)"
    )
    shop.run(
        ("INSERT INTO a VALUES (1, NULL), (2, 1), (3, 2), (4, 4), (5, 3)",),
        "DELETE FROM a WHERE id IN (2, 4)",
    )
    assert len(shop.after["a"].rows) == 1
    assert shop.is_restored().not_restored == ()


@unlogged
@pytest.mark.parametrize(
    ("column", "values", "is_complete"),
    [
        ("CHAR(36)", ("3e11fa47-71ca-11e1-9e33-c80aa9429562", "3E11FA47", "x.y"), False),
        ("CHAR(36) CHARACTER SET latin1", ("a-1", "b-2", "c_3"), True),
        ("VARBINARY(16)", ("a", "A", "a "), True),
        ("BIGINT UNSIGNED", (1, 18446744073709551615, 7), True),
        ("DECIMAL(20, 3)", ("1.5", "-0.001", "2"), True),
        ("DATETIME(3)", ("2026-11-21 10:42:00.001", "2026-11-21 10:42:00", "2000-01-01"), True),
        ("VARCHAR(20)", ("é", "straße", "a"), False),
    ],
)
def test_types_of_keys(shop: Shop, column: str, values: tuple[Any, ...], is_complete: bool) -> None:
    shop.create(
        f"CREATE TABLE a (k {column} PRIMARY KEY)",
        f"CREATE TABLE b (id INT PRIMARY KEY, k {column}, FOREIGN KEY (k) REFERENCES a (k)"
        " ON DELETE CASCADE)",
    )
    shown = [repr(value) for value in values]
    shop.run(
        [f"INSERT INTO a VALUES ({one})" for one in shown]
        + [f"INSERT INTO b VALUES ({n}, {one})" for n, one in enumerate(shown)],
        "DELETE FROM a",
    )
    assert shop.after["b"].rows == []
    if is_complete:
        assert shop.is_restored().not_restored == ()
        return
    script = shop.script()
    assert script.not_restored
    shop.apply()
    assert {*map(tuple, shop.rows()["b"].rows)} < {*map(tuple, shop.before["b"].rows)}


@pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)
def test_text_of_keys_is_equal_only_to_itself(server: Server) -> None:
    letters = [chr(code).encode() for code in range(32, 127)]
    plain = sorted({one.lower() for one in letters if PLAIN.fullmatch(one)})
    assert 30 < len(plain) < 36
    texts = [*plain, *(one + other for one in plain for other in plain)]
    with database(server, "collated"):
        server.execute("CREATE TABLE t (x VARCHAR(2) COLLATE utf8mb4_bin)")
        for start in range(0, len(texts), 500):
            part = (f"('{one.decode()}')" for one in texts[start : start + 500])
            server.execute(f"INSERT INTO t VALUES {', '.join(part)}")
        shown = server.query("SHOW COLLATION WHERE Charset = 'utf8mb4'")
        names = sorted(str(row[0]) for row in shown)
        # Those of languages that take letters for others, and some more.
        special = [one for one in names if re.search("lithuanian|roman|latvian|_l[atv]_", one)]
        assert special
        for name in {*special, *random.Random(SEED).sample(names, 20)}:
            [(count,)] = server.query(f"SELECT COUNT(DISTINCT x COLLATE {name}) FROM t")
            assert count == len(texts), name


@unlogged
def test_text_that_differs_in_case_is_not_restored(shop: Shop) -> None:
    """The server takes the values for equal, and the collation is not compared here."""
    shop.create(
        "CREATE TABLE a (k VARCHAR(9) PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY, k VARCHAR(9), FOREIGN KEY (k) REFERENCES a (k)"
        " ON DELETE CASCADE)",
    )
    shop.run(
        ("INSERT INTO a VALUES ('ab')", "INSERT INTO b VALUES (1, 'AB'), (2, 'ab')"),
        "DELETE FROM a",
    )
    script = shop.script()
    assert len(script.not_restored) == 1
    shop.apply()
    assert [row[0] for row in shop.rows()["b"].rows] == [2]


@unlogged
def test_selection(shop: Shop) -> None:
    shop.create(*TREE[:2])
    shop.run(ROWS[:2], "DELETE FROM a WHERE id = 1", "DELETE FROM a WHERE id = 2")
    script = shop.script(where="old.s = 'x'", tables=["cascaded.a", "cascaded.b"])
    assert {each.table: each.inserts for each in script.counts} == {
        "cascaded.a": 1,
        "cascaded.b": 2,
    }
    # Rows of a table that is not selected are not restored.
    script = shop.script(tables="cascaded.a")
    assert [each.table for each in script.counts] == ["cascaded.a"]
    # Without the table that they refer to, they are named.
    script = shop.script(tables="cascaded.b")
    assert script.counts == []
    assert len(script.not_restored) == 1
    with pytest.raises(binarrow.UnsupportedEventError):
        shop.script(unlogged_changes="error")
    # An open file is read once.
    with Path(shop.files[1]).open("rb") as file:
        script = binarrow.undo(
            [file], tables="cascaded.*", schemas=shop.schemas, unlogged_changes="ignore"
        )
        assert len(script.not_restored) == 1


@unlogged
def test_checks_that_are_off_have_no_effects(shop: Shop) -> None:
    shop.create(*TREE[:2])
    shop.run(
        ROWS[:2],
        "SET foreign_key_checks = 0",
        "DELETE FROM a WHERE id = 1",
        "SET foreign_key_checks = 1",
    )
    assert len(shop.after["b"].rows) == 3
    script = shop.is_restored()
    assert [each.table for each in script.counts] == ["cascaded.a"]


@unlogged
def test_a_table_that_was_changed_is_not_restored(shop: Shop) -> None:
    shop.create(*TREE[:2])
    shop.run((*ROWS[:2], "ALTER TABLE b ADD COLUMN more INT"), "DELETE FROM a WHERE id = 1")
    script = shop.script()
    assert [each.table for each in script.counts] == ["cascaded.a"]
    assert script.not_restored[0].startswith("Not restored: the foreign key of cascaded.b (a_id)")


@unlogged
def test_random_statements(shop: Shop) -> None:
    """All rows are restored if the log contains the creation of the tables."""
    rng = random.Random(SEED)
    restored = 0
    for number in range(ROUNDS):
        shop.create(*TREE)
        shop.server.execute("DROP TABLE IF EXISTS d, c, b, a")
        before = [statement(rng) for _ in range(60)]
        shop.run(before, *(statement(rng) for _ in range(25)))
        script = shop.is_restored()
        # MySQL 5.7 marks tables to which no foreign key refers as if there were one.
        unknown = [one for one in script.not_restored if "keys to cascaded.d may" not in one]
        assert unknown == [], f"round {number}"
        restored += shop.text.count("-- Restored:")
    assert restored > ROUNDS


@unlogged
def test_random_statements_without_the_first_part_of_the_log(shop: Shop) -> None:
    """No row is restored that did not exist, or with other values."""
    rng = random.Random(SEED)
    found = Counter[str]()
    for _ in range(ROUNDS):
        shop.server.execute("DROP TABLE IF EXISTS d, c, b, a")
        shop.create(*TREE, in_log=False)
        shop.server.execute(*(statement(rng) for _ in range(40)))
        shop.run([statement(rng) for _ in range(40)], *(statement(rng) for _ in range(25)))
        shop.script()
        shop.apply()
        for table, selected in shop.rows().items():
            before = {row[0]: row for row in shop.before[table].rows}
            for row in selected.rows:
                assert row[0] in before, table
                wanted = before[row[0]]
                found["same" if row == wanted else table] += 1
                if row != wanted:
                    # An action set it to NULL, or to the new key.
                    assert (table, row[2]) in (("b", wanted[2]), ("d", wanted[2]), ("d", None))
                    assert table == "b" or row[1] in (wanted[1], None)
            found["missing"] += len(before) - len(selected.rows)
    assert found["same"] > 5 * ROUNDS


def statement(rng: random.Random) -> str:
    """A statement on the tree. The server ignores rows that a key refuses."""

    def one() -> int:
        return rng.randint(1, 8)

    a, b, c = (
        f"(SELECT id FROM (SELECT id FROM {table} ORDER BY id LIMIT {rng.randint(0, 2)}, 1) x)"
        for table in ("a", "b", "c")
    )
    inserts = (
        f"INSERT IGNORE INTO a VALUES ({one()}, 'a')",
        f"INSERT IGNORE INTO b VALUES ({one()}, {a}, 'b')",
        f"INSERT IGNORE INTO c VALUES ({one()}, {b}, {one()})",
        f"INSERT IGNORE INTO d VALUES ({one()}, {a}, {c})",
        f"REPLACE INTO d VALUES ({one()}, {a}, {c})",
        f"UPDATE b SET a_id = {a}, s = '{one()}' WHERE id = {one()}",
        f"UPDATE d SET c_id = {c} WHERE id > {one()}",
        f"UPDATE c SET f = {one()} / 7",
    )
    deletes = (
        f"DELETE FROM a WHERE id = {one()}",
        f"DELETE FROM a WHERE id > {one()}",
        f"DELETE FROM b WHERE id = {one()}",
        f"DELETE FROM c WHERE id = {one()}",
        # The server refuses it for rows to which `d` refers.
        f"UPDATE IGNORE a SET id = {one()} + 8 WHERE id = {one()}",
    )
    return rng.choice(inserts if rng.random() < 0.75 else deletes)
