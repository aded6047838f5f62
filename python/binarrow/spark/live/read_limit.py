"""Read limits of streaming sources (Spark 4.2), and their replacements for earlier versions."""

from __future__ import annotations

from typing import Any

from binarrow import ConfigError
from binarrow.spark.messages import spark_message

try:
    from pyspark.sql.streaming.datasource import (
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    IS_LIMITED = True
except ImportError:  # in Spark 4.0 and 4.1 each batch reads to the end of the log
    IS_LIMITED = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """An empty replacement."""


def default_read_limit(files: int, max_bytes: int | None, max_rows: int | None) -> Any:
    """Returns the read limit of a batch: from the options, else one file per task.

    Raises:
        ConfigError: The options set a limit that this version of Spark does not support.
    """
    check_limits(max_bytes, max_rows)
    if max_bytes is not None:
        return ReadMaxBytes(max_bytes)
    return ReadMaxFiles(files) if max_rows is None else ReadMaxRows(max_rows)


BOTH = "⟦max_bytes_per_trigger⟧ and ⟦max_rows_per_trigger⟧"


def check_limits(max_bytes: int | None, max_rows: int | None) -> None:
    """Checks that at most one limit is set, and that this version of Spark supports it."""
    if max_bytes is not None and max_rows is not None:
        raise ConfigError(spark_message(f"{BOTH}: set one of them"))
    if not IS_LIMITED and (max_bytes is not None or max_rows is not None):
        raise ConfigError(
            spark_message(
                f"{BOTH} need Spark 4.2: in earlier versions each batch reads to the end of the log"
            )
        )


__all__ = ["IS_LIMITED", "SupportsTriggerAvailableNow", "check_limits", "default_read_limit"]
