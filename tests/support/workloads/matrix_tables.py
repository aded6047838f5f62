"""The matrix's tables: every type, every charset, every shape of key that one server has.

`tables` gives them; `complete` says of the tables that were made whether one is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from support.servers.servers import Server, Session
from support.workloads import old_times, type_tables, values
from support.workloads.table import Column, Table

FORMS = ("char", "varchar", "text", "enum", "set")
SHAPES = (
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
    "multipolygon",
)
TYPES = {
    *("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "bit"),
    *("year", "date", "time", "datetime", "timestamp", "binary", "varbinary"),
    *("tinytext", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"),
    *(*FORMS, *SHAPES),
}

# A member that holds a character above U+FFFF is shown with a '?' by SHOW CREATE TABLE.
BEYOND = "'x','ü','🎉'"
SHOWN_BEYOND = "'x','ü','?'"


def tables(server: Server, session: Session) -> Iterator[Table]:
    """All tables, each with a number `id` in its key."""
    yield from type_tables.type_tables(server.flavor)
    if server.is_mariadb:
        yield from type_tables.mariadb_types(server.flavor)
        yield from _versioned()
    if server.is_old:
        yield old_times.table()
    yield type_tables.charset_table(session)
    yield from _charset_forms(session)
    yield Table("widths", list(_widths()))
    yield from _keys(server.flavor)
    if server.flavor != "mysql-5.6":
        yield Table("generated", list(_generated(server.flavor)))


def is_generated(column: Column) -> bool:
    """True if the column's value depends on other columns."""
    return "GENERATED ALWAYS AS (" in column.definition


def _charset_forms(session: Session) -> Iterator[Table]:
    """The VARCHAR columns of `charset_table` with the other types of text."""
    forms: dict[str, list[Column]] = {"char": [], "text": [], "choice": []}
    for charset, characters in type_tables.storable_characters(session).items():
        clause = f"CHARACTER SET {charset}"
        text = values.text_of(characters, 20)
        forms["char"].append(Column(charset, f"CHAR(20) {clause}", text))
        forms["text"].append(Column(charset, f"TEXT {clause}", text))
        forms["choice"] += _choices(charset, characters)
    forms["choice"] += _choices("binary", "abé")
    for form, columns in forms.items():
        yield Table(f"charsets_{form}", columns)


def _choices(charset: str, characters: str) -> Iterator[Column]:
    """The rarest characters that a charset has, in words with what SQL quotes among them.

    No two columns have the same list: MySQL 5 takes those of UCS-2 and UTF-16 for one, and garbles it.
    """
    rare = sorted(one for one in set(characters) - {"\\"} if one <= "\uffff")[-20:]
    words = ["", "it''s", charset, *(f"{character}a" for character in rare)]
    if "\\" in characters:
        words.append("a\\\\b")
    if "ソ" in characters:  # of which the second byte is a backslash's in some charsets
        words.append("ソ")
    clause = f"CHARACTER SET {charset}"
    if charset != "binary":
        clause += f" COLLATE {charset}_bin"
    listed = ",".join(f"'{word}'" for word in words)
    yield Column(f"e_{charset}", f"ENUM({listed}) {clause}", values.member(len(words)))
    words = words[1:]
    listed = ",".join(f"'{word}'" for word in words)
    yield Column(f"s_{charset}", f"SET({listed}) {clause}", values.members(len(words)))


def _widths() -> Iterator[Column]:
    """Types with sizes for show, or by another name."""
    yield Column("zerofill", "INT(7) ZEROFILL", values.integer(32, unsigned=True))
    yield Column("tiny_zerofill", "TINYINT(3) ZEROFILL", values.integer(8, unsigned=True))
    yield Column("f_unsigned", "FLOAT UNSIGNED", values.one_of("0", "1.5e0", "3.25e10"))
    yield Column("d_unsigned", "DOUBLE UNSIGNED ZEROFILL", values.one_of("0", "1.5e0", "1e300"))
    yield Column("f7_3", "FLOAT(7,3)", values.one_of("0", "-1.125e0", "9999.5e0"))
    yield Column("f30", "FLOAT(30)", values.floating("d"))
    yield Column("real", "DOUBLE(12,2)", values.one_of("0", "-1.25e0", "999999.5e0"))
    yield Column("d5_2_zerofill", "DECIMAL(5,2) ZEROFILL", values.decimal(5, 2, unsigned=True))
    yield Column("numeric", "NUMERIC", values.decimal(10, 0))
    yield Column("nchar", "NATIONAL CHAR(5)", values.text("utf8mb3", 5))
    yield Column("nvarchar", "NATIONAL VARCHAR(50)", values.text("utf8mb3", 50))
    yield Column("char_byte", "CHAR(5) BYTE", values.one_of("''", "'abcde'"))
    yield Column("empty", "CHAR(0)", values.one_of("''"))
    yield Column("text_of_9", "TEXT(9) CHARACTER SET utf8mb4", values.text("utf8mb4", 9))
    yield Column("text_of_90000", "TEXT(90000) CHARACTER SET latin1", values.text("latin1", 90_000))
    yield Column("long_text", "LONG VARCHAR CHARACTER SET latin1", values.text("latin1", 900))
    yield Column("long_bytes", "LONG VARBINARY", values.binary(900))
    yield Column("bit", "BIT", values.bit(1))


def _generated(flavor: str) -> Iterator[Column]:
    """MariaDB may leave generated columns out of images."""
    unseen = "" if flavor == "mysql-5.7" else " INVISIBLE"
    number = values.integer(32)
    word = values.text("latin1", 20)
    yield Column("half", "INT GENERATED ALWAYS AS (n DIV 2) VIRTUAL", None)
    yield Column("n", "INT", number)
    yield Column("third", "INT UNSIGNED GENERATED ALWAYS AS (ABS(n DIV 3)) STORED", None)
    yield Column("unseen", f"INT UNSIGNED{unseen}", values.integer(32, unsigned=True))
    yield Column("word", "VARCHAR(20) CHARACTER SET latin1", word)
    yield Column(
        "twice",
        "VARCHAR(50) CHARACTER SET latin1 GENERATED ALWAYS AS (CONCAT(word, word)) STORED",
        None,
    )


def _versioned() -> Iterator[Table]:
    """MariaDB's tables that hold their history, with the period's columns hidden and named."""
    columns = [
        Column("n", "INT", values.integer(32)),
        Column("t", "TEXT CHARACTER SET utf8mb4", values.text("utf8mb4", 200)),
    ]
    yield Table("versioned", columns, "PRIMARY KEY (id)) WITH SYSTEM VERSIONING")
    period = [
        Column(name, f"TIMESTAMP(6) GENERATED ALWAYS AS ROW {name} INVISIBLE", None)
        for name in ("start", "end")
    ]
    tail = "PERIOD FOR SYSTEM_TIME (`start`, `end`), PRIMARY KEY (id)) WITH SYSTEM VERSIONING"
    yield Table("periods", [period[0], *columns, period[1]], tail)


def _keys(flavor: str) -> Iterator[Table]:
    """The columns that an image must contain depend on the key."""
    number = Column("n", "INT", values.integer(32))
    note = Column("note", "VARCHAR(40) CHARACTER SET utf8mb4", values.text("utf8mb4", 40))
    blob = Column("b", "BLOB", values.binary(300))
    shout = Column("shout", f"{note.definition} NOT NULL", note.value)
    yield Table("no_key", [number, note, blob], ")")
    yield Table("unique_key", [number, note, blob], "UNIQUE KEY (id))")
    yield Table("nullable_key", [number, note, blob], "UNIQUE KEY (id, n))")
    yield Table("long_key", [note, blob, shout], "PRIMARY KEY (shout, id))")
    yield Table("prefix_key", [blob, shout, note], "PRIMARY KEY (id, shout(3)))")
    yield Table("plain", [number, note, blob], "PRIMARY KEY (id)) ENGINE=MyISAM")
    if flavor == "mysql":
        yield Table(HIDDEN_KEY, [number, note, blob], ")")


HIDDEN_KEY = "hidden_key"  # under sql_generate_invisible_primary_key


class Missing(NamedTuple):
    """The types and character sets that a server has and the tables do not."""

    types: set[str]
    charsets: set[tuple[str, str | None]]


def missing(session: Session, database: str) -> Missing:
    """Finds what the tables of a database lack, according to the server."""
    columns = session.query(
        "SELECT LOWER(data_type), NULLIF(character_set_name, 'binary') FROM information_schema.columns"
        f" WHERE table_schema = '{database}'"
    )
    charsets = session.query("SELECT character_set_name FROM information_schema.character_sets")
    every = {(form, charset) for (charset,) in charsets for form in FORMS if charset != "binary"}
    every |= {("enum", None), ("set", None)}
    return Missing(types(session) - {kind for kind, _ in columns}, every - set(columns))


def types(session: Session) -> set[str]:
    """The data types that a server has."""
    [(version,)] = session.query("SELECT VERSION()")
    number = tuple(map(int, version.partition("-")[0].split(".")[:2]))
    if "MariaDB" in version:
        plugins = session.query(
            "SELECT LOWER(plugin_name) FROM information_schema.all_plugins"
            " WHERE plugin_type = 'DATA TYPE' AND plugin_status = 'ACTIVE'"
        )
        return TYPES | {"geometrycollection"} | {name for (name,) in plugins}
    return TYPES | _since(number, (5, 7), ["json"]) | _collection(number)


def _since(number: tuple[int, ...], first: tuple[int, ...], names: Sequence[str]) -> set[str]:
    return set(names) if number >= first else set()


def _collection(number: tuple[int, ...]) -> set[str]:
    newer = _since(number, (8, 0), ["geomcollection"])
    return (newer or {"geometrycollection"}) | _since(number, (9, 0), ["vector"])
