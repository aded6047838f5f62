"""Options in messages, as data: each surface writes them in its own words.

A message consists of parts: text, and options as tuples of a keyword and a value or None. Errors
and warnings have them in their attribute ``parts``. The source text of a message marks an option,
as ``⟦gaps=allow⟧`` or ``⟦reconnect⟧``, and a function, as ``⟦history.baseline=server⟧``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self, TypeAlias, TypeVar

from binarrow._native import BinarrowError, message_parts

Part: TypeAlias = str | tuple[str, str | None]
Show: TypeAlias = Callable[[str, str | None], str]

E = TypeVar("E", bound=BinarrowError)


class Message(str):
    """A text in Python's words, with its parts."""

    parts: tuple[Part, ...]

    __slots__ = ("parts",)

    def __new__(cls, parts: Iterable[Part]) -> Self:
        """Joins parts."""
        kept = tuple(parts)
        self = super().__new__(cls, render(kept, in_python))
        self.parts = kept
        return self


def message(text: str) -> Message:
    """Returns the message of a text that marks options."""
    return Message(message_parts(text))


def parts_of(said: object) -> tuple[Part, ...]:
    """Returns the parts of an error, a warning or a text."""
    if parts := getattr(said, "parts", ()):
        return tuple(parts)
    arguments = getattr(said, "args", ())
    if isinstance(said, BaseException) and arguments and isinstance(arguments[0], Message):
        return arguments[0].parts
    return (str(said),)


def restated(error: E, before: str = "", after: str = "") -> E:
    """Returns an error of the same class with text before and after the message."""
    parts = (*message_parts(before), *parts_of(error), *message_parts(after))
    return type(error)(Message(parts))


def render(parts: Iterable[Part], show: Show) -> str:
    """Joins parts, with the options as `show` writes them."""
    return "".join(part if isinstance(part, str) else show(*part) for part in parts)


def in_python(name: str, value: str | None) -> str:
    """Writes an option as a keyword, and a function as a call."""
    if "." in name:
        return name if value is None else f"{name}({value})"
    if value is None or value in {"True", "False"} or value.startswith("["):
        return f"{name}={value or ''}"
    return f"{name}='{value}'"
