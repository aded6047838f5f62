"""The columns of a table whose changes were permitted, and the types that statements give to them.

The server is asked for the columns when a batch is written, and may have executed statements that
later batches contain. So there are two places in the log: the version of the columns, and the place
up to which statements were checked. A type in a statement must hold all values of the type before
it, and the type that the server has now must hold all of its values. Otherwise the column may have
become narrower and wider again, which may have changed values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from binarrow import Column
from binarrow.spark.syncing.documents import NewType
from binarrow.syncing.widening import narrowed

if TYPE_CHECKING:
    from binarrow.spark.syncing.documents import Alteration
    from binarrow.spark.syncing.structures import Structure

_STORED = ("name", "type", "nullable", "charset", "generated", "members", "auto_increment")
"""The properties of a column that are compared."""

_NOTHING = -1
"""A version before all statements."""


@dataclass(frozen=True)
class PermittedColumns:
    """The columns of a table whose changes were permitted."""

    columns: tuple[Column, ...]
    version: int = -1
    """The version of the log of which they are; -1 if it is not known."""
    server: str = ""
    """The id of the server whose log the versions refer to."""
    logged: Mapping[str, NewType] = field(default_factory=dict)
    """Types at the place of the log up to which statements were checked, by names of columns in
    lower case. Other columns have the types of `columns`."""
    checked: int = _NOTHING
    """The version of the last statement that was checked."""
    unknown: int | None = None
    """The types of columns up to this version are not known; None if they never are."""

    @classmethod
    def of_new(cls, structure: Structure) -> PermittedColumns:
        """Returns the columns of a table that is created in the target."""
        assert structure.described is not None  # noqa: S101 - the server has the table
        columns = tuple(_with(column) for column in structure.described.columns)
        unknown = structure.version if structure.version >= 0 else None
        return cls(columns, structure.version, structure.server, unknown=unknown)

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> PermittedColumns:
        """Parses the result of :meth:`to_store`, also that of an earlier version."""
        columns = tuple(Column(**column) for column in stored["columns"])
        logged = stored.get("logged", {}).items()
        return cls(
            columns,
            stored.get("version", -1),
            stored["server"],
            {name: NewType.from_stored(name, one) for name, one in logged},
            stored.get("checked", _NOTHING),
            stored.get("unknown"),
        )

    def to_store(self) -> dict[str, Any]:
        """Returns the value of the property of the table."""
        columns = [
            {key: value for key in _STORED if (value := getattr(column, key)) not in (None, ())}
            for column in self.columns
        ]
        return {
            "columns": columns,
            "version": self.version,
            "server": self.server,
            "logged": {name: one.to_store() for name, one in self.logged.items()},
            "checked": self.checked,
            "unknown": self.unknown,
        }

    def types(self) -> dict[str, str]:
        """Returns the types of the columns."""
        return {column.name: column.type for column in self.columns}

    def column(self, name: str) -> Column | None:
        """Returns the column with a name in lower case."""
        return next((one for one in self.columns if one.name.lower() == name), None)

    @classmethod
    def of_loaded(cls, structure: Structure) -> PermittedColumns:
        """Returns the columns of a table whose rows have all been read from the server."""
        return replace(cls.of_new(structure), checked=structure.version)

    def seen(self, structure: Structure) -> PermittedColumns:
        """Returns these columns after they were compared with those that the server has now."""
        found = self.of_new(structure)
        is_known = self.unknown is not None and found.server == self.server
        unknown = self.unknown if is_known else found.unknown
        logged = {**self.logged}
        for column in self.columns:
            name = column.name.lower()
            if found.column(name) != column:
                logged.setdefault(name, NewType(column))
        of_log = {
            name: one
            for name, one in logged.items()
            if (now := found.column(name)) is not None and not _is_same(one, now)
        }
        is_same = (self.columns, self.server) == (found.columns, found.server)
        if is_same and self.version >= max(self.checked, 0):
            found = self  # also for statements between the two versions
        checked = self.checked if found.server == self.server else _NOTHING
        return replace(found, logged=of_log, checked=checked, unknown=unknown)

    def after(
        self, statement: Alteration, structure: Structure
    ) -> tuple[str | None, PermittedColumns]:
        """Returns why a statement is not permitted, or None, and the columns after it."""
        version, is_same_log = statement.version, self.server == structure.server
        if is_same_log and version <= self.checked:
            return None, self
        if self.unknown is None or (is_same_log and version <= self.unknown):
            return "the statement may change existing values: the types before are not known", self
        is_first_after = is_same_log and max(self.checked, 0) <= self.version < version
        logged = {} if is_first_after else {**self.logged}
        for name in statement.converted_columns:
            now = self.of_new(structure).column(name)
            new = _new_type(statement, now, structure)
            earlier = [*self._before(name, logged, is_same_log=is_same_log)]
            if new is None or now is None or not earlier:
                return f"the statement changes existing values of the column {name}", self
            for before in earlier:
                why = type_refusal(before, new, now)
                if why is not None:
                    return why, self
            logged[name] = new
        checked = version if is_same_log else self.checked
        return None, replace(self, logged=logged, checked=checked)

    def _before(
        self, name: str, logged: Mapping[str, NewType], *, is_same_log: bool
    ) -> Iterator[NewType]:
        """Yields the types that a column may have had before a statement."""
        column = self.column(name)
        if name in logged:
            yield logged[name]
        if column is not None and (name not in logged or self.version < 0 or not is_same_log):
            yield NewType(column)


def type_refusal(before: NewType, new: NewType, now: Column) -> str | None:
    """Returns why a type in a statement is not permitted; None if it is.

    Args:
        before: The type before the statement.
        new: The type after it.
        now: The column as the server has it now.
    """
    if new.has_charset and not before.has_charset:
        return f"the character set of the column {now.name} is not known in all statements"
    column = _completed(new, now)
    why = narrowed(_completed(before, now), column) or narrowed(column, now)
    if why is None and column.auto_increment and not before.column.auto_increment:
        return f"the column {now.name} becomes AUTO_INCREMENT"
    return why


def _completed(new: NewType, now: Column) -> Column:
    """Returns a type with the parts that a statement does not contain."""
    charset = new.column.charset if new.has_charset else now.charset
    return _with(new.column, name=now.name, charset=charset, generated=now.generated)


def _with(column: Column, **parts: Any) -> Column:
    return Column(**{key: getattr(column, key) for key in _STORED} | parts)


def _is_same(new: NewType, now: Column) -> bool:
    """True if a type is that of a column."""
    if not new.has_charset or new.column.auto_increment != now.auto_increment:
        return False
    own = _completed(new, now)
    return narrowed(own, now) is None and narrowed(now, own) is None


def _new_type(statement: Alteration, now: Column | None, structure: Structure) -> NewType | None:
    """Returns the type that a statement gives to a column; one of the key stays NOT NULL."""
    if now is None:
        return None
    types = (one for one in statement.new_types if one.column.name == now.name.lower())
    found = next(types, None)
    if found is None or now.nullable or now.name not in structure.key:
        return found
    return replace(found, column=_with(found.column, nullable=False))


__all__ = ["PermittedColumns", "type_refusal"]
