"""Follows a server: one stream for all tables, and commits of a target."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

from binarrow._native import (
    BinarrowError,
    BinarrowWarning,
    ChangeBatch,
    Position,
    PositionPurgedError,
    SchemaChange,
    SchemaError,
    ServerIdentityError,
    Truncate,
    UnloggedChange,
    UnmatchedPatternWarning,
)
from binarrow.syncing.cascades import Cascades
from binarrow.syncing.commits import Commits
from binarrow.syncing.errors import SyncError, TableError
from binarrow.syncing.names import Name, Selection, shown, split
from binarrow.syncing.operations import parked
from binarrow.syncing.rows import ENVELOPE, PREFIX
from binarrow.syncing.starting import Start
from binarrow.syncing.statements import Statements
from binarrow.syncing.structures import TYPES, Structures, existing_tables
from binarrow.syncing.summary import SyncSummary
from binarrow.syncing.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from binarrow._native import MarkerKind
    from binarrow.server import Server
    from binarrow.stream import Stream
    from binarrow.syncing.operations import State
    from binarrow.syncing.settings import Settings
    from binarrow.syncing.source_watch import SourceWatch
    from binarrow.syncing.target import Target

ITEMS: Sequence[MarkerKind] = ("schema_change", "truncate", "unlogged_change")
"""The items of a stream; the last one is not for a history."""

BATCH_ROWS = 1 << 16
"""The maximum number of rows by which a commit can exceed its limit."""

STARTS = 20
"""The maximum number of starts after one commit if a table to load is missing at each of them."""

PATIENCE = 0.25
"""Seconds to wait for changes before it is checked whether the sync is to end."""


class Follower:
    """A running sync."""

    def __init__(
        self,
        server: Server,
        target: Target,
        settings: Settings,
        structures: Structures,
        selection: Selection,
        watch: SourceWatch,
    ) -> None:
        self._server = server
        self._settings = settings
        self._structures = structures
        self._summary = SyncSummary()
        self._tables = Tables(target, settings, structures, selection, self._summary)
        self._statements = Statements(self._tables)
        self._cascades = Cascades(self._tables)
        self._commits = Commits(server, target, structures, self._tables, self._cascades, watch)
        self._start = Start(server, target, structures, self._tables, self._commits)
        self._parked: list[tuple[Name, Position | None]] = []
        """Tables that were parked while a commit was written, and the commit before it."""
        self._excluded: set[Name] = set()
        """Parked tables whose rows the stream cannot return: it leaves them out from then on."""
        self._starts: tuple[Position | None, int] = (None, 0)
        """A commit, and the number of starts after it at which a table to load was missing."""

    def run(self, state: State | None) -> SyncSummary:
        """Loads and follows, until the end or until the sync is stopped."""
        start = time.monotonic()
        self._commits.state = state
        try:
            while not self._run():
                pass
        finally:
            self._tables.repairs.clear()
        self._summary.note(self._tables.records.values())
        self._summary.seconds = time.monotonic() - start
        return self._summary

    def _run(self) -> bool:
        """Continues at the last commit; returns False if a table was parked and this is to repeat.

        Most errors of a table are found before its changes are added to a commit. Others are found
        while the commit is prepared or written: nothing of it is used then.
        """
        self._commits.begin()
        try:
            if self._commits.state is None:
                self._start.begin()
            else:
                self._start.resume(self._commits.state)
            while not self._follow():
                pass
        except TableError as error:
            self._park(error, error.table)
            return False
        except BinarrowError as error:  # of the stream
            if error.table is None:
                raise
            self._exclude(error, error.table)
            return False
        return True

    def _exclude(self, error: BinarrowError, name: Name) -> None:
        """Parks a table whose rows the stream cannot return, and continues without it.

        An exclusion by a name with the characters of patterns could leave out other tables too.

        Raises:
            BinarrowError: This is not possible.
        """
        is_pattern = any(letter in part for part in name for letter in "*?,")
        is_stop = self._settings.on_table_error == "stop"
        if is_stop or is_pattern or name in self._excluded:
            raise error
        self._excluded.add(name)
        if not self._tables.is_parked(name):
            self._park(error, name)
        self._end_load(name)

    def _end_load(self, name: Name) -> None:
        """Ends the load of a table, at the last commit. The load of others begins again."""
        state = self._commits.state
        loading = {split(text) for text in (state and state.position.loading) or ()}
        if state is None or name not in loading:
            return
        self._tables.restore(state.records)
        self._commits.restore(state)
        self._cascades.begin(state.position)
        self._begin_loads(loading - {name}, state.position)
        self._commits.commit()

    def _begin_loads(self, names: set[Name], position: Position) -> None:
        """Loads tables from their first rows in the stream after the next commit, and no others."""
        self._tables.begin_loads(names)
        self._commits.position = position.without_load()

    def _park(self, error: BinarrowError, name: Name) -> None:
        """Returns to the last commit, and parks a table there.

        Raises:
            BinarrowError: Tables are not parked, or this table was parked already.
        """
        state = self._commits.state
        known = self._tables.records
        committed = {} if state is None else state.records
        both = [one.get(name) for one in (known, committed)]
        is_parked = all(one is not None and one.status == "parked" for one in both)
        place = (name, None if state is None else state.position)
        is_repeated = place in self._parked
        is_hopeless = is_repeated and name not in self._tables.wanted
        if self._settings.on_table_error == "stop" or is_parked or is_hopeless:
            raise error
        self._parked.append(place)
        if is_repeated:  # a statement did not help
            self._tables.wanted.discard(name)
        if state is None:  # the target has no tables yet
            none = {one: record for one, record in known.items() if record.status == "parked"}
            committed = {one: parked(None, one, record.reason) for one, record in none.items()}
        self._start.forget_wanted(name)
        self._tables.restore(committed)
        self._tables.park(name, str(error))
        self._structures.copy_again()
        self._commits.commit_parked()

    def _follow(self) -> bool:
        """Follows until the end; returns False if the stream must start again."""
        self._commits.begin_stream()
        if self._commits.position is not None:
            self._cascades.begin(self._commits.position)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", ".*no SchemaChange is returned", BinarrowWarning)
            warnings.simplefilter("ignore", UnmatchedPatternWarning)  # there are no changes
            try:
                with self._stream() as stream, self._settings.progress.reading(stream):
                    return self._loop(stream)
            except SchemaError as error:
                if not (self._has_lost_tables() or self._is_replaced(error)):
                    raise
                return False
            except (PositionPurgedError, ServerIdentityError) as error:
                error.add_note(
                    "the position is that of the target: if the server lost the log, remove the"
                    " target, and begin with a new one"
                )
                raise

    def _stream(self) -> Stream[Any]:
        if self._commits.position is None:
            raise SyncError("the log has no position")
        is_history = self._settings.mode == "history"
        excluded = (*self._settings.exclude_tables, *map(shown, sorted(self._excluded)))
        return self._server.stream(
            self._commits.position,
            stop=self._end() if self._settings.once else None,
            locks=self._settings.locks,
            max_rows_per_second=self._settings.max_rows_per_second,
            rows_from=self._settings.rows_from,
            include=ITEMS[:2] if is_history else ITEMS,
            history=self._structures.history,
            types=TYPES,
            batch_rows=min(self._settings.max_rows_per_commit, BATCH_ROWS),
            envelope=list(ENVELOPE),
            envelope_prefix=PREFIX,
            old_value=is_history,
            unlogged_changes="warn",
            tables=self._settings.tables or None,
            exclude_tables=excluded or None,
        )

    def _end(self) -> Position | str:
        """Returns the end of a stream that is not to continue: the present end of the log.

        If tables are compared with the source, it is the place at which that ends, and no later
        one: new changes of foreign keys can make other comparisons necessary.
        """
        until, position = self._tables.repairs.until, self._commits.position
        is_loading = position is not None and position.loading is not None
        return "end" if until is None or is_loading else until

    def _has_lost_tables(self) -> bool:
        """Begins a load again if tables of it do not exist any more."""
        state = self._commits.state
        position = state.position if state is not None else None
        if position is None or not position.loading:
            return False
        loading = {split(text) for text in position.loading}
        tables = existing_tables(self._server, self._settings)
        existing = {(one.database, one.table) for one in tables}
        if loading <= existing or not self._tables.pending.is_empty:
            return False
        self._begin_loads(loading, position)
        self._commits.commit()
        return True

    def _is_replaced(self, error: SchemaError) -> bool:
        """True if a table to load was missing when the stream started, and exists again.

        A session may drop a table and create it again at this moment. The stream starts again at
        the same position.
        """
        state = self._commits.state
        position = None if state is None else state.position
        loading = {split(text) for text in (position and position.loading) or ()}
        if error.table not in loading or not self._tables.pending.is_empty:
            return False
        known, starts = self._starts
        self._starts = (position, starts + 1 if position == known else 1)
        return self._starts[1] < STARTS

    def _loop(self, stream: Stream[Any]) -> bool:
        while True:
            try:
                item = stream.poll(PATIENCE)
            except StopIteration:
                return not self._commits.commit_end(stream.position)
            if isinstance(item, ChangeBatch):
                self._tables.add_rows(item)
            elif isinstance(item, UnloggedChange):
                self._cascades.add(item)
            elif item is not None:
                self._apply(item)
            self._commits.note_position(stream.position, is_idle=item is None)
            may_commit = self._cascades.may_commit(self._commits.position)
            if self._settings.is_stopped():
                if may_commit:
                    self._commits.commit()
                return True
            if may_commit and self._commits.is_due and self._commits.commit():
                return False

    def _apply(self, item: SchemaChange | Truncate) -> None:
        """Applies a statement, unless it was applied before the last start of a stream."""
        if self._commits.is_new(item):
            if isinstance(item, SchemaChange):
                self._cascades.note_statement(item)
            self._statements.apply(item, self._commits.position)
            self._commits.note_statement(item)


__all__ = ["Follower"]
