"""A session on a server: its properties and settings, the end and the files of its log."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self

from binarrow._native import ConnectionSpec, NativeServer, Position, ServerError, TableSchema
from binarrow.notebook import card
from binarrow.server.target import Target
from binarrow.sql import quoted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

PASSWORD_HASH = re.compile(r" IDENTIFIED [^']*'[^']*'")


class Binlog(NamedTuple):
    """A file of a server's log, returned by :meth:`Server.binlogs`.

        first = server.binlogs()[0]
        start = server.file_start(first.name)

    Attributes:
        name: The server's name of the file, such as ``binlog.000042``.
        size: The size in bytes; the last file grows.
    """

    name: str
    size: int


class Session:
    """A connection for queries about the server. It does not read changes."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._spec = target.connection_spec()
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
        """Returns a position of the log: a SELECT that starts later sees all changes before it.

        You can copy a table with SELECT, and read its later changes with ``stream(position)``: no
        change is lost. If a change was committed between the position and the SELECT, both return
        it.

            position = server.position()
            rows = copy_of_the_table()  # a SELECT over any connection to the same server
            with server.stream(position, tables="shop.orders") as changes: ...

        The file and offset, and the GTID set, are of the same place. On MySQL with GTIDs, the
        position is only the GTID set, with an empty ``file``, in two cases: a commit takes longer
        than a second (in semisynchronous replication a replica must acknowledge it), or the user
        lacks REPLICATION SLAVE. :meth:`stream` starts at such a position too; ``range_end(position,
        stop=position)`` returns the same position with its file and offset.

        In these cases, the position can be after changes that a SELECT does not see yet, and
        ``visible_to_select`` is False:

        * MySQL with ``gtid_mode=OFF``, unless it is MySQL 8 or later, the user has ``BACKUP_ADMIN``
          and SELECT on ``performance_schema.log_status``, and no XA transaction was committed since
          the server started;
        * MariaDB, if an XA transaction was committed since the server started.

        Then start at an earlier position, such as ``file_start(position.file)``. MySQL commits the
        transactions of a file, except for XA, before it starts the next file.

        On MySQL, the user needs REPLICATION CLIENT; on MariaDB, no privilege. On MySQL with GTIDs,
        while other users write, REPLICATION SLAVE is necessary too; otherwise the position is only
        a GTID set.

        Returns:
            The position. ``visible_to_select`` is True or False.

        Raises:
            ServerError: The server writes no binary log, or the user lacks the privilege.
        """
        return self._native.position()

    def binlogs(self) -> list[Binlog]:
        """Returns the files of the log, the oldest first. Requires REPLICATION CLIENT."""
        return [Binlog(*one) for one in self._native.binlogs()]

    def describe(self, table: str) -> TableSchema:
        """Returns the columns and keys of ``database.table``, from ``SHOW CREATE TABLE``.

        It may differ from the structure of a logged change: see :meth:`SchemaHistory.find` and
        :attr:`ChangeBatch.table_schema`. Requires SELECT or another privilege on the table.

        Raises:
            ServerError: There is no such table, or the user may not see it.
            ConfigError: The table is a view.
        """
        return self._native.describe(table)

    def database_filters(self) -> list[str]:
        """Returns ``binlog_do_db`` and ``binlog_ignore_db``: filters of the server's log."""
        return self._native.database_filters()

    def logs_all_changes(self) -> bool:
        """True if the log contains the changes that the server receives as a replica.

        False if the server is a replica with ``log_replica_updates=OFF``. If the user may not query
        this, the server does not count as a replica.
        """
        names = ("log_replica_updates", "log_slave_updates")
        if "ON" in self.variables(*names).values():
            return True
        for statement in ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS"):
            try:
                return not self._native.query(statement)
            except ServerError:
                continue
        return True

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

    def may_read_log_status(self) -> bool:
        """True if the user may read ``performance_schema.log_status``, and the server has it."""
        try:
            self._native.query("SELECT LOCAL FROM performance_schema.log_status")
        except ServerError:
            return False
        return True

    def estimated_rows(self, *tables: str) -> int:
        """Returns the server's estimate of the number of rows of tables (``database.table``).

        The estimate may be wrong by half. Together with ``stats()["loaded_rows"]`` of a stream, it
        shows the progress of an initial load::

            server.estimated_rows(*position.loading)
        """
        return sum(self.estimates(*tables).values())

    def estimates(self, *tables: str) -> dict[str, int]:
        """Returns the server's estimate of the number of rows of each of some tables.

        Tables that do not exist are left out. See :meth:`estimated_rows`.
        """
        if not tables:
            return {}
        names = ", ".join(quoted(name) for name in tables)
        rows = self._native.query(
            "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), TABLE_ROWS"  # noqa: S608 - quoted names
            " FROM information_schema.TABLES"
            f" WHERE CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) IN ({names})"
        )
        return {name: int(count or 0) for name, count in rows if name is not None}

    def now(self) -> datetime:
        """Returns the time of the server's clock."""
        rows = self._native.query("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)")
        return EPOCH + timedelta(microseconds=int(rows[0][0] or 0))

    def xa_commits(self) -> int:
        """Returns the number of XA COMMIT statements since the server started."""
        rows = self._native.query("SHOW GLOBAL STATUS LIKE 'Com_xa_commit'")
        return int(rows[0][1] or 0) if rows else 0

    def another(self) -> Self:
        """Returns another connection with the same login, for another thread. It must be closed."""
        return type(self)(self._target)

    def close(self) -> None:
        """Closes the connection. Open statements fail, also those of other threads."""
        self._spec.cancel()
        self._native.close()

    def __binarrow_connection__(self) -> ConnectionSpec:
        """The endpoints and the login, for functions that open their own connections."""
        return self._spec

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        native = getattr(self, "_native", None)  # None in a traceback after a failed login
        if native is None:
            return "<Server, not connected>"
        return f"<Server {native.flavor} {native.version} at {native.endpoint}>"

    def _repr_html_(self) -> str:
        native = self._native
        facts = (
            ("address", native.endpoint),
            ("server_id", native.server_id),
            ("id", native.id),
            ("TLS", native.tls_version or "none"),
        )
        return card(f"Server {native.flavor} {native.version}", facts)
