"""Arguments that the commands on a table history share, and their conversion."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from binarrow import ConfigError, HistoryChange, SchemaHistory
from binarrow._native import shown_uri
from binarrow.cli.flags import flag, open_history
from binarrow.cli.output import on_one_line
from binarrow.history.store_url import file_of, is_on_server

History: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="HISTORY",
        help="The location of the history: the path of a file, sqlite:///shop.db, or"
        " mysql://user@host/database.",
        show_default=False,
    ),
]
Table: TypeAlias = Annotated[
    str, typer.Argument(metavar="DB.TABLE", help="The table.", show_default=False)
]
Tables: TypeAlias = Annotated[list[str] | None, flag("tables")]
Source: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The name of the history, in a store of several.",
        show_default=False,
    ),
]
HistoryPasswordFile: TypeAlias = Annotated[Path | None, flag("history_password_file")]
HistoryPasswordCommand: TypeAlias = Annotated[str | None, flag("history_password_command")]


def opened(
    history: str,
    source: str | None,
    password_file: Path | None,
    password_command: str | None,
    *,
    is_new: bool = False,
) -> SchemaHistory:
    """Opens a history. Without `is_new` it must exist."""
    if not is_on_server(history) and not is_new and not file_of(history).exists():
        raise ConfigError(
            f"there is no history {shown_uri(history)}: create it with 'binarrow history baseline"
            f" {shown_uri(history)} URL'"
        )
    return open_history(history, source, password_file, password_command)


def names(table: str) -> tuple[str, str]:
    """Splits a name into database and table."""
    database, dot, name = table.partition(".")
    if not dot or not database or not name:
        raise ConfigError(f"{table!r} is not a table: write database.table")
    return database, name


def as_row(change: HistoryChange, zone: tzinfo | None, longest: int = 80) -> list[object]:
    """Formats a stored statement as cells of a table."""
    text = on_one_line(change.statement)
    if change.kind == "baseline":
        text = f"baseline, {change.statement.count('CREATE TABLE')} tables"
    elif len(text) > longest:
        text = text[: longest - 1] + "…"
    return [
        f"{change.committed.astimezone(zone):%Y-%m-%dT%H:%M:%S}",
        f"{change.position.file}:{change.position.offset}",
        change.database,
        text,
        "; ".join(f"{table}: {why}" for table, why in change.unknown),
    ]


def columns(zone: tzinfo | None) -> list[str]:
    """Returns the columns of tables of statements."""
    names = ["in force from", "database", "statement", "not followed"]
    return [f"committed ({zone or 'local'})", *names]


def as_record(change: HistoryChange, zone: tzinfo | None) -> dict[str, object]:
    """Converts a stored statement to JSON."""
    return {
        "kind": change.kind,
        "position": f"{change.position.file}:{change.position.offset}",
        "gtid_set": change.position.gtid_set,
        "committed": change.committed.astimezone(zone).isoformat(),
        "database": change.database,
        "statement": change.statement,
        "tables": list(change.tables),
        "unknown": dict(change.unknown),
    }


__all__ = [
    "History",
    "HistoryPasswordCommand",
    "HistoryPasswordFile",
    "Source",
    "Table",
    "Tables",
    "as_record",
    "as_row",
    "columns",
    "names",
    "opened",
]
