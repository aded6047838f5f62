"""The batch reader of files: plans ranges on the driver and decodes them in tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.sql.datasource import DataSourceReader, InputPartition

from binarrow import Split, expand_source, link_splits, read_split, scan_splits
from binarrow._native import is_uri
from binarrow.remote_files import Options, absolute, size
from binarrow.spark.grouping import grouped
from binarrow.spark.messages import naming_options
from binarrow.spark.options import TASK_DEFAULTS
from binarrow.spark.source_options import FileOptions, SourceOptions
from binarrow.spark.table_batches import decode_table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Ranges(InputPartition):
    """The input of one task: consecutive ranges of the log, as JSON."""

    splits: tuple[str, ...]


class FileReader(DataSourceReader):
    """Plans ranges on the driver, and decodes them in tasks."""

    def __init__(self, options: SourceOptions, files: FileOptions, target: pa.Schema) -> None:
        self._options = options
        self._files = files
        self._target = target

    @naming_options()
    def partitions(self) -> Sequence[InputPartition]:
        """Returns one partition per range, or at most ``numPartitions``."""
        storage = self._files.storage_options
        found = expand_source(list(self._files.paths), storage_options=storage)
        files = [absolute(path) for path in found]
        options = self._options
        scanned = _scan(files, self._target_bytes(files), self._files.index, storage)
        with options.opened_history() as history:
            # Each range contains the part of the history that its task needs.
            scanned = link_splits(
                scanned,
                gaps=self._files.gaps,
                history=history,
                tables=options.tables,
                skip_events=options.read.get("skip_events"),
                storage_options=storage,
            )
        count = self._files.num_partitions or len(scanned)
        # Spark needs a list, and reads one empty partition if the list is empty.
        sizes = [split.stop - split.start for split in scanned]
        return [
            Ranges(tuple(scanned[place].to_json() for place in group))
            for group in grouped(sizes, count)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Reads the rows of a partition, in log order."""
        if not isinstance(partition, Ranges):
            return
        storage = self._files.storage_options
        options = {
            **TASK_DEFAULTS,
            **self._options.read,
            "index": self._files.index,
            "storage_options": storage,
        }
        readers = (read_split(Split.from_json(text), options=options) for text in partition.splits)
        with naming_options():
            yield from decode_table(
                readers,
                self._options.table,
                self._target,
                self._options.on_schema_change,
                self._options.truncates or "skip",
            )

    def _target_bytes(self, files: Sequence[str]) -> int:
        if self._files.num_partitions is None:
            return self._files.target_bytes
        with _pool(files) as pool:
            total = sum(pool.map(lambda file: size(file, self._files.storage_options), files))
        return max(1, total // (self._files.num_partitions * _RANGES_PER_PARTITION))


_RANGES_PER_PARTITION = 4
"""Ranges differ in size; several of them make partitions of about equal size."""


def _scan(
    files: Sequence[str],
    target_bytes: int,
    index: Literal["use", "ignore"],
    storage: Options,
) -> list[Split]:
    """Returns the ranges of all files, in log order."""

    def scan(place: int, file: str) -> list[Split]:
        return scan_splits(
            file, target_bytes=target_bytes, place=place, index=index, storage_options=storage
        )

    with _pool(files) as pool:
        found = pool.map(scan, range(1, len(files) + 1), files)
        return [split for of_file in found for split in of_file]


def _pool(files: Sequence[str]) -> ThreadPoolExecutor:
    """Creates threads for the files: many for remote files, which mostly wait."""
    at_once = _REMOTE_AT_ONCE if any(map(is_uri, files)) else os.cpu_count() or 1
    return ThreadPoolExecutor(max_workers=max(1, min(len(files), at_once)))


_REMOTE_AT_ONCE = 16
