"""MySQL 5.6 and 5.7, and what newer servers keep from older ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import binarrow
from binarrow import TypeOptions
from support.logged import database, logged, logging, read, rows
from support.oracles import oracle
from support.oracles.compare import assert_same_tables
from support.oracles.replay import ENVELOPE, replay
from support.servers.servers import OLD_FLAVORS, Server
from support.workloads import old_times, values
from support.workloads.table import Column, Table

pytestmark = pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")

old_servers = pytest.mark.parametrize("server", OLD_FLAVORS, indirect=True)
mariadbs = pytest.mark.parametrize(
    "server", ["mariadb-10.5", "mariadb-10.11", "mariadb-11.8"], indirect=True
)

# What MySQL 5.5 wrote: no GTIDs, no checksums, rows events of the first version.
AS_BEFORE = (
    "--gtid-mode=OFF",
    "--enforce-gtid-consistency=OFF",
    "--binlog-checksum=NONE",
    "--log-bin-use-v1-row-events=1",
)

# Nothing whose sign matters: all of it can be read with the contents of the log.
SIGNLESS = (
    "CREATE TABLE t (id DECIMAL(5,0) NOT NULL PRIMARY KEY, word VARCHAR(300) CHARACTER SET utf8mb4,"
    " e ENUM('a', 'b'), s SET('x', 'y', 'z'), dt DATETIME(3), t TIME, bits BIT(10), f FLOAT)"
)
INSERT = (
    "INSERT INTO t VALUES (7, 'é🎉', 'b', 'x,z', '2024-02-29 12:34:56.789', '-01:02:03', 513, 1.5)"
)
CELLS = ("7", "é🎉".encode(), 2, 0b101, "2024-02-29 12:34:56.789000", "-1 day, 22:57:57", 513, 1.5)


@pytest.fixture(scope="module", params=OLD_FLAVORS)
def as_before(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server.start(request.param, AS_BEFORE) as server:
        yield server


WRITTEN_UPDATED_DELETED = [
    ("insert", *CELLS),
    # The log contains no key, so the complete row is the key.
    ("delete", *CELLS),
    ("insert", *CELLS[:-1], 2.5),
    ("delete", *CELLS[:-1], 2.5),
]
"""The changes of `INSERT`, an update of `f` to 2.5, and a delete."""


def signless(files: list[Path]) -> list[tuple[object, ...]]:
    """The rows with their decimals and times as text."""
    return [
        tuple(str(cell) if index in {1, 5, 6} else cell for index, cell in enumerate(row))
        for row in rows(files, "old.t", column_names="positional")
    ]


# ----------------------------------------------------------------------------- what they log


@old_servers
def test_rows_of_the_second_version(server: Server) -> None:
    with database(server, "old", SIGNLESS):
        files = logged(server, INSERT, "UPDATE t SET f = 2.5", "DELETE FROM t")
    assert signless(files) == WRITTEN_UPDATED_DELETED
    assert {"Gtid", "Write_rows", "Update_rows", "Delete_rows"} <= types_of(files)


def test_rows_of_the_first_version_without_checksums_and_gtids(as_before: Server) -> None:
    with database(as_before, "old", SIGNLESS):
        files = logged(as_before, INSERT, "UPDATE t SET f = 2.5", "DELETE FROM t")
    assert signless(files) == WRITTEN_UPDATED_DELETED
    found = types_of(files)
    assert {"Write_rows_v1", "Update_rows_v1", "Delete_rows_v1"} <= found
    assert "Gtid" not in found
    assert ("Anonymous_Gtid" in found) is (as_before.flavor == "mysql-5.7")


@old_servers
def test_images_that_leave_columns_out(server: Server) -> None:
    with database(server, "old", SIGNLESS):
        server.execute(INSERT, "SET SESSION binlog_row_image = MINIMAL")
        files = logged(server, "UPDATE t SET f = 2.5", "DELETE FROM t")
        server.execute("SET SESSION binlog_row_image = FULL")
    nothing = (None,) * 6
    assert signless(files) == [
        ("update_preimage", "7", *(*nothing[:3], *("None",) * 2, *nothing[:2])),
        ("update_postimage", "None", *(*nothing[:3], *("None",) * 2, None), 2.5),
        ("delete", "7", *(*nothing[:3], *("None",) * 2, *nothing[:2])),
    ]
    envelope = ("change_type", "present")
    present = [
        row["_present"]
        for batch in read(files, "old.t", column_names="positional", envelope=envelope)
        for row in batch.to_pyarrow().to_pylist()
    ]
    assert present == [b"\x01", b"\x80", b"\x01"]


@old_servers
def test_positions_have_gtids(server: Server) -> None:
    with database(server, "old", SIGNLESS):
        files = logged(server, INSERT)
    [batch] = read(files, "old.t", column_names="positional")
    [(uuid,)] = server.query("SELECT @@server_uuid")
    assert batch.position.gtid_set is not None
    assert batch.position.gtid_set.startswith(f"{uuid}:1-")


def test_only_what_was_committed(as_before: Server) -> None:
    plain = "CREATE TABLE plain (word CHAR(9)) ENGINE=MyISAM"
    with database(as_before, "old", "CREATE TABLE t (word CHAR(9))", plain):
        files = logged(
            as_before,
            *("BEGIN", "INSERT INTO t VALUES ('gone')", "ROLLBACK"),
            *("BEGIN", "INSERT INTO t VALUES ('one')", "SAVEPOINT a"),
            *("INSERT INTO t VALUES ('undone')", "ROLLBACK TO SAVEPOINT a"),
            *("INSERT INTO t VALUES ('two')", "COMMIT"),
            # what cannot be undone keeps the transaction in the log, with a ROLLBACK at its end
            *("BEGIN", "INSERT INTO t VALUES ('back')", "INSERT INTO plain VALUES ('stays')"),
            "ROLLBACK",
            *("XA START 'x'", "INSERT INTO t VALUES ('xa')", "XA END 'x'", "XA PREPARE 'x'"),
            "XA COMMIT 'x'",
            *("XA START 'y'", "INSERT INTO t VALUES ('not')", "XA END 'y'", "XA PREPARE 'y'"),
            "XA ROLLBACK 'y'",
        )
    assert rows(files, "old.t", column_names="positional") == [
        ("insert", b"one"),
        ("insert", b"two"),
        ("insert", b"xa"),
    ]
    assert rows(files, "old.plain", column_names="positional") == [("insert", b"stays")]


def types_of(files: list[Path]) -> set[str]:
    return {event.type_name for event in binarrow.inspect([str(path) for path in files])}


# ------------------------------------------------------------------------- what they do not log


@old_servers
def test_errors_say_what_can_be_done(server: Server) -> None:
    with database(server, "old", "CREATE TABLE t (id INT PRIMARY KEY, word CHAR(9))"):
        files = logged(server, "INSERT INTO t VALUES (1, 'a')")
    version = server.query("SELECT @@version")[0][0].split("-")[0]

    with pytest.raises(binarrow.SchemaError, match="names of columns") as caught:
        rows(files, "old.t")
    message = str(caught.value)
    assert f"MySQL {version} has no option" in message
    assert "schemas=" in message
    assert "column_names='positional'" in message
    assert "binlog_row_metadata" not in message

    with pytest.raises(binarrow.SchemaError, match=r"column @1: .* sign of the column") as caught:
        rows(files, "old.t", column_names="positional")
    message = str(caught.value)
    assert f"MySQL {version} has no option" in message
    assert "schemas=" in message
    assert "positional" not in message


@mariadbs
def test_errors_of_a_server_that_can_tell_more(server: Server) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, word CHAR(9))"
    with database(server, "old", table):
        server.execute("SET GLOBAL binlog_row_metadata = NO_LOG")
        try:
            files = logged(server, "INSERT INTO t VALUES (1, 'a')")
        finally:
            server.execute("SET GLOBAL binlog_row_metadata = FULL")
    for names in ("log", "positional"):
        with pytest.raises(binarrow.SchemaError, match="binlog_row_metadata=FULL") as caught:
            rows(files, "old.t", column_names=names)
        assert "schemas=" in str(caught.value)
        assert ("positional" in str(caught.value)) is (names == "log")


# ---------------------------------------------------------------------------------- old times


@old_servers
def test_times_of_mysql_5_5(server: Server) -> None:
    table = "CREATE TABLE t (id CHAR(4), ts INT, t MEDIUMINT, dt BIGINT) ENGINE=MyISAM"
    with database(server, "old", table), logging(server) as files:
        old_times.make_old(server, "old", "t", "CHAR(4)")
        server.execute(
            "SET SESSION time_zone = '+00:00', sql_mode = '', show_old_temporals = ON",
            "INSERT INTO t VALUES"
            " ('a', '1970-01-01 00:00:01', '-01:02:03', '2010-10-17 19:27:30'),"
            " ('b', '2038-01-19 03:14:07', '838:59:59', '9999-12-31 23:59:59'),"
            " ('c', 0, '00:00:00', '0000-00-00 00:00:00'),"
            " ('d', NULL, '-838:59:59', '2015-05-00 00:00:00')",
        )
        [(_, shown)] = server.query("SHOW CREATE TABLE t")
        server.execute("SET SESSION sql_mode = DEFAULT, show_old_temporals = OFF")
    assert shown.count("/* 5.5 binary format */") == 3  # the server takes them for what they are

    exact = TypeOptions(time="text", zero_dates="text")
    assert rows(files, "old.t", column_names="positional", types=exact) == [
        ("insert", b"a", "1970-01-01 00:00:01", "-01:02:03", "2010-10-17 19:27:30"),
        ("insert", b"b", "2038-01-19 03:14:07", "838:59:59", "9999-12-31 23:59:59"),
        ("insert", b"c", "0000-00-00 00:00:00", "00:00:00", "0000-00-00 00:00:00"),
        ("insert", b"d", None, "-838:59:59", "2015-05-00 00:00:00"),
    ]
    found = rows(files, "old.t", column_names="positional")
    assert [(str(ts), str(dt)) for _, _, ts, _, dt in found] == [
        ("1970-01-01 00:00:01+00:00", "2010-10-17 19:27:30"),
        ("2038-01-19 03:14:07+00:00", "9999-12-31 23:59:59"),
        ("None", "None"),
        ("None", "None"),
    ]
    assert [time.total_seconds() for _, _, _, time, _ in found] == [-3723, 3020399, 0, -3020399]


@mariadbs
@pytest.mark.parametrize("column", ["TIME", "DATETIME", "TIMESTAMP NULL", "DATETIME(3)"])
def test_times_of_mariadb_5_3_need_their_digits(server: Server, column: str) -> None:
    with database(server, "old"):
        server.execute(
            "SET GLOBAL mysql56_temporal_format = OFF",
            f"CREATE TABLE t (id CHAR(4), moment {column})",
            "SET GLOBAL mysql56_temporal_format = ON",
        )
        files = logged(server, "INSERT INTO t VALUES ('a', '2010-10-17 19:27:30')")
    with pytest.raises(binarrow.UnsupportedEventError, match="mysql56_temporal_format") as caught:
        rows(files, "old.t")
    name = column.partition("(")[0].partition(" ")[0].lower()
    for words in ("old.t", "column moment", name, "schemas=", "FORCE"):
        assert words in str(caught.value)
    assert caught.value.file is not None


@mariadbs
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_times_of_mariadb_5_3(server: Server, image: str) -> None:
    kinds = {"TIME": values.time, "DATETIME": values.datetime_, "TIMESTAMP": values.timestamp}
    columns = [
        Column(f"{kind}{fsp}", f"{kind}({fsp}) NULL", value(fsp))
        for kind, value in kinds.items()
        for fsp in range(7)
    ]
    table = Table("t", columns)
    rng = random.Random(1)
    with database(server, "old", "SET SESSION time_zone = '+00:00'"):
        server.execute("SET GLOBAL mysql56_temporal_format = OFF", table.create())
        server.execute(
            "SET GLOBAL mysql56_temporal_format = ON", f"SET SESSION binlog_row_image = {image}"
        )
        [(_, shown)] = server.query("SHOW CREATE TABLE t")
        files = logged(server, table.insert(rng, 100), *(table.update(rng) for _ in range(20)))
        server.execute("SET SESSION binlog_row_image = FULL, time_zone = DEFAULT")
        selected = oracle.select(server, "old.t")
        texts = server.query(
            f"SELECT {', '.join(f'CAST({c.name} AS CHAR)' for c in columns)} FROM t"
        )
    assert shown.count("/* mariadb-5.3 */") == len(columns)

    schemas = {"old.t": shown}
    replayed = replay(read(files, "old.t", envelope=ENVELOPE, schemas=schemas))
    compared = assert_same_tables(replayed, {"old.t": selected}, {})
    assert compared.cells == 100 * 22
    exact = TypeOptions(time="text", zero_dates="text")
    reader = read(files, "old.t", envelope=ENVELOPE, schemas=schemas, types=exact)
    state = replay(reader)["old.t"]
    names = tuple(column.name for column in columns)
    assert sorted(state.content(names), key=repr) == sorted(texts, key=repr)
