"""Options that select what is read: tables, columns, operations, and the range of the log."""

from __future__ import annotations

from binarrow.options.functions import READS, SCHEMAS, STREAMS, TABLES, TASKS
from binarrow.options.option import (
    NAMES,
    TEXT,
    Flag,
    Kind,
    Option,
    Spark,
    lists,
    words,
)

NAME_CASE = Kind("name_case", "Literal[0, 1, 2]", "u8")
COLUMNS = Kind("columns", "Mapping[str, str | Sequence[str]]", "keywords::ColumnsKeyword")
MASK = Kind("mask", 'Mapping[str, Literal["sha256", "null"]]', "keywords::MaskKeyword")
SALT = Kind("salt", "str | bytes", "keywords::SaltKeyword")
PLACE = Kind("place", "Position | str | datetime", "place::Place")
ITEMS = lists(
    Kind("names", "MarkerKind | Sequence[MarkerKind]", "keywords::Patterns"),
    *("schema_change", "truncate", "skipped_statement", "unlogged_change"),
    *("transaction", "heartbeat"),
)
OPERATIONS = lists(NAMES, "insert", "update", "delete")

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
        Flag(
            "--tables",
            {"export": None, "find": None, "stats": None, "tail": None, "undo": None},
            "DB.TABLE",
        ),
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
        ``"skipped_statement"``, ``"unlogged_change"``, ``"transaction"``, ``"heartbeat"``.

        A batch ends before each item. ``"schema_change"``: statements that change tables of
        ``tables`` or their databases, as :class:`SchemaChange`. ``"truncate"``: tables that are
        emptied, as :class:`Truncate`. ``"skipped_statement"``: statements that
        ``statements="skip"`` skips, as :class:`SkippedStatement`. ``"unlogged_change"``: changes
        that may have changed rows of other tables that are not in the log, as
        :class:`UnloggedChange`, in any place among the rows of their transaction.
        ``"transaction"``: the begin and end of every transaction, also of those without changes of
        ``tables``, as :class:`Transaction`. ``"heartbeat"``: a live stream's heartbeats, as
        :class:`Heartbeat`.
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

        A swap that is recognized does not change the rows of the table. It is returned as one
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
        the value. A live read gets it from the server, and a ``history`` gets it from its baseline.
        None means that the value is not known. If a row event then has a table name with capital
        letters, names in other letter case are other names. If no row event has one, a statement
        may name a table of ``tables`` in other letter case. ``include`` returns such a statement
        with a warning. With ``truncates``, it raises a :class:`SchemaError`, or causes a warning
        for ``"skip"``. Any other value raises a :class:`ConfigError`.
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
        in the table. If several globs match a table, the columns of all of these globs are kept.
        Tables that no glob matches keep all columns. A column that the table does not have raises a
        :class:`SchemaError`. Options that use the key also work if the columns of the key are not
        kept. ``present`` has a bit for each column of the table.
        """,
        SCHEMAS | TABLES,
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
        Flag(
            "--operations",
            {"export": None, "find": None, "tail": None, "undo": None},
            "OPERATION,...",
        ),
    ),
    Option(
        "where",
        TEXT,
        None,
        """
        A condition on the values of a change, in a part of SQL: ``"status = 'paid' AND old.status
        <> 'paid'"``.

        A column without a prefix is compared in the row before and in the row after the change. If
        the condition is true for one of the two, the change is returned, with both rows. ``old.``
        and ``new.`` name the row before and the row after the change. An insert has no row before
        it, and a delete none after it: columns of such rows are NULL. The operators are ``=``,
        ``<>``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``IN``, ``BETWEEN``, ``LIKE``, ``IS NULL``,
        ``AND``, ``OR``, ``NOT``; names may be in backquotes. As in SQL, a comparison with NULL is
        not true, and its negation is not true either. Text is compared by its characters, and bytes
        by their values. So values that differ in letter case, accents or spaces at the end are
        different, in any collation. Dates and times are strings; a TIMESTAMP without ``Z`` or an
        offset is in UTC. A zero date that is returned as NULL is NULL. JSON, GEOMETRY and VECTOR
        are only compared with NULL. Each table that is read must have the columns of the condition.
        They must be in ``columns``, and not in ``mask``. Otherwise a :class:`ConfigError` is
        raised, and also if a comparison does not fit the type of a column. If the log leaves out a
        column that is needed (``binlog_row_image``), a :class:`SchemaError` is raised. Requires
        ``old_value``. Existing rows of an initial load are not supported.
        """,
        TASKS,
        Spark(),
        Flag(
            "--where",
            {"at": None, "export": None, "find": None, "tail": None, "undo": None},
            "CONDITION",
        ),
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
        an :class:`UnsupportedEventError`. ``"warn"`` issues a warning for each parent, and
        ``stats()`` counts these changes. ``"ignore"`` does nothing. None means ``"error"`` for a
        mirror (``truncates="error"`` or ``"emit"`` of :meth:`BinlogReader.table`) if an action is
        known to change its table. Otherwise it means ``"warn"``, also if the actions are not known.
        The actions are taken from ``history`` or ``schemas``; a mirror of a live server asks the
        server for them. MariaDB's log shows for each statement which tables its actions can change.
        Parents that are not in ``tables`` count too. The same applies to MERGE tables. If rows of a
        MERGE table change, rows of the tables of its UNION change. The log contains only the name
        of the MERGE table. A table is known to be a MERGE table if ``history`` or ``schemas``
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
        Flag("--unlogged-changes", {"at": "error", "export": "warn", "tail": "warn"}),
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
        table without wildcards, and matches none of the columns of this table, a
        :class:`SchemaError` is raised. The hashed value is the text that ``SELECT`` prints;
        ``types`` does not change it. Numbers are hashed as digits (``-5``, ``1.50``), without the
        zeros of ZEROFILL; FLOAT and DOUBLE have the fewest digits that identify the number
        (``0.1``, ``1.5e20``), and BIT is a number. Dates and times are hashed as ``2024-02-29
        10:00:00.25``, also zero dates, and TIMESTAMP in UTC. Text is hashed in UTF-8, JSON as MySQL
        prints it, and ENUM and SET by their members, or by the number if the log does not name the
        members. BINARY (with the zeros at its end), VARBINARY, BLOB, GEOMETRY and VECTOR are hashed
        as stored. MariaDB's UUID, INET4 and INET6 are hashed as text with ``schemas``, otherwise as
        bytes. A warning at the end of the input reports a glob that matches no column. A stream may
        have no end, so test a new glob on a few files first. The statement of a
        :class:`SchemaChange` is not masked; it contains defaults and comments.
        """,
        SCHEMAS | TABLES,
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
        The secret for ``"sha256"`` in ``mask``. Without it, values cannot be found by hashing
        guesses.

        It is not part of any ``repr``, log or message.
        """,
        SCHEMAS | TABLES,
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
        has already been read, or a datetime with a zone. The JSON of a position and a time such as
        ``"2026-11-22T06:00:00Z"`` may be text too.

        None starts at the beginning of the first file. With a GTID set, all transactions that are
        not in the set are read. If the first file begins after such a transaction, older files are
        missing, and a :class:`ConfigError` is raised.
        """,
        frozenset({"read_binlog"}),
        flag=Flag(
            "--start",
            {"export": None, "find": None, "stats": None, "undo": None},
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

        None reads to the end of the last file. If it is a position, only its ``base`` is used. With
        a GTID set, the read ends before the first transaction that is not in the set. If the files
        end before the set is complete, newer files are missing. A :class:`ConfigError` is then
        raised after the last row.
        """,
        frozenset({"read_binlog"}),
        flag=Flag(
            "--stop",
            {"export": None, "find": None, "stats": None, "undo": None},
            "WHERE",
            "End at FILE:OFFSET, or at a time.",
        ),
    ),
)
