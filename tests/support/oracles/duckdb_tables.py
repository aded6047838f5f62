"""The rows of a table on a server and in a DuckDB file, in one form. binarrow reads neither."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from support.servers.servers import Server, Session

Rows = Counter[tuple[tuple[str, str], ...]]


def normal(value: Any) -> str:
    """A value as text: equal for equal values of a server's driver and of DuckDB's."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(int(value))
        case float():
            return repr(value)
        case Decimal():
            return without_zeros(format(value, "f"))
        case bytes() | bytearray():
            return "x" + bytes(value).hex()
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat()
        case dt.timedelta():
            return f"{value // dt.timedelta(microseconds=1)}us"
        case str() if NUMBER.fullmatch(value):  # a DECIMAL that is text in the target
            return without_zeros(value)
        case str() if NO_DATE.fullmatch(value):  # the driver cannot make it a date
            return "NULL"
        case _:
            return str(value)


NO_DATE = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?)?")
NUMBER = re.compile(r"-?\d+\.\d+")


def without_zeros(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def rows_of(names: list[str], rows: list[tuple[Any, ...]]) -> Rows:
    return Counter(
        tuple(sorted((name.lower(), normal(cell)) for name, cell in zip(names, row, strict=True)))
        for row in rows
    )


def read_source(server: Server, table: str, times: str = "interval") -> Rows:
    """The rows that SELECT returns. TIME may be an integer, of microseconds."""
    database, _, name = table.partition(".")
    with closing(Session(server, init_command="SET time_zone = '+00:00'")) as session:
        listed = session.query(
            "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS"
            f" WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = '{name}'"
            + (" AND IS_GENERATED = 'NEVER'" if server.is_mariadb else "")
            + " ORDER BY ORDINAL_POSITION"
        )
        bits = {one for one, kind in listed if kind == "bit"}
        selected = ", ".join(f"`{one}` + 0" if one in bits else f"`{one}`" for one, _ in listed)
        rows = session.query(f"SELECT {selected} FROM `{database}`.`{name}`")
    if times == "integer":
        rows = [tuple(map(microseconds, row)) for row in rows]
    return rows_of([one for one, _ in listed], rows)


def read_target(file: Path, table: str, where: str = "TRUE") -> Rows:
    """The rows that DuckDB returns."""
    database, _, name = table.partition(".")
    with closing(duckdb.connect(str(file), read_only=True)) as target:
        target.execute("SET TimeZone = 'UTC'")
        relation = target.execute(f'SELECT * FROM "{database}"."{name}" WHERE {where}')
        names = [one[0] for one in relation.description or ()]
        return rows_of(names, relation.fetchall())


def read_parquet(folder: Path, table: str) -> Rows:
    """The rows of the Parquet files of a table that DuckDB returns."""
    database, _, name = table.partition(".")
    files = folder / database / name / "*.parquet"
    with closing(duckdb.connect()) as session:
        session.execute("SET TimeZone = 'UTC'")
        relation = session.execute(f"SELECT * FROM read_parquet('{files}', union_by_name = true)")
        names = [one[0] for one in relation.description or ()]
        return rows_of(names, relation.fetchall())


def microseconds(cell: Any) -> Any:
    return cell // dt.timedelta(microseconds=1) if isinstance(cell, dt.timedelta) else cell


def differences(found: Rows, wanted: Rows) -> list[tuple[object, ...]]:
    """Some cells that differ, for a failure's message."""
    only = (sorted((found - wanted).elements()), sorted((wanted - found).elements()))
    cells = [
        (one, other)
        for a, b in zip(*only, strict=False)
        for one, other in zip(a, b, strict=False)
        if one != other
    ]
    return cells[:9] or [(len(found), len(wanted))]
