"""The schema of a server's table, asked of the server, is that of the batches that its log gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import binarrow
from binarrow import TypeOptions
from support.logged import database
from support.servers.servers import Server
from support.workloads.metadata_tables import (
    EVERYWHERE,
    MARIADB,
    MYSQL,
    SINCE_5_7,
    logged_tables,
    row_metadata,
)

SHAPES = [
    {"types": types, "layout": layout}
    for types in ("native", "spark")
    for layout in ("flat", "nested")
]

SERVERS = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)

Tables = dict[str, str]


@contextmanager
def reach(server: Server) -> Iterator[binarrow.Server]:
    with binarrow.connect(socket=str(server.socket), user="root") as connection:
        yield connection


@pytest.fixture
def tables(server: Server) -> Tables:
    return EVERYWHERE | SINCE_5_7 | (MARIADB if server.is_mariadb else MYSQL)


def of_log(files: Sequence[Path], name: str, **keywords: object) -> pa.Schema:
    return binarrow.infer_schema([str(path) for path in files], name, **keywords)


def outcome(source: list[str] | binarrow.Server, name: str) -> object:
    """The fields with their metadata, or what is missing for them."""
    try:
        schema = binarrow.infer_schema(source, name, column_names="positional")
    except binarrow.SchemaError as error:
        return str(error).split(": ")[:3]
    return [(field.name, field.type, field.metadata) for field in schema]


@SERVERS
def test_as_logged(server: Server, tables: Tables) -> None:
    """Every type, in every shape, with the metadata of the log, and with given structures."""
    with reach(server) as connection:
        for metadata, given in (("FULL", False), ("FULL", True), ("MINIMAL", True)):
            with row_metadata(server, metadata), database(server, "told"):
                files = logged_tables(server, tables)
                for table in tables:
                    name = f"told.{table}"
                    keywords: dict[str, object] = {}
                    if given:
                        created = connection.describe(name).create_statement
                        keywords["schemas"] = {name: created}
                    for shape in SHAPES if metadata == "FULL" and not given else SHAPES[1:2]:
                        logged = of_log(files, name, **keywords, **shape)
                        found = binarrow.infer_schema(connection, name, **keywords, **shape)
                        assert found.equals(logged, check_metadata=True), (metadata, given, name)


@SERVERS
def test_positional_names(server: Server, tables: Tables) -> None:
    """A log that names no columns: what is read of it by position is so here too."""
    least = ["MINIMAL", "NO_LOG"] if server.is_mariadb else ["MINIMAL"]
    with reach(server) as connection:
        for metadata in least:
            with row_metadata(server, metadata), database(server, "told"):
                files = logged_tables(server, tables)
                for table in tables:
                    logged = outcome([str(path) for path in files], f"told.{table}")
                    found = outcome(connection, f"told.{table}")
                    assert found == logged, (metadata, table)


@SERVERS
def test_keywords_and_refusals(server: Server) -> None:
    """All keywords hold; a log without names asks for one of two remedies."""
    with reach(server) as connection, database(server, "told"):
        server.execute("CREATE TABLE a (id INT PRIMARY KEY, name VARCHAR(9), big BIGINT UNSIGNED)")
        found = binarrow.infer_schema(
            connection,
            "told.a",
            columns={"told.a": ["id", "big"]},
            types=TypeOptions(profile="spark"),
            envelope=["change_type"],
            envelope_prefix="x_",
        )
        assert found.names == ["id", "big", "x_change_type"]
        assert found.field("big").type == pa.decimal128(20, 0)
        with pytest.raises(binarrow.SchemaError, match=r"no table told\.none"):
            binarrow.infer_schema(connection, "told.none")
        least = "NO_LOG" if server.is_mariadb else "MINIMAL"
        with row_metadata(server, least):
            with pytest.raises(binarrow.ConfigError, match=r"binlog_row_metadata.*FULL.*history="):
                binarrow.infer_schema(connection, "told.a")
            with binarrow.SchemaHistory.open("memory:") as history:
                history.baseline(connection)
                whole = binarrow.infer_schema(connection, "told.a", history=history)
        assert whole.names[:3] == ["id", "name", "big"]
        assert whole.field("big").type == pa.uint64()


@pytest.mark.parametrize("server", ["mysql-5.7"], indirect=True)
def test_a_server_that_cannot_name_columns(server: Server) -> None:
    with reach(server) as connection, database(server, "told"):
        server.execute("CREATE TABLE a (id INT PRIMARY KEY)")
        with pytest.raises(binarrow.ConfigError, match=r"MySQL has from 8\.0\.1.*history="):
            binarrow.infer_schema(connection, "told.a")
        given = connection.describe("told.a").create_statement
        found = binarrow.infer_schema(connection, "told.a", schemas={"told.a": given})
        assert found.names[0] == "id"
