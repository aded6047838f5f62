"""The current rows of a server, exactly: the other side of the comparison.

Every column is selected in a form that loses nothing, and becomes the same plain value that
`cells.py` makes of an Arrow cell. This module knows nothing of binarrow.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from support.oracles.cells import Cell, double
from support.servers.servers import Server, Session
from support.workloads.table import quote

EPOCH = datetime(1970, 1, 1)
SRID_FLAG = 0x2000_0000

TIME_PATTERN = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?")


@dataclass(frozen=True)
class Column:
    """A column as the server describes it."""

    name: str
    data_type: str
    charset: str | None
    precision: int
    as_bytes: bool  # text of which the bytes are compared
    written_out: bool = False  # MariaDB's UUID and addresses as text

    @property
    def expression(self) -> str:
        """SQL that shows its value without loss."""
        name = quote(self.name)
        return self._form[0].format(name)

    @property
    def value(self) -> Callable[[Any], Cell]:
        """Makes a plain value of what the expression gives."""
        return self._form[1]

    @property
    def _form(self) -> tuple[str, Callable[[Any], Cell]]:
        if self.charset is not None and self.as_bytes:
            return "HEX({})", bytes.fromhex
        if self.written_out and self.data_type in WRITTEN_OUT:
            return WRITTEN
        return FORMS.get(self.data_type, TEXT if self.charset else BYTES)


@dataclass(frozen=True)
class Selected:
    """The rows of one table."""

    columns: list[Column]
    rows: list[tuple[Cell, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def select(
    server: Server, table: str, *, text_as_bytes: bool = False, written_out: bool = False
) -> Selected:
    """All rows of `database.table`, those of its history too, with its generated and invisible columns."""
    database, name = table.split(".", 1)
    session = server.connect(conv={**_conversions()})
    try:
        session.execute("SET SESSION time_zone = '+00:00', sql_mode = ''")
        if server.flavor == "mysql":
            session.execute("SET SESSION show_gipk_in_create_table_and_information_schema = ON")
        columns = [
            replace(column, written_out=written_out)
            for column in describe(session, database, name, text_as_bytes=text_as_bytes)
        ]
        if server.is_mariadb:
            columns += hidden_period(session, database, name)
        shown = ", ".join(column.expression for column in columns)
        values = [column.value for column in columns]
        place = f"{quote(database)}.{quote(name)}"
        if server.is_mariadb and is_versioned(session, database, name):
            place += " FOR SYSTEM_TIME ALL"
        rows = [
            tuple(
                None if cell is None else value(cell)
                for value, cell in zip(values, row, strict=True)
            )
            for row in session.query(f"SELECT {shown} FROM {place}")
        ]
    finally:
        session.close()
    return Selected(columns, rows)


def describe(
    session: Session, database: str, table: str, *, text_as_bytes: bool = False
) -> list[Column]:
    return [
        Column(name, kind.lower(), charset, int(precision or 0), text_as_bytes)
        for name, kind, charset, precision in session.query(
            "SELECT column_name, data_type, character_set_name, numeric_precision"
            " FROM information_schema.columns"
            f" WHERE table_schema = {text(database)} AND table_name = {text(table)}"
            " ORDER BY ordinal_position"
        )
    ]


def is_versioned(session: Session, database: str, table: str) -> bool:
    """True if MariaDB keeps the table's old rows."""
    [(kind,)] = session.query(
        "SELECT table_type FROM information_schema.tables"
        f" WHERE table_schema = {text(database)} AND table_name = {text(table)}"
    )
    return bool(kind == "SYSTEM VERSIONED")


def hidden_period(session: Session, database: str, table: str) -> list[Column]:
    """The columns for which a versioned table has no names of its own."""
    [(named,)] = session.query(
        "SELECT COUNT(*) FROM information_schema.columns WHERE generation_expression = 'ROW START'"
        f" AND table_schema = {text(database)} AND table_name = {text(table)}"
    )
    if named or not is_versioned(session, database, table):
        return []
    return [Column(name, "timestamp", None, 0, as_bytes=False) for name in ("row_start", "row_end")]


def text(value: str) -> str:
    """A string as SQL."""
    return f"_utf8mb4 X'{value.encode().hex()}'"


def moment(shown: str) -> int:
    """Microseconds since 1970."""
    difference = datetime.fromisoformat(shown) - EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds


def duration(shown: str) -> int:
    """Microseconds."""
    found = TIME_PATTERN.fullmatch(shown)
    assert found, shown
    sign, hours, minutes, seconds, fraction = found.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int((fraction or "0").ljust(6, "0"))
    return -micros if sign else micros


def ewkb(stored: str) -> bytes:
    """A geometry as stored (SRID, then WKB) in the form that PostGIS made known."""
    content = bytes.fromhex(stored)
    [srid, order, kind] = struct.unpack_from("<IBI", content)
    assert order == 1
    if srid == 0:
        return content[4:]
    return struct.pack("<BII", 1, kind | SRID_FLAG, srid) + content[9:]


def unhex_text(shown: str) -> str:
    return bytes.fromhex(shown).decode()


def _conversions() -> dict[int, Callable[[str], Any]]:
    """PyMySQL's own, for numbers alone: everything else is selected as text."""
    from pymysql.constants import FIELD_TYPE as F

    integers = (F.TINY, F.SHORT, F.INT24, F.LONG, F.LONGLONG, F.YEAR)
    return {
        **dict.fromkeys(integers, int),
        **dict.fromkeys((F.FLOAT, F.DOUBLE), float),
        **dict.fromkeys((F.DECIMAL, F.NEWDECIMAL), Decimal),
    }


def _same(value: Any) -> Cell:
    return value


NUMBER = ("{}", _same)
FLOAT = ("{} * 1e0", double)  # a FLOAT itself is shown with six digits
TEXT = ("HEX(CONVERT({} USING utf8mb4))", unhex_text)
BYTES = ("HEX({})", bytes.fromhex)
WRITTEN_OUT = ("uuid", "inet4", "inet6")
WRITTEN = ("HEX(CONVERT(CAST({} AS CHAR) USING utf8mb4))", unhex_text)
MOMENT = ("CAST({} AS CHAR)", moment)

FORMS: dict[str, tuple[str, Callable[[Any], Cell]]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "decimal"), NUMBER),
    **dict.fromkeys(("float", "double"), FLOAT),
    "bit": ("{} + 0", _same),
    "year": ("{} + 0", int),
    "date": ("CAST({} AS CHAR)", lambda shown: date.fromisoformat(shown).toordinal()),
    "datetime": MOMENT,
    "timestamp": MOMENT,
    "time": ("CAST({} AS CHAR)", duration),
    "json": WRITTEN,
    **dict.fromkeys(
        ("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring")
        + ("multipolygon", "geomcollection", "geometrycollection"),
        ("HEX({})", ewkb),
    ),
    "vector": BYTES,
    **dict.fromkeys(("enum", "set"), TEXT),  # the words of one in the charset `binary` too
}
