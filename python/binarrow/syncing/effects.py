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
from binarrow.syncing.errors import TargetDiffersError
from binarrow.syncing.images import Images, TooManyError, parent_columns
from binarrow.syncing.reduce import CHANGE
from binarrow.syncing.snapshot import ReadableTarget

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa

    from binarrow._native import UnloggedChange
    from binarrow.syncing.names import Name
    from binarrow.syncing.snapshot import Snapshot
    from binarrow.syncing.tables import Tables

MAX_ROUNDS = 50
"""The number of searches for rows that refer to deleted rows. A tree needs one for each level."""


def add_effects(tables: Tables, changes: Sequence[UnloggedChange]) -> bool:
    """Adds the effects of deletes to the next commit, which contains these deletes.

    Returns false, and does nothing, if they cannot be computed exactly.
    """
    store = tables.target
    mode = tables.settings.mode
    if mode == "history" or not isinstance(store, ReadableTarget):
        return False
    actions = actions_of(tables, changes) or frozenset()
    names = {one.table for one in actions} | {one.parent for one in actions}
    pending = tables.pending
    if not actions or any(pending.has_operation(name) for name in names):
        return False
    rows = {name: pending.rows(tables.records[name]) for name in names}
    clock = Clock(rows.values())
    rows = {name: clock.with_numbers(found) for name, found in rows.items()}
    deleted = _deleted(rows, changes, clock, actions)
    if deleted is None:
        return False
    children = {one.table for one in actions}
    images = {
        name: Images(tables.records[name], rows[name], actions, has_versions=mode == "scd2")
        for name in children
    }
    try:
        with store.snapshot() as target:
            _execute(deleted, actions, images, target)
            effects = {name: list(one.effects(target)) for name, one in images.items()}
    except (TooManyError, TargetDiffersError):
        return False
    for name, found in effects.items():
        if found:
            pending.replace_rows(tables.records[name], clock.merged(rows[name], found))
    return True


def _deleted(
    rows: Mapping[Name, pa.Table],
    changes: Sequence[UnloggedChange],
    clock: Clock,
    actions: Collection[Action],
) -> dict[Name, pa.Table] | None:
    """Returns the deleted rows of each parent, with the columns that foreign keys refer to, and AT.

    None if the changes of a table are not in the order of the log, or if a change has no deleted
    rows: they were committed before.
    """
    numbers = {name: one.column(AT).to_pylist() for name, one in rows.items()}
    if any(found != sorted(found) for found in numbers.values()):
        return None
    kinds: dict[Name, list[str]] = {}
    places: dict[Name, set[int]] = {}
    for one in changes:
        parent = (one.database, one.table)
        wanted = clock.numbers(one.commit_version, one.change_ordinals or (0, -1))
        if parent not in kinds:
            kinds[parent] = rows[parent].column(CHANGE).to_pylist()
        begin = bisect_left(numbers[parent], wanted.start)
        own = range(begin, bisect_left(numbers[parent], wanted.stop))
        found = [place for place in own if kinds[parent][place] == "delete"]
        if not found:
            return None
        places.setdefault(parent, set()).update(found)
    return {
        name: rows[name].take(sorted(found)).select([*parent_columns(actions, name), AT])
        for name, found in places.items()
    }


def _execute(
    deleted: Mapping[Name, pa.Table],
    actions: Collection[Action],
    images: Mapping[Name, Images],
    target: Snapshot,
) -> None:
    """Executes actions until they delete no more rows.

    Raises:
        TooManyError: The effects cannot be computed with the memory and time of a commit.
    """
    import pyarrow as pa

    waiting = dict(deleted)
    for _ in range(MAX_ROUNDS):
        if not waiting:
            return
        parent = next(iter(waiting))
        rows = waiting.pop(parent)
        own = [one for one in actions if one.parent == parent]
        for child in sorted({one.table for one in own}):
            found = images[child].apply([one for one in own if one.table == child], rows, target)
            if found.num_rows and any(one.parent == child for one in actions):
                others = [waiting[child]] if child in waiting else []
                waiting[child] = pa.concat_tables([*others, found])
    raise TooManyError


__all__ = ["add_effects"]
