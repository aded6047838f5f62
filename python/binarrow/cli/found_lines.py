"""Formats found changes: a few lines for people, or one JSON object each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from binarrow import TypeOptions
from binarrow.cli.change_lines import ENVELOPE, PREFIX, SECOND, Change, shown_cells
from binarrow.cli.output import json_text, on_one_line
from binarrow.cli.writer import cell_as_json

DETAILS = ("gtid", "thread_id", "query", "binlog_file", "binlog_position", "commit_version")
"""The columns of the envelope that are printed in addition to those of each change."""


def found_shape() -> dict[str, Any]:
    """Returns the keywords of `read_binlog` with which found changes are read."""
    return {
        "envelope": [*ENVELOPE, *DETAILS],
        "envelope_prefix": PREFIX,
        "split_key_updates": False,
        "types": TypeOptions(enum="text", time="text", zero_dates="text"),
    }


OFFSET_BITS = 40
"""The number of bits of a commit's version that are the offset of its transaction."""


@dataclass(frozen=True)
class FoundChange:
    """A change, with its place in the log and its origin."""

    table: str
    change: Change
    zone: tzinfo | None

    @property
    def committed(self) -> str:
        """The time of the commit, with its zone."""
        time = datetime.fromtimestamp(self.change.committed / SECOND, UTC).astimezone(self.zone)
        return time.isoformat(timespec="microseconds")

    @property
    def transaction(self) -> str:
        """The place of the first event of the transaction."""
        offset = self.change.details["commit_version"] & ((1 << OFFSET_BITS) - 1)
        return f"{self.change.details['binlog_file']}:{offset}"

    @property
    def place(self) -> str:
        """The place of the rows event."""
        details = self.change.details
        return f"{details['binlog_file']}:{details['binlog_position']}"

    def json(self, folder: str | None) -> str:
        """Returns one JSON object, with the folder of the log if there are several logs."""
        details = self.change.details
        record: dict[str, Any] = {
            **({"log": folder} if folder else {}),
            "table": self.table,
            "change": self.change.kind,
            "committed": self.committed,
            "transaction": self.transaction,
            "gtid": details["gtid"],
            "thread_id": details["thread_id"],
            "statement": details["query"],
            "place": self.place,
            "before": self.change.before,
            "after": self.change.after,
        }
        return json_text(record, cell_as_json)

    def text(self, width: int) -> str:
        """Returns a few lines, wrapped between values. They contain complete values."""
        details = self.change.details
        thread = details["thread_id"]
        origin = [
            f"transaction {details['gtid'] or self.transaction}",
            f"thread {'not logged' if thread is None else thread}",
        ]
        lines = [
            f"{self.committed}  {self.change.kind} {on_one_line(self.table)}",
            *_wrapped("", origin, width),
            f"  place      {self.place}",
        ]
        if details["query"] is not None:
            lines += _wrapped("statement", on_one_line(details["query"]).split(" "), width)
        if self.change.before is not None:
            lines += _wrapped("before", shown_cells(self.change.before), width)
        if self.change.after is not None:
            lines += _wrapped("after", shown_cells(self.change.after), width)
        return "\n".join(lines)


def _wrapped(title: str, words: list[str], width: int) -> list[str]:
    """Returns lines of at most `width` characters, except for longer words."""
    indent = f"  {title:10} " if title else "  "
    lines = [indent]
    is_empty = True
    for word in words:
        if not is_empty and len(lines[-1]) + 1 + len(word) > width:
            lines.append(" " * len(indent))
            is_empty = True
        lines[-1] += word if is_empty else f" {word}"
        is_empty = False
    return lines


__all__ = ["FoundChange", "found_shape"]
