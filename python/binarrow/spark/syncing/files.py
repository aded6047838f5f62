"""Writes a history: tasks write the Parquet files of a batch, and the driver commits them.

If this is not possible for a table, the batch is read as documents and written by Spark. Both ways
write the same rows, and their commits contain the same number of the batch. So a batch may be
repeated in the other way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from binarrow.spark.history_files.delta import DeltaFiles
from binarrow.spark.history_files.errors import UnreadableError, UnsupportedTableError
from binarrow.spark.history_files.iceberg import IcebergFiles
from binarrow.spark.history_files.target import BatchId, FileTarget, Outcome, file_prefix
from binarrow.spark.history_files.task import RESULT, Settings, TaskResult, document_task, file_task
from binarrow.spark.live.live_range import RangeReader
from binarrow.spark.live.login import with_secret
from binarrow.spark.schema import arrow_schema, tables_schema
from binarrow.spark.syncing.batch import BatchWriter, query_of
from binarrow.spark.syncing.documents import Documents
from binarrow.spark.syncing.history import evolve
from binarrow.spark.syncing.table import ENVELOPE
from binarrow.syncing.names import Name, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from binarrow.spark.history_files.layout import Layout
    from binarrow.spark.history_files.writer import WrittenFile
    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.mirror.table import TableMirror
    from binarrow.spark.source_options import SourceOptions

LOG = logging.getLogger("binarrow.spark")

PASSES = 3
"""The maximum number of times that a batch is decoded into files. The first time may find columns
that a table lacks, and then they are added to the table. It may also find tables that are not
written: the next time leaves them out."""


class FilesWriter(BatchWriter):
    """The function for ``foreachBatch`` that writes a history. Its frames contain ranges."""

    def __init__(
        self,
        *arguments: Any,
        format: Literal["delta", "iceberg"],  # noqa: A002 - Spark's word
        options: SourceOptions,
        live: LiveOptions,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self._format = format
        self._live = live
        self._documents = tables_schema(types=options.read["types"])
        self._reader = RangeReader.of(options, arrow_schema(self._documents), live, is_stream=True)
        self._layouts: dict[Name, Layout] = {}
        self._refused: dict[Name, str] = {}
        self._target: FileTarget | None = None
        self._is_direct = True
        self._may_have_leftovers = True

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Writes the changes of a batch."""
        batch = BatchId(query_of(frame, self._query_name), batch_id, self._may_have_leftovers)
        if self._is_direct and self._write_files(frame, batch):
            return
        task = document_task(self._reader, with_secret(self._live.target))
        super().__call__(frame.mapInArrow(task, self._documents), batch_id)

    def _write_files(self, frame: DataFrame, batch: BatchId) -> bool:
        """Writes a batch as files; false if Spark has to write it."""
        spark = frame.sparkSession
        if self._target is None:
            kind = DeltaFiles if self._format == "delta" else IcebergFiles
            self._target = kind(spark)
        target = self._target
        if self._tables.is_first:
            for table in self._tables.opened(spark, set(), batch.query):
                self._find_layout(target, table.name, table.mirror)
            self._tables.is_first = False
        ignored: frozenset[Name] = frozenset()
        for _ in range(PASSES):
            found = self._decode(frame, batch, ignored)
            try:
                self._check(found)
                mirrors = self._evolved(target, spark, found, batch.query)
                ignored |= found.unknown - mirrors.keys()
                # The files are complete only if no task has found a table that it does not know.
                is_complete = not found.unknown and self._commit(target, mirrors, found, batch)
            except _ObstacleError as obstacle:
                LOG.info("batch %d is written by Spark: %s", batch.number, obstacle)
                return False
            finally:
                found.delete_unused()
            if is_complete:
                self._may_have_leftovers = False
                return True
        LOG.info(
            "batch %d is written by Spark: the types of rows do not fit the types of a table",
            batch.number,
        )
        return False

    def _decode(self, frame: DataFrame, batch: BatchId, ignored: frozenset[Name]) -> _Found:
        """Decodes the ranges of a batch into files."""
        spark = frame.sparkSession
        settings = Settings(
            reader=self._reader,
            login=with_secret(self._live.target),
            layouts=dict(self._layouts),
            refused=dict(self._refused),
            ignored=ignored,
            prefix=file_prefix(batch),
            spark_version=spark.version,
            allows_alter=self._policies.schema_changes == "follow",
        )
        results = frame.mapInArrow(file_task(settings), RESULT).collect()
        found = _Found(dict(settings.layouts))
        for row in results:
            found.add(TaskResult.from_json(row.result))
        if spark.conf.get("spark.speculation", "false") == "true":
            found.has_other_attempts = True
        return found

    def _check(self, found: _Found) -> None:
        """Checks that the files of tasks can be committed."""
        if found.obstacle is not None:
            if found.is_lasting:
                self._stop(found.obstacle)
            raise _ObstacleError(found.obstacle)
        for file in found.files():
            path = Path(file.path)
            if not path.exists() or path.stat().st_size != file.size:
                reason = (
                    "the driver cannot find the files that tasks have written: the driver and all"
                    " executors must share the folder of the tables, under the same path"
                )
                self._stop(reason)
                raise _ObstacleError(reason)

    def _stop(self, reason: str) -> None:
        """Spark writes all batches until the query is started again."""
        self._is_direct = False
        LOG.warning(
            "tasks cannot write the files of the tables, so Spark writes them until the query is"
            " started again: %s",
            reason,
        )

    def _evolved(
        self, target: FileTarget, spark: SparkSession, found: _Found, query: str
    ) -> dict[Name, TableMirror]:
        """Adds missing columns to the tables of a batch, and returns the tables."""
        mirrors = {}
        for table in self._tables.opened(spark, set(found.columns), query):
            name, mirror = table.name, table.mirror
            with self._parked.parking(name):
                shapes = [(frozenset(each - ENVELOPE), (0, 0)) for each in found.columns[name]]
                known = self.known(table, Documents((0, 0), shapes=tuple(shapes)))
                evolve(mirror, tuple(known.fields))
                self._find_layout(target, name, mirror)
                mirrors[name] = mirror
        for name in found.columns.keys() - mirrors.keys():  # dropped or parked
            self._layouts.pop(name, None)
        return mirrors

    def _find_layout(self, target: FileTarget, name: Name, mirror: TableMirror) -> None:
        self._refused.pop(name, None)
        self._layouts.pop(name, None)
        try:
            self._layouts[name] = target.layout(mirror)
        except UnreadableError as error:  # the next batch tries again
            LOG.info("Spark writes a batch of %s: %s", shown(name), error)
        except UnsupportedTableError as error:
            self._refused[name] = str(error)

    def _commit(
        self,
        target: FileTarget,
        mirrors: dict[Name, TableMirror],
        found: _Found,
        batch: BatchId,
    ) -> bool:
        """Commits the files of each table. Returns false if the columns of a table have changed."""
        is_complete = True
        for name, mirror in sorted(mirrors.items(), key=lambda item: item[0]):
            files, layout = found.by_table.get(name, []), found.layouts[name]
            # After an error, it is not known whether the table has the files.
            unused = found.by_table.pop(name, [])
            try:
                outcome = target.commit(mirror, layout, files, batch)
            except UnsupportedTableError as error:
                found.by_table[name] = unused
                self._refused[name] = str(error)
                raise _ObstacleError(f"{shown(name)}: {error}") from None
            if outcome is not Outcome.COMMITTED:
                found.by_table[name] = unused
            elif self._may_have_leftovers or found.has_other_attempts:
                _delete_others(layout.folder, batch, files)
            is_complete &= outcome is not Outcome.CHANGED
        return is_complete


class _ObstacleError(Exception):
    """A batch cannot be written as files."""


@dataclass
class _Found:
    """The results of all tasks of a batch."""

    layouts: dict[Name, Layout]
    """The layouts of the files."""
    by_table: dict[Name, list[WrittenFile]] = field(default_factory=dict)
    """The files that are in no commit."""
    columns: dict[Name, list[set[str]]] = field(default_factory=dict)
    unknown: set[Name] = field(default_factory=set)
    obstacle: str | None = None
    is_lasting: bool = False
    has_other_attempts: bool = False
    """True if there may be files of other attempts of the tasks."""

    def add(self, result: TaskResult) -> None:
        """Adds the result of a task."""
        for file in result.files:
            self.by_table.setdefault(file.name, []).append(file)
        for name, sets in result.columns.items():
            known = self.columns.setdefault(name, [])
            known.extend(each for each in sets if each not in known)
        self.unknown.update(result.unknown)
        self.has_other_attempts |= result.attempt > 0
        if result.obstacle is not None:
            self.obstacle = result.obstacle
            self.is_lasting |= result.is_lasting

    def files(self) -> Iterable[WrittenFile]:
        """Returns the files that are in no commit."""
        return [file for files in self.by_table.values() for file in files]

    def delete_unused(self) -> None:
        """Deletes the files that are in no commit."""
        for file in self.files():
            Path(file.path).unlink(missing_ok=True)


def _delete_others(folder: str, batch: BatchId, files: Iterable[WrittenFile]) -> None:
    """Deletes the files of other attempts of the tasks, also of earlier runs of the batch."""
    used = {file.path for file in files}
    for path in Path(folder).glob(f"{file_prefix(batch)}-*.parquet"):
        if str(path) not in used:
            path.unlink(missing_ok=True)


__all__ = ["FilesWriter"]
