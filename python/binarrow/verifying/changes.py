"""The rows of a table that the log changed between the target's position and a snapshot."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from binarrow._native import (
    ChangeBatch,
    RowChanges,
    SchemaChange,
    Truncate,
    UnmatchedPatternWarning,
)
from binarrow.syncing.names import Name, shown
from binarrow.syncing.reduce import CHANGE, VERSION
from binarrow.syncing.rows import ADDED, PREFIX, PRESENT, conformed
from binarrow.syncing.structures import TYPES
from binarrow.verifying.errors import InconclusiveError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from binarrow._native import ChosenRows, Position
    from binarrow.server import Server
    from binarrow.syncing.operations import Record

MAX_CHANGED = 2_000_000
"""The number of changed rows for which there is memory: about 200 bytes each."""

ORDINAL = b"mysql.ordinal_position"
"""The metadata of a column with the number of its bit in `PRESENT`, from 1."""

AFTER = ("insert", "update_postimage")


class LoggedChanges:
    """The changed rows of a table."""

    def __init__(self, record: Record, chosen: ChosenRows | None) -> None:
        self.rows = RowChanges()
        self.keys: list[pa.RecordBatch] = []
        """The keys of rows in the parts that are compared row by row."""
        self.images = 0
        self._record = record
        self._chosen = chosen

    def read(
        self,
        server: Server,
        start: Position,
        stop: Position,
        structure: str,
        show: Callable[[int], None],
    ) -> None:
        """Reads a part of the log.

        Raises:
            InconclusiveError: The log does not contain all changes of rows.
        """
        name = self._record.name
        keywords: dict[str, Any] = {
            "tables": [shown(name)],
            "columns": {shown(name): self._record.schema.names},
            "types": TYPES,
            "envelope": ["change_type", "commit_version", "present"],
            "envelope_prefix": PREFIX,
            "include": ["schema_change", "truncate"],
            "unlogged_changes": "error",
            "schema_snapshot": structure,
        }
        with warnings.catch_warnings(), server.range(start, stop, **keywords) as log:
            # The table may have no changes.
            warnings.simplefilter("ignore", UnmatchedPatternWarning)
            for item in log:
                if isinstance(item, SchemaChange | Truncate):
                    kind = "TRUNCATE" if isinstance(item, Truncate) else item.kind.upper()
                    raise InconclusiveError(
                        f"the log contains {kind} of the table after the target's position: run"
                        " binarrow sync, then verify again"
                    )
                if isinstance(item, ChangeBatch) and (item.database, item.table) == name:
                    self._add(name, item.to_pyarrow())
                    show(self.images)

    def _add(self, name: Name, batch: pa.RecordBatch) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        check_images(batch)
        rows = conformed(name, batch, self._record.schema).select(self._record.schema.names)
        keys = rows.select(self._record.key)
        is_after = pc.is_in(batch.column(CHANGE), value_set=pa.array(AFTER))
        marks = pa.record_batch([is_after, batch.column(VERSION)], ["is_after", "version"])
        self.rows.add(keys, rows, marks)
        self.images += batch.num_rows
        if self._chosen is not None:
            self.keys.append(keys.filter(self._chosen.has(keys)))
        if len(self.rows) > MAX_CHANGED:
            raise InconclusiveError(
                f"the log has more than {MAX_CHANGED} changed rows after the target's position: run"
                " binarrow sync --once, then verify again"
            )


def check_images(batch: pa.RecordBatch) -> None:
    """Checks that the log contains all columns of each image.

    Raises:
        InconclusiveError: It leaves columns out.
    """
    import pyarrow.compute as pc

    own = [one for one in batch.schema if one.name not in {*ADDED, PRESENT}]
    needed = sum(1 << int(one.metadata[ORDINAL]) - 1 for one in own)
    for bits in pc.unique(batch.column(PRESENT)).to_pylist():
        if bits is not None and int.from_bytes(bits, "little") & needed != needed:
            raise InconclusiveError(
                "the log contains only a part of a row after the target's position:"
                " binlog_row_image is not FULL"
            )


__all__ = ["LoggedChanges"]
