"""Docstrings, comments, messages and names of the package are in plain English.

Early versions used the words of `WORDS` in a sense of their own. A file that needs one in its usual sense is in `ALLOWED`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "binarrow"

SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))
}

WORDS = {
    "told": "known, logged, passed",
    "tell": "show, contain, report",
    "tells": "shows, contains, reports",
    "telling": "showing, logging",
    "untold": "not logged, unknown",
    "stand": "be",
    "stands": "is",
    "behind": "after",
    "at hand": "current",
    "go on": "continue",
    "goes on": "continues",
    "gone on": "continued",
    "gone": "deleted, purged, lost",
    "begun": "created, started",
    "anew": "again",
    "mend": "fix, recover",
    "mends": "fixes, recovers",
    "whole": "complete, full",
    "hole": "missing column, gap",
    "holes": "missing columns, gaps",
    "nobody": "no process, no user",
    "somebody": "a process, a user",
    "shall": "must, should",
    "comes out": "is returned",
    "come out": "are returned",
    "for ever": "always",
    "one a": "one per",
    "as of then": "at that position",
    "no matter": "ignored",
    "lets go of": "closes",
    "hand over": "pass",
    "hands over": "passes",
    "hands out": "returns",
    "handed out": "returned",
}
"""Each word, with what to write instead."""

ALLOWED: dict[str, set[str]] = {}
"""The words that a file of the package may contain, by its path in the package."""

HEADLESS = re.compile(r"(What|Whether|Where|How|Who|That|Of|As|Likewise|The same)\b")
"""The first words of docstrings that are not a sentence, nor a noun phrase."""

MAY_BEGIN = ("As in ",)

FOUND = re.compile(rf"\b({'|'.join(sorted(WORDS, key=len, reverse=True))})\b", re.IGNORECASE)


def words_of(source: str) -> Iterator[tuple[int, str]]:
    """The listed words in strings, comments and names, each with its line."""
    texts = [
        (node.lineno, node.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    texts += [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type in (tokenize.COMMENT, tokenize.NAME)
    ]
    for line, text in texts:
        for match in FOUND.finditer(" ".join(re.split(r"[\s_]+", text))):
            yield line, match[1].lower()


def headless(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings that begin with neither a verb nor a noun phrase, each with its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                first = text.strip().partition("\n")[0]
                if HEADLESS.match(first) and not first.startswith(MAY_BEGIN):
                    yield node.lineno, first


def test_plain_words() -> None:
    wrong = [
        f"{file}:{line}: {word}: write {WORDS[word]}"
        for file, source in SOURCES.items()
        for line, word in words_of(source)
        if word not in ALLOWED.get(file, ())
    ]
    assert not wrong


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    wrong = [
        f"{file}:{line}: {first}"
        for file, source in SOURCES.items()
        for line, first in headless(source)
    ]
    assert not wrong


def test_a_listed_word_is_found() -> None:
    """In a docstring, over the end of a line, in a comment, a message and a name."""
    source = '''
def is_gone(name):
    """Whether it goes
    on."""
    # It stands there.
    raise ValueError(f"{name} is told")
'''
    assert {word for _, word in words_of(source)} == {"gone", "goes on", "stands", "told"}
    assert list(headless(source)) == [(3, "Whether it goes")]
