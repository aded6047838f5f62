"""Printing: tables for people, JSON lines for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def print_json(record: dict[str, Any]) -> None:
    """One object on one line."""
    print(json.dumps(record, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table; in colour on a terminal, and never narrower than its text in a pipe."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 10_000
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        is_number = bool(rows) and all(isinstance(row[place], int) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for row in rows:
        table.add_row(
            *(grouped(cell) if isinstance(cell, int) else escape(str(cell)) for cell in row)
        )
    console.print(table)


def grouped(number: int) -> str:
    """A number for people: ``1 234 567``."""
    return f"{number:,}".replace(",", " ")


def byte_count(size: int) -> str:
    """A size for people: ``12.3 MB``."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:  # noqa: PLR2004 - what the units are in
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
