"""The current columns and keys of a server's table, from ``information_schema``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binarrow._native import ConfigError, NativeServer
from binarrow.sql import quoted, quoted_name


@dataclass(frozen=True)
class Column:
    """A current column of a table."""

    name: str
    type: str
    """As in CREATE TABLE, for example ``int unsigned`` or ``enum('a','b')``."""
    nullable: bool
    charset: str | None
    collation: str | None
    default: str | None
    """The default, as the server prints it; None if it is NULL."""
    extra: str
    """``auto_increment``, ``STORED GENERATED``, ``INVISIBLE`` and the like."""
    comment: str

    @property
    def has_default(self) -> bool:
        """True if INSERT may omit the column (DEFAULT, AUTO_INCREMENT or generated)."""
        is_made = any(word in self.extra.upper() for word in ("GENERATED", "AUTO_INCREMENT"))
        return self.default is not None or is_made


@dataclass(frozen=True)
class Key:
    """A current primary or unique key of a table."""

    name: str
    columns: tuple[str, ...]
    """In key order, without expressions."""
    identifies_rows: bool
    """True if no two rows have the same values: no column is nullable or virtual."""


@dataclass(frozen=True)
class TableDescription:
    """The current structure of a table, which may differ from that of a logged change."""

    database: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    create_statement: str
    """The output of ``SHOW CREATE TABLE``, for ``read_binlog(..., schemas=...)``."""
    unique_keys: tuple[Key, ...] = ()
    """The primary key and the unique ones, in the server's order."""

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row in changes, with ``create_statement`` as ``schemas=``.

        The primary key, otherwise the first unique key of columns that are NOT NULL. Empty if there
        is none: the complete row is then the key.
        """
        return next((key.columns for key in self.unique_keys if key.identifies_rows), ())


COLUMNS_OF = """
SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, COLUMN_DEFAULT,
  EXTRA, COLUMN_COMMENT
FROM information_schema.COLUMNS"""

PRIMARY_KEY_OF = """
SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE CONSTRAINT_NAME = 'PRIMARY'"""


def describe(server: NativeServer, table: str) -> TableDescription:
    """Reads the columns and keys of ``database.table``."""
    database, dot, name = table.partition(".")
    if not dot or not database or not name:
        raise ConfigError(f"{table!r} is not a table: write database.table")
    place = f"{quoted_name(database)}.{quoted_name(name)}"
    created = server.query(f"SHOW CREATE TABLE {place}")
    of_table = f"TABLE_SCHEMA = {quoted(database)} AND TABLE_NAME = {quoted(name)}"
    rows = server.query(f"{COLUMNS_OF} WHERE {of_table} ORDER BY ORDINAL_POSITION")
    primary = server.query(f"{PRIMARY_KEY_OF} AND {of_table} ORDER BY ORDINAL_POSITION")
    virtual = {row[0] for row in rows if "VIRTUAL" in (row[6] or "").upper()}
    keys = unique_keys(server.query(f"SHOW INDEX FROM {place}"), virtual)
    columns = tuple(
        Column(
            name=row[0] or "",
            type=row[1] or "",
            nullable=row[2] == "YES",
            charset=row[3],
            collation=row[4],
            # MariaDB prints NULL as a word, and the text 'NULL' in quotes.
            default=None if row[5] == "NULL" and server.flavor == "mariadb" else row[5],
            extra=row[6] or "",
            comment=row[7] or "",
        )
        for row in rows
    )
    statement = created[0][1] if created else None
    return TableDescription(
        database, name, columns, tuple(row[0] or "" for row in primary), statement or "", keys
    )


def unique_keys(
    index_rows: Sequence[Sequence[str | None]], virtual: set[str | None]
) -> tuple[Key, ...]:
    """Returns the unique keys in the rows of ``SHOW INDEX``, in the server's order."""
    parts: dict[str, list[tuple[str | None, bool]]] = {}
    for _, non_unique, name, _, column, *rest in index_rows:
        if non_unique == "0":
            sound = column is not None and column not in virtual and rest[4] != "YES"
            parts.setdefault(name or "", []).append((column, sound))
    return tuple(
        Key(
            name,
            tuple(column for column, _ in columns if column is not None),
            all(sound for _, sound in columns),
        )
        for name, columns in parts.items()
    )
