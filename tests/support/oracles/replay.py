"""Tables rebuilt from change batches, from empty.

    tables = replay(binarrow.read_binlog(files, envelope=ENVELOPE), statements)
    tables["shop.orders"].content(("id", "total"))

The replay is strict: an image that says what a row was must find that very row, order must rise,
an update keeps its key. Whatever does not fit is an `AssertionError`. What an after image leaves
out is as it was before (and what `json="diff"` gives is applied to what was before); in a new row
it is what `defaults` says: `{"shop.orders": {"note": None}}`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa

import binarrow
from support.oracles.cells import Cell, column_cells
from support.oracles.json_diff import is_diff, patched

Row = tuple[Cell, ...]
Names = tuple[str, ...]

ENVELOPE = ("change_type", "commit_version", "change_ordinal", "present")

TRUNCATED = re.compile(r"(?:use `(?P<database>[^`]+)`; )?TRUNCATE TABLE (?P<table>\w+)\Z")


@dataclass(frozen=True)
class Change:
    """One row of a batch."""

    kind: str
    version: int
    ordinal: int
    row: Row
    present: list[bool]


@dataclass
class Changes:
    """The rows of one batch, in order, under their table's columns."""

    table: str
    names: Names
    key: Names
    items: list[Change]


@dataclass
class TableState:
    """One table under replay: a dict by key, or a multiset of rows if there is no key."""

    name: str
    names: Names = ()
    key: Names = ()
    by_key: dict[Row, Row] = field(default_factory=dict)
    rows: Counter[Row] = field(default_factory=Counter)
    last: tuple[int, int] = (-1, -1)
    changes: int = 0
    before: Change | None = None  # the first half of an update
    defaults: Mapping[str, Cell] = field(default_factory=dict)

    def content(self, names: Names) -> list[Row]:
        """The rows, under these columns: those that the log did not know are NULL."""
        rows = list(self.by_key.values()) if self.key else list(self.rows.elements())
        return [remapped(row, self.names, names, self.defaults) for row in rows]

    def clear(self) -> None:
        self.by_key.clear()
        self.rows.clear()

    def apply(self, changes: Changes) -> None:
        if changes.names != self.names or changes.key != self.key:
            self._restructure(changes)
        for change in changes.items:
            place = (change.version, change.ordinal)
            assert place > self.last, f"{self.name}: {place} after {self.last}"
            self.last = place
            self.changes += 1
            self._apply(change)

    def _apply(self, change: Change) -> None:
        if change.kind == "update_postimage":
            before, self.before = self.before, None
            assert before is not None, f"{self.name}: a postimage without its preimage"
            assert before.version == change.version
            assert before.ordinal + 1 == change.ordinal
            if all(before.present) and all(change.present):  # else it is no delete and insert
                assert self._key_of(before.row) == self._key_of(change.row), "a key changed"
            self._add(self._filled(change, self._remove(before)))
            return
        assert self.before is None, f"{self.name}: a preimage without its postimage"
        if change.kind == "update_preimage":
            self.before = change
        elif change.kind == "insert":
            missing = {n for n, there in zip(self.names, change.present, strict=True) if not there}
            assert missing <= set(self.defaults), f"{self.name}: an insert without {missing}"
            self._add(self._filled(change, tuple(self.defaults.get(name) for name in self.names)))
        else:
            assert change.kind == "delete", change.kind
            self._remove(change)

    def _add(self, row: Row) -> None:
        if not self.key:
            self.rows[row] += 1
            return
        key = self._key_of(row)
        assert key not in self.by_key, f"{self.name}: {key} is there already"
        self.by_key[key] = row

    def _remove(self, change: Change) -> Row:
        if self.key:
            held = self.by_key.pop(self._key_of(change.row), None)
            assert held is not None, f"{self.name}: no row with key {self._key_of(change.row)}"
        elif all(change.present):
            held = change.row
            assert self.rows[held] > 0, f"{self.name}: no row {held}"
            self.rows[held] -= 1
        else:  # a unique key, which the image must contain completely
            fitting = [row for row, count in self.rows.items() if count and fits(change, row)]
            assert len(fitting) == 1, f"{self.name}: {len(fitting)} rows fit {change}"
            [held] = fitting
            self.rows[held] -= 1
        for name, was, says, is_there in zip(
            self.names, held, change.row, change.present, strict=True
        ):
            assert not is_there or was == says, f"{self.name}.{name}: {was!r}, not {says!r}"
        return held

    @staticmethod
    def _filled(change: Change, base: Row) -> Row:
        cells = zip(change.row, change.present, base, strict=True)
        return tuple(
            patched(before, cell) if there and is_diff(cell) else cell if there else before
            for cell, there, before in cells
        )

    def _key_of(self, row: Row) -> Row:
        return tuple(row[self.names.index(name)] for name in self.key)

    def _restructure(self, changes: Changes) -> None:
        """Takes over columns that were added or dropped."""
        assert not self.names or self.key == changes.key, f"{self.name}: another key"
        held = self.content(changes.names)
        self.clear()
        self.names, self.key = changes.names, changes.key
        for row in held:
            self._add(row)


def fits(change: Change, row: Row) -> bool:
    cells = zip(change.row, change.present, row, strict=True)
    return all(says == is_now for says, there, is_now in cells if there)


def remapped(
    row: Row, names: Names, wanted: Names, defaults: Mapping[str, Cell] | None = None
) -> Row:
    if names == wanted:
        return row
    held = {**(defaults or {}), **dict(zip(names, row, strict=True))}
    return tuple(held.get(name) for name in wanted)


def replay(
    batches: Iterable[binarrow.ChangeBatch],
    truncations: Sequence[tuple[int, str]] = (),
    defaults: Mapping[str, Mapping[str, Cell]] | None = None,
) -> dict[str, TableState]:
    """The tables after all changes; `truncations` come from `truncations_in`.

    `defaults`: the cells of new rows that images leave out.
    """
    tables: dict[str, TableState] = {}
    waiting: dict[str, deque[int]] = {}
    for version, table in truncations:
        waiting.setdefault(table, deque()).append(version)
    for batch in batches:
        changes = changes_of(batch)
        own = (defaults or {}).get(changes.table, {})
        state = tables.setdefault(changes.table, TableState(changes.table, defaults=own))
        for part in _cut(changes, waiting.get(changes.table, deque())):
            if part is None:
                state.clear()
            else:
                state.apply(part)
    for table in waiting:
        if waiting[table] and table in tables:
            tables[table].clear()
    for state in tables.values():
        assert state.before is None, f"{state.name}: the log ends within an update"
    return tables


def _cut(changes: Changes, truncations: deque[int]) -> Iterator[Changes | None]:
    """The changes with a None wherever the table was emptied."""
    items = changes.items
    while truncations and items and truncations[0] < items[-1].version:
        version = truncations.popleft()
        earlier = [item for item in items if item.version < version]
        items = items[len(earlier) :]
        yield Changes(changes.table, changes.names, changes.key, earlier)
        yield None
    yield Changes(changes.table, changes.names, changes.key, items)


def truncations_in(files: Sequence[Path]) -> list[tuple[int, str]]:
    """The TRUNCATE statements in the log: the version that a row would have there, the table."""
    found = []
    for event in binarrow.inspect([str(path) for path in files], queries=True):
        match = TRUNCATED.match(event.info) if event.type_name.startswith("Query") else None
        if match:
            version = (int(event.file.rsplit(".", 1)[1]) << 40) + event.offset
            found.append((version, f"{match['database']}.{match['table']}"))
    return found


class Rows(Protocol):
    """A batch, or a stored batch."""

    @property
    def database(self) -> str: ...
    @property
    def table(self) -> str: ...
    def to_pyarrow(self) -> pa.RecordBatch: ...


def changes_of(batch: Rows) -> Changes:
    """A batch's rows. It must have the columns of `ENVELOPE`."""
    data = batch.to_pyarrow()
    data.validate(full=True)
    width = data.num_columns - len(ENVELOPE)
    fields = [data.schema.field(index) for index in range(width)]
    columns = [column_cells(data.column(index), fields[index]) for index in range(width)]
    kinds, versions, ordinals, present = (data.column(f"_{name}").to_pylist() for name in ENVELOPE)
    rows = zip(*columns, strict=True) if columns else iter([()] * data.num_rows)
    bits = {image: [image[i // 8] >> (i % 8) & 1 == 1 for i in range(width)] for image in present}
    items = [
        Change(kind, version, ordinal, row, bits[image])
        for kind, version, ordinal, row, image in zip(
            kinds, versions, ordinals, rows, present, strict=True
        )
    ]
    return Changes(
        f"{batch.database}.{batch.table}", tuple(f.name for f in fields), primary_key(fields), items
    )


def primary_key(fields: Sequence[pa.Field]) -> Names:
    parts = {}
    for one in fields:
        ordinal = (one.metadata or {}).get(b"mysql.primary_key")
        if ordinal:
            parts[int(ordinal)] = one.name
    return tuple(parts[ordinal] for ordinal in sorted(parts))
