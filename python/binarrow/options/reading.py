"""The options of reading: keywords of `read_binlog` and of functions like it."""

from __future__ import annotations

from binarrow.options.option import (
    BYTES,
    CODES,
    COUNT,
    FLAG,
    JSON,
    NAMES,
    PATH,
    TEXT,
    Flag,
    Kind,
    Option,
    Spark,
    lists,
    words,
)

READS = frozenset({"read_binlog", "read_split"})
STREAMS = READS | {"stream", "range"}
TASKS = STREAMS | {"decoder"}
SCHEMAS = TASKS | {"infer_schema"}
ENVELOPES = SCHEMAS | {"nested_json_schema"}

NAME_CASE = Kind("name_case", "Literal[0, 1, 2]", "u8")
COLUMNS = Kind("columns", "Mapping[str, str | Sequence[str]]", "keywords::ColumnsKeyword")
MASK = Kind("mask", 'Mapping[str, Literal["sha256", "null"]]', "keywords::MaskKeyword")
SALT = Kind("salt", "str | bytes", "keywords::SaltKeyword")
PLACE = Kind("place", "Position | str | datetime", "keywords::Place")
ITEMS = lists(
    Kind("names", "Item | Sequence[Item]", "keywords::Patterns"),
    *("schema_change", "truncate", "skipped_statement", "transaction", "heartbeat"),
)
OPERATIONS = lists(NAMES, "insert", "update", "delete")
ENVELOPE = lists(
    NAMES,
    *("change_type", "commit_version", "commit_timestamp", "change_ordinal", "binlog_file"),
    *("binlog_position", "server_id", "gtid", "original_commit_timestamp", "thread_id", "xid"),
    *("query", "present"),
)
TYPES = Kind("types", 'Literal["native", "spark"] | TypeOptions', "type_options::TypesKeyword")
SQL = Kind("sql", "Schemas", "schemas::SchemasKeyword")
HISTORY = Kind("history", "History", "history_keyword::HistoryKeyword")

HISTORY_COMMANDS = {"export": None, "schema": None, "stats": None, "tail": None}

OPTIONS = (
    Option(
        "tables",
        NAMES,
        None,
        """
        The tables to read: globs of ``database.table``.

        Rows of other tables are skipped and not decoded. None reads all tables. An empty list is a
        :class:`ConfigError`.
        """,
        STREAMS,
        Spark(doc="several tables, as globs of ``database.table``: see :func:`table_of`"),
        Flag("--tables", {"export": None, "stats": None, "tail": None}, "DB.TABLE"),
    ),
    Option(
        "exclude_tables",
        NAMES,
        None,
        """
        Tables to leave out: globs of ``database.table``.
        """,
        STREAMS,
        Spark(doc="with ``tables``: tables to leave out, as globs"),
    ),
    Option(
        "include",
        ITEMS,
        None,
        """
        Items to return in addition to rows, in log order: ``"schema_change"``, ``"truncate"``,
        ``"skipped_statement"``, ``"transaction"``, ``"heartbeat"``.

        A batch ends before each item. ``"schema_change"``: statements that change tables of
        ``tables`` or their databases, as :class:`SchemaChange`. ``"truncate"``: tables that are
        emptied, as :class:`Truncate`. ``"skipped_statement"``: statements that
        ``statements="skip"`` skips, as :class:`SkippedStatement`. ``"transaction"``: the begin and
        end of every transaction, also of those without changes of ``tables``, as
        :class:`Transaction`. ``"heartbeat"``: a live stream's heartbeats, as :class:`Heartbeat`.
        """,
        READS | {"stream"},
        flag=Flag("--include", {"tail": None}, "ITEM,..."),
    ),
    Option(
        "online_schema_change",
        words("evidence", "trust"),
        "evidence",
        """
        The proof that is required to recognize a swap of a table and its copy by gh-ost or
        pt-online-schema-change: ``"evidence"`` requires marks of the tool in the log; ``"trust"``
        accepts the names of the tables, and leaves out the tool's own tables.

        A swap that is recognized does not change the rows of the table. It is one
        :class:`SchemaChange` of the table, with its ``tool``. The marks are gh-ost's comment in the
        statement of the swap, and the three triggers of pt-online-schema-change, if they are
        created after the start of the read. Without marks the swap is an ordinary rename, and the
        tool's tables are ordinary tables. With ``"trust"``, rows of tables with the tools' names
        (``_orders_gho``, ``_ghc``, ``_del``, ``_new``, ``_old``) are left out, with a warning for
        each table, unless ``tables`` names them without wildcards. A swap back to the old table is
        never accepted.
        """,
        TASKS,
        Spark(
            doc="""
            ``trust`` recognizes a swap of gh-ost or pt-online-schema-change by the names of the
            tables, and leaves out rows of the tools' tables. A task reads only its own part of the
            log. There it finds the proof for a swap of gh-ost, but seldom for one of
            pt-online-schema-change
            """
        ),
        Flag("--online-schema-change", {"export": "evidence", "tail": "evidence"}),
    ),
    Option(
        "lower_case_table_names",
        NAME_CASE,
        None,
        """
        The value of the variable ``lower_case_table_names`` on the server that wrote the files: 0,
        1 or 2.

        With 1 and 2, ``Orders`` and ``orders`` are one table: row events have its name in lower
        case, and statements (``TRUNCATE Orders``) have it as it was typed. The log does not contain
        the value; a live read gets it from the server, and a ``history`` from its baseline. None
        means that the value is not known. Names then differ by case if a row event has a table name
        with capital letters. If no row event has one, a statement that names a table of ``tables``
        in other letter case is returned with a warning by ``include``; with ``truncates`` it is a
        :class:`SchemaError`, or a warning for ``"skip"``. Any other value is a
        :class:`ConfigError`.
        """,
        READS | {"decoder"},
        Spark(
            default="server's",
            doc="""
            the variable of the server that wrote the files. With 1 or 2, ``TRUNCATE Orders``
            empties the table ``orders``
            """,
        ),
    ),
    Option(
        "columns",
        COLUMNS,
        None,
        """
        The columns to keep, by glob of ``database.table``: ``{"shop.orders": ["id", "total"]}``.

        Other columns are not decoded and are not in the schema. The columns have the same order as
        in the table. If several globs match a table, the columns of all of them are kept. Tables
        that no glob matches keep all columns. A column that the table does not have is a
        :class:`SchemaError`. Options that use the key work even if its columns are not kept, and
        ``present`` has a bit for each column of the table.
        """,
        SCHEMAS,
        Spark(kind=NAMES, default="all", doc="the columns to keep"),
        Flag(
            "--columns",
            {"export": None, "tail": None},
            "DB.TABLE=COLUMN,...",
            "Keep only these columns of the tables that match the glob.",
        ),
    ),
    Option(
        "operations",
        OPERATIONS,
        None,
        """
        The operations to return: ``"insert"``, ``"update"``, ``"delete"``.

        These are the operations on the source: an update that changes the key counts as an update,
        even if it is returned as a ``delete`` and an ``insert``. Rows of other operations are
        skipped and not decoded. None returns all operations.
        """,
        TASKS,
        Spark(default="all"),
        Flag("--operations", {"export": None, "tail": None}, "OPERATION,..."),
    ),
    Option(
        "unlogged_changes",
        words("error", "warn", "ignore"),
        None,
        """
        The reaction if a foreign key's CASCADE, SET NULL or SET DEFAULT may have changed rows that
        the log does not contain (before MySQL 9.6, and in MariaDB): ``"error"``, ``"warn"`` or
        ``"ignore"``.

        The log shows only that rows of the parent table were deleted or got other keys. This also
        applies to later MySQL versions with ``innodb_native_foreign_keys=ON``. ``"error"`` raises
        an :class:`UnsupportedEventError`. ``"warn"`` issues a warning for each parent, and counts
        in ``stats()``. ``"ignore"`` does nothing. None means ``"error"`` for a mirror
        (``truncates="error"`` or ``"emit"`` of :meth:`BinlogReader.table`) if an action is known to
        change its table. Otherwise it means ``"warn"``, also if the actions are not known. The
        actions are taken from ``history`` or ``schemas``; a mirror of a live server queries them
        from the server. MariaDB's log shows for each statement which tables its actions can change.
        Parents that are not in ``tables`` count too. The same applies to MERGE tables: if rows of a
        MERGE table change, rows of the tables of its UNION change, and the log contains only the
        name of the MERGE table. A table is known to be a MERGE table if ``history`` or ``schemas``
        contains it.
        """,
        TASKS,
        Spark(
            default="warn",
            doc="""
            before MySQL 9.6, and in MariaDB, the log does not contain the rows that a foreign key's
            CASCADE, SET NULL or SET DEFAULT changes: ``error`` (the default of streams if the
            server or a history has such a foreign key for the table), ``warn``, ``ignore``
            """,
        ),
        Flag("--unlogged-changes", {"export": "warn", "tail": "warn"}),
    ),
    Option(
        "mask",
        MASK,
        None,
        """
        Columns whose values are hidden, by glob of ``database.table.column``, in any letter case:
        ``{"shop.customers.email": "sha256"}``.

        ``"null"`` makes the values NULL. ``"sha256"`` replaces them by a hash of 64 hexadecimal
        digits. NULL stays NULL. Equal values have equal hashes, also across tables, types and
        servers::

            hmac.new(salt, value.encode(), "sha256").hexdigest()

        If several globs match a column, the first one applies. If a glob contains the name of a
        table without wildcards, and matches none of its columns, it is a :class:`SchemaError`. The
        hashed value is what ``SELECT`` prints; ``types`` does not change it. Numbers are hashed as
        digits (``-5``, ``1.50``), without the zeros of ZEROFILL; FLOAT and DOUBLE have the fewest
        digits that identify the number (``0.1``, ``1.5e20``), and BIT is a number. Dates and times
        are hashed as ``2024-02-29 10:00:00.25``, also zero dates, and TIMESTAMP in UTC. Text is
        hashed in UTF-8, JSON as MySQL prints it, and ENUM and SET by their members, or by the
        number if the log does not name the members. BINARY (with the zeros at its end), VARBINARY,
        BLOB, GEOMETRY and VECTOR are hashed as stored. MariaDB's UUID, INET4 and INET6 are hashed
        as text with ``schemas``, otherwise as bytes. A glob that matches no column is reported in a
        warning at the end of the input: test a new glob on a few files before you use it for a
        stream that does not end. The statement of a :class:`SchemaChange` is not masked; it
        contains defaults and comments.
        """,
        SCHEMAS,
        Spark(doc="``COLUMN=sha256`` or ``COLUMN=null``"),
        Flag(
            "--mask",
            {"export": None, "tail": None},
            "DB.TABLE.COLUMN=HOW",
            "Hide the values of this column (a glob): sha256 for hashes with a salt, or null for"
            " NULL.",
        ),
    ),
    Option(
        "mask_salt",
        SALT,
        None,
        """
        The secret for ``"sha256"`` in ``mask``. Nobody can find values by hashing guesses without
        it.

        It is not part of any ``repr``, log or message.
        """,
        SCHEMAS,
        Spark("maskSaltFile", doc="a file on the driver with the salt that ``sha256`` needs"),
        Flag(
            "--mask-salt-file",
            {"export": None, "tail": None},
            "FILE",
            "A file with the salt that sha256 needs; only its owner should be able to read it."
            " Without it, the salt is taken from the environment variable BINARROW_MASK_SALT.",
        ),
    ),
    Option(
        "start",
        PLACE,
        None,
        """
        The place at which the read starts: a :class:`Position`, ``"file:offset"``, a GTID set that
        has already been read, or a datetime with a zone.

        None starts at the beginning of the first file. With a GTID set, all transactions that are
        not in the set are read. If the first file begins after such a transaction, older files are
        missing, which is a :class:`ConfigError`.
        """,
        frozenset({"read_binlog"}),
        flag=Flag(
            "--start",
            {"export": None, "stats": None},
            "WHERE",
            "Start at FILE:OFFSET, or at a time such as 2026-11-21T09:00.",
        ),
    ),
    Option(
        "stop",
        PLACE,
        None,
        """
        The place at which the read ends, in the same forms as ``start``. Transactions that end at
        or before it are read.

        None reads to the end of the last file. Of a position, only its ``base`` is used. With a
        GTID set, the read ends before the first transaction that is not in the set. If the files
        end before the set is complete, newer files are missing, which is a :class:`ConfigError`
        after the last row.
        """,
        frozenset({"read_binlog"}),
        flag=Flag(
            "--stop",
            {"export": None, "stats": None},
            "WHERE",
            "End at FILE:OFFSET, or at a time.",
        ),
    ),
    Option(
        "layout",
        words("flat", "nested"),
        "flat",
        """
        The form of rows: ``"flat"`` returns one row for each row image, ``"nested"`` one row for
        each change, with the structs ``before`` and ``after``.

        A flat row has the table's columns, then the envelope. A nested row has ``_op`` (``c``,
        ``u``, ``d``), the structs ``before`` and ``after`` with the table's columns (null if there
        is no such image), then the envelope without ``_change_type``. ``_present_before`` and
        ``_present_after`` replace ``_present``.
        """,
        SCHEMAS,
        Spark(
            kind=words("flat", "nested", "nested-json"),
            doc="""
            ``nested``: ``_op`` and the structs ``before`` and ``after``; with ``tables`` always
            ``nested-json``: ``_database``, ``_table``, ``_op``, ``before`` and ``after`` as JSON
            text or VARIANT
            """,
        ),
        in_tasks='Literal["flat", "nested", "nested-json"]',
    ),
    Option(
        "old_value",
        FLAG,
        True,
        """
        Also return rows as they were before a change.

        Without these rows, an update is only its ``update_postimage``. A ``delete`` has only the
        columns of the table's key, and NULL in the others. An update that changes the key is a
        ``delete`` of the old key, then the ``update_postimage`` or ``insert``. The key is the
        primary key if the log or ``schemas`` contains it, otherwise the first UNIQUE key of NOT
        NULL columns in ``schemas``, otherwise the complete row.
        """,
        TASKS,
        Spark(doc="``false`` leaves out rows as they were before an update"),
        Flag(
            "--old-value/--no-old-value",
            {"export": True},
            doc="Also write rows as they were before a change; without them, only keys of deletes.",
        ),
    ),
    Option(
        "split_key_updates",
        FLAG,
        True,
        """
        Return an update that changes the key as a ``delete`` and an ``insert``.

        Keys are compared by their bytes. This needs complete images of both rows
        (``binlog_row_image=FULL``). Without them, or with False, the update is an
        ``update_preimage`` and an ``update_postimage``.
        """,
        TASKS,
        Spark(),
    ),
    Option(
        "partial_images",
        words("null", "error"),
        "null",
        """
        The value of columns that a row image leaves out (``binlog_row_image`` MINIMAL or NOBLOB):
        ``"null"``, or ``"error"``.

        With ``"null"``, the column ``present`` of the ``envelope`` distinguishes these columns from
        columns that are NULL. ``"error"`` raises a :class:`SchemaError` if the image of an inserted
        or updated row leaves out a selected column and ``present`` is not in the ``envelope``.
        """,
        TASKS,
        Spark(
            doc="""
            ``error`` (the default of streams): rows that were inserted or updated and logged in
            part (``binlog_row_image``) are errors, unless ``present`` is in ``envelope``. Without
            ``present``, columns that are left out cannot be distinguished from NULL
            """
        ),
    ),
    Option(
        "envelope",
        ENVELOPE,
        None,
        """
        The columns to add to those of the table, by their names without the prefix.

        None adds ``change_type``, ``commit_version``, ``commit_timestamp`` and ``change_ordinal``;
        an empty list adds none. The others are ``gtid`` (of the commit; of XA COMMIT too),
        ``original_commit_timestamp`` (on the server that made the change; MySQL 8 and later),
        ``thread_id`` (the connection that made the change, if the log contains it), ``xid`` (the
        number of the Xid event; NULL if another event commits), ``query`` (the statement; it needs
        ``binlog_rows_query_log_events`` or ``binlog_annotate_row_events``), ``binlog_file``,
        ``binlog_position``, ``server_id`` and ``present`` (one bit for each column of the table
        that the image contains, or for each column of a given schema: see
        :meth:`BinlogReader.table`).
        """,
        ENVELOPES,
        Spark(default="the four", doc="columns of the envelope to add"),
    ),
    Option(
        "envelope_prefix",
        TEXT,
        "_",
        """
        The prefix of the names of envelope columns.
        """,
        ENVELOPES,
        Spark(),
    ),
    Option(
        "types",
        TYPES,
        None,
        """
        The Arrow types of the columns: ``"native"``, ``"spark"``, or a :class:`TypeOptions`.

        None means ``"native"``. ``"spark"`` also lowers the defaults of ``batch_rows`` to 16 384
        and of ``batch_bytes`` to 16 MiB.
        """,
        ENVELOPES,
        flag=Flag(
            "--types",
            {"export": "native", "schema": "native"},
            doc="Arrow's native types, or those that Spark can read.",
            words=("native", "spark"),
        ),
        in_tasks='Literal["spark"] | TypeOptions',
    ),
    Option(
        "column_names",
        words("log", "positional", "none"),
        "log",
        """
        The names of columns: ``"log"`` requires them in the log, ``"positional"`` names columns
        ``@1``, ``@2``, ... if the log does not contain their names, ``"none"`` returns no columns
        of the table.

        If the log contains no names, ``"log"`` raises a :class:`SchemaError`; ``schemas`` and
        ``history`` provide the names. ``"none"`` returns only the columns of the envelope and can
        read every log, for example to count changes.
        """,
        SCHEMAS,
        Spark(
            kind=words("log", "positional"),
            doc="``positional`` names columns @1, @2 if the log does not contain their names",
        ),
        Flag(
            "--positional",
            {"export": False, "schema": False, "tail": False},
            doc="Name columns @1, @2, ... if the log does not contain their names.",
            word="positional",
        ),
    ),
    Option(
        "schemas",
        SQL,
        None,
        """
        CREATE TABLE statements, for logs that do not contain the names of columns.

        They provide what the log leaves out: names, signs, members, keys, types that the log shows
        as bytes (MariaDB's UUID, INET4, INET6, VECTOR), and the digits of times in MariaDB's old
        form (``mysql56_temporal_format=OFF``). The value is either a dict of ``"database.table"``
        to the output of ``SHOW CREATE TABLE``, or SQL text with ``USE`` and ``CREATE TABLE``
        statements, such as the output of ``mysqldump --no-data shop`` or ``mariadb-dump``; other
        statements are ignored. A ``Path`` is a file with such text. Metadata in the log takes
        precedence: a statement that contradicts it, because the table was altered since, is a
        :class:`SchemaError`. Servers print ``?`` for characters beyond U+FFFF in members of ENUM
        and SET: a member with one causes a warning.
        """,
        SCHEMAS,
        Spark(),
        Flag(
            "--schemas",
            {"export": None, "schema": None, "stats": None, "tail": None},
            "FILE",
            "The output of 'mysqldump --no-data DB', for logs that do not contain the names of"
            " columns.",
        ),
    ),
    Option(
        "schemas_file",
        NAMES,
        None,
        """
        Instead of ``schemas``: files on the driver with the output of ``mysqldump --no-data``.
        """,
        spark=Spark(),
    ),
    Option(
        "history",
        HISTORY,
        None,
        """
        A history of table schemas: a :class:`binarrow.SchemaHistory`, or its URL or path.

        Each row is decoded with the schema that its table had at that position, whatever the schema
        is now. Statements in the log that change tables are followed, and stored if the history
        does not contain them yet. If the history ends before ``start``, the log between the two is
        read first, without its rows. A part of the log that the history does not cover and that
        cannot be read is a :class:`SchemaError`; so is a row of a table whose schema is not known
        or does not fit the log. ``history`` and ``schemas`` cannot be used together.
        """,
        SCHEMAS,
        Spark(doc="table schemas over time: the URL of a ``SchemaHistory``"),
        Flag(
            "--history",
            {"export": None, "schema": None, "stats": None, "tail": None},
            "HISTORY",
            "A history of table schemas, for logs that do not contain the names of columns: the"
            " path of a file, sqlite:///shop.db, or mysql://user@host/database. See 'binarrow"
            " history --help'.",
        ),
        in_tasks="str",
    ),
    Option(
        "history_source",
        TEXT,
        None,
        """
        The name of the history, if a store contains several; ``default`` if it is not given.
        """,
        spark=Spark(),
        flag=Flag("--history-source", HISTORY_COMMANDS, "NAME"),
    ),
    Option(
        "history_password_file",
        PATH,
        None,
        """
        For a ``history`` on a server: a file whose first line is the password.
        """,
        spark=Spark(),
        flag=Flag("--history-password-file", HISTORY_COMMANDS, "FILE"),
    ),
    Option(
        "batch_rows",
        COUNT,
        None,
        """
        The maximum number of rows in a batch.

        None means 65 536. The two rows of an update stay together. Zero is a :class:`ConfigError`.
        """,
        TASKS,
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
        TASKS,
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

        None means 8 MiB. Smaller segments need less memory. Zero is a :class:`ConfigError`.
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
        ``include="skipped_statement"`` returns each. Every statement counts as one that may change
        rows, unless it is known not to: DDL, account management, maintenance.
        """,
        TASKS,
        Spark(),
        Flag("--statements", {"export": "error", "stats": "skip", "tail": "error"}),
    ),
    Option(
        "skip_events",
        CODES,
        None,
        """
        Type codes of events to skip that this version does not decode, such as events of other
        vendors.

        Without their codes, such events are an :class:`UnsupportedEventError`. The codes of
        statements are a :class:`ConfigError`: see ``statements``.
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
            {"export": False, "splits": False, "stats": False},
            doc="Accept files that do not follow each other.",
            word="allow",
        ),
    ),
    Option(
        "verify_checksum",
        FLAG,
        True,
        """
        Verify the CRC32 of every event.

        A wrong checksum is a :class:`ChecksumError`. Logs without checksums are read as they are.
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
