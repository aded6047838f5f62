"""The function `binarrow.sync`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Literal

from binarrow.server import Server, connect
from binarrow.syncing.errors import SyncError
from binarrow.syncing.metrics import text_of
from binarrow.syncing.names import Selection
from binarrow.syncing.progress import SyncProgress
from binarrow.syncing.settings import (
    Mode,
    OnDrop,
    OnTableError,
    OnTruncate,
    SchemaChanges,
    Settings,
    patterns,
)
from binarrow.syncing.target import open_target

if TYPE_CHECKING:
    from binarrow.syncing.summary import SyncSummary

LOG = logging.getLogger("binarrow.sync")


def sync(
    source: str | Server,
    target: str,
    *,
    tables: str | Sequence[str] | None = None,
    exclude_tables: str | Sequence[str] | None = None,
    mode: Mode = "mirror",
    once: bool = False,
    every: float = 10.0,
    max_rows_per_commit: int = 250_000,
    schema_changes: SchemaChanges = "follow",
    on_truncate: OnTruncate = "apply",
    on_drop: OnDrop = "keep",
    on_table_error: OnTableError = "stop",
    reload: str | Sequence[str] | None = None,
    locks: Literal["brief"] | None = None,
    max_rows_per_second: int | None = None,
    rows_from: Server | None = None,
    busy_timeout: float = 300.0,
    metrics: str | None = None,
    progress: SyncProgress | None = None,
    on_commit: Callable[[SyncSummary], object] = lambda _: None,
    is_stopped: Callable[[], bool] = lambda: False,
    password_file: str | os.PathLike[str] | None = None,
    password_command: str | Sequence[str] | None = None,
) -> SyncSummary:
    """Copies tables of a server into a target, and keeps them up to date with its log.

        binarrow.sync("mysql://repl@db.example/", "duckdb:///mirror.duckdb", tables="shop.*",
                      once=True, password_file="secret")

    The target contains its position in the log. A sync that starts again, after its end or a crash,
    continues at this position, and applies each change once. Tables that ``tables`` selects for the
    first time are loaded.

    Args:
        source: The URL of a server, as for :func:`binarrow.connect`, or a :class:`Server`.
        target: ``"duckdb:///mirror.duckdb"``, a DuckDB file. Each database of the server is a
            schema of the file. The file is open only during a commit. ``"delta+file:///lake"``, a
            folder with a folder of Delta tables for each database. ``"delta+s3://bucket/prefix"``,
            the same in an object store. ``"iceberg+file:///lake"``, a folder with a catalog of
            Iceberg tables. ``"iceberg://CATALOG"``, a catalog in pyiceberg's configuration.
            ``"parquet+file:///changes"``, a folder of Parquet files, for the mode ``"history"``.
        tables: The tables, as globs of ``database.table``. None selects all tables except those of
            the system databases.
        exclude_tables: Tables to leave out, as globs.
        mode: ``"mirror"``: the target has the current rows. ``"history"``: it has all changes, with
            ``_change_type``, ``_commit_version``, ``_commit_timestamp`` and ``_change_ordinal``.
            ``"scd2"``: it has all versions of rows, with ``_valid_from``, ``_valid_to``,
            ``_valid_from_version`` and ``_valid_to_version``.
        once: If true, the sync ends at the current end of the log.
        every: The maximum number of seconds between two commits.
        max_rows_per_commit: The number of rows after which sync commits before ``every`` seconds
            have passed. It also commits after 64 MiB of rows. A commit can contain a part of a
            transaction.
        schema_changes: ``"follow"`` applies ALTER TABLE to the target. ``"widen"`` applies it if it
            adds columns that are nullable or have a default, or if types become larger, and raises
            an error before any other change of columns. ``"fail"`` raises an error before each
            change of columns.
        on_truncate: The reaction to TRUNCATE: ``"apply"``, ``"keep"`` (the target keeps its rows)
            or ``"fail"``.
        on_drop: The reaction to DROP TABLE: ``"keep"`` (the table stays in the target), ``"drop"``
            or ``"fail"``.
        on_table_error: The reaction to an error of one table: a type that the target cannot store,
            for example, or a statement for which an option is ``"fail"``. ``"stop"`` raises the
            error. ``"park"`` stops changing the table, continues with the other tables, and leaves
            it out in later runs.
        reload: Tables to load again, as globs. They may be parked or not.
        locks: As for :meth:`Server.stream`: ``"brief"`` permits a lock of all tables while the
            snapshot of a chunk is opened.
        max_rows_per_second: The maximum number of existing rows that are read per second.
        rows_from: As for :meth:`Server.stream`: a replica from which the existing rows are read,
            except those of tables without a key.
        busy_timeout: Seconds for which a commit waits while another process uses the target, and
            for which failed requests to an object store or a catalog are repeated.
        metrics: An address, such as ``"127.0.0.1:9100"`` or ``"[::1]:9100"``, at which metrics for
            Prometheus are available, under ``/metrics``, while the sync runs. A port without a host
            uses the loopback address. With port 0, the system selects a port, and the log contains
            it.
        progress: An object with the state of the sync, for other threads.
        on_commit: A function that is called after each commit, with the result so far.
        is_stopped: A function that returns true if the sync must end. It is called at least four
            times per second while changes are read.
        password_file: As for :func:`binarrow.connect`.
        password_command: As for :func:`binarrow.connect`.

    Returns:
        The tables, the number of changes, and the position.

    Raises:
        SyncError: The sync cannot begin or continue. The message says what to do.
        TargetBusyError: Another process uses the target.
        ConfigError: A keyword is not valid, or the package for the target is missing.
        LaterVersionError: A later version of binarrow has written the target.
        BinarrowError: The server or its log cannot be read.
    """
    progress = progress if progress is not None else SyncProgress()
    progress.begin()
    settings = Settings(
        tables=patterns(tables, "tables"),
        exclude_tables=patterns(exclude_tables, "exclude_tables"),
        mode=mode,
        once=once,
        every=every,
        max_rows_per_commit=max_rows_per_commit,
        schema_changes=schema_changes,
        on_truncate=on_truncate,
        on_drop=on_drop,
        on_table_error=on_table_error,
        reload=patterns(reload, "reload"),
        locks=locks,
        max_rows_per_second=max_rows_per_second,
        rows_from=rows_from,
        busy_timeout=busy_timeout,
        on_commit=on_commit,
        is_stopped=is_stopped,
        progress=progress,
    )
    place = open_target(target, settings)
    from binarrow.syncing.follower import Follower
    from binarrow.syncing.source_watch import SourceWatch
    from binarrow.syncing.structures import Structures

    with ExitStack() as stack:
        if metrics is not None:
            from binarrow.metrics.server import serve

            url = stack.enter_context(serve(metrics, partial(text_of, progress)))
            LOG.info("metrics: %s", url)
        server = source
        if isinstance(server, str):
            server = stack.enter_context(
                connect(server, password_file=password_file, password_command=password_command)
            )
        stack.enter_context(place.lock())
        stored = place.load()
        state, copy = stored if stored is not None else (None, None)
        if state is not None and state.mode != mode:
            raise SyncError(
                f"the target was created with mode={state.mode!r}: use this mode, or another target"
            )
        folds = server.variables("lower_case_table_names").get("lower_case_table_names", "0")
        selection = Selection(settings.tables, settings.exclude_tables, ignores_case=folds != "0")
        structures = stack.enter_context(
            Structures(
                place.structures_file,
                copy,
                is_mariadb=server.flavor == "mariadb",
                committed=None if state is None else state.position,
            )
        )
        watch = stack.enter_context(SourceWatch(server, progress, every))
        return Follower(server, place, settings, structures, selection, watch).run(state)


__all__ = ["sync"]
