"""A random workload for differential tests: every column type, and every shape of transaction.

    tables = run(server, seed=7, transactions=500)

plays it on a server from `servers.py` and gives the tables to compare, as `database.table`: the
rows that a reader gathers from the server's binlog, from its beginning, must be those that SELECT
gives now. The same seed gives the same statements on the same server version.

What a comparison has to know:

* `TRUNCATE` empties a table by a Query event; no table here is dropped or renamed.
* Columns are added while the workload runs, always as NULL for the rows that are there; others are
  dropped, or made wider. Rows that the log holds without a column have NULL in it.
* Tables without a key hold equal rows: compare them as multisets.
* MariaDB 11.8 leaves generated columns out of the images of updates and deletes, whatever
  `binlog_row_image` says: do not compare `GENERATED` there.
* SELECT shows a FLOAT with six digits: compare `CAST(x AS DOUBLE)` or the column's bytes.
* Text may hold any character, NUL and U+FFFF among them; SELECT it with utf8mb4.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pymysql
import values
from servers import Server, Session
from values import Value

DATABASE = "workload"
ODD_TABLE = "odd näme `x`"  # quoted names need care

GENERATED = {f"{DATABASE}.generated": ("half", "third")}

# A system-versioned table holds its history too, a sequence's rows are its counters: `test_mariadb.py` has them.
NOT_COMPARED = (f"{DATABASE}.versioned", f"{DATABASE}.numbers")

NULL_SHARE = 0.15

# Errors for an XA transaction: the server does not know it, the server has rolled it back.
XAER_NOTA = 1397
XA_RBROLLBACK = 1402


@dataclass
class Column:
    """A column: its definition without the name, and how to draw a value for it."""

    name: str
    definition: str
    value: Value | None  # None: the server makes the value

    def draw(self, rng: random.Random) -> str:
        if "NOT NULL" not in self.definition and rng.random() < NULL_SHARE:
            return "NULL"
        assert self.value is not None
        return self.value(rng)


@dataclass
class Table:
    """A table; `tail` is what follows its columns: keys, then `)` and the table's options."""

    name: str
    columns: list[Column]
    tail: str = "PRIMARY KEY (id))"
    next_id: int | None = 1  # None: the table has no column `id`

    @property
    def sql_name(self) -> str:
        return quote(self.name)

    @property
    def drawn(self) -> list[Column]:
        """The columns that statements name."""
        return [column for column in self.columns if column.value is not None]

    def create(self) -> str:
        lines = [f"{quote(column.name)} {column.definition}" for column in self.columns]
        if self.next_id is not None:
            lines.insert(0, "id BIGINT UNSIGNED NOT NULL")
        tail = self.tail if self.tail.startswith(")") else f", {self.tail}"
        return f"CREATE TABLE {self.sql_name} ({', '.join(lines)}{tail}"

    def new_id(self) -> int:
        assert self.next_id is not None
        self.next_id += 1
        return self.next_id - 1

    def insert(self, rng: random.Random, rows: int = 1, verb: str = "INSERT") -> str:
        names = [quote(column.name) for column in self.drawn]
        if self.next_id is not None:
            names.insert(0, "id")
        lines = []
        for _ in range(rows):
            cells = [column.draw(rng) for column in self.drawn]
            if self.next_id is not None:
                cells.insert(0, str(self.new_id()))
            lines.append(f"({', '.join(cells)})")
        return f"{verb} INTO {self.sql_name} ({', '.join(names)}) VALUES {', '.join(lines)}"

    def update(self, rng: random.Random, where: str | None = None) -> str:
        count = rng.choice((1, 2, len(self.drawn)))
        chosen = rng.sample(self.drawn, min(count, len(self.drawn)))
        settings = ", ".join(f"{quote(column.name)} = {column.draw(rng)}" for column in chosen)
        ignore = "" if self.next_id is not None else "IGNORE "
        return f"UPDATE {ignore}{self.sql_name} SET {settings} {where or self.some_rows(rng)}"

    def delete(self, rng: random.Random, where: str | None = None) -> str:
        return f"DELETE FROM {self.sql_name} {where or self.some_rows(rng)}"

    def some_rows(self, rng: random.Random) -> str:
        """A clause that picks a few rows, perhaps none."""
        if self.next_id is None:
            return f"LIMIT {rng.choice((1, 1, 3))}"
        first = rng.randint(1, self.next_id)
        kind = rng.random()
        if kind < 0.6:
            return f"WHERE id = {first}"
        if kind < 0.8:
            return f"WHERE id BETWEEN {first} AND {first + rng.randint(1, 10)}"
        return f"WHERE id IN ({first}, {max(1, first - 7)}, {first + 3})"


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --------------------------------------------------------------------------------------- tables


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
    unseen = Column("unseen", "INT INVISIBLE", number.value)
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
    else:
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
    """Of `values.SAMPLE`, what each of the server's charsets can store."""
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
    """What only MariaDB has."""
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
    """What only a server without strict mode stores."""
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


# ------------------------------------------------------------------------------------- the play


def run(
    server: Server,
    seed: int,
    transactions: int,
    *,
    row_images: Sequence[str] = ("FULL",),
    compressed_share: float = 0.3,
    partial_json: bool = False,
    zero_dates: bool = False,
    extras: bool = False,
) -> list[str]:
    """Plays the workload in a new database; gives the tables to compare, as `database.table`.

    `row_images`: the values of `binlog_row_image` that transactions pick from. `compressed_share`:
    how many of them the log holds compressed. `partial_json` (MySQL): some updates of documents are
    logged as differences. `zero_dates`: adds a table with dates such as '0000-00-00', and with ENUM
    values that are not among the members. `extras`: adds what only MariaDB has: UUID, INET4, INET6,
    compressed columns; a sequence and a system-versioned table, which are not to be compared.
    """
    rng = random.Random(seed)
    session = server.connect()
    session.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", f"USE {DATABASE}")
    play = Workload(server, session, rng, row_images, compressed_share, partial_json)
    play.create_tables(zero_dates=zero_dates, extras=extras)
    for _ in range(transactions):
        play.step()
    play.finish()
    names = {f"{DATABASE}.{name}" for name in (*play.tables, *play.copies)}
    return sorted(names.difference(NOT_COMPARED))


@dataclass
class Prepared:
    """An XA transaction after XA PREPARE, with the rows that it holds locks on."""

    xid: str
    session: Session
    inserted: dict[str, set[int]]
    changed: dict[str, set[int]]


@dataclass
class Workload:
    """A workload under way. `step` is one transaction, or what stands for one."""

    server: Server
    session: Session
    rng: random.Random
    row_images: Sequence[str]
    compressed_share: float
    partial_json: bool
    tables: dict[str, Table] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)  # the tables of CREATE TABLE ... SELECT
    prepared: list[Prepared] = field(default_factory=list)
    xa_rows: dict[str, set[int]] = field(default_factory=dict)  # committed and not locked
    counter: int = 0  # for names that are used once

    def create_tables(self, *, zero_dates: bool, extras: bool) -> None:
        flavor = self.server.flavor
        tables = [*type_tables(flavor), *shape_tables(flavor), charset_table(self.session)]
        if extras and self.server.is_mariadb:
            tables += mariadb_tables(flavor)
            self.session.execute("CREATE SEQUENCE numbers", *["DO NEXTVAL(numbers)"] * 3)
        self.session.execute(*(table.create() for table in tables))
        self.tables = {table.name: table for table in tables}
        self.xa_rows = {"xa_left": set(), "xa_right": set()}
        self.session.execute(
            "CREATE TRIGGER after_update AFTER UPDATE ON composite FOR EACH ROW"
            " INSERT INTO audit (n, note) VALUES (NEW.n, OLD.b)",
            "CREATE TRIGGER before_delete BEFORE DELETE ON composite FOR EACH ROW"
            " UPDATE audit SET n = NULL WHERE note = OLD.b LIMIT 2",
        )
        if flavor == "mysql":
            self.session.execute(
                "SET SESSION sql_generate_invisible_primary_key = ON",
                "CREATE TABLE generated_key (n INT, note VARCHAR(40) CHARACTER SET utf8mb4)",
                "SET SESSION sql_generate_invisible_primary_key = OFF",
            )
            template = self.tables["keyless"]
            self.tables["generated_key"] = Table("generated_key", template.columns[:2], ")", None)
        if zero_dates:
            table = zero_table()
            self.session.execute("SET SESSION sql_mode = ''", table.create())
            for _ in range(20):
                self.session.execute(table.insert(self.rng, 5), table.update(self.rng))
            self.session.execute("SET SESSION sql_mode = DEFAULT")
            # not among self.tables: the other sessions are strict
            self.copies.append(table.name)

    def step(self) -> None:
        if self.prepared and self.rng.random() < 0.3:
            self.decide_prepared()
        self.vary_session()
        actions: tuple[tuple[int, Callable[[], None]], ...] = (
            (30, self.one_statement),
            (20, self.several_statements),
            (5, self.rolled_back),
            (6, self.savepoints),
            (3, self.temporary_table_rolled_back),
            (3, self.big_transaction),
            (4, self.change_keys),
            (4, self.upsert),
            (3, self.several_tables_at_once),
            (3, self.statement_that_fails),
            (4, self.edit_documents),
            (5, self.plain_table),
            (5, self.insert_select),
            (8, self.xa_transaction),
            (2, self.alter),
            (1, self.truncate),
            (1, self.create_select),
            (1, self.create_select_that_fails),
            (2, self.rotate),
        )
        [action] = self.rng.choices([a for _, a in actions], [weight for weight, _ in actions])
        action()

    def finish(self) -> None:
        while self.prepared:
            self.decide_prepared()
        self.session.close()

    # ----------------------------------------------------------------------------- settings

    def vary_session(self, session: Session | None = None) -> None:
        """Draws the settings that change how the next transaction is logged."""
        session = session or self.session
        on = "ON" if self.rng.random() < self.compressed_share else "OFF"
        image = self.rng.choice(self.row_images)
        session.execute(f"SET SESSION binlog_row_image = {image}")
        if self.server.is_mariadb:
            session.execute(
                f"SET GLOBAL log_bin_compress = {on}",
                "SET GLOBAL log_bin_compress_min_len = 10",
                f"SET SESSION gtid_domain_id = {self.rng.choice((0, 0, 0, 7))}",
                f"SET SESSION binlog_annotate_row_events = {self.rng.choice(('ON', 'OFF'))}",
            )
            if self.server.flavor != "mariadb-10.5":
                session.execute(
                    f"SET SESSION binlog_alter_two_phase = {self.rng.choice(('ON', 'OFF'))}"
                )
            return
        options = "PARTIAL_JSON" if self.partial_json and self.rng.random() < 0.7 else ""
        session.execute(
            f"SET SESSION binlog_transaction_compression = {on}",
            f"SET SESSION binlog_rows_query_log_events = {self.rng.choice(('ON', 'OFF'))}",
            f"SET SESSION binlog_row_value_options = '{options}'",
            f"SET gtid_next = '{self.rng.choice(('AUTOMATIC', 'AUTOMATIC', 'AUTOMATIC:tag_a'))}'",
        )

    # ------------------------------------------------------------- transactions of all kinds

    def statement(self, table: Table | None = None) -> str:
        """An INSERT, UPDATE or DELETE on a table, any transactional one unless told."""
        table = table or self.rng.choice(self.transactional())
        kind = self.rng.random()
        if kind < 0.5:
            verb = "INSERT"
            if table.next_id is None:
                verb = self.rng.choice(("INSERT IGNORE", "REPLACE"))
            return table.insert(self.rng, self.rng.choice((1, 1, 2, 5, 20)), verb)
        if kind < 0.85:
            return table.update(self.rng)
        return table.delete(self.rng)

    def transactional(self) -> list[Table]:
        left_out = {"plain", "aria", "xa_left", "xa_right"}
        return [table for table in self.tables.values() if table.name not in left_out]

    @contextmanager
    def transaction(self, end: str = "COMMIT") -> Iterator[None]:
        self.session.execute(self.rng.choice(("BEGIN", "START TRANSACTION")))
        yield
        self.session.execute(end)

    def one_statement(self) -> None:
        self.session.execute(self.statement())

    def several_statements(self) -> None:
        with self.transaction():
            self.session.execute(*(self.statement() for _ in range(self.rng.randint(2, 8))))

    def rolled_back(self) -> None:
        with self.transaction("ROLLBACK"):
            self.session.execute(*(self.statement() for _ in range(self.rng.randint(1, 4))))

    def savepoints(self) -> None:
        with self.transaction():
            self.session.execute(self.statement(), "SAVEPOINT `a 1`", self.statement())
            if self.rng.random() < 0.5:
                self.session.execute("SAVEPOINT b", self.statement(), "ROLLBACK TO SAVEPOINT b")
            if self.server.is_mariadb and self.rng.random() < 0.5:
                # what cannot be undone keeps the log from being cut back: ROLLBACK TO is logged
                self.session.execute(self.statement(self.tables["plain"]), self.statement())
            if self.rng.random() < 0.3:
                self.session.execute(f"CREATE TEMPORARY TABLE {self.new_name('temp')} (a INT)")
            self.session.execute("ROLLBACK TO SAVEPOINT `a 1`", self.statement())
            if self.rng.random() < 0.5:
                self.session.execute("RELEASE SAVEPOINT `a 1`")

    def temporary_table_rolled_back(self) -> None:
        """MariaDB logs this transaction, with a ROLLBACK at its end."""
        name = self.new_name("temp")
        with self.transaction("ROLLBACK"):
            self.session.execute(self.statement(), f"CREATE TEMPORARY TABLE {name} (a INT)")
            self.session.execute(f"INSERT INTO {name} VALUES (1)", self.statement())
        self.session.execute(f"DROP TEMPORARY TABLE IF EXISTS {name}")

    def big_transaction(self) -> None:
        with self.transaction():
            for _ in range(self.rng.randint(1, 3)):
                table = self.rng.choice([table for table in self.transactional() if table.next_id])
                rows = 20 if table.name == "documents" else self.rng.choice((100, 400))
                self.session.execute(table.insert(self.rng, rows))
                if self.rng.random() < 0.3:
                    self.session.execute(table.update(self.rng, ""))
                if self.rng.random() < 0.3:
                    self.session.execute(table.delete(self.rng, "WHERE id % 5 = 3"))

    def change_keys(self) -> None:
        table = self.rng.choice([table for table in self.transactional() if table.next_id])
        where = f"WHERE id = {self.rng.randint(1, table.next_id or 1)}"
        self.session.execute(f"UPDATE {table.sql_name} SET id = {table.new_id()} {where}")

    def upsert(self) -> None:
        table = self.tables[self.rng.choice(("composite", "unique_key"))]
        insert = table.insert(self.rng, self.rng.randint(1, 5))
        self.session.execute(f"{insert} ON DUPLICATE KEY UPDATE n = {self.rng.randint(-9, 9)}")

    def several_tables_at_once(self) -> None:
        first = self.rng.randint(1, self.tables["ints"].next_id or 1)
        where = f"ints.id BETWEEN {first} AND {first + 9}"
        if self.rng.random() < 0.7:
            sets = f"ints.`int` = {self.rng.randint(-99, 99)}, decimals.d10_2 = ints.`tinyint`"
            self.session.execute(f"UPDATE ints JOIN decimals USING (id) SET {sets} WHERE {where}")
        else:
            joined = "ints JOIN floats USING (id)"
            self.session.execute(f"DELETE ints, floats FROM {joined} WHERE {where}")

    def statement_that_fails(self) -> None:
        """A statement undone in the middle of a transaction that goes on."""
        table = self.tables["partitioned"]
        with self.transaction():
            self.session.execute(self.statement())
            insert = table.insert(self.rng, 3)
            self.session.execute(insert)
            self.fail(f"{table.insert(self.rng, 2)}, {insert.split(' VALUES ')[1]}")
            self.session.execute(self.statement())

    def edit_documents(self) -> None:
        """Changes inside documents, which `binlog_row_value_options` can log as differences."""
        column = self.rng.choice(("doc", "required"))
        change = self.rng.choice(
            (
                f"JSON_SET({column}, '$.a', {self.rng.randint(-9, 9)}, '$.\"ключ\"', 'new')",
                f"JSON_SET({column}, '$[0]', JSON_ARRAY('x', 1.5))",
                f"JSON_REPLACE({column}, '$.a', '🎉', '$[1]', NULL)",
                f"JSON_REMOVE({column}, '$.b', '$.aa')",
                f"JSON_ARRAY_APPEND({column}, '$', 'tail')",
            )
        )
        table = self.tables["documents"]
        where = f"WHERE id >= {self.rng.randint(1, table.next_id or 1)} LIMIT 10"
        self.session.execute(f"UPDATE documents SET {column} = {change} {where}")

    def plain_table(self) -> None:
        """Tables whose changes cannot be rolled back."""
        table = self.tables["plain"]
        if self.server.is_mariadb:
            table = self.rng.choice((table, self.tables["aria"]))
            if self.rng.random() < 0.4:  # (MySQL with GTIDs forbids the mixture)
                with self.transaction(self.rng.choice(("COMMIT", "ROLLBACK"))):
                    self.session.execute(self.statement(), self.statement(table), self.statement())
                return
        self.session.execute(self.statement(table))
        if self.rng.random() < 0.3:
            insert = table.insert(self.rng, 1)
            self.session.execute(insert)
            # two rows stay, the third is refused
            self.fail(f"{table.insert(self.rng, 2)}, {insert.split(' VALUES ')[1]}")

    def insert_select(self) -> None:
        rows = "SELECT n, note, '2020-02-02' FROM partitioned ORDER BY id DESC LIMIT 20"
        self.session.execute(f"INSERT INTO keyless (n, note, c) {rows}")

    # ------------------------------------------------------------------------------------ XA

    def xa_transaction(self) -> None:
        """On tables of their own: prepared transactions hold locks for a while."""
        self.counter += 1
        name = f"X'{self.counter:08x}'"
        xid = self.rng.choice(
            (name, f"{name}, 'branch'", f"{name}, X'00ff', {self.rng.randint(1, 9)}")
        )
        session = self.server.connect()
        session.execute(f"USE {DATABASE}", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        self.vary_session(session)
        one = Prepared(xid, session, {}, {})
        session.execute(f"XA START {xid}")
        for _ in range(self.rng.randint(0, 4)):
            self.xa_statement(one)
        session.execute(f"XA END {xid}")
        if self.rng.random() < 0.25:
            session.execute(f"XA COMMIT {xid} ONE PHASE")
            self.release(one, committed=True)
        elif self.rng.random() < 0.15:
            session.execute(f"XA ROLLBACK {xid}")
            self.release(one, committed=False)
        else:
            session.execute(f"XA PREPARE {xid}")
            self.prepared.append(one)
            if self.rng.random() < 0.3 or len(self.prepared) > 4:
                self.decide_prepared()

    def xa_statement(self, one: Prepared) -> None:
        name = self.rng.choice(sorted(self.xa_rows))
        table, free = self.tables[name], self.xa_rows[name]
        if not free or self.rng.random() < 0.6:
            ids = {table.new_id()}
            assert table.next_id is not None
            table.next_id -= 1
            one.session.execute(table.insert(self.rng))
            one.inserted.setdefault(name, set()).update(ids)
            return
        row = self.rng.choice(sorted(free))
        free.remove(row)
        if self.rng.random() < 0.6:
            one.session.execute(table.update(self.rng, f"WHERE id = {row}"))
        else:
            one.session.execute(table.delete(self.rng, f"WHERE id = {row}"))
        one.changed.setdefault(name, set()).add(row)

    def decide_prepared(self) -> None:
        """Commits or rolls back a prepared transaction, from its own session or from another."""
        one = self.prepared.pop(self.rng.randrange(len(self.prepared)))
        committed = self.rng.random() < 0.65
        session = one.session
        if self.rng.random() < 0.4:
            session.close()
            session = self.server.connect()
        statement = f"XA {'COMMIT' if committed else 'ROLLBACK'} {one.xid}"
        for _ in range(200):
            try:
                session.execute(statement)
                break
            except pymysql.err.MySQLError as error:
                if error.args[0] == XA_RBROLLBACK:  # it had changed nothing, its session is gone
                    committed = False
                    break
                if error.args[0] != XAER_NOTA:  # else the disconnection has not been noticed yet
                    raise
                time.sleep(0.02)
        else:
            message = f"no prepared transaction {one.xid}"
            raise RuntimeError(message)
        one.session = session
        self.release(one, committed=committed)

    def release(self, one: Prepared, *, committed: bool) -> None:
        """Gives back the rows that a transaction had locked, those it deleted too: see below."""
        for name, ids in one.changed.items():
            self.xa_rows[name] |= ids  # (a deleted row's id matches nothing from now on)
        if committed:
            for name, ids in one.inserted.items():
                self.xa_rows[name] |= ids
        one.session.close()

    # ----------------------------------------------------------------------------------- DDL

    def alter(self) -> None:
        table = self.tables["evolving"]
        added = table.columns[2:]
        kind = self.rng.choice(("add", "add", "drop", "widen"))
        if kind == "add" or not added:
            column = self.rng.choice(
                (
                    Column("", "INT", values.integer(32)),
                    Column("", "VARCHAR(20) CHARACTER SET latin1", values.text("latin1", 20)),
                    Column("", "DECIMAL(10,3)", values.decimal(10, 3)),
                    Column("", "TIMESTAMP(3) NULL", values.timestamp(3)),
                    Column("", "ENUM('a', 'b', 'ü') CHARACTER SET utf8mb4", values.member(3)),
                )
            )
            column.name = self.new_name("added")
            place = self.rng.choice(("FIRST", "AFTER n", ""))
            change = f"ADD COLUMN {column.name} {column.definition} {place}"
            table.columns.append(column)
        elif kind == "drop":
            column = self.rng.choice(added)
            table.columns.remove(column)
            change = f"DROP COLUMN {column.name}"
        else:
            wider = {"INT": "BIGINT", "DECIMAL(10,3)": "DECIMAL(20,5)"}
            column = self.rng.choice(added)
            column.definition = wider.get(column.definition, column.definition)
            change = f"MODIFY COLUMN {column.name} {column.definition}"
        self.session.execute(f"ALTER TABLE evolving {change}")

    def truncate(self) -> None:
        self.session.execute("TRUNCATE TABLE truncated")

    def create_select(self) -> None:
        if len(self.copies) >= 12:
            return
        name = self.new_name("copy")
        # (MariaDB logs the new table's definition in utf8mb3: an ENUM's emoji becomes a '?' there)
        left_out = {"generated_key", "choices" if self.server.is_mariadb else ""}
        source = self.rng.choice([t for t in self.transactional() if t.name not in left_out])
        engine = self.rng.choice(self.engines())
        key = "(PRIMARY KEY (id)) " if source.next_id is not None else ""
        select = f"SELECT * FROM {source.sql_name}"
        self.session.execute(f"CREATE TABLE {name} {key}ENGINE={engine} {select}")
        self.copies.append(name)

    def create_select_that_fails(self) -> None:
        rows = "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 1"
        engine = self.rng.choice(self.engines())
        self.fail(
            f"CREATE TABLE {self.new_name('broken')} (PRIMARY KEY (a)) ENGINE={engine} {rows}"
        )

    def engines(self) -> Sequence[str]:
        """The engines for CREATE TABLE ... SELECT; MySQL with GTIDs wants one that can undo it."""
        return ("InnoDB", "MyISAM", "Aria") if self.server.is_mariadb else ("InnoDB",)

    def rotate(self) -> None:
        self.session.execute("FLUSH BINARY LOGS")

    def fail(self, statement: str) -> None:
        try:
            self.session.execute(statement)
        except pymysql.err.IntegrityError:
            return
        message = "the statement was meant to fail"
        raise AssertionError(message)

    def new_name(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}_{self.counter}"
