"""Foreign keys of text, whose values can be equal on the server and different in Arrow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, suppress

import pymysql
import pytest

from binarrow.syncing.foreign_key_values import COLLATIONS
from support import live
from support.servers.servers import Server, Session
from support.sync_source import Source, repairs_of, two_kinds

KINDS = ["duckdb"]
SEED = 7


@pytest.fixture(params=["mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.11"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as server:
        yield server


def test_collations(server: Server) -> None:
    """Texts of printable characters are equal only if they differ in nothing but case and spaces at the end."""
    letters = [chr(code) for code in range(ord(" "), ord("~") + 1)]
    texts = letters + [first + second for first in letters for second in letters]
    existing = server.query(
        "SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
    )
    names = {name for row in existing for name in row[:1]} | {row[-2] for row in existing}
    chosen = sorted(names & COLLATIONS)
    assert len(chosen) > 10
    server.execute("CREATE DATABASE texts")
    for charset in sorted({name.split("_")[0] for name in chosen}):
        server.execute(
            "SET NAMES utf8mb4",
            "DROP TABLE IF EXISTS texts.t",
            f"CREATE TABLE texts.t (s VARCHAR(9) CHARACTER SET {charset}, folded VARBINARY(9))",
            "INSERT INTO texts.t VALUES "
            + ", ".join(f"({quoted(one)}, {quoted(one.rstrip(' ').lower())})" for one in texts),
        )
        for name in (one for one in chosen if one.split("_")[0] == charset):
            [(equal, both)] = server.query(
                f"SELECT COUNT(DISTINCT s COLLATE {name}), COUNT(DISTINCT s COLLATE {name}, folded)"
                " FROM texts.t"
            )
            assert equal == both, name
    [(equal, both)] = server.query(
        "SELECT COUNT(DISTINCT one COLLATE utf8mb4_roman_ci), COUNT(DISTINCT one COLLATE utf8mb4_bin)"
        " FROM (SELECT _utf8mb4'i' AS one UNION ALL SELECT _utf8mb4'j') t"
    )
    assert equal < both  # a collation that is not one of these


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


TYPES = (
    "CHAR(36) CHARACTER SET ascii",
    "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "VARCHAR(40) CHARACTER SET latin1",
)

CASES = {
    "the same texts": ("a1", "a1", set()),
    "another letter case": ("a1", "A1", {"keys"}),
    "a space at the end": ("a1", "a1 ", {"keys"}),
    "an accent": ("é", "e", {"keys"}),
}


@two_kinds
def test_computed_effects(unlogged_source: Source) -> None:
    source = unlogged_source
    tables = []
    for number, kind in enumerate(TYPES):
        parent, child, other = (f"{name}{number}" for name in "pcn")
        tables += [parent, child, other]
        refers = f"FOREIGN KEY (p) REFERENCES {parent} (id) ON DELETE"
        source.execute(
            f"CREATE TABLE {parent} (id {kind}, PRIMARY KEY (id))",
            f"CREATE TABLE {child} (id {kind}, p {kind}, PRIMARY KEY (id), {refers} CASCADE)",
            f"CREATE TABLE {other} (id INT, p {kind}, v INT, PRIMARY KEY (id), {refers} SET NULL)",
            f"INSERT INTO {parent} VALUES ('one 1'), ('two'), ('Three'), ('')",
            f"INSERT INTO {child} VALUES ('a', 'one 1'), ('b', 'two'), ('c', 'two'), ('d', NULL)",
            f"INSERT INTO {other} VALUES (1, 'one 1', 1), (2, 'Three', 2), (3, '', 3), (4, NULL, 4)",
        )
    source.sync()
    for number in range(len(TYPES)):
        source.execute(
            "USE shop",
            f"INSERT INTO c{number} VALUES ('e', 'Three')",
            f"DELETE FROM p{number} WHERE id <> 'one 1'",
        )
    summary = source.sync()
    source.check(*(f"shop.{table}" for table in tables))
    assert not repairs_of(summary.tables.values())


def test_values_that_differ_and_are_equal(unlogged_source: Source) -> None:
    source = unlogged_source
    kind = "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    for number, (parent, child, _) in enumerate(CASES.values()):
        source.execute(
            "SET NAMES utf8mb4",
            f"CREATE TABLE p{number} (id {kind}, PRIMARY KEY (id))",
            f"CREATE TABLE c{number} (id INT PRIMARY KEY, p {kind},"
            f" FOREIGN KEY (p) REFERENCES p{number} (id) ON DELETE CASCADE)",
            f"INSERT INTO p{number} VALUES ('{parent}'), ('other')",
            f"INSERT INTO c{number} VALUES (1, '{child}'), (2, 'other')",
        )
    source.sync()
    for number in range(len(CASES)):
        source.execute("USE shop", f"DELETE FROM p{number} WHERE id <> 'other'")
    summary = source.sync()
    for number, (_, _, repaired) in enumerate(CASES.values()):
        source.check(f"shop.p{number}", f"shop.c{number}")
        assert repairs_of([summary.tables["shop", f"c{number}"]]) == repaired


def test_random_texts(unlogged_source: Source) -> None:
    """Few letters, so that many texts are equal on the server. Most collations ignore the letter case."""
    source, chosen = unlogged_source, random.Random(SEED)
    collations = ("utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_roman_ci")
    for number, name in enumerate(collations):
        kind = f"VARCHAR(9) CHARACTER SET utf8mb4 COLLATE {name}"
        key = f"a {kind}, b INT, PRIMARY KEY (a, b)"
        refers = f"FOREIGN KEY (p, q) REFERENCES p{number} (a, b) ON DELETE"
        source.execute(
            f"CREATE TABLE p{number} ({key})",
            f"CREATE TABLE c{number} (id INT PRIMARY KEY, p {kind}, q INT, {refers} CASCADE)",
            f"CREATE TABLE n{number} (id INT PRIMARY KEY, p {kind}, q INT, {refers} SET NULL)",
        )
    source.sync()
    for run, letters in enumerate(("ab", "abc", "abij", "aAb ", "aAé")):
        with closing(Session(source.server, database="shop")) as session:
            session.execute("SET NAMES utf8mb4")
            for _ in range(60):
                with suppress(pymysql.err.MySQLError):  # a key that exists or does not
                    session.execute(statement(chosen, letters, chosen.randrange(len(collations))))
        summary = source.sync()
        source.check(*(f"shop.{name}{number}" for name in "pcn" for number in range(4)))
        if run < 2:  # the server and Arrow agree
            computed = [one for (_, name), one in summary.tables.items() if name[1:] != "3"]
            assert not repairs_of(computed)


def statement(chosen: random.Random, letters: str, number: int) -> str:
    text = "".join(chosen.choices(letters, k=chosen.randrange(1, 3)))
    pair, key = f"'{text}', {chosen.randrange(2)}", chosen.randrange(20)
    table = chosen.choice("cn") + str(number)
    return chosen.choice(
        [
            f"INSERT INTO p{number} VALUES ({pair})",
            f"INSERT INTO {table} VALUES ({key}, {pair})",
            f"INSERT INTO {table} VALUES ({key}, {pair})",
            f"DELETE FROM p{number} WHERE (a, b) = ({pair})",
            f"DELETE FROM {table} WHERE id = {key}",
        ]
    )
