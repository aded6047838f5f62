"""Counts of changes by minute, hour, connection or operation, from the columns of the envelope."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow import ChangeBatch


class By(StrEnum):
    """Values of --by."""

    minute = "minute"
    hour = "hour"
    thread = "thread"
    operation = "operation"


ENVELOPE = ("change_type", "commit_timestamp", "thread_id")
"""The columns of the envelope that are counted."""

OPERATIONS = {"insert": "inserts", "update_postimage": "updates", "delete": "deletes"}
"""The rows that are counted: an update has two."""

BLOCKS = " ▏▎▍▌▋▊▉█"
"""Eighths of a character."""


@dataclass
class Groups:
    """The numbers of changes by a group, a table and an operation."""

    by: By
    counts: Counter[tuple[Any, str, str]] = field(default_factory=Counter)

    def add(self, batch: ChangeBatch) -> None:
        """Adds the changes of a batch, which has the columns of ENVELOPE."""
        import pyarrow as pa

        rows = batch.to_pyarrow()
        kinds = rows.column("_change_type")
        group = self._group(rows)
        counted = pa.table({"group": group, "kind": kinds}).group_by(["group", "kind"])
        name = f"{batch.database}.{batch.table}"
        for one in counted.aggregate([([], "count_all")]).to_pylist():
            operation = OPERATIONS.get(one["kind"])
            if operation is not None:
                self.counts[one["group"], name, operation] += one["count_all"]

    def _group(self, rows: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc

        match self.by:
            case By.thread:
                return rows.column("_thread_id")
            case By.operation:
                return rows.column("_change_type")
            case _:
                floored = pc.floor_temporal(rows.column("_commit_timestamp"), unit=self.by.value)
                return floored.cast("int64")

    def records(self, zone: tzinfo | None) -> list[dict[str, Any]]:
        """Returns one object per group and table, times in order, otherwise the largest first."""
        found: dict[tuple[Any, str], dict[str, int]] = {}
        for (group, table, operation), count in self.counts.items():
            found.setdefault((group, table), dict.fromkeys(OPERATIONS.values(), 0))[operation] = (
                count
            )
        records = [
            {self.by.value: group, "table": table, **counts, "changes": sum(counts.values())}
            for (group, table), counts in found.items()
        ]
        is_time = self.by in (By.minute, By.hour)
        if is_time:
            records.sort(key=lambda one: (one[self.by.value], -one["changes"], one["table"]))
        else:
            records.sort(key=lambda one: (-one["changes"], str(one[self.by.value]), one["table"]))
        for one in records:
            if is_time:
                one[self.by.value] = shown_minute(one[self.by.value], zone)
            elif self.by is By.operation:
                one[self.by.value] = one[self.by.value].removesuffix("_postimage")
        return records


def shown_minute(micros: int, zone: tzinfo | None) -> str:
    """Formats a time with its zone, without seconds."""
    time = datetime.fromtimestamp(micros / 1_000_000, UTC).astimezone(zone)
    return time.isoformat(timespec="minutes")


def bar(value: int, largest: int, width: int = 30) -> str:
    """Returns a bar for a value; at least the thinnest one for a value above 0."""
    eighths = round(value / largest * width * 8) if largest else 0
    full, rest = divmod(max(eighths, min(value, 1)), 8)
    return "█" * full + (BLOCKS[rest] if rest else "")


__all__ = ["ENVELOPE", "By", "Groups", "bar"]
