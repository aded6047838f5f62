"""`binarrow.verify`: every planted difference is found, and there is no false alarm.

`BINARROW_VERIFY_DIFFERENCES=100` plants a hundred differences.
"""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections import Counter
from contextlib import closing

import duckdb
import pytest

import binarrow
from support import live
from support.extent import rounds
from support.servers.servers import Session
from support.sync_source import Source, each_kind
from support.workloads.matrix import Matrix
from support.workloads.sync_storm import TABLES, Storm, created

KINDS = ["duckdb"]

DIFFERENCES = rounds("BINARROW_VERIFY_DIFFERENCES", 10, 15)
ROWS = 100
SEED = int(os.environ.get("BINARROW_SEED", "5"))


SHOP = (
    "CREATE TABLE shop.t (id INT, part VARCHAR(9) COLLATE utf8mb4_bin, b BINARY(4), f FLOAT, d DOUBLE, v VARCHAR(20), n INT, tm TIME(6), dt DATETIME(6), PRIMARY KEY (part, id))",
    "CREATE TABLE shop.ci (k VARCHAR(20) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, v VARCHAR(9))",
    "CREATE TABLE shop.big (k BIGINT UNSIGNED PRIMARY KEY, v VARCHAR(9))",
)


def shop(source: Source, rows: int) -> None:
    """Tables with a composite key, a key under a ci collation, and one above 2^63."""
    is_mariadb = source.server.is_mariadb
    tables = [each.replace("0900_ai", "unicode") if is_mariadb else each for each in SHOP]
    values = ", ".join(
        f"({n}, 'p{n % 3}', X'0102030{n % 8}', {n}.1, {n}.3, 'text {n}', {n}, '00:00:{n % 60}.000001',"
        f" '2026-01-02 03:04:05.00000{n % 10}')"
        for n in range(rows)
    )
    words = ", ".join(f"('Café {n}', 'v{n}')" for n in range(rows))
    numbers = ", ".join(f"({2**64 - 1 - n}, 'v{n}')" for n in range(rows))
    source.execute(
        *tables,
        f"INSERT INTO shop.t VALUES {values}",
        f"INSERT INTO shop.ci VALUES {words}",
        f"INSERT INTO shop.big VALUES {numbers}",
    )


def results(summary: binarrow.VerifySummary) -> dict[str, str]:
    return {name[1]: one.result for name, one in summary.tables.items()}


def change(source: Source, *statements: str) -> None:
    """Changes rows of the target."""
    with closing(duckdb.connect(str(source.file))) as file:
        for statement in statements:
            file.execute(statement)


def in_session(source: Source, *statements: str) -> None:
    """Runs statements in a session of their own, whose settings end with it."""
    with closing(Session(source.server, database="shop")) as session:
        session.execute(*statements)


PLANTED = {
    "missing row": ("t", "DELETE FROM shop.t WHERE id = {n}", {"missing": 1}),
    "extra row": (
        "t",
        "INSERT INTO shop.t SELECT * REPLACE (id + 1000 AS id) FROM shop.t WHERE id = {n}",
        {"extra": 1},
    ),
    "a row twice": ("t", "INSERT INTO shop.t FROM shop.t WHERE id = {n}", {"different": 1}),
    "one bit of bytes": (
        "t",
        "UPDATE shop.t SET b = from_hex(left(hex(b), 6) || '08') WHERE id = {n}",
        {"different": 1},
    ),
    "a trailing space": ("t", "UPDATE shop.t SET v = v || ' ' WHERE id = {n}", {"different": 1}),
    "letter case": ("t", "UPDATE shop.t SET v = upper(v) WHERE id = {n}", {"different": 1}),
    "the last bit of a float": (
        "t",
        "UPDATE shop.t SET f = f * 1.0000001::FLOAT WHERE id = {n}",
        {"different": 1},
    ),
    "the last bit of a double": (
        "t",
        "UPDATE shop.t SET d = d * 1.0000000000000003 WHERE id = {n}",
        {"different": 1},
    ),
    "a microsecond": (
        "t",
        "UPDATE shop.t SET dt = dt + INTERVAL 1 MICROSECOND WHERE id = {n}",
        {"different": 1},
    ),
    "a microsecond of TIME": (
        "t",
        "UPDATE shop.t SET tm = tm + INTERVAL 1 MICROSECOND WHERE id = {n}",
        {"different": 1},
    ),
    "an empty string for NULL": (
        "t",
        "UPDATE shop.t SET v = NULL WHERE id = {n}",
        {"different": 1},
    ),
    "a swapped pair": (
        "t",
        "UPDATE shop.t SET n = CASE id WHEN {n} THEN {n} + 3 ELSE {n} END WHERE id IN ({n}, {n} + 3)",
        {"different": 2},
    ),
    "the collation's twin of a key: case": (
        "ci",
        "UPDATE shop.ci SET k = upper(k) WHERE k = 'Café {n}'",
        {"missing": 1, "extra": 1},
    ),
    "the collation's twin of a key: accents": (
        "ci",
        "UPDATE shop.ci SET k = 'Cafe {n}' WHERE k = 'Café {n}'",
        {"missing": 1, "extra": 1},
    ),
    "a key above 2^63": (
        "big",
        "UPDATE shop.big SET k = k - 1000 WHERE k = 18446744073709551615 - {n}",
        {"missing": 1, "extra": 1},
    ),
}
"""A statement that changes the target, and the differences in the table."""


def test_planted_differences(source: Source) -> None:
    """Each is found, also if other rows have changed in the log since."""
    shop(source, ROWS)
    source.sync()
    assert set(results(source.verify()).values()) == {"MATCH"}
    kept = source.file.with_suffix(".kept")
    shutil.copy(source.file, kept)
    source.execute(
        f"UPDATE shop.t SET v = 'new' WHERE id > {ROWS - 9}",
        f"DELETE FROM shop.ci WHERE v = 'v{ROWS - 5}'",
        "INSERT INTO shop.big VALUES (1, 'x')",
    )
    chosen = random.Random(SEED)
    kinds = [*PLANTED] * (1 + DIFFERENCES // len(PLANTED))
    for first in range(0, DIFFERENCES, len(PLANTED)):
        shutil.copy(kept, source.file)
        places = chosen.sample(range(0, ROWS - 10, 4), len(PLANTED))
        planted = kinds[first : min(first + len(PLANTED), DIFFERENCES)]
        change(
            source,
            *(PLANTED[kind][1].format(n=n) for kind, n in zip(planted, places, strict=False)),
        )
        wanted: dict[str, Counter[str]] = {"t": Counter(), "ci": Counter(), "big": Counter()}
        for kind in planted:
            wanted[PLANTED[kind][0]] += Counter(PLANTED[kind][2])
        summary = source.verify(show_keys=True)
        for (_, table), found in summary.tables.items():
            assert +Counter(found.differences) == wanted[table], (table, found)
            assert (found.result, found.is_complete) == (
                "MISMATCH" if wanted[table] else "MATCH",
                True,
            )
            assert len(found.keys) == wanted[table].total()


def test_keys_and_changed_rows(source: Source) -> None:
    """A row that was wrong at the target's position is found, although the log has replaced it."""
    source.execute(
        "CREATE TABLE t (id INT, w VARCHAR(5), v INT, PRIMARY KEY (w, id))",
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 1), (3, 'b', 1), (4, 'b', 1)",
    )
    source.sync()
    source.execute(
        "UPDATE t SET v = 2 WHERE id = 2",
        "UPDATE t SET v = 3 WHERE id = 2",
        "DELETE FROM t WHERE id = 3",
        "UPDATE t SET id = 9 WHERE id = 4",
        "INSERT INTO t VALUES (5, 'c', 1)",
    )
    assert results(source.verify()) == {"t": "MATCH"}
    change(source, "UPDATE shop.t SET v = 7 WHERE id = 2", "DELETE FROM shop.t WHERE id = 3")
    table = source.verify(show_keys=True).tables["shop", "t"]
    assert table.result == "MISMATCH"
    assert (table.source_rows, table.target_rows) == (4, 3)
    found = sorted((one.difference, one.key["id"], one.key["w"]) for one in table.keys)
    assert found == [("different", 2, "a"), ("missing", 3, "b")]
    # A change that is not in the log.
    in_session(
        source,
        "SET sql_log_bin = 0",
        "DELETE FROM t WHERE id = 5",
        "UPDATE t SET v = 8 WHERE id = 9",
    )
    table = source.verify().tables["shop", "t"]
    assert table.differences == {"missing": 1, "extra": 0, "different": 1, "unlogged": 2}


def is_mirrored(table: binarrow.TableSchema) -> bool:
    """True if the target can identify the rows of a table."""
    generated = {column.name for column in table.columns if column.generated is not None}
    return bool(table.row_key) and not generated & set(table.row_key)


@pytest.mark.each_target
@each_kind
def test_matrix(source: Source) -> None:
    """Every type: loaded rows, rows of the log, and rows that the log changed since."""
    player = Matrix(source.server, SEED)
    session = player.session
    session.execute("DROP DATABASE IF EXISTS matrix", "CREATE DATABASE matrix CHARSET utf8mb4")
    session.execute("USE matrix")
    parts: list[list[str]] = [[], [], []]
    for table in player.tables:
        player.create("matrix", table)
        statements = player.statements[table.name]
        third = len(statements) // 3
        for number, part in enumerate(parts):
            part.extend(statements[number * third : (number + 1) * third])
    session.execute(*parts[0])
    with binarrow.connect(source.url, password_file=source.password_file) as server:
        existing = server.schemas(tables="matrix.*").tables
    keyless = [f"matrix.{one.table}" for one in existing if not is_mirrored(one)]
    source.sync(tables="matrix.*", exclude_tables=keyless)
    session.execute(*parts[1])
    source.sync(tables="matrix.*", exclude_tables=keyless)
    session.execute(*parts[2])
    summary = source.verify()
    assert len(summary.tables) > 20
    # SHOW CREATE TABLE does not print all characters of its members.
    assert summary.tables.pop(("matrix", "choices")).result == "INCONCLUSIVE"
    for name, one in summary.tables.items():
        assert one.result == "MATCH", (name, one)
    session.execute("DROP DATABASE matrix")


def test_busy_server(source: Source) -> None:
    """Sessions write, and a sync commits at the same time."""
    source.execute(*(created(table) for table in TABLES))
    source.sync()
    storms = [Storm(source.server, SEED + number, alters=False) for number in range(3)]
    for storm in storms:
        storm.start()
    ends = threading.Event()
    thread = threading.Thread(
        target=source.sync, kwargs={"once": False, "every": 0.3, "is_stopped": ends.is_set}
    )
    try:
        for each in (None, thread):
            if each is not None:
                each.start()
            for _ in range(3):
                summary = source.verify()
                assert set(results(summary).values()) == {"MATCH"}, [
                    one.reason for one in summary.tables.values()
                ]
    finally:
        for storm in storms:
            storm.end()
        ends.set()
        thread.join()


def test_inconclusive(source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1)",
    )
    source.sync()
    in_session(
        source,
        "ALTER TABLE t ADD COLUMN w INT",
        "TRUNCATE u",
        "SET SESSION binlog_row_image = MINIMAL",
        "INSERT INTO w VALUES (1, 1)",
        "UPDATE w SET v = 2",
        "CREATE TABLE late (id INT PRIMARY KEY)",
    )
    summary = source.verify(tables="shop.*")
    assert set(results(summary).values()) == {"INCONCLUSIVE"}, summary
    reasons = {name[1]: one.reason for name, one in summary.tables.items()}
    assert "ALTER" in reasons["t"]
    assert "TRUNCATE" in reasons["u"]
    assert "binlog_row_image" in reasons["w"]
    assert "has not copied" in reasons["late"]
    newest = source.server.flush_binlog() and source.server.binlog_files()[-1].name
    if source.server.is_mariadb:
        source.execute("SET GLOBAL slave_connections_needed_for_purge = 0")

    def purged() -> bool:
        source.execute(f"PURGE BINARY LOGS TO '{newest}'")
        return source.server.binlog_files()[0].name == newest

    live.until(purged)
    found = source.verify(tables="shop.w").tables["shop", "w"]
    assert (found.result, "purged" in found.reason) == ("INCONCLUSIVE", True), found


def test_a_target_that_lacks_a_table(source: Source) -> None:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE u LIKE t")
    source.sync()
    change(source, "DROP TABLE shop.t", "ALTER TABLE shop.u DROP COLUMN v")
    summary = source.verify()
    assert results(summary) == {"t": "MISMATCH", "u": "MISMATCH"}
    assert summary.result == "MISMATCH"


def test_wrong_targets(source: Source) -> None:
    with pytest.raises(binarrow.SyncError, match="does not exist"):
        source.verify()
    with closing(duckdb.connect(str(source.file))) as file:
        file.execute("CREATE TABLE t (id INT)")
    with pytest.raises(binarrow.SyncError, match="not the target of a sync"):
        source.verify()
