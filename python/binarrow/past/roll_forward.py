"""The rows of a table at a later moment, from stored rows and the changes since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from binarrow._native import ConfigError, Position
from binarrow.past.later_rows import LaterRows
from binarrow.past.logs import ArchivedLog, ServerLog
from binarrow.past.rows_at import RowsAt
from binarrow.server.session import Session

if TYPE_CHECKING:
    from binarrow._native import Schemas, Source, TypeOptions
    from binarrow.server import Server


def roll_forward(
    rows: Any,
    position: Position | str,
    source: Source | Server,
    table: str,
    moment: Position | str | datetime,
    *,
    before: bool = False,
    types: Literal["native", "spark"] | TypeOptions | None = None,
    schemas: Schemas | None = None,
    unlogged_changes: Literal["error", "warn", "ignore"] = "error",
    lower_case_table_names: Literal[0, 1, 2] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> RowsAt:
    """Returns the rows that a table had at a moment, from rows that were stored before it.

    The function applies the changes between the position of the stored rows and the moment to them.
    It needs no server, because it can read the changes from archived files. All these changes of
    the table are in memory. The rows that it returns are in no particular order.

    The stored rows must be those of the position, with all columns. Columns of the envelope, such
    as ``_commit_version``, are left out. The function compares the rows with the changes. It raises
    an error if a row differs from the row before its first change. Rows of a table without a key
    are counted.

    Args:
        rows: The rows that the table had: an object with an Arrow stream, such as
            ``pyarrow.Table``, with the types that :meth:`Server.read_table` returns for ``types``.
        position: The place in the log at which the table had them: :attr:`TableRows.position` if it
            is exact, its JSON, or ``"file:offset"``.
        source: The log with the changes: files, as for ``archive`` of :func:`rows_at`, or a server.
        table: The table, as ``database.table``.
        moment: As for :func:`rows_at`.
        before: As for :func:`rows_at`.
        types: The Arrow types of the columns; see :func:`read_binlog`.
        schemas: CREATE TABLE statements, for a log without the names of columns; see
            :func:`read_binlog`. By default, a server is asked, if no statement changed the table
            after the rows.
        unlogged_changes: As for :func:`rows_at`. With files, a change also causes the reaction if
            its effects are not known from ``schemas``.
        lower_case_table_names: The variable of the server that wrote the files; see
            :func:`read_binlog`. A server is asked.
        storage_options: Settings for the file system of a URI; see :func:`read_binlog`.

    Raises:
        ConfigError: The moment is before the rows or is not in the log, the files have no change of
            the table, or a keyword is not valid.
        SchemaError: A statement changed or emptied the table in between, the columns of the rows
            are not those of the log, or a row image lacks columns.
        UnsupportedEventError: The rows are not those of the position, or the log does not contain
            all changes.
        InputError: The rows or the files cannot be read.

    Examples:
        >>> stored = pyarrow.parquet.read_table("orders.parquet")
        >>> rows = binarrow.roll_forward(
        ...     stored, "binlog.000042:4711", "archive/binlog.*", "shop.orders", "2026-11-21T10:42Z"
        ... )
    """
    keywords: dict[str, Any] = {}
    if isinstance(source, Session):
        if lower_case_table_names is not None:
            raise ConfigError("lower_case_table_names is for files: a server is asked")
        log: ServerLog | ArchivedLog = ServerLog(source)
    else:
        log = ArchivedLog(source, storage_options, "roll_forward=source")
        keywords["lower_case_table_names"] = lower_case_table_names
    later = LaterRows(log, table, rows, position)
    later.read_changes(
        moment,
        before=before,
        tables=table,
        types=types,
        schemas=schemas,
        unlogged_changes=unlogged_changes,
        **keywords,
    )
    return RowsAt(later.schema, iter(later), lambda: None)


__all__ = ["roll_forward"]
