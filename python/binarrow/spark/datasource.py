"""The format ``binarrow``: ``spark.read.format("binarrow")``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from binarrow import ConfigError
from binarrow.spark.file_reader import FileReader
from binarrow.spark.live.batch_reader import LiveBatchReader
from binarrow.spark.live.options import LiveOptions
from binarrow.spark.live.stream_reader import LiveStreamReader
from binarrow.spark.messages import naming_options
from binarrow.spark.options import SCHEMA_OPTIONS, TABLES_SCHEMA_OPTIONS
from binarrow.spark.schema import arrow_schema, server_schema, tables_schema
from binarrow.spark.schema import schema as table_schema
from binarrow.spark.source_options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class BinarrowDataSource(DataSource):
    """Changes of one table, or of several, from binary log files or a server.

    Options of both; of files besides the path in ``load``. Names may be in any case. Sizes are
    bytes, or have a unit: ``64m``. An option that is unknown, or does not fit, is an error.

    ==================  ===========  ============================================================
    name                default      meaning
    ==================  ===========  ============================================================
    table               -            ``database.table``; needed, or
    tables              -            several, as globs, comma-separated: see :func:`table_of`
    excludeTables       -            of these the ones to leave out
    targetBytes         64m          cut files into ranges of about this size, one a partition
    numPartitions       -            instead: about so many partitions of equal size
    gaps                error        ``allow`` files that do not follow each other
    storageOptions      -            JSON: what the file system of a URI takes, where its
                                     environment does not say it
    schemaChangePolicy  follow       rows of another structure come under the schema at load time:
                                     what they lack is NULL, what it lacks is left out. Where both
                                     happen to a row, a column may have got a new name; and where it
                                     lacks one that is NOT NULL or has a DEFAULT, it has a value
                                     that no log tells: both are errors, unless ``.schema(...)`` is
                                     given. Of a server it is one too where the table now has a
                                     column that the schema lacks: start the query again.
                                     ``project`` goes on in all of these cases; to ``fail`` all that
                                     differs is an error
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
    historyPasswordFile -            the password, where the history is on a server
    columns             all          the columns to keep, comma-separated
    operations          all          ``insert``, ``update``, ``delete``, comma-separated
    mask                -            ``COLUMN=sha256`` or ``COLUMN=null``, comma-separated
    maskSaltFile        -            the file on the driver with the salt that ``sha256`` needs
    columnNames         log          ``positional`` names columns @1, @2 where the log does not
    envelope            the four     envelope columns, comma-separated
    envelopePrefix      _            what their names begin with
    layout              flat         ``nested``: ``_op``, ``before``, ``after`` structs; of
                                     ``tables`` always ``nested-json``: ``_database``, ``_table``,
                                     ``_op``, ``before`` and ``after`` as JSON text or VARIANT
    oldValue            true         ``false`` leaves rows out as they were before an update
    splitKeyUpdates     true         an update of the key is a delete and an insert
    partialImages       null         ``error`` (of streams the default) where an inserted or updated
                                     row is logged in part (``binlog_row_image``) and ``present`` is
                                     not in ``envelope``: nothing would tell what is left out from
                                     NULL
    uncommitted         skip         ``emit`` gives rows of rolled back transactions too
    truncates           skip         statements that remove or change existing rows (TRUNCATE, DROP
                                     TABLE, ALTER TABLE ... DROP PARTITION, a type that may change
                                     values) without row events:
                                     ``error`` (the default of streams) fails; ``emit`` returns, for
                                     one that empties the table, a row whose ``_change_type`` is
                                     ``truncate`` (with ``tables``, whose ``_op`` is ``t``)
    onlineSchemaChange  evidence     ``trust`` recognizes a swap of gh-ost or
                                     pt-online-schema-change by the names of the tables, and leaves
                                     out rows of the tools' tables. A task knows only its own part
                                     of the log: it can prove a swap of gh-ost, seldom one of
                                     pt-online-schema-change
    lowerCaseTableNames server's     the variable of the server that wrote the files. With 1 or 2,
                                     ``TRUNCATE Orders`` empties the table ``orders``
    unloggedChanges     warn         before MySQL 9.6, and in MariaDB, the log does not contain the
                                     rows that a foreign key's CASCADE, SET NULL or SET DEFAULT
                                     changes: ``error`` (the default of streams if the server or a
                                     history has such a foreign key for the table), ``warn``,
                                     ``ignore``
    batchRows           16384        rows of a batch at most
    batchBytes          16m          bytes of a batch at most
    statements          error        ``skip`` skips statements that were logged as text and
                                     may change rows (``binlog_format`` STATEMENT or MIXED): the log
                                     does not contain the rows
    skipEvents          -            codes of vendors' events to pass over
    verifyChecksum      true         check the CRC32 of every event
    ==================  ===========  ============================================================

    Options of a server, by ``spark.read`` and ``spark.readStream``:

    ===================  ===============  ========================================================
    name                 default          meaning
    ===================  ===============  ========================================================
    host, port           -, 3306          the server; or
    url                  -                ``mysql://user@host:3306/``, several hosts of one log
                                          with commas; without a password
    socket               -                or a Unix socket's path
    optionFile           -                or a file such as ``~/.my.cnf``
    user                 the system's     who asks. He needs REPLICATION SLAVE and REPLICATION
                                          CLIENT, and SELECT on the table to see its structure
    passwordFile         -                a file on the driver whose first line is the password;
                                          it is read anew for each batch
    password             -                or the password itself
    tls, tlsCa, ...      as ``connect``   ``tls``, ``tlsCa``, ``tlsCert``, ``tlsKey``,
                                          ``tlsServerName``, ``compression``,
                                          ``allowPublicKeyRetrieval``, ``serverPublicKey``,
                                          ``allowClearPassword``: see :func:`binarrow.connect`
    connectTimeout       10               seconds for connecting and logging in
    readTimeout          60               seconds for the answer to a question
    heartbeat            10               seconds of silence after which the server says it lives
    reconnect            300              seconds for which a server that is away is waited for
    startingOffsets      latest;          ``earliest``, ``latest``, ``file:offset``, the JSON of an
                         earliest for     offset (as a progress prints it) or of a ``Position``
                         batches          without ``ahead`` (its ``base``),
                                          ``gtid:SET``, or a time with its zone,
                                          ``2026-11-22T06:00:00Z``: what was committed from then
                                          on. Only a query without a checkpoint looks at it
    startingTimestamp    -                instead: such a time, or milliseconds since 1970 UTC
    endingOffsets        latest           of batches: likewise; the end as of planning
    endingTimestamp      -                of batches: instead
    numPartitions        4                tasks, and so connections, that read at once
    maxBytesPerTrigger   -                of streams: bytes of log of a batch, cut at the end of a
                                          transaction, and one transaction at least
    maxRowsPerTrigger    -                of streams: rows of a batch, cut likewise. They are
                                          counted on the driver, which decodes all that it reads:
                                          it costs a pass more
    failOnDataLoss       true             ``false`` goes on at the oldest file, with a warning,
                                          where the log was purged or reset
    ===================  ===============  ========================================================

    A GTID set, ``gtid:SET`` or a ``Position`` of a GTID set alone, contains the transactions that
    have been read. As a start, all other transactions are read, those too that are logged between
    transactions of the set. As an end, it is the place before the first transaction of the log
    that is not in the set.

    Without ``maxBytesPerTrigger`` and ``maxRowsPerTrigger`` a batch is ``numPartitions`` files of
    the log, or what there is of them. A batch holds whole transactions, and is the same when it
    is read again. Spark 4.0 and 4.1 read all that there is in one batch; limits and
    ``Trigger.AvailableNow`` in several batches need Spark 4.2.
    """

    _is_schema_given = True
    """Whether the query has a schema of its own. Else Spark asks :meth:`schema` before all else."""

    @classmethod
    def name(cls) -> str:
        """What ``format(...)`` takes."""
        return "binarrow"

    @naming_options()
    def schema(self) -> StructType:
        """The schema of the table: where files mention it first, or as a server has it now."""
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
                has_history=options.history is not None,
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
        """The reader for a batch query."""
        options = SourceOptions.parse(self.options, is_schema_given=self._is_schema_given)
        if isinstance(options.place, LiveOptions):
            options.place.check_batch()
            return LiveBatchReader(options, options.place, arrow_schema(schema))
        return FileReader(options, options.place, arrow_schema(schema))

    @naming_options()
    def streamReader(self, schema: StructType) -> LiveStreamReader:  # noqa: N802
        """The reader for a streaming query."""
        options = SourceOptions.parse(self.options, is_schema_given=self._is_schema_given)
        if not isinstance(options.place, LiveOptions):
            raise ConfigError("files are read by spark.read; a stream wants a server: option host")
        options.place.check_stream()
        return LiveStreamReader(options, options.place, arrow_schema(schema))
