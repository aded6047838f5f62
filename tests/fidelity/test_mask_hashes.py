"""`mask=`: the hash of every type's values is that of the text that the server prints."""

from __future__ import annotations

import hmac
import random
import struct
from decimal import Decimal

import pytest

from support.logged import database, logged, read, rows
from support.servers.servers import Server
from support.workloads.table import Table, quote
from support.workloads.type_tables import mariadb_types, type_tables, zero_table

SALT = "pëpper"

NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "double")
WRITTEN = ("date", "datetime", "timestamp", "time", "year", "enum", "set", "json", "uuid")
ADDRESSES = ("inet4", "inet6")
TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")


def hashed(value: bytes) -> str:
    return hmac.new(SALT.encode(), value, "sha256").hexdigest()


def shown(name: str, kind: str) -> str:
    """SQL for the bytes that are hashed, in hexadecimal."""
    if kind in NUMBERS + WRITTEN + ADDRESSES:
        return f"HEX(CONVERT(CAST({name} AS CHAR) USING utf8mb4))"
    if kind in TEXTS:
        return f"HEX(CONVERT({name} USING utf8mb4))"
    if kind == "bit":
        return f"HEX(CAST({name} + 0 AS CHAR))"
    if kind == "float":  # of which servers print 6 digits only
        return f"HEX(CAST(CAST({name} AS DOUBLE) AS CHAR))"
    return f"HEX({name})"


def single(printed: bytes) -> bytes:
    """A FLOAT with the fewest digits that give it back, in the notation of a DOUBLE."""
    value = float(printed)
    packed = struct.pack("f", value)
    short = next(
        text
        for digits in range(1, 10)
        if struct.pack("f", float(text := f"{value:.{digits}g}")) == packed
    )
    sign, digits, exponent = Decimal(short).normalize().as_tuple()
    assert isinstance(exponent, int)
    point = len(digits) + exponent
    if value == int(value) and abs(value) < 1e15:
        text = str(abs(int(value)))
    elif point < -14 or point > 15 >= len(digits):
        mantissa = "".join(map(str, digits))
        mantissa = mantissa if len(digits) == 1 else f"{mantissa[0]}.{mantissa[1:]}"
        text = f"{mantissa}e{point - 1}"
    else:
        text = f"{abs(Decimal(short)):f}"
    return f"{'-' if sign or packed == struct.pack('f', -0.0) else ''}{text}".encode()


def expected(server: Server, table: Table) -> list[tuple[str | None, ...]]:
    session = server.connect()
    try:
        session.execute("SET SESSION time_zone = '+00:00', sql_mode = ''", "USE masks")
        columns = session.query(
            "SELECT column_name, data_type FROM information_schema.columns"
            f" WHERE table_schema = 'masks' AND table_name = '{table.name}'"
            " ORDER BY ordinal_position"
        )
        kinds = [kind.lower() for _, kind in columns]
        cells = ", ".join(
            shown(quote(name), kind) for (name, _), kind in zip(columns, kinds, strict=True)
        )
        found = session.query(f"SELECT {cells} FROM {table.sql_name} ORDER BY id")
    finally:
        session.close()

    def cell(kind: str, text: str | None) -> str | None:
        if text is None:
            return None
        value = bytes.fromhex(text)
        return hashed(single(value) if kind == "float" else value)

    return [tuple(map(cell, kinds, row)) for row in found]


@pytest.mark.filterwarnings("ignore:schemas.*member")
def test_every_type_is_hashed_as_the_server_prints_it(server: Server) -> None:
    rng = random.Random(20)
    tables = [*type_tables(server.flavor), zero_table()]
    if server.is_mariadb:
        tables += mariadb_types(server.flavor)
    mode = "SET SESSION sql_mode = '', time_zone = '+00:00'"
    with database(server, "masks", mode, *(table.create() for table in tables)):
        # One row an INSERT: the server's limit of a packet is near for the long ones.
        files = logged(server, *(table.insert(rng) for table in tables for _ in range(12)))
        structures = {
            f"masks.{table.name}": server.query(f"SHOW CREATE TABLE {table.sql_name}")[0][1]
            for table in tables
        }
        compared = 0
        for table in tables:
            wanted = expected(server, table)
            for types in ("native", "spark"):
                found = rows(
                    files,
                    f"masks.{table.name}",
                    schemas=structures,
                    types=types,
                    mask={"masks.*.*": "sha256"},
                    mask_salt=SALT,
                )
                for row, (kind, *cells) in zip(wanted, found, strict=True):
                    assert kind == "insert"
                    for column, want, cell in zip(table.columns, row[1:], cells[1:], strict=True):
                        assert want == cell, (table.name, column.definition)
                        compared += cell is not None
        server.execute("SET SESSION sql_mode = DEFAULT")
    assert compared > 8000


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_a_masked_key_still_tells_rows_apart(server: Server, image: str) -> None:
    create = "CREATE TABLE t (email VARCHAR(40) PRIMARY KEY, name VARCHAR(40), n INT)"
    with database(server, "masks", create, f"SET SESSION binlog_row_image = '{image}'"):
        files = logged(
            server,
            "INSERT INTO t VALUES ('a@x', 'Ann', 1)",
            "UPDATE t SET n = 2",
            "UPDATE t SET email = 'A@x'",
            "DELETE FROM t",
        )
        server.execute("SET SESSION binlog_row_image = FULL")
    mask = {"masks.t.name": "null", "masks.t.email": "sha256"}
    old, new = hashed(b"a@x"), hashed(b"A@x")
    found = rows(files, "masks.t", mask=mask, mask_salt=SALT.encode())
    if image == "FULL":
        assert found == [
            ("insert", old, None, 1),
            ("update_preimage", old, None, 1),
            ("update_postimage", old, None, 2),
            ("delete", old, None, 2),
            ("insert", new, None, 2),
            ("delete", new, None, 2),
        ]
    else:
        assert found == [
            ("insert", old, None, 1),
            ("update_preimage", old, None, None),
            ("update_postimage", None, None, 2),
            ("update_preimage", old, None, None),
            ("update_postimage", new, None, None),
            ("delete", new, None, None),
        ]
    schema = read(files, "masks.t", mask=mask, mask_salt=SALT).table("masks.t").schema
    assert [str(schema.field(name).type) for name in ("email", "name", "n")] == [
        "string",
        "string",
        "int32",
    ]
