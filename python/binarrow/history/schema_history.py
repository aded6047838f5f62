"""The history of the structures of tables: the structure of a table at any place in the log.

The logs of most servers contain no column names (``binlog_row_metadata=MINIMAL``). A history
provides them: it stores a baseline of all tables, and all later statements that change a table.

    with binarrow.connect("mysql://repl@db.example/", password_file="secret") as server:
        for change in server.stream("earliest", history="sqlite:///shop.db"):
            ...
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from binarrow._native import BinarrowError, ConfigError, NativeHistory, Position, TableSchema
from binarrow.advice import message
from binarrow.history.change import (
    CoveredRange,
    HistoryChange,
    change_of_native,
    concerns,
    unix_microseconds,
)
from binarrow.history.store_url import open_store
from binarrow.notebook import card
from binarrow.password import Password

if TYPE_CHECKING:
    from binarrow.server.server import Server

Sql = str | bytes | os.PathLike[str]
"""SQL as text, as bytes, or in a file."""

SHOWN_RANGES = 3
"""The maximum number of covered ranges in the representation in a notebook."""

Place: TypeAlias = Position | str | datetime
"""A position, ``"file:offset"``, a GTID set, or a time with its zone."""


class SchemaHistory:
    """The structures of tables over time, in a persistent store. Create one with :meth:`open`.

        with SchemaHistory.open("sqlite:///shop.db") as history:
            history.baseline(server)
            print(history.find("shop", "orders").create_statement)

    Threads may share a history. Pass it to readers and streams as ``history=``. Any number of
    processes may use it at the same time. The first process that has something to store is the
    writer. Each of the other processes keeps later structures in its own memory. When the writer
    ends, one of them becomes the writer.

    A history has a cursor, initially at the end of the covered range. :meth:`find` without a
    position, :meth:`apply` and :meth:`snapshot` use the cursor, and :meth:`rollback` moves it.
    """

    def __init__(self, native: NativeHistory) -> None:
        self._native = native

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        *,
        source: str | None = None,
        user: str | None = None,
        password: Password | None = None,
        password_file: str | os.PathLike[str] | None = None,
        password_command: str | Sequence[str] | None = None,
        option_file: str | os.PathLike[str] | None = None,
        **keywords: Any,
    ) -> Self:
        """Opens a history; a new one is empty.

        Args:
            url: The store. ``sqlite:///history.db`` or the path of a file is an SQLite database,
                which is created if it does not exist (``sqlite:////var/lib/history.db`` is
                absolute). Only its owner can read a new file. ``mysql://user@host:3306/database``,
                or ``mariadb://``, is a database of a server, in which tables are created if they do
                not exist. ``memory:`` is not stored.
            source: The name of the history: a store can contain histories of many logs. It is
                ``"default"`` if it is given neither here nor as ``?source=`` in the URL.
            user: For a store on a server: as in :func:`binarrow.connect`.
            password: For a store on a server: as in :func:`binarrow.connect`.
            password_file: For a store on a server: as in :func:`binarrow.connect`.
            password_command: For a store on a server: as in :func:`binarrow.connect`.
            option_file: For a store on a server: as in :func:`binarrow.connect`.
            keywords: For a store on a server, other keywords of :func:`binarrow.connect`: ``tls``,
                ``tls_ca``, ``compression``, ``connect_timeout``, ...

        Raises:
            ConfigError: The URL is not valid, or ``source`` is given twice.
            InputError: The file cannot be opened.
            MalformedBinlogError: The store is damaged, or is not a history.
        """
        return cls(
            open_store(
                url,
                source=source,
                user=user,
                password=password,
                password_file=password_file,
                password_command=password_command,
                option_file=option_file,
                keywords=keywords,
            )
        )

    @property
    def source(self) -> str:
        """The name of the history in the store."""
        return self._native.source

    @property
    def position(self) -> Position | None:
        """The position of the cursor; None while the history is empty."""
        return self._native.position()

    @property
    def covered(self) -> tuple[CoveredRange, ...]:
        """The covered ranges of logs, the latest last; empty if the history is empty."""
        return tuple(
            CoveredRange(start, stop, server) for start, stop, server in self._native.covered()
        )

    def baseline(
        self,
        schemas: Server | Sql,
        position: Position | str | None = None,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
        server: str | None = None,
    ) -> Position:
        """Adds the structures of tables, and returns their position.

        The first baseline creates the history. A later baseline repairs it: for tables that were
        unknown, or after a part of the log that was not read.

        Args:
            schemas: A server, or SQL. From a server, the current tables are read over a separate
                connection, without a lock, and the position is the current one of its log. This
                needs REPLICATION SLAVE, REPLICATION CLIENT (MariaDB: BINLOG MONITOR) and SELECT.
                SQL is the output of ``mysqldump --no-data --databases``, as text or in a file.
            position: For SQL, the log position of these structures: a :class:`Position` or
                ``"file:offset"``.
            tables: Only these tables, as patterns ``database.table``. All other tables are not
                changed. The history must cover the position.
            exclude_tables: Patterns of tables to leave out.
            server: For SQL, the server of the statements: ``"mysql-8.4"``, ``"mariadb-11.8"``.
                Types and collations depend on it. The default is a current version of MySQL.

        Raises:
            ConfigError: Another process writes the history; or the SQL is not valid, or has no
                position.
            ServerError: The server refuses the queries, or its tables change all the time.

        Warns:
            BinarrowWarning: The server does not show a table, or a member of an ENUM.
        """
        connection = getattr(schemas, "__binarrow_connection__", None)
        if connection is not None:
            if position is not None or server is not None:
                raise ConfigError(
                    message(
                        "⟦position⟧ and ⟦server⟧ are for SQL: remove them, a server provides them"
                    )
                )
            return self._native.baseline_of_server(
                connection(), tables=tables, exclude_tables=exclude_tables
            )
        if not isinstance(schemas, str | bytes | os.PathLike):
            raise TypeError("schemas must be a Server, or SQL: a str, bytes, or the path of a file")
        if position is None:
            raise ConfigError(
                message(
                    "schemas as SQL need ⟦position⟧, the place in the log at which the tables had"
                    " these structures, for example 'binlog.000017:4711'"
                )
            )
        return self._native.baseline_of_sql(
            schemas, position, tables=tables, exclude_tables=exclude_tables, server=server
        )

    def apply(
        self,
        position: Position | str,
        database: str | None,
        ddl: str,
        *,
        timestamp: datetime | None = None,
        sql_mode: str | int = "",
        charset: str | None = None,
        default_collation: str | None = None,
        server: str | None = None,
    ) -> HistoryChange:
        """Adds the next statement of the log, at the cursor.

        Readers with ``history=`` do this automatically. Use this method for statements that come
        from another source. A statement that the history already contains changes nothing. After a
        statement whose effect cannot be determined, the structures of its tables are unknown.

        Args:
            position: The end of its transaction.
            database: Its default database, if it had one.
            ddl: Its text.
            timestamp: The time of the commit; by default now.
            sql_mode: The statement's ``sql_mode``, as the server prints it or as a number:
                ``ANSI_QUOTES`` and ``NO_BACKSLASH_ESCAPES`` change how it is read.
            charset: The client's character set.
            default_collation: ``collation_server``, for CREATE DATABASE.
            server: The server, as for :meth:`baseline`; by default that of the baseline.

        Raises:
            SchemaError: The history has another statement at the position; or the cursor is before
                the end of the covered range, and the history does not have this statement.
            ConfigError: Another process writes the history.
        """
        micros = None if timestamp is None else unix_microseconds(timestamp)
        return change_of_native(
            self._native.apply(
                position,
                database or "",
                ddl,
                timestamp=micros,
                sql_mode=sql_mode,
                charset=charset,
                default_collation=default_collation,
                server=server,
            )
        )

    def find(self, database: str, table: str, position: Place | None = None) -> TableSchema | None:
        """Returns the table as it was at a position; None if there was no table of this name.

        Args:
            database: Its database.
            table: Its name.
            position: A :class:`Position`, ``"file:offset"``, a GTID set, or a time; by default the
                cursor. A statement applies at a position if it ends there or before.

        Raises:
            SchemaError: The history does not cover the position, or a statement on this table could
                not be applied. The message contains the statement and the remedy.
        """
        return self._native.find(database, table, position)

    def tables(self, position: Place | None = None) -> dict[str, str | None]:
        """Returns all tables at a position, as ``database.table``; by default at the cursor.

        The value is the reason why the structure of a table is unknown, or None if the structure is
        known.
        """
        return dict(self._native.tables(position))

    def rollback(self, position: Place) -> None:
        """Moves the cursor to a position. Later entries remain stored.

        Raises:
            SchemaError: The history does not cover the position.
        """
        self._native.rollback(position)

    def checkpoint(self) -> None:
        """Stores a complete copy of all structures at the end, so that a load is fast.

        Readers do this automatically, every 500 statements and every day.
        """
        self._native.checkpoint()

    def snapshot(self) -> dict[str, str]:
        """Returns the tables at the cursor, as a script of CREATE statements for each database."""
        return dict(self._native.snapshot())

    def prune(self, before: Place) -> None:
        """Removes everything before a position. The history then starts at this position.

        Raises:
            SchemaError: The history does not cover the position.
        """
        self._native.prune(before)

    def changes(
        self,
        database: str | None = None,
        table: str | None = None,
        *,
        start: Place | None = None,
        stop: Place | None = None,
    ) -> Iterator[HistoryChange]:
        """Returns the entries of the history, baselines and statements, in log order.

        Args:
            database: Only entries that changed tables of this database.
            table: Only entries that changed this table of the database. Entries after a RENAME are
                those of the new name.
            start: Only entries that end after this place.
            stop: Only entries that end at this place or before it.
        """
        for found in self._native.changes(start, stop):
            change = change_of_native(found)
            if concerns(change, database, table):
                yield change

    def schema_snapshot(
        self, start: Place, stop: Place, *, tables: str | Sequence[str] | None = None
    ) -> str:
        """Returns the structures at ``start``, for a reader from ``start`` to ``stop``.

        The result is text for ``Server.range(..., schema_snapshot=)``. It contains the tables that
        match, and those that statements up to ``stop`` name.

        Args:
            start: A place that the history covers.
            stop: A later place.
            tables: Patterns of the tables that are read; by default all.

        Raises:
            SchemaError: The history does not cover ``start``.
        """
        return self._native.schema_snapshot(start, stop, tables)

    def __binarrow_history__(self) -> NativeHistory:
        """Returns the native history, for readers."""
        return self._native

    def close(self) -> None:
        """Stores the position up to which the log was read, and closes the store."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        native = getattr(self, "_native", None)
        if native is None:
            return "<SchemaHistory, not opened>"
        return f"<SchemaHistory {native.source!r} in {native.place}>"

    def _repr_html_(self) -> str:
        native = self._native
        facts: list[tuple[str, object]] = [("source", native.source), ("store", native.place)]
        with contextlib.suppress(BinarrowError):  # the store may be closed, or on a server
            covered = self.covered
            facts += [("covered", f"{one.start} to {one.stop}") for one in covered[-SHOWN_RANGES:]]
            tables = self.tables() if covered else {}
            unknown = sum(why is not None for why in tables.values())
            facts.append(("tables", f"{len(tables):,}, {unknown:,} of them unknown"))
        return card("SchemaHistory", facts)
