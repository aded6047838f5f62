"""The numbers of the page, from the items of a reader."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from binarrow import SchemaChange, Transaction, Truncate
from binarrow.cli.groups import By, Groups

ENVELOPE = ("change_type", "commit_timestamp")
"""The columns of the envelope that are counted."""

INCLUDE = ("transaction", "schema_change", "truncate")
"""The items that are counted in addition to rows."""

MINUTE = 60_000_000
"""Microseconds."""


@dataclass
class Counts:
    """Changes by minute and table, bytes by minute, and kinds of statements."""

    groups: Groups = field(default_factory=lambda: Groups(By.minute))
    sizes: Counter[int] = field(default_factory=Counter)
    """Bytes of transactions with changes, by the minute of the commit: minutes since 1970."""
    statements: Counter[str] = field(default_factory=Counter)
    """Statements that change structures or empty tables, by kind."""
    marks: list[Transaction] = field(default_factory=list)
    """The begins and ends of transactions."""
    _begin: int | None = None

    def add(self, item: Any) -> None:
        """Adds a batch, whose envelope is ENVELOPE, or an item of INCLUDE."""
        match item:
            case Transaction():
                self._add_mark(item)
            case Truncate():
                self.statements["truncate"] += 1
            case SchemaChange():
                # A statement that empties tables is also a Truncate for each of them.
                if item.kind != "truncate":
                    self.statements[item.kind] += 1
            case _:
                self.groups.add(item)

    def _add_mark(self, mark: Transaction) -> None:
        self.marks.append(mark)
        if mark.kind == "begin":
            self._begin = mark.position.offset
        elif mark.kind == "end" and self._begin is not None and mark.rows:
            minute = int(mark.commit_timestamp.timestamp()) // 60
            self.sizes[minute] += mark.position.offset - self._begin

    def by_table(self) -> dict[str, Counter[int]]:
        """Returns the changes of each table by minute, the table with most changes first."""
        found: dict[str, Counter[int]] = {}
        for (micros, table, _), count in self.groups.counts.items():
            found.setdefault(table, Counter())[micros // MINUTE] += count
        return dict(sorted(found.items(), key=lambda one: (-one[1].total(), one[0])))


__all__ = ["ENVELOPE", "INCLUDE", "Counts"]
