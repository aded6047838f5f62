"""Random changes of rows and of structures of a few tables, until they are stopped."""

from __future__ import annotations

import random
import threading
from contextlib import closing

import pymysql

from support.servers.servers import Server, Session

COLUMNS = ("a", "b", "c", "d")
TABLES = ("s0", "s1", "s2", "s3")
TYPES = (
    "INT",
    "BIGINT NOT NULL DEFAULT 7",
    "VARCHAR(30) DEFAULT 'x'",
    "VARCHAR(30) NOT NULL",
    "DECIMAL(9,2) DEFAULT 1.25",
    "DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)",
    "DOUBLE DEFAULT 0.5",
    "ENUM('p','q') DEFAULT 'q'",
)


class Storm(threading.Thread):
    """A session that changes tables of the database `shop`."""

    def __init__(self, server: Server, seed: int, *, alters: bool, pause: float = 0.004) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._random = random.Random(seed)
        self._alters = alters
        self._pause = pause
        self._ends = threading.Event()
        self.statements = 0

    def run(self) -> None:
        with closing(Session(self._server, database="shop")) as session:
            while not self._ends.is_set():
                alters = self._alters and self._random.random() < 0.08
                for statement in self._structure() if alters else self._rows():
                    try:
                        session.execute(statement)
                        self.statements += 1
                    except pymysql.err.MySQLError:
                        pass  # a column or a key that exists or does not, a deadlock
                self._ends.wait(self._pause)

    def end(self) -> None:
        self._ends.set()
        self.join()

    def _rows(self) -> list[str]:
        chosen = self._random
        table, column = chosen.choice(TABLES), chosen.choice(COLUMNS)
        low = chosen.randrange(300)
        some = f"id BETWEEN {low} AND {low + chosen.randrange(30)}"
        values = ", ".join(f"({low + number})" for number in range(chosen.randrange(1, 20)))
        one = chosen.choice(
            [
                f"INSERT IGNORE INTO {table} (id) VALUES {values}",
                f"INSERT IGNORE INTO {table} (id) VALUES {values}",
                f"REPLACE INTO {table} (id) VALUES {values}",
                f"UPDATE IGNORE {table} SET {column} = '{chosen.randrange(100)}' WHERE {some}",
                f"UPDATE IGNORE {table} SET {column} = '{chosen.randrange(100)}' WHERE {some}",
                f"UPDATE IGNORE {table} SET id = id + {chosen.randrange(-40, 40)} WHERE {some}",
                f"DELETE FROM {table} WHERE {some}",
            ]
        )
        if chosen.random() < 0.2:
            return ["BEGIN", one, *self._rows(), chosen.choice(["COMMIT", "COMMIT", "ROLLBACK"])]
        return [one]

    def _structure(self) -> list[str]:
        chosen = self._random
        table, other = chosen.sample(TABLES, 2)
        column, second = chosen.sample(COLUMNS, 2)
        kind = chosen.choice(TYPES)
        return chosen.choice(
            [
                [f"ALTER TABLE {table} ADD COLUMN {column} {kind}"],
                [f"ALTER TABLE {table} ADD COLUMN {column} {kind} FIRST"],
                [f"ALTER TABLE {table} ADD COLUMN {column} {kind}, DROP COLUMN {second}"],
                [f"ALTER TABLE {table} DROP COLUMN {column}"],
                [f"ALTER TABLE {table} RENAME COLUMN {column} TO {second}"],
                [f"ALTER TABLE {table} CHANGE {column} {second} INT, CHANGE {second} {column} INT"],
                [f"ALTER IGNORE TABLE {table} MODIFY {column} {kind}"],
                [f"ALTER TABLE {table} MODIFY {column} {kind}"],
                [f"TRUNCATE {table}"],
                [f"RENAME TABLE {table} TO moved, {other} TO {table}, moved TO {other}"],
                [
                    f"CREATE TABLE made (PRIMARY KEY (id)) SELECT * FROM {other} WHERE id % 3 = 0",
                    f"RENAME TABLE {table} TO gone, made TO {table}",
                    "DROP TABLE gone",
                ],
                [f"DROP TABLE {table}", created(table)],
            ]
        )


def created(table: str) -> str:
    return f"CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(30))"
