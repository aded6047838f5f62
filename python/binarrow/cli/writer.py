"""The file formats of `binarrow export`."""

from __future__ import annotations

import base64
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol

from binarrow import TypeOptions

if TYPE_CHECKING:
    import pyarrow as pa


class FileFormat(StrEnum):
    """Values of `--file-format`."""

    parquet = "parquet"
    arrow = "arrow"
    csv = "csv"
    jsonl = "jsonl"
    ticdc_json = "ticdc-json"
    debezium_json = "debezium-json"

    @property
    def suffix(self) -> str:
        """The suffix of file names."""
        return f".{self.value}" if self.events is None else ".jsonl"

    @property
    def events(self) -> Literal["ticdc-json", "debezium-json"] | None:
        """The format of change events, which Rust writes; None for other formats."""
        match self:
            case FileFormat.ticdc_json:
                return "ticdc-json"
            case FileFormat.debezium_json:
                return "debezium-json"
            case _:
                return None


class Writer(Protocol):
    """One open file."""

    def write_table(self, table: pa.Table) -> None:
        """Appends rows."""

    def close(self) -> None:
        """Finishes the file."""


def types_for(file_format: FileFormat, profile: Literal["native", "spark"]) -> TypeOptions:
    """Returns the types of columns: in text formats, enums and times are text."""
    if file_format in (FileFormat.csv, FileFormat.jsonl):
        return TypeOptions(profile=profile, enum="text", time="text")
    return TypeOptions(profile=profile)


def open_writer(file_format: FileFormat, path: Path | BinaryIO, schema: pa.Schema) -> Writer:
    """Opens a new file, or uses an open one, for rows of one schema."""
    match file_format:
        case FileFormat.parquet:
            import pyarrow.parquet as pq

            parquet: Writer = pq.ParquetWriter(path, schema, compression="zstd")
            return parquet
        case FileFormat.arrow:
            import pyarrow as pa

            options = pa.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)
            arrow: Writer = pa.ipc.new_file(path, schema, options=options)
            return arrow
        case FileFormat.csv:
            return _CsvWriter(path, schema)
        case _:
            return _JsonLinesWriter(path)


class _CsvWriter:
    """Comma-separated; NULL is empty, text is quoted; bytes in base64, lists as JSON."""

    def __init__(self, path: Path | BinaryIO, schema: pa.Schema) -> None:
        from pyarrow import csv

        self._writer = csv.CSVWriter(path, _as_text(schema.empty_table()).schema)

    def write_table(self, table: pa.Table) -> None:
        self._writer.write_table(_as_text(table))

    def close(self) -> None:
        self._writer.close()


class _JsonLinesWriter:
    """One object per line; decimals as text, to keep their digits; times in ISO 8601."""

    def __init__(self, path: Path | BinaryIO) -> None:
        self._file = path.open("wb") if isinstance(path, Path) else path

    def write_table(self, table: pa.Table) -> None:
        for batch in table.to_batches(max_chunksize=10_000):
            lines = (
                json.dumps(row, ensure_ascii=False, default=cell_as_json)
                for row in batch.to_pylist()
            )
            self._file.writelines(f"{line}\n".encode() for line in lines)

    def close(self) -> None:
        self._file.close()


def _as_text(table: pa.Table) -> pa.Table:
    """Converts the columns that CSV does not support to text."""
    import pyarrow as pa

    columns = [_column_as_text(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _column_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
    if pa.types.is_binary(kind) or pa.types.is_list(kind):
        cells = (None if cell is None else _text(cell) for cell in column.to_pylist())
        return pa.chunked_array([pa.array(cells, pa.string())])
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _text(cell: object) -> str:
    return base64.b64encode(cell).decode() if isinstance(cell, bytes) else json.dumps(cell)


def cell_as_json(value: Any) -> str:
    """Converts a value that JSON does not support."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
