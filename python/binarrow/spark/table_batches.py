"""Reads the changes of a table as record batches of one schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from binarrow import BinlogReader, ConfigError, SchemaError
from binarrow.advice import message
from binarrow.spark.schema import difference

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow import TableReader
    from binarrow.stream import Stream

Truncates: TypeAlias = Literal["error", "emit", "emit_all", "skip"]
"""The reactions to statements that change rows without row events."""


def decode_table(
    readers: Iterable[BinlogReader | Stream],
    table: str | None,
    target: pa.Schema,
    on_schema_change: Literal["error", "conform", "evolve"],
    truncates: Truncates,
) -> Iterator[pa.RecordBatch]:
    """Returns the changes of each reader in turn, under one schema; closes the readers.

    They are the changes of `table`, or of all tables if it is None.
    """
    checked = False

    def changes(reader: BinlogReader | Stream) -> TableReader:
        if table is None:
            return reader.nested_json(truncates=truncates)
        if truncates == "emit_all":
            raise ConfigError(message("⟦truncates=emit_all⟧ is for several tables: set ⟦tables⟧"))
        return reader.table(
            table, schema=target, on_schema_change=on_schema_change, truncates=truncates
        )

    for reader in readers:
        # `with` closes it at the end, after an error, and if Spark drops the generator.
        with reader, changes(reader) as rows:
            for batch in rows:
                if not checked:
                    _check(batch.schema, target, table)
                    checked = True
                yield batch


def _check(actual: pa.Schema, target: pa.Schema, table: str | None) -> None:
    if not actual.equals(target, check_metadata=False):
        raise SchemaError(
            f"the batches of {table or 'several tables'} do not have the declared schema:\n"
            f"{difference(target, actual)}"
        )
