"""Charts as HTML and SVG, without scripts. Text is HTML, so that it keeps its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from binarrow.cli.output import on_one_line
from binarrow.cli.report.timeline import Timeline

STEP = 10
"""The width of a column with its gap, in units of the drawing."""

HEIGHT = 1000
"""The height of the drawing in its units."""

EDGE = 0.06
"""The part of a chart's width at whose times labels are aligned to the edge."""

LABELS = 5
"""The maximum number of times below a chart."""


@dataclass(frozen=True)
class Series:
    """The values of one colour."""

    name: str
    values: Sequence[int]


def text(value: object) -> str:
    """Returns text for HTML: on one line, without control characters."""
    return escape(on_one_line(str(value)), quote=True)


def columns(
    timeline: Timeline, series: Sequence[Series], shown: Callable[[int], str], title: str
) -> str:
    """Draws a column for each bucket, of one part per series.

    Args:
        timeline: The buckets.
        series: Values for each bucket; at most as many as there are colours.
        shown: Formats a value.
        title: What the chart shows, for screen readers.
    """
    totals = [sum(values) for values in zip(*(one.values for one in series), strict=True)]
    top = _top(max(totals, default=0))
    groups = [_column(timeline, bucket, series, top, shown) for bucket in range(timeline.count)]
    marks = "".join(
        f"<span>{shown(mark)}</span>" for mark in ((0, top // 2, top) if top > 1 else (0, top))
    )
    lines = "".join(
        f'<line x1="0" x2="{timeline.count * STEP}" y1="{y}" y2="{y}"/>'
        for y in (0, HEIGHT // 2, HEIGHT)
    )
    legend = "" if len(series) == 1 else _legend(series)
    return (
        f'{legend}<div class="chart"><div class="scale">{marks}</div>'
        f'<svg role="img" aria-label="{text(title)}" preserveAspectRatio="none"'
        f' viewBox="0 0 {timeline.count * STEP} {HEIGHT}"><g class="grid">{lines}</g>'
        f"{''.join(groups)}</svg>{_times(timeline)}</div>"
    )


def _column(
    timeline: Timeline,
    bucket: int,
    series: Sequence[Series],
    top: int,
    shown: Callable[[int], str],
) -> str:
    values = [(place, one.name, one.values[bucket]) for place, one in enumerate(series)]
    if not any(value for *_, value in values):
        return ""
    # A chart of few columns has columns of a moderate width.
    share = min(0.8, timeline.count / 12)
    left = bucket * STEP + STEP * (1 - share) / 2
    parts = []
    below = 0
    for place, _, value in values:
        if value:
            low, high = (HEIGHT * (1 - at / top) for at in (below, below + value))
            parts.append(
                f'<rect class="c{place}" x="{left:.2f}" y="{high:.1f}" width="{STEP * share:.2f}"'
                f' height="{max(low - high, 1):.1f}"/>'
            )
            below += value
    lines = [timeline.label(bucket)]
    lines += [f"{on_one_line(name)}: {shown(value)}" for _, name, value in values if value]
    tip = escape("\n".join(lines))
    area = f'<rect class="area" x="{bucket * STEP}" y="0" width="{STEP}" height="{HEIGHT}"/>'
    return f"<g><title>{tip}</title>{area}{''.join(parts)}</g>"


def _times(timeline: Timeline) -> str:
    """Returns labels below the first column, the last one, and some between them."""
    count = min(LABELS, timeline.count)
    places = sorted({round(at * (timeline.count - 1) / max(count - 1, 1)) for at in range(count)})
    spans = []
    for place in places:
        date, _, minute = timeline.label(place).partition(" ")
        share = (place + 0.5) / timeline.count
        # Labels at the edges stay inside the page.
        edge = " class=first" if share < EDGE else " class=last" if share > 1 - EDGE else ""
        share = {" class=first": 0, " class=last": 1}.get(edge, share)
        inner = f"<i>{date}</i> <b>{minute}</b>" if minute else f"<b>{date}</b>"
        spans.append(f'<span{edge} style="left:{share * 100:.2f}%">{inner}</span>')
    return f'<div class="times">{"".join(spans)}</div>'


def bars(rows: Sequence[tuple[str, Sequence[Series]]], shown: Callable[[int], str]) -> str:
    """Draws a horizontal bar for each row. Each series has one value."""
    totals = [sum(one.values[0] for one in series) for _, series in rows]
    longest = max(totals, default=0) or 1
    lines = []
    for (name, series), total in zip(rows, totals, strict=True):
        parts = "".join(
            f'<span class="c{place}" style="width:{one.values[0] / longest * 100:.2f}%"'
            f' title="{text(one.name)}: {shown(one.values[0])}"></span>'
            for place, one in enumerate(series)
            if one.values[0]
        )
        lines.append(
            f'<div class="name">{text(name)}</div><div class="bar">{parts}</div>'
            f'<div class="number">{shown(total)}</div>'
        )
    several = max((len(series) for _, series in rows), default=0) > 1
    legend = _legend(rows[0][1]) if several else ""
    return f'{legend}<div class="bars">{"".join(lines)}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[int]) -> str:
    """Returns a table.

    Args:
        heads: The names of the columns.
        rows: Texts, which are escaped.
        numbers: The places of columns that are aligned to the right.
    """

    def line(cells: Sequence[object], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if place in numbers else ''}>{text(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="table"><table><thead><tr>{line(heads, "th")}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _legend(series: Sequence[Series]) -> str:
    names = "".join(
        f'<span><i class="c{place}"></i>{text(one.name)}</span>' for place, one in enumerate(series)
    )
    return f'<div class="legend">{names}</div>'


def _top(value: int) -> int:
    """Returns the end of the scale: 1, 2, 4, 6 or 8 and zeros."""
    power = 1
    while power * 10 < value:
        power *= 10
    return next(one * power for one in (1, 2, 4, 6, 8, 10) if one * power >= value)


__all__ = ["Series", "bars", "columns", "table", "text"]
