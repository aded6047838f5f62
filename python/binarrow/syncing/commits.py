"""The commits of a sync: when one is due, and what it contains."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from binarrow.syncing.complete_through import CompleteThrough
from binarrow.syncing.names import Name, shown
from binarrow.syncing.operations import State
from binarrow.syncing.structures import existing_tables

if TYPE_CHECKING:
    from datetime import datetime

    from binarrow._native import Position, SchemaChange, Truncate
    from binarrow.server import Server
    from binarrow.syncing.cascades import Cascades
    from binarrow.syncing.source_watch import SourceWatch
    from binarrow.syncing.structures import Structures
    from binarrow.syncing.tables import Tables
    from binarrow.syncing.target import Target

LOG = logging.getLogger("binarrow.sync")

PATIENCE = 0.25
"""Seconds to wait for the source before it is checked whether the sync is to end."""

MAX_ENDS = 10
"""The maximum number of ends of the log after which it is read on to load or repair tables: foreign
keys may change rows all the time."""

IDLE = 60.0
"""Seconds after which the position is committed although no table has changed."""


class Commits:
    """The last commit, and the position and the statements of the next one."""

    def __init__(
        self,
        server: Server,
        target: Target,
        structures: Structures,
        tables: Tables,
        cascades: Cascades,
        watch: SourceWatch,
    ) -> None:
        self.position: Position | None = None
        """The position after all changes of the next commit."""
        self.state: State | None = None
        """The last commit."""
        self._server = server
        self._target = target
        self._structures = structures
        self._tables = tables
        self._cascades = cascades
        self._settings = tables.settings
        self._summary = tables.summary
        self._progress = tables.settings.progress
        self._watch = watch
        self._through = CompleteThrough(watch, self._progress)
        self.left: str | None = None
        """The server of the last run, while the position is in its log."""
        self._markers = (-1, 0)
        self._repeated = 0
        self._committed = time.monotonic()
        self._ends = 0
        """The number of ends of the log after which it was read on."""

    def begin(self) -> None:
        """Begins a run after the last commit."""
        self._through.begin(self.state.complete_through if self.state is not None else None)

    def restore(self, state: State) -> None:
        """Continues after a commit."""
        self._markers, self.position, self.state = state.markers, state.position, state

    def leave_server(self, position: Position) -> None:
        """Continues at a position of another server. No table is loaded before the stream moves."""
        self.position, self.left = position, position.server

    @property
    def has_moved(self) -> bool:
        """True if the sync continues on another server than that of the first commit."""
        is_moved = self.position is not None and self.position.version_shift > 0
        return self.left is not None or is_moved

    @property
    def may_load(self) -> bool:
        """True if there are tables to load, and the position is in the log of the server."""
        has_moved = self.position is None or self.position.server != self.left
        return bool(self._tables.reloads) and (self.left is None or has_moved)

    def begin_stream(self) -> None:
        """Begins to read the log again at the position."""
        self._repeated = 0

    def is_new(self, item: SchemaChange | Truncate) -> bool:
        """True if a statement was not applied before the last start of a stream."""
        version = item.commit_version
        last, count = self._markers
        if version < last:
            return False
        self._repeated = self._repeated + 1 if version == last else 1
        return version != last or self._repeated > count

    def note_statement(self, item: SchemaChange | Truncate) -> None:
        """Notes that a statement was applied."""
        self._markers = (item.commit_version, self._repeated)

    @property
    def is_due(self) -> bool:
        """True if it is time for a commit."""
        # The changes of a table that is to be loaded are left out until then. A mirror needs none
        # of them, so several tables can be loaded after one commit.
        is_urgent = self.may_load and self._settings.mode != "mirror"
        if is_urgent or self._tables.repairs.is_due(self.position):
            return True
        pending = self._tables.pending
        if not pending.is_empty:
            return pending.is_due
        waited = time.monotonic() - self._committed
        if (self.may_load or self._cascades.has_changes) and waited >= self._settings.every:
            return True
        return self._is_position_due(waited)

    def _is_position_due(self, waited: float) -> bool:
        """True if it is time to commit the position, without changes of tables."""
        is_idle = waited > max(IDLE, self._settings.every)
        state, position = self.state, self.position
        if position is None or state is None:
            return is_idle
        if state.position.loading is not None and position.loading is None:
            return True  # a load has ended
        is_new = position != state.position
        return is_idle and (is_new or self._complete_through(position) != state.complete_through)

    def note_position(self, position: Position | None, *, is_idle: bool) -> None:
        """Notes up to when all changes have arrived; without changes, no commit is needed."""
        self.position = position = self._not_before_last(position)
        if position is None:
            return
        self._through.pass_to(position)
        state = self.state
        is_loaded = state is not None and state.position.loading is None
        if is_idle and is_loaded and self._tables.pending.is_empty:
            self._progress.reached(position, self._complete_through(position))

    def commit_end(self, position: Position | None) -> bool:
        """Commits at the end of a stream; see :meth:`commit`.

        Returns true too if the log must be read on because tables are to be repaired.
        """
        self.position = self._not_before_last(position)
        is_again = self.commit()
        repairs = self._tables.repairs
        while not is_again and repairs.is_waiting:
            while not repairs.wait(PATIENCE):
                if self._settings.is_stopped():
                    return False
            if not repairs.is_due(self.position):
                break
            is_again = self.commit()
        if not (is_again or repairs.is_waiting or self.may_load):
            return False
        self._ends += 1
        if self._ends > MAX_ENDS:
            LOG.warning("tables are not complete yet: the next sync continues to repair them")
            return False
        return True

    def _not_before_last(self, position: Position | None) -> Position | None:
        """Returns the position of a stream, or that of the last commit if the stream is before it.

        MariaDB finds a GTID with an index. It may begin to send the log at a place before the
        GTID, which is then the place of the stream until the next transaction.
        """
        last = self.state.position if self.state is not None else None
        if position is None or last is None or last.gtid_set is None:
            return position
        is_same = (last.server, last.gtid_set) == (position.server, position.gtid_set)
        places = [(one.file_number or 0, one.offset) for one in (position, last)]
        if not is_same or places[0] >= places[1]:
            return position
        return position.replace(file=last.file, offset=last.offset, file_created=last.file_created)

    def _complete_through(self, position: Position) -> datetime | None:
        return self._through.at(position, self._tables.records.values())

    def commit(self) -> bool:
        """Commits all changes so far, with the position after them.

        Returns true if rows are to be read again: the stream must start again, at `position`.
        """
        position = self.position
        if position is None:
            return False
        tables = self._tables
        tables.settle(position)
        tables.repairs.note_changes()
        self._cascades.settle(position)
        tables.end_loads(position)
        loads: list[Name] = []
        if not self.may_load:
            tables.defer_loads()
        else:
            existing = existing_tables(self._server, self._settings)
            loads = tables.loads(position, [(one.database, one.table) for one in existing])
        if loads:
            position = position.with_load([shown(name) for name in loads])
        operations = tables.pending.take()
        through = self._through.of_commit(position, tables.records.values())
        state = State(self._settings.mode, position, self._markers, dict(tables.records), through)
        seconds = None
        if operations or state != self.state:
            start = time.monotonic()
            committed = None if self.state is None else self.state.position
            copy = self._structures.copy(position, committed)
            failed = self._target.commit(operations, state, copy)
            seconds = time.monotonic() - start
            self._summary.commits += 1
            for record in failed.values():
                tables.park(record.name, record.reason)
            state = replace(state, records={**state.records, **failed})
        self.state, self.position = state, position
        self._summary.position, self._summary.complete_through = position, through
        self._committed = time.monotonic()
        self._summary.note(tables.records.values())
        self._progress.committed(state, seconds)
        if loads:
            self._watch.wake()
        self._settings.on_commit(self._summary)
        tables.repairs.compare(self._server, position)
        return bool(loads)

    def commit_parked(self) -> None:
        """Stores which tables are parked, with the position of the last commit."""
        if self.state is not None:
            state = replace(self.state, records=dict(self._tables.records))
            self._target.commit([], state, None)
            self.state = state


__all__ = ["Commits"]
