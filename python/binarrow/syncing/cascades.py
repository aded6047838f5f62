"""Rows that the actions of foreign keys change, and that the log does not contain.

MySQL before 9.6, and MariaDB, do not log them. The effects of deletes are computed where this is
exact; in all other cases, the tables concerned are repaired.

<https://dev.mysql.com/doc/refman/8.4/en/create-table-foreign-keys.html>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binarrow._native import Position, SchemaChange, UnloggedChange
from binarrow.syncing.effects import add_effects
from binarrow.syncing.errors import SyncError
from binarrow.syncing.names import Name, split
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    from binarrow.syncing.tables import Tables

WHY = "a foreign key changed rows that the log does not contain"

OVERFLOW = 2
"""Rows are collected up to this multiple of a commit's limits, so that no commit divides the
effects of a transaction."""

LEAST_ROWS = 250_000
"""Rows are collected up to this number, even if the limit of a commit is much smaller."""


class Cascades:
    """The changes of parents whose effects are not in the log, since the last commit."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._found: list[UnloggedChange] = []
        self._altered: set[Name] = set()
        """Tables that statements altered after the first of these changes."""
        self._is_divided = False
        """True if the last commit may contain deletes whose effects it does not contain."""
        self._loading: set[Name] = set()
        """The tables that were being loaded at the last commit."""

    def begin(self, position: Position) -> None:
        """Begins to follow the log at a position."""
        self._found = []
        self._altered = set()
        self._is_divided = bool(position.ahead)
        self._loading = _loading(position)

    def add(self, change: UnloggedChange) -> None:
        """Adds a change.

        Raises:
            SyncError: The tables that it concerns are not known.
        """
        if not change.changed_tables:
            raise SyncError(
                f"{change.database}.{change.table}: a foreign key refers to it, rows of it were"
                f" changed ({change.operation}), and the history does not contain the foreign key:"
                " begin with a new target"
            )
        if any(self._tables.followed(name) for name in self._names(change)):
            self._found.append(change)

    def note_statement(self, statement: SchemaChange) -> None:
        """Notes a statement before it is applied.

        The effects of earlier changes depend on columns that it may change. Tables that it renames
        are read again: the changes so far have their old names.
        """
        if not self._found:
            return
        self._altered.update(split(text) for text in statement.tables)
        renamed = {split(old) for old, _ in statement.renames}
        for name in sorted(renamed & {name for one in self._found for name in self._names(one)}):
            if self._tables.followed(name):
                self._tables.reload(name, WHY)

    @property
    def has_changes(self) -> bool:
        """True if there are changes of parents whose effects are not in a commit yet."""
        return bool(self._found)

    def may_commit(self, position: Position | None) -> bool:
        """True if the changes up to a position are complete, or too many to wait for more."""
        if not self._found or (position is not None and not position.ahead):
            return True
        return self._tables.pending.is_larger_than(OVERFLOW, LEAST_ROWS)

    def settle(self, position: Position) -> None:
        """Adds the effects of all transactions before a position to the next commit."""
        is_divided = self._is_divided or bool(self._found and position.ahead)
        self._is_divided = is_divided and bool(position.ahead)
        last = version_before(position)
        complete = [one for one in self._found if one.commit_version <= last]
        self._found = [one for one in self._found if one.commit_version > last]
        loading = self._loading | _loading(position)
        self._loading = _loading(position)
        for group in self._components(complete):
            names = {name for one in group for name in self._all_names(one)}
            is_altered = not names.isdisjoint(self._altered)
            if is_divided or is_altered or not add_effects(self._tables, group, position, loading):
                self._repair(group)
        if not self._found:
            self._altered.clear()

    def _repair(self, group: list[UnloggedChange]) -> None:
        """Compares the keys of tables, or reads their rows again."""
        only_deletes = self._only_deletes(group)
        last = max(one.commit_version for one in group)
        for name in sorted({name for one in group for name in self._names(one)}):
            if self._tables.followed(name):
                lacks_deletes = name in only_deletes
                self._tables.repairs.add(
                    name, WHY, last, lacks_deletes=lacks_deletes, is_loading=False
                )

    def _only_deletes(self, group: list[UnloggedChange]) -> set[Name]:
        """Returns the tables of which foreign keys can only have deleted rows."""
        if any(one.operation != "delete" for one in group):
            return set()
        keys = {key for one in group for key in one.foreign_keys}
        changes_keys = any(key.on_delete.startswith("set_") for key in keys) and any(
            key.on_update != "restrict" for key in keys
        )
        if changes_keys:
            return set()
        others = {key.table for key in keys if key.on_delete not in {"restrict", "cascade"}}
        listed = {key.table for key in keys} - others
        return {self._tables.name_of(text) for text in listed}

    def _names(self, change: UnloggedChange) -> set[Name]:
        return {self._tables.name_of(text) for text in change.changed_tables}

    def _all_names(self, change: UnloggedChange) -> set[Name]:
        return {(change.database, change.table), *self._names(change)}

    def _components(self, changes: list[UnloggedChange]) -> list[list[UnloggedChange]]:
        """Divides changes into groups that have no table in common."""
        groups: list[tuple[set[Name], list[UnloggedChange]]] = []
        for one in changes:
            names = self._all_names(one)
            same = [group for group in groups if group[0] & names]
            if not same:
                groups.append((names, [one]))
                continue
            first, *others = same
            first[0].update(names, *(other_names for other_names, _ in others))
            for _, other in others:
                first[1].extend(other)
            first[1].append(one)
            groups = [group for group in groups if not any(group is other for other in others)]
        return [group for _, group in groups]


def _loading(position: Position) -> set[Name]:
    return {split(text) for text in position.loading or ()}


__all__ = ["Cascades"]
