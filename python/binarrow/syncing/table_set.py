"""The interface of libraries for tables of a lake: each change of a table is one commit of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from binarrow.syncing.bounds import Bounds
    from binarrow.syncing.lake_types import Format
    from binarrow.syncing.names import Name
    from binarrow.syncing.operations import Alter, End, Versions, Write


class LakeTable(Protocol):
    """A table. Each operation is one commit, which contains the number of the operation."""

    @property
    def number(self) -> int:
        """The number of the last operation that was applied; -1 if there is none."""

    @property
    def version(self) -> int:
        """The version of the table; -1 if there is no table."""

    def create(self, schema: pa.Schema, properties: Mapping[str, str], number: int) -> None:
        """Creates the table, or replaces its columns and rows."""

    def clear(self, number: int) -> None:
        """Removes all rows."""

    def append(self, rows: pa.Table, number: int) -> None:
        """Adds rows."""

    def write(self, change: Write, number: int) -> None:
        """Replaces and deletes rows by their keys."""

    def write_versions(self, change: Versions, number: int) -> None:
        """Adds versions of rows, and ends those that were current."""

    def end(self, change: End, number: int) -> None:
        """Ends current versions of rows."""

    def alter(self, change: Alter, number: int) -> None:
        """Gives the table other columns; its rows stay."""

    def make_durable(self, before: int) -> None:
        """Waits until the commits after a version are on the disk, with their files."""

    def rows_at(
        self, number: int, columns: Sequence[str], bounds: Sequence[Bounds] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Returns the rows of the version that the operation with this number created.

        Args:
            number: The number of the operation.
            columns: The columns to read.
            bounds: If there are any, rows are not needed whose values are not between these bounds.

        Raises:
            FileNotFoundError: The version does not exist any more.
        """

    def is_to_maintain(self, before: int) -> bool:
        """True if small files are to be compacted, once in a number of versions."""

    def maintain(self, before: int) -> None:
        """Compacts small files and deletes old ones, if this is due."""


class TableSet(Protocol):
    """The tables of a lake: in a folder, a bucket or a catalog."""

    kind: str
    """The name of the format in a position file."""
    format: Format
    """The columns that a table can have."""
    mirror: Mapping[str, str]
    """The properties of a new table with the current rows."""
    history: Mapping[str, str]
    """The properties of a new table with all changes."""
    errors: tuple[type[Exception], ...]
    """Errors of the library, and of files."""
    table_errors: tuple[type[Exception], ...]
    """Errors of one table: a value, a type, or a table that another program has changed."""
    conflicts: tuple[type[Exception], ...]
    """Errors after which an operation is applied again: another program has changed the table."""

    def table(self, name: Name, sync_id: str) -> LakeTable:
        """Returns a table as it is now."""

    def find_other(self, name: Name) -> str | None:
        """Returns the place of a table, or of files in its folder; None if there are none."""

    def drop(self, name: Name) -> None:
        """Removes a table in one step, and then deletes its files."""

    def rename(self, name: Name, to: Name) -> None:
        """Renames a table. A table that already has the new name is replaced."""


__all__ = ["LakeTable", "TableSet"]
