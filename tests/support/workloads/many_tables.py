"""Many tables with various types and keys, some of them parents and children, and sessions that change their rows."""

from __future__ import annotations

import random
import threading
from contextlib import closing

import pymysql

from support.servers.servers import Server, Session

TYPES = (
    ("TINYINT", "FLOOR(RAND() * 256) - 128"),
    ("SMALLINT UNSIGNED", "FLOOR(RAND() * 65536)"),
    ("MEDIUMINT", "FLOOR(RAND() * 16777216) - 8388608"),
    ("BIGINT UNSIGNED", "18446744073709551615 - CAST(FLOOR(RAND() * 1000) AS UNSIGNED)"),
    ("DECIMAL(30,10)", "RAND() * 1e19 - 5e18"),
    ("DECIMAL(50,3)", "RAND() * 1e30"),
    ("FLOAT", "FLOOR(RAND() * 1000) / 8"),
    ("DOUBLE", "RAND() * 1e200"),
    ("CHAR(9)", "REPEAT('ü', FLOOR(RAND() * 9))"),
    ("VARCHAR(200)", "REPEAT(CHAR(32 + FLOOR(RAND() * 90)), FLOOR(RAND() * 200))"),
    ("TEXT", "REPEAT('text ', FLOOR(RAND() * 300))"),
    ("BLOB", "UNHEX(REPEAT(LEFT(SHA2(RAND(), 256), 32), FLOOR(RAND() * 9)))"),
    ("VARBINARY(16)", "UNHEX(LEFT(SHA2(RAND(), 256), 32))"),
    ("BINARY(8)", "UNHEX(LEFT(SHA2(RAND(), 256), 10))"),
    ("DATE", "DATE_ADD('1970-01-01', INTERVAL FLOOR(RAND() * 30000) DAY)"),
    ("DATETIME(6)", "DATE_ADD('1000-01-01', INTERVAL FLOOR(RAND() * 1e17) MICROSECOND)"),
    ("TIMESTAMP(3) NULL", "FROM_UNIXTIME(1 + FLOOR(RAND() * 2e9))"),
    ("TIME(6)", "SEC_TO_TIME(RAND() * 1e6 - 5e5)"),
    ("YEAR", "1901 + FLOOR(RAND() * 255)"),
    ("ENUM('x','y','z')", "1 + FLOOR(RAND() * 3)"),
    ("SET('a','b','c')", "FLOOR(RAND() * 8)"),
    ("BIT(17)", "FLOOR(RAND() * 131072)"),
    ("JSON", "JSON_OBJECT('n', CAST(FLOOR(RAND() * 9) AS UNSIGNED))"),
)
"""Types of columns, each with an expression that returns a value of it."""

KEYS = (
    ("id INT NOT NULL PRIMARY KEY", "{n}"),
    ("id BIGINT NOT NULL, k CHAR(3) NOT NULL, PRIMARY KEY (k, id)", "{n}, 'k{n:.1}'"),
    ("id VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY", "'key {n}'"),
    ("id INT UNSIGNED NOT NULL UNIQUE KEY, o DATE NULL", "{n}, NULL"),
)
"""Key columns, with values for a number."""

COLUMNS = 4


class Table:
    """A table with a key and some columns."""

    def __init__(self, number: int) -> None:
        self.name = f"m{number}"
        key, self._key = KEYS[number % len(KEYS)]
        self._types = [TYPES[(number * COLUMNS + place) % len(TYPES)] for place in range(COLUMNS)]
        columns = [f"c{place} {kind}" for place, (kind, _) in enumerate(self._types)]
        self.created = [f"CREATE TABLE {self.name} ({', '.join([*columns, key])})"]
        self.tables = [self.name]

    def _row(self, number: int) -> str:
        values = [value for _, value in self._types]
        return f"({', '.join([*values, self._key.format(n=str(number))])})"

    def filled(self, rows: int) -> str:
        listed = ", ".join(self._row(1000 + number) for number in range(rows))
        return f"INSERT INTO {self.name} VALUES {listed}"

    def change(self, chosen: random.Random) -> str:
        """A statement that changes rows."""
        place, low = chosen.randrange(COLUMNS), chosen.randrange(90)
        key = "id" if "'" not in self._key.split(",")[0] else "SUBSTR(id, 5)"
        some = f"{key} BETWEEN {low} AND {low + 9}"
        rows = ", ".join(self._row(low + number) for number in range(chosen.randrange(1, 12)))
        value = chosen.choice(["NULL", self._types[place][1]])
        return chosen.choice(
            [
                f"INSERT IGNORE INTO {self.name} VALUES {rows}",
                f"REPLACE INTO {self.name} VALUES {rows}",
                f"UPDATE {self.name} SET c{place} = {value} WHERE {some}",
                f"DELETE FROM {self.name} WHERE {some}",
            ]
        )


class Family:
    """A parent and two children, whose rows a delete of the parent's rows deletes or changes.

    In every second family the keys are texts with a collation whose effects sync does not compute.
    """

    def __init__(self, number: int) -> None:
        parent, child, other = self.tables = [
            f"{one}{number}" for one in ("parent", "child", "other")
        ]
        self._has_texts = number % 2 == 1
        text = "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_roman_ci"
        kind = text if self._has_texts else "INT"
        action = "CASCADE" if self._has_texts else "SET NULL"
        key = f"id {kind} NOT NULL PRIMARY KEY"
        self.created = [
            f"CREATE TABLE {parent} ({key}, v INT)",
            (
                f"CREATE TABLE {child} ({key}, p {kind}, v INT,"
                f" FOREIGN KEY (p) REFERENCES {parent} (id) ON DELETE CASCADE)"
            ),
            (
                f"CREATE TABLE {other} ({key}, p {kind}, v INT,"
                f" FOREIGN KEY (p) REFERENCES {child} (id) ON DELETE {action})"
            ),
        ]

    def _id(self, number: int) -> str:
        return f"'k{number:04}'" if self._has_texts else str(number)

    def filled(self, rows: int) -> str:
        listed = ", ".join(f"({self._id(1000 + number)}, {number})" for number in range(rows))
        return f"INSERT INTO {self.tables[0]} VALUES {listed}"

    def change(self, chosen: random.Random) -> str:
        """A statement that changes rows, most of them with effects on children."""
        parent, child, other = self.tables
        low = chosen.randrange(60)
        some = f"id BETWEEN {self._id(low)} AND {self._id(low + 4)}"
        ids = [self._id(number) for number in range(low, low + 8)]
        return chosen.choice(
            [
                f"INSERT IGNORE INTO {parent} VALUES " + ", ".join(f"({n}, 1)" for n in ids),
                f"INSERT IGNORE INTO {child} VALUES " + ", ".join(f"({n}, {n}, 0)" for n in ids),
                f"INSERT IGNORE INTO {other} VALUES " + ", ".join(f"({n}, {n}, 0)" for n in ids),
                f"UPDATE {child} SET v = v + 1 WHERE {some}",
                f"DELETE FROM {parent} WHERE {some}",
                f"DELETE FROM {child} WHERE {some}",
            ]
        )


def many_tables(count: int) -> list[Table | Family]:
    """About `count` tables: of ten, three are a family."""
    families = max(1, count // 10)
    tables = max(1, count - 3 * families)
    return [*map(Table, range(tables)), *map(Family, range(families))]


class Writer(threading.Thread):
    """A session that changes rows of all tables, in transactions of several, until it is ended."""

    def __init__(
        self, server: Server, tables: list[Table | Family], seed: int, pause: float = 0.004
    ) -> None:
        super().__init__(daemon=True)
        self._pause = pause
        self._server = server
        self._tables = tables
        self._random = random.Random(seed)
        self._ends = threading.Event()
        self.statements = 0
        self.refused = 0

    def run(self) -> None:
        chosen = self._random
        with closing(Session(self._server, database="shop")) as session:
            while not self._ends.is_set():
                changes = [
                    one.change(chosen)
                    for one in chosen.choices(self._tables, k=chosen.randrange(1, 4))
                ]
                end = chosen.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"])
                for statement in ["BEGIN", *changes, end]:
                    try:
                        session.execute(statement)
                        self.statements += 1
                    except pymysql.err.MySQLError:
                        self.refused += 1  # a row without its parent, a deadlock
                self._ends.wait(self._pause)

    def end(self) -> None:
        self._ends.set()
        self.join()
