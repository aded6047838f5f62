"""The tables of a recorded pair of servers, and their changes before and after stored positions.

CREATED      on the first server; then two XA transactions are prepared
FIRST        a transaction: the position `failover` is inside it. Then the first server ends
SECOND       a transaction on the other server: the other positions are in it or near it
OLD          changes of a table while the log has no names of columns, for a history
DURING       changes while rows are loaded
LATER        the end of the record
LIVE         statements that are executed when the recorded server is started
"""

from __future__ import annotations

from collections.abc import Sequence

from support.stored.shop import KINDS

TABLES = ("codes", "entries", "items", "kinds", "later", "orders", "pending")
"""The tables of the database `shop`.

`entries` has no key, `later` has no rows until DURING, and `pending` those of XA transactions.
"""

ORDERS = 100
"""The number of rows of `orders` and of `codes`."""


def _insert(table: str, first: int, last: int, row: str) -> str:
    rows = (row.format(n=n, m=n % 7) for n in range(first, last + 1))
    return f"INSERT INTO {table} VALUES {', '.join(rows)}"


def _kinds(which: int) -> str:
    return ", ".join(kind[which] for kind in KINDS.values())


ORDER = "({n}, 'customer {m}', {n}.25, '2026-01-01 00:00:00.{n:06}')"

CREATED = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "USE shop",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer VARCHAR(20), total DECIMAL(12,2), changed DATETIME(6))",
    "CREATE TABLE items (order_id INT, line INT, sku VARCHAR(9), PRIMARY KEY (order_id, line))",
    f"CREATE TABLE kinds (id INT PRIMARY KEY, {', '.join(f'{n} {k[0]}' for n, k in KINDS.items())})",
    "CREATE TABLE entries (day DATE, v INT)",
    "CREATE TABLE codes (code VARCHAR(20) PRIMARY KEY, v INT)",
    "CREATE TABLE later (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE pending (id INT PRIMARY KEY, v INT)",
    _insert("orders", 1, ORDERS, ORDER),
    _insert("items", 1, 20, "({n}, 1, 'sku {m}'), ({n}, 2, 'sku {m}')"),
    f"INSERT INTO kinds VALUES (1, {_kinds(1)}), (2, {_kinds(2)})",
    "INSERT INTO entries VALUES ('2026-01-01', 1), ('2026-01-01', 1), (NULL, 2)",
    _insert("codes", 1, ORDERS, "('code {n} ü', {m})"),
    "FLUSH BINARY LOGS",
    "UPDATE orders SET total = total + 1 WHERE id % 3 = 0",
    "DELETE FROM items WHERE order_id = 3",
)


def _transaction(first: int) -> tuple[str, ...]:
    """Returns a transaction whose changes are in several batches of each table."""
    return (
        "USE shop",
        "BEGIN",
        *(
            statement
            for n in range(first, first + 12)
            for statement in (
                f"INSERT INTO orders VALUES ({n}, 'new', {n}, NULL)",
                f"INSERT INTO items VALUES ({n}, 1, 'new'), ({n}, 2, NULL)",
                f"INSERT INTO entries VALUES ('2026-02-01', {n})",
                f"UPDATE orders SET total = total + 1 WHERE id = {n - first + 1}",
            )
        ),
        "COMMIT",
        "UPDATE kinds SET vc = 'changed' WHERE id = 1",
    )


FIRST, SECOND = _transaction(200), (*_transaction(300), "FLUSH BINARY LOGS")

TAGGED = ("SET gtid_next = 'AUTOMATIC:billing'",)
"""Transactions after it have GTIDs with a tag, on MySQL."""

UNTAGGED = ("SET gtid_next = 'AUTOMATIC'",)

OLD = (
    "CREATE DATABASE old CHARACTER SET utf8mb4",
    "CREATE TABLE old.t (id INT UNSIGNED PRIMARY KEY, kind ENUM('a', 'b'), name VARCHAR(20))",
    "INSERT INTO old.t VALUES (1, 'a', 'one'), (2, 'b', 'two'), (4000000000, NULL, NULL)",
    "ALTER TABLE old.t DROP COLUMN name, ADD COLUMN n BIGINT UNSIGNED AFTER id",
    "INSERT INTO old.t VALUES (3, 18446744073709551615, 'b')",
)

OLD_LATER = (
    "UPDATE old.t SET kind = 'b' WHERE id = 1",
    "ALTER TABLE old.t MODIFY kind ENUM('z', 'a', 'b'), ADD COLUMN day DATE",
    "INSERT INTO old.t VALUES (5, 5, 'z', '2026-03-01')",
)

OLD_LIVE = ("UPDATE old.t SET n = 7 WHERE id < 3", "DELETE FROM old.t WHERE id = 3")

DURING = (
    "USE shop",
    "UPDATE orders SET customer = 'during' WHERE id IN (2, 90)",
    "DELETE FROM orders WHERE id IN (5, 95)",
    "UPDATE codes SET v = v + 100 WHERE v = 3",
    "DELETE FROM codes WHERE v = 4",
    "INSERT INTO codes VALUES ('a', 1), ('z', 1)",
    "INSERT INTO later VALUES (1, 1), (2, 2)",
)

LATER = (
    "USE shop",
    "UPDATE orders SET customer = 'later' WHERE id % 5 = 0",
    "DELETE FROM entries WHERE v = 2",
    "INSERT INTO entries VALUES ('2026-01-01', 1)",
    f"INSERT INTO kinds VALUES (3, {_kinds(1)})",
    "ALTER TABLE items ADD COLUMN note VARCHAR(20)",
    "UPDATE items SET note = 'later' WHERE order_id < 10",
    "INSERT INTO later VALUES (3, 3)",
    "UPDATE codes SET v = 7 WHERE code LIKE 'code 1%'",
)

LIVE = (
    "USE shop",
    "UPDATE orders SET total = total * 2 WHERE id % 2 = 0",
    "DELETE FROM orders WHERE id = 301",
    "INSERT INTO orders VALUES (400, 'live', 4, NULL)",
    "UPDATE items SET sku = 'live' WHERE line = 2",
    "DELETE FROM kinds WHERE id = 2",
    "INSERT INTO entries VALUES (NULL, 2)",
    "UPDATE codes SET v = 8 WHERE code LIKE 'code 2%'",
    "UPDATE later SET v = 9",
)


def without_names(statements: Sequence[str], *, is_mariadb: bool) -> tuple[str, ...]:
    """Returns statements that are logged as with the default of `binlog_row_metadata`."""
    least = "NO_LOG" if is_mariadb else "MINIMAL"
    variable = "SET GLOBAL binlog_row_metadata"
    return (f"{variable} = {least}", *statements, f"{variable} = FULL")


def prepared(name: str, number: int) -> tuple[str, ...]:
    """Returns the statements of an XA transaction up to its preparation."""
    return (
        "USE shop",
        f"XA START '{name}', 'shop', 7",
        f"INSERT INTO pending VALUES ({number}, 1)",
        f"INSERT INTO pending VALUES ({number + 10}, 2)",
        f"XA END '{name}', 'shop', 7",
        f"XA PREPARE '{name}', 'shop', 7",
    )


HELD, SOON = prepared("held", 1010), prepared("soon", 1009)
"""Both are prepared before the positions are stored. HELD is committed after the record, SOON before it."""

COMMIT_HELD, COMMIT_SOON = (f"XA COMMIT '{name}', 'shop', 7" for name in ("held", "soon"))
