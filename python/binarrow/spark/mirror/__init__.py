"""Mirrors of tables: changes, folded to what becomes of each row, in Delta, Iceberg or Parquet.

`changes` knows the columns, `fold` makes of a batch what becomes of each key, `columns` compares
with the target's, `apply` puts it together; the other files are the formats.
"""

from binarrow.spark.mirror.apply import apply_changes
from binarrow.spark.mirror.parquet import read_mirror

__all__ = ["apply_changes", "read_mirror"]
