"""`inspect --table-metadata` beside `mysqlbinlog --print-table-metadata`, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import binarrow
from support.logged import database
from support.oracles.tool_metadata import folded, table_metadata
from support.servers.servers import Server
from support.workloads.metadata_tables import (
    EVERYWHERE,
    MARIADB,
    MYSQL,
    MYSQL_5_7,
    SINCE_5_7,
    logged_tables,
    row_metadata,
    session_value,
)

WORDS = {
    "big5": "功", "cp1250": "č", "cp1251": "ж", "cp1256": "ع", "cp1257": "ž", "cp850": "ø", "cp852": "č",
    "cp866": "ж", "cp932": "ソ", "dec8": "é", "eucjpms": "日", "euckr": "한", "gb18030": "中😀",
    "gb2312": "中", "gbk": "中", "greek": "ω", "hebrew": "א", "koi8r": "ж", "koi8u": "ї", "latin1": "é",
    "latin2": "ł", "latin5": "ş", "latin7": "ž", "macce": "č", "macroman": "ü", "sjis": "ソ",
    "tis620": "ก", "ucs2": "é", "ujis": "日", "utf16": "é😀", "utf16le": "é😀", "utf32": "😀",
    "utf8mb3": "é", "utf8mb4": "é😀", "binary": "é",
}  # fmt: skip
"""A word beyond ASCII for each character set, as far as Python has a codec for it too."""


def inspected(files: Sequence[Path]) -> list[list[str]]:
    """Our lines of each Table_map event."""
    events = binarrow.inspect(
        [str(path) for path in files], event_types="table_map", table_metadata=True
    )
    return [(event.table_metadata or "").splitlines() for event in events]


def printed(server: Server, files: Sequence[Path]) -> list[list[str]]:
    """The tool's."""
    program = "mariadb-binlog" if server.is_mariadb else "mysqlbinlog"
    return [
        lines
        for path in files
        for lines in table_metadata(server.run_raw(program, "--print-table-metadata", str(path)))
    ]


def assert_agree(server: Server, files: Sequence[Path], count: int) -> None:
    ours, theirs = inspected(files), printed(server, files)
    assert len(ours) == len(theirs) == count
    for our_lines, their_lines in zip(ours, theirs, strict=True):
        assert folded(our_lines) == folded(their_lines)


@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_every_type(server: Server, metadata: str) -> None:
    tables = EVERYWHERE | SINCE_5_7 | (MARIADB if server.is_mariadb else MYSQL)
    with row_metadata(server, metadata), database(server, "told"):
        assert_agree(server, logged_tables(server, tables), len(tables))


@pytest.mark.parametrize("server", ["mariadb-10.11", "mariadb-11.8"], indirect=True)
def test_nothing_told(server: Server) -> None:
    tables = EVERYWHERE | SINCE_5_7 | MARIADB
    with row_metadata(server, "NO_LOG"), database(server, "untold"):
        assert_agree(server, logged_tables(server, tables), len(tables))


@pytest.mark.parametrize("server", ["mysql-5.7", "mysql-5.6"], indirect=True)
def test_old_servers_tell_nothing(server: Server) -> None:
    tables = dict(EVERYWHERE)
    if server.flavor == "mysql-5.7":
        tables |= SINCE_5_7 | MYSQL_5_7
    with database(server, "untold"):
        assert_agree(server, logged_tables(server, tables), len(tables))


def test_in_compressed_transactions(mysql: Server) -> None:
    tables = EVERYWHERE | SINCE_5_7 | MYSQL
    with (
        database(mysql, "packed"),
        session_value(mysql, "binlog_transaction_compression", "ON"),
    ):
        files = logged_tables(mysql, tables)
        maps = list(binarrow.inspect([str(path) for path in files], event_types="table_map"))
        assert all(event.compressed for event in maps)
        assert_agree(mysql, files, len(tables))


@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_generated_invisible_keys(mysql: Server, metadata: str) -> None:
    tables = {"keyless": "a INT, b VARCHAR(3) INVISIBLE", "keyed": "my_row_id INT PRIMARY KEY"}
    with (
        row_metadata(mysql, metadata),
        database(mysql, "keys"),
        session_value(mysql, "sql_generate_invisible_primary_key", "ON"),
    ):
        files = logged_tables(mysql, tables)
        assert_agree(mysql, files, len(tables))
        keyless, _ = inspected(files)
    assert keyless[0] == (
        "# Columns(`my_row_id` BIGINT UNSIGNED NOT NULL INVISIBLE AUTO_INCREMENT,"
    )
    assert keyless[-1] == "# Primary Key(my_row_id)"


def test_lists_in_every_charset(server: Server) -> None:
    charsets = [name for (name, *_) in server.query("SHOW CHARACTER SET")]
    tables = {}
    for charset in charsets:
        word = WORDS.get(charset, "w")
        tables[f"in_{charset}"] = (
            f"a ENUM('{word}', 'b,c', 'it''s', '{word}{word}') CHARACTER SET {charset},"
            f" b SET('{word}', 'plain') CHARACTER SET {charset} NOT NULL,"
            f" c CHAR(10) CHARACTER SET {charset}, d VARCHAR(9) CHARACTER SET {charset},"
            f" e TEXT CHARACTER SET {charset}, f INT"
        )
    assert len(tables) >= 39
    with database(server, "words"):
        files = logged_tables(server, tables)
        assert_agree(server, files, len(tables))
        for charset, lines in zip(charsets, inspected(files), strict=True):
            assert f"'{WORDS.get(charset, 'w')}'" in lines[0]


def test_every_collation(server: Server) -> None:
    collations = [str(name) for (name,) in server.query(COLLATIONS[server.is_mariadb])]
    assert len(collations) > 280
    tables = {}
    for begin in range(0, len(collations), 400):
        columns = enumerate(collations[begin : begin + 400])
        tables[f"from_{begin}"] = ", ".join(
            f"c{n} {'VARBINARY(1)' if name == 'binary' else f'VARCHAR(1) COLLATE {name}'}"
            for n, name in columns
        )
    with database(server, "collations"), session_value(server, "innodb_strict_mode", "OFF"):
        files = logged_tables(server, tables)
        assert_agree(server, files, len(tables))
        told = " ".join(line for lines in inspected(files) for line in lines)
    assert [name for name in collations if f" COLLATE {name}" not in told] == ["binary"]


COLLATIONS = {
    False: "SELECT collation_name FROM information_schema.collations ORDER BY id",
    True: "SELECT DISTINCT full_collation_name"
    " FROM information_schema.collation_character_set_applicability ORDER BY id",
}


def test_every_field_of_the_format_is_met(mysql: Server) -> None:
    tables = EVERYWHERE | MYSQL
    with database(mysql, "fields"):
        files = logged_tables(mysql, tables)
    events = binarrow.inspect([str(path) for path in files], event_types="table_map", data=True)
    numbers = {number for event in events for number in optional_fields(event.data or b"")}
    assert numbers == set(range(1, 14))


def optional_fields(event: bytes) -> Iterator[int]:
    """The numbers of the optional metadata fields of a Table_map event."""
    body = event[19:-4]
    at = 8
    for _ in ("database", "table"):
        at += body[at] + 2
    columns, at = lenenc(body, at)
    at += columns
    length, at = lenenc(body, at)
    at += length + (columns + 7) // 8
    while at < len(body):
        yield body[at]
        length, at = lenenc(body, at + 1)
        at += length


def lenenc(data: bytes, at: int) -> tuple[int, int]:
    """A length-encoded number, and where it ends."""
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(data[at])
    if size is None:
        return data[at], at + 1
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def test_the_lines_by_hand(server: Server) -> None:
    """Requirements F1 to F7 of WL#4618, one column or more for each."""
    columns = (
        "id INT UNSIGNED NOT NULL, delta DECIMAL(7,2), name VARCHAR(40) CHARACTER SET latin1 NOT NULL,"
        " note TEXT CHARACTER SET latin1, raw BLOB, size ENUM('small','it''s') CHARACTER SET latin1,"
        " tags SET('a','b') CHARACTER SET latin1 NOT NULL, place POINT, at DATETIME(3),"
        " PRIMARY KEY (name(10), id)"
    )
    latin1 = "CHARSET latin1 COLLATE latin1_swedish_ci"
    with database(server, "hand"):
        [lines] = inspected(logged_tables(server, {"t": columns}))
    assert lines == [
        "# Columns(`id` INT UNSIGNED NOT NULL,",
        "#         `delta` DECIMAL(7,2),",
        f"#         `name` VARCHAR(40) NOT NULL {latin1},",
        f"#         `note` TEXT {latin1},",
        "#         `raw` BLOB,",
        f"#         `size` ENUM('small', 'it\\'s') {latin1},",
        f"#         `tags` SET NOT NULL('a', 'b') {latin1},",
        "#         `place` POINT,",
        "#         `at` DATETIME(3))",
        "# Primary Key(name(10), id)",
    ]


LATIN1 = "CHARSET latin1 COLLATE latin1_swedish_ci"

WRONG_IN_MARIADB = {
    "signs shift by one after a YEAR": (
        "a YEAR, b INT, c INT UNSIGNED",
        ["# Columns(`a` YEAR,", "#         `b` INT,", "#         `c` INT UNSIGNED)"],
    ),
    "compressed columns are no type, and those after them are misread": (
        """a VARCHAR(10) COMPRESSED CHARACTER SET latin1, b TEXT COMPRESSED CHARACTER SET latin1,
        c BLOB COMPRESSED NOT NULL, d VARBINARY(100) COMPRESSED, e CHAR(4) CHARACTER SET latin1""",
        [
            f"# Columns(`a` VARCHAR(10) COMPRESSED {LATIN1},",
            f"#         `b` TEXT COMPRESSED {LATIN1},",
            "#         `c` BLOB COMPRESSED NOT NULL,",
            "#         `d` VARBINARY(100) COMPRESSED,",
            f"#         `e` CHAR(4) {LATIN1})",
        ],
    ),
    "a backtick in a name is not doubled": ("`a``b` INT", ["# Columns(`a``b` INT)"]),
    "a line break in the name of a key ends the comment": (
        "`a\nb` INT PRIMARY KEY",
        ["# Columns(`a\\nb` INT NOT NULL)", "# Primary Key(a\\nb)"],
    ),
}


@pytest.mark.parametrize("server", ["mariadb-10.11", "mariadb-11.8"], indirect=True)
@pytest.mark.parametrize("what", WRONG_IN_MARIADB)
def test_where_mariadb_binlog_is_wrong(server: Server, what: str) -> None:
    columns, expected = WRONG_IN_MARIADB[what]
    with database(server, "wrong"):
        files = logged_tables(server, {"t": columns})
        assert inspected(files) == [expected]
        # If this begins to hold, the difference is no more, and the table belongs to MARIADB.
        assert [folded(lines) for lines in printed(server, files)] != [folded(expected)]
