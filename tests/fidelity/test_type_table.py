"""The type table of the documentation, column by column, as a server's own log gives it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import binarrow
from support.logged import database, logged, read
from support.servers.servers import Server

MICROS = pa.timestamp("us")
UTC_MICROS = pa.timestamp("us", "UTC")
WORDS = pa.dictionary(pa.uint16(), pa.string())

# SQL type, native, spark (None: the same)
TYPES: list[tuple[str, pa.DataType, pa.DataType | None]] = [
    ("TINYINT", pa.int8(), None),
    ("SMALLINT", pa.int16(), None),
    ("MEDIUMINT", pa.int32(), None),
    ("INT", pa.int32(), None),
    ("BIGINT", pa.int64(), None),
    ("TINYINT UNSIGNED", pa.uint8(), pa.int16()),
    ("SMALLINT UNSIGNED", pa.uint16(), pa.int32()),
    ("MEDIUMINT UNSIGNED", pa.uint32(), pa.int32()),
    ("INT UNSIGNED", pa.uint32(), pa.int64()),
    ("BIGINT UNSIGNED", pa.uint64(), pa.decimal128(20, 0)),
    ("BOOLEAN", pa.int8(), None),
    ("FLOAT", pa.float32(), None),
    ("DOUBLE", pa.float64(), None),
    ("DECIMAL(10,2)", pa.decimal128(10, 2), None),
    ("DECIMAL(38,30)", pa.decimal128(38, 30), None),
    ("DECIMAL(39,0)", pa.decimal256(39, 0), pa.string()),
    ("DECIMAL(65,30)", pa.decimal256(65, 30), pa.string()),
    ("DATE", pa.date32(), None),
    ("DATETIME", MICROS, None),
    ("DATETIME(6)", MICROS, None),
    ("TIMESTAMP NULL", UTC_MICROS, None),
    ("TIMESTAMP(3) NULL", UTC_MICROS, None),
    ("TIME", pa.duration("us"), pa.int64()),
    ("TIME(6)", pa.duration("us"), pa.int64()),
    ("YEAR", pa.int16(), None),
    ("BIT(1)", pa.bool_(), None),
    ("BIT(63)", pa.uint64(), pa.int64()),
    ("BIT(64)", pa.uint64(), pa.decimal128(20, 0)),
    ("CHAR(10)", pa.string(), None),
    ("VARCHAR(300) CHARACTER SET latin1", pa.string(), None),
    ("MEDIUMTEXT", pa.string(), None),
    ("BINARY(3)", pa.binary(), None),
    ("VARBINARY(300)", pa.binary(), None),
    ("LONGBLOB", pa.binary(), None),
    ("ENUM('a', 'b')", WORDS, pa.string()),
    ("SET('a', 'b')", pa.string(), None),
    ("JSON", pa.string(), None),
    ("POINT", pa.binary(), None),
    ("GEOMETRY", pa.binary(), None),
]
# (MariaDB's log shows a VECTOR as a VARBINARY: they cannot be distinguished.)
VECTORS: dict[str, pa.DataType] = {
    "mysql": pa.list_(pa.float32()),
    "mariadb-11.8": pa.binary(),
}


@pytest.mark.parametrize("profile", ["native", "spark"])
def test_types(server: Server, profile: str) -> None:
    types = [*TYPES]
    if server.flavor in VECTORS:
        types.append(("VECTOR(3)", VECTORS[server.flavor], None))
    columns = ", ".join(f"c{number} {sql}" for number, (sql, _, _) in enumerate(types))
    with database(server, "types", f"CREATE TABLE t (id INT PRIMARY KEY, {columns})"):
        files = logged(server, "INSERT INTO t (id) VALUES (1)")

    paths = [str(path) for path in files]
    schema = binarrow.infer_schema(paths, "types.t", types=profile)
    for number, (sql, native, spark) in enumerate(types):
        expected = spark if profile == "spark" and spark is not None else native
        field = schema.field(f"c{number}")
        found = field.type
        if isinstance(found, pa.BaseExtensionType):  # arrow.json, where pyarrow knows it
            found = found.storage_type
        if pa.types.is_list(found):  # whatever its item is called
            found = pa.list_(found.value_type)
        assert found == expected, sql
        assert field.nullable
    [batch] = read(files, "types.t", types=profile)
    assert batch.schema.equals(schema, check_metadata=True)
    [row] = batch.to_pyarrow().to_pylist()
    assert {row[f"c{number}"] for number in range(len(types))} == {None}
