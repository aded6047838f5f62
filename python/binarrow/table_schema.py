"""A table as it was at a place of the log: columns and keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self


@dataclass(frozen=True)
class TableColumn:
    """A column of a table as it was."""

    name: str
    type: str
    """As in CREATE TABLE, for example ``int unsigned`` or ``enum('a','b')``."""
    nullable: bool
    unsigned: bool = False
    """Whether it is a number without a sign."""
    charset: str | None = None
    """Of text; None for what is no text."""
    collation: str | None = None
    """Likewise."""
    members: tuple[str, ...] = ()
    """Of an ENUM or SET."""
    visible: bool = True
    """Whether ``SELECT *`` shows it."""
    generated: Literal["virtual", "stored"] | None = None
    """How the server computes it; None where it does not."""
    comment: str = ""


@dataclass(frozen=True)
class TableIndex:
    """A key of a table as it was."""

    name: str | None
    """``PRIMARY`` for the primary key."""
    kind: Literal["primary", "unique", "index"]
    columns: tuple[str, ...]
    """In key order; without what is an expression."""
    prefixes: tuple[int, ...] = ()
    """For each column, how many characters of it the key holds; 0 for all."""
    identifies_rows: bool = False
    """Whether no two rows share its values: it is unique, no column of it may be NULL or is
    virtual, and it has no expression."""
    visible: bool = True
    """Whether queries may use it."""


@dataclass(frozen=True)
class TableSchema:
    """A table as it was at a place of the log."""

    database: str
    table: str
    columns: tuple[TableColumn, ...]
    """In table order."""
    indexes: tuple[TableIndex, ...] = ()
    """All keys: the primary one, the unique ones in the server's order, the others."""
    comment: str = ""
    create_statement: str = field(default="", repr=False)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key, in key order; empty where there is none."""
        return next((key.columns for key in self.indexes if key.kind == "primary"), ())

    @property
    def unique_keys(self) -> tuple[TableIndex, ...]:
        """The primary key and the unique ones, in the server's order."""
        return tuple(key for key in self.indexes if key.kind != "index")

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns by which changes know a row; empty where it is the whole row.

        The primary key, else the first unique key of columns that are NOT NULL.
        """
        return next((key.columns for key in self.unique_keys if key.identifies_rows), ())

    def to_sql(self) -> str:
        """The CREATE TABLE statement, every character set and collation written out."""
        return self.create_statement

    @classmethod
    def of_native(cls, found: dict[str, Any]) -> Self:
        """What the native module says of a table."""
        columns = tuple(TableColumn(**column) for column in found["columns"])
        indexes = tuple(TableIndex(**index) for index in found["indexes"])
        return cls(**{**found, "columns": columns, "indexes": indexes})


__all__ = ["TableColumn", "TableIndex", "TableSchema"]
