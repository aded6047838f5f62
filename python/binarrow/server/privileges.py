"""Checks the user's privileges for a use. Part of :mod:`binarrow.server.preflight`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from binarrow._native import BinarrowError, ServerError
from binarrow.server.check import Check
from binarrow.server.session import Session

Use = Literal["stream", "history", "spark", "load"]
"""The use that a server is checked for: ``stream()``, with a history, queries of Spark, loads."""

ACCESS_DENIED = 1227
"""The server's error code for a missing privilege."""

NO_SUCH_TABLE = {1049, 1146}
"""The server's error codes for a database and a table that do not exist."""

ALL = "ALL PRIVILEGES"

NEEDS_SELECT: dict[Use, str] = {
    "history": "a history needs it to read the structures of all tables",
    "spark": "Spark's queries need it to read the structure of their table",
    "load": "an initial load needs it to read the rows",
}

USES = {"spark": "Spark", "load": "initial loads"}
"""The uses whose checks have another name."""

LOCKS = {ALL, "RELOAD", "FLUSH_TABLES"}
"""The privileges of which each permits FLUSH TABLES WITH READ LOCK."""


def privileges(server: Session, use: Use | None, tables: Sequence[str]) -> Iterator[Check]:
    """Checks the privileges for each use; a missing one that `use` needs is an error."""
    grants = _parsed(server.grants())
    missing = _missing_for_the_log(server, grants)
    if missing:
        yield Check(
            "privileges",
            "error",
            f"without {' and '.join(missing)}",
            f"GRANT {', '.join(missing)} ON *.* TO the user",
        )
    else:
        yield Check("privileges", "ok", "may read the log and its end position", "")
    for other, why in NEEDS_SELECT.items():
        if use == other or (use is None and other != "load"):
            yield _select(server, grants, (other, why), is_needed=use == other, tables=tables)


def may_lock(server: Session) -> bool:
    """True if the user may execute FLUSH TABLES WITH READ LOCK."""
    return bool(_granted_on_all(_parsed(server.grants())) & LOCKS)


def _granted_on_all(grants: Sequence[tuple[set[str], str]]) -> set[str]:
    return {one for names, place in grants if place == "*.*" for one in names}


def _missing_for_the_log(server: Session, grants: Sequence[tuple[set[str], str]]) -> list[str]:
    granted = _granted_on_all(grants)
    may_dump = {ALL, "REPLICATION SLAVE", "REPLICATION REPLICA"}
    missing = [] if granted & may_dump else ["REPLICATION SLAVE"]
    if not _may_read_end(server):
        missing.append("BINLOG MONITOR" if server.flavor == "mariadb" else "REPLICATION CLIENT")
    return missing


def _may_read_end(server: Session) -> bool:
    """True if the user may see the end of the log. Asks the server, because it knows all roles."""
    try:
        server.binlogs()
    except ServerError as error:
        return error.code != ACCESS_DENIED
    return True


def _select(
    server: Session,
    grants: Sequence[tuple[set[str], str]],
    purpose: tuple[Use, str],
    *,
    is_needed: bool,
    tables: Sequence[str],
) -> Check:
    use, why = purpose
    name = f"privileges for {USES.get(use, use)}"
    places = [place for names, place in grants if names & {ALL, "SELECT"}]
    hidden = [table for table in tables if not _may_see(server, table)]
    if "*.*" in places:
        return Check(name, "ok", "SELECT on all tables", "")
    if tables and not hidden:
        return Check(name, "ok", f"SELECT on {', '.join(tables)}", "")
    if places and not tables:
        return Check(name, "ok", f"SELECT on {', '.join(places)} alone", "")
    value = f"without SELECT on {', '.join(hidden)}" if hidden else "without SELECT"
    where = ", ".join(hidden) if hidden else "*.*, or on the tables that are read,"
    advice = f"GRANT SELECT ON {where} TO the user: {why}"
    return Check(name, "error" if is_needed else "warning", value, advice)


def _may_see(server: Session, table: str) -> bool:
    try:
        server.describe(table)
    except ServerError as error:
        return error.code in NO_SUCH_TABLE
    except BinarrowError:
        return True  # it is a pattern
    return True


def _parsed(grants: Sequence[str]) -> list[tuple[set[str], str]]:
    """The privileges in each line of SHOW GRANTS, and the tables that they are granted on."""
    found = []
    for grant in grants:
        privileged, on, rest = grant.partition(" ON ")
        if on:
            # Columns of a table: SELECT (`id`, `total`).
            names = re.sub(r"\([^)]*\)", "", privileged.removeprefix("GRANT ")).upper().split(",")
            found.append(({name.strip() for name in names}, rest.partition(" TO ")[0]))
    return found
