"""Events and columns that MariaDB compresses, on every MariaDB: they give what plain ones give, and what SELECT gives."""

from __future__ import annotations

from pathlib import Path

import pytest

import binarrow
from support.logged import cells_of, logged, logging, read, rows
from support.mariadb_case import COMPRESSED, DATABASE, assert_replays, for_each_mariadb, names
from support.servers.servers import Server

pytestmark = [
    for_each_mariadb,
    pytest.mark.filterwarnings("ignore:no change of a table:binarrow.BinarrowWarning"),
]


# ---------------------------------------------------------------------------------- compression

TRANSACTIONS = (
    "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, a VARCHAR(600), b TEXT CHARACTER SET latin1)",
    "CREATE TABLE keyless (n BIGINT, f FLOAT, j JSON)",
    "CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(100)) ENGINE=MyISAM",
    "INSERT INTO t VALUES (1, REPEAT('ab', 100), 'é'), (2, NULL, NULL), (3, '', 'x')",
    "INSERT INTO t SELECT seq + 10, CONCAT('row ', seq), REPEAT('ü', seq) FROM seq_1_to_500",
    "UPDATE t SET a = CONCAT(a, a) WHERE id < 100",
    "UPDATE t SET id = id + 1000 WHERE id BETWEEN 20 AND 40",
    "DELETE FROM t WHERE id BETWEEN 50 AND 60",
    "INSERT INTO keyless VALUES (1, 1.5, '{\"a\": [1, 2]}'), (1, 1.5, '{\"a\": [1, 2]}'), (NULL, NULL, NULL)",
    "UPDATE keyless SET n = 2 WHERE n = 1 LIMIT 1",
    "BEGIN",
    "INSERT INTO t VALUES (5000, 'kept', 'kept'), (5001, 'kept', 'kept')",
    "SAVEPOINT a_rather_long_name",
    "INSERT INTO t VALUES (5002, 'never', 'never'), (5003, 'never', 'never')",
    "INSERT INTO plain VALUES (1, REPEAT('stays', 10))",
    "ROLLBACK TO a_rather_long_name",
    "UPDATE t SET b = 'kept too, and longer' WHERE id = 5000",
    "COMMIT",
    "BEGIN",
    "INSERT INTO t VALUES (5004, 'never', 'never'), (5005, 'never', 'never')",
    "INSERT INTO plain VALUES (2, REPEAT('stays', 10))",
    "ROLLBACK",
    "CREATE TABLE copy (PRIMARY KEY (id)) SELECT * FROM t WHERE id < 100",
    "CREATE OR REPLACE TABLE copy_of_copy SELECT id, a FROM copy",
    "REPLACE INTO copy VALUES (1, REPEAT('replaced', 10), 'r'), (9999, REPEAT('new', 10), 'n')",
    "INSERT INTO copy VALUES (1, 'x', 'x'), (9998, 'y', 'y') ON DUPLICATE KEY UPDATE a = 'duplicate'",
    "UPDATE t JOIN copy USING (id) SET t.a = 'joined', copy.a = CONCAT('joined too ', copy.id)",
    "DELETE t, copy FROM t JOIN copy USING (id) WHERE id BETWEEN 1 AND 3",
    "XA START 'a long name of an xa transaction'",
    "INSERT INTO t VALUES (6000, REPEAT('xa', 20), 'xa')",
    "XA END 'a long name of an xa transaction'",
    "XA PREPARE 'a long name of an xa transaction'",
    "XA COMMIT 'a long name of an xa transaction'",
    "ALTER TABLE t ADD COLUMN added VARCHAR(50) AFTER id",
    "UPDATE t SET added = CONCAT('added ', id) WHERE id < 300",
    "TRUNCATE TABLE keyless",
    "INSERT INTO keyless (n) VALUES (7), (8), (9)",
)


def test_compressed_events_give_what_plain_ones_give(mariadb_case: Server) -> None:
    def play() -> list[Path]:
        return logged(
            mariadb_case, f"CREATE OR REPLACE DATABASE {DATABASE}", f"USE {DATABASE}", *TRANSACTIONS
        )

    plain = play()
    expected = rows(plain, f"{DATABASE}.*")
    mariadb_case.execute(*COMPRESSED)
    files = play()

    found = names(files)
    for kind in ("Write", "Update", "Delete"):
        assert found[f"{kind}_rows_compressed_v1"] > 0, found
    assert found["Query_compressed"] >= 7
    assert sorted(rows(files, f"{DATABASE}.*"), key=repr) == sorted(expected, key=repr)
    assert assert_replays(mariadb_case, files) > 500
    texts = [
        event.info
        for event in binarrow.inspect([str(path) for path in files], queries=True)
        if event.type_name == "Query_compressed"
    ]
    assert f"use `{DATABASE}`; {TRANSACTIONS[0]}" in texts
    # what one thread and large segments give, others give too
    for segment_bytes in (1, 4096):
        few = read(files, f"{DATABASE}.t", segment_bytes=segment_bytes, threads=3)
        assert cells_of(few, "id") == cells_of(read(files, f"{DATABASE}.t"), "id")


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_compressed_rows_of_partial_images(mariadb_case: Server, image: str) -> None:
    statements = (
        "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, a VARCHAR(100), b TEXT, c INT DEFAULT 5)",
        f"SET SESSION binlog_row_image = {image}",
        "INSERT INTO t (id, a) VALUES (1, REPEAT('a', 50)), (2, REPEAT('b', 50))",
        "UPDATE t SET c = 6, a = REPEAT('c', 50) WHERE id = 1",
        "UPDATE t SET b = REPEAT('d', 50)",
        "DELETE FROM t",
    )
    plain = rows(
        logged(mariadb_case, *statements), f"{DATABASE}.t", envelope=("change_type", "present")
    )
    mariadb_case.execute(*COMPRESSED)
    files = logged(mariadb_case, *statements)
    assert names(files)["Update_rows_compressed_v1"] == 2
    assert rows(files, f"{DATABASE}.t", envelope=("change_type", "present")) == plain
    present = cells_of(
        read(files, f"{DATABASE}.t", envelope=("change_type", "present")), "_present"
    )
    assert len(set(present)) > 1


def test_changes_logged_as_compressed_text_are_an_error(mariadb_case: Server) -> None:
    mariadb_case.execute("CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(50))", *COMPRESSED)
    files = logged(
        mariadb_case,
        "SET SESSION binlog_format = STATEMENT",
        "INSERT INTO t VALUES (1, 'logged as a statement'), (2, 'logged as a statement')",
        "SET SESSION binlog_format = ROW",
    )
    assert names(files)["Query_compressed"] == 1
    with pytest.raises(binarrow.UnsupportedEventError, match="statements=skip") as caught:
        list(read(files, f"{DATABASE}.t"))
    assert caught.value.event_type == "Query_compressed"
    assert rows(files, f"{DATABASE}.t", statements="skip") == []


def test_large_cells_in_compressed_events(mariadb_case: Server) -> None:
    mariadb_case.execute(*COMPRESSED)
    with logging(mariadb_case) as files:
        mariadb_case.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB, c LONGTEXT)",
            "INSERT INTO t VALUES (1, REPEAT('x', 4000000), REPEAT('é', 500000))",
            "INSERT INTO t VALUES (2, '', NULL), (3, NULL, '')",
            "UPDATE t SET c = CONCAT(c, 'tail') WHERE id = 1",
            "INSERT INTO t SELECT 4, GROUP_CONCAT(SHA2(seq, 512)), NULL FROM seq_1_to_2000",
        )
    assert files[0].stat().st_size < 1 << 20
    assert assert_replays(mariadb_case, files) == 4


# --------------------------------------------------------------------------- COMPRESSED columns


@pytest.mark.parametrize("wrap", ["ON", "OFF"])
def test_compressed_columns(mariadb_case: Server, wrap: str) -> None:
    lengths = (1, 99, 100, 101, 253, 254, 255, 256, 257, 1000)
    columns = ", ".join(
        [f"v{n} VARCHAR({n}) COMPRESSED CHARACTER SET latin1" for n in lengths]
        + [f"u{n} VARCHAR({n}) COMPRESSED CHARACTER SET utf8mb4" for n in (10, 63, 64, 1000)]
        + [f"b{n} VARBINARY({n}) COMPRESSED" for n in lengths]
        + [f"{kind}_text {kind}TEXT COMPRESSED" for kind in ("TINY", "MEDIUM", "LONG")]
        + [f"{kind}_blob {kind}BLOB COMPRESSED" for kind in ("TINY", "MEDIUM", "LONG")]
        + ["t TEXT COMPRESSED CHARACTER SET latin1", "b BLOB COMPRESSED"]
    )
    limits = {
        **{f"v{n}": n for n in lengths},
        **{f"u{n}": n for n in (10, 63, 64, 1000)},
        **{f"b{n}": n for n in lengths},
        **{"TINY_text": 60, "MEDIUM_text": 70_000, "LONG_text": 200_000},
        **{"TINY_blob": 250, "MEDIUM_blob": 70_000, "LONG_blob": 200_000, "t": 30_000, "b": 60_000},
    }
    mariadb_case.execute(
        f"SET SESSION column_compression_zlib_wrap = {wrap}, column_compression_threshold = 100"
    )
    with logging(mariadb_case) as files:
        mariadb_case.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) ROW_FORMAT=DYNAMIC")
        for number, (text, bytes_, share) in enumerate(
            (
                ("''", "''", 1.0),
                ("'é'", "X'C3'", 1.0),
                ("'é'", "X'00FF'", 0.5),
                ("'\\0'", "X'00'", 0.3),
                ("SHA2('x', 512)", "UNHEX(SHA2('x', 512))", 0.0),
            )
        ):
            cells = [
                f"LEFT(REPEAT({bytes_ if 'b' in (name[0], name[-1]) else text}, {n * share:.0f} + 1), {n})"
                for name, n in limits.items()
            ]
            mariadb_case.execute(f"INSERT INTO t VALUES ({number}, {', '.join(cells)})")
        nulls = ", ".join(["NULL"] * len(limits))
        mariadb_case.execute(
            f"INSERT INTO t VALUES (9, {nulls})",
            "UPDATE t SET LONG_text = REPEAT('changed', 1000) WHERE id > 1",
            "UPDATE t SET id = id + 100 WHERE id = 2",
            "DELETE FROM t WHERE id = 1",
        )
    assert assert_replays(mariadb_case, files) == 5
    mariadb_case.execute(*COMPRESSED)  # twice over
    with logging(mariadb_case) as files:
        mariadb_case.execute(
            "CREATE TABLE u LIKE t", "INSERT INTO u SELECT * FROM t", "DROP TABLE t"
        )
    assert names(files)["Write_rows_compressed_v1"] > 0
    assert assert_replays(mariadb_case, files) == 5
    schema = next(iter(read(files, f"{DATABASE}.u"))).to_pyarrow().schema
    assert schema.field("v255").metadata[b"mysql.type"] == b"varchar(255) compressed"
    assert schema.field("b").metadata[b"mysql.type"] == b"blob compressed"
