"""`apply_changes`: the function that brings a batch of changes into a mirror."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from binarrow import ConfigError, SchemaError
from binarrow.spark.mirror.changes import Changes
from binarrow.spark.mirror.columns import check_added, compare, mirror_schema
from binarrow.spark.mirror.fold import MISSING_ROW, Folded, fold, summarize
from binarrow.spark.mirror.parquet import CURRENT, ParquetMirror, local_folder
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
    """The function for ``foreachBatch`` that keeps a mirror of a table up to date.

        changes.writeStream.foreachBatch(apply_changes("lake.shop.orders")).start()

    It takes a DataFrame of one table's changes in the flat layout, and a batch's number, which it
    does not need: a batch that comes twice leaves the mirror as it is, and a new checkpoint may
    begin its numbers anew. A batch is one commit of Delta or Iceberg, or one version of Parquet; a
    batch without changes is none. For a DataFrame outside of a stream call it yourself:
    ``apply_changes(target)(frame)``.

    Of each key the latest change by (``_commit_version``, ``_change_ordinal``) counts; the row
    before an update counts as deleted, so changes of the key are right. ``_change_type`` truncate
    empties the mirror in its place.

    Where the server logs only some columns (``binlog_row_image`` MINIMAL or NOBLOB), the option
    ``envelope`` must hold ``present``: columns that an image leaves out then keep their value.
    Without it a hole cannot be told from NULL, and the mirror would be wrong. An update that gives
    a row another key without telling the whole row is an error.

    Columns that the changes have gained are added to the target, with a warning, and are NULL in
    rows that do not change since. If the source may have back-filled them in these rows (NOT NULL,
    or a DEFAULT), that is an error: see ``backfilled_columns``. The log has neither values that
    ALTER TABLE converts nor, before MySQL 9.6 and in MariaDB, what ``ON DELETE CASCADE`` changes.

    Args:
        target: A table of Delta or Iceberg, as SQL names it; the path of a Delta table; or a folder
            for Parquet that driver and executors see under the same path. It is made where it is
            not there.
        keys: The columns that tell rows apart; NULL is a value like others. None takes the
            primary key, which the log tells with ``binlog_row_metadata=FULL``.
        format: None finds out, of a target that is there.
        envelope_prefix: The option ``envelopePrefix`` of the changes.
        missing_columns: When the target has columns that the changes lack: ``"error"``, or
            ``"null"``, which keeps what they hold and leaves them NULL in new rows.
        backfilled_columns: For values that the source filled in and the log does not contain: a
            column that ALTER TABLE added to existing rows, or one that an INSERT left out
            (``binlog_row_image=MINIMAL``). ``"error"`` is an error that says what to do;
            ``"null"`` makes them NULL. A schema that ``load()`` read from a server shows which
            columns have a DEFAULT; other columns count as having one.
        missing_rows: When a change tells a part of a row that the target does not have:
            ``"error"``, or ``"ignore"``, for a mirror whose first load is newer than the changes.
        properties: Table properties (``TBLPROPERTIES``) of a table that is made.

    Raises:
        ConfigError, SchemaError: From the function: it says what does not fit, and what to do.
    """
    names = (keys,) if isinstance(keys, str) else None if keys is None else tuple(keys)
    if names == ():
        raise ConfigError(
            "a mirror needs a key: rows of a table without one cannot be told apart; give the table"
            " one (ALTER TABLE ... ADD PRIMARY KEY), or archive its changes instead"
        )
    if format not in (None, "delta", "iceberg", "parquet"):
        raise ConfigError(f"format {format!r}: it is delta, iceberg or parquet")
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
                    "%s gets the columns %s: NULL in rows that are there, for the log does not"
                    " tell what the source filled them with (DEFAULT)",
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
    except Exception as error:  # of Spark's or Java's, as each format wraps what a task raises
        if MISSING_ROW in str(error):
            raise SchemaError(MISSING_ROW) from error
        raise


def open_target(
    spark: SparkSession,
    target: str,
    format: Format | None,  # noqa: A002
    properties: Mapping[str, str],
) -> TableMirror | ParquetMirror:
    """The mirror that a target's name means.

    Raises:
        ConfigError: Its format is not known, or not one for such a name.
    """
    is_path = "/" in target and not re.search(r"\.`[^`]+`$", target)
    local = local_folder(target) if is_path else None
    if format is None:
        format = _found_format(spark, target, is_path=is_path, local=local)  # noqa: A001
    if format == "parquet":
        if local is None:
            raise ConfigError(
                f"a Parquet mirror is a folder that the driver sees as well, and {target} is none:"
                " give its path, or use Delta or Iceberg"
            )
        return ParquetMirror(spark, local)
    if not is_path:
        return TableMirror(spark, target, format, properties)
    if format == "iceberg":
        raise ConfigError(f"Iceberg's tables go by name, and {target} is a path")
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
    raise ConfigError(f"{target} is not there yet: say which format= to make it in")


@contextmanager
def _persisted(frame: DataFrame) -> Iterator[None]:
    """Keeps a frame, for each look at it would read the source again."""
    if frame.storageLevel.useMemory or frame.storageLevel.useDisk:  # its owner does
        yield
        return
    frame.persist()
    try:
        yield
    finally:
        frame.unpersist()
