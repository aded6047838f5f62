"""ALTER TABLE where the log does not name the columns, so that `@2` is the second one at each place of the log."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
import pytest

import binarrow
from support.servers.servers import Server, Session

pytestmark = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)

# A statement, and words of the error, if a mirror by place has other values afterwards.
STATEMENTS = [
    ("MODIFY v SMALLINT", "does not contain the type before"),
    ("CHANGE v x INT AFTER w", "does not contain the type before"),
    ("DROP v, ADD z INT", "does not name the columns"),
    ("ADD z INT FIRST", "does not name the columns"),
    ("ADD z INT AFTER id", "does not name the columns"),
    ("ADD z INT", None),
    ("RENAME COLUMN v TO z", None),
    ("ADD INDEX (v), ALTER v SET DEFAULT 5, COMMENT = 'x'", None),
]


@pytest.fixture
def session(server: Server) -> Iterator[Session]:
    server.execute(
        "SET GLOBAL binlog_row_metadata = MINIMAL",
        "DROP DATABASE IF EXISTS unnamed",
        "CREATE DATABASE unnamed",
    )
    session = server.connect(database="unnamed")
    yield session
    session.close()
    server.execute("SET GLOBAL binlog_row_metadata = FULL", "DROP DATABASE unnamed")


def test_statements_that_change_columns_by_place(server: Server, session: Session) -> None:
    session.execute("SET sql_mode = ''")
    server.flush_binlog()
    for index, (statement, _) in enumerate(STATEMENTS):
        session.execute(
            f"CREATE TABLE t{index} (id INT PRIMARY KEY, v INT, w INT)",
            f"INSERT INTO t{index} VALUES (1, 70000, 3)",
            f"ALTER TABLE t{index} {statement}",
        )
    log = str(server.flush_binlog())
    wanted = pa.schema([("@1", pa.int32()), ("@2", pa.int32())])
    for index, (_, words) in enumerate(STATEMENTS):
        table = f"unnamed.t{index}"
        rows = binarrow.read_binlog(log, envelope=[], column_names="positional").table(
            table, schema=wanted, on_schema_change="conform", truncates="error"
        )
        documents = binarrow.read_binlog(
            log, tables=table, types="spark", column_names="positional"
        ).nested_json(truncates="error")
        for reader in (rows, documents):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about columns that the schema does not have
                if words is None:
                    assert reader.read_all().num_rows == 1
                else:
                    with pytest.raises(binarrow.SchemaError, match=words):
                        reader.read_all()
