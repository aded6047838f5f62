"""`SchemaHistory` and `binarrow history` on histories in files and in memory; no server."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import Column, Position, SchemaHistory
from binarrow.cli import app
from binarrow.history.diff import differences

SHOP = """\
CREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4;
USE shop;
CREATE TABLE orders (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  note VARCHAR(20) COMMENT 'what they say',
  state ENUM('new','paid') NOT NULL,
  total DECIMAL(10,2) AS (id * 2) VIRTUAL INVISIBLE,
  PRIMARY KEY (id),
  UNIQUE KEY by_note (note(3))
) COMMENT='all of them';
CREATE TABLE people (name VARCHAR(9) NOT NULL, UNIQUE KEY (name));
"""

FIRST = "binlog.000001:157"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def opened(path: Path | str = "memory:") -> SchemaHistory:
    """A history with two tables, and three statements at 400, 500 and 600."""
    history = SchemaHistory.open(path)
    history.baseline(SHOP, FIRST, server="mysql-8.4")
    for place, minute, ddl in [
        (400, 1, "ALTER TABLE orders ADD COLUMN paid DATETIME(6) AFTER id"),
        (500, 2, "ALTER TABLE orders RENAME COLUMN note TO remark, DROP KEY by_note"),
        (600, 3, "DROP TABLE people"),
    ]:
        time = NOON + timedelta(minutes=minute)
        history.apply(f"binlog.000001:{place}", "shop", ddl, timestamp=time)
    return history


def names(history: SchemaHistory, place: int | None = None) -> list[str]:
    at = None if place is None else f"binlog.000001:{place}"
    found = history.find("shop", "orders", at)
    assert found is not None
    return [column.name for column in found.columns]


def test_a_table_as_it_was() -> None:
    with opened() as history:
        found = history.find("shop", "orders", FIRST)
        assert found is not None
        note = Column(
            "note",
            "varchar(20)",
            nullable=True,
            charset="utf8mb4",
            collation="utf8mb4_0900_ai_ci",
            comment="what they say",
        )
        assert found.columns[:2] == (
            Column("id", "int unsigned", nullable=False, unsigned=True, auto_increment=True),
            note,
        )
        assert found.columns[2].members == ("new", "paid")
        assert (found.columns[3].generated, found.columns[3].visible) == ("virtual", False)
        assert found.primary_key == found.row_key == ("id",)
        assert [key.name for key in found.unique_keys] == ["PRIMARY", "by_note"]
        assert (found.unique_keys[1].columns, found.unique_keys[1].prefixes) == (("note",), (3,))
        assert found.comment == "all of them"
        assert "CREATE TABLE `orders` (" in str(found.create_statement)
        assert found == history.find("shop", "orders", Position("binlog.000001", 399))
        assert hash(found) == hash(history.find("shop", "orders", FIRST))
        assert "create_statement" not in repr(found)
        assert "varchar(20)" in repr(found)
        people = history.find("shop", "people", FIRST)
        assert people is not None
        assert people.primary_key == ()
        assert people.row_key == ("name",)
        assert history.find("shop", "nothing") is None


def test_the_tables_of_each_place() -> None:
    with opened() as history:
        assert names(history, 399) == ["id", "note", "state", "total"]
        assert names(history, 400) == ["id", "paid", "note", "state", "total"]
        assert names(history) == ["id", "paid", "remark", "state", "total"]
        assert history.position == Position("binlog.000001", 600)
        assert history.tables() == {"shop.orders": None}
        assert list(history.tables(FIRST)) == ["shop.orders", "shop.people"]
        by_time = history.find("shop", "orders", NOON + timedelta(minutes=1, seconds=30))
        assert by_time == history.find("shop", "orders", "binlog.000001:450")
        (covered,) = history.covered
        assert (covered.start.offset, covered.stop.offset, covered.server) == (157, 600, None)


def test_its_view_moves() -> None:
    with opened() as history:
        history.rollback("binlog.000001:450")
        assert history.position == Position("binlog.000001", 450)
        assert names(history) == names(history, 450)
        assert "`note`" in history.snapshot()["shop"]
        # What comes next is compared with what is stored.
        ddl = "ALTER TABLE orders RENAME COLUMN note TO remark, DROP KEY by_note"
        history.apply("binlog.000001:500", "shop", ddl)
        assert names(history) == names(history, 500)
        with pytest.raises(binarrow.SchemaError, match="the log is not the one"):
            history.apply("binlog.000001:600", "shop", "DROP TABLE orders")


def test_changes_after_a_place() -> None:
    """They are those of a complete read, in each range of the log, and in the gap between two."""
    with opened() as history:
        history.baseline(SHOP, "binlog.000003:157", server="mysql-8.4")
        ddl = "ALTER TABLE people ADD COLUMN n INT"
        history.apply("binlog.000003:400", "shop", ddl, timestamp=NOON)
        complete = list(history.changes())
        assert len(complete) == 6
        for file, offset in [(1, 4), (1, 157), (1, 399), (1, 400), (1, 599), (1, 600), (2, 4)] + [
            (3, 157),
            (3, 399),
            (3, 400),
            (4, 4),
        ]:
            later = [
                change
                for change in complete
                if (change.position.file_number, change.position.offset) > (file, offset)
            ]
            found = history.changes(start=f"binlog.{file:06}:{offset}")
            assert list(found) == later, (file, offset)


def test_what_it_holds() -> None:
    with opened() as history:
        baseline, *statements = history.changes()
        assert (baseline.kind, baseline.statement, baseline.tables) == ("baseline", SHOP, ())
        assert [change.position.offset for change in statements] == [400, 500, 600]
        assert [change.tables for change in statements] == [
            ("shop.orders",),
            ("shop.orders",),
            ("shop.people",),
        ]
        assert statements[0].committed == NOON + timedelta(minutes=1)
        assert all(change.followed for change in statements)
        of_people = [change.kind for change in history.changes("shop", "people")]
        assert of_people == ["baseline", "statement"]
        between = history.changes(start="binlog.000001:400", stop="binlog.000001:500")
        assert [change.position.offset for change in between] == [500]
        assert [change.kind for change in history.changes("crm")] == ["baseline"]


def test_a_statement_that_cannot_be_followed() -> None:
    with opened() as history:
        change = history.apply("binlog.000001:700", "shop", "ALTER TABLE orders FROBNICATE")
        assert not change.followed
        ((table, why),) = change.unknown
        assert table == "shop.orders"
        assert "binlog.000001:700" in why
        with pytest.raises(binarrow.SchemaError, match=r"700.*baseline"):
            history.find("shop", "orders")
        assert history.tables() == {"shop.orders": why}
        assert names(history, 600) == ["id", "paid", "remark", "state", "total"]
        # A later structure makes this table known again, and no other.
        mended = "CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY)"
        history.apply("binlog.000001:800", "shop", "CREATE TABLE more (id INT)")
        history.baseline(mended, "binlog.000001:800", tables="shop.orders", server="mysql-8.4")
        assert names(history) == ["id"]
        assert history.tables() == {"shop.more": None, "shop.orders": None}
        kinds = [(change.kind, change.tables) for change in history.changes("shop", "orders")]
        assert kinds[-1] == ("baseline", ("shop.orders",))


def test_what_a_statement_ran_under() -> None:
    with SchemaHistory.open("memory:") as history:
        history.baseline("CREATE DATABASE shop CHARACTER SET latin1", FIRST, server="mariadb-11.8")
        ddl = "CREATE TABLE \"t\" (a VARCHAR(3) DEFAULT '\\', b INT COMMENT 'x')"
        history.apply("binlog.000001:300", "shop", ddl, sql_mode="ANSI_QUOTES,NO_BACKSLASH_ESCAPES")
        found = history.find("shop", "t")
        assert found is not None
        assert found.columns[0].collation == "latin1_swedish_ci"
        assert found.columns[1].comment == "x"
        history.apply(
            "binlog.000001:400", None, "CREATE DATABASE d", default_collation="utf8mb4_bin"
        )
        history.apply("binlog.000001:500", "d", "CREATE TABLE t (a TEXT)", sql_mode=0)
        other = history.find("d", "t")
        assert other is not None
        assert other.columns[0].collation == "utf8mb4_bin"
        for keyword, value in [
            ("sql_mode", "NO_SUCH_MODE"),
            ("charset", "latin7777"),
            ("default_collation", "none"),
            ("server", "postgres-17"),
        ]:
            with pytest.raises(binarrow.ConfigError, match=f"{keyword}.*{value}"):
                history.apply("binlog.000001:900", "d", "DROP TABLE t", **{keyword: value})
        with pytest.raises(binarrow.ConfigError, match="time zone"):
            history.apply("binlog.000001:900", "d", "DROP TABLE t", timestamp=datetime(2026, 1, 1))


def test_outside_what_it_covers() -> None:
    with SchemaHistory.open("memory:") as history:
        with pytest.raises(binarrow.SchemaError, match="empty: take a baseline"):
            history.find("shop", "orders")
        assert (history.position, history.covered, list(history.changes())) == (None, (), [])
    with opened() as history:
        for place in ("binlog.000001:4", "binlog.000002:4", "other.000001:400"):
            with pytest.raises(binarrow.SchemaError, match=r"it covers binlog.000001:157 to"):
                history.find("shop", "orders", place)
        with pytest.raises(binarrow.SchemaError, match="begins after"):
            history.find("shop", "orders", NOON - timedelta(days=1))
        with pytest.raises(binarrow.SchemaError, match="covers"):
            history.rollback("binlog.000009:4")


def test_structures_need_a_place() -> None:
    with SchemaHistory.open("memory:") as history:
        with pytest.raises(binarrow.ConfigError, match="need position="):
            history.baseline(SHOP)
        with pytest.raises(binarrow.ConfigError, match="'file:offset'"):
            history.baseline(SHOP, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5")
        with pytest.raises(binarrow.ConfigError, match="empty"):
            history.baseline("", FIRST)
        with pytest.raises(binarrow.ConfigError, match="line 2"):
            history.baseline("USE shop;\nCREATE TABLE t (a INT COMMENT 'x", FIRST)
        with pytest.raises(TypeError, match="schemas must be a Server, or SQL"):
            history.baseline(7, FIRST)  # type: ignore[arg-type]


def test_a_file_lasts(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    opened(path).close()
    sql = tmp_path / "crm.sql"
    sql.write_text("CREATE DATABASE crm; USE crm; CREATE TABLE t (a INT);")
    for url in (path, str(path), f"sqlite:///{path}", f"sqlite:///{path}?source=default"):
        with SchemaHistory.open(url) as history:
            assert names(history, 400) == ["id", "paid", "note", "state", "total"]
    with SchemaHistory.open(f"sqlite:///{path}?source=crm") as crm:
        assert crm.source == "crm"
        assert crm.covered == ()
        assert crm.baseline(sql, FIRST) == Position("binlog.000001", 157)
        assert list(crm.tables()) == ["crm.t"]
    with SchemaHistory.open(path) as history:
        history.checkpoint()
        history.prune("binlog.000001:500")
        assert history.covered[0].start.offset == 500
        assert names(history, 500) == ["id", "paid", "remark", "state", "total"]
        with pytest.raises(binarrow.SchemaError, match="covers"):
            history.find("shop", "orders", "binlog.000001:499")


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened("sqlite:///a.db").close()
    assert Path("a.db").is_file()


def test_where_a_history_is_kept() -> None:
    for url, message in [
        ("postgresql://h/d", "sqlite:///path, mysql://user@host/database"),
        ("sqlite://", "sqlite:///relative"),
        ("sqlite:///a.db?mode=ro", "no other keyword"),
        ("mysql://u@host/", "must contain a database"),
        ("mysql://u:hush@host/a/b", "must contain a database"),
        ("mysql://u:hush@host/d?nope=1", "unknown keyword"),
    ]:
        with pytest.raises(binarrow.ConfigError, match=message) as caught:
            SchemaHistory.open(url)
        assert "hush" not in str(caught.value)
    with pytest.raises(binarrow.ConfigError, match="source is given twice"):
        SchemaHistory.open("sqlite:///a.db?source=x", source="y")
    with pytest.raises(binarrow.ConfigError, match="password: not a keyword of an SQLite file"):
        SchemaHistory.open("a.db", password="x")
    with pytest.raises(binarrow.ConfigError, match="source"):
        SchemaHistory.open("memory:", source="a\nb")
    with pytest.raises(binarrow.ConnectionLostError) as lost:
        SchemaHistory.open("mysql://u:hush@127.0.0.1:1/d?connect_timeout=1")
    assert "hush" not in str(lost.value)


def test_after_its_end() -> None:
    history = opened()
    history.close()
    history.close()
    with pytest.raises(binarrow.ConfigError, match="closed"):
        history.find("shop", "orders")


def test_a_child_of_a_fork_is_refused(tmp_path: Path) -> None:
    history = opened(tmp_path / "shop.db")
    queue = multiprocessing.get_context("fork").Queue()

    def child() -> None:
        try:
            history.find("shop", "orders")
        except binarrow.ConfigError as error:
            queue.put(str(error))
        else:
            queue.put("found")

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert "before a fork" in queue.get(timeout=30)
    process.join()
    assert names(history) == ["id", "paid", "remark", "state", "total"]
    history.close()


def test_threads_share_it(tmp_path: Path) -> None:
    with opened(tmp_path / "shop.db") as history, ThreadPoolExecutor(8) as pool:
        places = [157, 400, 500, 600] * 20
        found = list(pool.map(lambda place: len(names(history, place)), places))
    assert found == [4, 5, 5, 5] * 20


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with opened(path):
        code = (
            "import sys, binarrow\n"
            "history = binarrow.SchemaHistory.open(sys.argv[1])\n"
            "print(len(history.find('shop', 'orders').columns))\n"
            "try:\n"
            "    history.apply('binlog.000001:700', 'shop', 'DROP TABLE orders')\n"
            "except binarrow.ConfigError as error:\n"
            "    print(error)\n"
        )
        run = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        columns, refusal = run.stdout.splitlines()
        assert columns == "5"
        assert str(os.getpid()) in refusal


def test_what_is_different() -> None:
    def table(body: str) -> binarrow.TableSchema:
        with SchemaHistory.open("memory:") as history:
            history.baseline(f"CREATE DATABASE d; USE d; CREATE TABLE t ({body})", FIRST)
            found = history.find("d", "t")
            assert found is not None
            return found

    def described(before: str, after: str, *statements: str) -> list[str]:
        return [str(one) for one in differences(table(before), table(after), statements)]

    assert described("a INT", "a INT") == []
    assert described("a INT", "a INT, b INT NOT NULL") == ["column b added: int NOT NULL, after a"]
    assert described("a INT, b INT", "b INT") == ["column a dropped"]
    assert described("a INT", "a BIGINT NOT NULL") == [
        "column a type changed: int → bigint",
        "column a nullability changed: NULL → NOT NULL",
    ]
    assert described("a INT, b INT, c INT", "c INT, a INT, b INT") == [
        "column c moved: after b → first"
    ]
    rename = "ALTER TABLE t CHANGE `a` x INT, RENAME COLUMN x TO z"
    assert described("a INT, b INT", "z INT, b INT", rename) == ["column a renamed: a → z"]
    assert described("a INT, b INT", "z INT, b INT") == [
        "column a dropped",
        "column z added: int, first",
    ]
    assert described("a INT, KEY k (a)", "a INT PRIMARY KEY, UNIQUE KEY k (a)") == [
        "column a nullability changed: NULL → NOT NULL",
        "key PRIMARY added: primary (a)",
        "key k changed: index (a) → unique (a)",
    ]
    assert [str(one) for one in differences(None, table("a INT"))] == ["table added: 1 columns"]
    assert [str(one) for one in differences(table("a INT"), None)] == ["table dropped"]
    assert differences(None, None) == []


def command(*arguments: str, code: int = 0) -> str:
    """The output of `binarrow history ...`: on stdout, or on stderr if it fails."""
    run = CliRunner().invoke(app, ["history", *arguments], env={"COLUMNS": "200"})
    assert run.exit_code == code, run.output
    return run.stderr if code else run.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("history") / "shop.db"
    opened(path).close()
    return str(path)


def test_show(store: str) -> None:
    printed = command("show", store)
    assert "tables      1, 0 of them unknown" in printed
    assert "statements  3, 0 of them not followed; 1 baselines" in printed
    assert "binlog.000001:157" in printed
    record, *changes = map(json.loads, command("show", store, "--changes", "--json").splitlines())
    assert (record["source"], record["tables"], record["statements"]) == ("default", 1, 3)
    assert record["bytes"] > 0
    assert [change["kind"] for change in changes] == ["baseline", *["statement"] * 3]
    assert "nothing yet" in command("show", store, "--source", "other")


def test_find(store: str) -> None:
    assert "remark" in command("find", store, "shop.orders")
    assert "note" in command("find", store, "shop.orders", "--at", "binlog.000001:400")
    sql = command("find", store, "shop.orders", "--at", "2026-11-21T12:01:30+00:00", "--sql")
    assert sql.startswith("CREATE TABLE `orders` (\n  `id` int unsigned NOT NULL")
    table = json.loads(command("find", store, "shop.orders", "--json"))
    assert table["columns"][0]["name"] == "id"
    assert "no table shop.people at this place" in command("find", store, "shop.people", code=1)
    assert "write database.table" in command("find", store, "orders", code=2)


def test_diff(store: str) -> None:
    printed = command("diff", store, "all", "--from", FIRST)
    for part in ("added", "column paid", "renamed", "remark", "dropped", "DROP TABLE people"):
        assert part in printed
    records = command(
        "diff", store, "shop.orders", "--from", FIRST, "--to", "binlog.000001:400", "--json"
    )
    difference, statement = map(json.loads, records.splitlines())
    assert (difference["kind"], difference["what"]) == ("added", "column paid")
    assert statement["statement"]["tables"] == ["shop.orders"]
    same = command("diff", store, "all", "--from", "binlog.000001:600")
    assert same == "no statement between the two places\n"


def test_a_baseline_from_a_file(tmp_path: Path) -> None:
    sql, path = tmp_path / "shop.sql", str(tmp_path / "new.db")
    sql.write_text(SHOP)
    assert "--position is required" in command("baseline", path, str(sql), code=2)
    printed = command("baseline", path, str(sql), "--position", FIRST, "--server", "mariadb-11.8")
    assert printed == "2 tables as of binlog.000001:157\n"
    assert "utf8mb4_uca1400_ai_ci" in command("find", path, "shop.people")


def test_a_history_that_is_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none.db")
    assert "'binarrow history baseline" in command("show", path, code=2)
    assert not Path(path).exists()


def test_help_teaches() -> None:
    for name in ("show", "find", "diff", "baseline", "check"):
        assert "Examples:" in command(name, "--help")
    assert "Examples:" in command("--help")


def test_commands_that_read_follow_a_history(tmp_path: Path, repository: Path) -> None:
    log = str(repository / "examples/shop/binlog.000001")
    path, folder = str(tmp_path / "tables.db"), tmp_path / "out"
    with SchemaHistory.open(path) as history:
        history.baseline("CREATE DATABASE shop", "binlog.000001:4")
    run = CliRunner()
    ran = run.invoke(app, ["stats", log, "--history", path, "--format", "json"])
    assert ran.exit_code == 0, ran.output
    rows = json.loads(ran.stdout)["rows"]
    ran = run.invoke(app, ["export", log, "--to", str(folder), "--history", path])
    assert ran.exit_code == 0, ran.output
    assert (folder / "shop.orders").is_dir()
    ran = run.invoke(app, ["schema", log, "--table", "shop.orders", "--history", path])
    assert ran.exit_code == 0, ran.output
    assert rows > 0
    with SchemaHistory.open(path) as history:
        assert len([change for change in history.changes() if change.kind == "statement"]) > 1
    ran = run.invoke(app, ["stats", log, "--history-source", "x"])
    assert ran.exit_code == 2
    empty = run.invoke(app, ["stats", log, "--history", str(tmp_path / "new.db")])
    assert empty.exit_code == 2
    assert "binarrow history baseline" in empty.stderr


def test_a_log_that_was_reset_is_another(tmp_path: Path) -> None:
    log = Path("examples/shop/binlog.000001").read_bytes()
    path = tmp_path / "binlog.000001"
    path.write_bytes(log)
    store = tmp_path / "h.db"
    with SchemaHistory.open(store) as history:
        history.baseline("CREATE DATABASE shop", "binlog.000001:4")
        rows = sum(batch.num_rows for batch in binarrow.read_binlog(path, history=history))
    # The same file, created an hour later.
    event = bytearray(log[4 : 4 + int.from_bytes(log[13:17], "little")])
    event[:4] = (int.from_bytes(event[:4], "little") + 3600).to_bytes(4, "little")
    event[-4:] = zlib.crc32(event[:-4]).to_bytes(4, "little")
    path.write_bytes(log[:4] + event + log[4 + len(event) :])
    with pytest.raises(
        binarrow.SchemaError, match=r"binlog\.000001 was created at \d+ .* reset since"
    ):
        list(binarrow.read_binlog(path, history=store))
    with SchemaHistory.open(store, source="since") as history:
        history.baseline("CREATE DATABASE shop", "binlog.000001:4")
        again = binarrow.read_binlog(path, history=history)
        assert sum(batch.num_rows for batch in again) == rows


@pytest.mark.parametrize(
    "text", ["a poem, and no SQL", "INSERT INTO shop.t VALUES (1);", SHOP.encode("utf-16")]
)
def test_a_baseline_of_nothing_is_none(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "dump.sql"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with opened() as history:
        with pytest.raises(binarrow.ConfigError, match="no CREATE DATABASE"):
            history.baseline(path, "binlog.000001:700")
        assert names(history, 600)
