"""Divides the ranges of a log among tasks."""

from __future__ import annotations

from collections.abc import Sequence


def grouped(sizes: Sequence[int], count: int) -> list[range]:
    """Returns the indexes of at most `count` groups of neighbours, of about equal size."""
    if len(sizes) <= count:
        return [range(place, place + 1) for place in range(len(sizes))]
    total = max(sum(sizes), 1)
    groups: list[list[int]] = [[] for _ in range(count)]
    before = 0
    for place, size in enumerate(sizes):
        middle = before + size / 2
        groups[min(count - 1, int(middle * count / total))].append(place)
        before += size
    return [range(group[0], group[-1] + 1) for group in groups if group]
