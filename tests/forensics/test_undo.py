"""`binarrow undo` against servers: undo gives the rows before the changes, redo those after them."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from support.extent import rounds
from support.logged import database, logged, logging
from support.oracles import oracle
from support.oracles.compare import assert_same_rows
from support.oracles.oracle import Selected
from support.servers import clients
from support.servers.servers import Server
from support.workloads import matrix, old_times
from support.workloads.matrix import Case, Matrix
from support.workloads.table import Table

SEED = int(os.environ.get("BINARROW_SEED", "1"))
RANGES = rounds("BINARROW_UNDO_RANGES", 8, 20)
FLAVORS = ("mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.11")

LEFT_OUT = {"versioned", "periods", "plain", old_times.NAME}
"""Tables whose old rows MariaDB keeps, because undo adds to their history; and those of MyISAM,
which has no transactions."""


@pytest.mark.parametrize("flavor", FLAVORS)
def test_undo_and_redo_of_random_ranges(flavor: str, tmp_path: Path) -> None:
    with Server.start(flavor, matrix.options(flavor)) as server:
        compare_ranges(server, tmp_path, RANGES, has_keys=True)
        compare_ranges(server, tmp_path, RANGES // 5, has_keys=False)


def compare_ranges(server: Server, folder: Path, ranges: int, *, has_keys: bool) -> None:
    rng = random.Random(SEED)
    player = Matrix(server, SEED)
    tables = [table for table in player.tables if table.name not in LEFT_OUT]
    player.session.execute(
        "DROP DATABASE IF EXISTS undone", "CREATE DATABASE undone CHARACTER SET utf8mb4"
    )
    player.session.execute("USE undone")
    for table in tables:
        if not has_keys:
            table.tail = table.tail.removeprefix("PRIMARY KEY (id)")
        player.create("undone", table)
    player.set(Case("FULL", None if server.is_old else "FULL"))
    for table in tables:
        player.session.execute(table.insert(rng, 12))
    schemas = {f"undone.{table.name}": player.shown(table) for table in tables}
    for number in range(max(1, ranges // len(FLAVORS))):
        changed = tables if number == 0 else rng.sample(tables, 5)
        before = rows(server, changed)
        with logging(server) as files:
            player.session.execute(*statements(rng, changed))
        after = rows(server, changed)
        assert before != after
        keywords: dict[str, Any] = {"tables": "undone.*", "schemas": schemas}
        apply(server, binarrow.undo(paths(files), **keywords), folder / "undo.sql")
        assert_same(before, rows(server, changed), f"range {number}, undo")
        script = binarrow.undo(paths(files), redo=True, **keywords)
        apply(server, script, folder / "redo.sql")
        assert_same(after, rows(server, changed), f"range {number}, redo")


def statements(rng: random.Random, tables: Sequence[Table]) -> list[str]:
    """Statements on the tables in random order, some of them in transactions."""
    of_tables = []
    for table in tables:
        for _ in range(rng.randint(2, 4)):
            some = table.some_rows(rng)
            of_tables.append(
                rng.choice(
                    (
                        lambda table=table: table.insert(rng, rng.randint(1, 5)),
                        lambda table=table: table.update(rng),
                        lambda table=table: table.update(rng),
                        lambda table=table, some=some: matrix.all_columns(rng, table, some),
                        lambda table=table: table.delete(rng),
                    )
                )
            )
    rng.shuffle(of_tables)
    listed: list[str] = []
    for make in of_tables:
        if rng.random() < 0.3:
            listed.append(rng.choice(("BEGIN", "COMMIT")))
        listed.append(make())
    return [*listed, "COMMIT"]


def rows(server: Server, tables: Sequence[Table]) -> dict[str, Selected]:
    names = [f"undone.{table.name}" for table in tables]
    return {name: oracle.select(server, name, text_as_bytes=True) for name in names}


def assert_same(wanted: Mapping[str, Selected], found: Mapping[str, Selected], what: str) -> None:
    for table, selected in wanted.items():
        assert_same_rows(f"{what}: {table}", selected.names, found[table].rows, selected.rows)


def paths(files: Sequence[Path]) -> list[str]:
    return [str(file) for file in files]


def apply(server: Server, script: binarrow.UndoScript, path: Path) -> None:
    """Executes a script with the server's own client."""
    with path.open("wb") as file:
        file.writelines(script)
    clients.execute(server, path)


both = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)


class Log:
    """Statements on a database of one test, their log, and the rows before and after them."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder

    def run(self, *statements: str, table: str = "undone_one.t") -> None:
        self.table = table
        self.before = oracle.select(self.server, table, text_as_bytes=True)
        with logging(self.server) as files:
            self.server.execute(*statements)
        self.after = oracle.select(self.server, table, text_as_bytes=True)
        self.files = paths(files)

    def sql(self, **keywords: Any) -> str:
        """The script, of which the lines after its header are returned."""
        with binarrow.undo(self.files, **{"tables": "undone_one.*", **keywords}) as script:
            text = b"".join(script).decode()
        (self.folder / "script.sql").write_text(text)
        return text.partition("SET NAMES utf8mb4;\n")[2]

    def apply(self) -> Selected:
        clients.execute(self.server, self.folder / "script.sql")
        return oracle.select(self.server, self.table, text_as_bytes=True)

    def is_restored(self, **keywords: Any) -> str:
        """Applies undo, then redo; returns the SQL of undo."""
        text = self.sql(**keywords)
        assert_same({"t": self.before}, {"t": self.apply()}, "undo")
        self.sql(redo=True, **keywords)
        assert_same({"t": self.after}, {"t": self.apply()}, "redo")
        return text


@pytest.fixture
def log(server: Server, tmp_path: Path) -> Iterator[Log]:
    with database(server, "undone_one"):
        yield Log(server, tmp_path)


@both
def test_rows_without_a_key(log: Log) -> None:
    log.server.execute(
        "CREATE TABLE t (a VARCHAR(9) COLLATE utf8mb4_general_ci, f FLOAT, n INT)",
        "INSERT INTO t VALUES ('a', 0.1, 1), ('A', 0.1, 1), ('a', 0.1, 1), ('a ', 0.1, NULL)",
    )
    log.run(
        "DELETE FROM t WHERE BINARY a = 'a' LIMIT 1",
        "UPDATE t SET f = 1e-7 WHERE BINARY a = 'A'",
        "INSERT INTO t VALUES ('A', 0.1, 1), (NULL, NULL, NULL)",
        "UPDATE t SET n = 2 WHERE BINARY a = 'a ' LIMIT 1",
    )
    text = log.is_restored()
    assert "CAST(`a` AS BINARY) <=> 'A' AND `f` <=> 1.0000000116860974e-7" in text
    assert "`a` IS NULL AND `f` IS NULL AND `n` IS NULL LIMIT 1" in text


@both
def test_statements_use_the_key_and_set_what_changed(log: Log) -> None:
    log.server.execute(
        "CREATE TABLE t (a INT, b VARCHAR(9) CHARACTER SET latin1, n INT, s TEXT,"
        " at TIMESTAMP DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (b, a))",
        "INSERT INTO t (a, b, n) VALUES (1, 'é', 1), (2, 'x', 1)",
    )
    log.run(
        "UPDATE t SET n = 2, at = at WHERE a = 2",
        "UPDATE t SET a = a + 1 ORDER BY a DESC",
        "DELETE FROM t WHERE a = 3",
    )
    text = log.is_restored()
    assert "SET `a` = 1, `at` = '2020-01-01 00:00:00' WHERE `b` = _latin1 0xe9 AND `a` = 2;" in text
    assert "SET `n` = 1, `at` = '2020-01-01 00:00:00' WHERE `b` = 'x' AND `a` = 2;" in text


@both
def test_values_that_strict_mode_refuses(log: Log) -> None:
    log.server.execute(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, e ENUM('a', 'b'), d DATE, y YEAR)",
        "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
        "INSERT INTO t VALUES (0, 0, '0000-00-00', 0), (1, 'b', '2015-02-31', 2015)",
    )
    shown = "SELECT id, e + 0, CAST(d AS CHAR), y + 0 FROM t ORDER BY id"
    before = log.server.query(shown)
    log.files = paths(logged(log.server, "UPDATE t SET e = 'a', d = NULL", "DELETE FROM t"))
    log.server.execute("SET sql_mode = DEFAULT")
    text = log.sql()
    assert text.count("SET sql_mode = @binarrow_lenient;\n") == 1
    clients.execute(log.server, log.folder / "script.sql")
    assert log.server.query(shown) == before
    assert before[0][1:3] == (0, "0000-00-00")


@both
def test_selection(log: Log) -> None:
    log.server.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9), e ENUM('x', 'y'))")
    log.run(
        "INSERT INTO t VALUES (1, 'é', 'x'), (2, 'b', 'y'), (3, 'c', 'x')",
        "UPDATE t SET s = 'z' WHERE id = 2",
        "DELETE FROM t WHERE id = 3",
    )
    assert log.sql(operations="delete").count("INSERT INTO") == 1
    assert log.sql(where="new.s = 'é'").count("DELETE FROM") == 1
    assert log.sql(where="e = 'y'", operations="insert").count("DELETE FROM") == 1
    [(connection,)] = log.server.query("SELECT CONNECTION_ID()")
    assert log.sql(thread_ids=[connection]) == log.sql()
    assert log.sql(thread_ids=[connection + 1]) == ""
    gtid = re.findall(r"^-- GTID ([^,]+),", log.sql(), re.MULTILINE)[0]
    assert log.sql(gtids=[gtid.upper()]).count("START TRANSACTION") == 1
    assert log.is_restored().count("START TRANSACTION") == 3


@both
@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("BIGINT UNSIGNED", (0, 2**64 - 1, 5, 2**63, 2**63 - 1)),
        ("BIGINT", (-(2**63), 2**63 - 1, 0, -1)),
        ("TINYINT", (127, -128, 0)),
        ("MEDIUMINT UNSIGNED ZEROFILL", (7, 16777215)),
    ],
)
def test_rows_are_deleted_together(log: Log, key: str, values: Sequence[int]) -> None:
    log.server.execute(
        f"CREATE TABLE t (id {key} PRIMARY KEY, n INT)",
        "CREATE TABLE other (a INT, b INT, PRIMARY KEY (a, b))",
        "INSERT INTO t VALUES (3, 0)",
    )
    rows = ", ".join(f"({value}, {value % 7})" for value in values)
    log.run(
        "BEGIN",
        f"INSERT INTO t VALUES {rows}",
        "UPDATE t SET n = 9 WHERE id = 3",
        "INSERT INTO t VALUES (1, NULL)",
        "INSERT INTO other VALUES (1, 2), (2, 1)",
        "COMMIT",
    )
    text = log.is_restored()
    keys = ", ".join(str(value) for value in reversed(values))
    assert re.findall(r"\n(DELETE .*|UPDATE)", text) == [
        "DELETE FROM `undone_one`.`other` WHERE `a` = 2 AND `b` = 1;",
        "DELETE FROM `undone_one`.`other` WHERE `a` = 1 AND `b` = 2;",
        "DELETE FROM `undone_one`.`t` WHERE `id` = 1;",
        "UPDATE",
        f"DELETE FROM `undone_one`.`t` WHERE `id` IN ({keys});",
    ]
    assert "IN (" not in log.sql(foreign_key_checks=True)


@both
def test_a_transaction_of_several_tables(log: Log) -> None:
    log.server.execute(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE t (id INT PRIMARY KEY, p INT NOT NULL, FOREIGN KEY (p) REFERENCES parent (id))",
    )
    log.run(
        "BEGIN",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "DELETE FROM t WHERE id = 2",
        "DELETE FROM parent WHERE id = 2",
        "COMMIT",
    )
    # The order is that of the log, reversed: foreign keys may be checked.
    text = log.is_restored(foreign_key_checks=True)
    words = re.findall(r"(INSERT INTO|DELETE FROM) `undone_one`.`(\w+)`", text)
    assert words == [
        ("INSERT INTO", "parent"),
        ("INSERT INTO", "t"),
        *[("DELETE FROM", "t")] * 2,
        *[("DELETE FROM", "parent")] * 2,
    ]


@pytest.mark.parametrize("server", ["mysql-5.7", "mariadb-11.8"], indirect=True)
def test_actions_of_foreign_keys_that_are_not_logged(log: Log) -> None:
    log.server.execute(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)"
        " ON UPDATE CASCADE)",
        "INSERT INTO parent VALUES (1)",
        "INSERT INTO t VALUES (1, 1)",
    )
    log.run("UPDATE parent SET id = 2")
    shown = {
        f"undone_one.{table}": log.server.query(f"SHOW CREATE TABLE {table}")[0][1]
        for table in ("parent", "t")
    }
    # Without the foreign keys, the effects are not known.
    without = {name: re.sub(r",[^,]*FOREIGN KEY[^\n]*", "", sql) for name, sql in shown.items()}
    assert "FOREIGN" not in str(without)
    given = {} if log.server.flavor.startswith("mariadb") else {"schemas": without}
    with pytest.warns(binarrow.BinarrowWarning, match=r"undone_one\.parent"):
        log.sql(**given)
    script = (log.folder / "script.sql").read_text()
    assert re.search(r"-- Not restored: rows of .* that foreign keys to undone_one.parent", script)
    # The actions of the server change these rows back.
    log.is_restored(schemas=shown, foreign_key_checks=True, unlogged_changes="ignore")


@both
def test_generated_columns_are_left_out(log: Log) -> None:
    log.server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, twice INT AS (n * 2) STORED, v INT AS (n + 1))",
        "INSERT INTO t (id, n) VALUES (1, 1), (2, 2)",
    )
    [(_, shown)] = log.server.query("SHOW CREATE TABLE t")
    log.run("UPDATE t SET n = 5 WHERE id = 1", "DELETE FROM t")
    text = log.is_restored(schemas={"undone_one.t": shown})
    assert "(`id`, `n`) VALUES" in text


@both
@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_images_without_all_columns(log: Log, image: str) -> None:
    log.server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, s TEXT)",
        "INSERT INTO t VALUES (1, 1, 'secret')",
        f"SET SESSION binlog_row_image = {image}",
    )
    try:
        log.run("UPDATE t SET n = 2")
    finally:
        log.server.execute("SET SESSION binlog_row_image = FULL")
    with pytest.raises(binarrow.SchemaError, match="binlog_row_image") as caught:
        log.sql()
    assert "lacks column" in str(caught.value)
    assert caught.value.file is not None
    assert "secret" not in str(caught.value)


@both
def test_logs_without_names(log: Log) -> None:
    log.server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)", "SET GLOBAL binlog_row_metadata = MINIMAL"
    )
    try:
        log.run("INSERT INTO t VALUES (1, 2)")
    finally:
        log.server.execute("SET GLOBAL binlog_row_metadata = FULL")
    with pytest.raises(binarrow.SchemaError, match=r"binlog_row_metadata.*schemas="):
        log.sql()
    [(_, shown)] = log.server.query("SHOW CREATE TABLE t")
    log.is_restored(schemas={"undone_one.t": shown})


@both
@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("TRUNCATE TABLE t", "TRUNCATE TABLE"),
        ("ALTER TABLE t ADD COLUMN m INT", "ALTER"),
        ("DROP TABLE other", "DROP"),
        ("RENAME TABLE other TO another", "RENAME"),
    ],
)
def test_statements_that_cannot_be_reversed(log: Log, statement: str, kind: str) -> None:
    log.server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)", "CREATE TABLE other (id INT PRIMARY KEY)"
    )
    log.run("INSERT INTO t VALUES (1, 2)", statement, "CREATE TABLE made (id INT PRIMARY KEY)")
    with pytest.raises(binarrow.SchemaError, match=f"{kind} of undone_one") as caught:
        log.sql()
    assert "--ignore-schema-changes" in str(caught.value)
    log.sql(schema_changes="ignore")
    assert f"-- Not reversed: {kind} of undone_one" in (log.folder / "script.sql").read_text()


def test_create_or_replace_cannot_be_reversed(mariadb_11_8: Server, tmp_path: Path) -> None:
    with database(mariadb_11_8, "undone_one"):
        log = Log(mariadb_11_8, tmp_path)
        mariadb_11_8.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        log.run("INSERT INTO t VALUES (1)", "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY)")
        with pytest.raises(binarrow.SchemaError, match=r"CREATE OR REPLACE of undone_one\.t"):
            log.sql()


def test_a_value_that_no_literal_has(mysql: Server, tmp_path: Path) -> None:
    with database(mysql, "undone_one"):
        log = Log(mysql, tmp_path)
        mysql.execute("CREATE TABLE t (id INT PRIMARY KEY, b BLOB, j JSON)")
        log.run("INSERT INTO t VALUES (1, 'secret', NULL)", "UPDATE t SET j = JSON_ARRAY(b)")
        with pytest.raises(binarrow.UnsupportedEventError, match=r"table undone_one\.t: column j:"):
            log.sql(redo=True)


@pytest.mark.parametrize("server", ["mariadb-11.8", "mariadb-10.11"], indirect=True)
@pytest.mark.parametrize(
    "columns",
    [
        "n INT",
        "n INT, a TIMESTAMP(6) AS ROW START, b TIMESTAMP(6) AS ROW END, PERIOD FOR SYSTEM_TIME (a, b)",
    ],
)
def test_tables_with_a_history(log: Log, columns: str) -> None:
    log.server.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) WITH SYSTEM VERSIONING")
    log.files = paths(logged(log.server, "INSERT INTO t (id) VALUES (1)", "DELETE FROM t"))
    [(_, shown)] = log.server.query("SHOW CREATE TABLE t")
    for schemas in (None, {"undone_one.t": shown}):
        with pytest.raises(binarrow.UnsupportedEventError, match="SYSTEM VERSIONING"):
            log.sql(schemas=schemas)


@pytest.mark.parametrize("server", ["mariadb-11.8", "mariadb-10.11"], indirect=True)
def test_the_largest_timestamp_is_no_history(log: Log) -> None:
    """Rows of a table with a history contain it too, in a column that is NOT NULL, beside another one."""
    for columns in ("a TIMESTAMP(6) NULL, b TIMESTAMP(6) NULL", "a TIMESTAMP(6) NOT NULL"):
        log.server.execute(f"CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, {columns})")
        end = "2106-02-07 06:28:15" if "11.8" in log.server.flavor else "2038-01-19 03:14:07"
        log.run(f"INSERT INTO t (id, a) VALUES (1, '{end}.999999')", "UPDATE t SET id = 2")
        log.is_restored()


@pytest.mark.parametrize("server", ["mysql"], indirect=True)
def test_many_rows(log: Log) -> None:
    """Several threads write them, and several blocks contain them."""
    log.server.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(1000))")
    values = ", ".join(f"({number}, {number % 7}, REPEAT('s', 950))" for number in range(5000))
    log.run(
        f"INSERT INTO t VALUES {values}",
        "UPDATE t SET id = id + 1 WHERE id > 4900 ORDER BY id DESC",
        "DELETE FROM t WHERE n < 6",
    )
    assert log.is_restored().count("START TRANSACTION") == 3


@both
def test_the_log_of_a_server(log: Log, server: Server) -> None:
    log.server.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    log.run("INSERT INTO t VALUES (1), (2)", "DELETE FROM t WHERE id = 1")
    url = f"{'mariadb' if server.is_mariadb else 'mysql'}://root@127.0.0.1:{server.port}/"
    start = f"{Path(log.files[0]).name}:4"
    selected = ("--tables", "undone_one.t", "--start", start)
    result = run(url, *selected)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.encode() == b"".join(binarrow.undo(log.files, tables="undone_one.t"))


class TestCommand:
    def test_the_output_is_the_script(self, shop: Any, tmp_path: Path) -> None:
        selected = ("--tables", "shop.customers", "--operations", "delete", "--where", "id = 19")
        result = run(shop.glob, *selected)
        assert result.exit_code == 0, result.stderr
        assert "INSERT INTO `shop`.`customers`" in result.stdout
        assert "Transactions: 1." in result.stdout
        to = tmp_path / "undo.sql"
        assert run(shop.glob, *selected, "--to", to).exit_code == 0
        assert to.read_text() == result.stdout
        assert to.stat().st_mode & 0o777 == 0o600
        again = run(shop.glob, *selected, "--to", to)
        assert (again.exit_code, to.read_text()) == (2, result.stdout)
        assert "the file exists" in again.stderr

    def test_dry_run(self, shop: Any) -> None:
        result = run(shop.glob, "--tables", "shop.products", "--dry-run")
        assert result.exit_code == 0, result.stderr
        counts = shop.tables["shop.products"]
        assert "INSERT" not in result.stdout
        [line] = [line for line in result.stdout.splitlines() if "shop.products" in line]
        numbers = [int(word.replace(" ", "")) for word in re.split(r"\s{2,}", line.strip())[1:]]
        assert numbers == [counts["delete"], counts["update"], counts["insert"]]

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            ((), 2, "--tables is missing"),
            (("--tables", "shop.customers", "--where", "id < 0"), 3, "no change was found"),
            (("--tables", "shop.customers", "--gtid", "x:1"), 3, "no change was found"),
            (("--tables", "shop.nothing"), 1, "shop.nothing"),
            (("--tables", "shop.*"), 1, "ALTER of shop.orders cannot be reversed"),
            (("--tables", "shop.customers", "--where", "nam = 'x'"), 2, 'did you mean "name"?'),
        ],
    )
    def test_calls_without_a_script(
        self, shop: Any, arguments: Sequence[str], code: int, message: str
    ) -> None:
        result = run(shop.glob, *arguments)
        assert (result.exit_code, result.stdout) == (code, "")
        assert message in result.stderr

    def test_keywords_that_undo_sets_itself(self, shop: Any) -> None:
        with pytest.raises(binarrow.ConfigError, match="layout"):
            binarrow.undo(shop.glob, tables="shop.orders", layout="flat")
        with pytest.raises(binarrow.ConfigError, match="tables is empty"):
            binarrow.undo(shop.glob, tables=[])


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["undo", *map(str, arguments)])
