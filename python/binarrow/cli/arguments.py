"""Arguments that several commands share, and what their text means."""

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, TypeAlias

import typer


class Format(StrEnum):
    """How a command prints."""

    table = "table"
    json = "json"


class Types(StrEnum):
    """Whose types the columns get."""

    native = "native"
    spark = "spark"


Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Binlog files in log order, a glob, or a folder.",
        show_default=False,
    ),
]
Start: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="WHERE", help="Begin at FILE:OFFSET, or at a time as 2026-11-21T09:00."),
]
Stop: TypeAlias = Annotated[
    str | None, typer.Option(metavar="WHERE", help="End at FILE:OFFSET, or at a time.")
]
Tables: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="DB.TABLE", help="Only these tables; a glob; may be given again."),
]
FormatOption: TypeAlias = Annotated[
    Format, typer.Option(help="A table for people, or JSON, one object a line.")
]
TypesOption: TypeAlias = Annotated[Types, typer.Option(help="Arrow's native types, or Spark's.")]
Positional: TypeAlias = Annotated[
    bool,
    typer.Option("--positional", help="Name columns @1, @2, ... where the log does not name them."),
]
Schemas: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="What 'mysqldump --no-data DB' prints, for logs that do not name columns; may be given"
        " again.",
    ),
]
AllowGaps: TypeAlias = Annotated[
    bool, typer.Option("--allow-gaps", help="Take files that do not follow each other.")
]


def sources(files: list[str]) -> list[str | BinaryIO]:
    """The files as `binarrow` takes them: ``-`` is standard input."""
    return [sys.stdin.buffer if name == "-" else name for name in files]


def where(text: str | None) -> str | datetime | None:
    """A place in the log: a point in time if the text is one, else FILE:OFFSET or a GTID set.

    A time without a zone is local time, as everywhere on the command line.
    """
    if text is None or text.isdigit():  # an offset, though some read as dates
        return text
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        return text


def gaps(allowed: bool) -> Literal["error", "allow"]:
    """The keyword of `read_binlog` that the flag stands for."""
    return "allow" if allowed else "error"


def column_names(positional: bool) -> Literal["positional", "log"]:
    """Likewise."""
    return "positional" if positional else "log"
