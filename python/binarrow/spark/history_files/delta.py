"""Delta tables: the session's Delta Lake commits the files that tasks have written."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from binarrow.spark.history_files.errors import UnsupportedTableError
from binarrow.spark.history_files.layout import Layout, check_storable, codec
from binarrow.spark.history_files.target import (
    BatchId,
    FileTarget,
    Outcome,
    default_file_system,
    local_folder,
)
from binarrow.spark.schema import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binarrow.spark.history_files.writer import WrittenFile
    from binarrow.spark.mirror.table import TableMirror

_FEATURES = {
    *("appendOnly", "invariants", "checkConstraints", "generatedColumns", "changeDataFeed"),
    *("timestampNtz", "deletionVectors", "domainMetadata", "inCommitTimestamp", "v2Checkpoint"),
    *("vacuumProtocolCheck", "typeWidening", "typeWidening-preview", "rowTracking"),
}
"""The features of tables that tasks can write. A property shows if one of them is in use that
changes the files."""

_PROPERTIES = ("delta.constraints.", "delta.columnMapping.mode", "delta.universalFormat.")
"""The prefixes of table properties that change the files, or because of which Spark checks rows."""

_COLUMN_PROPERTIES = ("delta.", "CURRENT_DEFAULT", "EXISTS_DEFAULT", "__CHAR_VARCHAR")
"""The prefixes of column properties because of which Spark computes or checks values."""

_TYPE_CHANGES = "delta.typeChanges"
"""The property of a column whose type became wider. New files have the new type."""


class DeltaFiles(FileTarget):
    """Delta tables of a folder or a catalog."""

    format_name = "Delta"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = cast("Any", spark)
        self._jvm = self._spark._jvm  # noqa: SLF001 - Delta has no Python functions for this
        self._delta = self._jvm.org.apache.spark.sql.delta
        self._default = default_file_system(spark)
        self._locations: dict[str, str] = {}

    def _layout_of(self, mirror: TableMirror) -> Layout:
        return self._layout(self._begin(mirror))

    def _commit(
        self, mirror: TableMirror, layout: Layout, files: Sequence[WrittenFile], batch: BatchId
    ) -> Outcome:
        transaction = self._begin(mirror)
        if transaction.txnVersion(batch.query) >= batch.number:
            return Outcome.PRESENT
        if not self._layout(transaction).has_columns_of(layout):
            return Outcome.CHANGED
        now = time.time_ns() // 1_000_000
        mark = {"appId": batch.query, "version": batch.number, "lastUpdated": now}
        actions = [{"txn": mark}, *(_action(file, now) for file in files)]
        parsed = [self._delta.actions.Action.fromJson(json.dumps(action)) for action in actions]
        append = self._jvm.org.apache.spark.sql.streaming.OutputMode.Append()
        operation = self._delta.DeltaOperations.StreamingUpdate(
            append, batch.query, batch.number, self._none()
        )
        no_tags = self._jvm.scala.collection.immutable.HashMap()
        transaction.commit(self._sequence(parsed), operation, no_tags)
        return Outcome.COMMITTED

    def _begin(self, mirror: TableMirror) -> Any:
        """Begins a transaction, which reads the newest version of the table."""
        session = self._spark._jsparkSession  # noqa: SLF001
        log = self._delta.DeltaLog.forTable(session, self._location(mirror))
        return log.startTransaction()

    def _location(self, mirror: TableMirror) -> str:
        """Returns the folder of a table. It is stored, because it does not change."""
        if mirror.name not in self._locations:
            [detail] = mirror.spark.sql(f"DESCRIBE DETAIL {mirror.name}").collect()
            # Delta needs a path, and DESCRIBE DETAIL returns a URI.
            uri = self._jvm.java.net.URI(detail.location)
            self._locations[mirror.name] = self._jvm.org.apache.hadoop.fs.Path(uri).toString()
        return self._locations[mirror.name]

    def _layout(self, transaction: Any) -> Layout:
        from pyspark.sql.types import StructType

        metadata = transaction.metadata()
        if metadata.partitionColumns().nonEmpty():
            raise UnsupportedTableError("the table is partitioned")
        self._check_features(transaction.protocol())
        properties = dict(self._map(metadata.configuration()))
        for name, value in properties.items():
            if name.startswith(_PROPERTIES) and value != "none":
                raise UnsupportedTableError(f"the table has the property {name}")
        schema = StructType.fromJson(json.loads(metadata.schemaString()))
        for field in schema.fields:
            found = [key for key in field.metadata if key.startswith(_COLUMN_PROPERTIES)]
            if not field.nullable or found not in ([], [_TYPE_CHANGES]):
                raise UnsupportedTableError(
                    f"the column {field.name} has a constraint or a default"
                )
        columns = arrow_schema(schema)
        check_storable(columns, lists=True)
        return Layout(
            folder=local_folder(transaction.deltaLog().dataPath().toString(), self._default),
            columns=columns,
            compression=codec(self._spark.conf.get("spark.sql.parquet.compression.codec")),
            is_case_sensitive=self._spark.conf.get("spark.sql.caseSensitive") == "true",
            has_statistics=True,
        )

    def _check_features(self, protocol: Any) -> None:
        names = protocol.readerAndWriterFeatureNames()
        unknown = sorted(set(self._list(names)) - _FEATURES)
        if unknown:
            raise UnsupportedTableError(f"the table has the features {', '.join(unknown)}")

    def _none(self) -> Any:
        return self._jvm.scala.Option.empty()

    def _sequence(self, found: list[Any]) -> Any:
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(found).toSeq()

    def _list(self, found: Any) -> list[Any]:
        return list(self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(found))

    def _map(self, found: Any) -> Any:
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(found)


def _action(file: WrittenFile, now: int) -> dict[str, Any]:
    """Returns the action of Delta's log that adds a file."""
    return {
        "add": {
            "path": file.path.rpartition("/")[2],
            "partitionValues": {},
            "size": file.size,
            "modificationTime": now,
            "dataChange": True,
            "stats": file.statistics,
        }
    }
