"""`binarrow stats`: what is in the files, in figures."""

from __future__ import annotations

import heapq
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import binarrow
from binarrow.cli.arguments import (
    Files,
    Format,
    FormatOption,
    Positional,
    Start,
    Stop,
    Tables,
    where,
)
from binarrow.cli.failure import reports_failure
from binarrow.cli.output import byte_count, grouped, print_json, print_table
from binarrow.cli.progress import progress_of

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = """\
Examples:
  binarrow stats binlog.000001
  binarrow stats '/archive/binlog.*' --tables 'shop.*' --largest 20
  binarrow stats 'binlog.*' --format json | jq .rows"""


@reports_failure
def command(
    files: Files,
    tables: Tables = None,
    start: Start = None,
    stop: Stop = None,
    largest: Annotated[
        int, typer.Option(min=0, help="How many of the largest transactions to show.")
    ] = 5,
    positional: Positional = False,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
) -> None:
    """Count changes by table, and show the largest transactions and the time span."""
    reader = binarrow.read_binlog(
        files,
        tables=tables,
        start=where(start),
        stop=where(stop),
        column_names="positional" if positional else "log",
    )
    by_transaction = LargestTransactions()
    with reader, progress_of(reader):
        for change in reader:
            by_transaction.add(change.to_pyarrow())
    stats = reader.stats()
    names = _names(files)
    most = [(_place(version, names), rows) for version, rows in by_transaction.most(largest)]
    if format is Format.json:
        print_json(_record(stats, most))
    else:
        _print(stats, most)


class LargestTransactions:
    """Counts rows by transaction, in bounded memory."""

    def __init__(self) -> None:
        self._rows_by_version: Counter[int] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes the rows of a batch into account."""
        import pyarrow.compute as pc

        counts = pc.value_counts(batch.column("_commit_version"))
        versions, rows = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
        for version, count in zip(versions, rows, strict=True):
            self._rows_by_version[version] += count
        if len(self._rows_by_version) > _REMEMBERED:
            self._forget_small()

    def most(self, count: int) -> list[tuple[int, int]]:
        """Versions and rows of the transactions with the most rows, the largest first."""
        return heapq.nlargest(count, self._rows_by_version.items(), key=lambda item: item[1])

    def _forget_small(self) -> None:
        """Keeps the largest, and the latest, which may go on in the next batches."""
        newest = heapq.nlargest(_REMEMBERED // 4, self._rows_by_version.items())
        self._rows_by_version = Counter(dict(newest + self.most(_REMEMBERED // 4)))


_REMEMBERED = 1 << 20
"""Transactions whose rows are counted at the same time; bounds the memory on long logs."""

_OFFSET_BITS = 40  # `_commit_version` is file number × 2⁴⁰ + offset


def _place(version: int, names: dict[int, str]) -> str:
    number, offset = version >> _OFFSET_BITS, version & ((1 << _OFFSET_BITS) - 1)
    return f"{names.get(number, f'file {number}')}:{offset}"


def _names(files: list[str]) -> dict[int, str]:
    """The files' names by number: the one in the name, else the place in the list."""
    names = {}
    for place, path in enumerate(binarrow.expand_source(files), start=1):
        name = Path(path).name
        digits = name.rpartition(".")[2]
        names[int(digits) if digits.isdigit() else place] = name
    return names


def _record(stats: dict[str, Any], most: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        **{name: _text(value) for name, value in stats.items()},
        "largest_transactions": [{"position": place, "rows": rows} for place, rows in most],
    }


def _print(stats: dict[str, Any], most: list[tuple[str, int]]) -> None:
    by_table = sorted(stats["tables"].items(), key=lambda item: -item[1]["bytes"])
    print_table(
        ["table", "inserts", "updates", "deletes", "bytes"],
        [
            [name, counts["inserts"], counts["updates"], counts["deletes"], counts["bytes"]]
            for name, counts in by_table
        ],
    )
    if most:
        print_table(["largest transactions", "rows"], most)
    if stats["first_commit"] is not None:
        print(f"committed  {_text(stats['first_commit'])} to {_text(stats['last_commit'])}")
    print(
        f"read       {byte_count(stats['bytes_read'])} in {stats['seconds']:.2f} s:"
        f" {grouped(stats['transactions'])} transactions, {grouped(stats['rows'])} rows"
    )
    if stats["dropped_rows_events"]:
        print(
            f"note       {grouped(stats['dropped_rows_events'])} rows events left out:"
            " their transactions did not commit"
        )
    for column, count in stats["zero_dates"].items():
        print(f"note       {grouped(count)} zero dates in {column} were made NULL")


def _text(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
