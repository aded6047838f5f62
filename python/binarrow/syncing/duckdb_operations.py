"""Operations on the tables of a DuckDB file, inside of a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from binarrow.syncing.duckdb_snapshot import quoted
from binarrow.syncing.names import Name
from binarrow.syncing.operations import (
    Alter,
    Append,
    Clear,
    Create,
    Drop,
    End,
    Operation,
    Rename,
    Versions,
    Write,
)
from binarrow.syncing.rows import FROM_VERSION, TO_VERSION, VALID_TO


def apply(file: duckdb.DuckDBPyConnection, operation: Operation) -> None:
    """Applies an operation inside of a transaction."""
    table = quoted(operation.name)
    match operation:
        case Create(name, schema):
            file.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(name[:1])}")
            with _named(file, "none_yet", schema.empty_table()):
                file.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM none_yet")
        case Drop():
            file.execute(f"DROP TABLE IF EXISTS {table}")
        case Rename(name, to):
            _rename(file, name, to)
        case Alter():
            _alter(file, table, operation)
        case _:
            _apply_rows(file, table, operation)


def _apply_rows(file: duckdb.DuckDBPyConnection, table: str, operation: Operation) -> None:
    match operation:
        case Write():
            _write(file, table, operation)
        case Versions():
            _write_versions(file, table, operation)
        case End():
            _end(file, table, operation)
        case Append(_, rows):
            _insert(file, table, rows)
        case Clear():
            file.execute(f"DELETE FROM {table}")


def _end(file: duckdb.DuckDBPyConnection, table: str, change: End) -> None:
    older = "" if change.before is None else f" AND {FROM_VERSION} < {change.before}"
    file.execute(
        f"UPDATE {table} SET {VALID_TO} = ?, {TO_VERSION} = ? WHERE {TO_VERSION} IS NULL{older}",
        [change.time, change.version],
    )


def _write(file: duckdb.DuckDBPyConnection, table: str, change: Write) -> None:
    import pyarrow as pa

    if file.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall():
        same = " AND ".join(f"t.{quoted([one])} = k.{quoted([one])}" for one in change.key)
        keys = pa.concat_tables([change.rows.select(change.key), change.deleted])
        with _named(file, "changed_keys", keys):
            file.execute(f"DELETE FROM {table} t USING changed_keys k WHERE {same}")
    _insert(file, table, change.rows)


def _write_versions(file: duckdb.DuckDBPyConnection, table: str, change: Versions) -> None:
    same = " AND ".join(f"t.{quoted([one])} = k.{quoted([one])}" for one in change.key)
    with _named(file, "ended_rows", change.ended):
        file.execute(
            f"UPDATE {table} t SET {VALID_TO} = k.{VALID_TO}, {TO_VERSION} = k.{TO_VERSION}"
            f" FROM ended_rows k WHERE {same} AND t.{TO_VERSION} IS NULL"
        )
    _insert(file, table, change.rows)


def _insert(file: duckdb.DuckDBPyConnection, table: str, rows: Any) -> None:
    if rows.num_rows:
        with _named(file, "new_rows", rows):
            file.execute(f"INSERT INTO {table} BY NAME SELECT * FROM new_rows")


def _rename(file: duckdb.DuckDBPyConnection, name: Name, to: Name) -> None:
    file.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(to[:1])}")
    file.execute(f"DROP TABLE IF EXISTS {quoted(to)}")
    if name[0] == to[0]:
        file.execute(f"ALTER TABLE {quoted(name)} RENAME TO {quoted(to[1:])}")
    else:
        file.execute(f"CREATE TABLE {quoted(to)} AS SELECT * FROM {quoted(name)}")
        file.execute(f"DROP TABLE {quoted(name)}")


def _alter(file: duckdb.DuckDBPyConnection, table: str, change: Alter) -> None:
    """Changes columns by a copy of the table: one column may get the name of another one."""
    expressions, values = [], []
    for column in change.columns:
        if column.source is None:
            source = f"CASE WHEN {TO_VERSION} IS NULL THEN ? END" if change.fills_current else "?"
            values.append(column.value)
        else:
            source = quoted([column.source])
        kind = _type_of(file, column.field)
        expressions.append(f"CAST({source} AS {kind}) AS {quoted([column.field.name])}")
    listed = ", ".join(expressions)
    file.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {listed} FROM {table}", values)


def _type_of(file: duckdb.DuckDBPyConnection, field: Any) -> str:
    import pyarrow as pa

    with _named(file, "none_yet", pa.schema([field]).empty_table()):
        [found] = file.execute("DESCRIBE SELECT * FROM none_yet").fetchall()
    return str(found[1])


@contextmanager
def _named(file: duckdb.DuckDBPyConnection, name: str, rows: Any) -> Iterator[None]:
    file.register(name, rows)
    yield
    file.unregister(name)  # after an error the connection is closed


__all__ = ["apply"]
