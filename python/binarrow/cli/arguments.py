"""Arguments that several commands share, and what their text means."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, TypeAlias

import typer

from binarrow import ConfigError, SchemaHistory
from binarrow.mask_salt import read_mask_salt


class Format(StrEnum):
    """How a command prints."""

    table = "table"
    json = "json"


class Types(StrEnum):
    """Whose types the columns get."""

    native = "native"
    spark = "spark"


class StatementsWord(StrEnum):
    """The reaction to a statement that was logged as text and may change rows."""

    error = "error"
    skip = "skip"


Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Binlog files in log order, a glob, or a folder. NAME=FILE sets the name of a file"
        " in the server's log.",
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
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DB.TABLE=COLUMN,...",
        help="Of this table (a glob) only these columns; may be given again.",
    ),
]
Operations: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPERATION,...", help="Only these of insert, update, delete; may be given again."
    ),
]
Mask: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DB.TABLE.COLUMN=HOW",
        help="Do not show this column's values (a glob): sha256 for hashes under a salt, null for"
        " NULL; may be given again.",
    ),
]
MaskSaltFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The salt that sha256 needs; let only its owner read it. Else it is BINARROW_MASK_SALT"
        " of the environment.",
    ),
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
HistoryOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--history",
        metavar="HISTORY",
        help="A history of table structures, for logs that do not name columns: the path of a file,"
        " sqlite:///shop.db, or mysql://user@host/database. See 'binarrow history --help'.",
        show_default=False,
    ),
]
HistorySource: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Whose tables, in a store of several histories; default, if not given.",
        show_default=False,
    ),
]
HistoryPasswordFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Of a history on a server: a file whose first line is the password there.",
    ),
]


class OnlineSchemaChange(StrEnum):
    """The proof that a tool swaps two tables: the keyword of `read_binlog`."""

    evidence = "evidence"
    trust = "trust"


OnlineSchemaChangeOption: TypeAlias = Annotated[
    OnlineSchemaChange,
    typer.Option(
        "--online-schema-change",
        help="trust: table names of gh-ost (_t_gho, _t_ghc, _t_del) and pt-online-schema-change"
        " (_t_new, _t_old) prove that the tool made a swap, and these tables are left out if"
        " --tables does not name them. evidence: only marks of the tool in the log prove it.",
    ),
]
Statements: TypeAlias = Annotated[
    StatementsWord,
    typer.Option(
        help="Statements that were logged as text and may change rows (binlog_format STATEMENT"
        " or MIXED): error, or skip them."
    ),
]


class UnloggedChanges(StrEnum):
    """The reaction to rows that foreign keys may change without an event: the reader's keyword."""

    error = "error"
    warn = "warn"
    ignore = "ignore"


UnloggedChangesOption: TypeAlias = Annotated[
    UnloggedChanges,
    typer.Option(
        "--unlogged-changes",
        help="If a foreign key may have changed rows that the log does not contain (CASCADE,"
        " SET NULL, SET DEFAULT; before MySQL 9.6, and in MariaDB): error, warn or ignore.",
    ),
]
AllowGaps: TypeAlias = Annotated[
    bool, typer.Option("--allow-gaps", help="Take files that do not follow each other.")
]


def sources(files: list[str]) -> list[str | BinaryIO] | dict[str, str | BinaryIO]:
    """Returns the files as `binarrow.inspect` accepts them: ``-`` is standard input."""
    found = named(files)
    if isinstance(found, dict):
        return {name: sys.stdin.buffer if path == "-" else path for name, path in found.items()}
    return [sys.stdin.buffer if path == "-" else path for path in found]


def named(files: list[str]) -> list[str] | dict[str, str]:
    """Returns the files as `binarrow.read_binlog` accepts them.

    ``binlog.000004=txns.binlog`` is the file ``txns.binlog``, whose name in the server's log is
    ``binlog.000004``.

    Raises:
        ConfigError: Some files have such a name and others do not.
    """
    found = [_NAMED.fullmatch(file) for file in files if not Path(file).exists()]
    names = {match[1]: match[2] for match in found if match is not None}
    if not names:
        return files
    if len(names) < len(files):
        raise ConfigError(f"NAME=FILE is for all files or for none: {' '.join(files)}")
    return names


_NAMED = re.compile(r"([^/=*?\[]+\.\d+)=(.+)")


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


def filters(
    columns: list[str] | None,
    operations: list[str] | None,
    mask: list[str] | None,
    mask_salt_file: Path | None,
) -> dict[str, Any]:
    """The keywords of `read_binlog` that the options stand for.

    Raises:
        ConfigError: One is not of its form, or hashes are asked for and there is no salt.
        InputError: The salt's file cannot be read.
    """
    keywords: dict[str, Any] = {}
    for text in columns or ():
        table, equals, names = text.partition("=")
        if not equals:
            raise ConfigError(f"--columns {text!r}: write DB.TABLE=COLUMN,COLUMN")
        kept = keywords.setdefault("columns", {}).setdefault(table, [])
        kept += [name for name in names.split(",") if name]
    if operations:
        keywords["operations"] = [word for text in operations for word in text.split(",") if word]
    for text in mask or ():
        column, equals, how = text.rpartition("=")
        if not equals:
            raise ConfigError(f"--mask {text!r}: write DB.TABLE.COLUMN=sha256, or =null")
        keywords.setdefault("mask", {})[column] = how
    if "sha256" in keywords.get("mask", {}).values():
        salt = read_mask_salt(mask_salt_file) if mask_salt_file else os.environ.get(SALT_VARIABLE)
        if not salt:
            raise ConfigError(
                f"--mask ...=sha256 needs a salt: set --mask-salt-file, or {SALT_VARIABLE}"
            )
        keywords["mask_salt"] = salt
    return keywords


@contextmanager
def followed(
    history: str | None, source: str | None, password_file: Path | None
) -> Iterator[dict[str, Any]]:
    """The keyword of `read_binlog` that the options stand for; the history is closed at the end.

    Raises:
        ConfigError: There is no such place, or the options do not fit together.
    """
    if history is None:
        if source is not None or password_file is not None:
            raise ConfigError("--history-source and --history-password-file are for --history")
        yield {}
        return
    with SchemaHistory.open(
        history, source=source, password_file=password_file if is_on_server(history) else None
    ) as opened:
        yield {"history": opened}


def is_on_server(history: str) -> bool:
    """Whether a history is kept on a server, not in a file."""
    scheme, separator, _ = history.partition("://")
    return bool(separator) and scheme.lower() != "sqlite"


SALT_VARIABLE = "BINARROW_MASK_SALT"
