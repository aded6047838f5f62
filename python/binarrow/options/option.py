"""An entry of the table: an option with its values, default, surfaces and documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True)
class Kind:
    """A kind of values, with its type in each language."""

    name: str
    python: str
    """The type annotation in Python."""
    rust: str = ""
    """The type in Rust, for keywords of the extension module: of ``src/python``, with its file."""
    words: tuple[str, ...] = ()
    """All values, if there are only a few."""
    items: tuple[str, ...] = ()
    """All members of lists, if there are only a few."""


def words(*each: str) -> Kind:
    """Returns a kind whose values are a few words."""
    listed = ", ".join(f'"{word}"' for word in each)
    return Kind("words", f"Literal[{listed}]", "&'static str", each)


def lists(kind: Kind, *each: str) -> Kind:
    """Returns a kind whose values are lists of a few words."""
    return replace(kind, items=each)


# Each kind has one parser for the text of Spark's options: see `binarrow.spark.option_parsers`.
FLAG = Kind("flag", "bool", "bool")
COUNT = Kind("count", "int", "usize")
BYTES = Kind("bytes", "int", "usize")
SECONDS = Kind("seconds", "float")
TEXT = Kind("text", "str", "String")
NAMES = Kind("names", "str | Sequence[str]", "keywords::Patterns")
CODES = Kind("codes", "Sequence[int]", "Vec<u8>")
PATH = Kind("path", "str | os.PathLike[str]")
PEM = Kind("path", "str | os.PathLike[str] | bytes")
COMMAND = Kind("command", "str | Sequence[str]")
SERVER = Kind("server", "Server")
JSON = Kind("json", "Mapping[str, Any]", "storage::Storage")


@dataclass(frozen=True)
class Spark:
    """An option of the data source, if it differs from the keyword in camel case."""

    name: str = ""
    """By default the keyword's name in camel case."""
    kind: Kind | None = None
    """By default the kind of the keyword."""
    default: str = ""
    """The default in the documentation; if empty, that of the keyword."""
    doc: str = ""
    """By default the first paragraph of the keyword's documentation."""
    of: Literal["both", "files", "server", "batches", "streams"] = "both"
    """The queries that accept it: all, those of files or servers, or only batches or streams."""


@dataclass(frozen=True)
class Flag:
    """A flag of the command line."""

    name: str
    commands: Mapping[str, object]
    """The default of each command that has it."""
    metavar: str | None = None
    doc: str = ""
    """By default the first paragraph of the keyword's documentation."""
    word: str = ""
    """The value of the keyword if the flag is given, for a flag that takes no value."""
    words: tuple[str, ...] = ()
    """The flag's values, if the keyword takes others too."""


@dataclass(frozen=True)
class Option:
    """An option of functions in Python, with its names in Spark and on the command line."""

    name: str
    kind: Kind
    default: object
    doc: str = field(repr=False)
    """The docstring: all surfaces show its first paragraph; only Python's help shows the rest."""
    functions: frozenset[str] = frozenset()
    """The functions that take it as a keyword; see :mod:`binarrow.options`."""
    spark: Spark | None = None
    flag: Flag | None = None
    in_tasks: str = ""
    """Its type as a keyword of ``decoder``, if it is not the same."""
    since: str = "0.1"

    @property
    def annotation(self) -> str:
        """Its type in Python."""
        return f"{self.kind.python} | None" if self.default is None else self.kind.python

    @property
    def summary(self) -> str:
        """The first paragraph of its documentation."""
        return " ".join(self.doc.strip().partition("\n\n")[0].split())

    @property
    def spark_name(self) -> str:
        """The option of the data source; empty without one."""
        if self.spark is None:
            return ""
        head, *tail = self.name.split("_")
        return self.spark.name or head + "".join(part.capitalize() for part in tail)

    @property
    def spark_kind(self) -> Kind:
        """The values of the data source's option."""
        return (self.spark.kind if self.spark else None) or self.kind


__all__ = [
    "BYTES",
    "CODES",
    "COMMAND",
    "COUNT",
    "FLAG",
    "JSON",
    "NAMES",
    "PATH",
    "PEM",
    "SECONDS",
    "SERVER",
    "TEXT",
    "Flag",
    "Kind",
    "Option",
    "Spark",
    "lists",
    "words",
]
