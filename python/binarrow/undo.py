"""SQL that reverses changes in the log, or repeats them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from binarrow._native import (
    BinlogReader,
    ChangeBatch,
    ConfigError,
    Position,
    SchemaChange,
    SchemaError,
    Truncate,
    UndoWriter,
    read_binlog,
)
from binarrow.server import Server

if TYPE_CHECKING:
    from binarrow._native import History, Schemas, Source
    from binarrow.stream import Stream


@dataclass(frozen=True)
class UndoCounts:
    """The changes of one table that a script makes; :attr:`UndoScript.counts` returns them.

    Attributes:
        table: ``database.table``.
        inserts: The number of rows that are inserted.
        updates: The number of rows that are updated.
        deletes: The number of rows that are deleted.

    Examples:
        >>> script = binarrow.undo("binlog.000001", tables="shop.products", dry_run=True)
        >>> script.counts[0].inserts
        11
    """

    table: str
    inserts: int
    updates: int
    deletes: int


class UndoScript:
    """A script of SQL, returned by :func:`undo`: an iterator over bytes, and a context manager.

    The SQL is in a temporary file until the object is closed or deleted. The script is empty if no
    change was found.

    Examples:
        >>> with binarrow.undo("binlog.000001", tables="shop.products") as script:
        ...     with open("undo.sql", "xb") as file:
        ...         file.writelines(script)
        >>> script.transactions
        299
    """

    def __init__(self, writer: UndoWriter) -> None:
        self._writer: UndoWriter | None = writer
        self._counts = [
            UndoCounts(f"{database}.{table}", inserts, updates, deletes)
            for database, table, inserts, updates, deletes in writer.counts()
        ]
        self._transactions = writer.transactions

    @property
    def counts(self) -> list[UndoCounts]:
        """The changes that the script makes, by table."""
        return [*self._counts]

    @property
    def transactions(self) -> int:
        """The number of transactions of the script."""
        return self._transactions

    def close(self) -> None:
        """Removes the temporary file."""
        self._writer = None

    def __iter__(self) -> Iterator[bytes]:
        """Returns the pieces, once."""
        while self._writer is not None and (piece := self._writer.next_piece()) is not None:
            yield piece

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<UndoScript {self._transactions} transactions, {len(self._counts)} tables>"


def undo(
    source: Source | Server,
    *,
    tables: str | Sequence[str],
    exclude_tables: str | Sequence[str] | None = None,
    operations: str | Sequence[str] | None = None,
    where: str | None = None,
    start: Position | str | datetime | None = None,
    stop: Position | str | datetime | None = None,
    gtids: Sequence[str] = (),
    thread_ids: Sequence[int] = (),
    redo: bool = False,
    dry_run: bool = False,
    schema_changes: Literal["error", "ignore"] = "error",
    foreign_key_checks: bool = False,
    schemas: Schemas | None = None,
    history: History | None = None,
    unlogged_changes: Literal["error", "warn", "ignore"] | None = None,
    **options: Any,
) -> UndoScript:
    """Returns SQL that reverses changes in the log, the last transaction first.

    Nothing is executed. The statements expect the rows as they were after the changes, and find
    them by the key, or by all columns if no key is known. The first lines of the script describe
    its effects.

    Args:
        source: Files, as in :func:`read_binlog`, or a server. A server's log is read from its first
            file to the current end.
        tables: The tables whose changes are reversed: globs of ``database.table``.
        exclude_tables: Tables to leave out.
        operations: The operations to reverse; all if None.
        where: The changes to reverse, by their values; see :func:`read_binlog`.
        start: The place of the first change.
        stop: The place after the last change.
        gtids: The transactions to reverse; all if empty.
        thread_ids: The connections whose changes are reversed; all if empty.
        redo: Return SQL that repeats the changes, in the order of the log.
        dry_run: Only count: the script has no text.
        schema_changes: The reaction to statements that change or empty the tables, which cannot be
            reversed: ``"error"``, or ``"ignore"``, which names them in the script.
        foreign_key_checks: Let the server check foreign keys and execute their actions.
        schemas: Structures of tables; see :func:`read_binlog`.
        history: Structures of tables over time; see :func:`read_binlog`.
        unlogged_changes: The reaction to rows that actions of foreign keys changed without being
            logged; see :func:`read_binlog`.
        **options: Other keywords of :func:`read_binlog` or :meth:`Server.stream`, such as
            ``storage_options``.

    Raises:
        SchemaError: An image lacks columns (``binlog_row_image`` must be FULL), names of columns
            are not known, or a statement changes or empties a table.
        UnsupportedEventError: A value cannot be written as an SQL literal.
        ConfigError: A keyword is not valid.

    Examples:
        >>> script = binarrow.undo("binlog.000001", tables="shop.products")
        >>> script.counts
        [UndoCounts(table='shop.products', inserts=11, updates=715, deletes=56)]
        >>> size = sum(len(piece) for piece in script)
    """
    if not tables:
        raise ConfigError("undo: tables is empty: name the tables whose changes are reversed")
    shaped = sorted(_SHAPE & options.keys())
    if shaped:
        raise ConfigError(
            f"undo: the keyword {shaped[0]} determines the form of rows: leave it out"
        )
    writer = UndoWriter(
        redo=redo,
        gtids=[*gtids],
        threads=[*thread_ids],
        foreign_key_checks=foreign_key_checks,
        dry_run=dry_run,
    )
    keywords: dict[str, Any] = {
        **UndoWriter.keywords(filtered=where is not None),
        **options,
        "tables": tables,
        "exclude_tables": exclude_tables,
        "operations": operations,
        "where": where,
        "schemas": schemas,
        "history": history,
        "unlogged_changes": unlogged_changes,
        "include": ["schema_change", "truncate"],
    }
    notes: list[str] = []
    with _opened(source, start, stop, keywords) as changes:
        for change in changes:
            if isinstance(change, ChangeBatch):
                writer.add(change)
            elif note := _note(change, ignore=schema_changes == "ignore"):
                notes.append(note)
        notes += [
            f"Not restored: rows of other tables that foreign keys to {parent} may have changed."
            " The log does not contain them. With --foreign-key-checks the server executes the"
            " actions of these keys again."
            for parent in changes.stats()["unlogged_changes"]
        ]
    writer.finish(notes)
    return UndoScript(writer)


def _opened(
    source: Source | Server,
    start: Position | str | datetime | None,
    stop: Position | str | datetime | None,
    keywords: Mapping[str, Any],
) -> BinlogReader[Any] | Stream[Any]:
    if isinstance(source, Server):
        return source.stream(start or "earliest", stop=stop or "end", **keywords)
    return read_binlog(source, start=start, stop=stop, **keywords)


def _note(change: object, *, ignore: bool) -> str | None:
    """Returns a line of the header for a statement that is not reversed.

    Raises:
        SchemaError: The statement is an error.
    """
    if isinstance(change, Truncate):
        kind, tables = "TRUNCATE TABLE", f"{change.database}.{change.table}"
    elif isinstance(change, SchemaChange):
        if change.kind == "create" and not change.changes_rows:
            return None
        kind = _KINDS[change.kind]
        tables = ", ".join(change.tables) or f"the database {change.database}"
    else:
        return None
    place = f"it ends at {change.position}, {change.commit_timestamp:%Y-%m-%d %H:%M:%S} UTC"
    if ignore:
        return f"Not reversed: {kind} of {tables}, {place}."
    raise SchemaError(
        f"{kind} of {tables} cannot be reversed ({place}): the log does not contain the rows that"
        " it changes. Select a part of the log without the statement, leave the table out, or set"
        " schema_changes='ignore' (--ignore-schema-changes)"
    )


_KINDS = {
    "create": "CREATE OR REPLACE",
    "alter": "ALTER",
    "drop": "DROP",
    "rename": "RENAME",
    "truncate": "TRUNCATE TABLE",
}

_SHAPE = frozenset(
    (
        *("include", "columns", "mask", "mask_salt", "layout", "old_value", "split_key_updates"),
        *("partial_images", "envelope", "envelope_prefix", "types", "column_names", "batch_end"),
        *("uncommitted", "statements"),
    )
)
