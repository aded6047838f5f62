"""A server: the position and the files of its log, its settings, and streams of its changes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Self,
    Unpack,
    get_args,
    overload,
)

from binarrow._native import (
    ChangeBatch,
    ConfigError,
    ConnectionSpec,
    NativeServer,
    Position,
    TableSchemas,
    read_binlog,
)
from binarrow.check import Check
from binarrow.checkpoint import Checkpoint
from binarrow.connect import Password, Target, target
from binarrow.preflight import checks
from binarrow.privileges import Use
from binarrow.stream import Change, Stream
from binarrow.typed_keywords import ShapingKeywords

if TYPE_CHECKING:
    from binarrow._native import History, Item

TlsMode = Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"]


def connect(
    url: str | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    user: str | None = None,
    password: Password | None = None,
    password_file: str | os.PathLike[str] | None = None,
    socket: str | os.PathLike[str] | None = None,
    option_file: str | os.PathLike[str] | None = None,
    tls: TlsMode | None = None,
    tls_ca: str | os.PathLike[str] | bytes | None = None,
    tls_cert: str | os.PathLike[str] | bytes | None = None,
    tls_key: str | os.PathLike[str] | bytes | None = None,
    tls_server_name: str | None = None,
    compression: Literal["zlib", "zstd"] | None = None,
    allow_public_key_retrieval: bool | None = None,
    server_public_key: str | os.PathLike[str] | bytes | None = None,
    allow_clear_password: bool | None = None,
    connect_timeout: float | None = None,
    read_timeout: float | None = None,
) -> Server:
    """Connects to a MySQL or MariaDB server.

        with binarrow.connect("mysql://repl@db.example/", password_file="secret") as server:
            print(server.version, server.position())

    Values that are not given as keywords are taken from the URL, then from the option file, then
    from the environment: ``MYSQL_HOST``, ``MYSQL_TCP_PORT``, ``MYSQL_UNIX_PORT``, ``MYSQL_USER``,
    ``MYSQL_PWD``.

    Args:
        url: ``mysql://user@host:3306/``, or ``mariadb://``. Several hosts with the
            same log, separated by commas, are tried in order. Keywords of this function may follow
            a ``?``. The URL may contain a password, ``mysql://user:password@host/``,
            percent-encoded (``%40`` for @). It is never shown, but your shell's history stores it.
        host: The name or address of the server's host.
        port: The port of the server; 3306 by default.
        user: The account's name; by default the name of the system's user.

            It needs REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR).
        password: The password, or a function that returns it, such as a token that expires.

            The function is called for each connection. If it raises an :class:`OSError`, a stream
            retries, as after a lost connection.
        password_file: A file whose first line is the password.

            It is read for each connection. Only its owner should be able to read it.
        socket: The path of a Unix socket, instead of a host.
        option_file: A file such as ``~/.my.cnf``: its section ``[client]`` provides the host, the
            user, the password and TLS. Files that it includes are read too.
        tls: The use of TLS: ``"disabled"``, ``"preferred"`` (if the server supports it),
            ``"required"`` (the certificate is not verified), ``"verify_ca"`` (a trusted authority
            must have signed the certificate) or ``"verify_identity"`` (the certificate must also be
            for this host).

            The default is ``"verify_identity"``; for a host of this machine it is ``"preferred"``,
            and with ``tls_ca`` it is ``"verify_ca"``. A failed verification is a :class:`TlsError`.
        tls_ca: Certificates of authorities to trust, in PEM; by default the system's.

            The value is a path, or the PEM text as ``bytes``; so are the values of the keywords
            below.
        tls_cert: The client's own certificate, in PEM.
        tls_key: The key of the client's certificate, in PEM.
        tls_server_name: The host that the server's certificate must be for, if it is not the host
            of the connection.
        compression: Compress the connection: ``"zlib"``, or ``"zstd"`` (MySQL 8 and later).
        allow_public_key_retrieval: Without TLS, accept the RSA key that the server sends, and
            encrypt the password with it.
        server_public_key: The server's RSA key, in PEM. Without TLS, the password is encrypted with
            it.
        allow_clear_password: Send the password itself, over TLS, if the server asks for it.
        connect_timeout: Seconds to connect and log in; 10 by default.

            After this time, a :class:`ConnectionLostError` is raised.
        read_timeout: Seconds to wait for the answer to a statement; 60 by default.

    Raises:
        AuthenticationError: The user or password is wrong, or the plugin is not supported.
        TlsError: The server has no TLS, or its certificate is not trusted. The message contains
            the setting to change.
        ConnectionLostError: There is no server, or it does not answer in time.
        ConfigError: Keywords do not fit together.
    """
    keywords = {
        "tls": tls,
        "tls_ca": tls_ca,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_server_name": tls_server_name,
        "compression": compression,
        "allow_public_key_retrieval": allow_public_key_retrieval,
        "server_public_key": server_public_key,
        "allow_clear_password": allow_clear_password,
        "connect_timeout": connect_timeout,
        "read_timeout": read_timeout,
    }
    return Server(
        target(
            url,
            host=host,
            port=port,
            user=user,
            password=password,
            password_file=password_file,
            socket=socket,
            option_file=option_file,
            keywords=keywords,
        )
    )


class Binlog(NamedTuple):
    """A file of a server's log."""

    name: str
    size: int
    """Bytes; the last file grows."""


@dataclass(frozen=True)
class Column:
    """A column as the server describes it now."""

    name: str
    type: str
    """As in CREATE TABLE, for example ``int unsigned`` or ``enum('a','b')``."""
    nullable: bool
    charset: str | None
    collation: str | None
    default: str | None
    """As the server prints it; None where it is NULL."""
    extra: str
    """``auto_increment``, ``STORED GENERATED``, ``INVISIBLE`` and the like."""
    comment: str

    @property
    def has_default(self) -> bool:
        """True if INSERT may omit the column (DEFAULT, AUTO_INCREMENT or generated)."""
        is_made = any(word in self.extra.upper() for word in ("GENERATED", "AUTO_INCREMENT"))
        return self.default is not None or is_made


@dataclass(frozen=True)
class Key:
    """A primary or unique key as the server describes it now."""

    name: str
    columns: tuple[str, ...]
    """In key order, without expressions."""
    identifies_rows: bool
    """True if no two rows have the same values: no column is nullable or virtual."""


@dataclass(frozen=True)
class TableDescription:
    """The current structure of a table, which may differ from that of a logged change."""

    database: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    create_statement: str
    """The output of ``SHOW CREATE TABLE``, for ``read_binlog(..., schemas=...)``."""
    unique_keys: tuple[Key, ...] = ()
    """The primary key and the unique ones, in the server's order."""

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row in changes, with ``create_statement`` as ``schemas=``.

        The primary key, otherwise the first unique key of columns that are NOT NULL. Empty if there
        is none: the complete row is then the key.
        """
        return next((key.columns for key in self.unique_keys if key.identifies_rows), ())


PASSWORD_HASH = re.compile(r" IDENTIFIED [^']*'[^']*'")

COLUMNS_OF = """
SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, COLUMN_DEFAULT,
  EXTRA, COLUMN_COMMENT
FROM information_schema.COLUMNS"""

PRIMARY_KEY_OF = """
SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE CONSTRAINT_NAME = 'PRIMARY'"""


class Server:
    """A connection to a server, made by :func:`connect`. Use it in ``with``, or close it.

    A forked process must connect again: using its parent's connection raises
    :class:`ConfigError`.
    """

    def __init__(self, target: Target) -> None:
        self._spec = connection_spec(target)
        self._native: NativeServer = self._spec.open()

    @property
    def flavor(self) -> str:
        """``mysql`` or ``mariadb``."""
        return self._native.flavor

    @property
    def version(self) -> str:
        """The server's version, for example ``9.7.0`` or ``11.8.9-MariaDB``."""
        return self._native.version

    @property
    def server_id(self) -> int:
        """The server's ``server_id``."""
        return self._native.server_id

    @property
    def id(self) -> str:
        """The id in positions: ``server_uuid``, MariaDB's ``server_uid``, or the ``server_id``."""
        return self._native.id

    @property
    def tls_version(self) -> str | None:
        """``TLSv1.3`` or ``TLSv1.2``; None without TLS."""
        return self._native.tls_version

    @property
    def is_local(self) -> bool:
        """True if the connection is a Unix socket, or to a loopback address."""
        return self._native.is_local

    def position(self) -> Position:
        """Returns the end of the part of the log that a SELECT that starts afterwards sees.

        A table can be copied with SELECT and its later changes read with ``stream(position)``: no
        change is lost. A change may be returned by both, if it was committed between the position
        and the SELECT.

            position = server.position()
            rows = copy_of_the_table()  # a SELECT over any connection to the same server
            with server.stream(position, tables="shop.orders") as changes: ...

        The file and offset and the GTID set are of the same place. On MySQL with GTIDs, if a commit
        takes longer than a second (in semisynchronous replication a replica must acknowledge it),
        or if the user lacks REPLICATION SLAVE, the position is the GTID set alone, with an empty
        ``file``. :meth:`stream` starts there too; ``range_end(position, stop=position)`` returns
        the same position with its file and offset.

        The position can be ahead of what a SELECT sees, and ``visible_to_select`` is then False, on

        * MySQL with ``gtid_mode=OFF``, unless it is MySQL 8 or later, the user has ``BACKUP_ADMIN``
          and SELECT on ``performance_schema.log_status``, and no XA transaction was committed since
          the server started;
        * MariaDB, if an XA transaction was committed since the server started.

        In these cases start at an earlier position, such as ``file_start(position.file)``: MySQL
        commits the transactions of a file, except for XA, before it starts the next one.

        MySQL requires REPLICATION CLIENT, MariaDB no privilege. On a MySQL server with GTIDs, while
        others write to it, it also needs REPLICATION SLAVE; otherwise the position is a GTID set
        alone.

        Returns:
            The position. ``visible_to_select`` is True or False.

        Raises:
            ServerError: The server writes no binary log, or the user lacks the privilege.
        """
        return self._native.position()

    def binlogs(self) -> list[Binlog]:
        """The files of the log, the oldest first. Needs REPLICATION CLIENT."""
        return [Binlog(*one) for one in self._native.binlogs()]

    @overload
    def stream(
        self,
        start: Position | str | datetime = "latest",
        *,
        stop: Position | str | datetime | None = None,
        checkpoint: Checkpoint | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 3600.0,
        max_latency: float = 0.5,
        include: None = None,
        **keywords: Unpack[ShapingKeywords],
    ) -> Stream[ChangeBatch]: ...

    @overload
    def stream(
        self,
        start: Position | str | datetime = "latest",
        *,
        stop: Position | str | datetime | None = None,
        checkpoint: Checkpoint | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 3600.0,
        max_latency: float = 0.5,
        include: Item | Sequence[Item] | None,
        **keywords: Unpack[ShapingKeywords],
    ) -> Stream[Change]: ...

    def stream(
        self,
        start: Position | str | datetime = "latest",
        *,
        stop: Position | str | datetime | None = None,
        checkpoint: Checkpoint | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 3600.0,
        max_latency: float = 0.5,
        include: Item | Sequence[Item] | None = None,
        **keywords: Unpack[ShapingKeywords],
    ) -> Stream[Any]:
        """Returns changes as they are committed, in commit order, over a separate connection.

        After a lost connection, the stream reconnects and continues at the same place. No row is
        lost or repeated. Close the stream, or use it in ``with``, to close its connection.

            with server.stream("earliest", checkpoint=FileCheckpoint("shop.json")) as changes:
                for change in changes:
                    store(change.database, change.table, change.to_pyarrow())

        Args:
            start: The place at which the stream starts: ``"latest"`` (the end of the log now),
                ``"earliest"`` (the first file that the server has), a :class:`Position`,
                ``"file:offset"``, a GTID set that was already read, or a datetime: the first
                transaction committed at or after it.
            stop: The place at which the stream ends: ``"end"`` (the end of the log now), a
                :class:`Position`, ``"file:offset"``, a datetime, or a GTID set. With a GTID set,
                the stream ends before the first transaction that is not in it.

                With None, the stream does not end.
            checkpoint: A :class:`FileCheckpoint`, or another object that loads and saves a
                position.

                The stream starts at the stored position, and at ``start`` only if no position is
                stored. It saves the position while it reads. A batch counts as done when the next
                one is requested, or when the ``with`` block of the stream is left without an
                exception.
            server_id: The id of this reader on the server, from 1; by default a random one.

                Two readers or replicas with the same id disconnect each other.
            heartbeat: Seconds without changes after which the server sends a heartbeat; the
                connection counts as lost after three missed heartbeats.
            reconnect: Seconds for which a lost connection is retried.

                After this time, a :class:`ConnectionLostError` is raised. None disables retries.
            max_latency: The maximum number of seconds that rows wait for their batch to fill, while
                more rows arrive.

                If no more rows arrive, rows do not wait.
            include: Items to return in addition to rows, in log order: ``"schema_change"``,
                ``"truncate"``, ``"skipped_statement"``, ``"transaction"``, ``"heartbeat"``.

                A batch ends before each item. ``"schema_change"``: statements that change tables of
                ``tables`` or their databases, as :class:`SchemaChange`. ``"truncate"``: tables that
                are emptied, as :class:`Truncate`. ``"skipped_statement"``: statements that
                ``statements="skip"`` skips, as :class:`SkippedStatement`. ``"transaction"``: the
                begin and end of every transaction, also of those without changes of ``tables``, as
                :class:`Transaction`. ``"heartbeat"``: a live stream's heartbeats, as
                :class:`Heartbeat`.
            keywords: As for :func:`read_binlog`: ``tables``, ``types``, ``schemas``, ...

        Raises:
            PositionPurgedError: The server no longer has the log from ``start`` on.
            ServerIdentityError: ``start`` is of another server, or the log was reset.
            CheckpointError: The checkpoint cannot be read, or not be written.
        """
        if checkpoint is not None and not callable(getattr(checkpoint, "load", None)):
            kind = type(checkpoint).__name__
            raise TypeError(f'checkpoint= is a {kind}: give FileCheckpoint("position.json")')
        kept = checkpoint.load() if checkpoint is not None else None
        ends = stop == "end"
        if isinstance(stop, str) and stop.isalpha() and not ends:
            raise ConfigError(
                f"stop={stop!r}: 'end', 'file:offset' or a GTID set is needed, "
                "a Position or a datetime"
            )
        log = self._spec.log(
            start if kept is None else kept,
            ends=ends,
            server_id=server_id,
            heartbeat=heartbeat,
            reconnect=reconnect,
            max_latency=max_latency,
        )
        try:
            options: dict[str, Any] = {"include": include, **keywords}
            reader = read_binlog(log, stop=None if ends else stop, **options)
        except TypeError as error:
            raise TypeError(str(error).replace("read_binlog()", "stream()")) from None
        return Stream(reader, checkpoint)

    def range(
        self,
        start: Position,
        stop: Position,
        *,
        history_part: str | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 300.0,
        **keywords: Unpack[ShapingKeywords],
    ) -> Stream[Any]:
        """Returns the log between two positions, over a separate connection.

        It always ends at ``stop``: at its file and offset, or on another server when its GTID set
        is complete. If the log ends earlier, the read is retried, then it is an error.

        Args:
            start: The end of an earlier read, or :meth:`file_start`.
            stop: The end of a later transaction.
            history_part: The structures of tables at ``start``, as text: ``SchemaHistory.part()``.
            server_id: As for :meth:`stream`.
            heartbeat: Likewise.
            reconnect: Seconds for which a lost connection is retried, and for which the read waits
                for a server that lags.
            keywords: As for :func:`read_binlog`: ``tables``, ``types``, ``schemas``, ...

        Raises:
            PositionPurgedError: The server no longer has the log from ``start`` on.
            ServerIdentityError: A position is of another server, or the server lags for longer
                than ``reconnect``.
        """
        log = self._spec.range(
            start,
            stop,
            history_part=history_part,
            server_id=server_id,
            heartbeat=heartbeat,
            reconnect=reconnect,
        )
        try:
            reader: Any = read_binlog(log, **keywords)
        except TypeError as error:
            raise TypeError(str(error).replace("read_binlog()", "range()")) from None
        return Stream(reader, None)

    def range_end(
        self,
        start: Position | str,
        *,
        stop: Position | str | None = None,
        max_bytes: int | None = None,
        history: History | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 300.0,
        skip_events: Sequence[int] | None = None,
    ) -> Position:
        """The position at which a range of the log ends. The log is read without decoding rows.

        ``range_end(start, max_bytes=...)`` divides a log into ranges that :meth:`range` reads.

        A position that is a GTID set alone has a file and an offset too: the end of the longest
        prefix of the log whose transactions are all in the set.
        ``range_end(position, stop=position)`` returns it.

        Args:
            start: The end of an earlier read, :meth:`file_start`, ``"file:offset"`` or a GTID set.
                Transactions of a GTID set are skipped wherever they are in the log, and the
                position that is returned contains them.
            stop: The range ends there at the latest; in one of these forms. By default it is the
                present end of the log.
            max_bytes: The largest size of the range, in bytes of the log. A range has one
                transaction at least, even if it is larger.
            history: A :class:`SchemaHistory`, to which the statements in the range are added. An
                empty one gets its first baseline.
            server_id: As for :meth:`stream`.
            heartbeat: Likewise.
            reconnect: Likewise.
            skip_events: Codes of unknown events to skip.

        Returns:
            The end of the last complete transaction, with its GTIDs.

        Raises:
            PositionPurgedError: The server no longer has the log from ``start`` on.
            ServerIdentityError: ``start`` is of another server, or the log was reset.
        """
        return self._spec.range_end(
            start,
            stop=stop,
            max_bytes=max_bytes,
            history=history,
            server_id=server_id,
            heartbeat=heartbeat,
            reconnect=reconnect,
            skip_events=skip_events,
        )

    def file_start(self, name: str, *, reconnect: float | None = 300.0) -> Position:
        """The position of the first event of a file of the log, with the GTIDs before it.

        Raises:
            PositionPurgedError: The server no longer has the file.
            ServerIdentityError: The file's number is above that of the newest file.
            ConfigError: The file is not one of the server's log.
        """
        return self._spec.file_start(name, reconnect=reconnect)

    def schemas(
        self,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
    ) -> TableSchemas:
        """Returns the current schemas of all tables, with the position at which they are valid.

        They are read over a separate connection, without a lock. Tables that statements change in
        the meantime are read again. ``SchemaHistory.baseline(server)`` adds them to a history.

        Args:
            tables: Only these tables, as patterns ``database.table``. Tables of ``mysql``, ``sys``,
                ``information_schema`` and ``performance_schema`` are included only if a pattern
                names the database.
            exclude_tables: Patterns of tables to leave out.

        Raises:
            ServerError: The user may not read the log, or tables change all the time.

        Warns:
            BinarrowWarning: The server does not show the structure of a table.
        """
        return self._spec.schemas(tables=tables, exclude_tables=exclude_tables)

    def describe(self, table: str) -> TableDescription:
        """The columns and keys of ``database.table``. Needs SELECT or another privilege on it.

        Raises:
            ServerError: There is no such table, or the user may not see it.
        """
        database, dot, name = table.partition(".")
        if not dot or not database or not name:
            raise ConfigError(f"{table!r} is not a table: write database.table")
        place = f"{quoted_name(database)}.{quoted_name(name)}"
        created = self._native.query(f"SHOW CREATE TABLE {place}")
        of_table = f"TABLE_SCHEMA = {quoted(database)} AND TABLE_NAME = {quoted(name)}"
        rows = self._native.query(f"{COLUMNS_OF} WHERE {of_table} ORDER BY ORDINAL_POSITION")
        primary = self._native.query(f"{PRIMARY_KEY_OF} AND {of_table} ORDER BY ORDINAL_POSITION")
        virtual = {row[0] for row in rows if "VIRTUAL" in (row[6] or "").upper()}
        keys = unique_keys(self._native.query(f"SHOW INDEX FROM {place}"), virtual)
        columns = tuple(
            Column(
                name=row[0] or "",
                type=row[1] or "",
                nullable=row[2] == "YES",
                charset=row[3],
                collation=row[4],
                # MariaDB prints the word, and a text of that name in quotes.
                default=None if row[5] == "NULL" and self.flavor == "mariadb" else row[5],
                extra=row[6] or "",
                comment=row[7] or "",
            )
            for row in rows
        )
        statement = created[0][1] if created else None
        return TableDescription(
            database, name, columns, tuple(row[0] or "" for row in primary), statement or "", keys
        )

    def check(
        self, use: Use | None = None, *, tables: str | Sequence[str] | None = None
    ) -> list[Check]:
        """Grades the settings on which reading changes depends, and suggests changes.

            for check in server.check("spark", tables="shop.orders"):
                print(check.grade, check.name, check.value, check.advice)

        Args:
            use: What the server is checked for: ``"stream"`` (streams without a history),
                ``"history"`` (streams with one) or ``"spark"``. A privilege that this needs is an
                ``error`` if it is missing. By default all privileges are checked, and a missing one
                that only some uses need is a ``warning``.
            tables: Tables, ``database.table``, whose structure the user must be allowed to see.

        Raises:
            ConfigError: ``use`` is another word.
        """
        if use is not None and use not in get_args(Use):
            known = ", ".join(repr(each) for each in get_args(Use))
            raise ConfigError(f"check({use!r}): {known} or None is needed")
        return checks(self, use, [tables] if isinstance(tables, str) else list(tables or ()))

    def database_filters(self) -> list[str]:
        """``binlog_do_db`` and ``binlog_ignore_db``: what the server leaves out of its log."""
        return self._native.database_filters()

    def variables(self, *names: str) -> dict[str, str]:
        """Returns global variables of the server, except those that it does not have."""
        if not names:
            return {}
        wanted = ", ".join(quoted(name) for name in names)
        rows = self._native.query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({wanted})")
        return {row[0]: row[1] or "" for row in rows if row[0] is not None}

    def grants(self) -> list[str]:
        """Returns the user's privileges, as in ``SHOW GRANTS``, without hashes of passwords."""
        rows = self._native.query("SHOW GRANTS")
        return [PASSWORD_HASH.sub("", row[0] or "") for row in rows]

    def close(self) -> None:
        """Closes the connection. Open statements fail, also those of other threads."""
        self._spec.stop()
        self._native.close()

    def __binarrow_connection__(self) -> ConnectionSpec:
        """The endpoints and the login, for functions that open their own connections."""
        return self._spec

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
        native = getattr(self, "_native", None)  # None in a traceback after a failed login
        if native is None:
            return "<Server, not connected>"
        return f"<Server {native.flavor} {native.version} at {native.endpoint}>"


def connection_spec(target: Target) -> ConnectionSpec:
    """How to reach a target; nothing is connected yet."""
    return ConnectionSpec(
        [(one.host, one.port, one.socket) for one in target.endpoints],
        target.user,
        target.secret,
        **target.keywords,  # type: ignore[arg-type]
    )


def unique_keys(
    index_rows: Sequence[Sequence[str | None]], virtual: set[str | None]
) -> tuple[Key, ...]:
    """Those that are unique of what ``SHOW INDEX`` prints: a row a column, in server's order."""
    parts: dict[str, list[tuple[str | None, bool]]] = {}
    for _, non_unique, name, _, column, *rest in index_rows:
        if non_unique == "0":
            sound = column is not None and column not in virtual and rest[4] != "YES"
            parts.setdefault(name or "", []).append((column, sound))
    return tuple(
        Key(
            name,
            tuple(column for column, _ in columns if column is not None),
            all(sound for _, sound in columns),
        )
        for name, columns in parts.items()
    )


def quoted(text: str) -> str:
    """A string in SQL, whatever the SQL mode: in hexadecimal."""
    return f"_utf8mb4 X'{text.encode().hex()}'"


def quoted_name(name: str) -> str:
    """A name in SQL."""
    return "`" + name.replace("`", "``") + "`"


__all__ = ["Binlog", "Check", "Column", "Key", "Server", "TableDescription", "connect"]
