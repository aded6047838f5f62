"""Random DDL: statements that a server mostly takes, made from its current structures.

The same seed gives the same statements on the same server. One that is refused changes nothing and is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from support.oracles.table_structures import TableStructure
from support.workloads.table import quote

T = TypeVar("T")
Name = tuple[str, str]

DATABASES = ("one", "two")
NAMES = (
    *("id", "name", "a", "b", "c", "d", "total", "Created_At", "KEY", "select", "x y", "back`tick", "größe"),
    *("名前", "index", "v1", "v2", "v3", "v4", "comment", "first", "after", "value", "date", "e.f", "a,b", "(c)"),
)  # fmt: skip
TABLES = ("t", "u", "orders", "Order Lines", "käufer", "x`y", "first", "log")
CHARSETS = ("latin1", "utf8mb4", "utf8mb3", "ascii", "ucs2", "cp1251", "gbk", "binary")
COLLATIONS = (
    *("utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_german2_ci", "latin1_bin"),
    *("latin1_german1_ci", "utf8mb3_bin", "ascii_bin"),
)  # fmt: skip
PLAIN = (
    *("INT", "int(11)", "INTEGER UNSIGNED", "TINYINT(1)", "bool", "SMALLINT(5) UNSIGNED ZEROFILL", "BIGINT(20)"),
    *("mediumint", "DECIMAL(10,2)", "dec", "NUMERIC(7) UNSIGNED", "FLOAT", "float(7,3)", "DOUBLE PRECISION", "real"),
    *("DATE", "TIME(3)", "DATETIME", "datetime(6)", "TIMESTAMP NULL", "YEAR", "BIT(9)", "bit", "BINARY(16)", "blob"),
    *("VARBINARY(20)", "TINYBLOB", "LONGBLOB", "JSON", "POINT", "geometry", "int8", "FLOAT(30)", "blob(300)"),
)  # fmt: skip
TEXTS = (
    *("CHAR", "char(10)", "VARCHAR(20)", "varchar(191)", "TEXT", "tinytext", "MEDIUMTEXT", "LONGTEXT", "text(300)"),
    *("ENUM('a','b')", "enum('x, y','it''s','c)')", "SET('r','w','x')", "LONG VARCHAR", "CHARACTER VARYING(30)"),
)  # fmt: skip
RENAMES = ("RENAME TO ", "RENAME AS ", "RENAME = ")
COMMENTS = ("", "plain", "it''s; --", "größe, (名)", "/* no */")
MARIADB_PLAIN = ("UUID", "INET6", "INET4", "VARCHAR(30) COMPRESSED", "text COMPRESSED")
MYSQL_PLAIN = ("VECTOR(3)", "POINT SRID 4326")


@dataclass
class RandomDdl:
    """A source of statements."""

    random: Random
    is_mariadb: bool

    def statement(self, tables: dict[Name, TableStructure]) -> str:
        """The next one, where a server has these tables."""
        roll = self.random.random()
        if len(tables) < 4 or (roll < 0.06 and len(tables) < 14):
            return self.create()
        name = self.pick(sorted(tables))
        if roll < 0.09:
            return (
                f"{self.word('CREATE TABLE')} {self.table(self.new_name())} LIKE {self.table(name)}"
            )
        if roll < 0.12:
            return f"RENAME TABLE {self.table(name)} TO {self.table(self.new_name())}"
        if roll < 0.14:
            return f"DROP TABLE {'IF EXISTS ' * self.one_in(2)}{self.table(name)}"
        if roll < 0.16:
            database = self.pick(DATABASES)
            return f"ALTER DATABASE {database} {self.charset()}"
        if roll < 0.19:
            unique = self.pick(("", "UNIQUE "))
            parts = self.parts(tables[name])
            return f"CREATE {unique}INDEX {self.new_key()} ON {self.table(name)} {parts}"
        return self.alter(name, tables[name])

    def create(self) -> str:
        columns = self.random.sample(NAMES, self.random.randint(1, 6))
        elements = [f"{quote(name)} {self.definition()}" for name in columns]
        text = ", ".join(elements)
        if self.one_in(2):
            text += f", PRIMARY KEY ({quote(columns[0])})"
        if self.one_in(3):
            unique = self.pick(("UNIQUE", "KEY", "UNIQUE KEY"))
            text += f", {unique} {self.new_key() * self.one_in(2)} ({quote(self.pick(columns))})"
        options = f" {self.charset()}" * self.one_in(
            2
        ) + f" COMMENT='{self.comment()}'" * self.one_in(3)
        return f"{self.word('CREATE TABLE')} {self.table(self.new_name())} ({text}){options}"

    def alter(self, name: Name, table: TableStructure) -> str:
        count = self.pick((1, 1, 1, 2, 2, 3, 4))
        clauses = [self.clause(table) for _ in range(count)]
        # MariaDB 11.8 may keep the table under its old name too, with a warning that it does not exist.
        renames = [clause for clause in clauses if clause.startswith(RENAMES)]
        if self.is_mariadb and renames:
            clauses = renames[:1]
        return f"{self.word('ALTER TABLE')} {self.table(name)} {self.comma().join(clauses)}"

    def clause(self, table: TableStructure) -> str:
        pick, word = self.pick, self.word
        column = quote(pick(table.columns).name)
        keys = [key.name for key in table.keys if key.name != "PRIMARY"]
        key = quote(pick(keys)) if keys else self.new_key()
        kinds = {
            "add": lambda: f"ADD {pick(('', 'COLUMN '))}{self.added()}{self.place(table)}",
            "add several": lambda: f"ADD ({self.added()}, {self.added()})",
            "drop": lambda: f"{word('DROP')} {pick(('', 'COLUMN '))}{column}",
            "modify": lambda: f"{word('MODIFY')} {column} {self.definition()}{self.place(table)}",
            "change": lambda: f"CHANGE {column} {self.added()}{self.place(table)}",
            "rename column": lambda: f"RENAME COLUMN {column} TO {quote(pick(NAMES))}",
            "default": lambda: f"ALTER {column} {pick(('SET DEFAULT 1', 'DROP DEFAULT'))}",
            "key": lambda: f"ADD {pick(('KEY', 'INDEX', 'UNIQUE', 'UNIQUE KEY'))} {self.new_key() * self.one_in(2)} {self.parts(table)}",
            "primary": lambda: f"ADD PRIMARY KEY {self.parts(table)}",
            "new primary": lambda: f"DROP PRIMARY KEY, ADD PRIMARY KEY {self.parts(table)}",
            "drop primary": lambda: "DROP PRIMARY KEY",
            "drop key": lambda: f"DROP {pick(('KEY', 'INDEX'))} {key}",
            "rename key": lambda: f"RENAME {pick(('KEY', 'INDEX'))} {key} TO {self.new_key()}",
            "charset": lambda: self.charset(),
            "convert": lambda: f"CONVERT TO CHARACTER SET {pick(CHARSETS[:5])}",
            "convert collate": lambda: f"CONVERT TO CHARACTER SET utf8mb4 COLLATE {pick(COLLATIONS[:4])}",
            "comment": lambda: f"COMMENT = '{self.comment()}'",
            "rename": lambda: f"{pick(RENAMES)}{self.table(self.new_name())}",
            "other": lambda: pick(("ENGINE=InnoDB", "AUTO_INCREMENT = 5", "FORCE", "ROW_FORMAT=DYNAMIC")),
        }  # fmt: skip
        weights = {"add": 6, "modify": 5, "change": 3, "drop": 3, "key": 4, "rename column": 2}
        kind = self.random.choices(list(kinds), [weights.get(name, 1) for name in kinds])[0]
        return kinds[kind]()

    def added(self) -> str:
        return f"{quote(self.pick(NAMES))} {self.definition()}"

    def place(self, table: TableStructure) -> str:
        if self.one_in(5):
            return " FIRST"
        return f" AFTER {quote(self.pick(table.columns).name)}" if self.one_in(4) else ""

    def definition(self) -> str:
        own = MARIADB_PLAIN if self.is_mariadb else MYSQL_PLAIN
        if self.one_in(8):
            expression = self.pick(("1 + 1", "'x'", "CONCAT('a', 'b')"))
            kind = self.pick(("VIRTUAL", "STORED", ""))
            return f"{self.pick(('INT', 'VARCHAR(20)'))} AS ({expression}) {kind}".rstrip()
        if self.one_in(15):
            return self.pick(own)
        if self.one_in(2):
            text = self.pick(PLAIN)
        else:
            text = self.pick(TEXTS)
            if self.one_in(3):
                text += f" CHARACTER SET {self.pick(CHARSETS[:-1])}"
            elif self.one_in(4):
                text += f" COLLATE {self.pick(COLLATIONS)}"
        if "NULL" not in text:
            text += self.pick(("", "", " NULL", " NOT NULL", " NOT NULL"))
        if self.one_in(20):
            text += self.pick((" UNIQUE", " UNIQUE KEY", " PRIMARY KEY", " KEY"))
        if self.one_in(6):
            text += f" COMMENT '{self.comment()}'"
        return text + " INVISIBLE" * self.one_in(12)

    def parts(self, table: TableStructure) -> str:
        count = min(self.pick((1, 1, 2, 3)), len(table.columns))
        parts = []
        for column in self.random.sample(table.columns, count):
            prefix = ""
            if column.type.startswith(("varchar", "char", "varbinary")) and self.one_in(3):
                prefix = f"({self.random.randint(1, 12)})"
            elif column.type.endswith(("text", "blob")):
                prefix = f"({self.random.randint(1, 40)})"
            parts.append(quote(column.name) + prefix + self.pick(("", "", " ASC", " DESC")))
        return f"({', '.join(parts)})"

    def charset(self) -> str:
        collate = f"COLLATE {self.pick(COLLATIONS)}"
        return self.pick(
            (
                f"CHARACTER SET {self.pick(CHARSETS)}",
                f"DEFAULT CHARSET={self.pick(CHARSETS)}",
                collate,
            )
        )

    def comment(self) -> str:
        return self.pick(COMMENTS)

    def new_name(self) -> Name:
        return self.pick(DATABASES), self.pick(TABLES) + self.pick(("", "", "2", "3"))

    def new_key(self) -> str:
        return quote(self.pick(NAMES) + self.pick(("", "_2", "_3")))

    def table(self, name: Name) -> str:
        return f"{quote(name[0])}.{quote(name[1])}"

    def comma(self) -> str:
        return self.pick((", ", ",", " ,\n  "))

    def word(self, word: str) -> str:
        return self.pick((word, word.lower(), word.replace(" ", "  ")))

    def pick(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def one_in(self, count: int) -> bool:
        return self.random.randrange(count) == 0
