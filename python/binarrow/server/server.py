"""A server: streams and ranges of its log, positions in it, schemas of its tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args, overload

from binarrow import _native
from binarrow._native import (
    ChangeBatch,
    ConfigError,
    LiveLog,
    Position,
    TableRows,
    TableSchemas,
    parse_place,
    read_binlog,
)
from binarrow.checkpoint import Checkpoint
from binarrow.server.certificate import prepare
from binarrow.server.check import Check
from binarrow.server.preflight import checks
from binarrow.server.privileges import Use
from binarrow.server.session import Session
from binarrow.stream import Change, Stream
from binarrow.typed_keywords import ShapingKeywords, TableKeywords

if TYPE_CHECKING:
    from binarrow._native import History, MarkerKind


class Server(Session):
    """A connection to a server, created by :func:`connect`. Use it in ``with``, or close it.

    A forked process must connect again. If it uses the connection of its parent, a
    :class:`ConfigError` is raised.
    """

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
        locks: Literal["brief"] | None = None,
        chunk_rows: int = 262_144,
        max_rows_per_second: int | None = None,
        certificate: str | os.PathLike[str] | None = None,
        rows_from: Server | None = None,
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
        locks: Literal["brief"] | None = None,
        chunk_rows: int = 262_144,
        max_rows_per_second: int | None = None,
        certificate: str | os.PathLike[str] | None = None,
        rows_from: Server | None = None,
        max_latency: float = 0.5,
        include: MarkerKind | Sequence[MarkerKind] | None,
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
        locks: Literal["brief"] | None = None,
        chunk_rows: int = 262_144,
        max_rows_per_second: int | None = None,
        certificate: str | os.PathLike[str] | None = None,
        rows_from: Server | None = None,
        max_latency: float = 0.5,
        include: MarkerKind | Sequence[MarkerKind] | None = None,
        **keywords: Unpack[ShapingKeywords],
    ) -> Stream[Any]:
        """Returns changes as they are committed, in commit order, over a separate connection.

        After a lost connection, the stream reconnects and continues at the same place. No row is
        lost or repeated. Close the stream, or use it in ``with``, to close its connection.

            with server.stream("earliest", checkpoint=FileCheckpoint("shop.json")) as changes:
                for change in changes:
                    store(change.database, change.table, change.to_pyarrow())

        With ``start="snapshot"`` the stream returns the existing rows of the tables first, as
        inserts, in chunks. Each chunk is read in a consistent snapshot, and returned at the
        position of that snapshot in the log. All changes that the chunk contains are returned
        before it, and all later changes after it. The position of each batch contains the progress
        of the load: a stream that starts at this position continues after the last row.
        :attr:`Position.loading` is None when the load is complete. Requires SELECT on the tables,
        and the privileges that :meth:`read_table` requires.

        Args:
            start: The place at which the stream starts: ``"latest"`` (the end of the log now),
                ``"earliest"`` (the first file that the server has), ``"snapshot"`` (the existing
                rows, then the changes), a :class:`Position`, ``"file:offset"``, a GTID set that was
                already read, or a datetime: the first transaction committed at or after it. The
                JSON of a position and a time such as ``"2026-11-22T06:00:00Z"`` may be text.
            stop: The place at which the stream ends: ``"end"`` (the end of the log now), or a place
                in one of the forms of ``start``. With a GTID set, the stream ends before the first
                transaction that is not in it.

                With None, the stream does not end.
            checkpoint: A :class:`FileCheckpoint`, or another object that loads and saves a
                position.

                The stream starts at the stored position, and at ``start`` only if no position is
                stored. It saves the position while it reads. A batch counts as done when the next
                one is requested, or when the ``with`` block of the stream ends without an
                exception.
            server_id: The id of this reader on the server, from 1; by default a random one.

                Two readers or replicas with the same id disconnect each other.
            heartbeat: Seconds without changes after which the server sends a heartbeat; the
                connection counts as lost after three missed heartbeats.
            reconnect: Seconds for which a lost connection is retried.

                After this time, a :class:`ConnectionLostError` is raised. None disables retries.
            locks: The lock that an initial load may use: ``"brief"`` permits FLUSH TABLES WITH READ
                LOCK while the snapshot of a chunk is opened.

                The lock is necessary only if the server cannot provide the position of a snapshot
                without it; an error reports this. All writes on the server wait for a moment, once
                for each chunk. Requires RELOAD.
            chunk_rows: The maximum number of rows that an initial load reads in one snapshot.

                The transaction of a snapshot is open until these rows are read.
            max_rows_per_second: The maximum number of rows that an initial load reads per second,
                to limit the load of the server.

                Chunks then have at most this number of rows, so that a transaction is open for a
                second.
            certificate: A file to which an initial load writes the number and the hash of the rows
                of each chunk.

                ``binarrow load check`` compares the file with the server. The file contains no
                values. A new initial load replaces the file. A load that continues appends to the
                file, and raises a :class:`ConfigError` if it is the file of another load.
            rows_from: A replica from which an initial load reads the existing rows, instead of from
                this server.

                The log is read from this server. Both servers need GTIDs, and the replica must log
                what it replicates (``log_replica_updates``). Rows are returned at the place of
                their snapshot in the log of this server, so the replica may lag. If the replica has
                transactions that this server does not have, a :class:`ServerIdentityError` is
                raised.
            max_latency: The maximum number of seconds that rows wait for their batch to fill, while
                more rows arrive.

                If no more rows arrive, rows do not wait.
            include: Items to return in addition to rows, in log order: ``"schema_change"``,
                ``"truncate"``, ``"skipped_statement"``, ``"unlogged_change"``, ``"transaction"``,
                ``"heartbeat"``.

                A batch ends before each item. ``"schema_change"``: statements that change tables of
                ``tables`` or their databases, as :class:`SchemaChange`. ``"truncate"``: tables that
                are emptied, as :class:`Truncate`. ``"skipped_statement"``: statements that
                ``statements="skip"`` skips, as :class:`SkippedStatement`. ``"unlogged_change"``:
                changes that may have changed rows of other tables that are not in the log, as
                :class:`UnloggedChange`, in any place among the rows of their transaction.
                ``"transaction"``: the begin and end of every transaction, also of those without
                changes of ``tables``, as :class:`Transaction`. ``"heartbeat"``: a live stream's
                heartbeats, as :class:`Heartbeat`.
            keywords: As for :func:`read_binlog`: ``tables``, ``types``, ``schemas``, ...

        Raises:
            PositionPurgedError: The server no longer has the log from ``start`` on.
            ServerIdentityError: ``start`` is of another server, or the log was reset.
            CheckpointError: The checkpoint cannot be read or written.
        """
        if checkpoint is not None and not callable(getattr(checkpoint, "load", None)):
            kind = type(checkpoint).__name__
            raise TypeError(f'checkpoint= is a {kind}: pass FileCheckpoint("position.json")')
        kept = checkpoint.load() if checkpoint is not None else None
        loads = kept is None and start == "snapshot"
        try:
            ends = isinstance(stop, str) and parse_place(stop) == "latest"
        except ConfigError as error:
            error.add_note("while processing 'stop'")
            raise
        log = LiveLog.after(
            self._spec,
            "latest" if loads else start if kept is None else kept,
            loads=loads,
            locks=locks,
            chunk_rows=chunk_rows,
            max_rows_per_second=max_rows_per_second,
            certificate=None if certificate is None else Path(certificate).absolute(),
            rows_from=None if rows_from is None else rows_from.__binarrow_connection__(),
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
        if certificate is not None:
            prepare(certificate, None if loads else start if kept is None else kept)
        return Stream(reader, checkpoint)

    def read_table(
        self,
        table: str,
        *,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
        locks: Literal["brief"] | None = None,
        max_rows_per_second: int | None = None,
        **keywords: Unpack[TableKeywords],
    ) -> TableRows:
        """Returns the rows that a table has now, as an Arrow stream, over a separate connection.

        Rows have the same Arrow types and values as in a stream of changes. With the default
        ``envelope``, rows are inserts. Their ``_commit_version`` is below the version of each
        transaction that a stream from :attr:`TableRows.position` returns. So if two rows have the
        same key, the row with the higher version is the current one.

            rows = server.read_table("shop.orders", where="created >= '2026-01-01'")
            frame = polars.from_arrow(rows)

        All rows are read in one consistent snapshot, without locks. A transaction is open on the
        server until the last row has been read or the rows are closed. Rows are fetched from the
        server while you iterate. At most two batches are in memory. JSON columns are text
        (``json="text"``).

        :attr:`TableRows.position` is the place of the snapshot in the log. If it is exact
        (:attr:`TableRows.is_exact`), the snapshot contains the transactions before the position and
        no later one. Otherwise the snapshot may also contain some later transactions, which a
        stream from the position returns again. The position is

        * exact on MariaDB, and on MySQL 8 and later if the user has BACKUP_ADMIN and SELECT on
          ``performance_schema.log_status`` and the server is not too busy; in both cases only if no
          XA transaction was committed since the server started;
        * a position before the snapshot on other MySQL servers with GTIDs;
        * exact on every server with ``locks="brief"``.

        If none of these applies, an error names what is missing. With ``envelope=[]``, no position
        is needed. Requires SELECT on the table, and the privileges that :meth:`position` requires.

        For a MariaDB table with system versioning, historical rows are read too, because the log
        contains them.

        Args:
            table: The table, as ``database.table``.
            columns: The names of the columns to read; all columns by default.
            where: A condition in SQL, for example ``"id > 7 AND state = 'open'"``. The server
                evaluates it with ``sql_mode=''`` and in UTC. The text is executed unchanged: do not
                build it from input that you do not trust.
            locks: ``"brief"`` permits FLUSH TABLES WITH READ LOCK until the snapshot is open: all
                writes on the server wait for a moment. A running statement may delay the lock. Each
                wait for the lock ends after five seconds with an error. Requires RELOAD.
            max_rows_per_second: The maximum number of rows that are read per second. The
                transaction of the snapshot remains open for longer.
            keywords: As for :func:`read_binlog`: ``types``, ``envelope``, ``layout``, ``mask``,
                ``mask_salt``, ``batch_rows``, ``batch_bytes``.

        Raises:
            SchemaError: There is no such table, or no such column; a statement changed the table
                while it was read.
            ServerError: The user may not read the table or the position; the condition is not
                valid; the server writes no binary log.
            UnsupportedEventError: The table has a column that cannot be read.
        """
        if columns is not None and not columns:
            raise ConfigError("columns is empty: leave it out to read all columns")
        selected = None if columns is None else {"*.*": columns}
        return _native.read_table(
            self._spec,
            table,
            where=where,
            locks=locks,
            max_rows_per_second=max_rows_per_second,
            columns=selected,
            **keywords,
        )

    def range(
        self,
        start: Position,
        stop: Position,
        *,
        schema_snapshot: str | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 300.0,
        **keywords: Unpack[ShapingKeywords],
    ) -> Stream[Any]:
        """Returns the log between two positions, over a separate connection.

        The read always ends at ``stop``: at its file and offset, or, on another server, when its
        GTID set is complete. If the log ends earlier, the read is retried, and then an error is
        raised.

        Args:
            start: The end of an earlier read, or :meth:`file_start`.
            stop: The end of a later transaction.
            schema_snapshot: The structures at ``start``, from ``SchemaHistory.schema_snapshot()``.
            server_id: As for :meth:`stream`.
            heartbeat: As for :meth:`stream`.
            reconnect: Seconds for which a lost connection is retried, and for which the read waits
                for a server that lags.
            keywords: As for :func:`read_binlog`: ``tables``, ``types``, ``schemas``, ...

        Raises:
            PositionPurgedError: The server no longer has the log from ``start`` on.
            ServerIdentityError: A position is from another server, or the server lags for longer
                than ``reconnect``.
        """
        log = LiveLog.between(
            self._spec,
            start,
            stop,
            schema_snapshot=schema_snapshot,
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
        """Returns the end of a range of the log. The log is read without decoding rows.

        ``range_end(start, max_bytes=...)`` divides a log into ranges that :meth:`range` reads.

        It also finds the file and offset of a position that is only a GTID set, with
        ``range_end(position, stop=position)``. The result is the end of the longest first part of
        the log whose transactions are all in the set.

        Args:
            start: The end of an earlier read, :meth:`file_start`, ``"file:offset"`` or a GTID set.
                Transactions of a GTID set are skipped wherever they are in the log, and the
                returned position contains them.
            stop: The place at which the range ends at the latest, in one of these forms. The
                default is the current end of the log.
            max_bytes: The maximum size of the range, in bytes of the log. A range contains at
                least one transaction, even if it is larger.
            history: A :class:`SchemaHistory`, to which the statements in the range are added. An
                empty one gets its first baseline.
            server_id: As for :meth:`stream`.
            heartbeat: As for :meth:`stream`.
            reconnect: As for :meth:`stream`.
            skip_events: Codes of unknown events to skip.

        Returns:
            The end of the last complete transaction, with its GTIDs.

        Raises:
            PositionPurgedError: The server no longer has the log from ``start`` on.
            ServerIdentityError: ``start`` is of another server, or the log was reset.
        """
        return _native.range_end(
            self._spec,
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
        """Returns the position of the first event of a file of the log, with the GTIDs before it.

        Raises:
            PositionPurgedError: The server no longer has the file.
            ServerIdentityError: The file's number is above that of the newest file.
            ConfigError: The name is not that of a file of the server's log.
        """
        return _native.file_start(self._spec, name, reconnect=reconnect)

    def schemas(
        self,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
    ) -> TableSchemas:
        """Returns the current schemas of all tables, with the position at which they are valid.

        They are read over a separate connection, without a lock. If a statement changes a table
        during this, the table is read again. ``SchemaHistory.baseline(server)`` adds them to a
        history.

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
        return _native.read_schemas(self._spec, tables=tables, exclude_tables=exclude_tables)

    def check(
        self, use: Use | None = None, *, tables: str | Sequence[str] | None = None
    ) -> list[Check]:
        """Checks the settings that reading changes depends on, and suggests changes.

            for check in server.check("spark", tables="shop.orders"):
                print(check.grade, check.name, check.value, check.advice)

        Args:
            use: The use to check the server for: ``"stream"`` (streams without a history),
                ``"history"`` (streams with one), ``"spark"`` or ``"load"`` (initial loads). If a
                privilege for this use is missing, the grade is ``error``. By default all privileges
                are checked. If a privilege is missing that only some uses need, the grade is
                ``warning``.
            tables: Tables, as ``database.table``, whose structure the user must be allowed to see.

        Raises:
            ConfigError: ``use`` is another word.
        """
        if use is not None and use not in get_args(Use):
            known = ", ".join(repr(each) for each in get_args(Use))
            raise ConfigError(f"check({use!r}): use must be {known} or None")
        return checks(self, use, [tables] if isinstance(tables, str) else list(tables or ()))
