"""The tables of a recorded server, and their changes before and after the moments of the targets.

    CREATED      the first sync of each target
    CHANGED      the targets that stop inside a load
    TRANSACTION  the targets that stop inside this transaction
    LATER        the end of the record
    LIVE         statements that are executed when the recorded server is started

The names of tables are in `shop`. `shops` is large enough to be loaded in several chunks.
"""

from __future__ import annotations

KINDS = {
    "tu": ("TINYINT UNSIGNED", "0", "255"),
    "md": ("MEDIUMINT", "-8388608", "8388607"),
    "bu": ("BIGINT UNSIGNED", "0", "18446744073709551615"),
    "fl": ("FLOAT", "-1.5", "0.25"),
    "db": ("DOUBLE", "-1.7976931348623157e308", "0.1"),
    "de": ("DECIMAL(30,4)", "-12345678901234567890123456.0123", "0"),
    "dx": ("DECIMAL(60,20)", "-123456789012345678901234567890.00000000000000000001", "1"),
    "b1": ("BIT(1)", "0", "1"),
    "b9": ("BIT(9)", "0", "511"),
    "da": ("DATE", "'1000-01-01'", "'9999-12-31'"),
    "dt": ("DATETIME(6)", "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"),
    "ts": ("TIMESTAMP(3) NULL", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.999'"),
    "tm": ("TIME(6)", "'-838:59:59'", "'838:59:59'"),
    "ye": ("YEAR", "1901", "2155"),
    "ch": ("CHAR(5)", "''", "'a b'"),
    "vc": ("VARCHAR(50) CHARACTER SET utf8mb4", "'🎉 ü'", "'x '"),
    "la": ("VARCHAR(50) CHARACTER SET latin1", "'ü'", "'y'"),
    "vb": ("VARBINARY(9)", "X'00FF'", "X''"),
    "bl": ("BLOB", "X'0001'", "X'FE'"),
    "en": ("ENUM('a','B','it''s')", "'B'", "3"),
    "se": ("SET('a','b','c')", "'a,c'", "''"),
    "js": ("JSON", """'{"a": [1, 2.5, null], "b": "x"}'""", "'[]'"),
}
"""Columns of each type: the type, and two values."""

SHOPS = 120
"""The number of rows of `shops`."""

CHUNK = 25
"""The number of rows of a chunk of its load."""

REGIONS = 30
"""The number of rows of `regions`; each has four shops."""

FAMILY = ("shop.items", "shop.shops", "shop.visits", "shop.staff")
"""The tables whose rows foreign keys change."""


SMALL = ("stock", "drafts", "notes", "offers", "guests", "names", "codes")
"""Tables of 20 rows."""


def _insert(table: str, count: int, row: str) -> str:
    numbers = range(1, count + 1)
    rows = (row.format(n=n, m=n % 7, r=n % REGIONS + 1) for n in numbers)
    return f"INSERT INTO {table} VALUES {', '.join(rows)}"


def _refers(column: str, parent: str, action: str) -> str:
    return f"FOREIGN KEY ({column}) REFERENCES {parent} (id) ON DELETE {action}"


def _kinds(which: int) -> str:
    return ", ".join(kind[which] for kind in KINDS.values())


CREATED = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "USE shop",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer VARCHAR(20), total DECIMAL(12,2), old INT)",
    f"CREATE TABLE items (order_id INT, line INT, sku VARCHAR(9), PRIMARY KEY (order_id, line), {_refers('order_id', 'orders', 'CASCADE')})",
    f"CREATE TABLE kinds (id INT PRIMARY KEY, {', '.join(f'{n} {k[0]}' for n, k in KINDS.items())})",
    "CREATE TABLE ledger (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE keyless (day DATE, v INT)",
    "CREATE TABLE regions (id INT PRIMARY KEY, name VARCHAR(20))",
    f"CREATE TABLE shops (id INT PRIMARY KEY, region INT, name VARCHAR(20), {_refers('region', 'regions', 'CASCADE')})",
    f"CREATE TABLE visits (id INT PRIMARY KEY, shop INT, v INT, {_refers('shop', 'shops', 'CASCADE')})",
    f"CREATE TABLE staff (id INT PRIMARY KEY, shop INT NULL, {_refers('shop', 'shops', 'SET NULL')})",
    *(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)" for name in SMALL),
    _insert("orders", 40, "({n}, {m}, {n}.5, {m})"),
    _insert("items", 40, "({n}, 1, {m}), ({n}, 2, {m})"),
    f"INSERT INTO kinds VALUES (1, {_kinds(1)}), (2, {_kinds(2)})",
    "INSERT INTO kinds (id) VALUES (3)",
    _insert("ledger", 20, "({n}, {m})"),
    "INSERT INTO keyless VALUES ('2026-01-01', 1), ('2026-01-01', 1), (NULL, 2), ('2026-01-02', 3)",
    _insert("regions", REGIONS, "({n}, 'region {n}')"),
    _insert("shops", SHOPS, "({n}, {r}, 'shop {n}')"),
    _insert("visits", SHOPS, "({n}, {n}, {m})"),
    _insert("staff", SHOPS, "({n}, {n})"),
    *(_insert(name, 20, "({n}, {m})") for name in SMALL),
    "FLUSH BINARY LOGS",
)

CHANGED = (
    "USE shop",
    "UPDATE orders SET total = total + 1 WHERE id < 10",
    "DELETE FROM orders WHERE id = 2",
    "ALTER TABLE orders DROP COLUMN old",
    "INSERT INTO keyless VALUES ('2026-01-01', 1), (NULL, 2)",
    "DELETE FROM keyless WHERE v = 3",
    "UPDATE kinds SET vc = 'changed' WHERE id = 1",
    "ALTER TABLE stock ADD COLUMN at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
    "UPDATE stock SET v = 9 WHERE id = 3",
    "DELETE FROM offers",
    "DROP TABLE offers",
    "UPDATE drafts SET v = 9 WHERE id = 3",
    "ALTER TABLE drafts DROP PRIMARY KEY",  # it is parked, except in a history
    "UPDATE drafts SET v = 10 WHERE id = 4",
    "FLUSH BINARY LOGS",
)

ALTERED = ("ALTER TABLE shop.notes ADD COLUMN n INT", "UPDATE shop.notes SET n = 1 WHERE id = 2")
"""A table of a history is parked at the first of these, for which the option is "fail"."""

TRANSACTION = (
    "USE shop",
    "UPDATE names SET v = v + 1 WHERE id < 4",
    "DELETE FROM codes WHERE id = 2",
    "BEGIN",
    *(
        statement
        for n in range(50, 66)
        for statement in (
            f"INSERT INTO orders VALUES ({n}, 'new', {n})",
            f"INSERT INTO items VALUES ({n}, 1, 'new')",
            f"UPDATE ledger SET v = v + 1 WHERE id = {n - 49}",
            f"INSERT INTO keyless VALUES ('2026-02-01', {n})",
        )
    ),
    "COMMIT",
)

LATER = (
    "USE shop",
    "UPDATE orders SET customer = 'later' WHERE id % 5 = 0",
    "DELETE FROM orders WHERE id IN (4, 55)",
    "ALTER TABLE orders ADD COLUMN n INT DEFAULT 5",
    "INSERT INTO orders VALUES (70, 'later', 7, 7)",
    "INSERT INTO keyless VALUES ('2026-03-01', 4)",
    "DELETE FROM keyless WHERE v = 2 LIMIT 1",
    f"INSERT INTO kinds VALUES (4, {_kinds(1)})",
    "DELETE FROM regions WHERE id = 20",
    "UPDATE shops SET name = 'later' WHERE id % 10 = 1",
    "DELETE FROM shops WHERE id IN (12, 101)",
    "INSERT INTO shops VALUES (0, 21, 'later'), (200, 22, 'later')",
    "INSERT INTO visits VALUES (200, 200, 1)",
    "UPDATE stock SET v = v + 1 WHERE id % 2",
    "FLUSH BINARY LOGS",
    "RENAME TABLE names TO titles",
    "UPDATE titles SET v = 7 WHERE id = 7",
    "TRUNCATE codes",
    "ALTER TABLE codes MODIFY v BIGINT",
    "INSERT INTO codes VALUES (5, 99999999999)",
    "CREATE TABLE offers (id INT PRIMARY KEY, w TEXT)",
    "INSERT INTO offers VALUES (1, 'later')",
    "DELETE FROM drafts WHERE id = 5",
    "ALTER TABLE drafts ADD PRIMARY KEY (id), ADD COLUMN c INT",
    "INSERT INTO drafts VALUES (31, 2, 2)",
    "INSERT INTO guests VALUES (30, 30)",
)

LIVE = (
    "USE shop",
    "UPDATE orders SET customer = CONCAT(customer, '.')",
    "DELETE FROM orders WHERE id = 5",
    "UPDATE kinds SET vc = 'live' WHERE id IN (2, 3)",
    "UPDATE ledger SET v = v + 1 WHERE id < 5",
    "INSERT INTO keyless VALUES ('2026-01-01', 1)",
    "DELETE FROM keyless WHERE v BETWEEN 50 AND 55",
    "UPDATE shops SET name = 'live' WHERE id IN (3, 103)",
    "DELETE FROM shops WHERE id IN (4, 104)",
    "INSERT INTO shops VALUES (4, 23, 'live'), (201, 24, 'live')",
    "DELETE FROM regions WHERE id = 25",
    "UPDATE visits SET v = v + 1",
    "UPDATE stock SET v = v + 1",
    "UPDATE notes SET v = v + 1",
    "UPDATE drafts SET c = 3",
    "ALTER TABLE items ADD COLUMN c INT DEFAULT 3",
    "UPDATE items SET c = 4",
    "CREATE TABLE fresh (id INT PRIMARY KEY)",
    "INSERT INTO fresh VALUES (1)",
)


def prepared(name: str, number: int) -> tuple[str, ...]:
    """Returns the statements of an XA transaction up to its preparation."""
    return (
        "USE shop",
        f"XA START '{name}', 'shop', 7",
        f"INSERT INTO ledger VALUES ({number}, 1)",
        f"UPDATE ledger SET v = 100 WHERE id = {number - 990}",
        f"XA END '{name}', 'shop', 7",
        f"XA PREPARE '{name}', 'shop', 7",
    )


HELD, SOON = prepared("held", 1010), prepared("soon", 1009)
"""Both are prepared before the targets stop. HELD is committed after the record, SOON before it."""

COMMIT_HELD, COMMIT_SOON = (f"XA COMMIT '{name}', 'shop', 7" for name in ("held", "soon"))
