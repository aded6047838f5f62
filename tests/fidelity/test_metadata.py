"""Logs that do not contain the names of columns, or their signs: clear errors, and a way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import binarrow
from support.logged import database, logged, rows
from support.servers.servers import Server

TABLE = (
    "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, n TINYINT, note VARCHAR(20),"
    " e ENUM('a', 'b'), s SET('x', 'y', 'z'), raw VARBINARY(5))"
)
INSERT = "INSERT INTO t VALUES (3916586877, -5, 'é🎉', 'b', 'x,z', X'00ff')"


@contextmanager
def row_metadata(server: Server, setting: str) -> Iterator[None]:
    server.execute(f"SET GLOBAL binlog_row_metadata = {setting}")
    try:
        yield
    finally:
        server.execute("SET GLOBAL binlog_row_metadata = FULL")


def logged_with(server: Server, setting: str) -> list[Path]:
    with row_metadata(server, setting), database(server, "nameless", TABLE):
        return logged(server, INSERT)


def test_names_are_needed(server: Server) -> None:
    files = logged_with(server, "MINIMAL")
    with pytest.raises(binarrow.SchemaError, match="binlog_row_metadata") as caught:
        rows(files, "nameless.t")
    assert "positional" in str(caught.value)
    assert caught.value.file is not None
    assert Path(caught.value.file).name == files[0].name
    assert caught.value.offset
    assert caught.value.event_type is not None
    assert caught.value.event_type.startswith("Write_rows")


def test_columns_by_their_places(server: Server) -> None:
    files = logged_with(server, "MINIMAL")
    [batch] = binarrow.read_binlog(
        [str(path) for path in files], tables="nameless.t", column_names="positional"
    )
    data = batch.to_pyarrow()
    assert data.schema.names[:6] == ["@1", "@2", "@3", "@4", "@5", "@6"]
    assert data.schema.types[:6] == [
        *(pa.uint32(), pa.int8(), pa.string(), pa.uint16(), pa.uint64(), pa.binary())
    ]
    [row] = data.select(data.schema.names[:6]).to_pylist()
    assert list(row.values()) == [3916586877, -5, "é🎉", 2, 0b101, b"\0\xff"]


@pytest.mark.parametrize("server", ["mariadb-10.11", "mariadb-11.8"], indirect=True)
@pytest.mark.parametrize("names", ["log", "positional"])
def test_mariadb_tells_no_signs_unless_asked(server: Server, names: str) -> None:
    files = logged_with(server, "NO_LOG")
    with pytest.raises(binarrow.SchemaError, match="binlog_row_metadata=FULL"):
        rows(files, "nameless.t", column_names=names)
