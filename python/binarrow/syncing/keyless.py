"""The existing rows of tables without a key, for a history of changes.

A stream loads tables in the order of their keys. A table without a key is read in one snapshot
before the stream begins; its changes up to this snapshot are then left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from binarrow._native import TypeOptions
from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.reduce import VERSION
from binarrow.syncing.rows import ADDED, PREFIX, conformed
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from binarrow.server import Server
    from binarrow.syncing.tables import Tables


def load_keyless(
    server: Server,
    tables: Tables,
    name: Name,
    types: TypeOptions,
    locks: Literal["brief"] | None,
    commit: Callable[[], object],
) -> None:
    """Reads the rows of a table, in several commits. After a crash they are read again.

    Raises:
        TableError: The position of the snapshot is not exact, so rows would be repeated.
    """
    import pyarrow.compute as pc

    record = tables.records[name]
    version = -1
    envelope = [one.removeprefix(PREFIX) for one in ADDED]
    rows = server.read_table(
        shown(name), types=types, envelope=envelope, envelope_prefix=PREFIX, locks=locks
    )
    try:
        if not rows.is_exact:
            raise TableError(
                name,
                f"{shown(name)} has no key, and the position of a snapshot of it is not exact: use"
                " locks='brief', or GRANT BACKUP_ADMIN ON *.* and SELECT ON"
                " performance_schema.log_status",
            )
        for batch in rows:
            tables.pending.add_rows(record, conformed(name, batch, record.schema))
            tables.summary.of(name).changes += batch.num_rows
            tables.summary.changes += batch.num_rows
            tables.settings.progress.add_loaded(name, batch.num_rows, batch.nbytes)
            version = max(version, pc.max(batch.column(VERSION)).as_py())
            if tables.pending.is_full:
                commit()
        position = rows.position
    finally:
        rows.close()
    if position is not None:
        version = max(version, version_before(position))
    tables.summary.of(name).loads += 1
    tables.pending.finish(name)
    tables.put(replace(record, status="followed", loaded_version=version))
    commit()


__all__ = ["load_keyless"]
