"""The rows that a table had at an earlier moment: its rows now, without the changes since then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from binarrow._native import (
    ConfigError,
    PastRows,
    Position,
    PositionPurgedError,
    TableRows,
)
from binarrow.advice import restated
from binarrow.past.changes import quiet_search
from binarrow.past.logs import NUMBERED, ArchivedLog, ServerLog
from binarrow.past.moment import names_file, start_of
from binarrow.past.table_read import TableRead, warn_of_filters

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import Source, TypeOptions
    from binarrow.server import Server


class RowsAt:
    """The rows that a table had, returned by :func:`rows_at`: an iterator, and an Arrow stream.

    It is a context manager. Its rows are read once.

    Examples:
        >>> with binarrow.rows_at(server, "shop.orders", "2026-11-21T10:42:00Z") as rows:
        ...     table = rows.read_all()
    """

    def __init__(
        self, schema: pa.Schema, batches: Iterator[pa.RecordBatch], close: Callable[[], None]
    ) -> None:
        self._schema = schema
        self._batches = (batch for batch in batches if batch.num_rows)
        self._close = close

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches: the table's columns."""
        return self._schema

    def read_all(self) -> pa.Table:
        """Returns all remaining rows."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self), self.schema)

    def close(self) -> None:
        """Closes the connection that reads the rows."""
        self._close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        import pyarrow as pa

        reader: Any = pa.RecordBatchReader.from_batches(self.schema, self)
        return reader.__arrow_c_stream__(requested_schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RowsAt {len(self.schema)} columns>"


def rows_at(
    server: Server,
    table: str,
    moment: Position | str | datetime,
    *,
    before: bool = False,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    types: Literal["native", "spark"] | TypeOptions | None = None,
    locks: Literal["brief"] | None = None,
    unlogged_changes: Literal["error", "warn", "ignore"] = "error",
    archive: Source | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> RowsAt:
    """Returns the rows that a table had at an earlier moment.

    The function reads the rows that the table has now, and reverses the changes that the server's
    log contains since the moment. It writes nothing to the server. The keys that changed since the
    moment, and their earlier rows, are in memory.

    If the server has purged a part of the log since the moment, pass ``archive``. The purged files
    are read from there, and the others from the server. The server's log must continue the archive.
    If files are missing, or if the archive is that of another server, an error names the last file
    of the archive and the oldest file of the server.

    Rows of a table without a key are counted. This needs a snapshot whose position is exact: see
    :meth:`Server.read_table`. The rows are in no particular order. Columns that MariaDB does not
    log (generated columns) are left out, with a warning.

    Args:
        server: The server.
        table: The table, as ``database.table``.
        moment: A datetime or a text with a time, a place or a GTID. For a time, the rows are those
            before the first transaction that was committed at or after it. A place is a
            :class:`Position` or ``"file:offset"`` of the end of a transaction. For a GTID of MySQL,
            the rows are those after this transaction, and for a GTID set, those after exactly these
            transactions.
        before: With a GTID: the rows before this transaction.
        columns: The names of the columns to return; all columns by default.
        where: The rows to return, in the part of SQL that :func:`read_binlog` describes, without
            ``old.`` and ``new.``.
        types: The Arrow types of the columns; see :func:`read_binlog`.
        locks: ``"brief"`` permits a global read lock while the snapshot is opened; see
            :meth:`Server.read_table`.
        unlogged_changes: The reaction to rows that actions of foreign keys may have changed without
            being logged; see :func:`read_binlog`.
        archive: Archived files of the server's log: a path, glob, folder or URI, a list of them, or
            a dict from the name in the server's log to the path. They may be compressed. If a file
            has an index, parts that are not needed are not read; see :func:`write_index`.
        storage_options: Settings for the file system of a URI in ``archive``; see
            :func:`read_binlog`.

    Raises:
        PositionPurgedError: The server no longer has the log from the moment on, and the archive
            does not contain it, or the log between the archive and the server is missing.
        ServerIdentityError: The server's log does not continue the archive, or it is not known if
            it does.
        SchemaError: A statement changed or emptied the table since the moment, so the log does not
            contain its rows. Or a row image lacks columns (``binlog_row_image`` must be FULL).
        UnsupportedEventError: The log does not contain all changes of the table.
        ConfigError: The moment or a keyword is not valid.

    Examples:
        >>> rows = binarrow.rows_at(server, "shop.orders", "2026-11-21T10:42:00Z", where="id = 7")
        >>> rows.read_all().to_pylist()
        [{'id': 7, 'status': 'paid'}]
        >>> rows = binarrow.rows_at(server, "shop.orders", start, archive="logs/binlog.*")
    """
    if columns is not None and not columns:
        raise ConfigError("columns is empty: leave it out to read all columns")
    if storage_options is not None and archive is None:
        raise ConfigError("storage_options is for archive: pass both")
    archived = None if archive is None else ArchivedLog(archive, storage_options, "rows_at=archive")
    log, start = _start(server, archived, moment, table, before=before)
    read = TableRead(server, table, columns, where, types, unlogged_changes)
    if isinstance(log, ArchivedLog):
        start = read.archived_changes(log, start)
    position = read.changes(start, None)
    read.check_engine()
    warn_of_filters(server, table)
    rows, is_exact = read.snapshot(position, locks)
    try:
        end = rows.position if is_exact else read.end(position)
        if end is not None and position < end:
            read.changes(position, end)
        batches = _earlier(read.past, rows, is_exact=is_exact)
        return RowsAt(read.past.schema, batches, rows.close)
    except BaseException:
        rows.close()
        raise


def _earlier(past: PastRows, rows: TableRows, *, is_exact: bool) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        yield past.unchanged(batch, is_exact=is_exact)
    yield from past.changed(is_exact=is_exact)


def _start(
    server: Server,
    archive: ArchivedLog | None,
    moment: Position | str | datetime,
    table: str,
    *,
    before: bool,
) -> tuple[ServerLog | ArchivedLog, Position | datetime]:
    """Returns the place of the moment, and the log that has it: the server's, if possible."""
    own = ServerLog(server)
    with quiet_search():
        try:
            start = start_of(own, moment, table, before=before)
            if not isinstance(start, Position):
                return own, start
            is_own = start.file in own.files()
            if archive is None:
                if not is_own:
                    _check_is_not_purged(start, own)
                return own, start
            if is_own and not (names_file(moment) and _is_archived(start, own, archive)):
                return own, start
        except PositionPurgedError as error:
            if archive is None:
                advice = ". Archived files of the log may contain it: pass them with ⟦archive⟧"
                raise restated(error, after=advice) from None
        start = start_of(archive, moment, table, before=before)
        if isinstance(start, Position):
            start = archive.with_gtids(start, table)
        return archive, start


def _is_archived(place: Position, own: ServerLog, archive: ArchivedLog) -> bool:
    """True if a place is in a file of the archive, and not in the server's file of this name.

    Raises:
        ConfigError: The two files are different, and it is not known which of them is meant.
    """
    if place.file not in archive.files():
        return False
    archived, created = archive.head(place.file).created, own.file_start(place.file).file_created
    if created is None or created == archived:
        return False
    if place.file_created in (created, archived):
        return place.file_created == archived
    raise ConfigError(
        f"both the server and the archive have a file {place.file}, and they were created at"
        " different times: name the moment by a time, a GTID or a position with file_created"
    )


def _check_is_not_purged(place: Position, log: ServerLog) -> None:
    """Raises an error for a place before the oldest file of a server.

    Raises:
        PositionPurgedError: The server no longer has the file.
    """
    oldest = log.files()[0]
    name, first = NUMBERED.fullmatch(place.file), NUMBERED.fullmatch(oldest)
    if name and first and name[1] == first[1] and int(name[2]) < int(first[2]):
        raise PositionPurgedError(
            f"the server no longer has {place.file}: its oldest file is {oldest}"
        )


__all__ = ["RowsAt", "rows_at"]
