"""The policy for changes of columns: ``follow``, ``widen`` or ``fail``.

With ``widen`` and ``fail``, a property of each table in the target contains the columns that the
server had when their changes were last permitted. They are compared with those that it has now. The
stream also returns statements that drop or rename columns, or change existing values: these are not
permitted either, although the columns may be the same afterwards.

If the structure before it is not known, a statement that makes a type wider counts as one that may
change values. Therefore the property also contains the version of the log at which wider types were
found. Such statements up to this version are permitted. Later ones are permitted if the columns
that they convert have wider types now. Statements that remove or add rows never are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from binarrow import Column, SchemaError, TableSchema
from binarrow.spark.syncing.properties import decoded, encoded
from binarrow.syncing.names import Name, shown
from binarrow.syncing.widening import refusal

if TYPE_CHECKING:
    from binarrow.spark.syncing.documents import Alteration, Documents
    from binarrow.spark.syncing.policies import Policies
    from binarrow.spark.syncing.structures import Structure
    from binarrow.spark.syncing.table import Table

COLUMNS = "binarrow.sync.columns"
"""The property of a table with the columns that the server had when their changes were last
permitted, as JSON."""

_STORED = ("name", "type", "nullable", "charset", "generated", "members")
"""The properties of a column that are compared."""


@dataclass(frozen=True)
class _Permitted:
    """The columns of a table whose changes were permitted."""

    columns: tuple[Column, ...]
    widened: int = -1
    """The version of the log at which a wider type was found; -1 if there was none."""
    server: str = ""
    """The id of the server whose log the version refers to."""

    @classmethod
    def of(cls, described: TableSchema) -> _Permitted:
        """Returns the columns of a structure."""
        found = [{key: getattr(column, key) for key in _STORED} for column in described.columns]
        return cls(tuple(Column(**column) for column in found))

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> _Permitted:
        """Parses the result of :meth:`to_store`."""
        columns = tuple(Column(**column) for column in stored["columns"])
        return cls(columns, stored["widened"], stored["server"])

    def to_store(self) -> dict[str, Any]:
        """Returns the value of the property of the table."""
        columns = [
            {key: value for key in _STORED if (value := getattr(column, key)) not in (None, ())}
            for column in self.columns
        ]
        return {"columns": columns, "widened": self.widened, "server": self.server}

    def types(self) -> dict[str, str]:
        """Returns the types of the columns."""
        return {column.name: column.type for column in self.columns}

    def has(self, name: str) -> bool:
        """True if there is a column with a name in lower case."""
        return any(column.name.lower() == name for column in self.columns)

    def others(self, other: _Permitted) -> set[str]:
        """Returns the columns of both that have another type, in lower case."""
        own, others = self.types(), other.types()
        return {name.lower() for name, kind in own.items() if others.get(name, kind) != kind}


class ColumnChanges:
    """Permits or refuses changes of the columns of tables."""

    def __init__(self, policies: Policies) -> None:
        self._policy = policies.schema_changes
        self._permitted: dict[Name, _Permitted] = {}
        """The content of the property, for tables that have it."""

    def properties(self, structure: Structure | None) -> dict[str, str]:
        """Returns the properties of a new table; none if the server has no such table."""
        if self._policy == "follow" or structure is None or structure.described is None:
            return {}
        return {COLUMNS: encoded(_Permitted.of(structure.described).to_store())}

    def restore(self, name: Name, properties: Mapping[str, str]) -> None:
        """Reads the state of a table from its properties."""
        stored = decoded(properties, COLUMNS)
        if stored is not None:
            self._permitted[name] = _Permitted.from_stored(stored)

    def check(self, table: Table, documents: Documents | None) -> Sequence[Alteration]:
        """Checks that the policy permits the changes of columns since the last check.

        Args:
            table: The table, with the columns that the server has now.
            documents: Its changes in a batch.

        Returns:
            The statements after which all existing values are the same.

        Raises:
            SchemaError: It does not.
        """
        described = table.structure.described
        if table.is_dropped or described is None:
            return ()
        statements: Sequence[Alteration] = ()
        if self._policy != "follow":
            why = self._refusal(table, described)
            statements = () if documents is None else documents.alterations
            for statement in statements if why is None else ():
                why = why or self._refusal_of(statement, table, described)
            if why is not None:
                raise SchemaError(
                    f"{shown(table.name)} was altered: {why}. Continue with"
                    f" schema_changes='follow', or load the table again with"
                    f" reload={shown(table.name)!r}"
                )
        self.accept(table)
        return statements

    def accept(self, table: Table) -> None:
        """Stores the columns that the server has now as permitted."""
        structure, name = table.structure, table.name
        if structure.described is None:
            return
        stored, found = self._permitted.get(name), _Permitted.of(structure.described)
        if stored is not None and stored.columns == found.columns:
            return
        if self._policy != "follow":
            if stored is not None:
                found = replace(found, widened=stored.widened, server=stored.server)
                if stored.others(found):
                    found = replace(found, widened=structure.version, server=structure.server)
            self._permitted[name] = found
            table.mirror.set_property(COLUMNS, encoded(found.to_store()))
        elif stored is not None:  # a later run with another policy would find it outdated
            del self._permitted[name]
            table.mirror.unset_property(COLUMNS)

    def _refusal(self, table: Table, described: TableSchema) -> str | None:
        """Returns the reason why other columns are not permitted; None if they are."""
        stored = self._permitted.get(table.name)
        if stored is None:
            return _refusal_by_types(table)
        if self._policy == "widen":
            return refusal(TableSchema(*table.name, stored.columns), described)
        old, new = stored.types(), _Permitted.of(described).types()
        changed = {name for name, _ in old.items() ^ new.items()}
        if not changed:
            return None
        return f"columns were added or dropped or have other types: {', '.join(sorted(changed))}"

    def _refusal_of(
        self, statement: Alteration, table: Table, described: TableSchema
    ) -> str | None:
        """Returns the reason why a statement is not permitted; None if it is."""
        stored, server = self._permitted.get(table.name), table.structure.server
        for column in statement.dropped_columns:
            # The column of DROP COLUMN IF EXISTS may not exist.
            if stored is None or stored.has(column):
                return f"the column {column} is dropped"
        for column, to in statement.renamed_columns:
            if column != to:
                return f"the column {column} is renamed to {to}"
        if not statement.changes_rows:
            return None
        converted = set(statement.converted_columns)
        if not converted:
            return "the statement may remove or add rows"
        if stored is not None:
            is_known = stored.server == server and statement.version <= stored.widened
            if is_known or converted <= stored.others(_Permitted.of(described)):
                return None
        return "the statement changes existing values"


def _refusal_by_types(table: Table) -> str | None:
    """Compares the columns of the target with those of the server, by their types in Spark."""
    held = {field.name: field.dataType.simpleString() for field in table.held().fields}
    own = {field.name: field.dataType.simpleString() for field in table.own}
    new = [name for name, kind in own.items() if held.get(name) != kind]
    if not new:
        return None
    return (
        f"columns were added or have other types: {', '.join(new)}; the columns before the"
        " statement are not known"
    )


__all__ = ["COLUMNS", "ColumnChanges"]
