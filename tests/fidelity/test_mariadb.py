"""Features that only MariaDB has, on each version: replaying the log of a case from empty tables gives the result of SELECT.

Compressed events and columns are in `test_mariadb_compression.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binarrow
from support.logged import cells_of, logged, logging, read, rows
from support.mariadb_case import (
    COMPRESSED,
    DATABASE,
    PLAIN,
    assert_replays,
    for_each_mariadb,
    names,
    since,
)
from support.oracles import oracle
from support.oracles.replay import ENVELOPE, replay
from support.servers.servers import Server

pytestmark = [
    for_each_mariadb,
    pytest.mark.filterwarnings("ignore:no change of a table:binarrow.BinarrowWarning"),
]


# ------------------------------------------------------------------------------ tables and rows


def test_system_versioned_tables_hold_their_history(mariadb_case: Server) -> None:
    with logging(mariadb_case) as files:
        mariadb_case.execute(
            "CREATE TABLE hidden (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING",
            "CREATE TABLE named (id INT PRIMARY KEY, n INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START,"
            " e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e))"
            " WITH SYSTEM VERSIONING",
            "CREATE TABLE partly (id INT PRIMARY KEY, n INT, m INT WITHOUT SYSTEM VERSIONING)"
            " WITH SYSTEM VERSIONING",
        )
        for table in ("hidden", "named", "partly"):
            mariadb_case.execute(
                f"INSERT INTO {table} (id, n) VALUES (1, 1), (2, 2), (3, 3)",
                f"UPDATE {table} SET n = n + 10 WHERE id > 1",
                f"DELETE FROM {table} WHERE id = 3",
                f"REPLACE INTO {table} (id, n) VALUES (1, 100)",
                f"UPDATE {table} SET id = 20 WHERE id = 2",
            )
        mariadb_case.execute("UPDATE partly SET m = 7")
    last = max(
        cells_of(read(files, f"{DATABASE}.hidden"), "row_end"), key=lambda cell: cell.timestamp()
    )
    assert last.year == (2106 if since(mariadb_case, 11, 5) else 2038)
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
            for row in mariadb_case.query(f"SELECT {shown} FROM {table} FOR SYSTEM_TIME ALL")
        ]
        assert len(wanted) > 5
        found = state.content(("id", "n", *more, start, end))
        assert sorted(found, key=repr) == sorted(wanted, key=repr), table
        living = [row[0] for row in found if row[-1] == max(row[-1] for row in found)]
        assert sorted(living) == [
            number for (number,) in mariadb_case.query(f"SELECT id FROM {table} ORDER BY 1")
        ]


def test_application_time_periods(mariadb_case: Server) -> None:
    with logging(mariadb_case) as files:
        mariadb_case.execute(
            "CREATE TABLE t (id INT, a DATE, b DATE, PERIOD FOR valid (a, b))",
            "INSERT INTO t VALUES (1, '2020-01-01', '2020-12-31'), (2, '2020-01-01', '2021-01-01')",
            "UPDATE t FOR PORTION OF valid FROM '2020-03-01' TO '2020-04-01' SET id = id + 10",
            "DELETE FROM t FOR PORTION OF valid FROM '2020-06-01' TO '2020-07-01' WHERE id = 1",
        )
        if since(mariadb_case, 10, 6):
            mariadb_case.execute(
                "CREATE TABLE u (id INT, a DATE, b DATE, PERIOD FOR p (a, b),"
                " PRIMARY KEY (id, p WITHOUT OVERLAPS))",
                "INSERT INTO u VALUES (1, '2020-01-01', '2020-12-31')",
                "DELETE FROM u FOR PORTION OF p FROM '2020-06-01' TO '2020-07-01'",
            )
    assert assert_replays(mariadb_case, files) >= 7


def test_sequences_log_their_counters(mariadb_case: Server) -> None:
    files = logged(
        mariadb_case,
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
    assert [tuple(changes[-1][1:])] == mariadb_case.query("SELECT * FROM s")
    assert [row[1:] for row in rows(files, f"{DATABASE}.t")] == mariadb_case.query(
        "SELECT * FROM t"
    )


def test_long_unique_keys_have_a_hidden_column(mariadb_case: Server) -> None:
    with logging(mariadb_case) as files:
        mariadb_case.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, v TEXT, b BLOB, UNIQUE (v), UNIQUE (b, v))",
            "INSERT INTO t VALUES (1, 'a', 'b'), (2, NULL, NULL), (3, 'c', NULL)",
            "UPDATE t SET v = CONCAT('d', id) WHERE id < 3",
            "DELETE FROM t WHERE id = 3",
        )
    names = next(iter(read(files, f"{DATABASE}.t"))).to_pyarrow().schema.names
    assert names[:5] == ["id", "v", "b", "DB_ROW_HASH_1", "DB_ROW_HASH_2"]
    assert assert_replays(mariadb_case, files) == 2


def test_types_of_its_own(mariadb_case: Server) -> None:
    inet4 = since(mariadb_case, 10, 10)
    columns = ["six INET6", *(["four INET4", "u UUID"] if inet4 else [])]
    values = ["'::'", "'ffff::1'", "'::ffff:1.2.3.4'", "'1::'", "NULL"]
    fours = ["'0.0.0.0'", "'255.255.255.255'", "'1.0.0.0'", "'0.0.0.1'", "NULL"]
    uuids = ["'00000000-0000-0000-0000-000000000000'", "'123e4567-e89b-12d3-a456-426655440000'"]
    uuids += ["UUID()", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "NULL"]
    with logging(mariadb_case) as files:
        mariadb_case.execute(
            f"CREATE TABLE t (id INT PRIMARY KEY, {', '.join(columns)})",
            "CREATE TABLE j (id INT PRIMARY KEY, doc JSON, g GEOMETRY, p POINT)",
            "INSERT INTO j VALUES (1, '{\"a\":  [1,2.50, \"\\\\u00e9\"]}', ST_GeomFromText('POINT(1 2)', 4326), NULL),"
            " (2, '[]', ST_GeomFromText('LINESTRING(0 0, 1 2)'), POINT(3, 4)), (3, NULL, NULL, NULL)",
            "UPDATE j SET doc = JSON_SET(doc, '$.b', 'new') WHERE id = 1",
        )
        for number in range(5):
            cells = [values[number], *([fours[number], uuids[number]] if inet4 else [])]
            mariadb_case.execute(f"INSERT INTO t VALUES ({number}, {', '.join(cells)})")
        if since(mariadb_case, 11, 7):
            mariadb_case.execute(
                "CREATE TABLE v (id INT PRIMARY KEY, v VECTOR(3))",
                "INSERT INTO v VALUES (1, VEC_FromText('[1, -2.5, 3e10]')), (2, NULL),"
                " (3, VEC_FromText('[0, 0, 0]'))",
            )
    assert assert_replays(mariadb_case, files) >= 8
    batch = next(iter(read(files, f"{DATABASE}.t"))).to_pyarrow()
    assert [len(cell) for cell in batch.column("six").to_pylist()[:1]] == [16]
    if since(mariadb_case, 11, 7):
        vectors = cells_of(read(files, f"{DATABASE}.v"), "v")
        assert [cell if cell is None else len(cell) for cell in vectors] == [12, None, 12]


def test_timestamps_up_to_2106(mariadb_case: Server) -> None:
    moments = ["1970-01-01 00:00:01", "2038-01-19 03:14:07"]
    if since(mariadb_case, 11, 5):
        moments += ["2038-01-19 03:14:08", "2100-02-28 23:59:59.999999", "2106-02-07 06:28:15"]
    with logging(mariadb_case) as files:
        mariadb_case.execute("CREATE TABLE t (a TIMESTAMP NULL, b TIMESTAMP(6) NULL)")
        for moment in moments:
            mariadb_case.execute(f"INSERT INTO t VALUES ('{moment}', '{moment}')")
    assert assert_replays(mariadb_case, files) == len(moments)
    found = [cell.isoformat(" ")[:19] for cell in cells_of(read(files, f"{DATABASE}.t"), "b")]
    assert found == [moment[:19] for moment in moments]


def test_rows_with_nothing_but_null_bits(mariadb_case: Server) -> None:
    with logging(mariadb_case) as files:
        mariadb_case.execute(
            "CREATE TABLE t (a INT, b TEXT)",
            "INSERT INTO t VALUES (NULL, NULL)",
            "INSERT INTO t SELECT NULL, NULL FROM seq_1_to_100",
            "UPDATE t SET a = 1 LIMIT 3",
            "DELETE FROM t WHERE a IS NULL LIMIT 50",
        )
    assert assert_replays(mariadb_case, files) == 51


def test_an_image_without_columns_is_a_row(mariadb_case: Server) -> None:
    mariadb_case.execute(
        "CREATE TABLE t (id INT PRIMARY KEY DEFAULT 9, n INT DEFAULT 5)",
        "SET SESSION binlog_row_image = MINIMAL",
    )
    files = logged(mariadb_case, "INSERT INTO t () VALUES ()")
    assert rows(files, f"{DATABASE}.t") == [("insert", None, None)]
    present = read(files, f"{DATABASE}.t", envelope=("change_type", "present"))
    assert cells_of(present, "_present") == [b"\0"]


def test_updates_that_leave_out_what_stays_the_same(mariadb_case: Server) -> None:
    """binlog_row_image=FULL_NODUP: the before image is complete, the after image has the changed columns."""
    if not since(mariadb_case, 11, 4):
        with pytest.raises(Exception, match="FULL_NODUP"):
            mariadb_case.execute("SET SESSION binlog_row_image = FULL_NODUP")
        return
    for switch in (PLAIN, COMPRESSED):
        mariadb_case.execute(*switch, "DROP TABLE IF EXISTS t, keyless")
        with logging(mariadb_case) as files:
            mariadb_case.execute(
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
        mariadb_case.execute("SET SESSION binlog_row_image = FULL")
        assert assert_replays(mariadb_case, files) == 5


def test_row_metadata_of_all_sizes(mariadb_case: Server) -> None:
    create = (
        "CREATE OR REPLACE TABLE t (id INT UNSIGNED PRIMARY KEY, v VARCHAR(20), e ENUM('a', 'b'))"
    )
    insert = "INSERT INTO t VALUES (4000000000, 'é', 'b')"
    mariadb_case.execute("SET GLOBAL binlog_row_metadata = NO_LOG")
    files = logged(mariadb_case, create, insert)
    with pytest.raises(binarrow.SchemaError, match="names of columns"):
        list(read(files, f"{DATABASE}.t"))
    with pytest.raises(binarrow.SchemaError, match="does not contain the sign"):
        list(read(files, f"{DATABASE}.t", column_names="positional"))
    files = logged(
        mariadb_case,
        "CREATE OR REPLACE TABLE u (d DATE, v VARCHAR(20))",
        "INSERT INTO u VALUES ('2020-02-29', 'é')",
    )
    [(_, _, text)] = rows(files, f"{DATABASE}.u", column_names="positional")
    assert text == "é".encode()  # the log does not show that it is text

    mariadb_case.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
    files = logged(mariadb_case, create, insert)
    with pytest.raises(binarrow.SchemaError, match="names of columns"):
        list(read(files, f"{DATABASE}.t"))
    assert rows(files, f"{DATABASE}.t", column_names="positional") == [
        ("insert", 4000000000, "é", 2)
    ]

    mariadb_case.execute("SET GLOBAL binlog_row_metadata = FULL")
    files = logged(mariadb_case, create, insert)
    assert rows(files, f"{DATABASE}.t") == [("insert", 4000000000, "é", "b")]


def test_statements_of_many_kinds(mariadb_case: Server) -> None:
    mariadb_case.execute("CREATE TABLE source (id INT PRIMARY KEY, v VARCHAR(30))")
    outfile = mariadb_case.datadir / "load.txt"
    with logging(mariadb_case) as files:
        mariadb_case.execute(
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
        if since(mariadb_case, 10, 8):
            mariadb_case.execute(
                "SET SESSION binlog_alter_two_phase = ON",
                "ALTER TABLE source ADD COLUMN n INT",
                "UPDATE source SET n = id WHERE id < 10",
                "SET SESSION binlog_alter_two_phase = OFF",
            )
        outfile.unlink()
    assert assert_replays(mariadb_case, files) > 800


# ------------------------------------------------------------------------------ files and events


def test_positions_where_events_have_none(mariadb_case: Server) -> None:
    """From 11.4 on, events that went through the transaction cache have a log_pos of 0."""
    with logging(mariadb_case) as files:
        mariadb_case.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        for number in range(10):
            mariadb_case.execute("BEGIN", f"INSERT INTO t VALUES ({number})")
            mariadb_case.execute(f"INSERT INTO t VALUES ({number + 100})", "COMMIT")
    [file] = files
    events = list(binarrow.inspect(str(file)))
    unplaced = {
        event.type_name for event in events if event.log_pos == 0 and not event.flags & 0x20
    }
    assert ("Write_rows_v1" in unplaced) == since(mariadb_case, 11, 4)
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
            rest = cells_of(read(files, f"{DATABASE}.t", start=batch.position), "id")
            assert rest == everything[len(seen) :]
        assert seen == everything


def test_events_that_say_something(mariadb_case: Server) -> None:
    mariadb_case.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    files = logged(
        mariadb_case,
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
