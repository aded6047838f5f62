"""The function `binarrow.verify`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from binarrow._native import ConfigError
from binarrow.server import Server, connect
from binarrow.syncing.errors import SyncError
from binarrow.syncing.names import Name, Selection
from binarrow.syncing.settings import Settings as SyncSettings
from binarrow.syncing.settings import patterns
from binarrow.syncing.target import open_target
from binarrow.verifying.result import VerifiedTable, VerifyProgress, VerifySummary

if TYPE_CHECKING:
    from binarrow.syncing.operations import State


def verify(
    source: str | Server,
    target: str,
    *,
    tables: str | Sequence[str] | None = None,
    exclude_tables: str | Sequence[str] | None = None,
    show_keys: bool = False,
    locks: Literal["brief"] | None = None,
    max_rows_per_second: int | None = None,
    busy_timeout: float = 300.0,
    on_progress: Callable[[VerifyProgress], object] = lambda _: None,
    on_table: Callable[[Name, VerifiedTable], object] = lambda _name, _result: None,
    password_file: str | os.PathLike[str] | None = None,
    password_command: str | Sequence[str] | None = None,
) -> VerifySummary:
    """Compares the tables of a server with the target that :func:`binarrow.sync` has written.

        summary = binarrow.verify("mysql://repl@db.example/", "duckdb:///shop.duckdb",
                                  password_file="secret")
        print(summary.result, [name for name, one in summary.tables.items()
                               if one.result != "MATCH"])

    All cells are compared, bit by bit, as the target stores them. The server may be in use, and the
    target may be older than the server. Rows that changed in the log after the target's position
    are compared as they were at this position. A sync may run at the same time. Only its commits
    into a DuckDB file wait while the rows of a table are read.

    Args:
        source: The URL of a server, as for :func:`binarrow.connect`, or a connection.
        target: The target of a sync with ``mode="mirror"``: a DuckDB file, such as
            ``"duckdb:///shop.duckdb"``, or Delta or Iceberg tables.
        tables: The tables, as globs of ``database.table``. None selects all tables of the target.
        exclude_tables: Tables to leave out, as globs.
        show_keys: If true, the result contains the keys of the first 100 rows of a table that
            differ.
        locks: As for :meth:`Server.read_table`.
        max_rows_per_second: The maximum number of rows that are read from the server per second.
        busy_timeout: Seconds to wait while another process uses the target, or until the last
            commit of a sync is complete.
        on_progress: A function that is called while rows are read.
        on_table: A function that is called after each table, with its name and result.
        password_file: As for :func:`binarrow.connect`.
        password_command: As for :func:`binarrow.connect`.

    Returns:
        The result of each table. The result is ``"MATCH"`` or ``"MISMATCH"`` only if it is certain.

    Raises:
        SyncError: The target was not written by a sync.
        TargetBusyError: Another process uses the target, or the last commit is not complete.
        ConfigError: A keyword is not valid, or the package for the target is missing.
        LaterVersionError: A later version of binarrow has written the target.
        BinarrowError: The server cannot be read.
    """
    import tempfile

    from binarrow.syncing.snapshot import ReadableTarget
    from binarrow.verifying.table import Settings, TableComparison

    started = time.monotonic()
    included = patterns(tables, "tables")
    excluded = patterns(exclude_tables, "exclude_tables")
    place = open_target(target, SyncSettings(busy_timeout=busy_timeout, locks=locks))
    if not isinstance(place, ReadableTarget):
        raise ConfigError(
            f"verify does not support the target {target!r}: use DuckDB, Delta or Iceberg"
        )
    settings = Settings(locks, max_rows_per_second, show_keys, on_progress)
    with ExitStack() as stack:
        with place.snapshot() as snapshot:
            state = None if snapshot.stored is None else snapshot.stored[0]
        if state is None:
            raise SyncError(f"{target} is not the target of a sync: run binarrow sync first")
        if state.mode != "mirror":
            raise ConfigError(
                f"the target has mode={state.mode!r}, and verify compares the current rows: use a"
                " target with mode='mirror'"
            )
        server = source
        if isinstance(server, str):
            server = stack.enter_context(
                connect(server, password_file=password_file, password_command=password_command)
            )
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="binarrow-verify-")))
        summary = VerifySummary()
        for name in selected(server, state, included, excluded):
            result = TableComparison(server, place, name, settings, folder).run()
            summary.tables[name] = result
            on_table(name, result)
        summary.seconds = time.monotonic() - started
        return summary


def selected(
    server: Server, state: State, included: Sequence[str], excluded: Sequence[str]
) -> list[Name]:
    """Returns the tables of the target, and those of the server that are named and not in it.

    Raises:
        SyncError: There are none.
    """
    folds = server.variables("lower_case_table_names").get("lower_case_table_names", "0")
    selection = Selection(included, excluded, ignores_case=folds != "0")
    names = {name for name in state.records if selection.has(name)}
    if included:
        existing = server.schemas(tables=list(included), exclude_tables=list(excluded) or None)
        names |= {(one.database, one.table) for one in existing.tables}
    if not names:
        raise SyncError("neither the target nor the server has a table that tables= selects")
    return sorted(names)


__all__ = ["verify"]
