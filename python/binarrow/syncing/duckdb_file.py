"""A DuckDB file as target. It is open only during a commit, so that others can query it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from binarrow._native import Position
from binarrow.stored_forms import DUCKDB_STATE
from binarrow.syncing.duckdb_operations import apply
from binarrow.syncing.duckdb_snapshot import DuckdbSnapshot
from binarrow.syncing.errors import SyncError, TableError, TargetBusyError
from binarrow.syncing.lock import Lock
from binarrow.syncing.names import Name, shown
from binarrow.syncing.operations import Operation, Record, State
from binarrow.syncing.schema_text import schema_of_text, text_of_schema
from binarrow.syncing.stored_state import details_of_json, json_of_details

if TYPE_CHECKING:
    from binarrow.syncing.settings import Settings

OWN = "_binarrow"
"""The schema of the tables in which the state is stored."""

ALIAS = "_binarrow_target"
"""The name of the file in statements; by default it is that of the file."""

MEMORY = "256MB"
"""The memory of DuckDB; it writes temporary files beside the target if a commit needs more."""

BUSY = ("lock", "already attached")
"""Words of DuckDB's message if another process, or another thread, has the file open."""

OF_A_TABLE = (
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.NotSupportedError,
    duckdb.BinderException,
    duckdb.CatalogException,
)
"""Errors of one table: a value, a type, or columns that another program has changed."""

RETRY = 0.05
"""Seconds between two attempts to open the file."""

TABLES = f"""
CREATE SCHEMA IF NOT EXISTS {OWN};
CREATE TABLE IF NOT EXISTS {OWN}.sync (
    version INTEGER, mode VARCHAR, position VARCHAR, marker_version BIGINT, marker_count BIGINT,
    committed TIMESTAMPTZ, complete_through TIMESTAMPTZ);
ALTER TABLE {OWN}.sync ADD COLUMN IF NOT EXISTS complete_through TIMESTAMPTZ;
CREATE TABLE IF NOT EXISTS {OWN}.structures (file BLOB);
CREATE TABLE IF NOT EXISTS {OWN}.tables (
    database_name VARCHAR, table_name VARCHAR, status VARCHAR, key_columns VARCHAR,
    columns VARCHAR, loaded_version BIGINT);
ALTER TABLE {OWN}.tables ADD COLUMN IF NOT EXISTS details VARCHAR DEFAULT '{{}}';
"""


class DuckdbFile:
    """A DuckDB file. A database of the source is a schema of it."""

    def __init__(self, path: str, settings: Settings) -> None:
        self._path = Path(path)
        self._patience = settings.busy_timeout
        self._progress = settings.progress

    @property
    def structures_file(self) -> Path:
        """The file for the structures of tables while a sync runs."""
        return self._path.with_name(self._path.name + ".sync-tables")

    def lock(self) -> Lock:
        """Refuses other writers, by a lock on a file beside the target."""
        folder = self._path.absolute().parent
        if not folder.is_dir():
            raise SyncError(f"the target {self._path} has no folder: create {folder}")
        return Lock(self._path.with_name(self._path.name + ".sync-lock"), str(self._path))

    def load(self) -> tuple[State, bytes] | None:
        """Returns the committed state and structures; None if the file has none."""
        if not self._path.exists():
            return None
        with self._opened() as file:
            return self._state(file) if self._has_state(file) else None

    @contextmanager
    def snapshot(self) -> Iterator[DuckdbSnapshot]:
        """Returns the last commit. The file is open until the end of the block.

        Raises:
            SyncError: There is no such file.
        """
        if not self._path.exists():
            raise SyncError(f"{self._path} does not exist: run binarrow sync first")
        with self._opened(read_only=True) as file:
            yield DuckdbSnapshot(file, self._state(file) if self._has_state(file) else None)

    def _has_state(self, file: duckdb.DuckDBPyConnection) -> bool:
        found = file.execute(
            "SELECT 1 FROM duckdb_tables() WHERE schema_name = ? AND table_name = 'sync'"
            " AND database_name = current_database()",
            [OWN],
        )
        return bool(found.fetchall())

    def _state(self, file: duckdb.DuckDBPyConnection) -> tuple[State, bytes]:
        versions = file.execute(f"SELECT version FROM {OWN}.sync").fetchall()
        if versions:
            DUCKDB_STATE.check(versions[0][0], f"the state of a sync in {self._path}", SyncError)
        # As text: duckdb needs another package for the values of TIMESTAMPTZ.
        rows = file.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {OWN}.sync").fetchall()
        stored = file.execute(f"SELECT file FROM {OWN}.structures").fetchall()
        if not rows or not stored:
            raise SyncError(f"{self._path} has no state of a sync: delete its schema {OWN}")
        _, mode, position, first, second, _, *through = rows[0]
        records = {}
        for database, table, status, key, columns, loaded, *details in file.execute(
            f"SELECT * FROM {OWN}.tables"
        ).fetchall():
            name = (database, table)
            schema = schema_of_text(columns)
            records[name] = Record(name, schema, tuple(json.loads(key)), status, loaded)
            if details:
                records[name] = replace(records[name], **details_of_json(json.loads(details[0])))
        state = State(
            mode,
            Position.from_json(position),
            (int(first), int(second)),
            records,
            # A target of an earlier version does not have it.
            datetime.fromisoformat(through[0]) if any(through) else None,
        )
        return state, stored[0][0]

    def check_free(self, names: Sequence[Name]) -> None:
        """Checks that the file has no tables with these names, in any letter case.

        Raises:
            TableError: It has one.
        """
        for name in names:
            if name[0].lower() == OWN:
                raise TableError(name, f"{shown(name)}: a database {OWN} cannot be in a target")
        if not self._path.exists():
            return
        with self._opened() as file:
            rows = file.execute(
                "SELECT table_schema, table_name FROM information_schema.tables"
                " WHERE table_catalog = current_database()"
            ).fetchall()
        existing = {(schema.lower(), table.lower()) for schema, table in rows}
        for name in names:
            if (name[0].lower(), name[1].lower()) in existing:
                raise TableError(
                    name,
                    f"{self._path} has a table {shown(name)} that no sync created: choose another"
                    " target, or drop it",
                )

    def commit(
        self, operations: Sequence[Operation], state: State, copy: bytes | None
    ) -> Mapping[Name, Record]:
        """Applies operations and stores the state in one transaction.

        Raises:
            TableError: A table cannot be written. The file is unchanged.
            SyncError: The file cannot be written. It is unchanged.
        """
        with self._opened() as file:
            try:
                file.execute("BEGIN")
                for operation in operations:
                    self._apply(file, operation)
                self._store(file, state, copy)
                file.execute("COMMIT")
            except duckdb.Error as error:
                raise SyncError(f"{self._path} cannot be written: {_plain(error)}") from None
        return {}

    def _apply(self, file: duckdb.DuckDBPyConnection, operation: Operation) -> None:
        try:
            apply(file, operation)
        except OF_A_TABLE as error:
            raise TableError(
                operation.name,
                f"{shown(operation.name)} cannot be written in {self._path}: {_plain(error)}",
            ) from None

    def _store(self, file: duckdb.DuckDBPyConnection, state: State, copy: bytes | None) -> None:
        file.execute(TABLES)
        file.execute(f"DELETE FROM {OWN}.sync")
        file.execute(
            f"INSERT INTO {OWN}.sync VALUES (?, ?, ?, ?, ?, now(), ?)",
            [
                DUCKDB_STATE.version,
                state.mode,
                state.position.to_json(),
                *state.markers,
                state.complete_through,
            ],
        )
        if copy is not None:
            file.execute(f"DELETE FROM {OWN}.structures")
            file.execute(f"INSERT INTO {OWN}.structures VALUES (?)", [copy])
        rows = [
            [
                *one.name,
                one.status,
                json.dumps(one.key),
                text_of_schema(one.schema),
                one.loaded_version,
                json.dumps(json_of_details(one)),
            ]
            for one in state.records.values()
        ]
        stored = file.execute(f"SELECT * FROM {OWN}.tables").fetchall()
        if sorted(rows) != sorted(map(list, stored)):
            file.execute(f"DELETE FROM {OWN}.tables")
            file.executemany(f"INSERT INTO {OWN}.tables VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    @contextmanager
    def _opened(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        deadline = time.monotonic() + self._patience
        attempts = 0
        while True:
            try:
                file = duckdb.connect()
                mode = " (READ_ONLY)" if read_only else ""
                file.execute(f"ATTACH {_text(self._path)} AS {ALIAS}{mode}")
                break
            except duckdb.Error as error:
                file.close()
                if not any(word in str(error).lower() for word in BUSY):
                    raise SyncError(f"{self._path} cannot be opened: {_plain(error)}") from None
                if time.monotonic() >= deadline:
                    raise TargetBusyError(
                        f"another process has had {self._path} open for {self._patience:g} s:"
                        " close it there, or open it read-only for short queries"
                    ) from None
            if attempts == 0:
                self._progress.failed("target")
            attempts += 1
            time.sleep(RETRY)
        try:
            file.execute(f"USE {ALIAS}")
            file.execute("SET preserve_insertion_order = false")
            folder = self._path.with_name(self._path.name + ".tmp")
            file.execute(f"SET temp_directory = {_text(folder)}")
            file.execute(f"SET memory_limit = '{MEMORY}'")
            yield file
        finally:
            file.close()


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _plain(error: duckdb.Error) -> str:
    """Returns a message without values of cells."""
    if isinstance(error, duckdb.DataError | duckdb.IntegrityError):
        return f"{type(error).__name__} of a value"
    return str(error).split("\n", 1)[0]


__all__ = ["DuckdbFile"]
