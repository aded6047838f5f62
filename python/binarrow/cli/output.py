"""Prints tables for people, and JSON lines for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal


def print_json(record: dict[str, Any]) -> None:
    """Prints one object on one line."""
    print(json_text(record))


def json_text(record: dict[str, Any], default: Callable[[Any], object] | None = None) -> str:
    """Returns JSON without control characters; JSON itself escapes U+0000 to U+001F."""
    return json.dumps(record, ensure_ascii=False, default=default).translate(_CONTROLS)


_CONTROLS = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a table: in colour on a terminal, and in full width into a pipe."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 10_000
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(map(printable, columns)):
        is_number = bool(rows) and all(isinstance(row[place], int) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for row in rows:
        table.add_row(
            *(
                grouped(cell) if isinstance(cell, int) else escape(printable(str(cell)))
                for cell in row
            )
        )
    console.print(table)


@dataclass(frozen=True)
class Screen:
    """The properties of the output."""

    width: int | None
    """Characters that fit on a line; None in a pipe, where lines are not cut."""
    colour: bool

    @classmethod
    def of_stdout(cls) -> Screen:
        """Returns the width and colours of stdout, as rich detects them."""
        from rich.console import Console

        console = Console()
        is_terminal = console.is_terminal
        colour = is_terminal and console.color_system is not None and not console.no_color
        return cls(console.width if is_terminal else None, colour)

    def fitted(self, line: str) -> str:
        """Cuts the line at the width of the terminal."""
        if self.width is None or len(line) <= self.width:
            return line
        return line[: self.width - 1] + "…"

    def styled(self, text: str, style: Literal["bold", "dim"]) -> str:
        """Returns the text in a style, if the terminal has colours."""
        code = {"bold": 1, "dim": 2}[style]
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def on_one_line(text: str) -> str:
    """Returns the text without line breaks, with its control characters escaped."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """Returns the text with its control characters escaped, except for line breaks."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else f"\\x{ord(each):02x}" for each in text
    )


def grouped(number: int) -> str:
    """Formats a number for people: ``1 234 567``."""
    return f"{number:,}".replace(",", " ")


def byte_count(size: int) -> str:
    """Formats a size for people: ``12.3 MB``."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:  # noqa: PLR2004 - the ratio of the units
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
