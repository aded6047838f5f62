"""The rows that a table had at an earlier moment: its rows now, without the changes since then."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from binarrow._native import (
    BinarrowWarning,
    ChangeBatch,
    ConfigError,
    PastRows,
    Position,
    SchemaChange,
    SchemaError,
    TableRows,
    Truncate,
    UnmatchedPatternWarning,
    UnsupportedEventError,
    read_table,
)
from binarrow.past.moment import start_of

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import TypeOptions
    from binarrow.server import Server

PREFIX = "binarrow "
"""The prefix of envelope columns, which the columns of a table are unlikely to have."""

SNAPSHOTS = 20
"""The number of snapshots that are opened until one contains all changes that were read."""

PAUSE = 0.1
"""Seconds between two snapshots."""

CONSISTENT = ("innodb", "rocksdb")
"""The engines whose snapshots contain all rows at one moment."""

ENGINE = re.compile(r"\) ENGINE=(\w+)")


class RowsAt:
    """The rows that a table had, returned by :func:`rows_at`: an iterator, and an Arrow stream.

    It is a context manager. Its rows are read once.

    Examples:
        >>> with binarrow.rows_at(server, "shop.orders", "2026-11-21T10:42:00Z") as rows:
        ...     table = rows.read_all()
    """

    def __init__(self, past: PastRows, rows: TableRows, *, is_exact: bool) -> None:
        self._past = past
        self._rows = rows
        self._is_exact = is_exact
        self._batches = self._read()

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches: the table's columns."""
        return self._past.schema

    def read_all(self) -> pa.Table:
        """Returns all remaining rows."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self), self.schema)

    def close(self) -> None:
        """Closes the connection that reads the rows."""
        self._rows.close()

    def _read(self) -> Iterator[pa.RecordBatch]:
        for batch in self._rows:
            rows = self._past.unchanged(batch, is_exact=self._is_exact)
            if rows.num_rows:
                yield rows
        yield from (rows for rows in self._past.changed(is_exact=self._is_exact) if rows.num_rows)

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
) -> RowsAt:
    """Returns the rows that a table had at an earlier moment.

    The function reads the rows that the table has now, and reverses the changes that the server's
    log contains since the moment. It writes nothing to the server. The keys that changed since the
    moment, and their earlier rows, are in memory.

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

    Raises:
        PositionPurgedError: The server no longer has the log from the moment on.
        SchemaError: A statement changed or emptied the table since the moment, so the log does not
            contain its rows. Or a row image lacks columns (``binlog_row_image`` must be FULL).
        UnsupportedEventError: The log does not contain all changes of the table.
        ConfigError: The moment or a keyword is not valid.

    Examples:
        >>> rows = binarrow.rows_at(server, "shop.orders", "2026-11-21T10:42:00Z", where="id = 7")
        >>> rows.read_all().to_pylist()
        [{'id': 7, 'status': 'paid'}]
    """
    if columns is not None and not columns:
        raise ConfigError("columns is empty: leave it out to read all columns")
    start = start_of(server, moment, before=before)
    read = _Read(server, table, columns, where, types, unlogged_changes)
    position = read.changes(start, None)
    read.check_engine()
    _warn_of_filters(server, table)
    rows, is_exact = read.snapshot(position, locks)
    try:
        end = rows.position if is_exact else read.end(position)
        if end is not None and position < end:
            read.changes(position, end)
        return RowsAt(read.past, rows, is_exact=is_exact)
    except BaseException:
        rows.close()
        raise


class _Read:
    """A table, and the changes of its rows."""

    def __init__(
        self,
        server: Server,
        table: str,
        columns: Sequence[str] | None,
        where: str | None,
        types: Any,
        unlogged_changes: Literal["error", "warn", "ignore"],
    ) -> None:
        self.server, self.table = server, table
        self._structure = server.describe(table)
        wanted = None if columns is None else list(dict.fromkeys(columns))
        # Rows are identified by the key. A condition may name any column.
        key = self._structure.row_key
        is_all = wanted is None or where is not None
        read = None if is_all else list(dict.fromkeys([*(wanted or ()), *key]))
        selected = None if read is None else {"*.*": read}
        self._keywords: dict[str, Any] = {"columns": selected, "types": types}
        with self._rows_now(where="FALSE") as none:
            self.past = PastRows(none, where=where, columns=wanted)
        if self.past.not_logged and wanted is None:
            warnings.warn(
                f"{table}: the log does not contain values of the generated columns"
                f" {', '.join(self.past.not_logged)}: they are left out",
                BinarrowWarning,
                stacklevel=3,
            )
        self._log_keywords = {
            **self._keywords,
            "tables": [table],
            "where": where,
            "envelope": PastRows.envelope(),
            "envelope_prefix": PREFIX,
            "split_key_updates": False,
            "include": ["schema_change", "truncate"],
            "schemas": self._structure,
            "unlogged_changes": unlogged_changes,
        }

    def _rows_now(self, **keywords: Any) -> TableRows:
        return read_table(
            self.server.__binarrow_connection__(),
            self.table,
            **self._keywords,
            **{"envelope": [], "envelope_prefix": PREFIX, **keywords},
        )

    def check_engine(self) -> None:
        """Raises an error if the rows that a table has now are not those of one moment."""
        statement = self._structure.create_statement or ""
        if "WITH SYSTEM VERSIONING" in statement:
            raise UnsupportedEventError(
                f"{self.table}: MariaDB keeps the history of the table (WITH SYSTEM VERSIONING):"
                " use SELECT ... FOR SYSTEM_TIME AS OF"
            )
        engine = ENGINE.search(statement)
        if engine is None or engine[1].lower() not in CONSISTENT:
            name = "unknown" if engine is None else engine[1]
            raise UnsupportedEventError(
                f"{self.table}: a snapshot does not contain the rows of tables of the engine {name}"
            )

    def changes(self, start: Position | datetime, stop: Position | None) -> Position:
        """Reads the changes from a place on. Returns the place of their end."""
        keywords = self._log_keywords
        if stop is not None and isinstance(start, Position):
            opened = self.server.range(start, stop, **keywords)
        else:
            opened = self.server.stream(start, stop="end", **keywords)
        with warnings.catch_warnings(), opened as log:
            # The table may have no changes.
            warnings.simplefilter("ignore", UnmatchedPatternWarning)
            for item in self._items(log):
                if isinstance(item, ChangeBatch):
                    self.past.add(item)
                else:
                    _check(item)
            end = stop or log.position
        if end is None:
            raise ConfigError(f"the log has no place {start}")
        return end

    def _items(self, log: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from log
        except SchemaError as error:
            raise SchemaError(
                f"{self.table}: its structure since the moment is not the one that it has now, so"
                f" that the log cannot be reversed: {error}. Choose a later moment"
            ) from error

    def snapshot(self, after: Position, locks: Literal["brief"] | None) -> tuple[TableRows, bool]:
        """Opens a snapshot of the rows that contains the changes before a place, if possible.

        Returns:
            The rows, and True if they contain the changes before their position and no others.
        """
        for left in reversed(range(SNAPSHOTS)):
            rows = self._rows_now(
                envelope=["commit_version"], locks=locks, where=self.past.condition
            )
            position = rows.position
            if rows.is_exact and position is not None and after.base <= position:
                return rows, True
            if self.past.has_key and (left == 0 or not rows.is_exact):
                # The first change of each key decides.
                return rows, False
            rows.close()
            if not rows.is_exact:
                break
            time.sleep(PAUSE)
        raise UnsupportedEventError(
            f"{self.table} has no key, and the position of a snapshot of it is not exact: use"
            " locks='brief', or GRANT BACKUP_ADMIN ON *.* and SELECT ON"
            " performance_schema.log_status"
        )

    def end(self, near: Position) -> Position:
        """Returns the current end of the log."""
        last = self.server.binlogs()[-1]
        return near.replace(file=last.name, offset=last.size, gtid_set=None, file_created=None)


def _warn_of_filters(server: Server, table: str) -> None:
    """Warns if the log may not contain all changes of the table."""
    filters = server.database_filters()
    if filters:
        warnings.warn(
            f"{table}: the server does not log changes of some databases (binlog_do_db or"
            f" binlog_ignore_db: {', '.join(filters)}): if that of the table is one of them, its"
            " earlier rows are not known",
            BinarrowWarning,
            stacklevel=3,
        )
    if not server.logs_all_changes():
        warnings.warn(
            f"{table}: the server is a replica with log_replica_updates=OFF: its log does not"
            " contain the changes from its source. Read from the source",
            BinarrowWarning,
            stacklevel=3,
        )


def _check(item: object) -> None:
    """Raises an error if a statement changed the table."""
    if isinstance(item, Truncate):
        what = f"TRUNCATE TABLE {item.database}.{item.table}"
    elif isinstance(item, SchemaChange):
        if not item.tables and item.kind == "alter":
            return  # the defaults of a database
        what = f"{item.kind.upper()} of {', '.join(item.tables) or item.database}"
    else:
        return
    raise SchemaError(
        f"{what} is after the moment (it ends at {item.position},"
        f" {item.commit_timestamp:%Y-%m-%d %H:%M:%S} UTC): the log does not contain the rows before"
        " it. Choose a moment after it"
    )


__all__ = ["RowsAt", "rows_at"]
