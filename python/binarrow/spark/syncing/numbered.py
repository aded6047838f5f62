"""Commits that contain the number of their batch, so that a repeated batch is written once.

Delta ignores a transaction of a query whose number it has. Iceberg has no such numbers: its
snapshots contain the number of their batch, and only the last batch of a query is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binarrow.spark.mirror.table import TableMirror

BATCH = "binarrow.sync.batch"
"""The property of an Iceberg snapshot with the query and the number of the batch."""


def is_written(mirror: TableMirror, query: str, batch_id: int) -> bool:
    """True if an Iceberg table has the snapshot of a batch."""
    snapshots = mirror.spark.table(f"{mirror.name}.snapshots")
    return not snapshots.where(f"summary['{BATCH}'] = '{query} {batch_id}'").isEmpty()


@contextmanager
def numbered(mirror: TableMirror, query: str, batch_id: int) -> Iterator[bool]:
    """Adds the number of a batch to the commit of the block, which must be only one.

    Yields false if an Iceberg table has the batch already. Delta itself ignores such a commit.
    """
    if mirror.format == "iceberg":
        if is_written(mirror, query, batch_id):
            yield False
            return
        conf = {f"spark.sql.iceberg.snapshot-property.{BATCH}": f"{query} {batch_id}"}
    else:
        own = "spark.databricks.delta.write.txn"
        conf = {f"{own}AppId": query, f"{own}Version": str(batch_id)}
    session = mirror.spark.conf  # of the batch: Spark gives it a session of its own
    for name, value in conf.items():
        session.set(name, value)
    try:
        yield True
    finally:
        for name in conf:
            session.unset(name)


__all__ = ["BATCH", "is_written", "numbered"]
