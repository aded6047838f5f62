"""The form in which changes are read, and the statements whose changes the log does not contain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from binarrow._native import PastRows, SchemaChange, SchemaError, Truncate

PREFIX = "binarrow "
"""The prefix of envelope columns, which the columns of a table are unlikely to have."""

FORM: Mapping[str, Any] = {
    "envelope": PastRows.envelope(),
    "envelope_prefix": PREFIX,
    "split_key_updates": False,
}
"""Keywords of reads."""


def check_statement(item: object, where: str) -> None:
    """Raises an error if an item of the log is a statement that changed the table.

    Args:
        item: An item of ``include``.
        where: The place of the statement, for the message: ``after the moment``.

    Raises:
        SchemaError: The item is such a statement.
    """
    if isinstance(item, Truncate):
        what = f"TRUNCATE TABLE {item.database}.{item.table}"
    elif isinstance(item, SchemaChange):
        if not item.tables and item.kind == "alter":
            return  # the defaults of a database
        what = f"{item.kind.upper()} of {', '.join(item.tables) or item.database}"
    else:
        return
    raise SchemaError(
        f"{what} is {where} (it ends at {item.position},"
        f" {item.commit_timestamp:%Y-%m-%d %H:%M:%S} UTC): the log does not contain the rows that"
        " it changed. Choose a moment without it in between"
    )


__all__ = ["FORM", "PREFIX", "check_statement"]
