"""The keyword `schemas`: CREATE TABLE text provides what the log leaves out, on every server.

The oracle is what the server's log contains with `binlog_row_metadata=FULL`: schemas, metadata of fields and cells must be
the same where it contains less and SHOW CREATE TABLE, or a dump, has the rest. Where no server option makes the log contain
more (MySQL 5) it is `information_schema`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from support.logged import logging, rows
from support.oracles.oracle import text
from support.servers.servers import ALL_FLAVORS, Server
from support.workloads import matrix
from support.workloads.matrix import Case, Matrix
from support.workloads.matrix_tables import BEYOND, HIDDEN_KEY, SHOWN_BEYOND
from support.workloads.odd_tables import odd_tables
from support.workloads.table import quote

DATABASE = "given"
FULL = "FULL"

# Types that MariaDB's log shows as bytes, whatever its options.
UNTOLD = ("uuid", "inet4", "inet6", "vector")


@dataclass
class Played:
    """A server with tables of every kind, and what it logged of them."""

    server: Server
    tables: list[str]
    levels: list[str | None]  # of metadata: None where the server has no choice
    files: dict[str | None, list[Path]] = field(default_factory=dict)

    @property
    def less(self) -> list[str | None]:
        """The levels that do not log all metadata."""
        return [level for level in self.levels if level != FULL]

    def name(self, table: str) -> str:
        return f"{DATABASE}.{table}"

    def statements(self, sql_mode: str = "") -> dict[str, bytes]:
        """The output of SHOW CREATE TABLE: bytes, because it contains binary defaults unchanged."""
        session = self.server.connect(database=DATABASE, use_unicode=False)
        session.execute(f"SET SESSION sql_mode = '{sql_mode}'")
        found = {
            self.name(table): as_made(session.query(f"SHOW CREATE TABLE {quote(table)}")[0][1])
            for table in self.tables
        }
        session.close()
        return found

    def schema(self, level: str | None, table: str, **keywords: Any) -> pa.Schema:
        paths = [str(path) for path in self.files[level]]
        return binarrow.infer_schema(paths, self.name(table), **keywords)

    def rows(self, level: str | None, **keywords: Any) -> dict[str, list[pa.RecordBatch]]:
        """The batches of each table, without commit times and places."""
        paths = [str(path) for path in self.files[level]]
        found: dict[str, list[pa.RecordBatch]] = {}
        for change in binarrow.read_binlog(paths, envelope=["change_type"], **keywords):
            found.setdefault(change.table, []).append(change.to_pyarrow())
        return found


@pytest.fixture(scope="module", params=ALL_FLAVORS)
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    flavor = str(request.param)
    with Server.start(flavor, matrix.options(flavor)) as server:
        yield play(server)


def play(server: Server) -> Played:
    """Executes the same statements at each level of metadata."""
    player = Matrix(server)
    session = player.session
    name = quote(DATABASE)
    session.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4", f"USE {name}")
    tables = [table for table in player.tables if "SYSTEM VERSIONING" not in table.tail]
    for table in tables:  # (a history cannot be made twice)
        player.create(DATABASE, table)
    if server.is_mariadb:
        session.execute("CREATE SEQUENCE counter")
    session.execute("SET SESSION sql_mode = ''")
    odd = odd_tables(server.flavor)
    session.execute(*(create for create, _ in odd.values()))

    played = Played(server, [], [])
    played.tables = [*(table.name for table in tables), *odd]
    played.levels = list(dict.fromkeys(case.metadata for case in matrix.cases(server.flavor)))
    for level in played.levels:
        session.execute("SET SESSION timestamp = DEFAULT")
        for name in reversed(played.tables):
            verb = "TRUNCATE" if name == HIDDEN_KEY else "DELETE FROM"  # its key counts on
            session.execute(f"{verb} {quote(name)}")
        player.set(Case("FULL", level))
        session.execute("SET SESSION sql_mode = '', timestamp = 1577934245")
        numbers = count()
        with logging(server) as files:
            for table in tables:
                statements = player.statements[table.name]
                session.execute(*(with_fixed_uuids(sql, numbers) for sql in statements))
            session.execute(*(insert for _, insert in odd.values()))
        played.files[level] = files
    return played


def as_made(sql: bytes) -> bytes:
    """With the member that no server prints: they say `?` for characters beyond U+FFFF."""
    return sql.replace(SHOWN_BEYOND.encode(), BEYOND.encode())


def with_fixed_uuids(sql: str, numbers: Iterator[int]) -> str:
    return re.sub(
        r"UUID\(\)", lambda _: f"'{uuid.uuid5(uuid.NAMESPACE_OID, str(next(numbers)))}'", sql
    )


def described(schema: pa.Schema) -> dict[str, tuple[str, Mapping[bytes, bytes]]]:
    return {each.name: (str(each.type), each.metadata or {}) for each in schema}


def test_as_the_full_log_tells(played: Played) -> None:
    if FULL not in played.levels:
        assert played.server.is_old
        return
    statements = played.statements()
    for level in played.less:
        for table in played.tables:
            told = played.schema(FULL, table, schemas=statements)
            given = played.schema(level, table, schemas=statements)
            assert described(given) == described(told), f"{table}, {level}"
            assert given.equals(told, check_metadata=True)
            plain = described(played.schema(FULL, table))
            assert list(plain) == list(described(given)), table
            for name, (kind, metadata) in described(given).items():
                wanted = dict(metadata)
                if played.server.is_mariadb:
                    if metadata.get(b"mysql.type", b"").decode().startswith(UNTOLD):
                        continue
                    wanted.pop(b"mysql.visible", None)  # its log never contains that
                assert (kind, wanted) == plain[name], f"{table}.{name}, {level}"


def test_the_same_batches_as_under_full(played: Played) -> None:
    if FULL not in played.levels:
        assert played.server.is_old
        return
    statements = played.statements()
    wanted = played.rows(FULL, schemas=statements)
    assert set(wanted) == set(played.tables)
    for level in played.less:
        found = played.rows(level, schemas=statements)
        for table, batches in wanted.items():
            assert len(found[table]) == len(batches)
            for one, other in zip(found[table], batches, strict=True):
                assert one.equals(other, check_metadata=True), f"{table}, {level}"


# ------------------------------------------------------------------------------ the server's own words


def test_as_the_server_describes_it(played: Played) -> None:
    statements = played.statements()
    session = played.server.connect()
    if played.server.flavor == "mysql":
        session.execute("SET SESSION show_gipk_in_create_table_and_information_schema = ON")
    collations = dict(session.query(COLLATIONS[session.query(COLLATION_COLUMNS) != []]))
    for level in played.less:
        for table in played.tables:
            schema = played.schema(level, table, schemas=statements)
            found = {each.name: each.metadata for each in schema if each.metadata}
            where = f"WHERE table_schema = '{DATABASE}' AND table_name = {text(table)}"
            key = {
                name: str(place).encode()
                for name, place in session.query(
                    "SELECT column_name, ordinal_position FROM information_schema.key_column_usage"
                    f" {where} AND constraint_name = 'PRIMARY'"
                )
            }
            names = []
            for name, kind, nullable, collation, extra in session.query(
                "SELECT column_name, column_type, is_nullable, collation_name, extra"
                f" FROM information_schema.columns {where} ORDER BY ordinal_position"
            ):
                metadata, place = found[name], f"{table}.{name}, {level}"
                names.append(name)
                assert metadata[b"mysql.type"].decode() == plain_type(kind), place
                assert metadata[b"mysql.nullable"] == str(nullable == "YES").lower().encode(), place
                assert metadata[b"mysql.visible"] == str("INVISIBLE" not in extra).lower().encode()
                if collation is not None and not (kind == "json" or kind in ADDRESSES):
                    assert metadata[b"mysql.collation"].decode() == str(collations[collation]), (
                        place
                    )
                if key:
                    assert metadata.get(b"mysql.primary_key") == key.get(name), place
            hidden = [name for name in found if name not in names]
            assert all(name.startswith(HIDDEN) for name in hidden), hidden
            assert [name for name in found if name not in hidden] == names


ADDRESSES = ("uuid", "inet4", "inet6")
HIDDEN = ("row_start", "row_end", "DB_ROW_HASH_")  # MariaDB's, in the log and nowhere else

# MariaDB's collations of UCA 14 are there once for all character sets.
COLLATION_COLUMNS = (
    "SELECT 1 FROM information_schema.columns WHERE table_schema = 'information_schema'"
    " AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'FULL_COLLATION_NAME'"
)
COLLATIONS = {
    False: "SELECT collation_name, id FROM information_schema.collations",
    True: "SELECT full_collation_name, id FROM information_schema.collation_character_set_applicability",
}


def plain_type(kind: str) -> str:
    """A column's type as in the log's metadata: without display width, and with MariaDB's words alone."""
    kind = kind.replace("/*M!100301 COMPRESSED*/", "compressed").replace(" zerofill", "")
    kind = re.sub(r"^((?:tiny|small|medium|big)?int|year|float|double)\([0-9,]+\)", r"\1", kind)
    return kind.replace("geomcollection", "geometrycollection").replace(SHOWN_BEYOND, BEYOND)


# ------------------------------------------------------------------------------ dumps


def same_schemas(played: Played, schemas: Any) -> None:
    level = played.less[0]
    expected = played.rows(level, schemas=played.statements())
    found = played.rows(level, schemas=schemas)
    assert set(expected) == set(found) == set(played.tables)
    for table, batches in expected.items():
        assert found[table][0].schema.equals(batches[0].schema, check_metadata=True), table


DUMPS = {
    "no data": ["--no-data", "--databases", DATABASE],
    "everything": ["--routines", "--triggers", "--events", "--databases", DATABASE, "other"],
    "all databases": ["--no-data", "--all-databases"],
    "one database": ["--no-data", DATABASE],
    "plain": ["--skip-opt", "--create-options", "--quote-names", "--databases", DATABASE],
    "hexadecimal": ["--hex-blob", "--databases", DATABASE],
}


def test_double_quotes(played: Played) -> None:
    """Under `ANSI` MariaDB and MySQL 5 leave out the table's character set, which is asked for and not guessed.

    MariaDB 11.8 leaves out INVISIBLE too.
    """
    own, quoted = played.statements(), played.statements("ANSI")
    dump = as_made(played.server.dump("--compatible=ansi", "--no-data", "--databases", DATABASE))
    assert dump.count(b'CREATE TABLE "') >= len(played.tables) - 1
    level = played.less[0]
    asked = 0
    for table in played.tables:
        expected = played.schema(level, table, schemas=own)
        for schemas in (quoted, dump):
            try:
                found = described(played.schema(level, table, schemas=schemas))
            except binarrow.SchemaError as error:
                assert "DEFAULT CHARSET" in str(error)  # noqa: PT017 - one of two ends
                asked += 1
                continue
            for name, (kind, metadata) in described(expected).items():
                untold = set(metadata) - set(found[name][1])
                assert untold <= {b"mysql.charset", b"mysql.collation", b"mysql.visible"}
                told = {key: value for key, value in metadata.items() if key not in untold}
                assert found[name] == (kind, told), f"{table}.{name}"
    assert asked == 0 if played.server.flavor == "mysql" else 0 < asked < len(played.tables)


@pytest.mark.parametrize("options", DUMPS.values(), ids=DUMPS.keys())
def test_dumps(played: Played, options: list[str], tmp_path: Path) -> None:
    session = played.server.connect()
    session.execute(
        "CREATE DATABASE IF NOT EXISTS other CHARACTER SET latin1",
        "USE other",
        "CREATE TABLE IF NOT EXISTS ints (nothing LONGTEXT, `like` VARCHAR(30))",
        "DELETE FROM ints",
        "INSERT INTO ints VALUES ('USE given; CREATE TABLE `ints` (x INT);\\n-- \\' \"', 'DELIMITER ;;')",
        "CREATE OR REPLACE VIEW seen AS SELECT nothing AS `CREATE TABLE a (` FROM ints",
        "DROP TRIGGER IF EXISTS `before; it`",
        "CREATE TRIGGER `before; it` BEFORE INSERT ON ints FOR EACH ROW BEGIN"
        " SET @a = 'it''s; DELIMITER ;'; SET NEW.nothing = '/*'; END",
        "DROP PROCEDURE IF EXISTS make",
        "CREATE PROCEDURE make() BEGIN CREATE TEMPORARY TABLE given.ints (x INT); DROP TABLE given.ints; END",
    )
    dump = as_made(played.server.dump(*options))
    assert dump.count(b"CREATE TABLE") >= len(played.tables)
    path = tmp_path / "dump.sql"
    path.write_bytes(dump)
    same_schemas(played, path)


def test_a_table_that_was_altered(played: Played) -> None:
    """Each part of the log is read with the structure that the table had there."""
    server = played.server
    database = "zwölf; `x`"
    name = f"{quote(database)}.t"
    server.execute(
        f"DROP DATABASE IF EXISTS {quote(database)}",
        f"CREATE DATABASE {quote(database)} CHARACTER SET latin1",
        f"CREATE TABLE {name} (a INT UNSIGNED, b CHAR(3))",
    )
    old = server.query(f"SHOW CREATE TABLE {name}")[0][1]
    if not server.is_old:
        server.execute(f"SET GLOBAL binlog_row_metadata = {played.less[0]}")
    with logging(server) as files:
        server.execute(f"INSERT INTO {name} VALUES (4294967295, 'é')")
    dump = server.dump("--no-data", database)
    with logging(server) as later:
        server.execute(
            f"TRUNCATE {name}",
            f"ALTER TABLE {name} MODIFY b TINYTEXT CHARACTER SET cp1251, ADD c BIGINT UNSIGNED FIRST",
            f"INSERT INTO {name} VALUES (18446744073709551615, 1, 'ж')",
        )
    new = server.query(f"SHOW CREATE TABLE {name}")[0][1]
    server.execute(f"DROP DATABASE {quote(database)}")

    table = f"{database}.t"
    assert rows(files, table, schemas={table: old}) == [("insert", 4294967295, "é")]
    assert rows(files, table, schemas=dump) == [("insert", 4294967295, "é")]
    assert rows(later, table, schemas={table: new}) == [("insert", (1 << 64) - 1, 1, "ж")]
    for log, statement in ((files, new), (later, old)):
        with pytest.raises(binarrow.SchemaError, match="altered") as caught:
            rows(log, table, schemas={table: statement})
        assert "the log has" in str(caught.value)
        assert "table `zwölf; ``x```.`t`" in str(caught.value)
