"""Transactions on a table of orders, as long as a test wants: what a streaming query follows."""

from __future__ import annotations

import random
import threading
from types import TracebackType
from typing import Any

from support.servers.servers import Server

TABLE = "live.orders"
ORDERS = """CREATE TABLE live.orders (
  id INT NOT NULL PRIMARY KEY, status VARCHAR(20) CHARACTER SET utf8mb4, total DECIMAL(10,2),
  paid_at DATETIME(6))"""
GRANT = "GRANT SELECT ON live.* TO live@'%'"  # to read the current structure of a table
STATUSES = ("'new'", "'paid'", "'sent 📦'", "''", "NULL")
KEYS = 400


class Load(threading.Thread):
    """Inserts, updates, deletes and changes of keys, in transactions of some rows.

    with Load(server) as load: ...       # its transactions have ended after the block
    """

    def __init__(self, server: Server, seed: int = 1, pause: float = 0.004) -> None:
        super().__init__(daemon=True)
        self.transactions = 0
        self._session = server.connect()
        self._pause = pause
        self._rng = random.Random(seed)
        self._over = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            while not self._over.wait(self._pause):
                self.play(1)
        except Exception as error:  # noqa: BLE001 - raised again at the end
            self._error = error

    def play(self, transactions: int) -> None:
        """Plays some in this thread."""
        for _ in range(transactions):
            statements = [self._statement() for _ in range(self._rng.choice((1, 1, 2, 6)))]
            end = "ROLLBACK" if self._rng.random() < 0.05 else "COMMIT"
            self._session.execute("BEGIN", *statements, end)
            self.transactions += 1

    def _statement(self) -> str:
        rng = self._rng
        key, other = rng.randrange(KEYS), rng.randrange(KEYS)
        values = f"{rng.choice(STATUSES)}, {rng.randrange(10**6) / 100}, NOW(6)"
        match rng.randrange(8):
            case 0 | 1 | 2:
                rows = ", ".join(
                    f"({(key + n) % KEYS}, {values})" for n in range(rng.choice((1, 3)))
                )
                return f"REPLACE INTO {TABLE} VALUES {rows}"
            case 3 | 4 | 5:
                setting = f"total = total + 1, status = {rng.choice(STATUSES)}"
                return f"UPDATE {TABLE} SET {setting} WHERE id BETWEEN {key} AND {key + 3}"
            case 6:
                return f"UPDATE IGNORE {TABLE} SET id = {other} WHERE id = {key}"
            case _:
                return f"DELETE FROM {TABLE} WHERE id = {key}"

    def __enter__(self) -> Load:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self.join(30)
        self._session.close()
        if self._error is not None:
            raise self._error


def selected(server: Server) -> list[tuple[Any, ...]]:
    """The table as the server has it, in the order of its keys."""
    return server.query(f"SELECT * FROM {TABLE} ORDER BY id")
