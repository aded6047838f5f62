"""Reads option files of MySQL's own programs, such as ``~/.my.cnf``.

Source: the manuals' pages on option files (MySQL ``option-files``, MariaDB
``configuring-mariadb-with-option-files``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from binarrow._native import ConfigError

DEEPEST = 10
"""The maximum depth of files that include each other, as in MySQL's programs."""

SPACE = " \t\n\r\v\f"

ESCAPES = {
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "r": "\r",
    "s": " ",
    "\\": "\\",
    '"': '"',
    "'": "'",
}


def read_section(path: Path, section: str) -> dict[str, str | None]:
    """Returns the options of one section; None for an option without a value. The last one wins.

    Names contain ``-`` instead of ``_``. Included files are read at the place of their line.
    """
    return dict(_options(path, section, DEEPEST))


def _options(path: Path, wanted: str, depth: int) -> Iterator[tuple[str, str | None]]:
    if depth == 0:
        raise ConfigError(f"option_file: {path} is included too deeply")
    section = None
    for number, raw in enumerate(_text(path).split("\n"), 1):
        line = raw.strip(SPACE)
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            for file in _included(path, line):
                yield from _options(file, wanted, depth - 1)
        elif line[0] == "[":
            name, bracket, _ = line[1:].partition("]")
            if not bracket:
                raise ConfigError(f"option_file: {path}, line {number}: a section without its ]")
            section = name.strip()
        elif section is None:
            raise ConfigError(
                f"option_file: {path}, line {number}: an option before the first [section]"
            )
        elif section == wanted:
            name, equals, value = _without_comment(line).partition("=")
            yield name.strip().replace("_", "-"), _value(value) if equals else None


def _text(path: Path) -> str:
    try:
        # Bytes that are not UTF-8 are kept: they may be part of a password.
        return path.read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        raise ConfigError(f"option_file: {error}") from None


def _included(path: Path, line: str) -> list[Path]:
    word, _, rest = line[1:].partition(" ")
    named = path.parent / rest.strip()
    if word == "include":
        return [named]
    if word == "includedir":
        if not named.is_dir():
            raise ConfigError(f"option_file: {path} includes {named}, which is not a folder")
        return sorted(named.glob("*.cnf"))
    raise ConfigError(
        f"option_file: {path} has a line with ! that is neither !include nor !includedir"
    )


def _without_comment(line: str) -> str:
    """Removes the comment after an option; ``#`` in quotes does not begin one."""
    quote, escaped = "", False
    for at, character in enumerate(line):
        if character in "'\"" and not escaped:
            if not quote:
                quote = character
            elif quote == character:
                quote = ""
        elif character == "#" and not quote:
            return line[:at]
        escaped = bool(quote) and character == "\\" and not escaped
    return line


def _value(text: str) -> str:
    text = text.strip(SPACE)
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        text = text[1:-1]
    out: list[str] = []
    characters = iter(text)
    for character in characters:
        if character != "\\":
            out.append(character)
            continue
        following = next(characters, "")
        out.append(ESCAPES.get(following, "\\" + following))
    return "".join(out)
