"""A task that decodes ranges of a log into Parquet files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binarrow import (
    BinlogReader,
    ChangeBatch,
    SchemaChange,
    UnloggedChange,
    UnmatchedPatternWarning,
)
from binarrow.server.target import Target
from binarrow.spark.history_files.layout import Conversion, Layout
from binarrow.spark.history_files.ranges import partition_of
from binarrow.spark.history_files.writer import FileWriters, WrittenFile
from binarrow.spark.live.live_range import RangeReader
from binarrow.spark.live.rows_partition import RowsPartition
from binarrow.spark.messages import naming_options
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    import pyarrow as pa

RESULT = "result string"
"""The schema of the results of tasks."""


@dataclass(frozen=True)
class Settings:
    """The settings of the tasks of a batch."""

    reader: RangeReader
    login: Target = field(repr=False)
    layouts: Mapping[Name, Layout]
    refused: Mapping[Name, str]
    """Tables whose files tasks cannot write, with the reasons."""
    ignored: frozenset[Name]
    """Tables whose rows are left out, because they are parked or have been dropped."""
    prefix: str
    """The beginning of the names of files."""
    spark_version: str
    allows_alter: bool = True
    """False if Spark writes batches that contain an ALTER TABLE, because the driver checks it."""


@dataclass
class TaskResult:
    """The result of a task."""

    files: list[WrittenFile] = field(default_factory=list)
    columns: dict[Name, list[set[str]]] = field(default_factory=dict)
    """The tables that have rows, with the sets of columns of these rows."""
    unknown: list[Name] = field(default_factory=list)
    """Tables whose rows do not fit their layout. If there are any, the result has no files."""
    obstacle: str | None = None
    """The reason why the batch cannot be written as files. Then the task has ended early."""
    is_lasting: bool = False
    """True if this reason also applies to later batches."""
    attempt: int = 0
    """The number of earlier attempts of the task."""

    def to_json(self) -> str:
        """Returns the result as text."""
        columns = [[*name, [sorted(each) for each in sets]] for name, sets in self.columns.items()]
        files = [file.to_dict() for file in self.files]
        return json.dumps({**self.__dict__, "files": files, "columns": columns})

    @classmethod
    def from_json(cls, text: str) -> TaskResult:
        """Parses the text of :meth:`to_json`."""
        stored = json.loads(text)
        stored["files"] = [WrittenFile.of(file) for file in stored["files"]]
        stored["columns"] = {
            (database, table): [set(each) for each in sets]
            for database, table, sets in stored["columns"]
        }
        stored["unknown"] = [(database, table) for database, table in stored["unknown"]]
        return cls(**stored)


def file_task(
    settings: Settings,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function for ``mapInArrow`` that writes the changes of ranges into files."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from binarrow.spark.history_files.task import write_ranges

        texts = (text for batch in batches for text in batch.column(0).to_pylist())
        for result in write_ranges(settings, texts):
            yield pa.record_batch({"result": [result.to_json()]})

    return write


def document_task(
    reader: RangeReader, login: Target
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function for ``mapInArrow`` that reads the changes of ranges as documents."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column(0).to_pylist():
                yield from reader.read(partition_of(text, login))

    return read


def write_ranges(settings: Settings, texts: Iterable[str]) -> Iterator[TaskResult]:
    """Writes the changes of ranges, and yields a result if there are ranges."""
    from pyspark import TaskContext

    context = TaskContext.get()
    writing = _Writing(settings)
    has_ranges = False
    try:
        with naming_options(), warnings.catch_warnings():
            # A range need not contain changes of the tables.
            warnings.simplefilter("ignore", UnmatchedPatternWarning)
            for text in texts:
                has_ranges = True
                if not writing.write(partition_reader(settings, text)):
                    break
        result = writing.finish()
    except BaseException:
        writing.files.discard()
        raise
    result.attempt = 0 if context is None else context.attemptNumber()
    if has_ranges:
        yield result


def partition_reader(settings: Settings, text: str) -> BinlogReader[Any]:
    """Starts to read a range. Statements that may change rows are items of the reader."""
    reader = settings.reader
    partition = partition_of(text, settings.login)
    if isinstance(partition, RowsPartition):
        return partition.read(reader.reconnect, reader.read_options)
    include = ["schema_change", "truncate"]
    if reader.truncates != "skip" and reader.read_options.get("unlogged_changes") is None:
        include.append("unlogged_change")
    options = {**reader.read_options, "include": include}
    return partition.range.read(partition.target, reader.heartbeat, reader.reconnect, options)


def is_obstacle(item: object, *, allows_alter: bool) -> bool:
    """True if rows may change without a row event, or if an ALTER TABLE is not allowed."""
    if isinstance(item, SchemaChange):
        is_checked = item.kind == "alter" and not allows_alter
        return item.changes_rows or bool(item.renames) or is_checked
    if isinstance(item, UnloggedChange):
        return bool(item.changed_tables)
    return True


class _Writing:
    """Writes the changes of readers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.files = FileWriters(settings.prefix, settings.spark_version)
        self._result = TaskResult()
        self._conversions: dict[Name, tuple[pa.Schema, Conversion | None]] = {}

    def write(self, reader: BinlogReader[Any]) -> bool:
        """Writes the changes of a reader. Returns false if the batch cannot be written as files."""
        with reader:
            for change in reader:
                if isinstance(change, ChangeBatch):
                    self._add(change)
                elif is_obstacle(change, allows_alter=self._settings.allows_alter):
                    self._result.obstacle = "a statement may change rows without row events"
                if self._result.obstacle is not None:
                    return False
        return True

    def finish(self) -> TaskResult:
        """Returns the result."""
        if self._result.obstacle is None and not self._result.unknown:
            self._result.files = self.files.finish()
        else:
            self.files.discard()
        return self._result

    def _add(self, change: ChangeBatch) -> None:
        name = (change.database, change.table)
        if name in self._settings.ignored:
            return
        refused = self._settings.refused.get(name)
        if refused is not None:
            self._result.obstacle = f"{shown(name)}: {refused}"
            self._result.is_lasting = True
            return
        rows = change.to_pyarrow()
        conversion = self._conversion(name, rows.schema)
        if conversion is None:
            if name not in self._result.unknown:
                self._result.unknown.append(name)
        elif not self._result.unknown:
            self.files.add(name, self._settings.layouts[name], conversion.apply(rows))

    def _conversion(self, name: Name, logged: pa.Schema) -> Conversion | None:
        known = self._conversions.get(name)
        if known is not None and known[0].equals(logged):
            return known[1]
        layout = self._settings.layouts.get(name)
        conversion = None if layout is None else layout.conversion(logged)
        self._conversions[name] = (logged, conversion)
        columns = set(logged.names)
        sets = self._result.columns.setdefault(name, [])
        if columns not in sets:
            sets.append(columns)
        return conversion
