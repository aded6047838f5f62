"""Draws figures as horizontal bars: one SVG file without a library."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

Bars = dict[str, float]

WIDTH, LABELS, NUMBERS = 760, 190, 70
BAR, GAP, TITLE = 14, 4, 26
OWN, BOUND, OTHER = "#1f6feb", "#9aa4b2", "#d0a24c"


def chart(groups: dict[str, Bars], unit: str) -> str:
    """The bars of each group, as wide as their share of the group's largest number. `groups` contains names and numbers."""
    lines, y = [], 4
    for name, bars in groups.items():
        lines.append(label(0, y + TITLE - 10, f"{name}, {unit}", "bold"))
        y += TITLE
        lines.extend(drawn(bars, y))
        y += len(bars) * (BAR + GAP) + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" font-family="sans-serif" font-size="12">'
    background = f'<rect width="{WIDTH}" height="{y}" fill="white"/>'
    return "\n".join([head, background, *lines, "</svg>", ""])


def drawn(bars: Bars, y: int) -> Iterator[str]:
    largest = max(bars.values(), default=0) or 1
    for name, number in bars.items():
        width = (WIDTH - LABELS - NUMBERS) * number / largest
        yield label(0, y + BAR - 3, name)
        yield f'<rect x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour(name)}"/>'
        yield label(LABELS + width + 5, y + BAR - 3, f"{number:,.0f}")
        y += BAR + GAP


def label(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y}" font-weight="{weight}">{escape(text)}</text>'


def colour(name: str) -> str:
    """The colour of binarrow, of the lower bounds, of all others."""
    if name.startswith("binarrow"):
        return OWN
    return BOUND if name in ("floor", "zstd-alone", "decode-alone") else OTHER
