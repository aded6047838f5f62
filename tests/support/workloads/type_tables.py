"""Tables of every column type, every charset and every shape, as a server has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from support.servers.servers import Session
from support.workloads import values
from support.workloads.table import Column, Table

ODD_TABLE = "odd näme `x`"  # quoted names need care


def type_tables(flavor: str) -> list[Table]:
    """One table for each family of types."""
    tables = [
        Table("ints", list(_ints())),
        Table("decimals", list(_decimals())),
        Table("floats", list(_floats())),
        Table("bits", list(_bits())),
        Table("times", list(_times())),
        *_texts(),
        Table("bytes", list(_bytes())),
        Table("choices", list(_choices())),
        Table("documents", list(_documents(flavor))),
        Table("shapes", list(_shapes(flavor))),
        Table("wide", list(_wide())),
    ]
    if flavor in ("mysql", "mariadb-11.8"):
        tables.append(Table("vectors", list(_vectors(flavor))))
    if flavor == "mysql-5.6":
        tables = [table for table in tables if table.name != "documents"]
    return tables


def shape_tables(flavor: str) -> list[Table]:
    """Tables with keys, engines and columns out of the ordinary."""
    number = Column("n", "INT", values.integer(32))
    note = Column("note", "VARCHAR(40) CHARACTER SET utf8mb4", values.text("utf8mb4", 40))
    few = Column("a", "INT NOT NULL", values.one_of(*map(str, range(-20, 20))))
    word = Column(
        "b", "VARCHAR(10) CHARACTER SET utf8mb4 NOT NULL", values.one_of("'x'", "'y'", "'é'", "''")
    )
    day = Column("c", "DATE NOT NULL", values.one_of("'2020-02-29'", "'1999-12-31'"))
    engine = "ENGINE=MyISAM"
    tables = [
        Table("composite", [few, number, word, note, day], "PRIMARY KEY (c, a, b))", None),
        Table("prefix_key", [note, number], "PRIMARY KEY (id, note(3)))"),
        Table("unique_key", [few, number, note], "UNIQUE KEY (a))", None),
        Table("keyless", [number, note, day], ")", None),
        Table("plain", [number, note, word], f"PRIMARY KEY (id)) {engine}"),
        Table("truncated", [number, note]),
        Table("evolving", [number, note]),
        Table(
            "partitioned", [number, note], "PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 5"
        ),
        Table(
            ODD_TABLE,
            [Column("größe", "INT", values.integer(32)), Column("a`b c", "TEXT", note.value)],
        ),
        Table("xa_left", [number, note]),
        Table("xa_right", [number, day]),
        Table("audit", [number, note], ")", None),
    ]
    tables[1].columns[0] = Column("note", f"{note.definition} NOT NULL", note.value)
    half = Column("half", "INT GENERATED ALWAYS AS (n DIV 2) VIRTUAL", None)
    third = Column("third", "INT GENERATED ALWAYS AS (n DIV 3) STORED", None)
    kind = "INT" if flavor == "mysql-5.7" else "INT INVISIBLE"
    unseen = Column("unseen", kind, number.value)
    tables.append(Table("generated", [half, number, third, unseen, note]))
    if flavor == "mysql":
        tables.append(Table("functional", [number, note], "PRIMARY KEY (id), KEY ((n DIV 4)))"))
        reference = (
            "FOREIGN KEY (parent_id) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE"
        )
        parent_id = Column(
            "parent_id", "BIGINT UNSIGNED", values.one_of("(SELECT MAX(id) FROM parent)")
        )
        tables.append(Table("parent", [number, note]))
        tables.append(Table("child", [parent_id, note], f"PRIMARY KEY (id), {reference})"))
    elif flavor.startswith("mariadb"):
        tables.append(
            Table("aria", [number, note], "PRIMARY KEY (id)) ENGINE=Aria TRANSACTIONAL=1")
        )
    return tables


def charset_table(session: Session) -> Table:
    """A column for each of the server's charsets, with characters that it can store."""
    return Table(
        "charsets",
        [
            Column(charset, f"VARCHAR(20) CHARACTER SET {charset}", values.text_of(characters, 20))
            for charset, characters in storable_characters(session).items()
        ],
    )


def storable_characters(session: Session) -> dict[str, str]:
    """The values of `values.SAMPLE` that each of the server's charsets can store."""
    found = {}
    for (charset,) in session.query(
        "SELECT character_set_name FROM information_schema.character_sets"
        " WHERE character_set_name <> 'binary' ORDER BY 1"
    ):
        tests = ", ".join(
            f"HEX(CONVERT(CONVERT({values.utf8(character)} USING {charset}) USING utf8mb4))"
            for character in values.SAMPLE
        )
        [codes] = session.query(f"SELECT {tests}")
        found[charset] = "".join(
            character
            for character, code in zip(values.SAMPLE, codes, strict=True)
            if bytes.fromhex(code).decode() == character
        )
    return found


def mariadb_types(flavor: str) -> list[Table]:
    """One table for each family of types that only MariaDB has."""
    uuid = values.one_of("UUID()", "'00000000-0000-0000-0000-000000000000'")
    inet4 = values.one_of("'0.0.0.0'", "'255.255.255.255'", "'192.168.1.10'")
    inet6 = values.one_of("'::'", "'ffff::1'", "'2001:db8::ff00:42:8329'", "'::ffff:1.2.3.4'")
    text = values.text("utf8mb4", 200)
    addresses = [Column("four", "INET4", inet4), Column("six", "INET6", inet6)]
    compressed = [
        Column("vc", "VARCHAR(200) COMPRESSED CHARACTER SET utf8mb4", text),
        Column("vb", "VARBINARY(300) COMPRESSED", values.binary(300)),
        Column("t", "TEXT COMPRESSED CHARACTER SET latin1", values.text("latin1", 5000)),
        Column("b", "LONGBLOB COMPRESSED", values.binary(70_000)),
    ]
    if flavor == "mariadb-10.5":  # it has neither INET4 nor UUID
        return [Table("addresses", addresses[1:]), Table("compressed_columns", compressed)]
    return [
        Table("addresses", addresses),
        Table("uuids", [Column("u", "UUID", uuid), Column("n", "INT", values.integer(32))]),
        Table("compressed_columns", compressed),
    ]


def mariadb_tables(flavor: str) -> list[Table]:
    """Types that only MariaDB has."""
    return [
        *mariadb_types(flavor),
        Table(
            "versioned",
            [
                Column("n", "INT", values.integer(32)),
                Column("t", "TEXT CHARACTER SET utf8mb4", values.text("utf8mb4", 200)),
            ],
            "PRIMARY KEY (id)) WITH SYSTEM VERSIONING",
        ),
    ]


def zero_table() -> Table:
    """Values that only a server without strict mode stores."""
    dates = ("'0000-00-00'", "'2020-00-00'", "'2020-02-00'", "'0000-01-01'", "'2020-02-29'")
    moments = ("'0000-00-00 00:00:00'", "'2020-00-00 01:02:03'", "'2020-02-29 01:02:03'")
    stamps = ("'0000-00-00 00:00:00'", "'2020-02-29 01:02:03'")
    return Table(
        "zero_dates",
        [
            Column("d", "DATE", values.one_of(*dates)),
            Column("dt0", "DATETIME", values.one_of(*moments)),
            Column("dt6", "DATETIME(6)", values.one_of(*moments)),
            Column("ts0", "TIMESTAMP NULL", values.one_of(*stamps)),
            Column("ts3", "TIMESTAMP(3) NULL", values.one_of(*stamps)),
            Column("e", "ENUM('a', 'b')", values.one_of("'a'", "'not a member'", "0")),
        ],
    )


def _ints() -> Iterator[Column]:
    sizes = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}
    for name, bits in sizes.items():
        yield Column(name.lower(), name, values.integer(bits))
        yield Column(
            f"{name.lower()}_unsigned", f"{name} UNSIGNED", values.integer(bits, unsigned=True)
        )
    yield Column("boolean", "BOOLEAN", values.one_of("TRUE", "FALSE"))
    yield Column("required", "INT UNSIGNED NOT NULL", values.integer(32, unsigned=True))


def _decimals() -> Iterator[Column]:
    for precision, scale in (
        *((1, 0), (5, 0), (9, 9), (10, 2), (18, 9), (19, 3), (28, 10), (30, 30), (38, 10)),
        *((38, 0), (39, 2), (65, 0), (65, 30)),
    ):
        value = values.decimal(precision, scale)
        yield Column(f"d{precision}_{scale}", f"DECIMAL({precision},{scale})", value)
    value = values.decimal(20, 5, unsigned=True)
    yield Column("d20_5_unsigned", "DECIMAL(20,5) UNSIGNED", value)


def _floats() -> Iterator[Column]:
    yield Column("f", "FLOAT", values.floating("f"))
    yield Column("d", "DOUBLE", values.floating("d"))
    yield Column("f_required", "FLOAT NOT NULL", values.floating("f"))
    yield Column("d_required", "DOUBLE NOT NULL", values.floating("d"))


def _bits() -> Iterator[Column]:
    for size in (1, 7, 8, 10, 33, 63, 64):
        yield Column(f"b{size}", f"BIT({size})", values.bit(size))
    yield Column("b1_required", "BIT(1) NOT NULL", values.bit(1))
    yield Column("y", "YEAR", values.year())


def _times() -> Iterator[Column]:
    yield Column("d", "DATE", values.date())
    for fsp in range(7):
        yield Column(f"t{fsp}", f"TIME({fsp})", values.time(fsp))
        yield Column(f"dt{fsp}", f"DATETIME({fsp})", values.datetime_(fsp))
        yield Column(f"ts{fsp}", f"TIMESTAMP({fsp}) NULL", values.timestamp(fsp))


def _texts() -> Iterator[Table]:
    """A table for each charset: together their columns are too wide for one row."""
    for charset in values.CHARSETS:
        sizes = {
            **{"CHAR(1)": 1, "CHAR(10)": 10, "CHAR(63)": 63, "CHAR(64)": 64, "CHAR(100)": 100},
            **{"CHAR(255)": 255, "VARCHAR(20)": 20, "VARCHAR(63)": 63, "VARCHAR(64)": 64},
            **{"VARCHAR(255)": 255, "VARCHAR(256)": 256, "VARCHAR(3000)": 3000, "TINYTEXT": 60},
            **{"TEXT": 16_000, "MEDIUMTEXT": 30_000, "LONGTEXT": 30_000},
        }
        columns = [
            Column(
                kind.lower().replace("(", "").replace(")", ""),
                f"{kind} CHARACTER SET {charset}",
                values.text(charset, limit),
            )
            for kind, limit in sizes.items()
        ]
        yield Table(f"text_{charset}", columns)


def _bytes() -> Iterator[Column]:
    for size in (1, 16, 255):
        yield Column(f"b{size}", f"BINARY({size})", values.binary(size))
    for size in (20, 255, 256, 3000):
        yield Column(f"vb{size}", f"VARBINARY({size})", values.binary(size))
    limits = {"TINYBLOB": 255, "BLOB": 65_535, "MEDIUMBLOB": 100_000, "LONGBLOB": 100_000}
    for name, limit in limits.items():
        yield Column(name.lower(), name, values.binary(limit))


def _choices() -> Iterator[Column]:
    def listed(words: Sequence[str]) -> str:
        return ", ".join(f"'{word}'" for word in words)

    numbered = [f"m{number:03}" for number in range(700)]
    for name, words in {
        "e3": ("small", "médium", "large"),
        "e255": numbered[:255],
        "e256": numbered[:256],
        "e700": numbered,
        "e_empty": ("", "a", "A b,c"),
    }.items():
        definition = f"ENUM({listed(words)}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        yield Column(name, definition, values.member(len(words)))
    latin = f"ENUM({listed(('ä', 'ß', 'é'))}) CHARACTER SET latin1"
    yield Column("e_latin1", latin, values.member(3))
    for size in (3, 8, 9, 17, 33, 64):
        definition = f"SET({listed(numbered[:size])}) CHARACTER SET utf8mb4"
        yield Column(f"s{size}", definition, values.members(size))
    required = f"SET({listed(('x', 'ü', '🎉'))}) CHARACTER SET utf8mb4 NOT NULL"
    yield Column("s_required", required, values.members(3))


def _documents(flavor: str) -> Iterator[Column]:
    yield Column("doc", "JSON", values.json_text(depth=4))
    yield Column("required", "JSON NOT NULL", values.json_text(depth=1))
    if flavor == "mysql":
        yield Column("typed", "JSON", values.json_typed())


def _shapes(flavor: str) -> Iterator[Column]:
    srids = (0, 4326, 3857) if flavor == "mysql" else (0, 4326, 1)
    for kind in (
        *("GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING"),
        *("MULTIPOLYGON", "GEOMETRYCOLLECTION"),
    ):
        yield Column(kind.lower(), kind, values.geometry(kind, srids=srids))
    if flavor == "mysql":
        value = values.geometry("POINT", srids=(4326,))
        yield Column("place", "POINT NOT NULL SRID 4326", value)


def _vectors(flavor: str) -> Iterator[Column]:
    largest = 3.4e38 if flavor == "mysql" else 1e18  # MariaDB wants a vector's length to be finite
    yield Column("v1", "VECTOR(1)", values.vector(1, largest=largest))
    yield Column("v4", "VECTOR(4)", values.vector(4, largest=largest))
    if flavor == "mysql":
        yield Column("v2048", "VECTOR", values.vector(2048))
        yield Column("fewer", "VECTOR(16)", values.vector(3))


def _wide() -> Iterator[Column]:
    """More than 250 columns: their number and their bitmaps need more than a byte's worth."""
    for number in range(260):
        if number % 13 == 0:
            value = values.text("utf8mb4", 5)
            yield Column(f"c{number}", "VARCHAR(5) CHARACTER SET utf8mb4", value)
        else:
            yield Column(f"c{number}", "SMALLINT", values.integer(16))
