"""The format ``binarrow``: ``spark.read.format("binarrow")``."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from binarrow import ConfigError
from binarrow.spark.documentation import option_tables
from binarrow.spark.file_reader import FileReader
from binarrow.spark.live.batch_reader import LiveBatchReader
from binarrow.spark.live.options import LiveOptions
from binarrow.spark.live.stream_reader import LiveStreamReader
from binarrow.spark.messages import naming_options, spark_message
from binarrow.spark.options import SCHEMA_OPTIONS, TABLES_SCHEMA_OPTIONS
from binarrow.spark.schema import arrow_schema, server_schema, tables_schema
from binarrow.spark.schema import schema as table_schema
from binarrow.spark.source_options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class BinarrowDataSource(DataSource):
    """Changes of one table, or of several, from binary log files or a server.

    Names of options may be in any letter case. Sizes are bytes, or have a unit: ``64m``. An option
    that is unknown, or that does not fit the query, is an error.

    A GTID set, ``gtid:SET`` or a ``Position`` that is only a GTID set, contains the transactions
    that have been read. If a query starts there, all other transactions are read, including those
    that are logged between transactions of the set. If a query ends there, it ends before the first
    transaction in the log that is not in the set.

    Without ``maxBytesPerTrigger`` and ``maxRowsPerTrigger`` a batch is at most
    ``numPartitions`` files of the log. A batch contains complete transactions, and is the same when
    it is read again. Spark 4.0 and 4.1 read to the end of the log in one batch; limits and
    ``Trigger.AvailableNow`` in several batches need Spark 4.2.
    """

    _is_schema_given = True
    """True if the query declares a schema. Else Spark calls :meth:`schema` first."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return "binarrow"

    @naming_options()
    def schema(self) -> StructType:
        """Returns the schema of the table: at its first mention in files, or now on a server."""
        self._is_schema_given = False
        options = SourceOptions.parse(self.options)
        shaping = {key: value for key, value in options.read.items() if key in SCHEMA_OPTIONS}
        if options.table is None:
            return tables_schema(
                **{key: shaping[key] for key in TABLES_SCHEMA_OPTIONS if key in shaping}
            )
        if isinstance(options.place, LiveOptions):
            return server_schema(
                options.place.target,
                options.table,
                reconnect=options.place.reconnect,
                has_history=options.history is not None or options.place.loads,
                **shaping,
            )
        with options.opened_history() as history:
            return table_schema(
                list(options.place.paths),
                options.table,
                history=history,
                storage_options=options.place.storage_options,
                **shaping,
            )

    @naming_options()
    def reader(self, schema: StructType) -> FileReader | LiveBatchReader:
        """Returns the reader for a batch query."""
        options = SourceOptions.parse(self.options, is_schema_given=self._is_schema_given)
        if isinstance(options.place, LiveOptions):
            options.place.check_batch()
            options.place.check_load(options.read)
            return LiveBatchReader(options, options.place, arrow_schema(schema))
        return FileReader(options, options.place, arrow_schema(schema))

    # Another error of Spark follows an error in this method, and the first one is its context.
    @naming_options(hides_traceback=False)
    def streamReader(self, schema: StructType) -> LiveStreamReader:  # noqa: N802
        """Returns the reader for a streaming query."""
        options = SourceOptions.parse(self.options, is_schema_given=self._is_schema_given)
        if not isinstance(options.place, LiveOptions):
            raise ConfigError(
                spark_message("streams read servers: set ⟦host⟧ or ⟦url⟧, or use spark.read")
            )
        options.place.check_stream()
        options.place.check_load(options.read)
        return LiveStreamReader(options, options.place, arrow_schema(schema))


BinarrowDataSource.__doc__ = (
    f"{(BinarrowDataSource.__doc__ or '').rstrip()}\n\n{indent(option_tables(), '    ')}\n"
)
