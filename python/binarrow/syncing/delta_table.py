"""Operations on one Delta table, each in one commit that contains its number."""

from __future__ import annotations

from datetime import UTC
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError

from binarrow.syncing.operations import Alter, End, NewColumn, Versions, Write
from binarrow.syncing.reduce import CHANGE
from binarrow.syncing.rows import FROM_VERSION, TO_VERSION, VALID_TO
from binarrow.syncing.versions import added_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    import pyarrow.compute as pc
    from deltalake.table import TableMerger

    from binarrow.syncing.bounds import Bounds
    from binarrow.syncing.delta_folders import Folder

TIME = "TIMESTAMP WITH TIME ZONE"
"""The type of a time in statements."""

STATISTICS = "delta.dataSkippingStatsColumns"
"""The property with the columns of which files have statistics."""

EXACT_DIGITS = 15
"""The digits of a decimal that a number of JSON has."""

LISTED = 32
"""The number of columns that have statistics, which is Delta's default."""

MAINTAINED = 100
"""The number of versions after which small files are compacted and old ones are deleted."""


class Table:
    """A Delta table of a sync."""

    def __init__(self, folder: Folder, sync_id: str) -> None:
        self._folder = folder
        self._sync_id = sync_id
        self._table: DeltaTable | None = None

    def refresh(self) -> None:
        """Reads the commits of other programs."""
        if self._table is not None and self._folder.has_commit(self._table.version()):
            self._table.update_incremental()
        elif self._folder.has_table():
            self._table = DeltaTable(self._folder.uri, storage_options=self._folder.options)
        else:
            self._table = None

    @property
    def number(self) -> int:
        """The number of the last operation that was applied; -1 if there is none."""
        found = None if self._table is None else self._table.transaction_version(self._sync_id)
        return -1 if found is None else found

    @property
    def version(self) -> int:
        """The version of the Delta table; -1 if there is no table."""
        return -1 if self._table is None else self._table.version()

    def mark(self, number: int) -> None:
        """Adds a commit without changes."""
        table = self._opened()
        table.create_write_transaction(
            [], "append", table.schema(), commit_properties=self._properties(number)
        )
        table.update_incremental()

    def create(self, schema: pa.Schema, properties: Mapping[str, str], number: int) -> None:
        """Creates the table, or replaces its columns and rows."""
        committed = self._properties(number)
        if self._table is not None:
            self._limit_statistics(schema)
            write_deltalake(
                self._table,
                schema.empty_table(),
                mode="overwrite",
                schema_mode="overwrite",
                commit_properties=committed,
            )
            return
        self._folder.create()
        self._table = DeltaTable.create(
            self._folder.uri,
            Schema.from_arrow(schema),
            storage_options=self._folder.options,
            configuration={**properties, **_statistics(schema)},
            commit_properties=committed,
        )

    def clear(self, number: int) -> None:
        """Removes all rows."""
        table = self._opened()
        empty = _arrow_schema(table).empty_table()
        write_deltalake(table, empty, mode="overwrite", commit_properties=self._properties(number))

    def append(self, rows: pa.Table, number: int) -> None:
        """Adds rows."""
        write_deltalake(
            self._opened(), rows, mode="append", commit_properties=self._properties(number)
        )

    def write(self, change: Write, number: int) -> None:
        """Replaces and deletes rows by their keys."""
        if not self._opened().file_uris():
            self.append(change.rows, number)
            return
        is_deleted = f"s.{_quoted(CHANGE)} = 'delete'"
        columns = _from_changes(change.rows.column_names)
        (
            self._merge(change.key, change.rows, {"delete": change.deleted}, number)
            .when_matched_delete(is_deleted)
            .when_matched_update(columns, predicate=f"NOT ({is_deleted})")
            .when_not_matched_insert(columns, predicate=f"NOT ({is_deleted})")
            .execute()
        )
        if self.number < number:  # none of the rows existed
            self.mark(number)

    def write_versions(self, change: Versions, number: int) -> None:
        """Adds versions of rows, and ends those that were current."""
        if not self._opened().file_uris():
            self.append(change.rows, number)
            return
        is_end = f"s.{_quoted(CHANGE)} = 'end'"
        condition = f" AND t.{TO_VERSION} IS NULL AND {is_end}"
        (
            self._merge(change.key, change.rows, {"end": change.ended}, number, condition)
            .when_matched_update(_from_changes([VALID_TO, TO_VERSION]))
            .when_not_matched_insert(
                _from_changes(change.rows.column_names), predicate=f"NOT ({is_end})"
            )
            .execute()
        )
        if self.number < number:  # none of the rows existed
            self.mark(number)

    def _merge(
        self,
        key: tuple[str, ...],
        rows: pa.Table,
        others: Mapping[str, pa.Table],
        number: int,
        condition: str = "",
    ) -> TableMerger:
        """Begins a merge of rows, and of other kinds of rows, with those of the same keys."""
        same = " AND ".join(f"t.{_quoted(one)} = s.{_quoted(one)}" for one in key)
        return self._opened().merge(
            _tagged(rows.schema, {"write": rows, **others}),
            same + condition,
            source_alias="s",
            target_alias="t",
            streamed_exec=False,  # statistics of the changes exclude files
            commit_properties=self._properties(number),
        )

    def end(self, change: End, number: int) -> None:
        """Ends current versions of rows."""
        table = self._opened()
        older = "" if change.before is None else f" AND {FROM_VERSION} < {change.before}"
        time = change.time.astimezone(UTC).isoformat()
        table.update(
            predicate=f"{TO_VERSION} IS NULL{older}",
            updates={VALID_TO: f"CAST('{time}' AS {TIME})", TO_VERSION: str(change.version)},
            commit_properties=self._properties(number),
        )
        if self.number < number:
            self.mark(number)

    def alter(self, change: Alter, number: int) -> None:
        """Gives the table other columns; its rows stay."""
        import pyarrow as pa

        self._limit_statistics(pa.schema([column.field for column in change.columns]))
        table = self._opened()
        committed = self._properties(number)
        added = _added(_arrow_schema(table), change.columns)
        if added:
            fields: list[Field] = list(Schema.from_arrow(pa.schema(added)).fields)
            table.alter.add_columns(fields, commit_properties=committed)
            return
        schema = pa.schema([column.field for column in change.columns])
        rows = pa.RecordBatchReader.from_batches(
            schema, (_altered(batch, change, schema) for batch in self._batches(table))
        )
        write_deltalake(
            table, rows, mode="overwrite", schema_mode="overwrite", commit_properties=committed
        )

    def rows_at(
        self, number: int, columns: Sequence[str], bounds: Sequence[Bounds] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Returns the rows of the version that the operation with this number created."""
        table = self._opened()
        found = self.number
        while found > number and table.version() > 0:
            table = DeltaTable(
                self._folder.uri, table.version() - 1, storage_options=self._folder.options
            )
            found = table.transaction_version(self._sync_id) or -1
        if found != number:
            raise FileNotFoundError(f"{self._folder.uri} has no version of the last commit")
        yield from self._batches(table, columns, _between(bounds))

    def is_to_maintain(self, before: int) -> bool:
        """True if small files are to be compacted, once in a number of versions."""
        return self.version // MAINTAINED > before // MAINTAINED

    def maintain(self, before: int) -> None:
        """Compacts small files and deletes old ones, if this is due."""
        table = self._table
        if table is not None and self.is_to_maintain(before):
            table.optimize.compact(max_concurrent_tasks=1)
            table.vacuum(dry_run=False)

    def make_durable(self, before: int) -> None:
        """Waits until the commits after a version are on the disk, with their files."""
        if self._table is not None:
            self._folder.make_durable(before)

    def _limit_statistics(self, schema: pa.Schema) -> None:
        """Sets the columns that have statistics, before the columns of the table change."""
        table = self._opened()
        wanted = _statistics(schema)
        if wanted.items() - table.metadata().configuration.items():
            table.alter.set_table_properties(wanted)

    def _batches(
        self,
        table: DeltaTable,
        columns: Sequence[str] | None = None,
        condition: pc.Expression | None = None,
    ) -> Iterator[pa.RecordBatch]:
        dataset = table.to_pyarrow_dataset(filesystem=self._folder.files())
        names = [name for name in columns or dataset.schema.names if name in dataset.schema.names]
        yield from dataset.to_batches(names, condition, batch_readahead=2, fragment_readahead=1)

    def _opened(self) -> DeltaTable:
        if self._table is None:
            raise TableNotFoundError(f"there is no table in {self._folder.uri}")
        return self._table

    def _properties(self, number: int) -> CommitProperties:
        return CommitProperties(app_transactions=[Transaction(self._sync_id, number)])


def _between(bounds: Sequence[Bounds]) -> pc.Expression | None:
    """Returns a condition for values between bounds; None if it is true for all rows."""
    import pyarrow.compute as pc

    if not bounds or not all(bounds):
        return None
    return reduce(
        or_,
        (
            reduce(
                and_,
                (
                    (pc.field(name) >= least) & (pc.field(name) <= most)
                    for name, (least, most) in one.items()
                ),
            )
            for one in bounds
        ),
    )


def _statistics(schema: pa.Schema) -> dict[str, str]:
    """Returns a property that excludes columns of which the library writes inexact statistics.

    They are numbers of 64 bits in JSON. A query with a condition on such a column would not find
    all rows.
    """
    import pyarrow as pa

    exact = [
        field.name
        for field in schema
        if not pa.types.is_decimal(field.type) or field.type.precision <= EXACT_DIGITS
    ]
    if len(exact) == len(schema):
        return {}
    return {STATISTICS: ",".join(f"`{name}`" for name in exact[:LISTED])}


def _tagged(schema: pa.Schema, kinds: Mapping[str, pa.Table]) -> pa.Table:
    """Returns rows of several kinds, with a column that contains the kind."""
    import pyarrow as pa

    parts = []
    for kind, part in kinds.items():
        columns = [
            part.column(field.name)
            if field.name in part.column_names
            else pa.nulls(part.num_rows, field.type)
            for field in schema
        ]
        tags = pa.repeat(pa.scalar(kind, pa.string()), part.num_rows)
        parts.append(pa.table([*columns, tags], [*schema.names, CHANGE]))
    return pa.concat_tables(parts)


def _from_changes(names: Iterable[str]) -> dict[str, str]:
    """Returns columns that get the values of the changes, for a merge."""
    return {_quoted(one): f"s.{_quoted(one)}" for one in names}


def _added(schema: pa.Schema, columns: tuple[NewColumn, ...]) -> list[pa.Field]:
    """Returns the new columns, if nothing but columns of NULL at the end is different."""
    import pyarrow as pa

    kept, new = columns[: len(schema)], columns[len(schema) :]
    same = [(one.source, one.field.name, one.field.type) for one in kept] == [
        (field.name, field.name, field.type) for field in schema
    ]
    simple = all(
        one.source is None and one.value is None and not pa.types.is_timestamp(one.field.type)
        for one in new
    )
    return [one.field for one in new] if same and simple else []


def _altered(batch: pa.RecordBatch, change: Alter, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    found = [
        added_values(change, column, batch)
        if column.source is None
        else batch.column(column.source).cast(column.field.type)
        for column in change.columns
    ]
    return pa.RecordBatch.from_arrays(found, schema=schema)


def _arrow_schema(table: DeltaTable) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(table.schema())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


__all__ = ["Table"]
