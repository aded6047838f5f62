"""Records the binlog of a small shop from a real MySQL server.

Run it from anywhere: `python examples/shop/record.py`. It starts a MySQL of its own (the script
`tests/support/servers/lab`), plays the life of a shop on it, and writes beside itself the binlog
files and `expected.json`: how many rows of each table are left at the end, and how many changes of
each kind the log holds. Both come from the shop's own books, checked against what the server says.

Needs PyMySQL. The rows are the same every time (one seed); the server's UUID and the commit times
are not.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from support.servers.servers import Server, Session  # noqa: E402

SEED = 20260105
TRANSACTIONS = 1400  # after the first customers and products; half of them in each file

SCHEMA = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "USE shop",
    """CREATE TABLE customers (
         id INT UNSIGNED NOT NULL PRIMARY KEY,
         email VARCHAR(120) NOT NULL UNIQUE,
         name VARCHAR(80) NOT NULL,
         country CHAR(2) CHARACTER SET ascii NOT NULL,
         segment ENUM('new', 'regular', 'vip') NOT NULL DEFAULT 'new',
         interests SET('books', 'music', 'garden', 'kitchen', 'toys') NOT NULL DEFAULT '',
         points INT UNSIGNED NOT NULL DEFAULT 0,
         birthday DATE NULL,
         profile JSON NULL,
         created_at DATETIME(6) NOT NULL
       )""",
    """CREATE TABLE products (
         sku VARCHAR(16) CHARACTER SET ascii NOT NULL PRIMARY KEY,
         title VARCHAR(100) NOT NULL,
         price DECIMAL(10,2) NOT NULL,
         stock INT NOT NULL,
         weight DOUBLE NULL,
         attributes JSON NOT NULL,
         discontinued TINYINT(1) NOT NULL DEFAULT 0
       )""",
    """CREATE TABLE orders (
         id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
         customer_id INT UNSIGNED NOT NULL,
         status ENUM('placed', 'paid', 'sent', 'cancelled') NOT NULL,
         placed_at DATETIME(6) NOT NULL,
         paid_at TIMESTAMP NULL,
         shipping DECIMAL(6,2) NULL,
         note TEXT NULL
       )""",
    """CREATE TABLE order_items (
         order_id BIGINT UNSIGNED NOT NULL,
         line SMALLINT UNSIGNED NOT NULL,
         sku VARCHAR(16) CHARACTER SET ascii NOT NULL,
         quantity SMALLINT UNSIGNED NOT NULL,
         unit_price DECIMAL(10,2) NOT NULL,
         PRIMARY KEY (order_id, line)
       )""",
)
KEYS = {
    "customers": ("id",),
    "products": ("sku",),
    "orders": ("id",),
    "order_items": ("order_id", "line"),
}

NEW_COLUMN = "ALTER TABLE orders ADD COLUMN channel VARCHAR(10) NOT NULL DEFAULT 'web' AFTER status"

FIRST_NAMES = ("Ada", "Bjørn", "Chloé", "Dmitri", "Eun-ji", "Fatima", "José", "Müge", "Ngozi", "明")
LAST_NAMES = ("Lovelace", "Ødegaard", "Lefèvre", "Иванов", "김", "Haddad", "Núñez", "Şahin", "田中")
DOMAINS = ("mail.example", "post.example", "inbox.example")
COUNTRIES = ("DE", "FR", "IN", "JP", "NG", "NO", "US")
INTERESTS = ("books", "music", "garden", "kitchen", "toys")  # a SET keeps this order
THINGS = (
    "teapot ☕",
    "novel 📚",
    "trowel",
    "ukulele 🎸",
    "kite 🪁",
    "lamp",
    "chess set ♟️",
    "quilt",
)
COLORS = ("red", "grün", "青", "noir")
NOTES = (
    "Leave it with the neighbour 🏡",
    "Geschenk, bitte einpacken 🎁",
    "",
    "2nd floor\nring twice",
)

T = TypeVar("T")
Row = dict[str, Any]
Key = tuple[Any, ...]


@dataclass
class Books:
    """The known data of the shop: the rows of its tables, and each change that it made to them."""

    session: Session
    rows: dict[str, dict[Key, Row]] = field(default_factory=lambda: {t: {} for t in KEYS})
    changes: dict[str, Counter[str]] = field(
        default_factory=lambda: {table: Counter() for table in KEYS}
    )
    transactions: int = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        before = self.changes_in_all()
        self.session.execute("BEGIN")
        yield
        self.session.execute("COMMIT")
        if self.changes_in_all() > before:  # the log has no empty transactions
            self.transactions += 1

    def changes_in_all(self) -> int:
        return sum(changes.total() for changes in self.changes.values())

    def insert(self, table: str, row: Row) -> None:
        columns = ", ".join(row)
        marks = ", ".join(["%s"] * len(row))
        self._run(1, f"INSERT INTO {table} ({columns}) VALUES ({marks})", *row.values())
        self.rows[table][self._key(table, row)] = row
        self.changes[table]["insert"] += 1

    def update(self, table: str, key: Key, **changes: Any) -> None:
        old = self.rows[table][key]
        new = {**old, **changes}
        if new == old:
            return  # the server would log nothing
        settings = ", ".join(f"{column} = %s" for column in changes)
        self._run(
            1, f"UPDATE {table} SET {settings} WHERE {self._match(table)}", *changes.values(), *key
        )
        new_key = self._key(table, new)
        del self.rows[table][key]
        self.rows[table][new_key] = new
        self.changes[table]["update"] += 1
        if new_key != key:
            self.changes[table]["key_update"] += 1

    def restock(self, below: int, by: int) -> None:
        """One statement that changes many rows."""
        low = [row for row in self.rows["products"].values() if row["stock"] < below]
        sql = "UPDATE products SET stock = stock + %s WHERE stock < %s"
        self._run(len(low), sql, by, below)
        for row in low:
            row["stock"] += by
        self.changes["products"]["update"] += len(low)

    def delete(self, table: str, key: Key) -> None:
        self._run(1, f"DELETE FROM {table} WHERE {self._match(table)}", *key)
        del self.rows[table][key]
        self.changes[table]["delete"] += 1

    def _run(self, expected: int, sql: str, *values: object) -> None:
        arguments = [
            json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
            for value in values
        ]
        count = self.session.run(sql, *arguments)
        assert count == expected, f"{count} rows changed, not {expected}: {sql}"

    @staticmethod
    def _match(table: str) -> str:
        return " AND ".join(f"{column} = %s" for column in KEYS[table])

    @staticmethod
    def _key(table: str, row: Row) -> Key:
        return tuple(row[column] for column in KEYS[table])


class Shop:
    """The life of the shop: each public method is one transaction."""

    def __init__(self, books: Books, rng: random.Random) -> None:
        self.books = books
        self.rng = rng
        self.now = datetime(2026, 1, 5, 8, 0)
        self.has_channel = False
        self.last_customer = self.last_order = self.last_product = 0

    def open(self) -> None:
        """The first products and customers, each in one transaction."""
        with self.books.transaction():
            for _ in range(40):
                self._add_product()
        with self.books.transaction():
            for _ in range(60):
                self._add_customer()

    def some_transaction(self) -> None:
        """One thing that happens in a shop, picked at random."""
        events: tuple[tuple[int, Callable[[], None]], ...] = (
            (34, self.place_order),
            (22, self.pay_order),
            (15, self.send_order),
            (4, self.cancel_order),
            (10, self.register_customer),
            (6, self.edit_customer),
            (1, self.forget_customer),
            (4, self.change_prices),
            (1, self.restock),
            (3, self.add_product),
            (1, self.drop_product),
            (1, self.rename_product),
        )
        weights = [weight for weight, _ in events]
        [event] = self.rng.choices([event for _, event in events], weights)
        self.now += timedelta(
            seconds=self.rng.randint(5, 900), microseconds=self.rng.randrange(10**6)
        )
        with self.books.transaction():
            event()

    def place_order(self) -> None:
        self.last_order += 1
        order: Row = {
            "id": self.last_order,
            "customer_id": self._pick("customers")[0],
            "status": "placed",
            "placed_at": self.now,
            "paid_at": None,
            "shipping": self._maybe(self._money(0, 2000)),
            "note": self._maybe(self.rng.choice(NOTES)),
        }
        if self.has_channel:
            order["channel"] = self.rng.choice(("web", "app", "store"))
        self.books.insert("orders", order)
        for line in range(1, self.rng.randint(2, 5)):
            (sku,) = self._pick("products")
            product = self.books.rows["products"][(sku,)]
            quantity = self.rng.randint(1, 3)
            self.books.insert(
                "order_items",
                {
                    "order_id": self.last_order,
                    "line": line,
                    "sku": sku,
                    "quantity": quantity,
                    "unit_price": product["price"],
                },
            )
            self.books.update("products", (sku,), stock=product["stock"] - quantity)

    def pay_order(self) -> None:
        if key := self._order_with("placed"):
            self.books.update("orders", key, status="paid", paid_at=self.now.replace(microsecond=0))
            customer = (self.books.rows["orders"][key]["customer_id"],)
            if customer in self.books.rows["customers"]:
                points = self.books.rows["customers"][customer]["points"]
                self.books.update("customers", customer, points=min(points + 250, 2**32 - 1))

    def send_order(self) -> None:
        if key := self._order_with("paid"):
            self.books.update("orders", key, status="sent", note=None)

    def cancel_order(self) -> None:
        """The order stays, its lines go: one event with several deletes."""
        if not (key := self._order_with("placed")):
            return
        self.books.update("orders", key, status="cancelled")
        for item in [item for item in self.books.rows["order_items"] if item[0] == key[0]]:
            self.books.delete("order_items", item)

    def register_customer(self) -> None:
        self._add_customer()

    def edit_customer(self) -> None:
        key = self._pick("customers")
        self.books.update(
            "customers",
            key,
            segment=self.rng.choice(("new", "regular", "vip")),
            interests=self._interests(),
            birthday=self._birthday(),
            profile=self._profile(),
        )

    def forget_customer(self) -> None:
        self.books.delete("customers", self._pick("customers"))

    def change_prices(self) -> None:
        for key in self.rng.sample(sorted(self.books.rows["products"]), 5):
            price = self.books.rows["products"][key]["price"]
            factor = Decimal(self.rng.randint(85, 115)) / 100
            self.books.update("products", key, price=(price * factor).quantize(Decimal("0.01")))

    def add_product(self) -> None:
        self._add_product()

    def restock(self) -> None:
        self.books.restock(below=100, by=self.rng.randint(50, 200))

    def drop_product(self) -> None:
        self.books.delete("products", self._pick("products"))

    def rename_product(self) -> None:
        """A change of the primary key."""
        key = self._pick("products")
        self.last_product += 1
        self.books.update("products", key, sku=f"SKU-{self.last_product:05}")

    def add_channel(self) -> None:
        """From here on every order names its channel; the old ones get the default."""
        self.books.session.execute(NEW_COLUMN)
        self.has_channel = True
        for row in self.books.rows["orders"].values():
            row["channel"] = "web"

    def _add_customer(self) -> None:
        self.last_customer += 1
        first, last = self.rng.choice(FIRST_NAMES), self.rng.choice(LAST_NAMES)
        self.books.insert(
            "customers",
            {
                "id": self.last_customer,
                "email": f"{first}.{self.last_customer}@{self.rng.choice(DOMAINS)}".lower(),
                "name": f"{first} {last}" + self.rng.choice(("", "", " 🦊")),
                "country": self.rng.choice(COUNTRIES),
                "segment": "new",
                "interests": self._interests(),
                "points": self.rng.choice((0, 0, 100, 3_916_586_877)),
                "birthday": self._birthday(),
                "profile": self._profile(),
                "created_at": self.now,
            },
        )

    def _add_product(self) -> None:
        self.last_product += 1
        color = self.rng.choice(COLORS)
        self.books.insert(
            "products",
            {
                "sku": f"SKU-{self.last_product:05}",
                "title": f"{color} {self.rng.choice(THINGS)}",
                "price": self._money(99, 99_999),
                "stock": self.rng.randint(0, 500),
                "weight": self._maybe(self.rng.randint(1, 40) / 8),
                "attributes": {"color": color, "sizes": self.rng.sample(["S", "M", "L"], 2)},
                "discontinued": int(self.rng.random() < 0.1),
            },
        )

    def _pick(self, table: str) -> Key:
        return self.rng.choice(sorted(self.books.rows[table]))

    def _order_with(self, status: str) -> Key | None:
        keys = [key for key, row in self.books.rows["orders"].items() if row["status"] == status]
        return self.rng.choice(sorted(keys)) if keys else None

    def _interests(self) -> str:
        return ",".join(name for name in INTERESTS if self.rng.random() < 0.4)

    def _birthday(self) -> date | None:
        return self._maybe(date(1940, 1, 1) + timedelta(days=self.rng.randrange(24_000)))

    def _profile(self) -> Row | None:
        profile: Row = {
            "newsletter": self.rng.random() < 0.5,
            "visits": self.rng.randrange(1000),
            "score": self.rng.randrange(1000) / 8,
            "tags": self.rng.sample(["🎉", "früh", "b2b"], 2),
            "address": {"zip": f"{self.rng.randrange(10**5):05}", "floor": self._maybe(3)},
        }
        return self._maybe(profile)

    def _money(self, low: int, high: int) -> Decimal:
        return Decimal(self.rng.randint(low, high)).scaleb(-2)

    def _maybe(self, value: T) -> T | None:
        return value if self.rng.random() < 0.8 else None


def play(session: Session, flush: Callable[[], Path]) -> tuple[Books, Path]:
    """Plays the shop's life; the binlog is switched in the middle. Gives the first file."""
    books = Books(session)
    shop = Shop(books, random.Random(SEED))
    session.execute(*SCHEMA)
    shop.open()
    for _ in range(TRANSACTIONS // 2):
        shop.some_transaction()
    first_file = flush()
    for number in range(TRANSACTIONS // 2):
        if number == TRANSACTIONS // 4:
            shop.add_channel()
        shop.some_transaction()
    return books, first_file


def check(books: Books) -> None:
    """The server holds exactly the rows that the books say."""
    for table, expected in books.rows.items():
        columns = [name for (name, *_) in books.session.query(f"SHOW COLUMNS FROM {table}")]
        found = {}
        for values in books.session.query(f"SELECT * FROM {table}"):
            row = dict(zip(columns, values, strict=True))
            for column in ("profile", "attributes"):
                if row.get(column) is not None:
                    row[column] = json.loads(row[column])
            found[tuple(row[column] for column in KEYS[table])] = row
        assert found == expected, f"the books of {table} are wrong"


def summary(books: Books) -> dict[str, Any]:
    kinds = ("insert", "update", "key_update", "delete")
    return {
        "server": books.session.query("SELECT VERSION()")[0][0],
        "transactions": books.transactions,
        "tables": {
            f"shop.{table}": {
                "rows": books.session.query(f"SELECT COUNT(*) FROM {table}")[0][0],
                **{kind: books.changes[table][kind] for kind in kinds},
            }
            for table in books.rows
        },
    }


def main() -> None:
    with Server.start("mysql") as server:
        session = server.connect()
        books, first_file = play(session, server.flush_binlog)
        check(books)
        expected = summary(books)
        session.close()
        last_file = server.binlog_files()[-1]
        files = [first_file, last_file]
        server.shutdown()
        for path in files:
            shutil.copyfile(path, HERE / path.name)
    expected["files"] = [path.name for path in files]
    (HERE / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")


if __name__ == "__main__":
    main()
