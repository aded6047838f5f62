"""Names of tables, and the patterns that select them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from binarrow._native import ConfigError

Name: TypeAlias = tuple[str, str]
"""The database and the table."""

SYSTEM = frozenset({"mysql", "sys", "information_schema", "performance_schema"})
"""Databases of the server itself, which only a pattern that names them selects."""

IN_BACKTICKS = re.compile(r"`((?:[^`]|``)*)`\.`((?:[^`]|``)*)`", re.DOTALL)
"""Two names in backticks."""


def shown(name: Name) -> str:
    """Writes a name for people, and for functions of this package."""
    return ".".join(name)


def split(text: str) -> Name:
    """Splits ``database.table``. The name of a table may contain a dot."""
    database, _, table = text.partition(".")
    return database, table


def split_full(text: str) -> Name:
    """Splits a name in the statistics of a stream, which are in backticks if one has a dot."""
    found = IN_BACKTICKS.fullmatch(text) if text.startswith("`") else None
    if found is None:
        return split(text)
    return found[1].replace("``", "`"), found[2].replace("``", "`")


class Selection:
    """The tables that patterns select."""

    def __init__(
        self, tables: Sequence[str], excluded: Sequence[str], *, ignores_case: bool = False
    ) -> None:
        self.tables = tuple(tables)
        self.excluded = tuple(excluded)
        self.ignores_case = ignores_case
        flags = re.IGNORECASE if ignores_case else 0
        self._included = [_compiled(pattern, flags) for pattern in self.tables]
        self._excluded = [_compiled(pattern, flags) for pattern in self.excluded]
        self._databases = {pattern.partition(".")[0].lower() for pattern in self.tables}

    def has(self, name: Name) -> bool:
        """True if the table is selected."""
        if name[0].lower() in SYSTEM and name[0].lower() not in self._databases:
            return False
        text = "\0".join(name)
        included = not self._included or any(one.fullmatch(text) for one in self._included)
        return included and not any(one.fullmatch(text) for one in self._excluded)


def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    database, dot, table = pattern.partition(".")
    if not dot or not database or not table:
        raise ConfigError(
            f"the pattern {pattern!r} is not database.table: write for example shop.* or"
            " shop.orders"
        )
    translated = (
        "".join({"*": "[^\0]*", "?": "[^\0]"}.get(letter, re.escape(letter)) for letter in part)
        for part in (database, table)
    )
    return re.compile("\0".join(translated), flags | re.DOTALL)


def check_letter_case(names: Iterable[Name]) -> None:
    """Checks that no two names are the same in a target that ignores letter case.

    Raises:
        ConfigError: Two names differ by letter case only.
    """
    seen: dict[tuple[str, ...], Name] = {}
    for name in sorted(names):
        for depth in (1, 2):
            folded = tuple(part.lower() for part in name[:depth])
            known = seen.setdefault(folded, name)
            if known[:depth] != name[:depth]:
                raise ConfigError(
                    f"{shown(known)} and {shown(name)} differ only in letter case, which the"
                    " target ignores: leave one of them out with exclude_tables, and sync it into"
                    " another target"
                )


__all__ = ["Name", "Selection", "check_letter_case", "shown", "split", "split_full"]
