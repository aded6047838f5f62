"""Rows that foreign keys change: before MySQL 9.6, and in MariaDB, no event contains them.

Each case runs one statement in its own log file, and lists the tables that it changes besides the one that it names.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import BinarrowWarning, SchemaHistory, UnloggedChange, UnsupportedEventError
from binarrow.cli import app
from support.live import COLUMNS
from support.servers.servers import Server

KEY = "DECIMAL(9,0)"
TABLES = f"""\
CREATE TABLE parent (id {KEY} PRIMARY KEY, code {KEY} NOT NULL, v {KEY}, UNIQUE KEY (code)) ENGINE=InnoDB
CREATE TABLE child (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB
CREATE TABLE grand (id {KEY} PRIMARY KEY, c {KEY}, FOREIGN KEY (c) REFERENCES child (id) ON DELETE CASCADE) ENGINE=InnoDB
CREATE TABLE nulled (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES parent (code) ON DELETE SET NULL ON UPDATE SET NULL) ENGINE=InnoDB
CREATE TABLE strict (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE RESTRICT) ENGINE=InnoDB
CREATE TABLE own (id {KEY} PRIMARY KEY, up {KEY}, FOREIGN KEY (up) REFERENCES own (id) ON DELETE CASCADE) ENGINE=InnoDB
CREATE TABLE root (id {KEY} PRIMARY KEY, v {KEY}) ENGINE=InnoDB
CREATE TABLE held (id {KEY} PRIMARY KEY, r {KEY}, FOREIGN KEY (r) REFERENCES root (id) ON DELETE RESTRICT) ENGINE=InnoDB
CREATE TABLE plain (id {KEY} PRIMARY KEY, v {KEY}) ENGINE=InnoDB
CREATE TABLE audit (id {KEY} PRIMARY KEY) ENGINE=InnoDB
CREATE TRIGGER watch AFTER DELETE ON plain FOR EACH ROW INSERT INTO audit SELECT OLD.id FROM DUAL WHERE OLD.v = 9
INSERT INTO parent VALUES (1, 11, 0), (2, 12, 0), (3, 13, 0), (4, 14, 0), (5, 15, 0)
INSERT INTO child VALUES (1, 1), (2, 2), (3, 3)
INSERT INTO grand VALUES (1, 1), (2, 2)
INSERT INTO nulled VALUES (1, 11), (4, 14)
INSERT INTO own VALUES (1, NULL), (2, 1), (3, 2)
INSERT INTO root VALUES (1, 0), (2, 0)
INSERT INTO held VALUES (1, 1)
INSERT INTO plain VALUES (1, 0), (2, 9)""".splitlines()

ORDER = ["change_type", "commit_version", "change_ordinal"]

READ = ("child", "grand", "nulled", "strict", "own", "held", "audit")


SCHEMA = pa.schema([("id", pa.decimal128(9)), ("_change_type", pa.string())])


@dataclass(frozen=True)
class Case:
    """A statement, and the tables that a foreign key can change because of it."""

    sql: str
    parent: str
    changed: tuple[str, ...] = ()


CASES = {
    "delete": Case("DELETE FROM parent WHERE id = 1", "parent", ("child", "grand", "nulled")),
    "delete-without-children": Case(
        "DELETE FROM parent WHERE id = 5", "parent", ("child", "grand", "nulled")
    ),
    "update-of-a-key": Case("UPDATE parent SET id = 22 WHERE id = 2", "parent", ("child",)),
    "update-of-another-key": Case(
        "UPDATE parent SET code = 44 WHERE id = 4", "parent", ("nulled",)
    ),
    "update-of-no-key": Case("UPDATE parent SET v = 1", "parent"),
    "insert": Case("INSERT INTO parent VALUES (9, 19, 0)", "parent"),
    "replace": Case(
        "REPLACE INTO parent VALUES (3, 33, 0)", "parent", ("child", "grand", "nulled")
    ),
    "of-itself": Case("DELETE FROM own WHERE id = 1", "own", ("own",)),
    "restrict": Case("DELETE FROM root WHERE id = 2", "root"),
    "unchecked": Case("DELETE FROM parent WHERE id = 4 /* foreign_key_checks=0 */", "parent"),
    "trigger": Case("DELETE FROM plain WHERE id = 1", "plain"),
}


class Played:
    """A server on which each case was played."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.logs_all = server.flavor == "mysql"
        self.files: dict[str, Path] = {}
        session = server.connect()
        session.execute("CREATE DATABASE fk", "USE fk")
        server.flush_binlog()
        session.execute(*TABLES)
        names = [line.split()[2] for line in TABLES if line.startswith("CREATE TABLE")]
        self.schemas = {
            f"fk.{name}": server.query(f"SHOW CREATE TABLE fk.{name}")[0][1] for name in names
        }
        self.begin = server.flush_binlog()
        for name, case in CASES.items():
            off = name == "unchecked"
            session.execute(f"SET foreign_key_checks = {int(not off)}", case.sql)
            self.files[name] = server.flush_binlog()
        session.close()
        self.history = f"sqlite:///{folder}/{server.flavor}.db"
        with SchemaHistory.open(self.history) as history:
            history.baseline("CREATE DATABASE fk", f"{self.begin.name}:4")
            files = [self.begin, *self.files.values()]
            with binarrow.read_binlog(files, history=history, unlogged_changes="ignore") as log:
                self.rows = sum(batch.num_rows for batch in log)

    def mirror(self, case: str, table: str, **keywords: Any) -> int:
        """The number of rows that a mirror of the table reads."""
        keywords = {"truncates": "error", **COLUMNS, **keywords}
        truncates = keywords.pop("truncates")
        with binarrow.read_binlog(self.files[case], **keywords) as log:
            reader = log.table(
                f"fk.{table}", schema=SCHEMA, on_schema_change="conform", truncates=truncates
            )
            return sum(batch.num_rows for batch in reader)


@pytest.fixture(
    scope="module",
    params=["mysql", "mysql-5.7", "mysql-5.6", "mariadb-11.8", "mariadb-10.11"],
)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Played]:
    name = str(request.param).replace("-", "_").replace(".", "_")
    server: Server = request.getfixturevalue(name)
    yield Played(server, tmp_path_factory.mktemp("fk"))
    server.execute("DROP DATABASE fk")


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BinarrowWarning)
        warnings.filterwarnings("ignore", ".*not in the requested schema")
        yield


def outcome(played: Played, case: str, table: str, **keywords: Any) -> str:
    """The result of a mirror of the table: the error, the warning, or `read`."""
    try:
        played.mirror(case, table, **keywords)
    except UnsupportedEventError as error:
        return f"error: {error}"
    except BinarrowWarning as warning:
        return f"warning: {warning}"
    return "read"


@pytest.mark.parametrize("case", CASES)
def test_a_mirror_that_knows_the_foreign_keys(played: Played, case: str) -> None:
    expected = set() if played.logs_all else set(CASES[case].changed)
    for how in ({"threads": 1}, {"threads": 3, "segment_bytes": 1}):
        met = {table: outcome(played, case, table, schemas=played.schemas, **how) for table in READ}
        assert {table for table, what in met.items() if what != "read"} == expected, met
        for table in expected:
            assert met[table].startswith("error: ")
            assert (
                f"of fk.{CASES[case].parent}, and a foreign key of fk.{table} has ON " in met[table]
            )
            assert "continue with unlogged_changes='warn'" in met[table]


@pytest.mark.parametrize("case", ["delete", "update-of-a-key", "update-of-no-key", "of-itself"])
def test_a_history_knows_them_too(played: Played, case: str) -> None:
    expected = set() if played.logs_all else set(CASES[case].changed)
    for table in READ:
        what = outcome(played, case, table, history=played.history, column_names="log")
        assert what.startswith("error: ") == (table in expected), what
        assert what == "read" or table in expected


def test_without_their_actions(played: Played) -> None:
    if played.logs_all:
        assert outcome(played, "delete", "child") == "read"
        return
    if played.server.is_mariadb:
        # The statement names the tables that its actions can change.
        for table in ("child", "grand", "nulled"):
            assert f"opens fk.{table} without" in outcome(played, "delete", table)
            assert outcome(played, "delete", table).startswith("error: ")
        assert outcome(played, "of-itself", "own").startswith("error: ")
        assert outcome(played, "delete", "strict") == "read"
        assert outcome(played, "restrict", "held") == "read"
        # A table that a trigger would have written into looks the same, and so does one after an update that changes no key.
        assert outcome(played, "trigger", "audit").startswith("warning: ")
        assert outcome(played, "update-of-no-key", "child").startswith("warning: ")
        assert outcome(played, "unchecked", "child") == "read"
        return
    for case in ("delete", "of-itself", "restrict", "update-of-no-key"):
        met = outcome(played, case, "child")
        done = "updates" if case.startswith("update") else "deletes"
        assert met.startswith(f"warning: the log {done} rows of fk.{CASES[case].parent}, which a ")
        assert "history= or schemas=" in met
        assert outcome(played, case, "child", unlogged_changes="error").startswith("error: ")
    assert outcome(played, "unchecked", "child") == "read"
    assert outcome(played, "trigger", "audit") == "read"


def test_what_the_caller_says(played: Played) -> None:
    known = {"schemas": played.schemas}
    assert outcome(played, "delete", "child", unlogged_changes="ignore", **known) == "read"
    expected = "read" if played.logs_all else "warning"
    assert outcome(played, "delete", "child", unlogged_changes="warn", **known).startswith(expected)
    assert outcome(played, "delete", "child", truncates="skip", **known).startswith(expected)
    with pytest.raises(binarrow.ConfigError, match="unlogged_changes must be one of"):
        binarrow.read_binlog(played.begin, unlogged_changes="no")


@pytest.mark.filterwarnings("default::binarrow.BinarrowWarning")
def test_a_warning_for_each_parent_and_a_count(played: Played) -> None:
    for how in ({"threads": 1}, {"threads": 3, "segment_bytes": 1}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            files = [*played.files.values()]
            with binarrow.read_binlog(files, schemas=played.schemas, **how) as log:
                rows = sum(batch.num_rows for batch in log)
            stats = log.stats()
        parents = [str(one.message).split(", ")[0].split()[-1] for one in caught]
        if played.logs_all:
            assert (parents, stats["unlogged_changes"]) == ([], {})
            continue
        assert sorted(parents) == ["fk.own", "fk.parent"]
        assert stats["unlogged_changes"] == {"fk.parent": 5, "fk.own": 1}
        assert rows > 0


@pytest.mark.parametrize("how", [{"threads": 1}, {"threads": 3, "segment_bytes": 1}])
def test_items(played: Played, how: dict[str, int]) -> None:
    """Each names the rows of the parent, and the tables that change."""
    keywords = {"schemas": played.schemas, "tables": "fk.*", **how}
    for name, case in CASES.items():
        include = {"include": "unlogged_change", "envelope": ORDER, "old_value": False}
        with binarrow.read_binlog(played.files[name], **keywords, **include) as log:
            found = list(log)
            assert log.stats()["unlogged_changes"] == {}
        items = [one for one in found if isinstance(one, UnloggedChange)]
        if played.logs_all or not case.changed:
            assert not items, name
            continue
        assert items, name
        for item in items:
            assert f"{item.database}.{item.table}" == f"fk.{case.parent}"
            assert item.operation == ("update" if case.sql.startswith("UPDATE") else "delete")
            assert {f"fk.{table}" for table in case.changed} <= set(item.changed_tables)
            assert {key.table for key in item.foreign_keys} == set(item.changed_tables)
            in_pieces = played.server.is_mariadb and "segment_bytes" in how
            assert in_pieces or item.change_ordinals is not None
            first, last = item.change_ordinals or (0, 1 << 62)
            rows = [
                (version, first <= ordinal <= last)
                for batch in found
                if isinstance(batch, binarrow.ChangeBatch) and batch.table == case.parent
                for kind, version, ordinal in places(batch)
                if item.operation == "update" or kind == "delete"
            ]
            assert rows, (name, item)
            assert set(rows) == {(item.commit_version, True)}


def places(batch: binarrow.ChangeBatch) -> list[tuple[str, int, int]]:
    rows = batch.to_pyarrow().select([f"_{name}" for name in ORDER])
    return [tuple(row.values()) for row in rows.to_pylist()]


def test_items_are_returned_again_inside_a_transaction(played: Played) -> None:
    if played.logs_all:
        return
    begin, keywords = None, {"schemas": played.schemas, "include": "unlogged_change"}
    with binarrow.read_binlog(played.files["delete"], **keywords, batch_rows=1) as log:
        for change in log:
            if isinstance(change, UnloggedChange):
                begin = change.position
                break
    assert begin is not None
    with binarrow.read_binlog(played.files["delete"], start=begin, **keywords) as log:
        assert any(isinstance(change, UnloggedChange) for change in log)


@pytest.mark.parametrize("flavor", ["mariadb_11_8", "mariadb_10_11"])
def test_a_statement_in_pieces(request: pytest.FixtureRequest, flavor: str) -> None:
    """The tables of MariaDB's statement are known in each piece of a large one."""
    server: Server = request.getfixturevalue(flavor)
    server.execute("CREATE DATABASE pieces", "USE pieces")
    server.execute(
        f"CREATE TABLE p (id {KEY} PRIMARY KEY, v {KEY}, filler CHAR(200)) ENGINE=InnoDB",
        f"CREATE TABLE c (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE) ENGINE=InnoDB",
        f"CREATE TABLE q (id {KEY} PRIMARY KEY, filler CHAR(200)) ENGINE=InnoDB",
        "INSERT INTO p VALUES (1, 0, 'x')" + "".join(f", ({n}, 0, 'x')" for n in range(2, 300)),
        "INSERT INTO q VALUES (1, 'x')" + "".join(f", ({n}, 'x')" for n in range(2, 300)),
    )
    server.flush_binlog()
    try:
        server.execute("UPDATE p, q SET p.v = 1, q.filler = 'y' WHERE p.id = q.id")
        both = server.flush_binlog()
        server.execute("DELETE FROM p")
        deleted = server.flush_binlog()
        for size in (1, 4000, 1 << 20):
            with binarrow.read_binlog(
                both, segment_bytes=size, tables="pieces.*", **COLUMNS
            ) as log:
                assert sum(batch.num_rows for batch in log) == 2 * 2 * 299
                assert log.stats()["unlogged_changes"] == {}
            with binarrow.read_binlog(
                deleted, segment_bytes=size, include="unlogged_change", **COLUMNS
            ) as log:
                items = [one for one in log if isinstance(one, UnloggedChange)]
            assert {one.changed_tables for one in items} == {("pieces.c",)}
            reader = binarrow.read_binlog(deleted, segment_bytes=size, **COLUMNS)
            table = reader.table("pieces.c", schema=SCHEMA, truncates="error")
            with pytest.raises(UnsupportedEventError, match=r"opens pieces\.c without"):
                table.read_all()
    finally:
        server.execute("DROP DATABASE pieces")


LIVE = {"allow_public_key_retrieval": True}


@pytest.fixture
def native() -> Iterator[Server]:
    """MySQL 9.7 with foreign keys as before 9.6, whose actions are not logged."""
    with Server.start("mysql", ["--innodb-native-foreign-keys=ON"]) as server:
        yield server


@pytest.mark.parametrize("flavor", ["native", "mysql_5_7", "mariadb_11_8", "mariadb_10_11"])
def test_a_live_mirror_asks_the_server(request: pytest.FixtureRequest, flavor: str) -> None:
    server: Server = request.getfixturevalue(flavor)
    server.execute(
        "CREATE DATABASE asked",
        "USE asked",
        f"CREATE TABLE p (id {KEY} PRIMARY KEY) ENGINE=InnoDB",
        f"CREATE TABLE c (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE) ENGINE=InnoDB",
        f"CREATE TABLE g (id {KEY} PRIMARY KEY, c {KEY}, FOREIGN KEY (c) REFERENCES c (id) ON DELETE SET NULL) ENGINE=InnoDB",
        f"CREATE TABLE r (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES p (id)) ENGINE=InnoDB",
        "CREATE USER asks@'%' IDENTIFIED BY 'asks'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO asks@'%'",
        "INSERT INTO p VALUES (1)",
        "INSERT INTO c VALUES (1, 1)",
        "INSERT INTO g VALUES (1, 1)",
    )
    start = f"{server.flush_binlog().name}"
    start = f"{server.binlog_files()[-1].name}:4"
    try:
        server.execute("DELETE FROM p")

        def met(table: str, **keywords: Any) -> str:
            login = {"host": "127.0.0.1", "port": server.port, "user": "asks", "password": "asks"}
            with (
                binarrow.connect(**login, **LIVE) as connection,
                connection.stream(start, stop="end", **COLUMNS, **keywords) as stream,
            ):
                try:
                    stream.table(
                        f"asked.{table}",
                        schema=SCHEMA,
                        on_schema_change="conform",
                        truncates="error",
                    ).read_all()
                except UnsupportedEventError as error:
                    return str(error)
                except BinarrowWarning as warning:
                    return f"warning: {warning}"
                return "read"

        if not server.is_mariadb:
            assert met("c").startswith("warning: the log deletes rows of asked.p, which")
        server.execute("GRANT SELECT ON asked.* TO asks@'%'")
        assert "a foreign key of asked.c has ON DELETE CASCADE" in met("c")
        assert "a foreign key of asked.g has ON DELETE SET NULL" in met("g")
        assert met("r") == "read"
        assert met("c", unlogged_changes="ignore") == "read"
    finally:
        server.execute("DROP DATABASE asked", "DROP USER asks@'%'")


def test_on_the_command_line(mysql_5_7: Server, tmp_path: Path) -> None:
    server = mysql_5_7
    tables = (
        f"CREATE TABLE p (id {KEY} PRIMARY KEY) ENGINE=InnoDB",
        f"CREATE TABLE c (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE) ENGINE=InnoDB",
    )
    server.execute("CREATE DATABASE told", "USE told", *tables, "INSERT INTO p VALUES (1)")
    server.flush_binlog()
    server.execute("DELETE FROM p", "DROP DATABASE told")
    log = server.flush_binlog()
    schemas = tmp_path / "told.sql"
    schemas.write_text("USE told;\n" + ";\n".join(tables) + ";\n")
    command = ["export", str(log), "--schemas", str(schemas)]
    warned = CliRunner().invoke(app, [*command, "--to", str(tmp_path / "warned")])
    assert warned.exit_code == 0, warned.output
    assert "a foreign key of told.c has ON DELETE CASCADE" in warned.stderr
    arguments = [*command, "--to", str(tmp_path / "refused"), "--unlogged-changes", "error"]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 1
    assert "continue with --unlogged-changes warn" in refused.stderr
