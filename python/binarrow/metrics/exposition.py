"""The text format of Prometheus, version 0.0.4.

<https://prometheus.io/docs/instrumenting/exposition_formats/>
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Kind: TypeAlias = Literal["gauge", "counter"]
Labels: TypeAlias = Mapping[str, str]


class Histogram:
    """The number of values up to each of some bounds, and the sum of all values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        """The number of values between two bounds; the last one is of values above all bounds."""
        self.sum = 0.0

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts)

    def add(self, value: float) -> None:
        """Adds a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def copy(self) -> Histogram:
        """Returns a copy, which does not change."""
        other = Histogram(self.bounds)
        other.counts, other.sum = list(self.counts), self.sum
        return other


@dataclass
class Family:
    """A metric: its name, a sentence about it, and its values by labels."""

    name: str
    kind: Kind | Literal["histogram"]
    help: str
    values: list[tuple[Labels, float]] = field(default_factory=list)
    histogram: Histogram | None = None

    def lines(self) -> Iterator[str]:
        """Returns the lines of the metric; none if it has no value."""
        if not self.values and self.histogram is None:
            return
        yield f"# HELP {self.name} {_escaped_help(self.help)}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self.values:
            yield f"{self.name}{_shown(labels)} {_number(value)}"
        if self.histogram is not None:
            yield from self._buckets(self.histogram)

    def _buckets(self, histogram: Histogram) -> Iterator[str]:
        total = 0
        bounds = (*histogram.bounds, math.inf)
        for bound, count in zip(bounds, histogram.counts, strict=True):
            total += count
            yield f"{self.name}_bucket{_shown({'le': _number(bound)})} {total}"
        yield f"{self.name}_sum {_number(histogram.sum)}"
        yield f"{self.name}_count {total}"


def exposition(families: Iterable[Family]) -> str:
    """Returns the text of metrics."""
    return "".join(f"{line}\n" for family in families for line in family.lines())


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _escaped_help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)


__all__ = ["CONTENT_TYPE", "Family", "Histogram", "Kind", "exposition"]
