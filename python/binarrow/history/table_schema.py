"""The structure of a table at a place in the log: columns and keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self


@dataclass(frozen=True)
class TableColumn:
    """A column of a table."""

    name: str
    type: str
    """As in CREATE TABLE, for example ``int unsigned`` or ``enum('a','b')``."""
    nullable: bool
    unsigned: bool = False
    """True for UNSIGNED numbers."""
    charset: str | None = None
    """The character set; None if the column is not text."""
    collation: str | None = None
    """The collation; None if the column is not text."""
    members: tuple[str, ...] = ()
    """The members of an ENUM or SET."""
    visible: bool = True
    """False for an INVISIBLE column, which ``SELECT *`` does not return."""
    generated: Literal["virtual", "stored"] | None = None
    """The kind of a generated column; None for other columns."""
    comment: str = ""


@dataclass(frozen=True)
class TableIndex:
    """A key of a table."""

    name: str | None
    """``PRIMARY`` for the primary key."""
    kind: Literal["primary", "unique", "index"]
    columns: tuple[str, ...]
    """In key order, without expressions."""
    prefixes: tuple[int, ...] = ()
    """For each column, the length in characters of the prefix in the key; 0 if the key contains
    the complete value."""
    identifies_rows: bool = False
    """True if no two rows have the same values: the key is unique, no column of it is nullable or
    virtual, and it has no expression."""
    visible: bool = True
    """False for an INVISIBLE (MariaDB: IGNORED) index, which queries do not use."""


@dataclass(frozen=True)
class TableSchema:
    """The structure of a table at a place in the log."""

    database: str
    table: str
    columns: tuple[TableColumn, ...]
    """In table order."""
    indexes: tuple[TableIndex, ...] = ()
    """The primary key, then the unique keys, then the others, in the server's order."""
    comment: str = ""
    create_statement: str = field(default="", repr=False)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key, in key order; empty if there is none."""
        return next((key.columns for key in self.indexes if key.kind == "primary"), ())

    @property
    def unique_keys(self) -> tuple[TableIndex, ...]:
        """The primary key and the unique keys, in the server's order."""
        return tuple(key for key in self.indexes if key.kind != "index")

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row in changes; empty if only the complete row does.

        The primary key, otherwise the first unique key of columns that are NOT NULL.
        """
        return next((key.columns for key in self.unique_keys if key.identifies_rows), ())

    def to_sql(self) -> str:
        """Returns the CREATE TABLE statement, with all character sets and collations."""
        return self.create_statement

    @classmethod
    def of_native(cls, found: dict[str, Any]) -> Self:
        """Converts a table as the extension module returns it."""
        columns = tuple(TableColumn(**column) for column in found["columns"])
        indexes = tuple(TableIndex(**index) for index in found["indexes"])
        return cls(**{**found, "columns": columns, "indexes": indexes})


__all__ = ["TableColumn", "TableIndex", "TableSchema"]
