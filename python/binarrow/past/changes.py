"""The form in which changes are read, and the statements whose changes the log does not contain."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from binarrow._native import (
    BinarrowWarning,
    PastRows,
    SchemaChange,
    SchemaError,
    Truncate,
    UnmatchedPatternWarning,
    UnsupportedEventError,
)

PREFIX = "binarrow "
"""The prefix of envelope columns, which the columns of a table are unlikely to have."""

FORM: Mapping[str, Any] = {
    "envelope": PastRows.envelope(),
    "envelope_prefix": PREFIX,
    "split_key_updates": False,
}
"""Keywords of reads."""


@contextmanager
def no_missing_changes(table: str) -> Iterator[None]:
    """Raises an error, and not only a warning, if rows of an XA transaction are before the read.

    There is no warning if the log has no changes of the table.

    Raises:
        UnsupportedEventError: The log contains the XA COMMIT of such a transaction.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmatchedPatternWarning)
        warnings.filterwarnings("error", "XA COMMIT at ", BinarrowWarning)
        try:
            yield
        except BinarrowWarning as warning:
            raise UnsupportedEventError(
                f"{table}: {warning}. It is not known if it changed the table: choose a"
                " moment after the XA COMMIT"
            ) from None


@contextmanager
def quiet_search() -> Iterator[None]:
    """Ignores warnings about missing changes: the read searches a moment, and uses no changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmatchedPatternWarning)
        warnings.filterwarnings("ignore", "XA COMMIT at ", BinarrowWarning)
        yield


def changes_tables(statement: SchemaChange) -> bool:
    """True if a statement changes tables, and not only the defaults of a database."""
    return bool(statement.tables) or statement.kind != "alter"


def check_statement(item: object, where: str, remedy: str) -> None:
    """Raises an error if an item of the log is a statement that changed the table.

    Args:
        item: An item of ``include``.
        where: The place of the statement, for the message: ``after the moment``.
        remedy: The moments that are possible, for the message: ``Choose a moment after it``.

    Raises:
        SchemaError: The item is such a statement.
    """
    if isinstance(item, Truncate):
        what = f"TRUNCATE TABLE {item.database}.{item.table}"
    elif isinstance(item, SchemaChange):
        if not changes_tables(item):
            return
        what = f"{item.kind.upper()} of {', '.join(item.tables) or item.database}"
    else:
        return
    raise SchemaError(
        f"{what} is {where} (it ends at {item.position},"
        f" {item.commit_timestamp:%Y-%m-%d %H:%M:%S} UTC): the log does not contain the rows that"
        f" it changed. {remedy}"
    )


__all__ = [
    "FORM",
    "PREFIX",
    "changes_tables",
    "check_statement",
    "no_missing_changes",
    "quiet_search",
]
