"""The structures of tables over time: what a table looked like at a place of the log.

Logs of most servers name no columns (``binlog_row_metadata=MINIMAL``). A history knows them: a
baseline of all tables, and every statement since that changed one.

    with binarrow.connect("mysql://repl@db.example/", password_file="secret") as server:
        for change in server.stream("earliest", history="sqlite:///shop.db"):
            ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias
from urllib.parse import unquote

from binarrow._native import ConfigError, ConnectionSpec, NativeHistory, Position
from binarrow.connect import SCHEMES, Password, target
from binarrow.table_schema import TableSchema

if TYPE_CHECKING:
    from binarrow.server import Server

Sql = str | bytes | os.PathLike[str]
"""SQL as text, as bytes, or in a file."""

Place: TypeAlias = Position | str | datetime
"""A position, ``"file:offset"``, a GTID set, or a time with its zone."""

DEFAULT_SOURCE = "default"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class CoveredRange:
    """A part of a server's log of which the history has all statements."""

    start: Position
    stop: Position
    server: str | None
    """The server's id, as :attr:`Position.server`; None if the log was read from files."""


@dataclass(frozen=True)
class HistoryChange:
    """An entry of a history: a statement in the log, or a baseline."""

    position: Position
    """The position from which it is in force: the end of the statement's transaction."""
    kind: Literal["statement", "baseline"]
    committed: datetime
    """The time at which the statement was committed, or the baseline was taken."""
    database: str
    """The statement's default database; empty if it had none."""
    statement: str
    """The statement; for a baseline, all its CREATE statements. Strings that may be passwords of
    other servers (``CONNECTION=`` of a FEDERATED table, for example) are ``'***'``."""
    tables: tuple[str, ...]
    """The tables that it changed, as ``database.table``. Empty for a baseline, unless the baseline
    contains only some tables."""
    unknown: tuple[tuple[str, str], ...] = ()
    """The tables whose structure is unknown from this position, each with the reason."""

    @property
    def followed(self) -> bool:
        """True if its complete effect is known."""
        return not self.unknown


class SchemaHistory:
    """The structures of tables over time, in a persistent store. Create one with :meth:`open`.

        with SchemaHistory.open("sqlite:///shop.db") as history:
            history.baseline(server)
            print(history.find("shop", "orders").to_sql())

    Threads may share it; pass it to readers and streams as ``history=``. Any number of processes
    may read with it at a time. The first one that has something to store is the writer. Each of the
    others keeps the structures beyond the stored history in its own memory; when the writer ends,
    one of them becomes the writer.

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
            user: For a server, as the keywords below: see :func:`binarrow.connect`.
            password: Likewise; a function is called for each connection.
            password_file: Likewise.
            option_file: Likewise.
            keywords: Likewise: ``tls``, ``tls_ca``, ``compression``, ``connect_timeout``, ...

        Raises:
            ConfigError: The URL is not valid, or ``source`` is given twice.
            InputError: The file cannot be opened.
            MalformedBinlogError: The store is damaged, or is not a history.
        """
        text = os.fspath(url)
        scheme, separator, rest = text.partition("://")
        if text == "memory:":
            return cls(NativeHistory.in_memory(source or DEFAULT_SOURCE))
        if separator:
            rest, query, source = _without_source(rest, source)
        else:
            rest, query, source = text, "", source or DEFAULT_SOURCE
        if separator and scheme.lower() in SCHEMES:
            authority, _, database = rest.partition("/")
            if not database or "/" in database:
                raise ConfigError(
                    "the URL of a history on a server names its database:"
                    " mysql://user@host:3306/database"
                )
            place = target(
                f"{scheme}://{authority}/{query}",
                user=user,
                password=password,
                password_file=password_file,
                option_file=option_file,
                keywords=keywords,
            )
            spec = ConnectionSpec(
                [(one.host, one.port, one.socket) for one in place.endpoints],
                place.user,
                place.secret,
                **place.keywords,  # type: ignore[arg-type]
            )
            return cls(NativeHistory.on_server(spec, unquote(database), source))
        if separator and scheme.lower() != "sqlite":
            raise ConfigError(
                "the URL of a history is sqlite:///path or mysql://user@host/database, or it is"
                " the path of a file"
            )
        given = {
            "user": user,
            "password": password,
            "password_file": password_file,
            "option_file": option_file,
            **keywords,
        }
        if unfit := [name for name, value in given.items() if value is not None]:
            raise ConfigError(f"{', '.join(unfit)}: an SQLite file takes no such keyword")
        if query:
            raise ConfigError("the URL of an SQLite file takes ?source=name, and no other keyword")
        if not separator:
            return cls(NativeHistory.in_file(Path(text), source))
        if not rest.startswith("/") or rest == "/":
            raise ConfigError(
                "the URL of an SQLite file is sqlite:///relative/path or sqlite:////absolute/path"
            )
        return cls(NativeHistory.in_file(Path(unquote(rest[1:])), source))

    @property
    def source(self) -> str:
        """Its name in the store."""
        return self._native.source

    @property
    def position(self) -> Position | None:
        """The position of the cursor; None while the history is empty."""
        return self._native.position()

    @property
    def covered(self) -> tuple[CoveredRange, ...]:
        """The ranges of logs that it covers, the latest last; empty at first."""
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

        The first baseline begins the history. A later one repairs it, for tables that were unknown,
        or after a part of the log that was not read.

        Args:
            schemas: A server: its current tables are read over a separate connection, without a
                lock, and the position is that of its log at this time. This needs REPLICATION
                SLAVE, REPLICATION CLIENT (MariaDB: BINLOG MONITOR) and SELECT. Or SQL: what
                ``mysqldump --no-data --databases`` prints, as text or in a file.
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
                    "position and server are for structures that are SQL: a server tells its own"
                )
            return self._native.baseline_of_server(
                connection(), tables=tables, exclude_tables=exclude_tables
            )
        if not isinstance(schemas, str | bytes | os.PathLike):
            raise TypeError("schemas is a Server, or SQL: a str, bytes, or the path of a file")
        if position is None:
            raise ConfigError(
                "structures that are SQL need position=: where in the log the tables were so, as"
                " 'binlog.000017:4711'"
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

        Readers with ``history=`` do so by themselves; this is for statements that come from
        elsewhere. One that is there already changes nothing. One that cannot be followed makes its
        tables unknown, and no others.

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
        micros = None if timestamp is None else _micros(timestamp)
        return _change(
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
            position: A :class:`Position`, ``"file:offset"``, a GTID set, or a time; by default
                the cursor. A statement is in force at a position if it ends there or before.

        Raises:
            SchemaError: The history does not cover the position; or a statement on this table could
                not be applied: the message contains the statement and the remedy.
        """
        found = self._native.find(database, table, position)
        return None if found is None else TableSchema.of_native(found)

    def tables(self, position: Place | None = None) -> dict[str, str | None]:
        """Returns all tables at a position, as ``database.table``; by default at the cursor.

        A value is the reason why a table's structure is unknown, and None if it is known.
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
        """The tables at the view's place: for each database a script that makes it."""
        return dict(self._native.snapshot())

    def prune(self, before: Place) -> None:
        """Forgets what was before a position: the history begins there then.

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
        """What the history holds, in log order: baselines and statements.

        Args:
            database: Only what changed tables of this database.
            table: Only what changed this table of it. One that was renamed is followed to its new
                name only by its own statements.
            start: Only what ends behind this place.
            stop: Only what ends at this place or before.
        """
        for found in self._native.changes(start, stop):
            change = _change(found)
            if _concerns(change, database, table):
                yield change

    def part(self, start: Place, stop: Place, *, tables: str | Sequence[str] | None = None) -> str:
        """The tables at ``start``, for who reads from there to ``stop`` without the history.

        It is text, which ``Server.range(..., history_part=)`` takes. It has the tables that match,
        and those that statements up to ``stop`` name.

        Args:
            start: A place that the history covers.
            stop: A later one.
            tables: The tables that are read, as patterns; by default all.

        Raises:
            SchemaError: The history does not cover ``start``.
        """
        return self._native.part(start, stop, tables)

    def __binarrow_history__(self) -> NativeHistory:
        """The history itself, for readers."""
        return self._native

    def close(self) -> None:
        """Stores how far the log was read, and lets go of the store."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        native = getattr(self, "_native", None)
        if native is None:
            return "<SchemaHistory, not opened>"
        return f"<SchemaHistory {native.source!r} in {native.place}>"


def _without_source(text: str, source: str | None) -> tuple[str, str, str]:
    """What stands before a URL's question mark, its keywords, and the source's name."""
    head, _, query = text.partition("?")
    others = []
    for one in filter(None, query.split("&")):
        key, _, value = one.partition("=")
        if key != "source":
            others.append(one)
        elif source is not None:
            raise ConfigError("source is given twice: in the URL and as a keyword")
        else:
            source = unquote(value)
    return head, "?" + "&".join(others) if others else "", source or DEFAULT_SOURCE


def _concerns(change: HistoryChange, database: str | None, table: str | None) -> bool:
    if database is None:
        return True
    if change.kind == "baseline" and not change.tables:
        return True
    whole = f"{database}.*"
    names = [name for name in change.tables if name.startswith(f"{database}.")]
    return bool(names) if table is None else f"{database}.{table}" in names or whole in names


def _change(found: dict[str, Any]) -> HistoryChange:
    committed = EPOCH + timedelta(microseconds=found.pop("timestamp"))
    return HistoryChange(committed=committed, **found)


def _micros(time: datetime) -> int:
    if time.tzinfo is None:
        raise ConfigError("a datetime needs a time zone: datetime(..., tzinfo=timezone.utc)")
    return (time - EPOCH) // timedelta(microseconds=1)


__all__ = [
    "CoveredRange",
    "HistoryChange",
    "SchemaHistory",
]
