"""The differences between two structures of a table."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from binarrow._native import Column, Key, TableSchema

Kind = Literal["added", "dropped", "renamed", "changed", "moved"]


@dataclass(frozen=True)
class Difference:
    """A difference between two structures of a table."""

    kind: Kind
    what: str
    """``table``, ``column total``, ``key PRIMARY``."""
    before: str
    """Empty if it was added."""
    after: str
    """Empty if it was dropped."""

    def __str__(self) -> str:
        match self.kind:
            case "added":
                return f"{self.what} added: {self.after}" if self.after else f"{self.what} added"
            case "dropped":
                return f"{self.what} dropped"
            case _:
                return f"{self.what} {self.kind}: {self.before} → {self.after}"


def differences(
    before: TableSchema | None, after: TableSchema | None, statements: Iterable[str] = ()
) -> list[Difference]:
    """Returns the differences between two structures; None is a table that does not exist.

    Args:
        before: The earlier structure.
        after: The later structure.
        statements: The statements between them. Columns and keys that they rename are reported as
            renamed, not as dropped and added.
    """
    if before is None or after is None:
        if before is after:
            return []
        kind: Kind = "added" if before is None else "dropped"
        return [Difference(kind, "table", *(_summary(one) for one in (before, after)))]
    return [
        *_columns(before.columns, after.columns, _renames(statements)),
        *_keys(before.keys, after.keys),
        *_changed("table", [("comment", before.comment or "", after.comment or "")]),
    ]


def _summary(table: TableSchema | None) -> str:
    return "" if table is None else f"{len(table.columns)} columns"


def _columns(
    before: tuple[Column, ...], after: tuple[Column, ...], renames: dict[str, str]
) -> Iterator[Difference]:
    old = {column.name: column for column in before}
    new = {column.name: column for column in after}
    # The new names of renamed columns, by their old names.
    names = {name: renames[name] for name in old if renames.get(name) in new}
    names = {was: now for was, now in names.items() if was != now and now not in old}
    for column in before:
        if column.name in names:
            now = names[column.name]
            yield Difference("renamed", f"column {column.name}", column.name, now)
        elif column.name not in new:
            yield Difference("dropped", f"column {column.name}", _described(column), "")
    origin = {now: was for was, now in names.items()}
    for place, column in enumerate(after):
        was = old.get(origin.get(column.name, column.name))
        if was is None:
            where = f"after {after[place - 1].name}" if place else "first"
            described = f"{_described(column)}, {where}"
            yield Difference("added", f"column {column.name}", "", described)
        else:
            yield from _changed(f"column {column.name}", _facets(was, column))
    now_of = [names.get(column.name, column.name) for column in before]
    yield from _moved(
        [name for name in now_of if name in new],
        [column.name for column in after if origin.get(column.name, column.name) in old],
    )


def _moved(before: list[str], after: list[str]) -> Iterator[Difference]:
    """Returns the smallest set of moved columns, among those in both structures."""
    place = {name: number for number, name in enumerate(before)}
    for name in after:
        if name not in _longest_run([place[one] for one in after], after):
            number = after.index(name)
            now = f"after {after[number - 1]}" if number else "first"
            was = f"after {before[place[name] - 1]}" if place[name] else "first"
            yield Difference("moved", f"column {name}", was, now)


def _longest_run(places: list[int], names: list[str]) -> set[str]:
    """Returns the names of a longest increasing subsequence of places."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, place in enumerate(places):
        at = bisect_left(tails, place)
        tails[at:] = [place]
        ends[at:] = [index]
        previous.append(ends[at - 1] if at else -1)
    kept = set()
    index = ends[-1] if ends else -1
    while index >= 0:
        kept.add(names[index])
        index = previous[index]
    return kept


def _described(column: Column) -> str:
    parts = [column.type]
    if column.collation is not None and column.collation != "binary":
        parts.append(f"COLLATE {column.collation}")
    if not column.nullable:
        parts.append("NOT NULL")
    if column.generated is not None:
        parts.append(column.generated.upper())
    if not column.visible:
        parts.append("INVISIBLE")
    return " ".join(parts)


def _facets(before: Column, after: Column) -> list[tuple[str, str, str]]:
    def nullable(column: Column) -> str:
        return "NULL" if column.nullable else "NOT NULL"

    def visible(column: Column) -> str:
        return "VISIBLE" if column.visible else "INVISIBLE"

    return [
        ("type", before.type, after.type),
        ("collation", before.collation or "none", after.collation or "none"),
        ("nullability", nullable(before), nullable(after)),
        ("visibility", visible(before), visible(after)),
        ("generation", before.generated or "none", after.generated or "none"),
        ("comment", before.comment or "", after.comment or ""),
    ]


def _keys(before: tuple[Key, ...], after: tuple[Key, ...]) -> Iterator[Difference]:
    old = {_key_name(key): _key_described(key) for key in before}
    new = {_key_name(key): _key_described(key) for key in after}
    for name, described in old.items():
        if name not in new:
            yield Difference("dropped", f"key {name}", described, "")
    for name, described in new.items():
        if name not in old:
            yield Difference("added", f"key {name}", "", described)
        else:
            yield from _changed(f"key {name}", [("", old[name], described)])


def _key_name(key: Key) -> str:
    return "PRIMARY" if key.kind == "primary" else key.name or f"of {', '.join(key.columns)}"


def _key_described(key: Key) -> str:
    columns = [
        f"{name}({prefix})" if prefix else name
        for name, prefix in zip(key.columns, key.prefixes, strict=True)
    ]
    hidden = "" if key.visible else " INVISIBLE"
    return f"{key.kind} ({', '.join(columns)}){hidden}"


def _changed(what: str, facets: list[tuple[str, str, str]]) -> Iterator[Difference]:
    for facet, before, after in facets:
        if before != after:
            yield Difference("changed", f"{what} {facet}".rstrip(), before, after)


NAME = r"(?:`((?:[^`]|``)+)`|([^\s`,;()]+))"
RENAME = re.compile(
    rf"\bRENAME\s+COLUMN\s+{NAME}\s+TO\s+{NAME}|\bCHANGE\s+(?:COLUMN\s+)?(?:IF\s+EXISTS\s+)?"
    rf"{NAME}\s+{NAME}",
    re.IGNORECASE,
)


def _renames(statements: Iterable[str]) -> dict[str, str]:
    """Returns the last name of each column that statements rename, by its first name."""
    last: dict[str, str] = {}
    for statement in statements:
        for found in RENAME.finditer(statement):
            old, new = (name.replace("``", "`") for name in found.groups() if name is not None)
            first = next((was for was, now in last.items() if now == old), old)
            last[first] = new
    return last


__all__ = ["Difference", "differences"]
