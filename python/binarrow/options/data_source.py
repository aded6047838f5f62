"""The options of Spark's data source that are not keywords of Python functions."""

from __future__ import annotations

from binarrow.options.option import (
    BYTES,
    COUNT,
    FLAG,
    TEXT,
    Kind,
    Option,
    Spark,
    words,
)

PLACE = Kind("place", "str")
START = Kind("start", "str")
TIME = Kind("time", "str")
PATHS = Kind("paths", "Sequence[str]")

OPTIONS = (
    Option(
        "table",
        TEXT,
        None,
        """
        The table to read, ``database.table``. Either ``table`` or ``tables`` is required.
        """,
        spark=Spark(),
    ),
    Option(
        "path",
        TEXT,
        None,
        """
        The files to read: a path, a glob, a folder or a URI. It is the argument of ``load()``.
        """,
        spark=Spark(),
    ),
    Option(
        "paths",
        PATHS,
        None,
        """
        Several paths, as a JSON list. Spark sets it for ``load([...])``.
        """,
        spark=Spark(),
    ),
    Option(
        "target_bytes",
        BYTES,
        64 << 20,
        """
        The approximate size of the ranges into which files are divided, one for each partition.
        """,
        spark=Spark(of="files", default="64m"),
    ),
    Option(
        "num_partitions",
        COUNT,
        None,
        """
        For files, the approximate number of partitions, instead of ``target_bytes``. For a server,
        the maximum number of tasks that read at the same time, each with a connection; 4 by
        default.
        """,
        spark=Spark(),
    ),
    Option(
        "schema_change_policy",
        words("follow", "project", "fail"),
        "follow",
        """
        The reaction to rows whose columns are not those of the schema at load time: ``"follow"``
        maps columns by name, and fails if values could be lost; ``"project"`` always maps them;
        ``"fail"`` makes every difference an error. Missing columns are NULL, and other columns are
        left out.

        ``"follow"`` raises an error in three cases. First, a row lacks columns of the schema and
        has other columns: a column may have been renamed. Second, a row lacks a column that is NOT
        NULL or has a DEFAULT: the server filled the column in, and the log does not contain these
        values. Third, the table of a server now has a column that the schema lacks: start the query
        again. With ``.schema(...)``, the first two are not errors.
        """,
        spark=Spark(),
    ),
    Option(
        "truncates",
        words("error", "emit", "emit_all", "skip"),
        "skip",
        """
        The reaction to statements that remove or change existing rows without row events (TRUNCATE,
        DROP TABLE, ALTER TABLE ... DROP PARTITION, a type that may change values): ``"skip"``;
        ``"error"``, the default of streams; or ``"emit"``, which returns a row for a statement that
        empties the table.

        The ``_change_type`` of this row is ``truncate``; with ``tables``, its ``_op`` is ``t``.

        ``"emit_all"``, only with ``tables``, also returns rows with the ``_op`` ``a``, for CREATE
        TABLE, for statements that change rows or values in another way, and for statements that
        drop or rename columns. ``after`` is then a document that describes the statement; see
        :meth:`BinlogReader.nested_json`.
        """,
        spark=Spark(),
    ),
    Option(
        "url",
        TEXT,
        None,
        """
        The URL of the server, ``mysql://user@host:3306/``, without a password. Several hosts of the
        same log are separated by commas. It can be the argument of ``load()``.
        """,
        spark=Spark(of="server"),
    ),
    Option(
        "starting_offsets",
        START,
        None,
        """
        The place at which a query without a checkpoint starts: ``earliest``, ``latest``,
        ``snapshot``, ``file:offset``, a GTID set, a time with its zone (``2026-11-22T06:00:00Z``),
        or JSON: an offset from the progress of a query, or a ``Position`` without ``ahead`` (its
        ``base``).

        With ``snapshot``, a stream first reads the existing rows as inserts, together with the
        changes; a batch query reads only the existing rows.
        """,
        spark=Spark(of="server", default="latest; of batches earliest"),
    ),
    Option(
        "snapshot_state_file",
        TEXT,
        None,
        """
        With ``starting_offsets="snapshot"``, the file in which a stream stores how the rows are
        divided: a path or URI on storage that every driver of the query sees, next to the
        checkpoint. It contains values of keys. The query needs it until all rows were read.
        """,
        spark=Spark(of="streams"),
    ),
    Option(
        "starting_timestamp",
        TIME,
        None,
        """
        Instead of ``starting_offsets``: a time with its zone, or milliseconds since 1970 UTC.
        """,
        spark=Spark(of="server"),
    ),
    Option(
        "ending_offsets",
        PLACE,
        None,
        """
        The place at which a batch query ends, in the same forms as ``starting_offsets``; ``latest``
        is the end of the log when the query is planned.
        """,
        spark=Spark(of="batches", default="latest"),
    ),
    Option(
        "ending_timestamp",
        TIME,
        None,
        """
        Instead of ``ending_offsets``: a time with its zone, or milliseconds since 1970 UTC.
        """,
        spark=Spark(of="batches"),
    ),
    Option(
        "max_bytes_per_trigger",
        BYTES,
        None,
        """
        The maximum bytes of log in a batch of a stream. A batch ends at the end of a transaction
        and contains at least one transaction.
        """,
        spark=Spark(of="streams"),
    ),
    Option(
        "max_rows_per_trigger",
        COUNT,
        None,
        """
        The maximum number of rows in a batch of a stream. To count the rows, the driver decodes the
        log in addition to the tasks.
        """,
        spark=Spark(of="streams"),
    ),
    Option(
        "fail_on_data_loss",
        FLAG,
        True,
        """
        If the log was purged or reset: ``true`` fails, ``false`` continues at the oldest file, with
        a warning.
        """,
        spark=Spark(of="server"),
    ),
)
