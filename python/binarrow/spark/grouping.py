"""Sharing pieces of a log out to tasks."""

from __future__ import annotations

from collections.abc import Sequence


def grouped(sizes: Sequence[int], count: int) -> list[range]:
    """Neighbours together, in at most `count` groups of about equal size, by their places."""
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
