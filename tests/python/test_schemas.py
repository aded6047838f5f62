"""The keyword `schemas` and the option `--schemas`, over a log that names no columns."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app

STATEMENT = "CREATE TABLE `a` (`id` int unsigned NOT NULL, `t` varchar(40) DEFAULT NULL, PRIMARY KEY (`id`))"
DUMP = f"-- MySQL dump\nUSE `d`;\n{STATEMENT};\n"


@pytest.fixture
def log(repository: Path) -> str:
    return str(repository / "tests/fixtures/mysql-minimal-metadata/binlog.000001")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "d.sql"
    path.write_text(DUMP)
    return path


def names(log: str, schemas: object, **keywords: object) -> list[str]:
    schema = binarrow.infer_schema(log, "d.a", schemas=schemas, **keywords)
    return [name for name in schema.names if not name.startswith("_")]


def test_every_form(log: str, dump: Path) -> None:
    other = "USE other; CREATE TABLE a (id int);"
    for schemas in (
        {"d.a": STATEMENT},
        {"d.a": STATEMENT.encode()},
        {"d.a": bytearray(STATEMENT, "utf-8")},
        {"d.a": STATEMENT.replace("`a`", "renamed.`x`")},
        DUMP,
        DUMP.encode(),
        dump,
        [DUMP, other],
        [other.encode(), dump],
    ):
        assert names(log, schemas) == ["id", "t"]
        table = binarrow.read_binlog(log, schemas=schemas).table("d.a").read_all()
        assert table.column("id").type == pa.uint32()
        assert table.num_rows == 5


@pytest.mark.parametrize("schemas", [7, {"d.a": 7}, {7: DUMP}, [DUMP, 7]], ids=repr)
def test_what_is_no_sql(log: str, schemas: object) -> None:
    with pytest.raises(TypeError, match=r"schemas.* is SQL .*os\.PathLike"):
        binarrow.read_binlog(log, schemas=schemas)


def test_without_it_the_error_names_it(log: str) -> None:
    with pytest.raises(binarrow.SchemaError, match=r"d\.a.* schemas=") as caught:
        list(binarrow.read_binlog(log))
    assert "binlog_row_metadata=FULL" in str(caught.value)
    for schemas, words in (
        ({"d.b": STATEMENT}, "without this table"),
        ({"D.A": STATEMENT}, "call D.A in schemas= by its name in the log"),
    ):
        with pytest.raises(binarrow.SchemaError, match=words):
            list(binarrow.read_binlog(log, schemas=schemas))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("id int unsigned", "log has 2 columns, the given structure 1"),
        ("id int unsigned, t varchar(40), x int", "log has 2 columns, the given structure 3"),
        ("id int, t varchar(40)", "column 1 `id` is int there and int unsigned in the log"),
        ("id bigint unsigned, t varchar(40)", "column 1 `id` is bigint unsigned there"),
        ("id int unsigned, t text", "column 2 `t` is text there and varchar"),
        ("id int unsigned, t varchar(41)", "column 2 `t` is varchar"),
        ("id int unsigned, t varchar(160) charset latin1", "column 2 `t`"),
    ],
)
def test_a_statement_that_does_not_fit(log: str, columns: str, message: str) -> None:
    schemas = {"d.a": f"CREATE TABLE a ({columns}) DEFAULT CHARSET=utf8mb4"}
    with pytest.raises(binarrow.SchemaError) as caught:
        list(binarrow.read_binlog(log, schemas=schemas))
    assert message in str(caught.value)
    assert "d.a" in str(caught.value)
    assert caught.value.file is not None
    assert Path(caught.value.file).name == "binlog.000001"
    assert caught.value.offset


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE a (id int unsigned,\n t wobbly)", r"CREATE TABLE d\.a, line 2: .*`wobbly`"),
        ("CREATE TABLE a LIKE b", "LIKE"),
        ("CREATE TABLE a (LIKE b)", "no columns"),
        ("CREATE TABLE a AS SELECT 1 AS id, 'secret' AS t", r"`\(` is missing"),
        ("CREATE TABLE a (id int) SELECT 'secret' AS t", "columns come from a SELECT"),
        ("CREATE TABLE a (id int", r"line 1: `\)` is missing near the end"),
        ("CREATE TABLE a (id int DEFAULT 'secret", "line 1.*without its end"),
        ("CREATE TABLE a (id int) /* not closed", "line 1.*comment without its end"),
        ("CREATE VIEW a AS SELECT 1", "must be one CREATE TABLE statement"),
        ("CREATE TABLE a (id int, ID int)", "column `ID` is defined twice"),
        ("", "must be one CREATE TABLE statement"),
    ],
)
def test_a_statement_that_is_not_understood(log: str, text: str, message: str) -> None:
    with pytest.raises((binarrow.SchemaError, binarrow.ConfigError), match=message) as caught:
        binarrow.read_binlog(log, schemas={"d.a": text})
    assert "secret" not in str(caught.value)
    # in a dump it only matters to the table's own rows
    if text.startswith("CREATE TABLE") and "end" not in message:
        dump = f"USE d; {text};\nUSE other; {STATEMENT};"
        with pytest.raises(binarrow.SchemaError, match=message):
            names(log, dump)
        assert list(binarrow.read_binlog(log, schemas=dump, exclude_tables="d.a")) == []


def test_bytes_that_are_not_utf8(log: str, tmp_path: Path) -> None:
    default = b"CREATE TABLE a (id int unsigned DEFAULT 1, t varchar(40) DEFAULT '\xff\xfe')"
    assert names(log, {"d.a": default}) == ["id", "t"]
    name = "CREATE TABLE a (größe int unsigned, t varchar(40))".encode("latin1")
    with pytest.raises(binarrow.SchemaError, match="not UTF-8"):
        names(log, {"d.a": name})
    with pytest.raises(binarrow.ConfigError, match="--result-file"):
        names(log, DUMP.encode("utf-16"))
    with pytest.raises(binarrow.MissingInputError, match=r"missing\.sql"):
        names(log, tmp_path / "missing.sql")


def test_members_that_servers_cannot_print(log: str) -> None:
    dump = f"{DUMP} CREATE TABLE b (e enum('?', 'a'));"
    with pytest.warns(UserWarning, match=r"d\.b\.e contains '\?'"):
        binarrow.read_binlog(log, schemas=dump)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        binarrow.read_binlog(log, schemas=dump, tables="d.a")


def test_splits_and_streams_take_it(log: str, dump: Path) -> None:
    expected = binarrow.read_binlog(log, schemas=dump).table("d.a").read_all()
    [split] = binarrow.scan_splits(log)
    again = binarrow.Split.from_json(split.to_json())
    reader = binarrow.read_split(again, options={"schemas": dump})
    assert pa.table(reader.table("d.a")).equals(expected)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1_000_000,
        "USE d; CREATE TABLE a " + "(" * 1_000_000,
        "USE d; CREATE TABLE a (x int DEFAULT " + "(" * 1_000_000,
        "`" * 1_000_001,
        "USE d; " + "CREATE TABLE `" * 60_000,
        "CREATE " * 150_000 + "'",
        "*" * 1_000_000,
        "* CREATE TABLE " * 60_000,
        "/*!" * 300_000,
        "/*" * 500_000,
        "'\\" * 500_000,
        "DELIMITER ;;\n" * 80_000,
        "-- \n" * 250_000,
        "USE d;\n" + "CREATE TABLE a (\n x wobbly 1);\nDROP TABLE a;" * 25_000,
        "USE d; CREATE TABLE a (" + ", ".join(f"c{number} int" for number in range(90_000)) + ")",
        "USE d; CREATE TABLE a (x int, " + ", ".join(["UNIQUE (x)"] * 90_000) + ")",
        "USE d; CREATE TABLE a (x int, UNIQUE (" + ", ".join(["x"] * 300_000) + "))",
        "USE d; CREATE TABLE a (x enum('" + "','".join(["?"] * 300_000) + "'))",
    ],
    ids=lambda text: str(text)[:40],
)
@pytest.mark.filterwarnings("ignore:schemas:UserWarning")
def test_time_grows_with_the_text_and_no_more(log: str, text: str) -> None:
    start = time.process_time()
    with pytest.raises(binarrow.BinarrowError):
        list(binarrow.read_binlog(log, schemas=text, threads=1))
    assert time.process_time() - start < 3  # a tenth of a second, on an idle machine


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_commands(log: str, dump: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sql"
    other.write_text("USE other; CREATE TABLE b (x int);")
    given = ("--schemas", other, "--schemas", dump)
    assert '"mysql.primary_key": "1"' in run(
        "schema", log, "--table", "d.a", *given, "--format", "json"
    )
    assert "d.a" in run("stats", log, *given)
    run("export", log, "--to", tmp_path / "out", *given)
    assert pq.read_table(tmp_path / "out/d.a").column_names[:2] == ["id", "t"]

    result = CliRunner().invoke(app, ["export", log, "--to", str(tmp_path / "none")])
    assert result.exit_code != 0
    assert "--schemas" in result.output
    result = CliRunner().invoke(app, ["stats", log, "--schemas", str(tmp_path / "missing.sql")])
    assert result.exit_code != 0
    assert "missing.sql" in result.output
