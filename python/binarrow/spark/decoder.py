"""`decoder`: the function that decodes changes inside a Spark task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from binarrow import BinlogReader, ConfigError, Split, read_binlog, read_split
from binarrow.advice import message
from binarrow.spark.live.login import STREAM_DEFAULTS, stream_keywords, task_login
from binarrow.spark.options import (
    TABLES_SCHEMA_OPTIONS,
    TASK_DEFAULTS,
    check_keywords,
    check_layout,
    loaded,
    spark_types,
)
from binarrow.spark.schema import arrow_schema, tables_schema
from binarrow.typed_keywords import LoginKeywords, TaskKeywords

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from binarrow.server.target import Target
    from binarrow.stream import Stream


class DecoderKeywords(TaskKeywords, LoginKeywords, total=False):
    """Keywords of :func:`decoder`: those of rows, and the login for ranges of a server."""


def decoder(
    table: str | None = None,
    schema: StructType | None = None,
    *,
    tables: str | Sequence[str] | None = None,
    exclude_tables: str | Sequence[str] = (),
    on_schema_change: Literal["error", "conform", "evolve"] = "conform",
    truncates: Literal["error", "emit", "emit_all", "skip"] = "skip",
    **options: Unpack[DecoderKeywords],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function for ``mapInArrow`` that decodes the changes of one or several tables.

    Its input is the DataFrame of :func:`binarrow.spark.splits`, or any DataFrame with a column
    ``path`` of files or URIs, which are then read completely.

    Args:
        table: ``database.table``.
        schema: The result of :func:`binarrow.spark.schema`; batches have exactly this schema. For
            several tables, the result of :func:`binarrow.spark.tables_schema`, or None.
        tables: Instead of ``table``: globs of ``database.table``. The rows are documents, as with
            ``layout="nested-json"``; :func:`binarrow.spark.table_of` returns those of one table.
        exclude_tables: Globs of tables to leave out.
        on_schema_change: The reaction if the structure of the table in the log differs from
            ``schema``. ``"conform"`` fills missing columns with NULL and leaves out new columns.
            ``"evolve"`` does the same, but raises an error if both are necessary, because a column
            may have been renamed. ``"error"`` always raises an error.
        truncates: The reaction to a statement that empties the table without row events: ``"skip"``
            skips it, ``"error"`` raises an error, ``"emit"`` returns a row whose ``_change_type``
            is ``truncate``, or with ``tables`` a row whose ``_op`` is ``t``. With ``tables``,
            ``"emit_all"`` also returns rows for other statements, as
            :meth:`binarrow.BinlogReader.nested_json` describes.
        **options: Keywords of :func:`binarrow.read_binlog`; see :class:`TaskKeywords`. For ranges
            of a server, also pass the login, as for :func:`binarrow.spark.splits`. Password files
            and certificates are read here, on the driver, and every task logs in separately.
            Secrets are sent to the tasks with the function; no DataFrame, plan or message contains
            them.
    """
    check_keywords("decoder", options, DecoderKeywords.__annotations__)
    login = task_login(options)
    of_login = LoginKeywords.__annotations__.keys() - STREAM_DEFAULTS.keys()
    settings: dict[str, Any] = {
        **TASK_DEFAULTS,
        **{key: value for key, value in options.items() if key not in of_login},
    }
    settings["types"] = spark_types(settings["types"])
    if tables is not None:
        settings |= {"tables": tables, "exclude_tables": exclude_tables}
    if (table is None) == (tables is None):
        raise ConfigError(message("decoder() needs either a table or ⟦tables⟧"))
    if check_layout(settings.get("layout"), several=table is None):
        del settings["layout"]
    if not isinstance(settings.get("history", ""), str):
        raise ConfigError(
            "an open history cannot be sent to tasks: pass it to splits(), whose ranges contain the"
            " parts for tasks, or pass its URL here, which each task opens"
        )
    if settings.get("schemas") is not None:
        settings["schemas"] = loaded(settings["schemas"])
    if schema is None:
        if table is not None:
            raise ConfigError(
                f"decoder() needs the schema of {table}: pass the result of binarrow.spark.schema()"
            )
        shaping = {key: settings[key] for key in TABLES_SCHEMA_OPTIONS if key in settings}
        schema = tables_schema(**shaping)
    target = arrow_schema(schema)

    # Spark pickles this function by value, with plain data, and imported functions by name.
    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from binarrow.spark.decoder import open_ranges
        from binarrow.spark.table_batches import decode_table

        readers = open_ranges(batches, settings, login)
        yield from decode_table(readers, table, target, on_schema_change, truncates)

    return decode


def open_ranges(
    batches: Iterable[pa.RecordBatch], options: Mapping[str, Any], login: Target | None = None
) -> Iterator[BinlogReader | Stream]:
    """Opens the ranges (column ``split``) or files (column ``path``) in the batches."""
    from binarrow.spark.live.live_splits import LiveSplit  # which imports pyspark

    of_files = {key: value for key, value in options.items() if key not in STREAM_DEFAULTS}
    for batch in batches:
        if "split" in batch.schema.names:
            # A range contains its part of the history.
            own = {key: value for key, value in of_files.items() if key != "history"}
            stream = stream_keywords(options)
            for text in batch.column("split").to_pylist():
                if (live := LiveSplit.parse(text)) is not None:
                    yield live.read(login, stream, own)
                else:
                    yield read_split(Split.from_json(text), options=own)
        else:
            for path in batch.column("path").to_pylist():
                yield read_binlog(path, **of_files)
