"""Iceberg tables: the session's Iceberg commits the files that tasks have written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from binarrow.spark.history_files.errors import UnsupportedTableError
from binarrow.spark.history_files.layout import Layout, check_storable, codec
from binarrow.spark.history_files.target import (
    BatchId,
    FileTarget,
    Outcome,
    default_file_system,
    file_prefix,
    local_folder,
)
from binarrow.spark.schema import arrow_schema
from binarrow.spark.syncing.numbered import BATCH, is_written

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from binarrow.spark.history_files.writer import WrittenFile
    from binarrow.spark.mirror.table import TableMirror

_COMPRESSION = "write.parquet.compression-codec"

_PROPERTIES = (
    *("write.data.path", "write.object-storage.enabled", "write.location-provider.impl"),
    *("write.wap.enabled", "encryption.key-id"),
)
"""The properties of tables that tasks cannot write: their files are in other folders or encrypted,
or commits need other steps."""

_TYPES = {
    *("boolean", "int", "long", "float", "double"),
    *("date", "timestamp", "timestamptz", "string", "binary"),
}
"""The types of columns that tasks can write, besides decimals. Spark reads others, such as UUID, as
text."""


class IcebergFiles(FileTarget):
    """Iceberg tables of a catalog of the session."""

    format_name = "Iceberg"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = cast("Any", spark)
        self._iceberg = self._spark._jvm.org.apache.iceberg  # noqa: SLF001 - its Java API
        self._default = default_file_system(spark)

    def _layout_of(self, mirror: TableMirror) -> Layout:
        return self._layout(self._table(mirror))

    def _commit(
        self, mirror: TableMirror, layout: Layout, files: Sequence[WrittenFile], batch: BatchId
    ) -> Outcome:
        if is_written(mirror, batch.query, batch.number) or _has_files(mirror, batch):
            return Outcome.PRESENT
        table = self._table(mirror)
        if not self._layout(table).has_columns_of(layout):
            return Outcome.CHANGED
        append = table.newAppend()
        for file in files:
            append.appendFile(self._data_file(table, file))
        append.set(BATCH, f"{batch.query} {batch.number}")
        append.commit()
        return Outcome.COMMITTED

    def _table(self, mirror: TableMirror) -> Any:
        session = self._spark._jsparkSession  # noqa: SLF001
        table = self._iceberg.spark.Spark3Util.loadIcebergTable(session, mirror.name)
        table.refresh()
        return table

    def _layout(self, table: Any) -> Layout:
        properties = dict(table.properties())
        if table.spec().isPartitioned() or table.sortOrder().isSorted():
            raise UnsupportedTableError("the table is partitioned or sorted")
        found = [name for name in _PROPERTIES if name in properties]
        if found:
            raise UnsupportedTableError(f"the table has the property {found[0]}")
        if properties.get("write.format.default", "parquet") != "parquet":
            raise UnsupportedTableError("the files of the table are not Parquet")
        folder = local_folder(str(table.location()), self._default)
        return Layout(
            folder=str(Path(folder) / "data"),
            columns=self._columns(table.schema()),
            compression=codec(properties.get(_COMPRESSION, "zstd")),
            is_case_sensitive=self._spark.conf.get("spark.sql.caseSensitive") == "true",
            has_statistics=False,
        )

    def _columns(self, schema: Any) -> pa.Schema:
        """Returns the columns of a table with their ids. Readers find columns by these ids."""
        import pyarrow as pa
        from pyspark.sql.types import StructType

        converted = self._iceberg.spark.SparkSchemaUtil.convert(schema)
        columns = arrow_schema(StructType.fromJson(json.loads(converted.json())))
        for column in schema.columns():
            kind = column.type().toString()
            if column.isRequired() or not (kind in _TYPES or kind.startswith("decimal(")):
                raise UnsupportedTableError(
                    f"the column {column.name()} is required, or its type is {kind}"
                )
        ids = {column.name(): column.fieldId() for column in schema.columns()}
        found = pa.schema(
            pa.field(field.name, field.type, metadata={"PARQUET:field_id": str(ids[field.name])})
            for field in columns
        )
        check_storable(found, lists=False)
        return found

    def _data_file(self, table: Any, file: WrittenFile) -> Any:
        # The path has the scheme of the table: without it, the path may be in another file system.
        path = f"{str(table.location()).rstrip('/')}/data/{Path(file.path).name}"
        metrics = self._iceberg.parquet.ParquetUtil.fileMetrics(
            table.io().newInputFile(path), self._iceberg.MetricsConfig.forTable(table)
        )
        builder = self._iceberg.DataFiles.builder(table.spec())
        return (
            builder.withPath(path)
            .withFormat("parquet")
            .withFileSizeInBytes(file.size)
            .withMetrics(metrics)
            .build()
        )


def _has_files(mirror: TableMirror, batch: BatchId) -> bool:
    """True if the table has files of a batch, even if the snapshot of the batch has expired."""
    if not batch.may_be_repeated:
        return False
    files = mirror.spark.table(f"{mirror.name}.files")
    return not files.where(files.file_path.contains(f"/{file_prefix(batch)}-")).isEmpty()
