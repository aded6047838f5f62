"""Writes exported changes to standard output: one table, or the change events of all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from binarrow import ChangeBatch, ConfigError
from binarrow.cli.writer import FileFormat, Writer, open_writer

if TYPE_CHECKING:
    import pyarrow as pa


class ExportStream:
    """One file of one table, whose structure does not change; for change events, of any table."""

    def __init__(
        self, file: BinaryIO, file_format: FileFormat, *, source_name: str = "binarrow"
    ) -> None:
        self._file = file
        self._format = file_format
        self._source_name = source_name
        self._table: str | None = None
        self._schema: pa.Schema | None = None
        self._writer: Writer | None = None

    def write(self, change: ChangeBatch) -> None:
        """Adds a batch.

        Raises:
            ConfigError: It is of another table, or of another structure, than those before.
        """
        import pyarrow as pa

        if self._format.events is not None:
            events = change.to_events(self._format.events, source_name=self._source_name)
            self._file.write(events)
            return
        rows, name = change.to_pyarrow(), f"{change.database}.{change.table}"
        if self._writer is None:
            self._table, self._schema = name, rows.schema
            self._writer = open_writer(self._format, self._file, rows.schema)
        if name != self._table:
            raise ConfigError(
                f"--to -: standard output can contain one table, and there are {self._table} and"
                f" {name}: select one with --tables, or use --format debezium-json or ticdc-json"
            )
        if not rows.schema.equals(self._schema, check_metadata=True):
            raise ConfigError(
                f"--to -: the structure of {name} changes before {change.position}: export the"
                " parts before and after the statement, with --stop and --start, or into a folder"
            )
        self._writer.write_table(pa.Table.from_batches([rows]))

    def close(self) -> None:
        """Writes the end of the file."""
        if self._writer is not None:
            self._writer.close()


__all__ = ["ExportStream"]
