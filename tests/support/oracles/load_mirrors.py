"""Two consumers of an initial load, whose rows must be those that SELECT returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import binarrow
from support.workloads import loads

Row = tuple[Any, ...]
Key = tuple[str, Row]


@dataclass
class Mirrors:
    """One consumer applies rows as they arrive, one keeps the latest row of each key."""

    in_order: dict[Key, Row] = field(default_factory=dict)
    latest: dict[Key, tuple[tuple[int, int], Row | None]] = field(default_factory=dict)

    def apply(self, batch: binarrow.ChangeBatch) -> None:
        names = loads.key_columns(batch.table)
        for row in batch.to_pyarrow().to_pylist():
            kind, order = row["_change_type"], (row["_commit_version"], row["_change_ordinal"])
            values = tuple(value for name, value in row.items() if not name.startswith("_"))
            key = (batch.table, tuple(row[name] for name in names))
            is_gone = kind in ("delete", "update_preimage")
            if is_gone:
                self.in_order.pop(key, None)
            else:
                self.in_order[key] = values
            if key not in self.latest or order >= self.latest[key][0]:
                self.latest[key] = (order, None if is_gone else values)

    def assert_are(self, rows: dict[Key, Row]) -> None:
        assert self.in_order == rows
        assert {key: row for key, (_, row) in self.latest.items() if row is not None} == rows


def selected(source: binarrow.Server) -> dict[Key, Row]:
    """The rows of all tables now."""
    found = {}
    for table in loads.TABLES:
        names = loads.key_columns(table)
        for row in source.read_table(f"live.{table}", envelope=[]).read_all().to_pylist():
            found[table, tuple(row[name] for name in names)] = tuple(row.values())
    return found
