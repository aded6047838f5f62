"""The policy for changes of columns: ``follow``, ``widen`` or ``fail``.

With ``widen`` and ``fail``, a property of each table in the target contains the columns that the
server had when its changes were last permitted. They are compared with those that it has now. The
stream also returns statements that drop or rename columns, or change existing values: these are not
permitted either, although the columns may be the same afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from binarrow import Column, SchemaError, TableSchema
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


class ColumnChanges:
    """Permits or refuses changes of the columns of tables."""

    def __init__(self, policies: Policies) -> None:
        self._policy = policies.schema_changes
        self._stored: dict[Name, str] = {}
        """The value of the property, of tables that have it."""

    def properties(self, structure: Structure | None) -> dict[str, str]:
        """Returns the properties of a new table; none if the server has no such table."""
        if self._policy == "follow" or structure is None or structure.described is None:
            return {}
        return {COLUMNS: _text(structure.described)}

    def restore(self, name: Name, properties: Mapping[str, str]) -> None:
        """Reads the state of a table from its properties."""
        if COLUMNS in properties:
            self._stored[name] = properties[COLUMNS]

    def check(self, table: Table, documents: Documents | None) -> None:
        """Checks that the policy permits the changes of columns since the last check.

        Args:
            table: The table, with the columns that the server has now.
            documents: Its changes in a batch.

        Raises:
            SchemaError: It does not.
        """
        described = table.structure.described
        if table.is_dropped or described is None:
            return
        if self._policy != "follow":
            why = self._refusal(table, described, documents)
            if why is not None:
                raise SchemaError(
                    f"{shown(table.name)} was altered: {why}. Continue with"
                    f" schema_changes='follow', or load the table again with"
                    f" reload={shown(table.name)!r}"
                )
        self.accept(table)

    def accept(self, table: Table) -> None:
        """Stores the columns that the server has now as permitted."""
        described = table.structure.described
        stored = self._stored.get(table.name)
        if described is None or stored == _text(described):
            return
        if self._policy != "follow":
            self._stored[table.name] = _text(described)
            table.mirror.set_property(COLUMNS, _text(described))
        elif stored is not None:  # it would be old for a later run with another policy
            del self._stored[table.name]
            table.mirror.unset_property(COLUMNS)

    def _refusal(
        self, table: Table, described: TableSchema, documents: Documents | None
    ) -> str | None:
        """Returns why changes of columns are not permitted; None if they are."""
        for statement in () if documents is None else documents.alterations:
            why = _refusal_of(statement)
            if why is not None:
                return why
        stored = self._stored.get(table.name)
        if stored is None:
            return self._refusal_by_types(table)
        before = _columns(stored, table.name)
        if self._policy == "widen":
            return refusal(before, described)
        old, new = ([(one.name, one.type) for one in each.columns] for each in (before, described))
        changed = [name for name, _ in set(old) ^ set(new)]
        if not changed:
            return None
        return f"columns were added or dropped or have other types: {', '.join(sorted({*changed}))}"

    @staticmethod
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


def _refusal_of(statement: Alteration) -> str | None:
    """Returns why a statement is not permitted; None if it only changes the case of names."""
    if statement.dropped_columns:
        return f"the column {statement.dropped_columns[0]} is dropped"
    for column, to in statement.renamed_columns:
        if column != to:
            return f"the column {column} is renamed to {to}"
    return "it changes existing values" if statement.changes_rows else None


def _text(described: TableSchema) -> str:
    columns = [{key: getattr(column, key) for key in _STORED} for column in described.columns]
    left_out = (None, (), "")
    return json.dumps(
        [{key: value for key, value in each.items() if value not in left_out} for each in columns]
    )


def _columns(text: str, name: Name) -> TableSchema:
    columns = [Column(**column) for column in json.loads(text)]
    return TableSchema(*name, columns)


__all__ = ["COLUMNS", "ColumnChanges"]
