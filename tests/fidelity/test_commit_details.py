"""Envelope columns of the commit and of the statement, compared with the servers' data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from support import live
from support.logged import database, logging
from support.servers.servers import ALL_FLAVORS, Server

COLUMNS = ["gtid", "original_commit_timestamp", "commit_timestamp", "thread_id", "xid", "query"]

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100) CHARACTER SET utf8mb4)"

STATEMENTS = {
    "mysql": "binlog_rows_query_log_events",
    "mariadb": "binlog_annotate_row_events",
}


def options(flavor: str) -> tuple[str, ...]:
    told = STATEMENTS[flavor.partition("-")[0]].replace("_", "-")
    if flavor.startswith("mariadb"):
        return (f"--{told}=ON",)
    own = ("--log-slave-updates=ON",) if flavor == "mysql-5.6" else ()
    return (f"--{told}=ON", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", *own)


def read(files: list[Path], **keywords: Any) -> list[dict[str, Any]]:
    """Rows in log order, with the envelope: also in segments of the minimum size."""
    found = []
    for segment_bytes in (1 << 20, 1):
        rows: list[dict[str, Any]] = []
        for change in binarrow.read_binlog(
            [str(file) for file in files],
            tables="told.t",
            schemas={"told.t": TABLE},
            envelope=[*COLUMNS, "change_ordinal", "commit_version"],
            segment_bytes=segment_bytes,
            **keywords,
        ):
            rows.extend(change.to_pyarrow().to_pylist())
        rows.sort(key=lambda row: (row["_commit_version"], row["_change_ordinal"]))
        found.append(rows)
    assert found[0] == found[1]
    return found[0]


@pytest.fixture(scope="module", params=ALL_FLAVORS)
def server(request: pytest.FixtureRequest) -> Any:
    flavor = str(request.param)
    with Server.start(flavor, options(flavor)) as server:
        yield server


def executed(server: Server) -> set[str]:
    """All GTIDs so far, one by one; of MariaDB the last of each domain."""
    if server.is_mariadb:
        return set(str(server.query("SELECT @@gtid_binlog_pos")[0][0]).split(","))
    gtids = set()
    for part in (
        str(server.query("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "").split(",")
    ):
        uuid, *ranges = part.split(":")
        tag = ""
        for each in ranges:
            if each[0].isalpha():
                tag = f":{each}"
                continue
            first, _, last = each.partition("-")
            gtids |= {f"{uuid}{tag}:{n}" for n in range(int(first), int(last or first) + 1)}
    return gtids


def test_what_the_server_says(server: Server) -> None:
    session = server.connect()
    session.execute("CREATE DATABASE IF NOT EXISTS told CHARACTER SET utf8mb4", "USE told")
    session.execute("DROP TABLE IF EXISTS t", TABLE)
    (thread,) = session.query("SELECT CONNECTION_ID()")[0]
    new: list[str] = []
    statements = [
        "INSERT INTO t VALUES (1, 'é'), (2, 'b')",
        "UPDATE t SET v = CONCAT(v, '!') /* all */",
        "DELETE FROM t WHERE id = 1",
    ]
    filler = (
        f"INSERT INTO t VALUES {', '.join(f'({n}, REPEAT(0x61, 100))' for n in range(10, 400))}"
    )
    with logging(server) as files:
        for statement in statements:
            before = executed(server)
            session.execute(statement)
            new.extend(executed(server) - before)
        before = executed(server)
        session.execute("BEGIN", filler, "INSERT INTO t VALUES (3, 'x')", "COMMIT")
        new.extend(executed(server) - before)
    session.execute("DROP DATABASE told")
    rows = read(files)
    texts = [
        (text, gtid)
        for text, gtid, n in zip(statements, new, (2, 4, 1), strict=False)
        for _ in range(n)
    ]
    texts += [(filler, new[3])] * 390 + [("INSERT INTO t VALUES (3, 'x')", new[3])]
    assert [(row["_query"], row["_gtid"]) for row in rows] == texts
    # MariaDB's log contains the connection from 11.5 on, of transactions that end with a Xid event.
    threads = {row["_thread_id"] for row in rows}
    untold = server.flavor in ("mariadb-10.5", "mariadb-10.11")
    assert threads == ({None} if untold else {thread})
    xids = [row["_xid"] for row in rows]
    assert None not in xids
    assert len(set(xids)) == 4
    printed = "".join(server.mysqlbinlog(file, "-vv") for file in files)
    assert all(f"Xid = {xid}" in printed for xid in xids)
    for row in rows:
        same = row["_commit_timestamp"] if server.flavor == "mysql" else None
        assert row["_original_commit_timestamp"] == same
        if same is not None:
            micros = int(same.timestamp() * 1e6)
            assert f"original_commit_timestamp={micros}" in printed


def test_an_engine_without_transactions(server: Server) -> None:
    session = server.connect()
    with logging(server) as files:
        session.execute("CREATE DATABASE told", "USE told", f"{TABLE} ENGINE=MyISAM")
        session.execute("INSERT INTO t VALUES (1, 'a')")
        (thread,) = session.query("SELECT CONNECTION_ID()")[0]
        session.execute("DROP DATABASE told")
    (row,) = read(files)
    assert (row["_thread_id"], row["_xid"]) == (thread, None)


def test_a_statement_in_the_clients_character_set(server: Server) -> None:
    session = server.connect(charset="gbk")
    session.execute("CREATE DATABASE told", "USE told", TABLE)
    with logging(server) as files:
        session.execute("INSERT INTO t VALUES (1, '模')")
        session.execute("SET NAMES utf8mb4")
    server.execute("DROP DATABASE told")
    (row,) = read(files)
    assert row["v"] == "模"
    # Its bytes in gbk are those of ģ in UTF-8, and MariaDB's log does not show which it is.
    assert row["_query"] == f"INSERT INTO t VALUES (1, '{'ģ' if server.is_mariadb else '模'}')"


def test_xa(server: Server) -> None:
    session = server.connect()
    session.execute("CREATE DATABASE told", "USE told", TABLE)
    (thread,) = session.query("SELECT CONNECTION_ID()")[0]
    insert = "INSERT INTO t VALUES (1, 'a')"
    with logging(server) as files:
        session.execute("XA START 'a'", insert, "XA END 'a'", "XA PREPARE 'a'")
        server.execute("INSERT INTO told.t VALUES (2, 'b')")
        before = executed(server)
        if server.flavor == "mysql-5.6":  # which rolls it back when its session ends
            session.execute("XA COMMIT 'a'")
        else:
            session.close()
            live.decide(server, "XA COMMIT 'a'")
        (gtid,) = executed(server) - before
    server.execute("DROP DATABASE told")
    row = read(files)[-1]
    assert (row["id"], row["_query"]) == (1, insert)
    assert (row["_gtid"], row["_xid"], row["_thread_id"]) == (gtid, None, thread)


def test_live(server: Server) -> None:
    session = server.connect()
    session.execute("CREATE DATABASE told", "USE told", TABLE)
    session.execute(
        "CREATE USER live@'%' IDENTIFIED BY 'l1ve'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO live@'%'",
    )
    keywords = {"tables": "told.t", "schemas": {"told.t": TABLE}, "envelope": COLUMNS}
    with live.reach(server) as connection:
        start = connection.position()
        with logging(server) as files:
            session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')", "DELETE FROM t")
        with connection.stream(start, stop="end", **keywords) as stream:
            streamed = [row for change in stream for row in change.to_pyarrow().to_pylist()]
    session.execute("DROP USER live@'%'", "DROP DATABASE told")
    paths = [str(file) for file in files]
    read_back = [
        row
        for change in binarrow.read_binlog(paths, **keywords)
        for row in change.to_pyarrow().to_pylist()
    ]
    assert streamed == read_back
    assert [row["_query"] for row in streamed][-1] == "DELETE FROM t"


def test_without_statements_one_warning_says_what_to_set(server: Server) -> None:
    session = server.connect()
    session.execute("CREATE DATABASE told", "USE told", TABLE)
    option = STATEMENTS[server.flavor.partition("-")[0]]
    session.execute(f"SET SESSION {option} = OFF")
    with logging(server) as files:
        for n in range(3):
            session.execute(f"INSERT INTO t VALUES ({n}, 'a')")
    server.execute("DROP DATABASE told")
    with pytest.warns(binarrow.BinarrowWarning, match=option) as warned:
        rows = read(files)
    assert [row["_query"] for row in rows] == [None] * 3
    assert len([one for one in warned if option in str(one.message)]) == 2  # two reads


def test_reserved_names(mysql: Server) -> None:
    names = [*COLUMNS, "present", "binlog_file", "binlog_position", "server_id"]
    columns = ", ".join(f"_{name} INT" for name in names)
    with (
        database(mysql, "told", f"CREATE TABLE t (id INT PRIMARY KEY, {columns})"),
        logging(mysql) as files,
    ):
        mysql.execute("INSERT INTO t (id) VALUES (1)")
    paths = [str(file) for file in files]
    for name in names:
        with pytest.raises(binarrow.ConfigError, match=f"column _{name} .*envelope_prefix"):
            list(binarrow.read_binlog(paths, tables="told.t", envelope=[name]))
    with pytest.warns(binarrow.BinarrowWarning, match="binlog_rows_query_log_events"):
        (change,) = binarrow.read_binlog(
            paths, tables="told.t", envelope=names, envelope_prefix="log_"
        )
    expected = ["id", *(f"_{name}" for name in names), *(f"log_{name}" for name in names)]
    assert change.to_pyarrow().schema.names == expected


def test_types(mysql: Server) -> None:
    with database(mysql, "told", TABLE), logging(mysql) as files:
        mysql.execute("INSERT INTO t VALUES (1, 'a')")
    paths = [str(file) for file in files]
    for types, query in (("native", pa.dictionary(pa.int32(), pa.utf8())), ("spark", pa.utf8())):
        schema = binarrow.infer_schema(paths, "told.t", envelope=COLUMNS, types=types)
        utc = pa.timestamp("us", tz="UTC")
        assert schema.types[2:] == [pa.utf8(), utc, utc, pa.int64(), pa.int64(), query]
