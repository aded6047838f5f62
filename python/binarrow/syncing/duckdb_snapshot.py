"""The rows of a DuckDB file at the position of its last commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binarrow.syncing.errors import SyncError, TargetDiffersError
from binarrow.syncing.names import shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from binarrow.syncing.operations import Record, State

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class DuckdbSnapshot:
    """A file that is open, and its state and structures."""

    file: duckdb.DuckDBPyConnection
    stored: tuple[State, bytes] | None

    def rows(self, record: Record, near: Sequence[pa.Table] = ()) -> Iterator[pa.RecordBatch]:
        """Returns the rows of a table, with the columns of the record in their order.

        Args:
            record: The table. Its schema may contain only some of the columns.
            near: If there are any, only rows that have the values of a row in one of these tables.

        Raises:
            TargetDiffersError: The table or a column does not exist.
            SyncError: A column has another type than sync has given to it.
        """
        try:
            yield from self._read(record, near)
        except _errors() as error:
            kind = type(error).__name__
            raise SyncError(f"{shown(record.name)} cannot be read in the target: {kind}") from None

    def _read(self, record: Record, near: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
        self._check_columns(record)
        columns = ", ".join(quoted([name]) for name in record.schema.names)
        relation = self.file.sql(
            f"SELECT {columns} FROM {quoted(record.name)} t{self._condition(near)}"
        )
        # DuckDB 2 has renamed it.
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        with read(BATCH_ROWS) as batches:
            for wanted, found in zip(record.schema, batches.schema, strict=True):
                if not holds(found.type, wanted.type):
                    raise SyncError(
                        f"{shown(record.name)}: the column {wanted.name} has the type {found.type}"
                        f" in the target, and sync has stored {wanted.type}"
                    )
            yield from batches

    def _condition(self, near: Sequence[pa.Table]) -> str:
        found = []
        for number, values in enumerate(near):
            self.file.register(f"near_{number}", values)
            same = " AND ".join(
                f"t.{quoted([one])} = k.{quoted([one])}" for one in values.column_names
            )
            found.append(f"EXISTS (SELECT 1 FROM near_{number} k WHERE {same})")
        return f" WHERE {' OR '.join(found)}" if found else ""

    def _check_columns(self, record: Record) -> None:
        rows = self.file.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_catalog ="
            " current_database() AND table_schema = ? AND table_name = ?",
            [*record.name],
        ).fetchall()
        existing = {name.lower() for (name,) in rows}
        if not existing:
            raise TargetDiffersError("the target does not have the table")
        for name in record.schema.names:
            if name.lower() not in existing:
                raise TargetDiffersError(f"the target's table does not have the column {name}")


def _errors() -> type[Exception]:
    import duckdb

    return duckdb.Error


def holds(found: pa.DataType, wanted: pa.DataType) -> bool:
    """True if DuckDB returns the type for a column that was stored with another one."""
    import pyarrow as pa

    types = pa.types
    if isinstance(wanted, pa.BaseExtensionType):  # JSON
        wanted = wanted.storage_type
    if types.is_duration(wanted):
        return bool(types.is_interval(found))
    if types.is_timestamp(wanted) and wanted.tz is not None:
        return bool(types.is_timestamp(found) and found.unit == wanted.unit and found.tz)
    if types.is_list(wanted):
        return bool(types.is_list(found) and holds(found.value_type, wanted.value_type))
    return bool(found == wanted)


def quoted(parts: Sequence[str]) -> str:
    """Quotes the parts of a name."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


__all__ = ["BATCH_ROWS", "DuckdbSnapshot", "holds", "quoted"]
