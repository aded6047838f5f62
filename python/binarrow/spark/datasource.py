"""The format ``binarrow``: ``spark.read.format("binarrow")``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from binarrow import Split, expand_source, link_splits, read_split, scan_splits
from binarrow.spark.decoder import decode_table
from binarrow.spark.options import SCHEMA_OPTIONS, TASK_DEFAULTS, opened
from binarrow.spark.schema import arrow_schema
from binarrow.spark.schema import schema as table_schema
from binarrow.spark.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class BinarrowDataSource(DataSource):
    """Changes of one table from binary log files.

    Options, besides the path in ``load``:

    ==================  ===========  ============================================================
    name                default      meaning
    ==================  ===========  ============================================================
    table               -            ``database.table``; needed
    targetBytes         64m          cut files into ranges of about this size, one a partition
    numPartitions       -            instead: about so many partitions of equal size
    gaps                error        ``allow`` files that do not follow each other
    schemaChangePolicy  project      ``project`` onto the schema at load time, or ``fail``
    zeroDates           null         ``null``, ``error``, ``text``
    json                text         ``text``, ``variant``, ``bytes``, ``diff``: see ``TypeOptions``
    time                micros       ``micros``, ``interval``, ``text``
    geometry            ewkb         ``ewkb``, ``wkb``, ``mysql``
    enum                text         ``text``, ``ordinal``
    invalidText         error        ``error``, ``replace``, ``binary``
    schemas             -            CREATE TABLE text, for logs that do not tell columns' names
    schemasFile         -            instead: files on the driver with ``mysqldump --no-data``,
                                     comma-separated
    history             -            structures over time: the URL of a ``SchemaHistory``
    historySource       -            whose, where it holds several
    columns             all          the columns to keep, comma-separated
    operations          all          ``insert``, ``update``, ``delete``, comma-separated
    mask                -            ``COLUMN=sha256`` or ``COLUMN=null``, comma-separated
    maskSaltFile        -            the file on the driver with the salt that ``sha256`` needs
    columnNames         log          ``positional`` names columns @1, @2 where the log does not
    envelope            the four     envelope columns, comma-separated
    envelopePrefix      _            what their names begin with
    layout              flat         ``nested``: ``_op``, ``before``, ``after`` structs
    oldValue            true         ``false`` leaves rows out as they were before an update
    splitKeyUpdates     true         an update of the key is a delete and an insert
    uncommitted         skip         ``emit`` gives rows of rolled back transactions too
    batchRows           16384        rows of a batch at most
    batchBytes          16m          bytes of a batch at most
    skipEvents          -            codes of vendors' events to pass over
    verifyChecksum      true         check the CRC32 of every event
    ==================  ===========  ============================================================
    """

    @classmethod
    def name(cls) -> str:
        """What ``format(...)`` takes."""
        return "binarrow"

    def schema(self) -> StructType:
        """The schema of the table where the files mention it first."""
        options = SourceOptions.parse(self.options)
        shaping = {key: value for key, value in options.read.items() if key in SCHEMA_OPTIONS}
        return table_schema(
            list(options.paths),
            options.table,
            history=options.history,
            history_source=options.history_source,
            **shaping,
        )

    def reader(self, schema: StructType) -> BinarrowReader:
        """The reader for a batch query."""
        return BinarrowReader(SourceOptions.parse(self.options), arrow_schema(schema))


@dataclass
class Ranges(InputPartition):
    """What one task reads: ranges that follow each other in the log, as JSON."""

    splits: tuple[str, ...]


class BinarrowReader(DataSourceReader):
    """Plans the tasks on the driver and decodes in them."""

    def __init__(self, options: SourceOptions, target: pa.Schema) -> None:
        self._options = options
        self._target = target

    def partitions(self) -> Sequence[InputPartition]:
        """One partition a range, or as many as ``numPartitions`` says."""
        # A task's working folder is its own.
        files = [os.path.abspath(path) for path in expand_source(list(self._options.paths))]
        options = self._options
        scanned = _scan(files, self._target_bytes(files))
        with opened(options.history, options.history_source) as history:
            # Tasks get the part that they need.
            scanned = link_splits(
                scanned,
                gaps=options.gaps,
                history=history,
                tables=options.table,
                skip_events=options.read.get("skip_events"),
            )
        count = self._options.num_partitions or len(scanned)
        # Spark wants a list, and takes an empty one for "one partition of nothing".
        return [
            Ranges(tuple(split.to_json() for split in group)) for group in _group(scanned, count)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, in log order."""
        if not isinstance(partition, Ranges):
            return
        options = {**TASK_DEFAULTS, **self._options.read}
        readers = (read_split(Split.from_json(text), options=options) for text in partition.splits)
        yield from decode_table(
            readers, self._options.table, self._target, self._options.on_schema_change
        )

    def _target_bytes(self, files: Sequence[str]) -> int:
        if self._options.num_partitions is None:
            return self._options.target_bytes
        total = sum(Path(file).stat().st_size for file in files)
        return max(1, total // (self._options.num_partitions * _RANGES_A_PARTITION))


_RANGES_A_PARTITION = 4
"""So that groups of ranges come out about equal, though ranges do not."""


def _scan(files: Sequence[str], target_bytes: int) -> list[Split]:
    """The ranges of all files, in log order."""

    def scan(place: int, file: str) -> list[Split]:
        return scan_splits(file, target_bytes=target_bytes, place=place)

    places = range(1, len(files) + 1)
    with ThreadPoolExecutor(max_workers=min(len(files), os.cpu_count() or 1) or 1) as pool:
        return [split for found in pool.map(scan, places, files) for split in found]


def _group(splits: Sequence[Split], count: int) -> list[list[Split]]:
    """Neighbours together, in at most `count` groups of about equal size."""
    if len(splits) <= count:
        return [[split] for split in splits]
    total = sum(split.stop - split.start for split in splits)
    groups: list[list[Split]] = [[] for _ in range(count)]
    before = 0
    for split in splits:
        middle = before + (split.stop - split.start) / 2
        groups[min(count - 1, int(middle * count / total))].append(split)
        before += split.stop - split.start
    return [group for group in groups if group]
