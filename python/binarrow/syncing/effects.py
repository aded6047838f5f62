"""The changes of rows that actions of foreign keys made, and that the log does not contain.

They are computed from the changes of the next commit and the rows that the target has before it,
and are added to these changes, at the places of the deletes that caused them. So they are committed
together with these deletes, like changes of the log.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from binarrow.syncing.actions import Action, actions_of
from binarrow.syncing.clock import AT, Clock
from binarrow.syncing.errors import TargetDiffersError, UnknownEffectsError
from binarrow.syncing.images import Images
from binarrow.syncing.reduce import CHANGE
from binarrow.syncing.snapshot import ReadableTarget

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa

    from binarrow._native import Position, UnloggedChange
    from binarrow.syncing.names import Name
    from binarrow.syncing.snapshot import Snapshot
    from binarrow.syncing.tables import Tables

WHY = "a foreign key changed rows that the log does not contain, and tables are being loaded"

MAX_LEVELS = 50
"""The number of levels of children, for example in a table that refers to itself."""


def add_effects(
    tables: Tables,
    changes: Sequence[UnloggedChange],
    position: Position,
    loading: Collection[Name],
) -> bool:
    """Adds the effects of deletes to the next commit, which contains these deletes.

    Effects that depend on rows that are still to be loaded are found after the loads.

    Args:
        tables: The tables of the target.
        changes: The deletes.
        position: The position of the next commit.
        loading: The tables that were being loaded since the last commit.

    Returns:
        False, without any change, if the effects cannot be computed.
    """
    store = tables.target
    if tables.settings.mode == "history" or not isinstance(store, ReadableTarget):
        return False
    actions = actions_of(tables, changes, position)
    if actions is None:
        return False
    waiting = _waiting(actions, loading, tables)
    known = [one for one in actions if one.table not in waiting]
    if known and not _add(tables, changes, known, store):
        return False
    last = max(one.commit_version for one in changes)
    for name in sorted(waiting):
        sets_null = any(one.sets_null for one in actions if one.table == name)
        tables.repairs.add(name, WHY, last, lacks_deletes=not sets_null, is_loading=True)
    return True


def _waiting(actions: Collection[Action], loading: Collection[Name], tables: Tables) -> set[Name]:
    """Returns the tables whose deleted rows cannot be found before other tables are loaded."""
    children = {one.table for one in actions if not one.sets_null}
    found: set[Name] = set()
    for one in actions:
        needs_rows = not {*one.parent_columns} <= {*tables.records[one.parent].key}
        if one.parent in loading and (one.parent in children or needs_rows):
            found.add(one.table)
    while more := {one.table for one in actions if one.parent in found} - found:
        found |= more
    return found


def _add(
    tables: Tables,
    changes: Sequence[UnloggedChange],
    actions: Collection[Action],
    store: ReadableTarget,
) -> bool:
    names = {one.table for one in actions} | {one.parent for one in actions}
    pending = tables.pending
    if any(pending.has_operation(name) for name in names):
        return False
    rows = {name: pending.rows(tables.records[name]) for name in names}
    clock = Clock(rows.values())
    rows = {name: clock.with_numbers(found) for name, found in rows.items()}
    has_versions = tables.settings.mode == "scd2"
    images = {
        name: Images(tables.records[name], rows[name], actions, has_versions=has_versions)
        for name in names
    }
    try:
        with store.snapshot() as target:
            places = _places(rows, changes, clock)
            deleted = {name: images[name].deleted(found, target) for name, found in places.items()}
            _execute(deleted, actions, images, target)
            effects = {name: list(one.effects(target)) for name, one in images.items()}
    except (UnknownEffectsError, TargetDiffersError):
        return False
    for name, found in effects.items():
        if found:
            pending.replace_rows(tables.records[name], clock.merged(rows[name], found))
    return True


def _places(
    rows: Mapping[Name, pa.Table], changes: Sequence[UnloggedChange], clock: Clock
) -> dict[Name, list[int]]:
    """Returns the indices of the deletes in the changes of each parent.

    Raises:
        UnknownEffectsError: The changes of a table are not in the order of the log, or its deletes
            are in an earlier commit.
    """
    numbers = {name: one.column(AT).to_pylist() for name, one in rows.items()}
    if any(found != sorted(found) for found in numbers.values()):
        raise UnknownEffectsError
    kinds: dict[Name, list[str]] = {}
    places: dict[Name, set[int]] = {}
    for one in changes:
        parent = (one.database, one.table)
        if parent not in rows:
            continue  # only tables that are loaded later refer to it
        wanted = clock.numbers(one.commit_version, one.change_ordinals or (0, -1))
        if parent not in kinds:
            kinds[parent] = rows[parent].column(CHANGE).to_pylist()
        begin = bisect_left(numbers[parent], wanted.start)
        own = range(begin, bisect_left(numbers[parent], wanted.stop))
        found = [place for place in own if kinds[parent][place] == "delete"]
        if not found:
            raise UnknownEffectsError
        places.setdefault(parent, set()).update(found)
    return {name: sorted(found) for name, found in places.items()}


def _execute(
    deleted: Mapping[Name, pa.Table],
    actions: Collection[Action],
    images: Mapping[Name, Images],
    target: Snapshot,
) -> None:
    """Executes actions until they delete no more rows.

    Raises:
        UnknownEffectsError: They cannot be computed with the memory and time of a commit.
    """
    waiting = dict(deleted)
    for _ in range(MAX_LEVELS):
        used = [one for one in actions if one.parent in waiting]
        if not used:
            return
        next_level: dict[Name, pa.Table] = {}
        for child in sorted({one.table for one in used}):
            own = {one: waiting[one.parent] for one in used if one.table == child}
            found = images[child].apply(own, target)
            if found.num_rows:
                next_level[child] = found
        waiting = next_level
    raise UnknownEffectsError


__all__ = ["add_effects"]
