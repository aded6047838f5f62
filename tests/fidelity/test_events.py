"""Changes as the events of TiCDC and of Debezium, of live servers, beside what is written out here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli.app import app
from support.logged import database, logged, logging
from support.servers.servers import Server

USER = (
    "CREATE TABLE IF NOT EXISTS `user`("
    "`id` INT UNSIGNED, `name` VARCHAR(100) NOT NULL, PRIMARY KEY ( `id` ))"
)
USERS = (
    'INSERT INTO user VALUES(1, "hello")',
    'INSERT INTO user VALUES(2, "world")',
    "DELETE FROM user WHERE id=2",
    'INSERT INTO user VALUES(3, "go")',
    'UPDATE user SET name="java" WHERE id=3',
)


def events(files: Sequence[Path], form: Any, **keywords: Any) -> list[dict[str, Any]]:
    wanted = {**binarrow.event_keywords(form), **keywords}
    lines: list[dict[str, Any]] = []
    for change in binarrow.read_binlog([str(file) for file in files], **wanted):
        text = change.to_events(form, source_name="shop", processed_ms=7).decode()
        assert text.endswith("\n")
        lines.extend(json.loads(line) for line in text.splitlines())
        assert len(text.splitlines()) == change.num_rows
    return lines


# ------------------------------------------------------------------------------ TiCDC


def ident(value: int) -> dict[str, Any]:
    return {"name": "id", "type": 3, "flag": 139, "value": value}


def name(value: str) -> dict[str, Any]:
    return {"name": "name", "type": 15, "flag": 0, "value": value}


HELLO, WORLD, GO, JAVA = "aGVsbG8=", "d29ybGQ=", "Z28=", "amF2YQ=="

# `columns` and `pre-columns` of the insert of 1, the delete of 2 and the update of 3.
WITH_OLD_VALUES = [
    ([ident(1), name(HELLO)], None),
    (None, [ident(2), name(WORLD)]),
    ([ident(3), name(JAVA)], [ident(3), name(GO)]),
]
WITHOUT_OLD_VALUES = [
    ([ident(1), name(HELLO)], None),
    (None, [ident(2), None]),
    ([ident(3), name(JAVA)], None),
]


def test_the_events_of_ticdc(mysql: Server, tmp_path: Path) -> None:
    with database(mysql, "tidb_test", USER):
        files = logged(mysql, *USERS)
    for old_value, expected in ((True, WITH_OLD_VALUES), (False, WITHOUT_OLD_VALUES)):
        found = events(files, "ticdc-json", tables="tidb_test.user", old_value=old_value)
        assert len(found) == 5
        shown = [found[0], found[2], found[4]]
        assert [(event["columns"], event["pre-columns"]) for event in shown] == expected
        table = {"db-name": "tidb_test", "tbl-name": "user", "tbl-id": 0, "is-partition": False}
        assert all(event["table"] == table for event in found)
        assert [event["row-id"] for event in found] == [1, 2, 2, 3, 3]
        assert list(found[0]) == [
            *("start-ts", "commit-ts", "row-id", "table", "table-info-version", "replica-id"),
            *("columns", "pre-columns"),
        ]
        commits = [event["commit-ts"] for event in found]
        assert commits == sorted(set(commits))
        assert [event["start-ts"] for event in found] == [commit - 1 for commit in commits]
        # the command writes the same
        to = tmp_path / str(old_value)
        flag = "--old-value" if old_value else "--no-old-value"
        arguments = ["export", str(files[0]), "--to", str(to), "--format", "ticdc-json", flag]
        result = CliRunner().invoke(app, [*arguments, "--tables", "tidb_test.user"])
        assert result.exit_code == 0, result.output
        lines = (to / "tidb_test.user" / "part-00000.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == found


def test_an_update_of_the_key_is_two_events(mysql: Server) -> None:
    with database(mysql, "tidb_test", USER):
        files = logged(mysql, USERS[3], "UPDATE user SET id = 4, name = 'x' WHERE id = 3")
    for old_value, gone in ((True, name(GO)), (False, None)):
        found = events(files, "ticdc-json", tables="tidb_test.user", old_value=old_value)[1:]
        shown = [(event["columns"], event["pre-columns"]) for event in found]
        assert shown == [(None, [ident(3), gone]), ([ident(4), name("eA==")], None)]
        assert found[0]["commit-ts"] == found[1]["commit-ts"]


def test_flags_of_keys(mysql: Server) -> None:
    """Like TiCDC: all columns of a key, not only the first one."""
    table = (
        "CREATE TABLE keyed (a INT NOT NULL, b INT NOT NULL, c VARCHAR(9), d INT, e INT AS (a + 1)"
        " STORED, f BLOB, UNIQUE KEY (a, b), UNIQUE KEY (c), KEY (d))"
    )
    with database(mysql, "tidb_test", table) as place:
        (shown,) = mysql.query(f"SHOW CREATE TABLE {place}.keyed")
        files = logged(mysql, "INSERT INTO keyed (a, b) VALUES (1, 2)")
    key = 1 | 2 | 16 | 32
    told = [key, key, 16 | 64, 1 | 32 | 64, 1 | 4 | 64, 1 | 64]
    # A log alone contains no other key than the one that the server uses as the primary one.
    untold = [1 | 2 | 8 | 32] * 2 + [64, 1 | 64, 1 | 64, 1 | 64]
    for schemas, flags in (({"tidb_test.keyed": shown[1]}, told), (None, untold)):
        (event,) = events(files, "ticdc-json", tables="tidb_test.keyed", schemas=schemas)
        assert [column["flag"] for column in event["columns"]] == flags
        assert event["row-id"] == 0  # its key is not an integer


# ------------------------------------------------------------------------------ every type

# Each column: its definition, the value in SQL, Debezium's form, TiCDC's type and value.
COLUMNS: dict[str, tuple[str, str, Any, int, Any]] = {
    "ti": ("TINYINT", "-1", -1, 1, -1),
    "tu": ("TINYINT UNSIGNED", "255", 255, 1, 255),
    "si": ("SMALLINT", "-32768", -32768, 2, -32768),
    "mu": ("MEDIUMINT UNSIGNED", "16777215", 16777215, 9, 16777215),
    "iu": ("INT UNSIGNED", "4294967295", 4294967295, 3, 4294967295),
    "bi": ("BIGINT", "-9223372036854775808", -9223372036854775808, 8, -9223372036854775808),
    "bu": ("BIGINT UNSIGNED", "9223372036854775807", 9223372036854775807, 8, 9223372036854775807),
    "bx": ("BIGINT UNSIGNED", "18446744073709551615", -1, 8, 18446744073709551615),
    "f": ("FLOAT", "1.1", 1.1, 4, 1.100000023841858),
    "d": ("DOUBLE", "-0.1", -0.1, 5, -0.1),
    "de": ("DECIMAL(10,2)", "123.45", "MDk=", 246, "123.45"),
    "dn": ("DECIMAL(5,2)", "-0.01", "/w==", 246, "-0.01"),
    "dx": ("DECIMAL(65,30)", "1e34", "GE8D6T/59Nqnl+1uOO1kv2ofAQAAAAAAAAAA", 246, None),
    "b1": ("BIT(1)", "b'1'", True, 16, 1),
    "b10": ("BIT(10)", "b'1000000001'", "AQI=", 16, 513),
    "y": ("YEAR", "2026", 2026, 13, 2026),
    "da": ("DATE", "'1969-12-31'", -1, 10, "1969-12-31"),
    "t": ("TIME(3)", "'-12:34:56.789'", -45296789000, 11, "-12:34:56.789"),
    "t0": ("TIME", "'838:59:59'", 3020399000000, 11, "838:59:59"),
    "dt": ("DATETIME", "'2026-11-21 22:38:01'", 1795300681000, 12, "2026-11-21 22:38:01"),
    "d3": (
        "DATETIME(3)",
        "'2026-11-21 22:38:01.5'",
        1795300681500,
        12,
        "2026-11-21 22:38:01.500",
    ),
    "d6": (
        "DATETIME(6)",
        "'1969-12-31 23:59:59.999999'",
        -1,
        12,
        "1969-12-31 23:59:59.999999",
    ),
    "ts": (
        "TIMESTAMP NULL",
        "'2026-11-21 22:38:01'",
        "2026-11-21T22:38:01Z",
        7,
        "2026-11-21 22:38:01",
    ),
    "ts3": (
        "TIMESTAMP(3) NULL",
        "'2026-11-21 22:38:01.5'",
        "2026-11-21T22:38:01.500Z",
        7,
        "2026-11-21 22:38:01.500",
    ),
    "c": ("CHAR(5)", "'ab'", "ab", 254, "YWI="),
    "v": ("VARCHAR(20)", "'é \\\"\\n😀'", 'é "\n😀', 15, "w6kgIgrwn5iA"),
    "tt": ("TINYTEXT", "'x'", "x", 249, "eA=="),
    "tx": ("TEXT", "'x'", "x", 252, "eA=="),
    "mt": ("MEDIUMTEXT", "'x'", "x", 250, "eA=="),
    "lt": ("LONGTEXT", "''", "", 251, ""),
    "bn": ("BINARY(4)", "X'0102'", "AQIAAA==", 254, "AQIAAA=="),
    "vb": ("VARBINARY(8)", "X'FF'", "/w==", 15, "/w=="),
    "bl": ("BLOB", "X'00'", "AA==", 252, "AA=="),
    "e": ("ENUM('a','ü')", "'ü'", "ü", 247, 2),
    "s": ("SET('a','b','c')", "'a,c'", "a,c", 248, 5),
    "p": (
        "POINT",
        "ST_GeomFromText('POINT(1.5 -2)')",
        {"x": 1.5, "y": -2.0, "wkb": "AQEAAAAAAAAAAAD4PwAAAAAAAADA", "srid": None},
        255,
        "AAAAAAEBAAAAAAAAAAAA+D8AAAAAAAAAwA==",
    ),
    "g": (
        "GEOMETRY",
        "ST_GeomFromText('POINT(1.5 -2)', 3857)",
        {"wkb": "AQEAAAAAAAAAAAD4PwAAAAAAAADA", "srid": 3857},
        255,
        "EQ8AAAEBAAAAAAAAAAAA+D8AAAAAAAAAwA==",
    ),
    "zd": ("DATE NOT NULL", "'0000-00-00'", 0, 10, "0000-00-00"),
    "zn": ("DATETIME", "'2026-00-00 00:00:00'", None, 12, "2026-00-00 00:00:00"),
    "zt": (
        "TIMESTAMP(2) NOT NULL DEFAULT '2000-01-01 00:00:00'",
        "0",
        "1970-01-01T00:00:00Z",
        7,
        "0000-00-00 00:00:00.00",
    ),
}

OF_MYSQL: dict[str, tuple[str, str, Any, int, Any]] = {
    "j": ("JSON", "'{\"a\":[1,null]}'", '{"a": [1, null]}', 245, '{"a": [1, null]}'),
    "ve": ("VECTOR(2)", "STRING_TO_VECTOR('[1,-0.5]')", [1.0, -0.5], 225, "[1.0,-0.5]"),
}

OF_MARIADB: dict[str, tuple[str, str, Any, int, Any]] = {
    "j": ("JSON", "'{\"a\":[1,null]}'", '{"a":[1,null]}', 251, "eyJhIjpbMSxudWxsXX0="),
    "u": (
        "UUID",
        "'6d9b6c4e-0b5b-11ef-9fd7-0800200c9a66'",
        "6d9b6c4e-0b5b-11ef-9fd7-0800200c9a66",
        254,
        None,
    ),
    "i4": ("INET4", "'10.0.0.1'", "10.0.0.1", 254, "MTAuMC4wLjE="),
}


@pytest.fixture(params=["mysql", "mariadb_11_8"])
def server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(str(request.param))
    return server


@pytest.mark.filterwarnings("ignore:.*zero or partial dates")
def test_every_type(server: Server) -> None:
    columns = COLUMNS | (OF_MARIADB if server.is_mariadb else OF_MYSQL)
    definitions = ", ".join(f"{name} {one[0]}" for name, one in columns.items())
    table = f"CREATE TABLE t (id INT PRIMARY KEY, {definitions})"
    with database(server, "typed", table), logging(server) as files:
        values = ", ".join(one[1] for one in columns.values())
        server.execute("SET SESSION sql_mode = '', time_zone = '+00:00'")
        server.execute(f"INSERT INTO t VALUES (1, {values})", "DELETE FROM t")
        nulls = ", ".join(
            "NULL" if "NOT NULL" not in one[0] else one[1] for one in columns.values()
        )
        server.execute(f"INSERT INTO t VALUES (2, {nulls})")
        server.execute("SET SESSION sql_mode = DEFAULT, time_zone = DEFAULT")
        (shown,) = server.query("SHOW CREATE TABLE t")
    keywords = {"tables": "typed.t", "schemas": {"typed.t": shown[1]}}

    full = {"id": 1} | {name: one[2] for name, one in columns.items()}
    insert, delete, empty = events(files, "debezium-json", **keywords)
    assert insert["after"] == delete["before"] == full
    assert list(insert["after"]) == list(full)
    assert (insert["before"], delete["after"]) == (None, None)
    assert [event["op"] for event in (insert, delete, empty)] == ["c", "d", "c"]
    unset = {name: None if "NOT NULL" not in one[0] else one[2] for name, one in columns.items()}
    assert empty["after"] == {"id": 2} | unset

    insert, delete, empty = events(files, "ticdc-json", **keywords)
    told = {one["name"]: (one["type"], one["value"]) for one in insert["columns"][1:]}
    long = {"dx": "1" + "0" * 34 + "." + "0" * 30}
    long["u"] = "NmQ5YjZjNGUtMGI1Yi0xMWVmLTlmZDctMDgwMDIwMGM5YTY2"
    assert told == {n: (one[3], one[4] if n not in long else long[n]) for n, one in columns.items()}
    assert delete["pre-columns"] == insert["columns"]
    for one, (definition, *_, value) in zip(empty["columns"][1:], columns.values(), strict=True):
        assert one["value"] == (value if "NOT NULL" in definition else None)
        assert bool(one["flag"] & 64) == ("NOT NULL" not in definition)
        assert bool(one["flag"] & 128) == ("UNSIGNED" in definition)


# ------------------------------------------------------------------------------ Debezium


def test_where_an_event_comes_from(server: Server) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET utf8mb4)"
    statement = "INSERT INTO t VALUES (1, 'a'), (2, 'b')"
    option = "binlog_annotate_row_events" if server.is_mariadb else "binlog_rows_query_log_events"
    with database(server, "shop", table), logging(server) as files:
        server.execute(f"SET SESSION {option} = ON")
        server.execute(statement)
        (identity,) = (
            server.query("SELECT @@server_id, CONNECTION_ID(), @@GLOBAL.gtid_mode")
            if (not server.is_mariadb)
            else server.query("SELECT @@server_id, CONNECTION_ID(), @@GLOBAL.gtid_binlog_pos")
        )
        server.execute(f"SET SESSION {option} = DEFAULT")
    whole = {**binarrow.event_keywords("debezium-json", query=True), "tables": "shop.t"}
    batch = next(iter(binarrow.read_binlog([str(file) for file in files], **whole)))
    lines = batch.to_events("debezium-json", source_name="s", processed_ms=7).decode().splitlines()
    first, second = (json.loads(line) for line in lines)
    row = batch.to_pyarrow().slice(0, 1).to_pylist()[0]
    assert list(first) == ["before", "after", "source", "op", "ts_ms", "transaction"]
    assert (first["ts_ms"], first["transaction"]) == (7, None)
    server_id, thread, _ = identity
    assert first["source"] == {
        "version": binarrow.__version__,
        "connector": "mariadb" if server.is_mariadb else "mysql",
        "name": "s",
        "ts_ms": int(row["_commit_timestamp"].timestamp() * 1000),
        "snapshot": "false",
        "db": "shop",
        "table": "t",
        "server_id": server_id,
        "gtid": row["_gtid"],
        "file": files[0].name,
        "pos": row["_binlog_position"],
        "row": 0,
        "thread": thread,
        "query": statement,
    }
    assert list(first["source"])[-4:] == ["pos", "row", "thread", "query"]
    assert row["_gtid"]
    assert second["source"] == first["source"] | {"row": 1}
    (plain, _) = events(files, "debezium-json", tables="shop.t")
    assert plain["source"]["query"] is None


def test_updates(mysql: Server) -> None:
    with database(mysql, "shop", USER):
        files = logged(mysql, *USERS[3:], "UPDATE user SET id = 4 WHERE id = 3")
    found = events(files, "debezium-json", tables="shop.user")
    old, new = {"id": 3, "name": "go"}, {"id": 3, "name": "java"}
    assert [(event["op"], event["before"], event["after"]) for event in found] == [
        ("c", None, old),
        ("u", old, new),
        ("d", new, None),
        ("c", None, {"id": 4, "name": "java"}),
    ]


def test_columns_that_an_image_left_out(mysql: Server) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, v INT, d DATE NOT NULL)"
    with database(mysql, "shop", table):
        mysql.execute("INSERT INTO t VALUES (1, 2, '2026-11-21')")
        minimal = "SET SESSION binlog_row_image = MINIMAL"
        files = logged(mysql, minimal, "UPDATE t SET v = 3", "SET SESSION binlog_row_image = FULL")
    (event,) = events(files, "debezium-json", tables="shop.t")
    nothing = {"id": None, "v": None, "d": None}
    assert (event["before"], event["after"]) == (nothing | {"id": 1}, nothing | {"v": 3})
    (event,) = events(files, "ticdc-json", tables="shop.t")
    values = [one and one["value"] for one in event["columns"]]
    assert (values, event["pre-columns"][1:]) == ([None, 3, None], [None, None])
    assert event["columns"][0] is None


def test_batches_that_were_read_otherwise(mysql: Server) -> None:
    with database(mysql, "shop", USER):
        files = logged(mysql, USERS[0])
    path = str(files[0])
    (flat,) = binarrow.read_binlog(path, tables="shop.user")
    with pytest.raises(binarrow.ConfigError, match="event_keywords"):
        flat.to_events("ticdc-json")
    other = binarrow.event_keywords("ticdc-json")
    (of_ticdc,) = binarrow.read_binlog(path, tables="shop.user", **other)
    with pytest.raises(binarrow.ConfigError, match="event_keywords"):
        of_ticdc.to_events("debezium-json")
    with pytest.raises(binarrow.ConfigError, match="ticdc-json and debezium-json"):
        of_ticdc.to_events("avro")  # type: ignore[arg-type]
    assert pa.types.is_struct(of_ticdc.schema.field("after").type)
