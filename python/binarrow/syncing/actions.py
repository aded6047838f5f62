"""The actions of foreign keys that sync can compute: ON DELETE CASCADE and ON DELETE SET NULL.

<https://dev.mysql.com/doc/refman/8.4/en/create-table-foreign-keys.html>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binarrow.syncing.foreign_key_values import is_comparable
from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from binarrow._native import ForeignKey, Position, UnloggedChange
    from binarrow.syncing.operations import Record
    from binarrow.syncing.tables import Tables


@dataclass(frozen=True)
class Action:
    """The effect of a foreign key on rows if the rows that they refer to are deleted."""

    table: Name
    """The table whose rows are deleted, or get NULL."""
    columns: tuple[str, ...]
    parent: Name
    parent_columns: tuple[str, ...]
    sets_null: bool
    """True for SET NULL, False for CASCADE."""


def actions_of(
    tables: Tables, changes: Sequence[UnloggedChange], position: Position
) -> frozenset[Action] | None:
    """Returns the actions of deletes; None if one of them cannot be computed.

    Args:
        tables: The tables of the target.
        changes: The deletes.
        position: A position after them, at which the tables have the structures of then.
    """
    found: set[Action] = set()
    known: dict[Name, frozenset[ForeignKey]] = {}
    seen: set[tuple[str, str, tuple[ForeignKey, ...], tuple[str, ...]]] = set()
    for one in changes:
        if one.operation != "delete" or one.change_ordinals is None:
            return None
        cause = (one.database, one.table, one.foreign_keys, tuple(one.changed_tables))
        if cause in seen:
            continue
        seen.add(cause)
        keys = _keys_by_parent(tables, one.foreign_keys)
        actions = _actions(tables, (one.database, one.table), keys, position)
        if actions is None or _followed(tables, one) - {action.table for action in actions}:
            return None
        if any(_changes_key_of(tables, one.foreign_keys, action) for action in actions):
            return None
        deleted = {action.table for action in actions if not action.sets_null}
        for name in deleted | {(one.database, one.table)}:
            own = frozenset(keys.get(name, ()))
            if known.setdefault(name, own) != own:
                return None  # a statement has changed them
        found.update(actions)
    if not found or _is_ambiguous(found) or _has_generated_columns(tables, found, position):
        return None
    return frozenset(found)


def _followed(tables: Tables, change: UnloggedChange) -> set[Name]:
    """Returns the tables that a delete may have changed, and that the target follows."""
    names = {tables.name_of(text) for text in change.changed_tables}
    return {name for name in names if tables.followed(name)}


def _changes_key_of(tables: Tables, keys: Iterable[ForeignKey], action: Action) -> bool:
    """True if an action sets columns to NULL to which a foreign key with ON UPDATE refers."""
    if not action.sets_null:
        return False
    changed = {name.lower() for name in action.columns}
    return any(
        tables.name_of(key.parent) == action.table
        and key.on_update != "restrict"
        and not changed.isdisjoint(name.lower() for name in key.parent_columns)
        for key in keys
    )


def _keys_by_parent(tables: Tables, keys: Iterable[ForeignKey]) -> dict[Name, list[ForeignKey]]:
    """Returns the foreign keys that have an action ON DELETE, by the tables that they refer to."""
    found: dict[Name, list[ForeignKey]] = {}
    for key in keys:
        if key.on_delete != "restrict":
            found.setdefault(tables.name_of(key.parent), []).append(key)
    return found


def _actions(
    tables: Tables, parent: Name, keys: dict[Name, list[ForeignKey]], position: Position
) -> list[Action] | None:
    """Returns the actions of a delete, and of the deletes that it causes."""
    found: list[Action] = []
    seen = {parent}
    waiting = [parent]
    while waiting:
        for key in keys.get(waiting.pop(), ()):
            if not _reaches_followed(tables, key, keys):
                continue
            action = _action(tables, key, position)
            if action is None:
                return None
            found.append(action)
            if not action.sets_null and action.table not in seen:
                seen.add(action.table)
                waiting.append(action.table)
    return found


def _reaches_followed(tables: Tables, key: ForeignKey, keys: dict[Name, list[ForeignKey]]) -> bool:
    """True if the action of a foreign key changes rows of a table that the target follows."""
    seen: set[Name] = set()
    waiting = [key]
    while waiting:
        one = waiting.pop()
        table = tables.name_of(one.table)
        if tables.followed(table) is not None:
            return True
        if one.on_delete == "cascade" and table not in seen:
            seen.add(table)
            waiting += keys.get(table, ())
    return False


def _action(tables: Tables, key: ForeignKey, position: Position) -> Action | None:
    """Returns the action of a foreign key; None if it cannot be computed."""
    name, parent_name = tables.name_of(key.table), tables.name_of(key.parent)
    table, parent = tables.followed(name), tables.followed(parent_name)
    is_known = key.on_delete in {"cascade", "set_null"}
    if not is_known or table is None or parent is None or {name, parent_name} & tables.reloads:
        return None
    columns = _columns(table, key.columns)
    parent_columns = _columns(parent, key.parent_columns)
    if columns is None or parent_columns is None:
        return None
    types = [table.schema.field(column).type for column in columns]
    if types != [parent.schema.field(column).type for column in parent_columns]:
        return None
    own = _are_comparable(tables, table, columns, position)
    if not own or not _are_comparable(tables, parent, parent_columns, position):
        return None
    return Action(name, columns, parent_name, parent_columns, key.on_delete == "set_null")


def _is_ambiguous(actions: Iterable[Action]) -> bool:
    """True if an action sets a column to NULL that another one reads."""
    return any(_reads(other, one) for one in actions if one.sets_null for other in actions)


def _reads(action: Action, other: Action) -> bool:
    own = {*other.columns}
    is_child = action != other and action.table == other.table
    is_parent = action.parent == other.table
    return (is_child and not own.isdisjoint(action.columns)) or (
        is_parent and not own.isdisjoint(action.parent_columns)
    )


def _has_generated_columns(tables: Tables, actions: Iterable[Action], position: Position) -> bool:
    """True if the server may compute values from a column that an action sets to NULL."""
    for name in {one.table for one in actions if one.sets_null}:
        table = tables.structures.find(name, position)
        if table is None or any(column.generated is not None for column in table.columns):
            return True
    return False


def _columns(record: Record, names: Iterable[str]) -> tuple[str, ...] | None:
    """Returns the columns of a table in its own letter case; None if the values are not known."""
    known = [name for name in record.schema.names if name not in record.unknown_columns]
    own = {name.lower(): name for name in known}
    found = [own.get(name.lower()) for name in names]
    return None if None in found else tuple(name for name in found if name is not None)


def _are_comparable(
    tables: Tables, record: Record, names: Iterable[str], position: Position
) -> bool:
    """True if the values of columns can be compared as the server compares them."""
    structure = tables.structures.find(record.name, position)
    if structure is None:
        return False
    known = {column.name: column for column in structure.columns}
    return all(
        name in known and is_comparable(record.schema.field(name).type, known[name])
        for name in names
    )


__all__ = ["Action", "actions_of"]
