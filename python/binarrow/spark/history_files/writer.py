"""The Parquet files that a task writes."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binarrow.spark.history_files.statistics import statistics_of
from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from binarrow.spark.history_files.layout import Layout

BUFFERED_BYTES = 64 << 20
"""The maximum memory of a task for rows of all tables that are not written yet."""

FILE_BYTES = 256 << 20
"""The size at which a task begins another file of a table."""

OPEN_FILES = 64
"""The maximum number of open files of a task. A log may contain rows of thousands of tables."""

MADE_BY = "org.apache.spark.version"
"""The key of Spark's version in the metadata of a file. Without it, Spark may shift dates before
1582."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that a task has written and closed."""

    name: Name
    path: str
    rows: int
    size: int
    statistics: str | None

    def to_dict(self) -> dict[str, Any]:
        """Returns the file as plain data."""
        return asdict(self)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> WrittenFile:
        """Returns the file from the result of :meth:`to_dict`, or from the same data as JSON."""
        database, table = stored["name"]
        return cls(**{**stored, "name": (database, table)})


class FileWriters:
    """The files of a task: at most one open file of each table."""

    def __init__(self, prefix: str, spark_version: str) -> None:
        self._prefix = prefix
        self._spark_version = spark_version
        self._open: dict[Name, _OpenFile] = {}
        self._rows: dict[Name, list[pa.RecordBatch]] = {}
        self._bytes: dict[Name, int] = {}
        self._layouts: dict[Name, Layout] = {}
        self._created: list[Path] = []
        self._closed: list[WrittenFile] = []

    def add(self, name: Name, layout: Layout, rows: pa.RecordBatch) -> None:
        """Adds rows that have the columns of the layout."""
        self._layouts[name] = layout
        self._rows.setdefault(name, []).append(rows)
        self._bytes[name] = self._bytes.get(name, 0) + rows.nbytes
        while sum(self._bytes.values()) > BUFFERED_BYTES:
            self._write(max(self._bytes, key=self._bytes.__getitem__))

    def finish(self) -> list[WrittenFile]:
        """Writes the remaining rows, and returns all files."""
        for name in list(self._rows):
            self._write(name)
        for name in list(self._open):
            self._close(name)
        return self._closed

    def discard(self) -> None:
        """Deletes all files."""
        for file in self._open.values():
            with contextlib.suppress(Exception):
                file.close()
        for path in self._created:
            path.unlink(missing_ok=True)
        self.__init__(self._prefix, self._spark_version)  # type: ignore[misc]

    def _write(self, name: Name) -> None:
        """Writes the rows of a table as a row group."""
        import pyarrow as pa

        batches = self._rows.pop(name)
        del self._bytes[name]
        file = self._open.pop(name, None) or self._opened(name)
        self._open[name] = file  # in the order of their last use
        file.write(pa.Table.from_batches(batches, file.schema))
        if file.size >= FILE_BYTES:
            self._close(name)

    def _opened(self, name: Name) -> _OpenFile:
        if len(self._open) >= OPEN_FILES:
            self._close(next(iter(self._open)))
        layout = self._layouts[name]
        path = Path(layout.folder) / f"{self._prefix}-{uuid.uuid4()}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._created.append(path)
        return _OpenFile(path, layout, self._spark_version)

    def _close(self, name: Name) -> None:
        self._closed.append(self._open.pop(name).finish(name))


class _OpenFile:
    """A file that is being written."""

    def __init__(self, path: Path, layout: Layout, spark_version: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.schema = layout.columns
        self._path = path
        self._layout = layout
        self._rows = 0
        self._footers: list[Any] = []
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(
            self._file,
            self.schema,
            compression=layout.compression,
            store_schema=False,  # Spark does not read it
            metadata_collector=self._footers,
        )
        self._writer.add_key_value_metadata({MADE_BY: spark_version})

    @property
    def size(self) -> int:
        """The number of bytes that are written so far."""
        return self._path.stat().st_size

    def write(self, rows: pa.Table) -> None:
        """Writes a row group."""
        self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        self._rows += rows.num_rows

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()
        self._file.close()

    def finish(self, name: Name) -> WrittenFile:
        """Closes the file, and returns its description."""
        self.close()
        statistics = None
        if self._layout.has_statistics:
            statistics = statistics_of(self._footers[0], self.schema)
        size = self._path.stat().st_size
        return WrittenFile(name, str(self._path), self._rows, size, statistics)
