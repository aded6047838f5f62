"""The start of a sync: the tables of a new target, and the changed selection of another."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from binarrow.syncing.errors import SyncError, TableError
from binarrow.syncing.keyless import load_keyless
from binarrow.syncing.names import Name, Selection, check_letter_case, shown, split
from binarrow.syncing.operations import Clear, State
from binarrow.syncing.structures import TYPES, existing_tables
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    from binarrow._native import Position
    from binarrow.server import Server
    from binarrow.syncing.commits import Commits
    from binarrow.syncing.structures import Structures
    from binarrow.syncing.tables import Tables
    from binarrow.syncing.target import Target

LOG = logging.getLogger("binarrow.sync")


class Start:
    """The work before the log is read."""

    def __init__(
        self,
        server: Server,
        target: Target,
        structures: Structures,
        tables: Tables,
        commits: Commits,
    ) -> None:
        self._server = server
        self._target = target
        self._structures = structures
        self._tables = tables
        self._selection = tables.selection
        self._settings = tables.settings
        self._commits = commits
        self._wanted: set[Name] | None = None
        """Tables that the next commit begins to load again; None before they are known."""

    def forget_wanted(self, name: Name) -> None:
        """Does not load a table again that could not be loaded."""
        if self._wanted is not None:
            self._wanted.discard(name)

    def begin(self) -> None:
        """Checks the tables of the server, and creates those of a new target."""
        self._check_settings()
        tables = existing_tables(self._server, self._settings)
        if not tables:
            raise SyncError(
                "the server has no table that tables= selects, or the user has no SELECT on it"
            )
        names = [(table.database, table.table) for table in tables]
        check_letter_case(names)
        for table in tables:
            with self._tables.parking():
                self._structures.check_key(table, self._tables.settings.mode)
        try:
            self._target.check_free(names)
        except TableError as error:  # the target may belong to another program
            raise SyncError(str(error)) from None
        position = self._commits.position = self._structures.history.baseline(self._server)
        for name in self._structures.tables(position, self._selection):
            if not self._tables.is_parked(name):
                self._create(name, position)
        self._commits.commit()
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

    def resume(self, state: State) -> None:
        """Compares the tables that are selected with those of the target."""
        self._tables.restore(state.records)
        self._commits.restore(state)
        old = state.position.server
        is_first = self._wanted is None  # later, the stream may have moved to another server
        if old not in {None, self._server.id} and (is_first or self._commits.left == old):
            self._change_server(state)
        for name, record in state.records.items():
            may_follow = record.is_followed or record.status == "parked"
            if may_follow and not self._selection.has(name):
                LOG.warning("%s is not selected any more: its rows stay", shown(name))
                self._tables.put(replace(record, status="left out", lacks_deletes=False))
        tables = existing_tables(self._server, self._settings)
        existing = {(one.database, one.table) for one in tables}
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
            self._resume_table(name, state)
        self._commits.commit()
        self._wanted = set()
        self._load_keyless()

    def _resume_table(self, name: Name, state: State) -> None:
        """Continues to follow a table, to load it, or to repair it."""
        known, repairs = state.records.get(name), self._tables.repairs
        if self._wanted and name in self._wanted:
            self._create(name, state.position)
        elif known is None or known.status not in {"followed", "parked"}:
            lacks_deletes = known is not None and known.lacks_deletes and known.is_followed
            if not (lacks_deletes and repairs.can_compare):
                self._create(name, state.position)
                return
            why, version = "an earlier run has not repaired it", version_before(state.position)
            repairs.add(name, why, version, lacks_deletes=True, is_loading=False)

    def _change_server(self, state: State) -> None:
        """Prepares to continue on another server, by GTID. Loads begin again there.

        Raises:
            SyncError: The rows that a load has written cannot be replaced.
        """
        position = state.position
        LOG.warning(
            "the target is at a position of the server %s, and this is %s: the sync continues there"
            " by GTID",
            position.server,
            self._server.id,
        )
        loading = {split(text) for text in position.loading or ()}
        if self._settings.mode == "history":
            last = version_before(position)
            keyless = {
                name
                for name, one in state.records.items()
                if not one.key and (one.status == "incomplete" or one.loaded_version > last)
            }
            if loading | keyless:
                raise SyncError(
                    f"the history has a part of the rows of {shown(min(loading | keyless))} from"
                    f" the server {position.server}, and a load cannot continue on another server:"
                    " sync from that server until the load is complete, or use another target"
                )
        self._structures.extend(position)
        self._commits.leave_server(position.without_load())
        self._tables.begin_loads(loading)

    def _want_load(self, name: Name) -> None:
        """Loads a table, in the stream or, if it has no key, before it."""
        record = self._tables.records[name]
        if record.key:
            self._tables.reloads.add(name)
            return
        state = self._commits.state
        known = state.records.get(name) if state is not None else None
        is_loaded = known is not None and known.loaded_version >= 0
        if known is not None and (is_loaded or known.status not in {"incomplete", "parked"}):
            raise TableError(
                name, f"{shown(name)} has no key and cannot be loaded again: use another target"
            )
        if self._commits.has_moved:  # versions of its rows would be those of the new server alone
            raise TableError(
                name,
                f"{shown(name)} has no key and cannot be loaded, because the sync has continued on"
                " another server: use another target",
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
                        self._server,
                        self._tables,
                        name,
                        TYPES,
                        self._settings.locks,
                        self._commits.commit,
                    )


__all__ = ["Start"]
