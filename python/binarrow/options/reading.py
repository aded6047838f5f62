"""Options of the read itself: batch sizes, threads, reactions to events that cannot be read."""

from __future__ import annotations

from binarrow.options.functions import READS, STREAMS, TABLES, TASKS
from binarrow.options.option import (
    BYTES,
    CODES,
    COUNT,
    FLAG,
    JSON,
    Flag,
    Option,
    Spark,
    words,
)

OPTIONS = (
    Option(
        "batch_rows",
        COUNT,
        None,
        """
        The maximum number of rows in a batch.

        None means 65 536. The two rows of an update stay together. Zero is a :class:`ConfigError`.
        """,
        TASKS | TABLES,
        Spark(default="16384"),
    ),
    Option(
        "batch_bytes",
        BYTES,
        None,
        """
        The approximate maximum size of a batch, in bytes.

        None means 32 MiB. Zero is a :class:`ConfigError`.
        """,
        TASKS | TABLES,
        Spark(default="16m"),
    ),
    Option(
        "batch_end",
        words("transaction"),
        None,
        """
        ``"transaction"`` also ends batches at each commit.

        None ends them at ``batch_rows``, at ``batch_bytes``, and where the schema changes.
        """,
        STREAMS,
    ),
    Option(
        "segment_bytes",
        BYTES,
        None,
        """
        The approximate number of bytes of log that a thread decodes at a time.

        None means 2 MiB. Smaller segments need less memory. Zero is a :class:`ConfigError`.
        """,
        STREAMS,
    ),
    Option(
        "threads",
        COUNT,
        None,
        """
        The number of threads that decode.

        None means one thread for each core, and one thread in a Spark task. Zero is a
        :class:`ConfigError`.
        """,
        TASKS,
    ),
    Option(
        "uncommitted",
        words("skip", "emit"),
        "skip",
        """
        The rows of transactions that never committed: ``"skip"`` leaves them out, ``"emit"``
        returns them.
        """,
        TASKS,
        Spark(),
    ),
    Option(
        "statements",
        words("error", "skip"),
        "error",
        """
        The reaction to a statement that was logged as text and may change rows (``binlog_format``
        STATEMENT or MIXED): ``"error"``, or ``"skip"``. The log does not contain the changed rows.

        ``"error"`` raises an :class:`UnsupportedEventError`. ``"skip"`` skips the statement;
        ``stats()`` counts these statements in ``statements_skipped``, and
        ``include="skipped_statement"`` returns each. These statements are known to change no rows:
        DDL, account management, maintenance. All other statements count as statements that may
        change rows.
        """,
        TASKS,
        Spark(),
        Flag("--statements", {"export": "error", "find": "skip", "stats": "skip", "tail": "error"}),
    ),
    Option(
        "skip_events",
        CODES,
        None,
        """
        Type codes of events to skip that this version does not decode, such as events of other
        vendors.

        Without their codes, such events raise an :class:`UnsupportedEventError`. The codes of
        statements raise a :class:`ConfigError`: see ``statements``.
        """,
        TASKS,
        Spark(),
    ),
    Option(
        "gaps",
        words("error", "allow"),
        "error",
        """
        The reaction to files that do not follow each other: ``"error"``, or ``"allow"``.

        ``"error"`` raises a :class:`ConfigError` that names the files. With ``"allow"``, files that
        are missing between the given files and a GTID set in ``start`` or ``stop`` cause a warning.
        """,
        STREAMS,
        Spark(of="files"),
        Flag(
            "--allow-gaps",
            {"export": False, "find": False, "splits": False, "stats": False, "undo": False},
            doc="Accept files that do not follow each other.",
            word="allow",
        ),
    ),
    Option(
        "index",
        words("use", "ignore"),
        "use",
        """
        The use of an index next to a file, which :func:`write_index` writes: ``"use"`` skips parts
        of the file that contain no row to return, or ``"ignore"``.

        With ``tables`` or ``where``, only the other parts are read. Damage in a part that is
        skipped is not detected, ``stats()`` does not count the part, and there are no warnings
        about it. If an index does not fit the file, it is not used, and a warning reports this.
        """,
        READS,
        Spark(of="files"),
        Flag(
            "--ignore-index",
            {"export": False, "find": False, "undo": False},
            doc="Read files completely, also those that have an index.",
            word="ignore",
        ),
    ),
    Option(
        "verify_checksum",
        FLAG,
        True,
        """
        Verify the CRC32 of every event.

        A wrong checksum raises a :class:`ChecksumError`. Logs without checksums are read as they
        are.
        """,
        TASKS,
        Spark(),
    ),
    Option(
        "storage_options",
        JSON,
        None,
        """
        Settings for the file system of a URI, if the environment does not provide them.

        They are keyword arguments of pyarrow's file system (``endpoint_override`` and
        ``access_key`` of ``S3FileSystem``, for example) or of fsspec's. No message contains their
        values.
        """,
        READS | {"decoder", "infer_schema"},
        Spark(of="files", doc="settings for the file system of a URI, as a JSON object"),
    ),
)
