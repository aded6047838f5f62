"""Follows a server: one stream for all tables, and commits of a target."""

from __future__ import annotations

import logging
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from binarrow._native import (
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
from binarrow.syncing.complete_through import CompleteThrough
from binarrow.syncing.errors import SyncError, TableError
from binarrow.syncing.keyless import load_keyless
from binarrow.syncing.names import Name, Selection, check_letter_case, shown, split
from binarrow.syncing.operations import Clear, State
from binarrow.syncing.rows import ENVELOPE, PREFIX
from binarrow.syncing.statements import Statements
from binarrow.syncing.structures import TYPES, Structures, is_sequence
from binarrow.syncing.summary import SyncSummary
from binarrow.syncing.tables import Tables, parked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from binarrow._native import MarkerKind, TableSchema
    from binarrow.server import Server
    from binarrow.stream import Stream
    from binarrow.syncing.settings import Settings
    from binarrow.syncing.source_watch import SourceWatch
    from binarrow.syncing.target import Target

LOG = logging.getLogger("binarrow.sync")

ITEMS: Sequence[MarkerKind] = ("schema_change", "truncate", "unlogged_change")
"""The items of a stream; the last one is not for a history."""

PATIENCE = 0.25
"""Seconds to wait for changes before it is checked whether the sync is to end."""

IDLE = 60.0
"""Seconds after which the position is committed although no table has changed."""


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
        self._target = target
        self._settings = settings
        self._structures = structures
        self._selection = selection
        self._summary = SyncSummary()
        self._tables = Tables(target, settings, structures, selection, self._summary)
        self._statements = Statements(self._tables)
        self._cascades = Cascades(self._tables)
        self._position: Position | None = None
        """The position after all changes of the next commit."""
        self._state: State | None = None
        """The last commit."""
        self._wanted: set[Name] | None = None
        """Tables that the next commit begins to load again; None before they are known."""
        self._parked: list[tuple[Name, Position | None]] = []
        """Tables that were parked while a commit was written, and the commit before it."""
        self._markers = (-1, 0)
        self._repeated = 0
        self._committed = time.monotonic()
        self._progress = settings.progress
        self._watch = watch
        self._through = CompleteThrough(watch, settings.progress)

    def run(self, state: State | None) -> SyncSummary:
        """Loads and follows, until the end or until the sync is stopped."""
        start = time.monotonic()
        self._state = state
        while not self._run():
            pass
        self._summary.note(self._tables.records.values())
        self._summary.seconds = time.monotonic() - start
        return self._summary

    def _run(self) -> bool:
        """Continues at the last commit; returns False if a table was parked and this is to repeat.

        Most errors of a table are found before its changes are added to a commit. Others are found
        while the commit is prepared or written: nothing of it is used then.
        """
        self._through.begin(self._state.complete_through if self._state is not None else None)
        try:
            if self._state is None:
                self._begin()
            else:
                self._continue(self._state)
            while not self._follow():
                pass
        except TableError as error:
            self._park(error)
            return False
        return True

    def _park(self, error: TableError) -> None:
        """Returns to the last commit, and parks a table there.

        Raises:
            TableError: Tables are not parked, or this table was parked already.
        """
        name = error.table
        known = self._tables.records
        committed = {} if self._state is None else self._state.records
        both = [one.get(name) for one in (known, committed)]
        is_parked = all(one is not None and one.status == "parked" for one in both)
        place = (name, None if self._state is None else self._state.position)
        is_repeated = place in self._parked
        is_hopeless = is_repeated and name not in self._tables.wanted
        if self._settings.on_table_error == "stop" or is_parked or is_hopeless:
            raise error
        self._parked.append(place)
        if is_repeated:  # a statement did not help
            self._tables.wanted.discard(name)
        if self._state is None:  # the target has no tables yet
            none = {one: record for one, record in known.items() if record.status == "parked"}
            committed = {one: parked(None, one, record.reason) for one, record in none.items()}
        self._wanted = None if self._wanted is None else self._wanted - {name}
        self._tables.restore(committed)
        self._tables.park(name, str(error))
        self._structures.copy_again()
        if self._state is not None:
            state = replace(self._state, records=dict(self._tables.records))
            self._target.commit([], state, None)
            self._state = state

    # ------------------------------------------------------------------------------ start

    def _begin(self) -> None:
        """Checks the tables of the server, and creates those of a new target."""
        self._check_settings()
        tables = self._existing_tables()
        if not tables:
            raise SyncError(
                "the server has no table that tables= selects, or the user has no SELECT on it"
            )
        names = [(table.database, table.table) for table in tables]
        check_letter_case(names)
        for table in tables:
            with self._tables.parking():
                self._tables.check_key(table)
        try:
            self._target.check_free(names)
        except TableError as error:  # the target may belong to another program
            raise SyncError(str(error)) from None
        self._position = self._structures.history.baseline(self._server)
        for name in self._structures.tables(self._position, self._selection):
            if not self._tables.is_parked(name):
                self._create(name, self._position)
        self._commit()
        self._load_keyless()

    def _create(self, name: Name, position: Position) -> None:
        """Creates a table in the target, and loads it."""
        with self._tables.parking():
            self._tables.create(name, position)
            self._want_load(name)

    def _check_settings(self) -> None:
        """Checks that the log contains all rows.

        Raises:
            SyncError: A setting of the server must be changed first.
        """
        wanted = {"binlog_format": "ROW", "binlog_row_image": "FULL"}
        for name, value in self._server.variables(*wanted).items():
            if value.upper() != wanted[name]:
                raise SyncError(
                    f"{name} is {value} on this server: SET GLOBAL {name} = {wanted[name]}, write"
                    " it into the server's option file, and let all clients connect again"
                )

    def _continue(self, state: State) -> None:
        """Compares the tables that are selected with those of the target."""
        self._tables.restore(state.records)
        self._markers, self._position, self._state = state.markers, state.position, state
        for name, record in state.records.items():
            may_follow = record.is_followed or record.status == "parked"
            if may_follow and not self._selection.has(name):
                LOG.warning("%s is not selected any more: its rows stay", shown(name))
                self._tables.put(replace(record, status="left out"))
        existing = {(one.database, one.table) for one in self._existing_tables()}
        if self._wanted is None:
            self._wanted = self._chosen(existing)
            self._tables.wanted = set(self._wanted)
            for name, record in self._tables.records.items():
                if record.status == "parked" and name not in self._wanted:
                    LOG.warning("%s is parked since an earlier run: %s", shown(name), record.reason)
        names = existing & {*self._structures.tables(state.position, self._selection)}
        for name in sorted(self._wanted - names):
            self._tables.forget(name)
        for name in sorted(names):
            known = state.records.get(name)
            is_new = known is None or known.status not in {"followed", "parked"}
            if is_new or name in self._wanted:
                self._create(name, state.position)
        self._commit()
        self._wanted = set()
        self._load_keyless()

    def _want_load(self, name: Name) -> None:
        """Loads a table, in the stream or, if it has no key, before it."""
        record = self._tables.records[name]
        if record.key:
            self._tables.reloads.add(name)
            return
        known = self._state.records.get(name) if self._state is not None else None
        is_loaded = known is not None and known.loaded_version >= 0
        if known is not None and (is_loaded or known.status not in {"incomplete", "parked"}):
            raise TableError(
                name, f"{shown(name)} has no key and cannot be loaded again: use another target"
            )
        self._tables.put(replace(record, status="incomplete"), Clear(name))

    def _chosen(self, names: set[Name]) -> set[Name]:
        """Returns the tables of the server that are to be loaded again.

        Raises:
            SyncError: There are none.
        """
        if not self._settings.reload:
            return set()
        selection = Selection(self._settings.reload, (), ignores_case=self._selection.ignores_case)
        found = {name for name in names if selection.has(name)}
        if not found:
            raise SyncError(
                "the server has no table that reload= and tables= select: correct the name, or"
                " leave reload= out"
            )
        return found

    def _load_keyless(self) -> None:
        for name, record in list(self._tables.records.items()):
            if record.status == "incomplete" and not record.key:
                with self._tables.parking():
                    load_keyless(
                        self._server, self._tables, name, TYPES, self._settings.locks, self._commit
                    )

    def _existing_tables(self) -> list[TableSchema]:
        """Returns the selected tables that the server has now."""
        tables = self._server.schemas(**self._patterns()).tables
        return [table for table in tables if not is_sequence(table)]

    def _patterns(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "tables": settings.tables or None,
            "exclude_tables": settings.exclude_tables or None,
        }

    # ------------------------------------------------------------------------------ the stream

    def _follow(self) -> bool:
        """Follows until the end; returns False if the stream must start again."""
        self._repeated = 0
        if self._position is not None:
            self._cascades.begin(self._position)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", ".*no SchemaChange is returned", BinarrowWarning)
            warnings.simplefilter("ignore", UnmatchedPatternWarning)  # there are no changes
            try:
                with self._stream() as stream, self._progress.reading(stream):
                    return self._loop(stream)
            except SchemaError:
                if not self._has_lost_tables():
                    raise
                return False
            except (PositionPurgedError, ServerIdentityError) as error:
                error.add_note(
                    "the position is that of the target: if the server lost the log, remove the"
                    " target, and begin with a new one"
                )
                raise

    def _stream(self) -> Stream[Any]:
        if self._position is None:
            raise SyncError("the log has no position")
        is_history = self._settings.mode == "history"
        return self._server.stream(
            self._position,
            stop="end" if self._settings.once else None,
            locks=self._settings.locks,
            max_rows_per_second=self._settings.max_rows_per_second,
            rows_from=self._settings.rows_from,
            include=ITEMS[:2] if is_history else ITEMS,
            history=self._structures.history,
            types=TYPES,
            envelope=list(ENVELOPE),
            envelope_prefix=PREFIX,
            old_value=is_history,
            unlogged_changes="warn",
            **self._patterns(),
        )

    def _has_lost_tables(self) -> bool:
        """Begins a load again if tables of it do not exist any more."""
        position = self._state.position if self._state is not None else None
        if position is None or not position.loading:
            return False
        loading = {split(text) for text in position.loading}
        existing = {(one.database, one.table) for one in self._existing_tables()}
        if loading <= existing or not self._tables.pending.is_empty:
            return False
        self._tables.reloads |= loading
        self._position = Position(position.file, position.offset).replace(
            server=position.server,
            gtid_set=position.gtid_set,
            file_created=position.file_created,
            version_shift=position.version_shift,
        )
        self._commit()
        return True

    def _loop(self, stream: Stream[Any]) -> bool:
        while True:
            try:
                item = stream.poll(PATIENCE)
            except StopIteration:
                self._position = stream.position
                return not self._commit()
            if isinstance(item, ChangeBatch):
                self._tables.add_rows(item)
            elif isinstance(item, UnloggedChange):
                self._cascades.add(item)
            elif item is not None:
                self._apply(item)
            self._position = stream.position
            self._note_position(is_idle=item is None)
            may_commit = self._cascades.may_commit(self._position)
            if self._settings.is_stopped():
                if may_commit:
                    self._commit()
                return True
            if may_commit and (self._tables.reloads or self._is_due()) and self._commit():
                return False

    def _is_due(self) -> bool:
        pending = self._tables.pending
        if not pending.is_empty:
            return pending.is_due
        is_idle = time.monotonic() - self._committed > max(IDLE, self._settings.every)
        state, position = self._state, self._position
        if position is None or state is None:
            return is_idle
        if state.position.loading is not None and position.loading is None:
            return True  # a load has ended
        is_new = position != state.position
        return is_idle and (is_new or self._complete_through(position) != state.complete_through)

    def _note_position(self, *, is_idle: bool) -> None:
        """Notes up to when all changes have arrived; without changes, no commit is needed."""
        if self._position is None:
            return
        self._through.pass_to(self._position)
        state = self._state
        is_loaded = state is not None and state.position.loading is None
        if is_idle and is_loaded and self._tables.pending.is_empty:
            self._progress.reached(self._position, self._complete_through(self._position))

    def _complete_through(self, position: Position) -> datetime | None:
        return self._through.at(position, self._tables.records.values())

    def _apply(self, item: SchemaChange | Truncate) -> None:
        """Applies a statement, unless it was applied before the last start of a stream."""
        version = item.commit_version
        last, count = self._markers
        if version < last:
            return
        self._repeated = self._repeated + 1 if version == last else 1
        if version == last and self._repeated <= count:
            return
        self._statements.apply(item, self._position)
        self._markers = (version, self._repeated)

    def _commit(self) -> bool:
        """Commits all changes so far, with the position after them.

        Returns true if rows are to be read again: the stream must start again, at `position`.
        """
        position = self._position
        if position is None:
            return False
        tables = self._tables
        tables.settle(position)
        self._cascades.settle(position)
        tables.end_loads(position)
        loads: list[Name] = []
        if tables.reloads:
            existing = {(one.database, one.table) for one in self._existing_tables()}
            loads = tables.loads(position, existing)
        if loads:
            position = position.with_load([shown(name) for name in loads])
        operations = tables.pending.take()
        through = self._through.of_commit(position, tables.records.values())
        state = State(self._settings.mode, position, self._markers, dict(tables.records), through)
        seconds = None
        if operations or state != self._state:
            start = time.monotonic()
            failed = self._target.commit(operations, state, self._structures.copy(position))
            seconds = time.monotonic() - start
            self._summary.commits += 1
            for record in failed.values():
                tables.park(record.name, record.reason)
            state = replace(state, records={**state.records, **failed})
        self._state, self._position = state, position
        self._summary.position, self._summary.complete_through = position, through
        self._committed = time.monotonic()
        self._summary.note(tables.records.values())
        self._progress.committed(state, seconds)
        if loads:
            self._watch.wake()
        self._settings.on_commit(self._summary)
        return bool(loads)


__all__ = ["Follower"]
