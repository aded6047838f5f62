"""Options for the structures of tables: statements and histories."""

from __future__ import annotations

from binarrow.options.functions import SCHEMAS
from binarrow.options.option import (
    COMMAND,
    NAMES,
    PATH,
    TEXT,
    Flag,
    Kind,
    Option,
    Spark,
)

SQL = Kind("sql", "Schemas", "schemas::SchemasKeyword")
HISTORY = Kind("history", "History", "history_keyword::HistoryKeyword")
HISTORY_COMMANDS = dict.fromkeys(("export", "find", "schema", "stats", "tail", "undo"))

OPTIONS = (
    Option(
        "schemas",
        SQL,
        None,
        """
        CREATE TABLE statements, for logs that do not contain the names of columns.

        They provide what the log leaves out: names, signs, members and keys. They also provide
        types that the log shows as bytes (MariaDB's UUID, INET4, INET6, VECTOR), and the digits of
        times in MariaDB's old form (``mysql56_temporal_format=OFF``). The value is a dict of
        ``"database.table"`` to the output of ``SHOW CREATE TABLE``, or SQL text. The text contains
        ``USE`` and ``CREATE TABLE`` statements, as the output of ``mysqldump --no-data shop`` or
        ``mariadb-dump`` does. Other statements are ignored. A ``Path`` is a file with such text. A
        :class:`TableSchema`, such as the result of ``server.describe()``, is accepted as well, also
        in a dict or a list. Metadata in the log takes precedence. If a statement contradicts it,
        because the table was altered later, a :class:`SchemaError` is raised. In members of ENUM
        and SET, servers print ``?`` instead of characters above U+FFFF. A member with a ``?``
        causes a warning.
        """,
        SCHEMAS,
        Spark(),
        Flag(
            "--schemas",
            HISTORY_COMMANDS,
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

        Each row is decoded with the schema that its table had at the position of the row, and not
        with the current one. Statements in the log that change tables are applied, and stored if
        the history does not contain them yet. If the history ends before ``start``, the log between
        the two is read first, without its rows. A :class:`SchemaError` is raised if the history
        does not cover a part of the log and that part cannot be read. It is also raised for a row
        of a table whose schema is not known or does not fit the log. ``history`` and ``schemas``
        cannot be used together.
        """,
        SCHEMAS,
        Spark(doc="table schemas over time: the URL of a ``SchemaHistory``"),
        Flag(
            "--history",
            HISTORY_COMMANDS,
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
        "history_password_command",
        COMMAND,
        None,
        """
        For a ``history`` on a server: a command that prints the password in its first line.

        As ``password_command``, it is run without a shell for each connection.
        """,
        spark=Spark(),
        flag=Flag("--history-password-command", HISTORY_COMMANDS, "COMMAND"),
    ),
)
