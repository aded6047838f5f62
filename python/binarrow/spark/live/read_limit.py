"""What Spark 4.2 brought for streaming sources, and what stands for it where it is not there."""

from __future__ import annotations

from typing import Any

from binarrow import ConfigError

try:
    from pyspark.sql.streaming.datasource import (
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    IS_LIMITED = True
except ImportError:  # Spark 4.0 and 4.1 ask for all that is there, in one batch
    IS_LIMITED = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Nothing."""


def default_read_limit(files: int, max_bytes: int | None, max_rows: int | None) -> Any:
    """How much a batch reads: what the options say, else a file for each task.

    Raises:
        ConfigError: This Spark knows no limits, and the options set one.
    """
    check_limits(max_bytes, max_rows)
    if max_bytes is not None:
        return ReadMaxBytes(max_bytes)
    return ReadMaxFiles(files) if max_rows is None else ReadMaxRows(max_rows)


def check_limits(max_bytes: int | None, max_rows: int | None) -> None:
    """Whether the limits of a batch fit together, and this Spark."""
    if max_bytes is not None and max_rows is not None:
        raise ConfigError("maxBytesPerTrigger and maxRowsPerTrigger: set one of them")
    if not IS_LIMITED and (max_bytes is not None or max_rows is not None):
        raise ConfigError(
            "maxBytesPerTrigger and maxRowsPerTrigger need Spark 4.2: earlier ones read all that"
            " there is in one batch"
        )


__all__ = ["SupportsTriggerAvailableNow", "check_limits", "default_read_limit"]
