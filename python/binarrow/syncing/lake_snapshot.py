"""The rows of a lake at the position of a commit, for `verify` and for effects of foreign keys.

Each table contains the number of the last operation that was applied to it, and keeps its earlier
versions for an hour. So a sync may run at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binarrow.syncing.bounds import Bounds, bounds_of
from binarrow.syncing.errors import SyncError, TargetBusyError, TargetDiffersError
from binarrow.syncing.lake_types import stored_type
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.syncing.lake_tables import LakeTables
    from binarrow.syncing.operations import Record, State
    from binarrow.syncing.table_set import LakeTable

RETRY = 0.2
"""Seconds between two checks of a table whose last commit is not complete."""


@dataclass(frozen=True)
class LakeSnapshot:
    """The state of a commit, and the numbers of the last operations of the tables."""

    stored: tuple[State, bytes] | None
    tables: LakeTables
    numbers: Mapping[Name, int]
    smallest_bits: int
    patience: float
    errors: tuple[type[Exception], ...]

    def rows(self, record: Record, near: Sequence[pa.Table] = ()) -> Iterator[pa.RecordBatch]:
        """Returns the rows of a table, with the columns of the record in their order.

        Args:
            record: The table. Its schema may contain only some of the columns.
            near: If there are any, files may be left out whose statistics show that no row has the
                values of a row in one of these tables.

        Raises:
            TargetDiffersError: The table or a column does not exist.
            TargetBusyError: The commit is not complete.
            SyncError: The table cannot be read, or a column has another type.
        """
        try:
            table = self._complete(record.name)
            bounds = [self._bounds(one) for one in near]
            for batch in table.rows_at(self.numbers[record.name], record.schema.names, bounds):
                yield self._of_source(record, batch)
        except self.errors as error:
            raise self.tables.failed(error, "read") from None

    def _bounds(self, values: pa.Table) -> Bounds:
        """Returns the bounds of values, after the conversion to the types of the table."""
        import pyarrow as pa

        types = [(one.name, stored_type(one.type, self.smallest_bits)) for one in values.schema]
        stored = pa.schema([(name, kind) for name, kind in types if kind is not None])
        return bounds_of(values.select(stored.names).cast(stored))

    def _complete(self, name: Name) -> LakeTable:
        """Waits until a table contains its last operation, and returns it."""
        deadline = time.monotonic() + self.patience
        while True:
            table = self.tables.table(name)
            number = table.number
            if number >= self.numbers[name]:
                return table
            if number < 0 and table.version < 0:
                raise TargetDiffersError("the target does not have the table")
            if number < 0:
                raise TargetDiffersError("another program has replaced the table of the target")
            if time.monotonic() >= deadline:
                raise TargetBusyError(
                    f"{shown(name)}: the last commit of the sync is not complete: run binarrow sync"
                )
            time.sleep(RETRY)

    def _of_source(self, record: Record, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Converts rows to the types of the change stream. The types of the table may be wider."""
        import pyarrow as pa

        columns = []
        for field in record.schema:
            place = batch.schema.get_field_index(field.name)
            if place < 0:
                raise TargetDiffersError(
                    f"the target's table does not have the column {field.name}"
                )
            kind, column = _storage(field.type), batch.column(place)
            stored = stored_type(field.type, self.smallest_bits)
            try:
                # In memory, strings and lists may have offsets of another size than `stored`.
                columns.append(column.cast(stored).cast(kind))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise SyncError(
                    f"{shown(record.name)}: in the target, the column {field.name} has the type"
                    f" {column.type} instead of {stored}, or a value is not valid for {kind}"
                ) from None
        return pa.RecordBatch.from_arrays(columns, record.schema.names)


def _storage(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


__all__ = ["LakeSnapshot"]
