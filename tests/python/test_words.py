"""Pages, docstrings, comments and messages are in plain English: of the package, the Rust code, tests, benchmarks and tools.

Early versions used the words of `WORDS` in a sense of their own. A file that needs one in its usual sense is in `ALLOWED`.
Names are checked in the package and in Rust, not in Python programs such as tests.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def read(pattern: str, *folders: str) -> dict[str, str]:
    """The files of some folders whose names match a pattern, by their paths in the repository."""
    return {
        path.relative_to(REPOSITORY).as_posix(): path.read_text()
        for folder in folders
        for path in sorted((REPOSITORY / folder).rglob(pattern))
        if path != Path(__file__) and "target" not in path.parts
    }


PACKAGE = read("*.py", "python/binarrow") | read("*.pyi", "python/binarrow")
PROGRAMS = read("*.py", "tests", "benches", "examples", "tools")
RUST = read("*.rs", "src", "tests/it", "benches", "fuzz")
PAGES = read("*.md", "docs", "tests", "benches", "examples") | {
    path.name: path.read_text() for path in REPOSITORY.glob("*.md")
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

ALLOWED: dict[str, set[str]] = {
    "python/binarrow/cli/new_file.py": {"tell"},
    "src/position/stored_position.rs": {"begun"},
}
"""The words that a file may contain, by its path in the repository."""

HEADLESS = re.compile(r"(What|Whether|Where|How|Who|That|Of|As|Likewise|The same)\b")
"""The first words of docstrings that are not a sentence, nor a noun phrase."""

MAY_BEGIN = ("As in ",)

FOUND = re.compile(rf"\b({'|'.join(sorted(WORDS, key=len, reverse=True))})\b", re.IGNORECASE)


Texts = Iterable[tuple[int, str]]
"""Parts of a file, each with its line."""


def package_texts(source: str) -> Texts:
    """The strings, comments and names of Python code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.NAME):
            yield token.start[0], token.string


def program_texts(source: str) -> Texts:
    """The docstrings and comments of Python code, and the ends of strings that contain `#`: this is faster than tokens."""
    yield from docstrings(source)
    for line, text in enumerate(source.split("\n"), 1):
        if "#" in text:
            yield line, text.partition("#")[2]


@cache
def docstrings(source: str) -> Sequence[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                found.append((node.lineno, text.strip()))
    return found


RUST_TEXT = re.compile(
    r"""
    (?P<comment> //[^\n]* (?: \n[ ]*//[^\n]* )* )
    | b?r (?P<hashes> \#* ) "(?P<raw> .*? )" (?P=hashes)
    | b?" (?P<string> (?: [^"\\] | \\. )* )"
    | '(?: [^'\\] | \\. )'
    """,
    re.DOTALL | re.VERBOSE,
)


def rust_texts(source: str) -> Texts:
    """The comments and strings of Rust code, without the names in them. Comments on consecutive lines are one text."""
    line, end = 1, 0
    for match in RUST_TEXT.finditer(source):
        line, end = line + source.count("\n", end, match.start()), match.start()
        text = match["comment"] or match["string"] or match["raw"] or ""
        yield line, re.sub(r"\n[ ]*//[/!]?|`[^`\n]*`|\{[a-z_]+\}", " ", text)


def rust_texts_and_names(source: str) -> Texts:
    """The comments and strings of Rust code, and then its lines of code, with spaces between the words of names."""
    yield from rust_texts(source)
    code = RUST_TEXT.sub(lambda match: "\n" * match[0].count("\n"), source)
    yield from enumerate(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", code).split("\n"), 1)


def rust_docs(source: str) -> Texts:
    """The documentation comments of Rust code."""
    for line, text in rust_texts(source):
        if text.startswith(("///", "//!")):
            yield line, text[3:].strip()


def words_of(texts: Texts) -> Iterator[tuple[int, str]]:
    """The listed words in texts, each with its line."""
    for line, text in texts:
        for match in FOUND.finditer(" ".join(re.split(r"[\s_]+", text))):
            yield line, match[1].lower()


def headless(texts: Texts) -> Iterator[tuple[int, str]]:
    """The documentation that begins with neither a verb nor a noun phrase, each with its line."""
    for line, text in texts:
        first = text.partition("\n")[0]
        if HEADLESS.match(first) and not first.startswith(MAY_BEGIN):
            yield line, first


SOURCES: list[tuple[dict[str, str], Callable[[str], Texts], Callable[[str], Texts]]] = [
    (PACKAGE, package_texts, docstrings),
    (PROGRAMS, program_texts, docstrings),
    (RUST, rust_texts_and_names, rust_docs),
    (PAGES, lambda page: enumerate(page.split("\n"), 1), lambda _: ()),
]
"""Files, with the functions that return their texts and their documentation."""


def test_plain_words() -> None:
    wrong = [
        f"{file}:{line}: {word}: write {WORDS[word]}"
        for files, texts, _ in SOURCES
        for file, source in files.items()
        for line, word in words_of(texts(source))
        if word not in ALLOWED.get(file, ())
    ]
    assert not wrong


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    wrong = [
        f"{file}:{line}: {first}"
        for files, _, docs in SOURCES
        for file, source in files.items()
        for line, first in headless(docs(source))
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
    found = {word for _, word in words_of(package_texts(source))}
    assert found == {"gone", "goes on", "stands", "told"}
    assert {word for _, word in words_of(program_texts(source))} == {"goes on", "stands"}
    assert list(headless(docstrings(source))) == [(3, "Whether it goes")]


def test_a_listed_word_is_found_in_rust() -> None:
    """In documentation, over the end of a line, in a comment, a message, and names of both forms."""
    source = """
/// Whether it goes
/// on.
fn is_gone(quote: char) -> WholeRow {
    // It stands there.
    quote == '"' || quote == '\\'' && panic!("it is \\"told\\"")
}
"""
    found = {word for _, word in words_of(rust_texts(source))}
    assert found == {"goes on", "stands", "told"}
    assert list(words_of(rust_texts_and_names(source)))[-2:] == [(4, "gone"), (4, "whole")]
    assert list(headless(rust_docs(source))) == [(2, "Whether it goes  on.")]
