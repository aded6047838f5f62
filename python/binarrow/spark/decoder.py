"""Decoding inside a Spark task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack

from binarrow import BinlogReader, ConfigError, SchemaError, Split, read_binlog, read_split
from binarrow.spark.options import TASK_DEFAULTS, ReadOptions, check_keywords, loaded, spark_types
from binarrow.spark.schema import arrow_schema, difference

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from binarrow.stream import Stream


def decoder(
    table: str,
    schema: StructType,
    *,
    on_schema_change: Literal["error", "conform"] = "conform",
    **options: Unpack[ReadOptions],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow`` that decodes one table's changes.

    Its input is what :func:`binarrow.spark.splits` gives, or any DataFrame with a column ``path``,
    whose files, or URIs of files, it then reads whole.

    Args:
        table: ``database.table``.
        schema: What :func:`binarrow.spark.schema` gave; batches equal it exactly.
        on_schema_change: When the table's structure in the log is not that of ``schema``:
            ``"conform"`` fills missing columns with NULL and leaves new ones out, ``"error"``
            raises.
        **options: Keywords of :func:`binarrow.read_binlog`; see :class:`ReadOptions`.
    """
    check_keywords(options)
    settings = {**TASK_DEFAULTS, **options}
    settings["types"] = spark_types(settings["types"])
    if not isinstance(settings.get("history", ""), str):
        raise ConfigError(
            "a history that is open stays on the driver: give it to splits(), whose ranges carry"
            " what tasks need, or its URL here, which tasks open themselves"
        )
    if settings.get("schemas") is not None:
        settings["schemas"] = loaded(settings["schemas"])
    target = arrow_schema(schema)

    # What Spark pickles: this function by value, with plain data; the rest by its name.
    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from binarrow.spark.decoder import decode_table, open_ranges

        readers = open_ranges(batches, settings)
        yield from decode_table(readers, table, target, on_schema_change)

    return decode


def open_ranges(
    batches: Iterable[pa.RecordBatch], options: Mapping[str, Any]
) -> Iterator[BinlogReader]:
    """Readers of the ranges (column ``split``) or files (column ``path``) in the batches."""
    for batch in batches:
        if "split" in batch.schema.names:
            # A range carries its part of the history.
            own = {key: value for key, value in options.items() if key != "history"}
            for text in batch.column("split").to_pylist():
                yield read_split(Split.from_json(text), options=own)
        else:
            for path in batch.column("path").to_pylist():
                yield read_binlog(path, **options)


def decode_table(
    readers: Iterable[BinlogReader | Stream],
    table: str,
    target: pa.Schema,
    on_schema_change: Literal["error", "conform"],
) -> Iterator[pa.RecordBatch]:
    """One table's changes from each reader in turn, under one schema; closes the readers."""
    checked = False
    for reader in readers:
        # `with` closes on every way out: the end, an error, and Spark dropping the generator.
        with reader, reader.table(table, schema=target, on_schema_change=on_schema_change) as rows:
            for batch in rows:
                if not checked:
                    _check(batch.schema, target, table)
                    checked = True
                yield batch


def _check(actual: pa.Schema, target: pa.Schema, table: str) -> None:
    if not actual.equals(target, check_metadata=False):
        raise SchemaError(
            f"the batches of {table} are not of the declared schema:\n{difference(target, actual)}"
        )
