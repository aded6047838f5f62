"""A table of a batch: its structure on the server, and the table in the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql.types import StructField, StructType

from binarrow import SchemaError
from binarrow.options import ENVELOPE_COLUMNS
from binarrow.spark.mirror.table import TableMirror
from binarrow.spark.syncing.spellings import other_spellings
from binarrow.spark.syncing.structures import Structure
from binarrow.syncing.names import Name, shown
from binarrow.syncing.rows import VALIDITY

ENVELOPE = frozenset(f"_{name}" for name in ENVELOPE_COLUMNS)


@dataclass(frozen=True)
class Table:
    """A table of a batch."""

    name: Name
    structure: Structure
    mirror: TableMirror
    has_versions: bool = False
    """True if the target has all versions of its rows."""
    is_dropped: bool = False
    """True if the server has dropped it. The structure is then that of the target."""

    @property
    def own(self) -> list[StructField]:
        """Its columns on the server, without the envelope."""
        return [field for field in self.structure.schema.fields if field.name not in ENVELOPE]

    def of_key(self) -> StructType:
        """Returns the columns of the key, and the envelope."""
        names = {*self.structure.key, *ENVELOPE}
        return StructType([one for one in self.structure.schema.fields if one.name in names])

    def held(self) -> StructType:
        """Returns the columns in the target, without those of versions of rows."""
        held = self.mirror.schema()
        assert held is not None  # noqa: S101 - it was created
        if not self.has_versions:
            return held
        return StructType([field for field in held.fields if field.name not in VALIDITY])

    def spellings(self, logged: Iterable[Iterable[str]]) -> dict[str, str]:
        """Returns the names of columns in rows of a batch, by these names in other letter case."""
        names = (field.name for field in self.own)
        return other_spellings(names, set().union(*logged))

    def with_dropped_columns(self, logged: Iterable[Iterable[str]]) -> StructType:
        """Returns the structure with the columns of rows that the server has dropped since.

        Args:
            logged: The sets of columns that the rows of the batch have.

        Raises:
            SchemaError: The target does not have one of them, so that its type is not known.
        """
        own = self.own
        names = {field.name.lower() for field in own}
        dropped = sorted(one for one in set().union(*logged) if one.lower() not in names)
        of_target = {field.name: field for field in self.held().fields}
        unknown = [column for column in dropped if column not in of_target]
        if unknown:
            raise SchemaError(
                f"{shown(self.name)}: rows in the log have the columns {', '.join(unknown)}, which"
                " the server dropped or renamed before the rows were read, so their types are not"
                " known: add the columns to the target, or leave the table out with exclude_tables"
            )
        envelope = [field for field in self.structure.schema if field.name in ENVELOPE]
        return StructType([*own, *(of_target[column] for column in dropped), *envelope])


__all__ = ["ENVELOPE", "Table"]
