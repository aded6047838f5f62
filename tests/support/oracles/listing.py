"""The output of `mysqlbinlog -vv` for rows events: a second oracle besides the server's SELECT."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

HEAD = re.compile(r"### (INSERT INTO|UPDATE|DELETE FROM) `((?:[^`]|``)*)`\.`((?:[^`]|``)*)`\s*\Z")
CELL = re.compile(r"###   @(\d+)=(.*?)(?: /\* \w+.*\*/)?\Z")
NUMBER = re.compile(r"(-?\d+)(?: \((\d+)\))?\Z")

KINDS = {"INSERT INTO": "inserts", "UPDATE": "updates", "DELETE FROM": "deletes"}


@dataclass
class Image:
    """A row image as it is printed: each cell that it holds by its column's number from 1."""

    kind: str  # inserts, updates, deletes
    part: str  # WHERE, SET
    cells: dict[int, tuple[str, str]] = field(default_factory=dict)  # the value, what it is


def images(listing: str) -> dict[str, list[Image]]:
    """Each table's row images, in the log's order."""
    tables: dict[str, list[Image]] = {}
    kind = table = ""
    for line in listing.split("\n"):  # (a text may hold what else Python takes for a line's end)
        if not line.startswith("### "):
            continue
        if line in {"### WHERE", "### SET"}:
            tables.setdefault(table, []).append(Image(kind, line[4:]))
        elif line.startswith("###   @"):
            number, _, rest = line.removeprefix("###   @").partition("=")
            value, _, what = rest.rpartition(" /* ")
            tables[table][-1].cells[int(number)] = (value, what.partition(" meta=")[0])
        else:
            head = HEAD.match(line)
            assert head, line
            kind, table = KINDS[head[1]], table_of(head)
    return tables


def heads(listing: str) -> Iterator[tuple[str, str]]:
    """Each row's table and what happened to it."""
    for line in listing.splitlines():
        head = HEAD.match(line) if line.startswith("### ") else None
        if head:
            yield table_of(head), KINDS[head[1]]


def counts(listing: str) -> Counter[tuple[str, str]]:
    return Counter(heads(listing))


def given_up(listing: str) -> set[str]:
    """The tables with rows that the tool gives up in the middle of, and the rest of their event."""
    tables: set[str] = set()
    last = ""
    for line in listing.splitlines():
        head = HEAD.match(line) if line.startswith("### ") else None
        if head:
            last = table_of(head)
        elif line.startswith("###   @") and "=!! Don't know how to handle column type=" in line:
            tables.add(last)
    return tables


def table_of(head: re.Match[str]) -> str:
    return f"{head[2]}.{head[3]}".replace("``", "`")


def integer_images(
    listing: str, table: str, unsigned: list[bool]
) -> list[tuple[str, tuple[int | None, ...]]]:
    """The row images of a table that holds integers only, in the log's order.

    The listing shows an integer both ways where that matters: `-1 (255)`.
    """
    images: list[tuple[str, tuple[int | None, ...]]] = []
    cells: list[int | None] = []
    kind = part = ""

    def close() -> None:
        nonlocal cells
        if part:
            images.append((f"{kind} {part}", tuple(cells)))
        cells = []

    for line in listing.splitlines():
        head = HEAD.match(line) if line.startswith("### ") else None
        if head:
            close()
            kind, part = (KINDS[head[1]], "") if table_of(head) == table else ("", "")
        elif kind and line in {"### WHERE", "### SET"}:
            close()
            part = line[4:]
        elif kind and part:
            cell = CELL.match(line)
            if cell:
                cells.append(_number(cell[2], unsigned=unsigned[int(cell[1]) - 1]))
            else:
                close()
                kind = part = ""
    close()
    return images


def _number(shown: str, *, unsigned: bool) -> int | None:
    if shown == "NULL":
        return None
    found = NUMBER.match(shown)
    assert found, shown
    return int(found[2] if unsigned and found[2] else found[1])
