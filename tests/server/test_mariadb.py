"""What only MariaDB does, on every MariaDB: each case is played, and its log replayed from empty gives what SELECT gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import listing
import oracle
import pytest
from compare import assert_same_tables
from logged import cells_of, database, logged, logging, read, rows
from replay import ENVELOPE, replay, truncations_in
from servers import Server

import binarrow

pytestmark = [
    pytest.mark.filterwarnings("ignore:no change of a table:binarrow.BinarrowWarning"),
    pytest.mark.parametrize(
        "server", ["mariadb-10.5", "mariadb-10.11", "mariadb-11.8"], indirect=True
    ),
]

DATABASE = "special"

COMPRESSED = ("SET GLOBAL log_bin_compress = ON", "SET GLOBAL log_bin_compress_min_len = 10")
PLAIN = ("SET GLOBAL log_bin_compress = OFF", "SET GLOBAL log_bin_compress_min_len = 256")


@pytest.fixture
def special(server: Server) -> Iterator[Server]:
    """A server with an empty database of its own, in the time zone UTC."""
    with database(server, DATABASE, "SET SESSION time_zone = '+00:00'"):
        yield server
        server.execute(
            *PLAIN,
            "SET GLOBAL binlog_row_metadata = FULL",
            "SET SESSION binlog_row_image = FULL, binlog_format = ROW, sql_mode = DEFAULT",
        )


def since(server: Server, *version: int) -> bool:
    own = server.flavor.removeprefix("mariadb-").split(".")
    return tuple(map(int, own)) >= version


def names(files: Sequence[Path]) -> Counter[str]:
    """How many events there are of each type."""
    return Counter(event.type_name for event in binarrow.inspect([str(path) for path in files]))


def assert_replays(server: Server, files: list[Path]) -> int:
    """The log gives the tables that the server has, and as many rows as `mariadb-binlog` prints."""
    reader = read(files, f"{DATABASE}.*", envelope=ENVELOPE)
    tables = [
        f"{DATABASE}.{name}"
        for (name,) in server.query(
            "SELECT table_name FROM information_schema.tables"
            f" WHERE table_schema = '{DATABASE}' AND table_type = 'BASE TABLE'"
        )
    ]
    selected = {table: oracle.select(server, table) for table in tables}
    compared = assert_same_tables(replay(reader, truncations_in(files)), selected, {})

    printed = "".join(server.mysqlbinlog(path, "-vv") for path in files)
    counts = read(files, f"{DATABASE}.*", uncommitted="emit")
    for _ in counts:
        pass
    own = {
        (table, kind): numbers[kind]
        for table, numbers in counts.stats()["tables"].items()
        for kind in ("inserts", "updates", "deletes")
        if numbers[kind]
    }
    unreadable = listing.given_up(printed)
    wanted = {key: n for key, n in listing.counts(printed).items() if key[0] not in unreadable}
    assert {key: n for key, n in own.items() if key[0] not in unreadable} == wanted
    return compared.rows


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


def test_compressed_events_give_what_plain_ones_give(special: Server) -> None:
    def play() -> list[Path]:
        return logged(
            special, f"CREATE OR REPLACE DATABASE {DATABASE}", f"USE {DATABASE}", *TRANSACTIONS
        )

    plain = play()
    expected = rows(plain, f"{DATABASE}.*")
    special.execute(*COMPRESSED)
    files = play()

    found = names(files)
    for kind in ("Write", "Update", "Delete"):
        assert found[f"{kind}_rows_compressed_v1"] > 0, found
    assert found["Query_compressed"] >= 7
    assert sorted(rows(files, f"{DATABASE}.*"), key=repr) == sorted(expected, key=repr)
    assert assert_replays(special, files) > 500
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
def test_compressed_rows_of_partial_images(special: Server, image: str) -> None:
    statements = (
        "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, a VARCHAR(100), b TEXT, c INT DEFAULT 5)",
        f"SET SESSION binlog_row_image = {image}",
        "INSERT INTO t (id, a) VALUES (1, REPEAT('a', 50)), (2, REPEAT('b', 50))",
        "UPDATE t SET c = 6, a = REPEAT('c', 50) WHERE id = 1",
        "UPDATE t SET b = REPEAT('d', 50)",
        "DELETE FROM t",
    )
    plain = rows(logged(special, *statements), f"{DATABASE}.t", envelope=("change_type", "present"))
    special.execute(*COMPRESSED)
    files = logged(special, *statements)
    assert names(files)["Update_rows_compressed_v1"] == 2
    assert rows(files, f"{DATABASE}.t", envelope=("change_type", "present")) == plain
    present = cells_of(
        read(files, f"{DATABASE}.t", envelope=("change_type", "present")), "_present"
    )
    assert len(set(present)) > 1


def test_changes_logged_as_compressed_text_are_an_error(special: Server) -> None:
    special.execute("CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(50))", *COMPRESSED)
    files = logged(
        special,
        "SET SESSION binlog_format = STATEMENT",
        "INSERT INTO t VALUES (1, 'logged as a statement'), (2, 'logged as a statement')",
        "SET SESSION binlog_format = ROW",
    )
    assert names(files)["Query_compressed"] == 1
    with pytest.raises(binarrow.UnsupportedEventError, match=r"skip_events=\[165\]") as caught:
        list(read(files, f"{DATABASE}.t"))
    assert caught.value.event_type == "Query_compressed"
    assert rows(files, f"{DATABASE}.t", skip_events=[165]) == []


def test_large_cells_in_compressed_events(special: Server) -> None:
    special.execute(*COMPRESSED)
    with logging(special) as files:
        special.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB, c LONGTEXT)",
            "INSERT INTO t VALUES (1, REPEAT('x', 4000000), REPEAT('é', 500000))",
            "INSERT INTO t VALUES (2, '', NULL), (3, NULL, '')",
            "UPDATE t SET c = CONCAT(c, 'tail') WHERE id = 1",
            "INSERT INTO t SELECT 4, GROUP_CONCAT(SHA2(seq, 512)), NULL FROM seq_1_to_2000",
        )
    assert files[0].stat().st_size < 1 << 20
    assert assert_replays(special, files) == 4


# --------------------------------------------------------------------------- COMPRESSED columns


@pytest.mark.parametrize("wrap", ["ON", "OFF"])
def test_compressed_columns(special: Server, wrap: str) -> None:
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
    special.execute(
        f"SET SESSION column_compression_zlib_wrap = {wrap}, column_compression_threshold = 100"
    )
    with logging(special) as files:
        special.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) ROW_FORMAT=DYNAMIC")
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
            special.execute(f"INSERT INTO t VALUES ({number}, {', '.join(cells)})")
        nulls = ", ".join(["NULL"] * len(limits))
        special.execute(
            f"INSERT INTO t VALUES (9, {nulls})",
            "UPDATE t SET LONG_text = REPEAT('changed', 1000) WHERE id > 1",
            "UPDATE t SET id = id + 100 WHERE id = 2",
            "DELETE FROM t WHERE id = 1",
        )
    assert assert_replays(special, files) == 5
    special.execute(*COMPRESSED)  # twice over
    with logging(special) as files:
        special.execute("CREATE TABLE u LIKE t", "INSERT INTO u SELECT * FROM t", "DROP TABLE t")
    assert names(files)["Write_rows_compressed_v1"] > 0
    assert assert_replays(special, files) == 5
    schema = next(iter(read(files, f"{DATABASE}.u"))).to_pyarrow().schema
    assert schema.field("v255").metadata[b"mysql.type"] == b"varchar(255) compressed"
    assert schema.field("b").metadata[b"mysql.type"] == b"blob compressed"


# ------------------------------------------------------------------------------ tables and rows


def test_system_versioned_tables_hold_their_history(special: Server) -> None:
    with logging(special) as files:
        special.execute(
            "CREATE TABLE hidden (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING",
            "CREATE TABLE named (id INT PRIMARY KEY, n INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START,"
            " e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e))"
            " WITH SYSTEM VERSIONING",
            "CREATE TABLE partly (id INT PRIMARY KEY, n INT, m INT WITHOUT SYSTEM VERSIONING)"
            " WITH SYSTEM VERSIONING",
        )
        for table in ("hidden", "named", "partly"):
            special.execute(
                f"INSERT INTO {table} (id, n) VALUES (1, 1), (2, 2), (3, 3)",
                f"UPDATE {table} SET n = n + 10 WHERE id > 1",
                f"DELETE FROM {table} WHERE id = 3",
                f"REPLACE INTO {table} (id, n) VALUES (1, 100)",
                f"UPDATE {table} SET id = 20 WHERE id = 2",
            )
        special.execute("UPDATE partly SET m = 7")
    last = max(
        cells_of(read(files, f"{DATABASE}.hidden"), "row_end"), key=lambda cell: cell.timestamp()
    )
    assert last.year == (2106 if since(special, 11, 5) else 2038)
    replayed = replay(read(files, f"{DATABASE}.*", envelope=ENVELOPE))
    for table, start, end, more in (
        *(("hidden", "row_start", "row_end", ()), ("named", "s", "e", ())),
        ("partly", "row_start", "row_end", ("m",)),
    ):
        state = replayed[f"{DATABASE}.{table}"]
        moments = ", ".join(f"CAST({name} AS CHAR)" for name in (start, end))
        shown = ", ".join(("id", "n", *more, moments))
        wanted = [
            (*row[:-2], *map(oracle.moment, row[-2:]))
            for row in special.query(f"SELECT {shown} FROM {table} FOR SYSTEM_TIME ALL")
        ]
        assert len(wanted) > 5
        found = state.content(("id", "n", *more, start, end))
        assert sorted(found, key=repr) == sorted(wanted, key=repr), table
        living = [row[0] for row in found if row[-1] == max(row[-1] for row in found)]
        assert sorted(living) == [
            number for (number,) in special.query(f"SELECT id FROM {table} ORDER BY 1")
        ]


def test_application_time_periods(special: Server) -> None:
    with logging(special) as files:
        special.execute(
            "CREATE TABLE t (id INT, a DATE, b DATE, PERIOD FOR valid (a, b))",
            "INSERT INTO t VALUES (1, '2020-01-01', '2020-12-31'), (2, '2020-01-01', '2021-01-01')",
            "UPDATE t FOR PORTION OF valid FROM '2020-03-01' TO '2020-04-01' SET id = id + 10",
            "DELETE FROM t FOR PORTION OF valid FROM '2020-06-01' TO '2020-07-01' WHERE id = 1",
        )
        if since(special, 10, 6):
            special.execute(
                "CREATE TABLE u (id INT, a DATE, b DATE, PERIOD FOR p (a, b),"
                " PRIMARY KEY (id, p WITHOUT OVERLAPS))",
                "INSERT INTO u VALUES (1, '2020-01-01', '2020-12-31')",
                "DELETE FROM u FOR PORTION OF p FROM '2020-06-01' TO '2020-07-01'",
            )
    assert assert_replays(special, files) >= 7


def test_sequences_log_their_counters(special: Server) -> None:
    files = logged(
        special,
        "CREATE SEQUENCE s START WITH 5 INCREMENT BY 3 CACHE 2",
        *["DO NEXTVAL(s)"] * 5,
        "DO SETVAL(s, 500)",
        "DO NEXTVAL(s)",
        "CREATE TABLE t (id BIGINT DEFAULT NEXTVAL(s) PRIMARY KEY, n INT)",
        "INSERT INTO t (n) VALUES (1), (2), (3)",
    )
    changes = rows(files, f"{DATABASE}.s")
    assert len(changes) > 3
    assert {change[0] for change in changes} == {"insert"}
    assert [tuple(changes[-1][1:])] == special.query("SELECT * FROM s")
    assert [row[1:] for row in rows(files, f"{DATABASE}.t")] == special.query("SELECT * FROM t")


def test_long_unique_keys_have_a_hidden_column(special: Server) -> None:
    with logging(special) as files:
        special.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, v TEXT, b BLOB, UNIQUE (v), UNIQUE (b, v))",
            "INSERT INTO t VALUES (1, 'a', 'b'), (2, NULL, NULL), (3, 'c', NULL)",
            "UPDATE t SET v = CONCAT('d', id) WHERE id < 3",
            "DELETE FROM t WHERE id = 3",
        )
    names = next(iter(read(files, f"{DATABASE}.t"))).to_pyarrow().schema.names
    assert names[:5] == ["id", "v", "b", "DB_ROW_HASH_1", "DB_ROW_HASH_2"]
    assert assert_replays(special, files) == 2


def test_types_of_its_own(special: Server) -> None:
    inet4 = since(special, 10, 10)
    columns = ["six INET6", *(["four INET4", "u UUID"] if inet4 else [])]
    values = ["'::'", "'ffff::1'", "'::ffff:1.2.3.4'", "'1::'", "NULL"]
    fours = ["'0.0.0.0'", "'255.255.255.255'", "'1.0.0.0'", "'0.0.0.1'", "NULL"]
    uuids = ["'00000000-0000-0000-0000-000000000000'", "'123e4567-e89b-12d3-a456-426655440000'"]
    uuids += ["UUID()", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "NULL"]
    with logging(special) as files:
        special.execute(
            f"CREATE TABLE t (id INT PRIMARY KEY, {', '.join(columns)})",
            "CREATE TABLE j (id INT PRIMARY KEY, doc JSON, g GEOMETRY, p POINT)",
            "INSERT INTO j VALUES (1, '{\"a\":  [1,2.50, \"\\\\u00e9\"]}', ST_GeomFromText('POINT(1 2)', 4326), NULL),"
            " (2, '[]', ST_GeomFromText('LINESTRING(0 0, 1 2)'), POINT(3, 4)), (3, NULL, NULL, NULL)",
            "UPDATE j SET doc = JSON_SET(doc, '$.b', 'new') WHERE id = 1",
        )
        for number in range(5):
            cells = [values[number], *([fours[number], uuids[number]] if inet4 else [])]
            special.execute(f"INSERT INTO t VALUES ({number}, {', '.join(cells)})")
        if since(special, 11, 7):
            special.execute(
                "CREATE TABLE v (id INT PRIMARY KEY, v VECTOR(3))",
                "INSERT INTO v VALUES (1, VEC_FromText('[1, -2.5, 3e10]')), (2, NULL),"
                " (3, VEC_FromText('[0, 0, 0]'))",
            )
    assert assert_replays(special, files) >= 8
    batch = next(iter(read(files, f"{DATABASE}.t"))).to_pyarrow()
    assert [len(cell) for cell in batch.column("six").to_pylist()[:1]] == [16]
    if since(special, 11, 7):
        vectors = cells_of(read(files, f"{DATABASE}.v"), "v")
        assert [cell if cell is None else len(cell) for cell in vectors] == [12, None, 12]


def test_timestamps_up_to_2106(special: Server) -> None:
    moments = ["1970-01-01 00:00:01", "2038-01-19 03:14:07"]
    if since(special, 11, 5):
        moments += ["2038-01-19 03:14:08", "2100-02-28 23:59:59.999999", "2106-02-07 06:28:15"]
    with logging(special) as files:
        special.execute("CREATE TABLE t (a TIMESTAMP NULL, b TIMESTAMP(6) NULL)")
        for moment in moments:
            special.execute(f"INSERT INTO t VALUES ('{moment}', '{moment}')")
    assert assert_replays(special, files) == len(moments)
    found = [cell.isoformat(" ")[:19] for cell in cells_of(read(files, f"{DATABASE}.t"), "b")]
    assert found == [moment[:19] for moment in moments]


def test_rows_with_nothing_but_null_bits(special: Server) -> None:
    with logging(special) as files:
        special.execute(
            "CREATE TABLE t (a INT, b TEXT)",
            "INSERT INTO t VALUES (NULL, NULL)",
            "INSERT INTO t SELECT NULL, NULL FROM seq_1_to_100",
            "UPDATE t SET a = 1 LIMIT 3",
            "DELETE FROM t WHERE a IS NULL LIMIT 50",
        )
    assert assert_replays(special, files) == 51


def test_an_image_without_columns_is_a_row(special: Server) -> None:
    special.execute(
        "CREATE TABLE t (id INT PRIMARY KEY DEFAULT 9, n INT DEFAULT 5)",
        "SET SESSION binlog_row_image = MINIMAL",
    )
    files = logged(special, "INSERT INTO t () VALUES ()")
    assert rows(files, f"{DATABASE}.t") == [("insert", None, None)]
    present = read(files, f"{DATABASE}.t", envelope=("change_type", "present"))
    assert cells_of(present, "_present") == [b"\0"]


def test_updates_that_leave_out_what_stays_the_same(special: Server) -> None:
    """binlog_row_image=FULL_NODUP: the image before is whole, the one after has what changed."""
    if not since(special, 11, 4):
        with pytest.raises(Exception, match="FULL_NODUP"):
            special.execute("SET SESSION binlog_row_image = FULL_NODUP")
        return
    for switch in (PLAIN, COMPRESSED):
        special.execute(*switch, "DROP TABLE IF EXISTS t, keyless")
        with logging(special) as files:
            special.execute(
                "CREATE TABLE t (id INT PRIMARY KEY, n INT, v TEXT, w VARCHAR(50))",
                "CREATE TABLE keyless (n INT, v TEXT)",
                "SET SESSION binlog_row_image = FULL_NODUP",
                "INSERT INTO t VALUES (1, 1, 'a', 'b'), (2, NULL, NULL, NULL), (3, 3, 'c', 'd')",
                "INSERT INTO keyless VALUES (1, 'a'), (1, 'a'), (2, NULL)",
                "UPDATE t SET n = 10",
                "UPDATE t SET v = REPEAT('long', 20) WHERE id = 1",
                "UPDATE t SET id = 20 WHERE id = 2",
                "UPDATE t SET id = 30, n = NULL, v = 'x', w = 'y' WHERE id = 3",
                "UPDATE keyless SET n = 3 WHERE n = 1 LIMIT 1",
                "DELETE FROM t WHERE id = 20",
            )
        special.execute("SET SESSION binlog_row_image = FULL")
        assert assert_replays(special, files) == 5


def test_row_metadata_of_all_sizes(special: Server) -> None:
    create = (
        "CREATE OR REPLACE TABLE t (id INT UNSIGNED PRIMARY KEY, v VARCHAR(20), e ENUM('a', 'b'))"
    )
    insert = "INSERT INTO t VALUES (4000000000, 'é', 'b')"
    special.execute("SET GLOBAL binlog_row_metadata = NO_LOG")
    files = logged(special, create, insert)
    with pytest.raises(binarrow.SchemaError, match="names no columns"):
        list(read(files, f"{DATABASE}.t"))
    with pytest.raises(binarrow.SchemaError, match="signed"):
        list(read(files, f"{DATABASE}.t", column_names="positional"))
    files = logged(
        special,
        "CREATE OR REPLACE TABLE u (d DATE, v VARCHAR(20))",
        "INSERT INTO u VALUES ('2020-02-29', 'é')",
    )
    [(_, _, text)] = rows(files, f"{DATABASE}.u", column_names="positional")
    assert text == "é".encode()  # the log does not tell that it is text

    special.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
    files = logged(special, create, insert)
    with pytest.raises(binarrow.SchemaError, match="names no columns"):
        list(read(files, f"{DATABASE}.t"))
    assert rows(files, f"{DATABASE}.t", column_names="positional") == [
        ("insert", 4000000000, "é", 2)
    ]

    special.execute("SET GLOBAL binlog_row_metadata = FULL")
    files = logged(special, create, insert)
    assert rows(files, f"{DATABASE}.t") == [("insert", 4000000000, "é", "b")]


def test_statements_of_many_kinds(special: Server) -> None:
    special.execute("CREATE TABLE source (id INT PRIMARY KEY, v VARCHAR(30))")
    outfile = special.datadir / "load.txt"
    with logging(special) as files:
        special.execute(
            "CREATE OR REPLACE TABLE source (id INT PRIMARY KEY, v VARCHAR(30))",
            "INSERT INTO source SELECT seq, CONCAT('v', seq) FROM seq_1_to_300",
            "CREATE TABLE loaded (id INT PRIMARY KEY, v VARCHAR(30)) ENGINE=Aria TRANSACTIONAL=1",
            f"SELECT * FROM source INTO OUTFILE '{outfile}'",
            f"LOAD DATA INFILE '{outfile}' INTO TABLE loaded",
            f"LOAD DATA INFILE '{outfile}' REPLACE INTO TABLE loaded (id, @v) SET v = UPPER(@v)",
            "CREATE TABLE myisam (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(30)) ENGINE=MyISAM",
            "INSERT INTO myisam (v) SELECT v FROM source",
            "CREATE TABLE audit (n INT, was VARCHAR(30))",
            "CREATE TRIGGER on_update AFTER UPDATE ON source FOR EACH ROW"
            " INSERT INTO audit VALUES (NEW.id, OLD.v)",
            "UPDATE source SET v = 'changed' WHERE id < 20",
            "UPDATE source, loaded, myisam SET source.v = loaded.v, myisam.v = 'both'"
            " WHERE source.id = loaded.id AND myisam.id = source.id AND source.id < 5",
            "DELETE FROM loaded WHERE id > 250",
            "CREATE TABLE copy ENGINE=MyISAM SELECT * FROM source",
            "CREATE OR REPLACE TABLE aria (PRIMARY KEY (id)) ENGINE=Aria SELECT * FROM loaded",
            "RENAME TABLE myisam TO renamed",
            "DROP TABLE renamed",
            "BEGIN NOT ATOMIC INSERT INTO source VALUES (1000, 'block'); UPDATE source SET v = 'twice'"
            " WHERE id = 1000; END",
            "INSERT INTO source VALUES (1001, 'returned') RETURNING id",
            "DELETE FROM source WHERE id = 1001 RETURNING v",
        )
        if since(special, 10, 8):
            special.execute(
                "SET SESSION binlog_alter_two_phase = ON",
                "ALTER TABLE source ADD COLUMN n INT",
                "UPDATE source SET n = id WHERE id < 10",
                "SET SESSION binlog_alter_two_phase = OFF",
            )
        outfile.unlink()
    assert assert_replays(special, files) > 800


# ------------------------------------------------------------------------------ files and events


def test_positions_where_events_have_none(special: Server) -> None:
    """From 11.4 on, events that went through the transaction cache have a log_pos of 0."""
    with logging(special) as files:
        special.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        for number in range(10):
            special.execute("BEGIN", f"INSERT INTO t VALUES ({number})")
            special.execute(f"INSERT INTO t VALUES ({number + 100})", "COMMIT")
    [file] = files
    events = list(binarrow.inspect(str(file)))
    unplaced = {
        event.type_name for event in events if event.log_pos == 0 and not event.flags & 0x20
    }
    assert ("Write_rows_v1" in unplaced) == since(special, 11, 4)
    ends = [event.offset + event.size for event in events if event.type_name == "Xid"]
    assert len(ends) == 10

    everything = cells_of(read(files, f"{DATABASE}.t"), "id")
    for segment_bytes in (1, 1 << 20):
        batches = list(read(files, f"{DATABASE}.t", segment_bytes=segment_bytes, batch_rows=2))
        if segment_bytes == 1:
            assert sum(batch.position.offset in ends for batch in batches) >= 9
        seen: list[Any] = []
        for batch in batches:
            seen += batch.to_pyarrow().column("id").to_pylist()
            if batch.position.offset in ends:
                done = 2 * (ends.index(batch.position.offset) + 1)
                assert seen[:done] == everything[:done]
                rest = cells_of(read(files, f"{DATABASE}.t", start=batch.position), "id")
                assert rest == everything[done:]
        assert seen == everything


def test_events_that_say_something(special: Server) -> None:
    special.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    files = logged(
        special,
        "SET SESSION binlog_annotate_row_events = ON",
        "INSERT INTO t VALUES (1) /* a comment */",
        "SET SESSION binlog_annotate_row_events = OFF",
        "INSERT INTO t VALUES (2)",
        "SET SESSION binlog_annotate_row_events = ON",
    )
    events = list(binarrow.inspect([str(path) for path in files], queries=True))
    [annotated] = [event for event in events if event.type_name == "Annotate_rows"]
    assert annotated.info == "INSERT INTO t VALUES (1) /* a comment */"
    assert {"Format_desc", "Gtid_list", "Binlog_checkpoint", "Rotate"} <= set(names(files))
    assert rows(files, f"{DATABASE}.t") == [("insert", 1), ("insert", 2)]


def test_encrypted_files_are_an_error_that_says_what_to_do(server: Server, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("1;a7addd9adea9978fda19f21e6be987880e68ac92632ca052e5bb42b1a506939a\n")
    options = (
        "--plugin-load-add=file_key_management",
        f"--file-key-management-filename={keys}",
        "--encrypt-binlog=ON",
        "--log-bin-compress=ON",
    )
    with Server.start(server.flavor, options) as encrypted:
        encrypted.execute(
            f"CREATE DATABASE {DATABASE}",
            f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY)",
            f"INSERT INTO {DATABASE}.t VALUES (1), (2)",
        )
        file = encrypted.flush_binlog()
        with pytest.raises(binarrow.UnsupportedEventError, match="encrypted") as caught:
            list(read([file], f"{DATABASE}.t"))
        assert "mariadb-binlog --read-from-remote-server --raw" in str(caught.value)
        assert caught.value.event_type == "Start_encryption"
        with pytest.raises(binarrow.UnsupportedEventError, match="encrypted"):
            list(binarrow.inspect(str(file)))

        encrypted.run(
            "mariadb-binlog",
            *("--read-from-remote-server", "--raw", f"--result-file={tmp_path}/"),
            *(f"--socket={encrypted.socket}", "--user=root", file.name),
        )
        assert rows([tmp_path / file.name], f"{DATABASE}.t") == [("insert", 1), ("insert", 2)]
