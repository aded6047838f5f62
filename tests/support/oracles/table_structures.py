"""Structures of tables from a server's information_schema and SHOW INDEX, in the form of `SchemaHistory.find`.

What is changed before two are compared: the name `utf8` is `utf8mb3`; characters beyond U+FFFF are `?`, for information_schema
shows them so; SPATIAL and FULLTEXT keys have no prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from support.servers.servers import Server, Session
from support.workloads.table import quote

SYSTEM = ("mysql", "sys", "information_schema", "performance_schema")


@dataclass(frozen=True)
class ColumnStructure:
    """A column; `charset` and `collation` are None for bytes and for what is not text."""

    name: str
    type: str
    nullable: bool
    collation: str | None
    visible: bool
    generated: str | None
    comment: str


@dataclass(frozen=True)
class KeyStructure:
    """A key; parts are of a column and a prefix, 0 for none; an expression is of None."""

    kind: str
    name: str
    parts: tuple[tuple[str | None, int], ...]


@dataclass(frozen=True)
class TableStructure:
    """All that is compared of a table."""

    columns: tuple[ColumnStructure, ...]
    keys: tuple[KeyStructure, ...]
    comment: str = ""


def shown(text: str) -> str:
    """Returns text in the form in which servers show it."""
    return re.sub(r"[\U00010000-\U0010ffff]", "?", text)


def plain_collation(name: str | None) -> str | None:
    if name is None or name == "binary":
        return None
    return re.sub(r"^utf8_", "utf8mb3_", name)


@dataclass
class Oracle:
    """A connection that asks for structures."""

    server: Server
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        self.session = self.server.connect()
        self.session.execute("SET SESSION sql_mode = ''")
        if not self.server.is_mariadb and not self.server.is_old:
            self.session.execute("SET SESSION information_schema_stats_expiry = 0")

    def tables(self) -> set[tuple[str, str]]:
        """All tables, as database and name."""
        return set(
            self.session.query(
                "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE IN "
                f"('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') AND TABLE_SCHEMA NOT IN {SYSTEM}"
            )
        )

    def structure(self, database: str, table: str) -> TableStructure:
        where = f"WHERE TABLE_SCHEMA = {_text(database)} AND TABLE_NAME = {_text(table)}"
        expression = "GENERATION_EXPRESSION" if self.server.flavor != "mysql-5.6" else "NULL"
        columns = self.session.query(
            "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLLATION_NAME, EXTRA, COLUMN_COMMENT, "
            f"{expression} FROM information_schema.COLUMNS {where} ORDER BY ORDINAL_POSITION"
        )
        comment = self.session.query(f"SELECT TABLE_COMMENT FROM information_schema.TABLES {where}")
        return TableStructure(
            tuple(_column(*row) for row in columns),
            self.keys(database, table),
            shown(comment[0][0]),
        )

    def keys(self, database: str, table: str) -> tuple[KeyStructure, ...]:
        found: dict[str, tuple[str, list[tuple[str | None, int]]]] = {}
        for row in self.session.query(f"SHOW INDEX FROM {quote(database)}.{quote(table)}"):
            non_unique, name, column, prefix, kind = row[1], row[2], row[4], row[7], row[10]
            what = "KEY" if non_unique else "UNIQUE"
            what = "PRIMARY" if name == "PRIMARY" else what
            length = 0 if kind in ("SPATIAL", "FULLTEXT") else prefix or 0
            found.setdefault(name, (what, []))[1].append((column, length))
        return tuple(KeyStructure(kind, name, tuple(p)) for name, (kind, p) in found.items())

    def create_statements(self, databases: Sequence[str] = ()) -> str:
        """These databases and their tables as a script, or all: what a baseline is."""
        lines = []
        for (database,) in self.session.query("SHOW DATABASES"):
            if database in SYSTEM or (databases and database not in databases):
                continue
            name = quote(database)
            lines.append(self.session.query(f"SHOW CREATE DATABASE {name}")[0][1])
            lines.append(f"USE {name}")
            for each, table in sorted(self.tables()):
                if each == database:
                    lines.append(
                        self.session.query(f"SHOW CREATE TABLE {name}.{quote(table)}")[0][1]
                    )
        return ";\n".join(lines) + ";\n"

    def position(self) -> tuple[str, int]:
        """The end of the log."""
        new = not self.server.is_mariadb and not self.server.is_old
        row = self.session.query("SHOW BINARY LOG STATUS" if new else "SHOW MASTER STATUS")[0]
        return row[0], row[1]


def _column(
    name: str,
    column_type: str,
    nullable: str,
    collation: str | None,
    extra: str,
    comment: str,
    expression: str | None,
) -> ColumnStructure:
    generated = None
    if "GENERATED" in extra.upper() and "DEFAULT_GENERATED" not in extra:
        generated = "VIRTUAL" if "VIRTUAL" in extra.upper() else "STORED"
    elif "DEFAULT_GENERATED" in extra and re.search(r"(VIRTUAL|STORED) GENERATED", extra):
        generated = "VIRTUAL" if "VIRTUAL GENERATED" in extra else "STORED"
    elif expression in ("ROW START", "ROW END"):
        generated = "STORED"
    return ColumnStructure(
        name,
        shown(column_type),
        nullable == "YES",
        plain_collation(collation),
        "INVISIBLE" not in extra,
        generated,
        shown(comment),
    )


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
