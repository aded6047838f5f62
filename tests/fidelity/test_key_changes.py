"""Changes of keys, and changes that are none; old values that are read but not returned."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from support.logged import database
from support.servers.servers import Server

CI = "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL"  # PAD SPACE


@dataclass
class Update:
    """A table with one row `(k, n)`, what is set, and whether that changes the key."""

    name: str
    columns: str
    row: str
    set_: str
    changed: bool
    servers: tuple[str, ...] = ("mysql", "mariadb")


UPDATES = [
    Update("another_column", f"k {CI}, n INT, PRIMARY KEY (k)", "'go', 1", "n = 2", False),
    Update("same_value", f"k {CI}, n INT, PRIMARY KEY (k)", "'go', 1", "k = 'go', n = 2", False),
    Update("letter_case", f"k {CI}, n INT, PRIMARY KEY (k)", "'go', 1", "k = 'Go'", True),
    Update("accent", f"k {CI}, n INT, PRIMARY KEY (k)", "'go', 1", "k = 'gö'", True),
    Update("trailing_space", f"k {CI}, n INT, PRIMARY KEY (k)", "'go', 1", "k = 'go '", True),
    Update(
        "behind_the_prefix", f"k {CI}, n INT, PRIMARY KEY (k(2))", "'go', 1", "k = 'gone'", True
    ),
    Update("empty", f"k {CI}, n INT, PRIMARY KEY (k)", "'go', 1", "k = ''", True),
    Update("number", "k INT PRIMARY KEY, n INT", "1, 1", "k = -1", True),
    Update("decimal_same", "k DECIMAL(5,2) PRIMARY KEY, n INT", "1.5, 1", "k = 1.50, n = 2", False),
    Update(
        "negative_zero", "k DOUBLE PRIMARY KEY, n INT", "0e0, 1", "k = -1 * k", True, ("mysql",)
    ),
    Update(
        "fraction",
        "k DATETIME(6) PRIMARY KEY, n INT",
        "'2026-01-01', 1",
        "k = k + INTERVAL 1 MICROSECOND",
        True,
    ),
    Update("enum", "k ENUM('a','b') PRIMARY KEY, n INT", "'a', 1", "k = 'b'", True),
    Update("set", "k SET('a','b') PRIMARY KEY, n INT", "'a', 1", "k = 'a,b'", True),
    Update("bits", "k BIT(3) PRIMARY KEY, n INT", "b'101', 1", "k = b'111'", True),
    Update("blob", "k BLOB NOT NULL, n INT, PRIMARY KEY (k(4))", "x'00', 1", "k = x'0000'", True),
    Update(
        "blob_behind", "k BLOB NOT NULL, n INT, PRIMARY KEY (k(1))", "'ab', 1", "k = 'ac'", True
    ),
    Update("blob_same", "k BLOB NOT NULL, n INT, PRIMARY KEY (k(1))", "'ab', 1", "n = 2", False),
    Update("second_part", "k INT, n INT, m INT, PRIMARY KEY (n, k)", "1, 1, 1", "k = 2", True),
    Update("no_part", "k INT, n INT, m INT, PRIMARY KEY (n, k)", "1, 1, 1", "m = 2", False),
    Update("unique", f"k {CI}, n INT, UNIQUE (k)", "'go', 1", "k = 'GO'", True),
    Update("not_unique_key", f"k {CI}, n INT, UNIQUE (k)", "'go', 1", "n = 2", False),
    Update(
        "primary_first", "k INT NOT NULL, n INT PRIMARY KEY, UNIQUE (k)", "1, 1", "k = 2", False
    ),
    # A UNIQUE key that may be NULL identifies no row: the complete row is the key.
    Update("null_to_empty", "k VARCHAR(9), n INT, UNIQUE (k)", "NULL, 1", "k = ''", True),
    Update("empty_to_null", "k VARCHAR(9), n INT, UNIQUE (k)", "'', 1", "k = NULL", True),
    Update("nullable_unique", "k VARCHAR(9), n INT, UNIQUE (k)", "'go', 1", "n = 2", True),
    Update(
        "half_nullable", "k INT NOT NULL, n INT, m INT, UNIQUE (k, n)", "1, 1, 1", "m = 2", True
    ),
    Update(
        "second_unique", "k INT NOT NULL, n INT, UNIQUE (n), UNIQUE (k)", "1, 1", "n = 2", False
    ),
    Update(
        "second_unique_changed",
        "k INT NOT NULL, n INT, UNIQUE (n), UNIQUE (k)",
        "1, 1",
        "k = 2",
        True,
    ),
    Update("none", "k INT, n INT", "1, NULL", "n = 0", True),
    Update(
        "generated",
        f"k {CI}, n INT, low VARCHAR(10) COLLATE utf8mb4_bin AS (LOWER(k)) STORED NOT NULL PRIMARY KEY",
        "'go', 1, DEFAULT",
        "k = 'GO'",
        False,
        ("mysql",),
    ),
    Update(
        "generated_changed",
        f"k {CI}, n INT, low VARCHAR(10) COLLATE utf8mb4_bin AS (LOWER(k)) STORED NOT NULL PRIMARY KEY",
        "'go', 1, DEFAULT",
        "k = 'up'",
        True,
        ("mysql",),
    ),
]

KINDS = {
    (True, True): ["delete", "insert"],
    (True, False): ["update_preimage", "update_postimage"],
    (False, True): ["delete", "insert"],
    (False, False): ["update_postimage"],
}
"""By `old_value` and whether the key changed."""


@pytest.fixture(scope="module", params=["mysql", "mariadb"])
def played(request: pytest.FixtureRequest) -> Any:
    """The server's name, its log with all updates, the structures of the tables."""
    flavor = request.param
    server: Server = request.getfixturevalue({"mysql": "mysql", "mariadb": "mariadb_11_8"}[flavor])
    with database(server, "changed"):
        for update in UPDATES:
            if flavor in update.servers:
                server.execute(
                    f"CREATE TABLE changed.{update.name} ({update.columns}) DEFAULT CHARSET utf8mb4",
                    f"INSERT INTO changed.{update.name} VALUES ({update.row})",
                    f"UPDATE changed.{update.name} SET {update.set_}",
                )
        tables = [update.name for update in UPDATES if flavor in update.servers]
        schemas = {
            f"changed.{table}": server.query(f"SHOW CREATE TABLE changed.{table}")[0][1]
            for table in tables
        }
        log = str(server.flush_binlog())
        return flavor, log, schemas


def kinds(log: str, schemas: dict[str, str], **keywords: Any) -> dict[str, list[str]]:
    """The change types of each table's rows, except the first row, which was inserted."""
    found: dict[str, list[str]] = {}
    for batch in binarrow.read_binlog(log, tables="changed.*", schemas=schemas, **keywords):
        column = batch.to_pyarrow().column("_change_type")
        found.setdefault(batch.table, []).extend(column.to_pylist())
    return {table: rows[1:] for table, rows in found.items()}


@pytest.mark.parametrize("old_value", [True, False])
def test_what_changes_a_key(played: Any, old_value: bool) -> None:
    flavor, log, schemas = played
    expected = {
        update.name: KINDS[old_value, update.changed]
        for update in UPDATES
        if flavor in update.servers
    }
    assert kinds(log, schemas, old_value=old_value) == expected


def test_a_key_that_is_not_asked_for_decides_all_the_same(played: Any) -> None:
    """`columns` leaves it out, `mask` hides it: the change of the key is found before that."""
    flavor, log, schemas = played
    expected = {u.name: KINDS[True, u.changed] for u in UPDATES if flavor in u.servers}
    columns = dict.fromkeys(schemas, ("n",))
    assert kinds(log, schemas, columns=columns) == expected
    masks = {f"{table}.k": "null" for table in schemas}
    assert kinds(log, schemas, mask=masks) == expected


OLD, NEW = "an old value that stays inside", "its new value"


def held(log: str, **keywords: Any) -> tuple[list[dict[str, Any]], bytes]:
    """The rows of `seed.user`, and all bytes that came out with them."""
    rows: list[dict[str, Any]] = []
    file = io.BytesIO()
    for batch in binarrow.read_binlog(log, tables="seed.user", **keywords):
        data = batch.to_pyarrow()
        rows += data.to_pylist()
        with pa.ipc.new_stream(file, data.schema) as stream:
            stream.write_batch(data)
    return rows, file.getvalue()


@pytest.mark.parametrize("layout", ["flat", "nested"])
@pytest.mark.parametrize("row_image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.parametrize("flavor", ["mysql", "mariadb_11_8"])
def test_old_values_are_read_to_find_a_changed_key_and_dropped_on_the_way_out(
    flavor: str, row_image: str, layout: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(flavor)
    with database(server, "seed"):
        server.execute(
            f"SET SESSION binlog_row_image = {row_image}",
            f"CREATE TABLE seed.user (name {CI} PRIMARY KEY, secret VARCHAR(100)) DEFAULT CHARSET utf8mb4",
            f"INSERT INTO seed.user VALUES ('go', '{OLD}')",
        )
        server.flush_binlog()
        server.execute(
            f"UPDATE seed.user SET name = 'GO', secret = '{NEW}'",  # one row, one key to the server
            f"UPDATE seed.user SET secret = '{OLD}'",
            f"UPDATE seed.user SET secret = '{NEW}'",
            "DELETE FROM seed.user",
            "SET SESSION binlog_row_image = FULL",
        )
        log = server.flush_binlog()
    assert OLD.encode() in log.read_bytes()

    rows, out = held(str(log), old_value=False, layout=layout, envelope=["change_type"])
    split = row_image != "MINIMAL"  # (NOBLOB leaves out no VARCHAR)
    if layout == "flat":
        assert [tuple(row.values()) for row in rows] == [
            ("go", None, "delete"),
            ("GO", NEW, "insert" if split else "update_postimage"),
            ("GO", OLD, "update_postimage"),
            ("GO", NEW, "update_postimage"),
            ("GO", None, "delete"),
        ]
    else:
        assert [(row["_op"], row["before"], row["after"]) for row in rows] == [
            ("d", {"name": "go", "secret": None}, None),
            ("c" if split else "u", None, {"name": "GO", "secret": NEW}),
            ("u", None, {"name": "GO", "secret": OLD}),
            ("u", None, {"name": "GO", "secret": NEW}),
            ("d", {"name": "GO", "secret": None}, None),
        ]
    assert out.count(OLD.encode()) == 1, "where it is the new value, and nowhere else"
    assert out.count(NEW.encode()) == 2

    rows, out = held(str(log), old_value=True, layout=layout)
    expected = {"FULL": 7, "NOBLOB": 7, "MINIMAL": 3}
    assert out.count(OLD.encode()) + out.count(NEW.encode()) == expected[row_image]


def rows(log: str, table: str, **keywords: Any) -> list[tuple[Any, ...]]:
    """A table's rows: what they are called, their cells, which of them the image held."""
    found = []
    for batch in binarrow.read_binlog(
        log, tables=table, envelope=["change_type", "present"], **keywords
    ):
        for row in batch.to_pyarrow().to_pylist():
            *row_cells, kind, present = row.values()
            held = "".join(str(present[0] >> bit & 1) for bit in range(len(row_cells)))
            found.append((kind, *row_cells, held))
    return found


def test_after_images_without_what_is_as_it_was(mariadb_11_8: Server) -> None:
    """`FULL_NODUP`: complete rows before a change, and the changed columns after it."""
    with database(mariadb_11_8, "nodup"):
        mariadb_11_8.execute(
            "CREATE TABLE nodup.t (id INT PRIMARY KEY, n INT, note TEXT)",
            "SET SESSION binlog_row_image = FULL_NODUP",
        )
        mariadb_11_8.flush_binlog()
        mariadb_11_8.execute(
            "INSERT INTO nodup.t VALUES (1, 1, 'x')",
            "UPDATE nodup.t SET n = 2",
            "UPDATE nodup.t SET id = 5, note = NULL",
            "DELETE FROM nodup.t",
            "SET SESSION binlog_row_image = FULL",
        )
        log = str(mariadb_11_8.flush_binlog())
    assert rows(log, "nodup.t") == [
        ("insert", 1, 1, "x", "111"),
        ("update_preimage", 1, 1, "x", "111"),
        ("update_postimage", None, 2, None, "010"),
        ("update_preimage", 1, 2, "x", "111"),
        ("update_postimage", 5, None, None, "101"),
        ("delete", 5, 2, None, "111"),
    ]
    assert rows(log, "nodup.t", old_value=False) == [
        ("insert", 1, 1, "x", "111"),
        ("update_postimage", 1, 2, None, "110"),
        ("delete", 1, None, None, "100"),
        ("update_postimage", 5, None, None, "101"),
        ("delete", 5, None, None, "100"),
    ]


def test_a_key_that_nobody_sees(mysql: Server) -> None:
    """MySQL makes a primary key of its own for a table without one, and a column of a key may be invisible."""
    with database(mysql, "hidden"):
        mysql.execute(
            "SET SESSION sql_generate_invisible_primary_key = ON",
            "CREATE TABLE hidden.made (n INT)",
            "SET SESSION sql_generate_invisible_primary_key = OFF",
            "CREATE TABLE hidden.own (n INT, id INT INVISIBLE PRIMARY KEY)",
        )
        mysql.flush_binlog()
        mysql.execute(
            "INSERT INTO hidden.made VALUES (7)",
            "UPDATE hidden.made SET n = 8",
            "UPDATE hidden.made SET my_row_id = 3",
            "DELETE FROM hidden.made",
            "INSERT INTO hidden.own (n, id) VALUES (7, 1)",
            "UPDATE hidden.own SET n = 8",
            "UPDATE hidden.own SET id = 3",
            "DELETE FROM hidden.own",
        )
        log = str(mysql.flush_binlog())
    made = [
        ("insert", 1, 7, "11"),
        ("update_postimage", 1, 8, "11"),
        ("delete", 1, None, "10"),
        ("insert", 3, 8, "11"),
        ("delete", 3, None, "10"),
    ]
    own = [(kind, n, key, held[::-1]) for kind, key, n, held in made]
    assert rows(log, "hidden.made", old_value=False) == made
    assert rows(log, "hidden.own", old_value=False) == own


@pytest.mark.parametrize("row_image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("flavor", ["mysql", "mariadb_11_8"])
def test_a_log_that_does_not_tell_the_key(
    flavor: str, row_image: str, request: pytest.FixtureRequest
) -> None:
    """The complete row is the key, as far as the images contain it; `schemas` provides a better one."""
    server: Server = request.getfixturevalue(flavor)
    with database(server, "untold"):
        structure = "CREATE TABLE untold.t (id INT PRIMARY KEY, n INT, m INT)"
        metadata = server.query("SELECT @@GLOBAL.binlog_row_metadata")[0][0]
        server.execute(
            "SET GLOBAL binlog_row_metadata = MINIMAL",
            f"SET SESSION binlog_row_image = {row_image}",
            structure,
            "INSERT INTO untold.t VALUES (1, 1, 1)",
        )
        server.flush_binlog()
        server.execute(
            "UPDATE untold.t SET n = 2",
            "UPDATE untold.t SET id = 5",
            "DELETE FROM untold.t",
            "SET SESSION binlog_row_image = FULL",
            f"SET GLOBAL binlog_row_metadata = {metadata}",
        )
        log = str(server.flush_binlog())
    told = {"schemas": {"untold.t": structure}}
    untold = {"column_names": "positional"}
    if row_image == "FULL":
        assert rows(log, "untold.t", old_value=False, **untold) == [
            ("delete", 1, 1, 1, "111"),
            ("insert", 1, 2, 1, "111"),
            ("delete", 1, 2, 1, "111"),
            ("insert", 5, 2, 1, "111"),
            ("delete", 5, 2, 1, "111"),
        ]
        assert rows(log, "untold.t", old_value=False, **told) == [
            ("update_postimage", 1, 2, 1, "111"),
            ("delete", 1, None, None, "100"),
            ("insert", 5, 2, 1, "111"),
            ("delete", 5, None, None, "100"),
        ]
    else:  # what the server takes for the key is what it logs of the row before
        expected = [
            ("update_postimage", 1, 2, None, "110"),
            ("delete", 1, None, None, "100"),
            ("update_postimage", 5, None, None, "100"),
            ("delete", 5, None, None, "100"),
        ]
        assert rows(log, "untold.t", old_value=False, **untold) == expected
        assert rows(log, "untold.t", old_value=False, **told) == expected
