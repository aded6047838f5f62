"""Mirrors of tables in Delta, Iceberg or Parquet, kept up to date with batches of changes.

`changes` finds the columns of a batch, `fold` reduces it to one row per key, `columns` compares
its columns with the target's, and `apply` combines these steps. `table` and `parquet` are the
formats.
"""

from binarrow.spark.mirror.apply import apply_changes
from binarrow.spark.mirror.parquet import read_mirror

__all__ = ["apply_changes", "read_mirror"]
