"""The script of SQL that reverses or repeats changes."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self

from binarrow._native import BinarrowWarning, ConfigError, UndoWriter
from binarrow.undo.log import UndoLog
from binarrow.undo.zone import offsets_of

if TYPE_CHECKING:
    from binarrow._native import History, Position, Schemas, Source
    from binarrow.server import Server


@dataclass(frozen=True)
class UndoCounts:
    """The changes of a script in one table, by number; :attr:`UndoScript.counts` returns them.

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

    Up to 64 MiB of SQL are kept in memory. The rest is in a temporary file until the object is
    closed or deleted. The script is empty if no change was found.

    Examples:
        >>> with binarrow.undo("binlog.000001", tables="shop.products") as script:
        ...     with open("undo.sql", "xb") as file:
        ...         file.writelines(script)
        >>> script.transactions
        299
    """

    def __init__(self, writer: UndoWriter, not_restored: Sequence[str] = ()) -> None:
        self._writer: UndoWriter | None = writer
        self._not_restored = tuple(not_restored)
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

    @property
    def not_restored(self) -> tuple[str, ...]:
        """A line for each foreign key whose unlogged actions may have changed other rows too."""
        return self._not_restored

    def close(self) -> None:
        """Frees the memory, and removes the temporary file."""
        self._writer = None

    def __iter__(self) -> Iterator[bytes]:
        """Returns the pieces, once."""
        while self._writer is not None and (piece := self._writer.next_piece()) is not None:
            yield piece

    def write_to(self, file: BinaryIO) -> None:
        """Writes the pieces to a file, once.

        This may be faster than iteration: on Linux, the operating system copies from the temporary
        file to the other file.

        Args:
            file: A file that is open for writing bytes.

        Raises:
            OSError: The file cannot be written.

        Examples:
            >>> with open("undo.sql", "xb") as file:
            ...     binarrow.undo("binlog.000001", tables="shop.products").write_to(file)
        """
        if isinstance(file, io.RawIOBase):  # its write method may write less than it is given
            buffered = io.BufferedWriter(file)
            try:
                self.write_to(buffered)
            finally:
                buffered.detach()
            return
        writer = self._writer
        source = None if writer is None else writer.fileno()
        target = _number_of(file)
        if writer is None or source is None or target is None:
            file.writelines(self)
            return
        while (piece := writer.next_piece_or_place()) is not None:
            if isinstance(piece, bytes):
                file.write(piece)
                continue
            start, end = piece[0], sum(piece)
            file.flush()
            start = _send(source, target, start, end)
            while start < end:
                start += file.write(os.pread(source, min(end - start, 1 << 20), start))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<UndoScript {self._transactions} transactions, {len(self._counts)} tables>"


def _number_of(file: BinaryIO) -> int | None:
    """Returns the file descriptor of a file to which the system can copy, or None.

    Other objects, such as a gzip file, may return the descriptor of a file with other content.
    """
    raw = file.raw if type(file) is io.BufferedWriter else None
    return raw.fileno() if sys.platform == "linux" and type(raw) is io.FileIO else None


def _send(source: int, target: int, start: int, end: int) -> int:
    """Copies a part of a file with sendfile. Returns the offset up to which it was copied.

    It cannot copy to a file that is open for appending, for example.
    """
    while start < end:
        try:
            count = os.sendfile(target, source, start, end - start)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                return start
            raise
        if count == 0:
            return start
        start += count
    return start


MEMORY = 64 << 20
"""The number of bytes of SQL that are kept in memory."""


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
    timezone: tzinfo | None = UTC,
    **options: Any,
) -> UndoScript:
    """Returns SQL that reverses changes in the log, the last transaction first.

    The function executes nothing. When you execute the statements, the rows must be as they were
    after the changes. The statements find rows by the key, or by all columns if no key is known.
    The first lines of the script describe its effects.

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
        dry_run: Only count the changes. The script then has no text.
        schema_changes: The reaction to statements that change or empty the tables, and cannot be
            reversed: ``"error"``, or ``"ignore"``, which names the statements in the script.
        foreign_key_checks: Let the server check foreign keys and execute their actions.
        schemas: Structures of tables; see :func:`read_binlog`.
        history: Structures of tables over time; see :func:`read_binlog`.
        unlogged_changes: Actions of foreign keys may have changed rows that are not in the log.
            These rows are restored from earlier images in the log, which is then read three times.
            The actions must be known from ``schemas``, ``history`` or the server, and both tables
            must be selected. If not all of these rows can be restored, the reaction is ``"warn"``
            or None, or ``"ignore"``. With ``"error"``, every such action raises an error, as in
            :func:`read_binlog`.
        timezone: The time zone of the times in comments; None is the local time zone.
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

    def new_writer() -> UndoWriter:
        return UndoWriter(
            redo=redo,
            gtids=[*gtids],
            threads=[*thread_ids],
            foreign_key_checks=foreign_key_checks,
            dry_run=dry_run,
            offsets=offsets_of(timezone),
            memory=MEMORY,
        )

    keywords: dict[str, Any] = {
        **options,
        "tables": tables,
        "exclude_tables": exclude_tables,
        "operations": operations,
        "where": where,
        "schemas": schemas,
        "history": history,
    }
    is_error = unlogged_changes == "error"
    log = UndoLog(source, start, stop, keywords, unlogged_is_error=is_error, zone=timezone)
    writer = new_writer()
    log.read(writer, ignores_statements=schema_changes == "ignore")
    effects = None
    if (cascades := log.cascades()) is not None:
        from binarrow.undo.effects import Effects  # most scripts have none

        effects = Effects(cascades, foreign_key_checks)
        writer = new_writer()
        log.read(writer, effects, ignores_statements=schema_changes == "ignore")
    restored = [] if effects is None else [*effects.notes()]
    uncertain = [note for note, is_complete in restored if not is_complete]
    uncertain += log.unknown_effects()
    if unlogged_changes != "ignore":
        for note in uncertain:
            warnings.warn(note, BinarrowWarning, stacklevel=2)
    complete = [note for note, is_complete in restored if is_complete]
    writer.finish([*log.notes, *complete, *uncertain])
    return UndoScript(writer, uncertain)


_SHAPE = frozenset(
    (
        *("include", "columns", "mask", "mask_salt", "layout", "old_value", "split_key_updates"),
        *("partial_images", "envelope", "envelope_prefix", "types", "column_names", "batch_end"),
        *("uncommitted", "statements"),
    )
)
