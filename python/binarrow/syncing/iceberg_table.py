"""Operations on one Iceberg table, each in one commit that contains its number.

pyiceberg has no merge that is fast on keys of several columns, so changes are applied here: files
with changed rows are read, joined with the keys, and replaced. pyiceberg writes the files, and
commits the replacement.
"""

from __future__ import annotations

import itertools
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    IsNull,
    LessThanOrEqual,
    Or,
    Reference,
)
from pyiceberg.io.pyarrow import (
    ArrowScan,
    _dataframe_to_data_files,
)
from pyiceberg.table import StaticTable

from binarrow.syncing.bounds import Bounds, bounds_of
from binarrow.syncing.iceberg_columns import altered, columns_of, renamed, replaced
from binarrow.syncing.iceberg_commits import CachedTransaction, Overwrite
from binarrow.syncing.iceberg_files import delete_old, delete_unused, files_of, path_of, sync_file
from binarrow.syncing.operations import Alter, End, Versions, Write
from binarrow.syncing.reduce import places
from binarrow.syncing.rows import TO_VERSION, VALID_TO
from binarrow.syncing.versions import ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table, Transaction

    from binarrow.syncing.names import Name

MARK = "binarrow.sync"
"""The property with the number of the last operation."""

AGE = "history.expire.max-snapshot-age-ms"
"""The property with the time for which snapshots and their files are kept."""

HOUR = 3_600_000
"""The default of this time."""

MAINTAINED = 100
"""The number of snapshots after which small files are compacted and old ones are deleted."""

IS_CURRENT = IsNull(term=Reference(TO_VERSION))
"""The condition of the current versions of rows."""

PLACE = "_place"
"""A column with the number of a row in its file, beside key columns only."""


class IcebergTable:
    """An Iceberg table of a sync, as it is now."""

    def __init__(
        self, catalog: Catalog, name: Name, table: Table | None, folder: Path | None, sync_id: str
    ) -> None:
        """Opens a table. `folder` is for a new table; None if the catalog selects the location."""
        self._catalog = catalog
        self._name = name
        self._table = table
        self._folder = folder
        self._sync_id = sync_id

    @property
    def number(self) -> int:
        """The number of the last operation that was applied; -1 if there is none."""
        return -1 if self._table is None else self._number_of(self._table)

    def _number_of(self, table: Table) -> int:
        sync_id, _, number = table.properties.get(MARK, "").partition(" ")
        return int(number) if sync_id == self._sync_id else -1

    @property
    def version(self) -> int:
        """The version of the table; -1 if there is no table."""
        return -1 if self._table is None else self._table.last_sequence_number

    def create(self, schema: pa.Schema, properties: Mapping[str, str], number: int) -> None:
        """Creates the table, or replaces its columns and rows."""
        if self._table is not None:
            self._commit(number, self._files(), change=replaced(self._table, schema))
            return
        self._catalog.create_namespace_if_not_exists(self._name[:1])
        location = None
        if self._folder is not None:
            folder = self._folder.with_name(f"{self._folder.name}-{number}")
            folder.mkdir(parents=True, exist_ok=True)
            location = f"file://{folder}"
        self._table = self._catalog.create_table(
            self._name,
            schema,
            location=location,
            properties={**properties, AGE: str(HOUR), MARK: f"{self._sync_id} {number}"},
        )
        sync_file(self._table.metadata_location)

    def clear(self, number: int) -> None:
        """Removes all rows."""
        self._commit(number, self._files())

    def append(self, rows: pa.Table, number: int) -> None:
        """Adds rows."""
        self._commit(number, added=[rows] if rows.num_rows else [])

    def write(self, change: Write, number: int) -> None:
        """Replaces and deletes rows by their keys."""
        import pyarrow as pa

        keys = pa.concat_tables([change.rows.select(change.key), change.deleted])
        changed: list[DataFile] = []

        def added() -> Iterator[pa.Table]:
            for task in self._tasks(_between(bounds_of(keys))):
                rest = self._without(task, keys)
                if rest is not None:
                    changed.append(task.file)
                    yield rest
            yield change.rows

        self._commit(number, changed, added())

    def write_versions(self, change: Versions, number: int) -> None:
        """Adds versions of rows, and ends those that were current."""
        keys = change.ended.select(change.key)
        changed: list[DataFile] = []

        def added() -> Iterator[pa.Table]:
            for task in self._tasks(And(_between(bounds_of(keys)), IS_CURRENT)):
                rows = self._with_ends(task, change)
                if rows is not None:
                    changed.append(task.file)
                    yield rows
            yield change.rows

        self._commit(number, changed, added())

    def end(self, change: End, number: int) -> None:
        """Ends current versions of rows."""
        changed: list[DataFile] = []

        def added() -> Iterator[pa.Table]:
            for task in self._tasks(IS_CURRENT):
                rows = ended(self._read(task), change)
                if rows is not None:
                    changed.append(task.file)
                    yield rows

        self._commit(number, changed, added())

    def alter(self, change: Alter, number: int) -> None:
        """Gives the table other columns; its rows stay."""
        import pyarrow as pa

        table = self._opened()
        before = columns_of(table.schema())
        simple = renamed(before, change.columns)
        if simple is not None:
            self._commit(number, change=simple)
            return
        schema = pa.schema([column.field for column in change.columns])
        tasks = list(self._tasks())
        rows = (altered(self._read(task), change, schema) for task in tasks)
        files = [task.file for task in tasks]
        self._commit(number, files, rows, change=replaced(table, schema))

    def make_durable(self, before: int) -> None:
        """Does nothing: each commit waits for its files."""

    def rows_at(
        self, number: int, columns: Sequence[str], bounds: Sequence[Bounds] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Returns the rows of the version that the operation with this number created."""
        table = self._opened()
        files = [one.metadata_file for one in table.metadata.metadata_log]
        while self._number_of(table) > number and files:
            table = StaticTable.from_metadata(files.pop(), table.io.properties)
        if self._number_of(table) != number:
            raise FileNotFoundError(f"{table.location()} has no version of the last commit")
        own = {field.name for field in table.schema().fields}
        read = tuple(name for name in columns if name in own)
        scan = table.scan(_between(*bounds), selected_fields=read)
        yield from scan.to_arrow_batch_reader()

    def is_to_maintain(self, before: int) -> bool:
        """True if small files are to be compacted, once in a number of versions."""
        return self.version // MAINTAINED > before // MAINTAINED

    def maintain(self, before: int) -> None:
        """Compacts small files and deletes old ones, if this is due."""
        if self._table is None or not self.is_to_maintain(before):
            return
        self._compact(self._table)
        age = timedelta(milliseconds=int(self._table.properties.get(AGE, HOUR)))
        oldest = datetime.now(UTC) - age
        files = set() if self._folder is not None else files_of(self._table)
        self._table.maintenance.expire_snapshots().older_than(oldest).commit()
        table = self._catalog.load_table(self._name)
        if self._folder is not None:
            delete_old(table, oldest.timestamp())
        else:  # the folder may contain files of other tables
            delete_unused(table.io, files - files_of(table))

    # ------------------------------------------------------------------------ files

    def _compact(self, table: Table) -> None:
        import pyarrow as pa

        size = int(table.properties["write.target-file-size-bytes"]) // 16
        tasks = [task for task in self._tasks() if task.file.file_size_in_bytes < size]
        if tasks[1:] == []:
            return
        schema = columns_of(table.schema())
        batches = (batch for task in tasks for batch in self._read(task).to_batches())
        rows = pa.RecordBatchReader.from_batches(schema, batches)
        self._commit(self.number, [task.file for task in tasks], [rows])

    def _opened(self) -> Table:
        if self._table is None:
            raise FileNotFoundError(f"the catalog has no table {self._name}")
        return self._table

    def _tasks(self, condition: BooleanExpression | None = None) -> Iterable[FileScanTask]:
        return self._opened().scan(row_filter=condition or AlwaysTrue()).plan_files()

    def _files(self) -> list[DataFile]:
        return [task.file for task in self._tasks()]

    def _read(self, task: FileScanTask, columns: tuple[str, ...] = ()) -> pa.Table:
        table = self._opened()
        schema = table.schema().select(*columns) if columns else table.schema()
        scan = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
        return scan.to_table([task]).cast(columns_of(schema))

    def _without(self, task: FileScanTask, keys: pa.Table) -> pa.Table | None:
        """Returns the rows of a file that do not have one of the keys; None if none has one."""
        import pyarrow.compute as pc

        names = tuple(keys.column_names)
        found = self._read(task, names).select(names)
        place = places(found.num_rows)
        same = found.append_column(PLACE, place).join(keys, list(names), join_type="left semi")
        if not same.num_rows:
            return None
        if same.num_rows == found.num_rows:  # the file need not be read
            return columns_of(self._opened().schema()).empty_table()
        is_same = pc.is_in(place, value_set=same.column(PLACE).combine_chunks())
        return self._read(task).filter(pc.invert(is_same))

    def _with_ends(self, task: FileScanTask, change: Versions) -> pa.Table | None:
        """Returns the rows of a file with the ends of current ones; None if none of them ends."""
        import pyarrow.compute as pc

        keys = self._read(task, (*change.key, TO_VERSION))
        place = places(keys.num_rows)
        current = keys.select([*change.key]).append_column(PLACE, place)
        current = current.filter(pc.is_null(keys.column(TO_VERSION)))
        same = current.join(change.ended, list(change.key), join_type="inner")
        if not same.num_rows:
            return None
        found = pc.index_in(place, value_set=same.column(PLACE).combine_chunks())
        rows = self._read(task)
        for name in (VALID_TO, TO_VERSION):
            values = pc.coalesce(same.column(name).combine_chunks().take(found), rows.column(name))
            rows = rows.set_column(rows.column_names.index(name), name, values)
        return rows

    def _commit(
        self,
        number: int,
        deleted: list[DataFile] | None = None,
        added: Iterable[pa.Table | pa.RecordBatchReader] = (),
        change: Callable[[Transaction], None] | None = None,
    ) -> None:
        """Replaces files and columns. `deleted` may grow while `added` is read."""
        table = self._opened()
        transaction = CachedTransaction(table)
        if change is not None:
            change(transaction)
        written = _write(transaction, table, added)
        if deleted:
            with Overwrite(transaction, table.io) as snapshot:
                for file in deleted:
                    snapshot.delete_data_file(file)
                for file in written:
                    snapshot.append_data_file(file)
        elif written:
            with transaction.update_snapshot().merge_append() as snapshot:
                for file in written:
                    snapshot.append_data_file(file)
        transaction.set_properties({MARK: f"{self._sync_id} {number}"})
        transaction.commit_transaction()
        current = table.current_snapshot()
        if current is not None and (deleted or written):
            sync_file(current.manifest_list)
            for manifest in current.manifests(table.io):
                if manifest.added_snapshot_id == current.snapshot_id:
                    sync_file(manifest.manifest_path)
        sync_file(table.metadata_location)


def _write(
    transaction: Transaction, table: Table, added: Iterable[pa.Table | pa.RecordBatchReader]
) -> list[DataFile]:
    identity, counter = uuid.uuid4(), itertools.count()
    files: list[DataFile] = []
    for rows in added:
        if getattr(rows, "num_rows", 1):
            metadata = transaction.table_metadata
            files += _dataframe_to_data_files(metadata, rows, table.io, identity, counter)
    for file in files:
        sync_file(file.file_path)
    return files


def _between(*bounds: Bounds) -> BooleanExpression:
    """Returns a condition for values between bounds, with which files are left out."""
    if not bounds:
        return AlwaysTrue()
    found: BooleanExpression = AlwaysFalse()
    for one in bounds:
        condition: BooleanExpression = AlwaysTrue()
        for name, (least, most) in one.items():
            low = GreaterThanOrEqual(term=Reference(name), value=least)
            condition = And(condition, low, LessThanOrEqual(term=Reference(name), value=most))
        found = Or(found, condition)
    return found


__all__ = ["IcebergTable", "path_of"]
