"""The page: one HTML file without scripts, and without anything from a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from binarrow.cli.output import byte_count, grouped
from binarrow.cli.report.charts import Series, bars, columns, table, text
from binarrow.cli.report.counts import Counts
from binarrow.cli.report.style import COLOURS, STYLE
from binarrow.cli.report.timeline import Timeline

OPERATIONS = ("inserts", "updates", "deletes")

SHOWN_TABLES = 15
"""The number of tables that have a bar of their own."""


@dataclass(frozen=True)
class Report:
    """The facts that the page shows."""

    sources: Sequence[str]
    counts: Counts
    stats: Mapping[str, Any]
    """`stats()` of the reader; `largest_transactions` have their details."""
    zone: tzinfo | None

    def html(self) -> str:
        """Returns the page."""
        sections = [self._by_table_and_time(), self._bytes(), self._tables()]
        sections += [self._kinds(), self._largest()]
        body = "".join(f"<section>{section}</section>" for section in sections if section)
        names = ", ".join(self.sources)
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
            '<meta http-equiv="Content-Security-Policy"'
            " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>Changes in {text(names)}</title>\n<style>{STYLE}</style></head>\n"
            f"<body><h1>Changes in {text(names)}</h1>{self._head()}{body}</body></html>\n"
        )

    def _head(self) -> str:
        stats = self.stats
        figures = {
            "changes": grouped(stats["changes"]),
            "transactions": grouped(stats["transactions"]),
            "tables": grouped(len(stats["tables"])),
            "bytes read": byte_count(stats["bytes_read"]),
        }
        shown = "".join(
            f"<div><dt>{name}</dt><dd>{figure}</dd></div>" for name, figure in figures.items()
        )
        if stats["first_commit"] is None:
            span = "No change was found."
        else:
            first, last = (self._time(stats[name]) for name in ("first_commit", "last_commit"))
            span = f"Committed {first} to {last}."
        notes = "".join(f"<p>{note}</p>" for note in self._notes())
        return f'<p>{text(span)}</p>{notes}<dl class="figures">{shown}</dl>'

    def _notes(self) -> list[str]:
        skipped, dropped = self.stats["statements_skipped"], self.stats["dropped_rows_events"]
        notes = []
        if skipped:
            notes.append(
                f"{grouped(skipped)} statements that may change rows were logged as text: the log"
                " does not contain the rows, and the numbers do not include them."
            )
        if dropped:
            notes.append(
                f"{grouped(dropped)} rows events are not included: their transactions did not"
                " commit."
            )
        return notes

    def _by_table_and_time(self) -> str:
        found = self.counts.by_table()
        if not found:
            return ""
        timeline = self._timeline
        # The last colour is for all other tables.
        own = COLOURS if len(found) <= COLOURS else COLOURS - 1
        names = list(found)
        series = [Series(name, timeline.sums(found[name])) for name in names[:own]]
        if rest := names[own:]:
            others: Counter[int] = sum((found[name] for name in rest), Counter())
            series.append(Series(f"{len(rest)} other tables", timeline.sums(others)))
        title = f"Changes by table and {timeline.unit}"
        rows = [
            [timeline.label(bucket), *(grouped(one.values[bucket]) for one in series)]
            for bucket in range(timeline.count)
            if any(one.values[bucket] for one in series)
        ]
        heads = [timeline.unit, *(one.name for one in series)]
        return (
            f"<h2>{title}</h2><p>By the time of the commit ({text(self._zone_name)}). An update is"
            f" one change.</p>{columns(timeline, series, grouped, title)}"
            f"{_numbers(heads, rows)}"
        )

    def _bytes(self) -> str:
        if not self.counts.sizes:
            return ""
        timeline = self._timeline
        series = Series("bytes", timeline.sums(self.counts.sizes))
        title = f"Bytes by {timeline.unit}"
        rows = [
            [timeline.label(bucket), grouped(size)]
            for bucket, size in enumerate(series.values)
            if size
        ]
        return (
            f"<h2>{title}</h2><p>The size in the log of the transactions that contain these"
            f" changes.</p>{columns(timeline, [series], byte_count, title)}"
            f"{_numbers([timeline.unit, 'bytes'], rows)}"
        )

    def _tables(self) -> str:
        tables = self.stats["tables"]
        if not tables:
            return ""
        by_changes = sorted(
            tables.items(), key=lambda one: (-sum(one[1][kind] for kind in OPERATIONS), one[0])
        )
        drawn = [
            (name, [Series(kind, [counts[kind]]) for kind in OPERATIONS])
            for name, counts in by_changes[:SHOWN_TABLES]
        ]
        rows = [
            [name, *(grouped(counts[kind]) for kind in (*OPERATIONS, "bytes"))]
            for name, counts in sorted(tables.items(), key=lambda one: (-one[1]["bytes"], one[0]))
        ]
        heads = ["table", *OPERATIONS, "bytes of rows events"]
        return f"<h2>Changes by table</h2>{bars(drawn, grouped)}{table(heads, rows, (1, 2, 3, 4))}"

    def _kinds(self) -> str:
        tables = self.stats["tables"].values()
        kinds = {
            kind.removesuffix("s").upper(): sum(counts[kind] for counts in tables)
            for kind in OPERATIONS
        }
        kinds |= {kind.upper(): count for kind, count in self.counts.statements.most_common()}
        if skipped := self.stats["statements_skipped"]:
            kinds["logged as text"] = skipped
        drawn = [(name, [Series(name, [count])]) for name, count in kinds.items() if count]
        if not drawn:
            return ""
        return (
            "<h2>Statement kinds</h2><p>INSERT, UPDATE and DELETE are numbers of changed rows; the"
            f" others are numbers of statements.</p>{bars(drawn, grouped)}"
        )

    def _largest(self) -> str:
        largest = self.stats["largest_transactions"]
        if not largest:
            return ""
        drawn = [(_place(one), [Series(_place(one), [one["bytes"]])]) for one in largest]
        rows = [
            [
                _place(one),
                "-" if one["gtid"] is None else one["gtid"],
                self._time(one["committed"]),
                grouped(one["bytes"]),
                grouped(one["changes"]),
                "-" if one["duration_s"] is None else grouped(one["duration_s"]),
                "-" if one["thread_id"] is None else one["thread_id"],
                ", ".join(one["tables"]),
            ]
            for one in largest
        ]
        heads = ["begins at", "GTID", "committed", "bytes", "changes", "seconds", "thread"]
        return (
            "<h2>Largest transactions</h2><p>By their size in the log.</p>"
            f"{bars(drawn, byte_count)}{table([*heads, 'tables'], rows, (3, 4, 5, 6))}"
        )

    @property
    def _timeline(self) -> Timeline:
        minutes = {*self.counts.sizes}
        for by_minute in self.counts.by_table().values():
            minutes |= {*by_minute}
        return Timeline.of(minutes, self.zone)

    @property
    def _zone_name(self) -> str:
        return "local time" if self.zone is None else str(self.zone)

    def _time(self, time: datetime) -> str:
        return time.astimezone(self.zone).isoformat(sep=" ", timespec="seconds")


def _place(one: Mapping[str, Any]) -> str:
    return f"{Path(one['file']).name}:{one['offset']}"


def _numbers(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns the numbers of a chart, which the reader of the page can show."""
    shown = table(heads, rows, range(1, len(heads)))
    return f"<details><summary>Numbers</summary>{shown}</details>"


__all__ = ["Report"]
