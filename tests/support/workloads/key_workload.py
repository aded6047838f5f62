"""Random changes of a few tables whose keys collide and move all the time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pymysql

from support.servers.servers import Session

DATABASE = "mirror"
COLUMNS = ("area", "code", "n", "note")
KEYS = {
    "by_code": ("code",),
    "by_both": ("code", "area"),
    "by_prefix": ("code",),
    "by_unique": ("code",),
    "by_none": (),
}
"""Tables, and the columns of their keys."""

KEY_TEXTS = {
    "by_code": ", PRIMARY KEY (code)",
    "by_both": ", PRIMARY KEY (code, area)",
    "by_prefix": ", PRIMARY KEY (code(3))",
    "by_unique": ", UNIQUE KEY (code)",
    "by_none": "",
}
CODES = ("go", "java", "rust", "c", "ada", "perl", "lua", "élan", "sql", "zig")
NOTES = ("'x'", "''", "NULL", "'a longer note'", "REPEAT('y', 300)")


@dataclass
class KeyWorkload:
    """Transactions of a random number of statements, some of which the server refuses."""

    session: Session
    images: tuple[str, ...]
    rng: random.Random = field(default_factory=lambda: random.Random(5))
    played: int = 0
    refused: int = 0

    def begin(self) -> dict[str, str]:
        """Makes the tables; gives their structures."""
        self.session.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")
        for table, key in KEY_TEXTS.items():
            self.session.execute(
                f"CREATE TABLE {DATABASE}.{table} (area INT NOT NULL, code VARCHAR(20) NOT NULL, n INT, note TEXT{key})"
                " DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci"
            )
        return {
            f"{DATABASE}.{table}": self.session.query(f"SHOW CREATE TABLE {DATABASE}.{table}")[0][1]
            for table in KEY_TEXTS
        }

    def run(self, transactions: int) -> None:
        for _ in range(transactions):
            image = self.rng.choice(self.images)
            self.session.execute(f"SET SESSION binlog_row_image = {image}", "BEGIN")
            for _ in range(self.rng.choice((1, 1, 2, 5))):
                table = self.rng.choice(list(KEY_TEXTS))
                for statement in self.statements(f"{DATABASE}.{table}"):
                    self.play(statement)
            self.session.execute(self.rng.choice(("COMMIT",) * 9 + ("ROLLBACK",)))
        self.session.execute("SET SESSION binlog_row_image = FULL")

    def play(self, statement: str) -> None:
        try:
            self.session.execute(statement)
            self.played += 1
        except pymysql.err.IntegrityError:  # a key that is there; the statement did nothing
            self.refused += 1

    def statements(self, table: str) -> list[str]:
        rng = self.rng
        one, other = rng.sample(CODES, 2)
        area, n, note = rng.randint(1, 5), rng.randint(0, 99), rng.choice(NOTES)
        cased = rng.choice((one, one.upper(), one.capitalize()))
        row = f"({area}, '{cased}', {n}, {note})"
        swap = [(one, "temporary"), (other, one), ("temporary", other)]
        move = "UPDATE {} SET code = '{}' WHERE code = '{}'"
        return rng.choice(
            (
                [f"INSERT INTO {table} VALUES {row}"],
                [f"INSERT INTO {table} VALUES {row}"],
                [f"INSERT INTO {table} (area, code) VALUES ({area}, '{cased}')"],
                [
                    f"INSERT INTO {table} VALUES ({area}, '{one}', {n}, {note}), ({area}, '{other}', {n}, {note})"
                ],
                [f"UPDATE {table} SET n = {n} WHERE code = '{one}'"],
                [f"UPDATE {table} SET note = {note} WHERE area = {area}"],
                [f"UPDATE {table} SET n = n + 1"],
                [f"UPDATE {table} SET area = {area} WHERE code = '{one}'"],
                [move.format(table, cased + "s", one), move.format(table, one, cased + "s")],
                [move.format(table, cased, one)],
                [
                    f"UPDATE {table} SET code = '{cased}', n = {n}, note = {note} WHERE code = '{other}'"
                ],
                [f"UPDATE {table} SET code = UPPER(code) WHERE area < {area}"],
                [move.format(table, new, old) for old, new in swap],
                [move.format(table, new, old) for old, new in swap],
                [f"DELETE FROM {table} WHERE code = '{one}'"],
                [f"DELETE FROM {table} WHERE area = {area} LIMIT 2"],
                [f"DELETE FROM {table} WHERE code = '{one}'", f"INSERT INTO {table} VALUES {row}"],
                [f"REPLACE INTO {table} VALUES {row}"],
                [f"INSERT INTO {table} VALUES {row} ON DUPLICATE KEY UPDATE n = {n}"],
            )
        )

    def content(self, table: str) -> list[tuple[object, ...]]:
        """The current rows of the table, in no order."""
        return self.session.query(f"SELECT {', '.join(COLUMNS)} FROM {DATABASE}.{table}")
