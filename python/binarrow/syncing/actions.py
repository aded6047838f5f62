"""The actions of foreign keys that sync computes exactly: ON DELETE CASCADE and ON DELETE SET NULL.

The values must be integers or binary strings. Other values can be equal on the server and
different in Arrow, for example texts of different letter case.

<https://dev.mysql.com/doc/refman/8.4/en/create-table-foreign-keys.html>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binarrow.syncing.names import Name, split

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import ForeignKey, UnloggedChange
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


def actions_of(tables: Tables, changes: Sequence[UnloggedChange]) -> frozenset[Action] | None:
    """Returns the actions of deletes; None if one of them cannot be computed exactly."""
    found: set[Action] = set()
    known: dict[Name, tuple[ForeignKey, ...]] = {}
    for one in changes:
        parent = (one.database, one.table)
        if one.operation != "delete" or one.change_ordinals is None:
            return None
        if parent in known:
            if known[parent] != one.foreign_keys:
                return None  # a statement has changed them
            continue
        known[parent] = one.foreign_keys
        actions = _actions(tables, parent, one.foreign_keys)
        if not actions:
            return None
        found.update(actions)
    return frozenset(found)


def _actions(tables: Tables, parent: Name, keys: tuple[ForeignKey, ...]) -> list[Action] | None:
    """Returns the actions of a delete, and of the deletes that it causes."""
    found: list[Action] = []
    seen = {parent}
    waiting = [parent]
    while waiting:
        table = waiting.pop()
        for key in keys:
            if split(key.parent) != table or key.on_delete == "restrict":
                continue
            action = _action(tables, key)
            if action is None:
                return None
            if action.sets_null and any(_refers_to(other, key) for other in keys):
                return None
            found.append(action)
            if not action.sets_null and action.table not in seen:
                seen.add(action.table)
                waiting.append(action.table)
    return None if _is_ambiguous(found) else found


def _action(tables: Tables, key: ForeignKey) -> Action | None:
    """Returns the action of a foreign key; None if it cannot be computed exactly."""
    name, parent_name = split(key.table), split(key.parent)
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
    if not all(_is_exact(kind) for kind in types):
        return None
    return Action(name, columns, parent_name, parent_columns, key.on_delete == "set_null")


def _is_ambiguous(actions: Sequence[Action]) -> bool:
    """True if one action sets a column to NULL that another action of the same table reads."""
    return any(
        one.sets_null
        and one != other
        and one.table == other.table
        and not {*one.columns}.isdisjoint(other.columns)
        for one in actions
        for other in actions
    )


def _refers_to(key: ForeignKey, changed: ForeignKey) -> bool:
    """True if a key refers to columns that the action of another key sets to NULL."""
    refers = {name.lower() for name in key.parent_columns}
    changes = {name.lower() for name in changed.columns}
    is_child = split(key.parent) == split(changed.table)
    return is_child and key.on_update != "restrict" and bool(refers & changes)


def _columns(record: Record, names: Iterable[str]) -> tuple[str, ...] | None:
    """Returns the columns of a table in its own letter case; None if the values are not known."""
    known = [name for name in record.schema.names if name not in record.unknown_columns]
    own = {name.lower(): name for name in known}
    found = [own.get(name.lower()) for name in names]
    return None if None in found else tuple(name for name in found if name is not None)


def _is_exact(kind: pa.DataType) -> bool:
    """True if values are equal in Arrow if they are equal on the server."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_binary(kind))


__all__ = ["Action", "actions_of"]
