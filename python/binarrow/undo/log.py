"""Reads the log of an undo, again for rows that unlogged actions of foreign keys changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from binarrow._native import (
    BinarrowError,
    BinarrowWarning,
    BinlogReader,
    ChangeBatch,
    Position,
    SchemaChange,
    SchemaError,
    Truncate,
    UndoWriter,
    UnloggedChange,
    read_binlog,
)
from binarrow.server import Server

if TYPE_CHECKING:
    from binarrow._native import ForeignKey, Source
    from binarrow.stream import Stream
    from binarrow.undo.cascades import Cascades
    from binarrow.undo.effects import Effects


class UndoLog:
    """The log: it is read again for rows that unlogged actions of foreign keys changed."""

    def __init__(
        self,
        source: Source | Server,
        start: Position | str | datetime | None,
        stop: Position | str | datetime | None,
        keywords: Mapping[str, Any],
        *,
        unlogged_is_error: bool,
        zone: tzinfo | None,
    ) -> None:
        self._source, self._start, self._stop = source, start, stop
        self._keywords = keywords
        self._zone = zone
        self._reaction = "error" if unlogged_is_error else None
        self._unlogged: list[UnloggedChange] = []
        self._tables: set[str] = set()
        self._is_followed = False
        self._unread = ""
        """The reason why the log before the start was not read again."""
        self.notes: list[str] = []
        """Statements that are not reversed."""

    def read(
        self, writer: UndoWriter, effects: Effects | None = None, *, ignores_statements: bool
    ) -> None:
        """Adds the selected changes to a writer, and their effects if they are known."""
        include = ["schema_change", "truncate"]
        if self._reaction is None:
            include.append("unlogged_change")
        is_filtered = self._keywords["where"] is not None
        # Rows are needed only for a filter and for effects.
        needs_rows = is_filtered or effects is not None
        form = UndoWriter.keywords(filtered=is_filtered) if needs_rows else writer.sql_keywords()
        keywords = {
            **self._keywords,
            **form,
            "include": include,
            "unlogged_changes": self._reaction,
        }
        self._unlogged, self._tables, self.notes = [], set(), []
        with (
            _quiet(is_repeated=effects is not None),
            _opened(self._source, self._start, self._stop, keywords) as changes,
        ):
            for change in changes:
                if isinstance(change, ChangeBatch):
                    self._tables.add(f"{change.database}.{change.table}")
                    if effects is None:
                        writer.add(change)
                    else:
                        effects.add(writer, change)
                elif isinstance(change, UnloggedChange):
                    self._unlogged.append(change)
                elif note := _note(change, self._zone, ignore=ignores_statements):
                    self.notes.append(note)
            # A log that is being written is read again up to the same place.
            self._stop = changes.position or self._stop

    def cascades(self) -> Cascades | None:
        """Follows the tables of foreign keys whose actions may have changed rows.

        The log is read from its beginning if it has no gaps, otherwise from the start. None if
        there is no such key, or the log cannot be read again.
        """
        keys = list(dict.fromkeys(key for one in self._unlogged for key in one.foreign_keys))
        is_read_once = any(hasattr(one, "read") for one in _inputs(self._source))
        if not keys or is_read_once:
            return None
        from binarrow.undo.cascades import INCLUDE  # most reads need none of it

        left_out = ("where", "operations", "gaps")
        keywords = {
            **{name: each for name, each in self._keywords.items() if name not in left_out},
            **UndoWriter.keywords(filtered=False),
            "include": INCLUDE,
            "statements": "skip",
        }
        for start in dict.fromkeys((None, self._start)):
            try:
                cascades = self._followed(keys, start, keywords)
                if cascades.other_keys:
                    keys = [*keys, *sorted(cascades.other_keys, key=repr)]
                    cascades = self._followed(keys, start, keywords)
            except BinarrowError as error:
                place = "its beginning" if start is None else "the start"
                self._unread = f"The log cannot be read from {place}: {error}"
                continue
            self._is_followed = True
            return cascades
        return None

    def _followed(
        self,
        keys: Sequence[ForeignKey],
        start: Position | str | datetime | None,
        keywords: Mapping[str, Any],
    ) -> Cascades:
        from binarrow.undo.cascades import Cascades

        # A history may begin after the log.
        cascades = Cascades(keys, knows_all_keys=self._keywords["history"] is None)
        with _quiet(), _opened(self._source, start, self._stop, keywords) as changes:
            for change in changes:
                cascades.add(change)
        cascades.finish()
        return cascades

    def unknown_effects(self) -> list[str]:
        """Returns a line for each table whose changes have effects that are not known."""
        changed: dict[str, dict[str, None]] = {}
        for one in self._unlogged:
            parent = f"{one.database}.{one.table}"
            if not (self._is_followed and one.foreign_keys and parent in self._tables):
                changed.setdefault(parent, {}).update(dict.fromkeys(one.changed_tables))
        found = [
            f"Not restored: rows of {', '.join(names) or 'other tables'} that foreign keys to"
            f" {parent} may have changed. The log does not contain them. With"
            " --foreign-key-checks the server executes the actions of these keys again."
            for parent, names in sorted(changed.items())
        ]
        return [*found, *filter(None, [self._unread])]


def _inputs(source: Source | Server) -> Iterable[object]:
    if isinstance(source, Mapping):
        return source.values()
    return source if isinstance(source, list | tuple) else [source]


@contextmanager
def _quiet(*, is_repeated: bool = True) -> Iterator[None]:
    """Suppresses the warnings of a log that has been read before."""
    with warnings.catch_warnings():
        if is_repeated:
            warnings.simplefilter("ignore", BinarrowWarning)
        yield


def _opened(
    source: Source | Server,
    start: Position | str | datetime | None,
    stop: Position | str | datetime | None,
    keywords: Mapping[str, Any],
) -> BinlogReader[Any] | Stream[Any]:
    if isinstance(source, Server):
        return source.stream(start or "earliest", stop=stop or "end", **keywords)
    return read_binlog(source, start=start, stop=stop, **keywords)


def _note(change: object, zone: tzinfo | None, *, ignore: bool) -> str | None:
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
    time = change.commit_timestamp.astimezone(zone).isoformat(sep=" ", timespec="seconds")
    place = f"it ends at {change.position}, {time}"
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
