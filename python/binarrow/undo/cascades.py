"""The rows that unlogged actions of foreign keys changed, found by following the log.

The log contains the change of the row that a foreign key refers to, and earlier images of rows that
refer to it. A row is found only if it certainly existed, and had these values, when the action was
executed; in all other cases it is forgotten.

<https://dev.mysql.com/doc/refman/8.4/en/create-table-foreign-keys.html>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from binarrow._native import (
    ChangeBatch,
    ForeignKey,
    SchemaChange,
    SkippedStatement,
    Truncate,
    UndoWriter,
    UnloggedChange,
)
from binarrow.undo.images import Rows, cells
from binarrow.undo.key_values import Values
from binarrow.undo.known_rows import Image, KnownRow, KnownRows, columns_of, fields_of

if TYPE_CHECKING:
    import pyarrow as pa

Name: TypeAlias = str
"""``database.table``."""

Place: TypeAlias = tuple[int, int]
"""The version of a change's transaction, and its ordinal there."""

INCLUDE = ("schema_change", "truncate", "skipped_statement", "unlogged_change")
"""The items that must be read, in addition to rows."""

MAX_DEPTH = 16
"""The number of tables through which servers execute actions."""


@dataclass(frozen=True)
class Effect:
    """A row that an action changed."""

    key: ForeignKey
    before: Image
    after: Image | None
    """None if the action deleted the row."""


@dataclass
class Hit:
    """The effects of a change of a row."""

    effects: list[Effect] = field(default_factory=list)
    """In the order in which they can be executed, all of them before the change."""
    keys: dict[ForeignKey, bool] = field(default_factory=dict)
    """The foreign keys whose actions were executed: true if all rows are in `effects`."""


@dataclass(frozen=True)
class _Change:
    """A row of a batch."""

    rows: Rows
    row: int
    version: int

    def values(self, side: str, columns: Sequence[str]) -> Values:
        return self.rows.values(side, self.row, columns)


class Cascades:
    """Follows the rows of the tables that foreign keys connect, in the order of the log."""

    def __init__(self, keys: Iterable[ForeignKey], *, knows_all_keys: bool) -> None:
        """Begins before the first change.

        Args:
            keys: The foreign keys whose actions are executed.
            knows_all_keys: True if all foreign keys of their tables are known at any place.
        """
        self._knows_all_keys = knows_all_keys
        self.keys = tuple(dict.fromkeys(keys))
        self.hits: dict[Name, dict[Place, Hit]] = {}
        """The effects of changes, by the table and the place of a change."""
        self.other_keys: set[ForeignKey] = set()
        """Foreign keys of earlier changes, whose rows were forgotten."""
        self.contradicted: set[Name] = set()
        """Tables whose rows the log shows otherwise than the actions leave them."""
        self._tables = {
            name: KnownRows(key for key in self.keys if key.table == name)
            for name in {key.table for key in self.keys}
        }
        self._parents = {key.parent for key in self.keys}
        self._fields: dict[Name, dict[str, pa.Field]] = {}
        self._uncertain: dict[ForeignKey, int] = {}
        """The latest version in which a foreign key's action may have changed unknown rows."""
        self._part: int | None = None
        self._changes: list[tuple[Place, Name, _Change]] = []
        self._items: list[Any] = []
        self._unlogged: list[UnloggedChange] = []

    def add(self, change: Any) -> None:
        """Adds a batch, or an item of INCLUDE."""
        if isinstance(change, UnloggedChange):
            self._unlogged.append(change)
            self.other_keys |= {*change.foreign_keys} - {*self.keys}
            return
        if not isinstance(change, ChangeBatch):
            self._items.append(change)
            return
        name = f"{change.database}.{change.table}"
        if name not in self._tables and name not in self._parents:
            return
        part = UndoWriter.part(change)
        if part != self._part:
            self._settle(is_last=False)
            self._part = part
        rows = Rows(change)
        self._changes += [
            (place, name, _Change(rows, row, place[0])) for row, place in enumerate(rows.places())
        ]

    def finish(self) -> None:
        """Follows the rest of the log."""
        self._settle(is_last=True)

    def _settle(self, *, is_last: bool) -> None:
        self._changes.sort(key=lambda one: one[0])
        end = self._changes[-1][0] if self._changes else (-1, -1)
        version = None if is_last else end[0]
        items, self._items = _divided(self._items, version)
        unlogged, self._unlogged = _divided(self._unlogged, version)
        causes = _Causes(unlogged)
        found = {(name, place[0]) for place, name, _ in self._changes}
        events: list[tuple[Place, int, Any, Any]] = [
            (place, 1, name, change) for place, name, change in self._changes
        ]
        events += [((one.commit_version, -1), 0, one, None) for one in items]
        for one in unlogged:
            if not one.foreign_keys or (_name(one), one.commit_version) not in found:
                events.append(((one.commit_version, -1), 0, one, None))
            if one.change_ordinals is None:
                events.append(((one.commit_version, 1 << 62), 0, one, None))
        self._changes = []
        for place, _, one, change in sorted(events, key=lambda event: event[:2]):
            if change is None:
                self._follow_item(one)
            else:
                self._follow(one, place, change, causes)

    def _follow_item(self, item: Any) -> None:
        match item:
            case UnloggedChange():
                self._forget_effects(item)
            case SkippedStatement():
                self._forget(self._tables)
            case Truncate():
                if (known := self._tables.get(_name(item))) is not None:
                    known.reset()
            case SchemaChange(kind="create"):
                # With IF NOT EXISTS, the table may have rows.
                if item.changes_rows or "EXISTS" not in item.statement.upper():
                    for name in self._tables.keys() & {*item.tables}:
                        self._tables[name].reset()
            case SchemaChange(kind=kind) if kind != "truncate":
                prefix = f"{item.database}."
                self._forget(item.tables or [one for one in self._tables if one.startswith(prefix)])

    def _follow(self, name: Name, place: Place, change: _Change, causes: _Causes) -> None:
        side = change.rows.side(change.row)
        structure = change.rows.structure
        known = self._tables.get(name)
        first = None
        if known is not None:
            known.use(structure)
            first = self._change_own(name, known, change)
        if name not in self._parents or not change.rows.has("before", change.row):
            return
        cause = causes.of(name, place)
        if cause is None:
            return
        self._fields[name] = fields_of(structure)
        operation = "update" if side == "after" else "delete"
        if operation != cause.operation or cause.change_ordinals is None:
            self._forget_effects(cause)
            return
        hit = Hit()
        self._act(name, change, operation, first, cause.foreign_keys, hit)
        if hit.keys:
            self.hits.setdefault(name, {})[place] = hit

    def _change_own(self, name: Name, known: KnownRows, change: _Change) -> int | None:
        """Changes the known rows as the log does.

        Returns the version since which the row is known.
        """
        if not known.is_usable:
            return None
        rows, row = change.rows, change.row
        old = before = None
        if rows.has("before", row):
            before = change.values("before", known.key_columns)
            references = tuple(change.values("before", one) for one in known.reference_columns)
            old = known.pop(before)
            is_full = rows.is_full("before", row)
            if before in known.acted:
                if is_full and known.acted.pop(before) != references:
                    self.contradicted.add(name)
                    self._forget([name])
            elif old is None or (is_full and old.references != references):
                known.is_complete = False
        if rows.has("after", row):
            after = change.values("after", known.key_columns)
            if not rows.is_full("after", row):
                known.drop(after)
                known.is_complete = False
                return None
            if before is None:
                known.is_complete &= after not in known.rows
                known.acted.pop(after, None)
            references = tuple(change.values("after", one) for one in known.reference_columns)
            is_same = old is not None and before == after
            first = old.first if old is not None and is_same else change.version
            image = Image(rows.batch, "after", row)
            known.put(after, KnownRow(image, references, first, change.version))
        return None if old is None else old.first

    def _act(
        self,
        name: Name,
        change: _Change,
        operation: str,
        first: int | None,
        keys: Sequence[ForeignKey],
        hit: Hit,
    ) -> None:
        """Executes the actions that a logged change of a row causes."""
        for key in keys:
            if key.parent != name:
                continue
            columns = columns_of(self._fields[name], key.parent_columns)
            action = key.on_delete if operation == "delete" else key.on_update
            if columns is None:
                self._forget([key.table])
                hit.keys[key] = False
                continue
            old = change.values("before", columns)
            new = change.values("after", columns) if operation == "update" else None
            if action != "restrict" and old != new and None not in old:
                self._execute(key, _Parent(name, columns, old, new, first), keys, hit, change)

    def _execute(
        self,
        key: ForeignKey,
        parent: _Parent,
        keys: Sequence[ForeignKey],
        hit: Hit,
        change: _Change,
    ) -> None:
        known = self._tables.get(key.table)
        action = key.on_delete if parent.new is None else key.on_update
        sets = action != "cascade" or parent.new is not None
        found = None
        is_possible = action in ("cascade", "set_null") and not (
            sets and any(_refers_to(other, key) for other in self.keys)
        )
        if known is not None and known.is_usable and is_possible and key in known.foreign_keys:
            fields = [self._fields[parent.name][column] for column in parent.columns]
            found = known.referring(key, parent.old, fields)
        if known is None or found is None:
            hit.keys[key] = False
            self._forget([key.table])
            return
        for own in found:
            row = known.rows.get(own)
            if row is None:
                continue  # another action has deleted it
            if not self._is_certain(known, row, key, parent.first):
                known.drop(own)
                continue
            known.pop(own)
            if sets:
                values = parent.new if action == "cascade" else None
                after = _changed(known, row, key, values)
                hit.effects.append(Effect(key, row.image, after.image))
                new = _key_after(known, own, key, values)
                known.acted[own] = None
                known.put(new, after)
                known.acted[new] = after.references
            else:
                known.acted[own] = None
                self._fields[key.table] = known.fields
                self._act_on(key.table, row, keys, hit, change)
                hit.effects.append(Effect(key, row.image, None))
        if not known.is_complete and not sets:
            self._note_unknown(key.table, change.version, set())
        hit.keys[key] = hit.keys.get(key, True) and known.is_complete

    def _act_on(
        self, name: Name, row: KnownRow, keys: Sequence[ForeignKey], hit: Hit, change: _Change
    ) -> None:
        """Executes the actions that the delete of a row by an action causes."""
        for key in keys:
            if key.parent != name or key.on_delete == "restrict":
                continue
            columns = columns_of(self._fields[name], key.parent_columns)
            if columns is None:
                self._forget([key.table])
                hit.keys[key] = False
                continue
            image = row.image
            logged = cells(image.batch, image.side, image.row, columns)
            old = tuple(
                image.changed.get(column, value)
                for column, value in zip(columns, logged, strict=True)
            )
            if None not in old:
                self._execute(key, _Parent(name, columns, old, None, row.first), keys, hit, change)

    def _is_certain(
        self,
        known: KnownRows,
        row: KnownRow,
        via: ForeignKey | None,
        first: int | None,
        depth: int = 0,
    ) -> bool:
        """True if no action on unknown rows can have changed a row since its latest image.

        Such an action deletes rows that refer to an unknown row. So the row exists if the row that
        it refers to has been known since then.
        """
        for place, key in enumerate(known.foreign_keys):
            since = self._uncertain.get(key)
            values = row.references[place]
            if since is None or row.latest > since or None in values:
                continue
            known_since = first if key == via else self._known_since(key, values, depth)
            if known_since is None or known_since > row.latest:
                return False
        return True

    def _known_since(self, key: ForeignKey, values: Values, depth: int) -> int | None:
        parent = self._tables.get(key.parent)
        if parent is None or depth > MAX_DEPTH:
            return None
        columns = columns_of(parent.fields, key.parent_columns)
        row = parent.rows.get(values) if columns == parent.key_columns else None
        if row is None or not self._is_certain(parent, row, None, None, depth + 1):
            return None
        return row.first

    def _note_unknown(self, name: Name, version: int, seen: set[Name]) -> None:
        """Notes that unknown rows of a table were deleted."""
        seen.add(name)
        for key in self.keys:
            if key.parent == name and key.on_delete != "restrict":
                self._uncertain[key] = version
                self._tables[key.table].is_complete = False
                if key.table not in seen:
                    self._note_unknown(key.table, version, seen)

    def _forget_effects(self, change: UnloggedChange) -> None:
        if change.foreign_keys or change.changed_tables:
            self._forget(change.changed_tables)
        elif not self._knows_all_keys:
            self._forget(self._tables)

    def _forget(self, names: Iterable[Name]) -> None:
        """Forgets the rows of tables, and of those whose rows refer to them."""
        waiting, seen = list(names), set[Name]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if (known := self._tables.get(name)) is not None:
                known.forget()
            waiting += [key.table for key in self.keys if key.parent == name]


@dataclass(frozen=True)
class _Parent:
    """A row to which others refer, before a change and after it."""

    name: Name
    columns: tuple[str, ...]
    old: Values
    new: Values | None
    first: int | None
    """The version since which the row is known."""


class _Causes:
    """The changes whose effects are not logged, by their places."""

    def __init__(self, unlogged: Iterable[UnloggedChange]) -> None:
        self._by_version: dict[tuple[Name, int], list[UnloggedChange]] = {}
        for one in unlogged:
            self._by_version.setdefault((_name(one), one.commit_version), []).append(one)

    def of(self, name: Name, place: Place) -> UnloggedChange | None:
        """Returns the item for a row; None if its effects are logged, or if it has none."""
        for one in self._by_version.get((name, place[0]), ()):
            first, last = one.change_ordinals or (0, place[1])
            if first <= place[1] <= last:
                return one
        return None


def _divided(items: list[Any], version: int | None) -> tuple[list[Any], list[Any]]:
    """Divides items into those up to a version, all if it is None, and the others."""
    first: list[Any] = []
    rest: list[Any] = []
    for one in items:
        (first if version is None or one.commit_version <= version else rest).append(one)
    return first, rest


def _changed(known: KnownRows, row: KnownRow, key: ForeignKey, values: Values | None) -> KnownRow:
    """Returns a row after an action that sets the columns of a foreign key."""
    columns = known.reference_columns[known.foreign_keys.index(key)]
    new = dict(zip(columns, values or (None,) * len(columns), strict=True))
    references = tuple(
        tuple(new.get(column, value) for column, value in zip(names, old, strict=True))
        for names, old in zip(known.reference_columns, row.references, strict=True)
    )
    image = replace(row.image, changed={**row.image.changed, **new})
    return replace(row, image=image, references=references)


def _key_after(known: KnownRows, own: Values, key: ForeignKey, values: Values | None) -> Values:
    columns = known.reference_columns[known.foreign_keys.index(key)]
    new = dict(zip(columns, values or (None,) * len(columns), strict=True))
    return tuple(
        new.get(column, value) for column, value in zip(known.key_columns, own, strict=True)
    )


def _refers_to(key: ForeignKey, changed: ForeignKey) -> bool:
    """True if a key refers to columns that the action of another key sets."""
    refers = {name.lower() for name in key.parent_columns}
    changes = {name.lower() for name in changed.columns}
    return key.parent == changed.table and key.on_update != "restrict" and bool(refers & changes)


def _name(item: UnloggedChange | Truncate) -> Name:
    return f"{item.database}.{item.table}"


__all__ = ["INCLUDE", "Cascades", "Effect", "Hit"]
