"""Options for the form of the rows: layout, old values, envelope, types, names of columns."""

from __future__ import annotations

from binarrow.options.functions import ENVELOPES, SCHEMAS, TABLES, TASKS
from binarrow.options.option import (
    FLAG,
    NAMES,
    TEXT,
    Flag,
    Kind,
    Option,
    Spark,
    lists,
    words,
)

ENVELOPE = lists(
    NAMES,
    *("change_type", "commit_version", "commit_timestamp", "change_ordinal", "binlog_file"),
    *("binlog_position", "server_id", "gtid", "original_commit_timestamp", "thread_id", "xid"),
    *("query", "present"),
)
TYPES = Kind("types", 'Literal["native", "spark"] | TypeOptions', "type_options::TypesKeyword")

OPTIONS = (
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
        SCHEMAS | TABLES,
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

        If this is False, an update is only its ``update_postimage``. A ``delete`` has only the
        columns of the table's key, and NULL in the other columns. An update that changes the key is
        a ``delete`` of the old key, then the ``update_postimage`` or ``insert``. The key is the
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
        columns that are NULL. With ``"error"``, if ``present`` is not in the ``envelope``, and the
        image of an inserted or updated row leaves out a selected column, a :class:`SchemaError` is
        raised.
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
        an empty list adds none. The others are ``gtid`` (of the commit, also of an XA COMMIT),
        ``original_commit_timestamp`` (on the server that made the change; MySQL 8 and later),
        ``thread_id`` (the connection that made the change, if the log contains it), ``xid`` (the
        number of the Xid event; NULL if another event commits), ``query`` (the statement; it needs
        ``binlog_rows_query_log_events`` or ``binlog_annotate_row_events``), ``binlog_file``,
        ``binlog_position``, ``server_id`` and ``present`` (one bit for each column of the table
        that the image contains, or for each column of a given schema: see
        :meth:`BinlogReader.table`).
        """,
        ENVELOPES | TABLES,
        Spark(default="the four", doc="columns of the envelope to add"),
    ),
    Option(
        "envelope_prefix",
        TEXT,
        "_",
        """
        The prefix of the names of envelope columns.
        """,
        ENVELOPES | TABLES,
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
        ENVELOPES | TABLES,
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
            {"export": False, "find": False, "schema": False, "tail": False},
            doc="Name columns @1, @2, ... if the log does not contain their names.",
            word="positional",
        ),
    ),
)
