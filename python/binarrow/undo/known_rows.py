"""The rows of a table that the log has shown and not deleted: the latest image of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binarrow.undo.key_values import Values, are_comparable, are_text, folded

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import ChangeBatch, ForeignKey


@dataclass(frozen=True, slots=True)
class Image:
    """A row: its place in a batch, and the columns that actions have changed since."""

    batch: ChangeBatch
    side: str
    """``before`` or ``after``."""
    row: int
    changed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class KnownRow:
    """A row that exists at the current place."""

    image: Image
    references: tuple[Values, ...]
    """The values of the columns of each foreign key."""
    first: int
    """The version since which the row is known."""
    latest: int
    """The version of its latest image in the log."""


class KnownRows:
    """The known rows of a table, found by their key and by the values of their foreign keys."""

    def __init__(self, keys: Iterable[ForeignKey]) -> None:
        self.foreign_keys = tuple(keys)
        self.is_complete = False
        """True if these are all rows of the table: the log contains its creation."""
        self.key_columns: tuple[str, ...] = ()
        self.reference_columns: tuple[tuple[str, ...], ...] = ()
        """The columns of each foreign key."""
        self.rows: dict[Values, KnownRow] = {}
        self.acted: dict[Values, tuple[Values, ...] | None] = {}
        """The rows that actions changed since their latest image: their references afterwards; None
        for a deleted row."""
        self.fields: dict[str, pa.Field] = {}
        self._text: tuple[tuple[bool, ...], ...] = ()
        self._found_by: tuple[dict[Values, set[Values]], ...] = ()
        self._structure: pa.DataType | None = None

    def use(self, structure: pa.StructType) -> None:
        """Prepares for rows of a structure; those of another one are forgotten."""
        if self._structure is not None:
            if self._structure.equals(structure, check_metadata=True):
                return
            self.forget()
        self._structure = structure
        self.fields = fields_of(structure)
        keys = {
            int(each.metadata[b"mysql.primary_key"]): each.name
            for each in self.fields.values()
            if b"mysql.primary_key" in (each.metadata or {})
        }
        references = [columns_of(self.fields, key.columns) for key in self.foreign_keys]
        found = [one for one in references if one is not None]
        is_usable = bool(keys) and len(found) == len(references)
        self.key_columns = tuple(name for _, name in sorted(keys.items())) if is_usable else ()
        self.reference_columns = tuple(found) if is_usable else ()
        self._text = tuple(
            are_text([self.fields[name] for name in names]) for names in self.reference_columns
        )
        self._found_by = tuple({} for _ in self.reference_columns)

    @property
    def is_usable(self) -> bool:
        """True if rows can be followed: their key and the columns of the foreign keys are known.

        Also before the first row.
        """
        return self._structure is None or bool(self.key_columns)

    def forget(self) -> None:
        """Forgets all rows: they may have changed."""
        self.is_complete = False
        self._empty()

    def reset(self) -> None:
        """Notes that the table is empty."""
        self.is_complete = True
        self._empty()

    def _empty(self) -> None:
        self.rows.clear()
        self.acted.clear()
        for found_by in self._found_by:
            found_by.clear()

    def put(self, key: Values, row: KnownRow) -> None:
        """Adds a row, or replaces the one with its key."""
        self.pop(key)
        folds = self._folds(row)
        if None in folds:
            # Values that cannot be compared: it is not known which rows this one refers to.
            self.is_complete = False
            return
        self.rows[key] = row
        for found_by, fold in zip(self._found_by, folds, strict=True):
            if fold:
                found_by.setdefault(fold, set()).add(key)

    def pop(self, key: Values) -> KnownRow | None:
        """Removes a row, and returns it."""
        row = self.rows.pop(key, None)
        if row is not None:
            for found_by, fold in zip(self._found_by, self._folds(row), strict=True):
                if fold and (keys := found_by.get(fold)):
                    keys.discard(key)
                    if not keys:
                        del found_by[fold]
        return row

    def drop(self, key: Values) -> None:
        """Forgets a row, of which it is not certain that it exists as it is known."""
        if self.pop(key) is not None:
            self.is_complete = False

    def _folds(self, row: KnownRow) -> list[Values | None]:
        """Returns for each foreign key what its rows are found by; empty if a value is NULL."""
        return [
            () if None in values else folded(values, text)
            for values, text in zip(row.references, self._text, strict=True)
        ]

    def referring(
        self, key: ForeignKey, values: Values, parent_fields: Sequence[pa.Field]
    ) -> list[Values] | None:
        """Returns the keys of the rows that refer to values; None if this is not known.

        Rows that may refer to them are forgotten.
        """
        if self._structure is None:
            return []
        place = self.foreign_keys.index(key)
        own = [self.fields[name] for name in self.reference_columns[place]]
        if not are_comparable(own, parent_fields):
            return None
        fold = folded(values, self._text[place])
        if fold is None:
            return None
        found = []
        for one in sorted(self._found_by[place].get(fold, ()), key=repr):
            if self.rows[one].references[place] == values:
                found.append(one)
            else:
                self.drop(one)
        return found


def fields_of(structure: pa.StructType) -> dict[str, pa.Field]:
    """Returns the fields of rows by their names."""
    fields = [structure.field(place) for place in range(structure.num_fields)]
    return {each.name: each for each in fields}


def columns_of(fields: Mapping[str, pa.Field], names: Sequence[str]) -> tuple[str, ...] | None:
    """Returns columns in the letter case of the table; None if one is missing."""
    own = {name.lower(): name for name in fields}
    found = [own.get(name.lower()) for name in names]
    return None if None in found else tuple(name for name in found if name is not None)


__all__ = ["Image", "KnownRow", "KnownRows", "columns_of", "fields_of"]
