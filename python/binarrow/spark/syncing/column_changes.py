"""The policy for changes of columns: ``follow``, ``widen`` or ``fail``.

With ``widen`` and ``fail``, a property of each table in the target contains the columns that the
server had when their changes were last permitted. They are compared with those that it has now. The
stream also returns statements that drop or rename columns, or change existing values: these are not
permitted either, although the columns may be the same afterwards.

If the stream does not know the structure before it, a statement counts as one that may change
values, although it may only add a comment. It is permitted if each type that it gives to a column
holds all values of the type before: see `permitted_columns`. Statements that remove or add rows
never are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from binarrow import SchemaError, TableSchema
from binarrow.spark.syncing.permitted_columns import PermittedColumns
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


class ColumnChanges:
    """Permits or refuses changes of the columns of tables."""

    def __init__(self, policies: Policies) -> None:
        self._policy = policies.schema_changes
        self._permitted: dict[Name, PermittedColumns] = {}
        """The content of the property, for tables that have it."""

    def properties(self, structure: Structure | None) -> dict[str, str]:
        """Returns the properties of a new table; none if the server has no such table."""
        if self._policy == "follow" or structure is None or structure.described is None:
            return {}
        return {COLUMNS: encoded(PermittedColumns.of_new(structure).to_store())}

    def restore(self, name: Name, properties: Mapping[str, str]) -> None:
        """Reads the state of a table from its properties."""
        stored = decoded(properties, COLUMNS)
        if stored is not None:
            self._permitted[name] = PermittedColumns.from_stored(stored)

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
        stored = self._permitted.get(table.name)
        if self._policy != "follow":
            why = self._refusal(table, described)
            statements = () if documents is None else documents.alterations
            for statement in statements if why is None else ():
                why, stored = self._refusal_of(statement, table, stored)
                if why is not None:
                    break
            if why is not None:
                raise SchemaError(
                    f"{shown(table.name)} was altered: {why}. Continue with"
                    f" schema_changes='follow', or load the table again with"
                    f" reload={shown(table.name)!r}"
                )
        self._accept(table, stored)
        return statements

    def accept(self, table: Table) -> None:
        """Stores the columns that the server has now as permitted, with all earlier statements."""
        if table.structure.described is not None:
            self._accept(table, PermittedColumns.of_loaded(table.structure))

    def _accept(self, table: Table, checked: PermittedColumns | None) -> None:
        """Stores the columns that the server has now, after statements that were checked."""
        structure, name = table.structure, table.name
        if structure.described is None:
            return
        stored = self._permitted.get(name)
        if self._policy != "follow":
            found = (
                PermittedColumns.of_new(structure) if checked is None else checked.seen(structure)
            )
            if found != stored:
                self._permitted[name] = found
                table.mirror.set_property(COLUMNS, encoded(found.to_store()))
        elif stored is not None and stored.columns != PermittedColumns.of_new(structure).columns:
            # A later run with another policy would find it outdated.
            del self._permitted[name]
            table.mirror.unset_property(COLUMNS)

    def _refusal(self, table: Table, described: TableSchema) -> str | None:
        """Returns the reason why other columns are not permitted; None if they are."""
        stored = self._permitted.get(table.name)
        if stored is None:
            return _refusal_by_types(table)
        if self._policy == "widen":
            return refusal(TableSchema(*table.name, stored.columns), described)
        old, new = stored.types(), PermittedColumns.of_new(table.structure).types()
        changed = {name for name, _ in old.items() ^ new.items()}
        if not changed:
            return None
        return f"columns were added or dropped or have other types: {', '.join(sorted(changed))}"

    def _refusal_of(
        self, statement: Alteration, table: Table, stored: PermittedColumns | None
    ) -> tuple[str | None, PermittedColumns | None]:
        """Returns the reason why a statement is not permitted; None if it is.

        The second result are the columns after it.
        """
        for column in statement.dropped_columns:
            # The column of DROP COLUMN IF EXISTS may not exist.
            if stored is None or stored.column(column) is not None:
                return f"the column {column} is dropped", stored
        for column, to in statement.renamed_columns:
            if column != to:
                return f"the column {column} is renamed to {to}", stored
        if not statement.changes_rows:
            return None, stored
        if not statement.converted_columns:
            return "the statement may remove or add rows", stored
        if stored is None:
            return "the statement may change existing values", None
        return stored.after(statement, table.structure)


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
