"""Applies the result of `json="diff"` in Python: text in, text as the server prints it out.

patched('{"a": 1}', '{"$diff":[{"op":"replace","path":"$.a","value":2}]}') == '{"a": 2}'
"""

from __future__ import annotations

import json
import re
from typing import Any

MARK = '{"$diff":'

LEG = re.compile(
    r'\.(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^.\[]+))'
    r"|\[(?P<last>last)?(?:-?(?P<index>\d+))?\]",
    re.DOTALL,
)


class Number(str):
    """A number that is no integer, as it was printed: decimals and doubles look alike."""

    __slots__ = ()


def is_diff(cell: Any) -> bool:
    return isinstance(cell, str) and cell.startswith(MARK)


def patched(document: str | None, diff: str) -> str:
    changes = loads(diff)["$diff"]
    if not changes and document is not None:
        return document
    assert document is not None, "a diff of NULL"
    root = [loads(document)]
    for change in changes:
        *parents, last = [0, *legs(change["path"])]
        holder: Any = root
        for parent in parents:
            holder = holder[resolved(holder, parent)]
        place = resolved(holder, last)
        is_there = place in holder if isinstance(holder, dict) else place < len(holder)
        match change["op"]:
            case "replace":
                assert is_there, change["path"]
                holder[place] = change["value"]
            case "remove":
                assert is_there, change["path"]
                del holder[place]
            case "insert" if isinstance(holder, list):
                holder.insert(place, change["value"])
            case "insert":
                assert not is_there, change["path"]
                holder[place] = change["value"]
            case other:
                raise AssertionError(other)
    return dumps(root[0])


def legs(path: str) -> list[str | tuple[bool, int] | int]:
    assert path.startswith("$")
    found: list[str | tuple[bool, int] | int] = []
    at = 1
    while at < len(path):
        leg = LEG.match(path, at)
        assert leg, path
        if leg["quoted"] is not None:
            found.append(json.loads(f'"{leg["quoted"]}"'))
        elif leg["plain"] is not None:
            found.append(leg["plain"])
        else:
            found.append((bool(leg["last"]), int(leg["index"] or 0)))
        at = leg.end()
    return found


def resolved(holder: Any, leg: str | tuple[bool, int] | int) -> Any:
    if not isinstance(leg, tuple):
        return leg
    assert isinstance(holder, list)
    from_end, index = leg
    return len(holder) - 1 - index if from_end else index


def loads(text: str) -> Any:
    return json.loads(text, parse_float=Number)


def dumps(value: Any) -> str:
    """The order of the server: short keys first."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(dumps, value)) + "]"
    if isinstance(value, dict):
        members = sorted(
            value.items(), key=lambda member: (len(member[0].encode()), member[0].encode())
        )
        return "{" + ", ".join(f"{dumps(key)}: {dumps(one)}" for key, one in members) + "}"
    return json.dumps(value, ensure_ascii=False)
