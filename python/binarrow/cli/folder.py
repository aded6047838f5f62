"""Writes the folder of exported tables, which appear only when all of them are complete."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from binarrow import ChangeBatch, ConfigError
from binarrow.cli.folder_name import folder_name
from binarrow.cli.writer import FileFormat, Writer, open_writer

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 1 << 17
GROUP_BYTES = 32 << 20
"""Rows or bytes to collect before they are written: many small row groups make Parquet slow."""


_NO_CASE = (
    "this file system does not distinguish upper and lower case; export the tables into two"
    " folders, with --tables and --to"
)


@dataclass(frozen=True)
class ExportedTable:
    """The written files of one table."""

    path: Path
    rows: int
    parts: int
    bytes: int


class ExportFolder:
    """Writes tables to a hidden folder in the target folder, and moves them at the end."""

    def __init__(
        self,
        root: Path,
        file_format: FileFormat,
        *,
        overwrite: bool,
        source_name: str = "binarrow",
    ) -> None:
        self._root = root
        self._format = file_format
        self._source_name = source_name
        self._overwrite = overwrite
        self._tables: dict[tuple[str, str], _Table] = {}

    def __enter__(self) -> Self:
        self._made_root = not self._root.exists()
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=".export-", dir=self._root))
        except OSError as error:
            raise ConfigError(f"--to {self._root}: {error.strerror}") from error
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for table in self._tables.values():
            table.abandon()
        shutil.rmtree(self._staging, ignore_errors=True)
        if exc_type is not None and self._made_root:
            self._root.rmdir()

    def write(self, change: ChangeBatch) -> None:
        """Adds a batch to its table.

        Raises:
            ConfigError: The table's folder exists and may not be replaced, or cannot be created.
        """
        names = (change.database, change.table)
        table = self._tables.get(names)
        if table is None:
            table = self._tables[names] = self._new(folder_name(*names))
        if self._format.events is None:
            table.add(change.to_pyarrow())
        else:
            events = change.to_events(self._format.events, source_name=self._source_name)
            table.add_events(change.schema, change.num_rows, events)

    def _new(self, name: str) -> _Table:
        place = self._root / name
        if place.exists() and not any(each.name == name for each in self._root.iterdir()):
            raise ConfigError(f"{place} is the folder of another table too: {_NO_CASE}")
        if place.exists() and not self._overwrite:
            raise ConfigError(f"{place} exists; --overwrite replaces it")
        try:
            return _Table(self._staging / name, self._format)
        except FileExistsError:
            raise ConfigError(f"two tables have the folder {place}: {_NO_CASE}") from None

    def publish(self) -> list[ExportedTable]:
        """Finishes all files and moves the tables to their places."""
        for table in self._tables.values():
            table.finish()
        return [self._move(table) for _, table in sorted(self._tables.items())]

    def _move(self, table: _Table) -> ExportedTable:
        place = self._root / table.path.name
        if place.exists():
            replaced = self._staging / "replaced"  # names of tables' folders contain a dot
            replaced.mkdir(exist_ok=True)
            place.rename(replaced / table.path.name)
        table.path.rename(place)
        size = sum(part.stat().st_size for part in place.iterdir())
        return ExportedTable(place, table.rows, table.parts, size)


class _Table:
    """Writes the part files of one table."""

    def __init__(self, path: Path, file_format: FileFormat) -> None:
        path.mkdir()
        self.path = path
        self.rows = 0
        self.parts = 0
        self._format = file_format
        self._writer: Writer | None = None
        self._schema: pa.Schema | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._events: BinaryIO | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self._begin(batch.schema)
        self.rows += batch.num_rows
        self._waiting.append(batch)
        enough_rows = sum(each.num_rows for each in self._waiting) >= GROUP_ROWS
        if enough_rows or sum(each.nbytes for each in self._waiting) >= GROUP_BYTES:
            self._flush()

    def add_events(self, schema: pa.Schema, rows: int, events: bytes) -> None:
        """Adds formatted lines of changes under one schema."""
        self._begin(schema)
        if self._events is None:
            self._events = self._next_part().open("wb")
        self._events.write(events)
        self.rows += rows

    def finish(self) -> None:
        """Ends the open part, if there is one."""
        self._flush()
        self._close()

    def _begin(self, schema: pa.Schema) -> None:
        """Starts a new part if the schema is new."""
        # Metadata counts: a new member of an ENUM changes nothing else.
        if self._schema is None or not schema.equals(self._schema, check_metadata=True):
            self.finish()
            self._schema = schema

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._events is not None:
            self._events.close()
            self._events = None

    def abandon(self) -> None:
        """Closes the open file after a failure."""
        self._waiting.clear()
        self._close()

    def _next_part(self) -> Path:
        path = self.path / f"part-{self.parts:05}{self._format.suffix}"
        self.parts += 1
        return path

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._waiting:
            return
        if self._writer is None:
            self._writer = open_writer(self._format, self._next_part(), self._waiting[0].schema)
        self._writer.write_table(pa.Table.from_batches(self._waiting).combine_chunks())
        self._waiting.clear()
