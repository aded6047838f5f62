"""Deletes whose effects on other tables, by foreign keys, are repeated in the target.

The rows of the tables concerned are written up to the delete, then the actions of the foreign keys
are executed on them, as on the server. This is exact for foreign keys of integers and of binary
strings: other values can be equal on the server and different in the target.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, TypeAlias

from binarrow._native import ForeignKey, UnloggedChange
from binarrow.syncing.names import Name, split
from binarrow.syncing.operations import Cascade, Record, Reference
from binarrow.syncing.reduce import CHANGE, ORDINAL, VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.syncing.pending import Pending
    from binarrow.syncing.tables import Tables

Place: TypeAlias = tuple[int, int]
"""The version of a change's transaction, and its ordinal there."""

Plan: TypeAlias = dict[Name, tuple[Reference, ...]]
"""For each table of which rows are deleted, the actions of the foreign keys."""

MAX_STEPS = 1000
"""The number of parts into which the rows of a commit are divided; above it they are read again."""


def repeat(tables: Tables, changes: list[UnloggedChange]) -> bool:
    """Adds deletes and their effects to the next commit, whose rows are all those before it.

    Returns false, and does nothing, if the effects cannot be computed exactly.
    """
    plan = _plan(tables, changes) if tables.repeats_deletes else None
    if plan is None:
        return False
    pending = tables.pending
    names = {*plan, *(one.table for references in plan.values() for one in references)}
    if any(pending.has_operation(name) for name in names):
        return False
    rows = {name: _Rows(tables.records[name], pending) for name in names}
    steps = _steps(changes, rows, plan)
    if steps is None:
        return False
    for name in names:
        pending.remove_rows(name)
    for parent, place, indices in steps:
        for one in rows.values():
            one.write_up_to(place)
        pending.add(Cascade(parent, rows[parent].all.take(indices), plan[parent]))
    for one in rows.values():
        one.keep_rest()
    return True


def _steps(
    changes: list[UnloggedChange], rows: dict[Name, _Rows], plan: Plan
) -> list[tuple[Name, Place, list[int]]] | None:
    """Divides the deleted rows so that no row of a table that they affect is between two of a step.

    A step is a table, the place of its last delete, and the indices of the deleted rows. None if
    there are too many steps, or if a change has no deleted rows: they were committed before.
    """
    if not all(one.is_sorted for one in rows.values()):
        return None
    deletes: list[tuple[Place, Name, int]] = []
    for one in changes:
        found = list(_deletes(one, rows[one.database, one.table]))
        if not found:
            return None
        deletes += found
    children = {one.table for references in plan.values() for one in references}
    written = sorted(place for name in children for place in rows[name].places)
    steps = []
    grouped = groupby(sorted(set(deletes)), lambda one: (one[1], bisect_left(written, one[0])))
    for (parent, _), same in grouped:
        step = list(same)
        steps.append((parent, step[-1][0], [index for _, _, index in step]))
    return steps if len(steps) <= MAX_STEPS else None


def _deletes(change: UnloggedChange, rows: _Rows) -> Iterator[tuple[Place, Name, int]]:
    """Returns the place of each deleted row, and its index in the changes of its table."""
    parent, (first, last) = (change.database, change.table), change.change_ordinals or (0, -1)
    begin = bisect_left(rows.places, (change.commit_version, first))
    end = bisect_right(rows.places, (change.commit_version, last))
    kinds = rows.all.column(CHANGE).slice(begin, end - begin).to_pylist()
    for index, kind in enumerate(kinds, begin):
        if kind == "delete":
            yield rows.places[index], parent, index


class _Rows:
    """The changes of a table for the next commit, in the order of the log."""

    def __init__(self, record: Record, pending: Pending) -> None:
        self.record = record
        self._pending = pending
        self.all = pending.rows(record)
        versions = self.all.column(VERSION).to_pylist()
        self.places: list[Place] = list(
            zip(versions, self.all.column(ORDINAL).to_pylist(), strict=True)
        )
        self.is_sorted = all(one <= other for one, other in pairwise(self.places))
        self._written = 0

    def write_up_to(self, place: Place) -> None:
        """Adds the changes up to a place to the operations of the next commit."""
        self._add(bisect_right(self.places, place))
        self._pending.finish(self.record.name)

    def keep_rest(self) -> None:
        """Adds the other changes to the rows of the next commit."""
        self._add(len(self.places))

    def _add(self, end: int) -> None:
        part = self.all.slice(self._written, end - self._written)
        self._written = end
        for batch in part.to_batches():
            self._pending.add_rows(self.record, batch)


def _plan(tables: Tables, changes: list[UnloggedChange]) -> Plan | None:
    """Returns the actions of deletes; None if they cannot be repeated exactly."""
    plan: Plan = {}
    known: dict[Name, tuple[ForeignKey, ...]] = {}
    for one in changes:
        parent = (one.database, one.table)
        if one.operation != "delete" or one.change_ordinals is None:
            return None
        if known.setdefault(parent, one.foreign_keys) != one.foreign_keys:
            return None  # a statement has changed them
        if parent not in plan:
            references = _references(tables, parent, one.foreign_keys)
            if not references:
                return None
            plan[parent] = references
    return plan


def _references(
    tables: Tables, parent: Name, keys: tuple[ForeignKey, ...]
) -> tuple[Reference, ...] | None:
    """Returns the actions of a delete; None if they cannot be repeated exactly."""
    done: set[Name] = set()
    found: list[Reference] = []
    waiting = [parent]
    while waiting:
        table = waiting.pop()
        if table in done:
            continue
        done.add(table)
        for key in keys:
            if split(key.parent) != table or key.on_delete == "restrict":
                continue
            reference = _reference(tables, key)
            if reference is None:
                return None
            if reference.sets_null and any(_refers_to(other, key) for other in keys):
                return None
            found.append(reference)
            if not reference.sets_null:
                waiting.append(reference.table)
    return tuple(found)


def _reference(tables: Tables, key: ForeignKey) -> Reference | None:
    """Returns the action of a foreign key; None if it cannot be repeated exactly."""
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
    sets_null = key.on_delete == "set_null"
    return Reference(name, columns, parent_name, parent_columns, sets_null=sets_null)


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
    """True if values are equal in the target if they are equal on the server."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_binary(kind))


__all__ = ["repeat"]
