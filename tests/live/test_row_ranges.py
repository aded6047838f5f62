"""Rows of a table in ranges of its key: each row is in one range, and ranges are about equal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import binarrow
from binarrow._native import ConnectionSpec, LiveLog, selected_tables, table_identities
from binarrow._native import table_ranges as ranges_of
from binarrow.server.target import target
from support import live
from support.servers.servers import Server
from support.workloads import loads

TLS = {"allow_public_key_retrieval": True}

DIGITS = "(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
NUMBERS = (
    "(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n"
    f" FROM {DIGITS} a, {DIGITS} b, {DIGITS} c, {DIGITS} e, {DIGITS} f) numbers"
)
"""The numbers below 100 000."""

UNEQUAL = {
    # 99 % of the rows in 1 % of the range.
    "skewed": ("id BIGINT PRIMARY KEY", "IF(n < 200, n * 50000000, 5000000000 + n)"),
    "sparse": (
        "id BIGINT PRIMARY KEY",
        "CAST(POW(n, 3) AS SIGNED) * 1000000 - 4500000000000000000",
    ),
    "unsigned": ("id BIGINT UNSIGNED PRIMARY KEY", "18446744073709551615 - n"),
    "hex": ("id CHAR(32) COLLATE utf8mb4_bin PRIMARY KEY", "LEFT(SHA2(n, 256), 32)"),
    "words": ("id VARCHAR(40) PRIMARY KEY", "CONCAT('order-', CONV(n * 7919 % 100003, 10, 36))"),
    "bytes": ("id VARBINARY(16) PRIMARY KEY", "UNHEX(LEFT(SHA2(n, 256), 32))"),
    "days": ("id DATETIME(6) PRIMARY KEY", "'2020-01-01' + INTERVAL n * 1009 SECOND"),
    # In new collations punctuation sorts before letters.
    "emails": ("id VARCHAR(60) PRIMARY KEY", "CONCAT('user.name_', n, '@example.com')"),
    "tenant": ("a INT, id INT, PRIMARY KEY (a, id)", "IF(n < 18000, 7, n % 5), n"),
    "decimal": ("id DECIMAL(30,10) PRIMARY KEY", "n * 1000.25 - 7"),
}
COUNT = 20_000
"""The rows of these tables."""

ROWS = 1000
"""The wanted rows of a range."""


def table_ranges(spec: ConnectionSpec, table: str, rows: int) -> tuple[str, bool, list[str]]:
    return ranges_of(spec, [table], rows)[0]


def table_identity(spec: ConnectionSpec, table: str) -> str | None:
    return table_identities(spec, [table])[0]


@pytest.fixture(scope="module", params=["mysql", "mysql-5.7", "mariadb-11.8"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param) as started:
        started.execute("GRANT SELECT ON *.* TO live@'%'")
        yield started


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    with live.reach(server) as connected:
        yield connected


@pytest.fixture
def spec(server: Server) -> ConnectionSpec:
    login = target(
        None, host="127.0.0.1", port=server.port, user="live", password="l1ve", keywords=TLS
    )
    return login.connection_spec()


def rows_of(
    spec: ConnectionSpec, table: str, after: str | None, upto: str | None, number: int = 0
) -> list[dict[str, Any]]:
    """Returns the rows of a range, in chunks of a few rows."""
    log = LiveLog.rows(spec, table, after=after, upto=upto, number=number, chunk_rows=700)
    envelope = ["change_type", "commit_version", "change_ordinal"]
    with binarrow.read_binlog(log, envelope=envelope) as reader:
        return [row for batch in reader for row in batch.to_pyarrow().to_pylist()]


@pytest.mark.parametrize("rows", [100, 1500])
def test_ranges_contain_each_row_once(
    server: Server, source: binarrow.Server, spec: ConnectionSpec, rows: int
) -> None:
    loads.fill(server)
    divided = 0
    for name in loads.TABLES:
        table = f"live.{name}"
        identity, has_key, ends = table_ranges(spec, table, rows)
        assert identity == table_identity(spec, table)
        assert has_key == (name != "enum")
        divided += len(ends)
        found, ordinals = [], []
        for number, (after, upto) in enumerate(pairwise([None, *ends, None])):
            part = rows_of(spec, table, after, upto, number)
            assert {row["_change_type"] for row in part} <= {"insert"}
            ordinals += [row["_change_ordinal"] for row in part]
            found += [{k: v for k, v in row.items() if not k.startswith("_")} for row in part]
        assert len(set(ordinals)) == len(ordinals)
        assert ordinals == sorted(ordinals)
        wanted = source.read_table(table, envelope=[]).read_all().to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, wanted)), name
    assert divided >= (2 * len(loads.TABLES) if rows == 100 else 1)


@pytest.mark.parametrize("name", UNEQUAL)
def test_unequal_keys(server: Server, spec: ConnectionSpec, name: str) -> None:
    """No range has more than twice the wanted rows by far, and none is empty."""
    columns, key = UNEQUAL[name]
    table = f"live.{name}"
    server.execute(
        f"DROP TABLE IF EXISTS {table}",
        f"CREATE TABLE {table} ({columns}) DEFAULT CHARSET=utf8mb4",
        "USE live",
        f"INSERT INTO {table} SELECT {key} FROM {NUMBERS} WHERE n < {COUNT} ORDER BY 1",
        f"ANALYZE TABLE {table}",
    )
    table_identity(spec, table)  # those of the dictionary, which it caches
    queries = -status(server, "Questions")
    before = handler_reads(server)
    table_identity(spec, table)
    between = handler_reads(server)
    _, _, ends = table_ranges(spec, table, ROWS)
    read = handler_reads(server) - between - (between - before)
    queries += status(server, "Questions")
    sizes = [
        len(rows_of(spec, table, after, upto)) for after, upto in pairwise([None, *ends, None])
    ]
    print(
        f"{server.flavor} {name}: {len(sizes)} ranges of {min(sizes)} to {max(sizes)} rows, {read} reads"
    )
    assert sum(sizes) == COUNT
    assert min(sizes) > 0
    assert max(sizes) <= 2.5 * ROWS
    assert len(sizes) <= COUNT // ROWS * 8
    # At most two for each value in the middle, and the first and the last row.
    assert read <= 4 * len(sizes) + 10
    assert queries <= 20 * len(sizes) + 100
    # A server has a limited number of prepared statements.
    assert status(server, "Prepared_stmt_count") == 0


def status(server: Server, pattern: str) -> int:
    """Returns the sum of counters of the server."""
    counted = server.query(f"SHOW GLOBAL STATUS LIKE '{pattern}'")
    return sum(int(str(value)) for _, value in counted)


def handler_reads(server: Server) -> int:
    """Returns the number of rows of indexes and tables that all sessions have read."""
    return status(server, "Handler_read%")


def test_tables_that_cannot_be_divided(server: Server, spec: ConnectionSpec) -> None:
    server.execute(
        "DROP TABLE IF EXISTS live.keyless, live.empty, live.one",
        "CREATE TABLE live.keyless (v INT)",
        "INSERT INTO live.keyless VALUES (1), (1), (2)",
        "CREATE TABLE live.empty (id INT PRIMARY KEY)",
        "CREATE TABLE live.one (id INT PRIMARY KEY)",
        "INSERT INTO live.one VALUES (7)",
        "CREATE OR REPLACE VIEW live.shown AS SELECT * FROM live.one",
    )
    assert table_ranges(spec, "live.keyless", 1)[1:] == (False, [])
    assert table_ranges(spec, "live.empty", 1)[1:] == (True, [])
    assert table_ranges(spec, "live.one", 1)[1:] == (True, [])
    assert [row["v"] for row in rows_of(spec, "live.keyless", None, None)] == [1, 1, 2]
    assert rows_of(spec, "live.empty", None, None) == []
    with pytest.raises(binarrow.SchemaError, match=r"no table live\.nothing"):
        table_ranges(spec, "live.nothing", 1)
    assert table_identity(spec, "live.nothing") is None
    with pytest.raises(binarrow.SchemaError, match="is a view"):
        table_ranges(spec, "live.shown", 1)
    names = selected_tables(spec, ["live.one", "live.empty", "live.keyless"], ["live.key*"])
    assert names == ["live.empty", "live.one"]


def test_a_key_that_was_changed(server: Server, spec: ConnectionSpec) -> None:
    """Keys of another table, or of an earlier structure, are not used."""
    server.execute(
        "DROP TABLE IF EXISTS live.old",
        "CREATE TABLE live.old (id INT PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO live.old VALUES (1, 1), (2, 2), (3, 3)",
    )
    identity, _, ends = table_ranges(spec, "live.old", 1)
    assert len(ends) == 1
    server.execute("ALTER TABLE live.old DROP PRIMARY KEY, ADD PRIMARY KEY (v)")
    assert table_identity(spec, "live.old") != identity
    with pytest.raises(binarrow.SchemaError, match=r"the key of live\.old was changed"):
        rows_of(spec, "live.old", ends[0], None)
    with pytest.raises(binarrow.ConfigError, match="not the stored form of a key"):
        rows_of(spec, "live.old", "{}", None)


def test_a_replaced_table_has_another_identity(server: Server, spec: ConnectionSpec) -> None:
    server.execute(
        "DROP TABLE IF EXISTS live.a, live.b, live.a_old",
        "CREATE TABLE live.a (id INT PRIMARY KEY)",
        "INSERT INTO live.a VALUES (1)",
    )
    identity = table_identity(spec, "live.a")
    # The time of creation has no fractions of seconds.
    server.execute(
        "INSERT INTO live.a VALUES (2)",
        "DO SLEEP(1.1)",
        "CREATE TABLE live.b (id INT PRIMARY KEY)",
    )
    assert table_identity(spec, "live.a") == identity
    server.execute("RENAME TABLE live.a TO live.a_old, live.b TO live.a")
    assert table_identity(spec, "live.a") != identity
