"""Statements that empty or replace a table, in the stream of its rows."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute
import pytest

import binarrow
from support.servers.servers import Server

pytestmark = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("_change_type", pa.string()),
        ("_commit_version", pa.int64()),
        ("_commit_timestamp", pa.timestamp("us", "UTC")),
        ("_change_ordinal", pa.int64()),
        ("_present", pa.binary()),
    ]
)
MAKE = "CREATE TABLE emptied.t (id INT PRIMARY KEY)"
ENVELOPE = ("change_type", "commit_version", "commit_timestamp", "change_ordinal", "present")


@pytest.fixture
def played(server: Server):
    """Plays statements in a file of the log that holds nothing else, and gives the file."""
    server.execute("CREATE DATABASE emptied", MAKE)

    def play(*statements: str) -> str:
        server.flush_binlog()
        server.execute("USE emptied", *statements)
        return str(server.flush_binlog())

    yield play
    server.execute("DROP DATABASE IF EXISTS emptied")


def read(log: str, truncates: str, **keywords):
    with binarrow.read_binlog(log, envelope=ENVELOPE, **keywords) as reader:
        return reader.table("emptied.t", schema=SCHEMA, truncates=truncates).read_all()


def kinds(table: pa.Table) -> list[str]:
    return [
        f"{'+' if kind == 'insert' else '-' if kind == 'delete' else kind}{'' if key is None else key}"
        for kind, key in zip(
            *(table[name].to_pylist() for name in ("_change_type", "id")), strict=True
        )
    ]


def test_what_empties_it(server, played):
    replaces = ("CREATE OR REPLACE TABLE t (id INT PRIMARY KEY) SELECT 7 AS id",)
    log = played(
        "INSERT INTO t VALUES (1)",
        "TRUNCATE t",
        "INSERT INTO t VALUES (2)",
        "DROP TABLE t",
        MAKE,
        "INSERT INTO t VALUES (3)",
        *(replaces if server.is_mariadb else ("DROP TABLE t", f"{MAKE} SELECT 7 AS id")),
        "RENAME TABLE t TO gone",
        MAKE,
        "INSERT INTO t VALUES (4)",
        "DROP DATABASE emptied",
    )
    expected = [
        "+1",
        "truncate",
        "+2",
        "truncate",
        "+3",
        "truncate",
        "+7",
        "truncate",
        "+4",
        "truncate",
    ]
    rows = read(log, "emit")
    assert kinds(rows) == expected
    assert kinds(read(log, "emit", batch_rows=1, threads=3)) == expected
    assert kinds(read(log, "skip")) == ["+1", "+2", "+3", "+7", "+4"]
    places = list(zip(*(rows[f"_{name}"].to_pylist() for name in ENVELOPE[1::2]), strict=True))
    assert places == sorted(set(places))
    assert rows["_commit_timestamp"].null_count == 0
    for row in rows.filter(pa.compute.equal(rows["_change_type"], "truncate")).to_pylist():
        assert (row["_change_ordinal"], row["_present"], row["id"]) == (-1, None, None)
    with pytest.raises(
        binarrow.SchemaError, match=r"emptied by TRUNCATE, after .*truncates='emit'"
    ):
        read(log, "error")


def test_what_gives_it_other_rows(played):
    played(
        "DROP TABLE t",
        f"{MAKE} PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9), PARTITION q VALUES LESS THAN (99))",
    )
    for statement, by in (
        ("ALTER TABLE t TRUNCATE PARTITION p", "TRUNCATE PARTITION"),
        ("ALTER TABLE t DROP PARTITION p", "DROP PARTITION"),
        ("RENAME TABLE t TO away, other TO t", "RENAME"),
    ):
        log = played(
            "CREATE TABLE other (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", statement
        )
        for truncates in ("error", "emit"):
            with pytest.raises(binarrow.SchemaError, match=by):
                read(log, truncates)
        with pytest.warns(binarrow.BinarrowWarning, match=f"other rows by .*{by}"):
            assert kinds(read(log, "skip")) == ["+1"]
        played("DELETE FROM t", "DROP TABLE IF EXISTS other, away")


def test_tools_that_put_a_copy_in_its_place(played):
    log = played(
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE _t_gho LIKE t",
        "INSERT INTO _t_gho SELECT * FROM t",
        "rename /* gh-ost */ table t to _t_del, _t_gho to t",
        "DROP TABLE _t_del",
        "INSERT INTO t VALUES (2)",
    )
    assert kinds(read(log, "error")) == ["+1", "+2"]


def test_what_is_refused(played):
    log = played("INSERT INTO t VALUES (1)")
    with pytest.raises(binarrow.ConfigError, match="with schema="):
        binarrow.read_binlog(log).table("emptied.t", truncates="emit")
    bare = pa.schema([("id", pa.int32())])
    with pytest.raises(binarrow.ConfigError, match="column _change_type"):
        binarrow.read_binlog(log).table("emptied.t", truncates="emit", schema=bare)
    with pytest.raises(binarrow.ConfigError, match="truncates must be one of"):
        binarrow.read_binlog(log).table("emptied.t", truncates="drop")


def test_in_the_nested_layout(played):
    log = played("INSERT INTO t VALUES (1)", "TRUNCATE t")
    nested = binarrow.infer_schema(log, "emptied.t", layout="nested")
    reader = binarrow.read_binlog(log, layout="nested")
    rows = reader.table("emptied.t", schema=nested, truncates="emit").read_all().to_pylist()
    assert [(row["_op"], row["before"], row["after"]) for row in rows] == [
        ("c", None, {"id": 1}),
        ("t", None, None),
    ]


def test_among_documents_of_many_tables(server, played):
    log = played(
        "CREATE TABLE u (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO u VALUES (1)",
        "TRUNCATE t",
        "INSERT INTO t VALUES (2)",
        "DROP TABLE u",
        "DROP DATABASE emptied",
    )

    def documents(truncates: str, **keywords):
        with binarrow.read_binlog(
            log, tables="emptied.*", envelope=ENVELOPE[1:4], **{"types": "spark", **keywords}
        ) as reader:
            rows = reader.nested_json(truncates=truncates).read_all().to_pylist()
        return [(row["_table"], row["_op"], row["after"]) for row in rows], rows

    expected = [
        ("t", "c", '{"id":1}'),
        ("u", "c", '{"id":1}'),
        ("t", "t", None),
        ("t", "c", '{"id":2}'),
        ("u", "t", None),
        (None, "t", None),
    ]
    found, rows = documents("emit")
    assert found == expected
    assert documents("emit", batch_rows=1, threads=3)[0] == expected
    places = [(row["_commit_version"], row["_change_ordinal"]) for row in rows]
    assert places == sorted(set(places))
    assert all(row["_database"] == "emptied" and row["_commit_timestamp"] for row in rows)
    variant = binarrow.TypeOptions(profile="spark", json="variant")
    assert [op for _, op, _ in documents("emit", types=variant)[0]] == [
        "c",
        "c",
        "t",
        "c",
        "t",
        "t",
    ]
    assert documents("skip")[0] == [row for row in expected if row[1] == "c"]

    reader = binarrow.read_binlog(log, tables="emptied.*", types="spark").nested_json(
        truncates="error"
    )
    batches = iter(reader)
    assert next(batches).num_rows == 2  # what was there before it
    with pytest.raises(binarrow.SchemaError, match=r"emptied\.t is emptied by TRUNCATE"):
        next(batches)


def test_statements_that_alter_tables_among_documents(server, played):
    """Statements that create tables, drop or rename columns, convert values or replace rows return rows."""
    log = played(
        # The log does not contain the types before.
        "ALTER TABLE t MODIFY COLUMN id BIGINT UNSIGNED AUTO_INCREMENT COMMENT 'no other values'",
        "SET SESSION sql_mode = ''",
        "ALTER TABLE t MODIFY COLUMN ID INT",
        "ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT, ADD COLUMN `C` DATETIME(6)",
        "INSERT INTO t VALUES (1, 2, 3, NULL)",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t ADD COLUMN a INT",
        'ALTER TABLE t CHANGE COLUMN b `d"` INT, ALGORITHM = INPLACE',
        "ALTER TABLE t MODIFY COLUMN `C` DATETIME",
        "CREATE TABLE other LIKE t",
        "ALTER TABLE other DROP COLUMN a",
        "RENAME TABLE t TO u, other TO t",
    )

    def documents(truncates: str, tables: str = "emptied.t", **keywords):
        with binarrow.read_binlog(log, tables=tables, **{"types": "spark", **keywords}) as read:
            rows = read.nested_json(truncates=truncates).read_all().to_pylist()
        return [(row["_op"], row["after"] and json.loads(row["after"])) for row in rows]

    def altered(
        *dropped: str,
        changes_rows: bool = False,
        is_created: bool = False,
        converted: tuple[str, ...] = (),
        types: dict[str, object] | None = None,
        **renamed: str,
    ) -> tuple[str, object]:
        columns = {
            "is_created": is_created,
            "converted_columns": [*converted],
            "converted_types": types or {},
            "dropped_columns": [*dropped],
            "renamed_columns": renamed,
        }
        return "a", {"changes_rows": changes_rows, **columns}

    def new_type(kind: str, *, nullable: bool, auto_increment: bool) -> dict[str, object]:
        new = {"type": kind, "charset": None, "nullable": nullable, "members": []}
        return {"id": {**new, "auto_increment": auto_increment}}

    first = new_type("bigint unsigned", nullable=False, auto_increment=True)
    second = new_type("int", nullable=True, auto_increment=False)
    assert documents("emit_all") == [
        altered(changes_rows=True, converted=("id",), types=first),
        altered(changes_rows=True, converted=("id",), types=second),
        ("c", {"ID": 1, "a": 2, "b": 3, "C": None}),
        altered("a"),
        altered(changes_rows=True, converted=("a",)),  # another column gets the name
        altered(b='d"'),
        altered(changes_rows=True, converted=("c",)),  # seconds are rounded
        altered(changes_rows=True),  # another table gets the name
    ]
    assert documents("emit_all", "emptied.other") == [
        altered(is_created=True),
        altered("a"),
        ("t", None),
    ]
    with pytest.raises(binarrow.SchemaError, match="may get other values by ALTER TABLE"):
        documents("emit")
    variant = binarrow.TypeOptions(profile="spark", json="variant")
    with pytest.raises(binarrow.ConfigError, match="leave out json='variant'"):
        documents("emit_all", types=variant)
    with pytest.raises(binarrow.ConfigError, match="truncates must be one of"):
        read(log, "emit_all")


def test_bits_of_a_given_schema(server, played):
    """The bits of `_present` are those of the schema's columns, whatever columns the table had when."""
    image = "SET SESSION binlog_row_image = MINIMAL"
    log = played(
        "ALTER TABLE t ADD COLUMN (a INT, b INT)",
        image,
        "INSERT INTO t VALUES (1, 2, 3)",
        "UPDATE t SET b = 5",
        "ALTER TABLE t DROP COLUMN a, ADD COLUMN c INT FIRST",
        "UPDATE t SET c = 6",
        "UPDATE t SET b = 7, c = 8",
        "SET SESSION binlog_row_image = FULL",
    )
    names = ("b", "C", "id")
    fields = [pa.field(name, pa.int32()) for name in names]
    bits = pa.schema([*fields, *list(SCHEMA)[1:]])
    reader = binarrow.read_binlog(log, envelope=ENVELOPE, old_value=False)
    table = reader.table("emptied.t", schema=bits, on_schema_change="conform")
    with pytest.warns(binarrow.BinarrowWarning, match="column a is not"):
        rows = table.read_all().to_pylist()
    told = [{name for i, name in enumerate(names) if row["_present"][0] >> i & 1} for row in rows]
    assert told == [{"b", "id"}, {"b", "id"}, {"C", "id"}, {"b", "C", "id"}]
    assert all(len(row["_present"]) == 1 for row in rows)
