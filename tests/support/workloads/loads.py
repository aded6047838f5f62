"""Tables with keys of many types, and sessions that change their rows while they are read."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pymysql

from support.servers.servers import Server, Session

ROWS = 2000
"""Rows of each table at the start."""

UTF8 = "DEFAULT CHARSET=utf8mb4"
TABLES = {
    "whole": "CREATE TABLE live.whole (id INT PRIMARY KEY, v INT NOT NULL)",
    "unsigned": "CREATE TABLE live.`unsigned` (id BIGINT UNSIGNED PRIMARY KEY, v INT NOT NULL)",
    "composite": "CREATE TABLE live.composite"
    f" (a INT, b VARCHAR(20), c DATE, v INT NOT NULL, PRIMARY KEY (a, b, c)) {UTF8}",
    "ci": "CREATE TABLE live.ci"
    f" (id VARCHAR(40) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT NOT NULL) {UTF8}",
    "bin": f"CREATE TABLE live.bin (id VARCHAR(40) COLLATE utf8mb4_bin PRIMARY KEY, v INT NOT NULL) {UTF8}",
    "latin": "CREATE TABLE live.latin (id CHAR(30) PRIMARY KEY, v INT NOT NULL) DEFAULT CHARSET=latin1",
    "bytes": "CREATE TABLE live.bytes (id VARBINARY(20) PRIMARY KEY, v INT NOT NULL)",
    "time": "CREATE TABLE live.time (id DATETIME(6), d DECIMAL(20,5), v INT NOT NULL, PRIMARY KEY (d, id))",
    "second": "CREATE TABLE live.second (a INT, id BIGINT NOT NULL, v INT NOT NULL, UNIQUE KEY third (a), UNIQUE KEY (id))",
    "enum": "CREATE TABLE live.enum (id INT, e ENUM('a','b','c'), v INT NOT NULL, PRIMARY KEY (e, id))",
}
KEYS = {"composite": ("a", "b", "c"), "time": ("d", "id"), "enum": ("e", "id")}

# A deadlock, and a statement that waits for another for too long.
RETRIED = (1213, 1205)


def key_columns(table: str) -> tuple[str, ...]:
    """Returns the names of the columns of a table's key."""
    return KEYS.get(table, ("id",))


def fill(server: Server) -> None:
    """Creates the tables, with their rows."""
    for table, statement in TABLES.items():
        values = ", ".join(f"({_key(table, n)}, {n})" for n in range(ROWS))
        server.execute(
            f"DROP TABLE IF EXISTS live.`{table}`", statement, f"{_replace(table)} {values}"
        )


@contextmanager
def writers(server: Server, count: int = 3) -> Iterator[None]:
    """Changes rows of the tables in several sessions, all the time."""
    stop = threading.Event()
    failures: list[Exception] = []

    def write(seed: int) -> None:
        draw = random.Random(seed)
        try:
            with closing(Session(server)) as session:
                while not stop.is_set():
                    _change(session, draw)
        except Exception as error:  # noqa: BLE001 reported below, in the thread of the test
            failures.append(error)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def _change(session: Session, draw: random.Random) -> None:
    table = draw.choice(list(TABLES))
    kind = draw.random()
    if kind < 0.1:
        statement = f"DELETE FROM live.`{table}` WHERE v % 97 = {draw.randrange(97)}"
    elif kind < 0.3:
        statement = f"UPDATE live.`{table}` SET v = v + 1 WHERE v % 31 = {draw.randrange(31)}"
    elif kind < 0.5 and table == "whole":
        statement = f"UPDATE IGNORE live.whole SET id = id + 3 WHERE v % 61 = {draw.randrange(61)}"
    else:
        row = f"({_key(table, draw.randrange(ROWS + 300))}, {draw.randrange(10**6)})"
        statement = f"{_replace(table)} {row}"
    try:
        session.execute(statement)
    except pymysql.Error as error:
        if error.args[0] not in RETRIED:
            raise


def _replace(table: str) -> str:
    return f"REPLACE INTO live.`{table}` ({', '.join(key_columns(table))}, v) VALUES"


def _key(table: str, number: int) -> str:
    """Returns the key of a row in SQL."""
    match table:
        case "unsigned":
            return str(2**63 - 1000 + number)
        case "composite":
            return f"{number % 3}, 'It''s Ä{number % 50:04}', '2026-01-{number % 28 + 1:02}'"
        case "ci" | "bin" | "latin":
            return f"'{'Kk'[number % 2]}ey-{number * 7919 % 10007}-ß'"
        case "bytes":
            return f"X'{number * 7919 % 10007:08x}ff00'"
        case "time":
            return f"{number % 7}.25, '2026-01-01 00:00:00.{number:06}'"
        case "enum":
            return f"{number % 3 + 1}, {number}"
        case _:
            return str(number * 10)
