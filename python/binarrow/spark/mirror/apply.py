"""`apply_changes`: the function that applies a batch of changes to a mirror."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from binarrow import ConfigError, SchemaError
from binarrow.spark.messages import spark_message
from binarrow.spark.mirror.changes import Changes
from binarrow.spark.mirror.columns import check_added, compare, mirror_schema
from binarrow.spark.mirror.fold import COMPLETE_FIRST_LOAD, MISSING_ROW, Folded, fold
from binarrow.spark.mirror.parquet import CURRENT, ParquetMirror, local_folder
from binarrow.spark.mirror.summary import summarize
from binarrow.spark.mirror.table import TableMirror
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG = logging.getLogger("binarrow.spark")

Format = Literal["delta", "iceberg", "parquet"]


def apply_changes(
    target: str,
    keys: str | Sequence[str] | None = None,
    *,
    format: Format | None = None,  # noqa: A002 - Spark's word
    envelope_prefix: str = "_",
    missing_columns: Literal["error", "null"] = "error",
    backfilled_columns: Literal["error", "null"] = "error",
    missing_rows: Literal["error", "ignore"] = "error",
    properties: Mapping[str, str] | None = None,
) -> Callable[..., None]:
    """Returns a function for ``foreachBatch`` that keeps a mirror of a table up to date.

        changes.writeStream.foreachBatch(apply_changes("lake.shop.orders")).start()

    The function accepts a DataFrame of one table's changes in the flat layout, and the number of
    the batch. It ignores the number, because a batch that is applied a second time has no effect,
    and a new checkpoint may start the numbers again. A batch is one commit of Delta or Iceberg, or
    one version of Parquet; a batch without changes writes nothing. For a DataFrame that is not from
    a stream, call the function yourself: ``apply_changes(target)(frame)``.

    For each key, the last change in the order of (``_commit_version``, ``_change_ordinal``) is
    applied. The row before an update counts as deleted, so updates of the key are correct. A change
    of the ``_change_type`` truncate empties the mirror at its position among the changes.

    If the server logs only some columns (``binlog_row_image`` MINIMAL or NOBLOB), the option
    ``envelope`` must contain ``present``: columns that a row image leaves out then keep their
    value. Without ``present``, a missing column looks like NULL, and the mirror would be wrong. If
    an update changes the key of a row, and the log does not contain the full row, this is an error.

    New columns of the changes are added to the target, with a warning. They are NULL in rows that
    do not change afterwards. If the source may have back-filled them in these rows (NOT NULL, or a
    DEFAULT), this is an error: see ``backfilled_columns``. The log does not contain values that
    ALTER TABLE converts. Before MySQL 9.6, and in MariaDB, it also does not contain the rows that
    ``ON DELETE CASCADE`` changes.

    Args:
        target: A table of Delta or Iceberg, by its name in SQL; the path of a Delta table; or a
            folder for Parquet that driver and executors see under the same path. It is created
            if it does not exist.
        keys: The columns that identify a row; NULL is treated like other values. None uses the
            primary key, which the log contains with ``binlog_row_metadata=FULL``.
        format: The format of the target. None detects the format of an existing target.
        envelope_prefix: The option ``envelopePrefix`` of the changes.
        missing_columns: The reaction if the target has columns that the changes do not have:
            ``"error"``, or ``"null"``, which keeps their values in existing rows and stores NULL in
            new ones.
        backfilled_columns: The reaction if the source filled in values that the log does not
            contain: of a column that ALTER TABLE added to existing rows, or of a column that an
            INSERT left out (``binlog_row_image=MINIMAL``). ``"error"`` raises an error with
            instructions; ``"null"`` makes the values NULL. A schema that ``load()`` read from a
            server shows which columns have a DEFAULT; other columns count as having one.
        missing_rows: The reaction if a change contains only a part of a row that the target does
            not have: ``"error"``, or ``"ignore"``. Use ``"ignore"`` for a mirror whose first load
            is newer than the changes.
        properties: Table properties (``TBLPROPERTIES``) of a new table.

    Raises:
        ConfigError, SchemaError: The changes and the target do not fit together. The returned
            function raises them. The message contains the reason and the solution.
    """
    names = (keys,) if isinstance(keys, str) else None if keys is None else tuple(keys)
    if names == ():
        raise ConfigError(
            "a mirror needs a key: nothing else identifies the rows of a table; add one to the"
            " table (ALTER TABLE ... ADD PRIMARY KEY), or archive its changes instead"
        )
    if format not in (None, "delta", "iceberg", "parquet"):
        raise ConfigError(f"unknown format {format!r}: expected delta, iceberg or parquet")
    own = dict(properties or {})

    def apply(frame: DataFrame, batch_id: int = 0) -> None:
        from binarrow.spark.mirror.apply import open_target

        del batch_id
        changes = Changes.of(frame, names, envelope_prefix)
        mirror = open_target(frame.sparkSession, target, format, own)
        with _persisted(frame):
            summary = summarize(changes, backfilled_columns)
            found = mirror.schema()
            if found is None:
                found = mirror_schema(changes)
                mirror.create(found)
            if not summary.rows:
                return
            difference = compare(target, found, changes, missing_columns)
            if difference.added:
                if backfilled_columns == "error" and not mirror.is_empty():
                    check_added(target, difference)
                LOG.warning(
                    "%s gets the columns %s: NULL in existing rows, because the log does not"
                    " contain the values that the source filled in (DEFAULT)",
                    target,
                    ", ".join(field.name for field in difference.added),
                )
            mirror.evolve(difference)
            with fold(changes, summary) as folded:
                _merge(mirror, Folded(folded, changes, summary, difference, missing_rows))

    return apply


def _merge(mirror: TableMirror | ParquetMirror, folded: Folded) -> None:
    try:
        mirror.merge(folded)
    except Exception as error:  # of Spark or Java: each format wraps errors of tasks differently
        if MISSING_ROW in str(error):
            raise SchemaError(spark_message(f"{MISSING_ROW}: {COMPLETE_FIRST_LOAD}")) from error
        raise


def open_target(
    spark: SparkSession,
    target: str,
    format: Format | None,  # noqa: A002
    properties: Mapping[str, str],
) -> TableMirror | ParquetMirror:
    """Returns the mirror with a target's name.

    Raises:
        ConfigError: The format is unknown, or does not support such a name.
    """
    is_path = "/" in target and not re.search(r"\.`[^`]+`$", target)
    local = local_folder(target) if is_path else None
    if format is None:
        format = _found_format(spark, target, is_path=is_path, local=local)  # noqa: A001
    if format == "parquet":
        if local is None:
            raise ConfigError(
                f"a Parquet mirror is a local path on the driver, and {target} is not: pass the"
                " path of a folder, or use Delta or Iceberg"
            )
        return ParquetMirror(spark, local)
    if not is_path:
        return TableMirror(spark, target, format, properties)
    if format == "iceberg":
        raise ConfigError(f"{target} is a path: pass the name of an Iceberg table")
    return TableMirror(spark, f"delta.{quoted_name(target)}", format, properties)


def _found_format(spark: SparkSession, target: str, *, is_path: bool, local: Path | None) -> Format:
    if local is not None:
        if (local / CURRENT).exists():
            return "parquet"
        if (local / "_delta_log").exists():
            return "delta"
    elif not is_path and spark.catalog.tableExists(target):
        described = spark.sql(f"DESCRIBE TABLE EXTENDED {target}").where("col_name = 'Provider'")
        provider = described.first()
        if provider is not None and provider.data_type in ("delta", "iceberg"):
            found: Format = provider.data_type
            return found
        raise ConfigError(f"{target} is a table, but neither of Delta nor of Iceberg")
    raise ConfigError(f"{target} does not exist yet: pass format= to create it")


@contextmanager
def _persisted(frame: DataFrame) -> Iterator[None]:
    """Persists a frame, because each query of it would read the source again."""
    if frame.storageLevel.useMemory or frame.storageLevel.useDisk:  # by its owner
        yield
        return
    frame.persist()
    try:
        yield
    finally:
        frame.unpersist()
