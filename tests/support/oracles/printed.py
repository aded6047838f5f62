"""Cells as `mysqlbinlog -vv` prints them.

Both tools print what is stored, by its type alone: the bytes of a text as they are, members of an
ENUM by their numbers, integers as if signed.
"""

from __future__ import annotations

import ipaddress
import json
import re
import struct
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

from support.oracles.cells import Cell

BITS = {"TINYINT": 8, "SHORTINT": 16, "MEDIUMINT": 24, "INT": 32, "LONGINT": 64}
EPOCH = datetime(1970, 1, 1)
MEMBER = re.compile(r"'((?:[^']|'')*)'")

# MariaDB's types of which the tool prints the bytes.
PACKED: dict[str, Callable[[str], bytes]] = {
    "UUID": lambda shown: uuid.UUID(shown).bytes,
    "INET4": lambda shown: ipaddress.IPv4Address(shown).packed,
    "INET6": lambda shown: ipaddress.IPv6Address(shown).packed,
}

# The escape of a byte, by its number.
MARIADB_ESCAPES = {byte: f"\\x{byte:02x}" for byte in range(0x20)}
MYSQL_ESCAPES = {
    **MARIADB_ESCAPES,
    **{ord(byte): f"\\{shown}" for byte, shown in zip("\b\f\t\n\r\\'", "bftnr\\'", strict=True)},
}


class NotPrintedError(Exception):
    """The tool prints something that the cell alone does not show."""


def shown(cell: Cell, kind: str, definition: str, escapes: dict[int, str]) -> str:
    """`kind` is the type that the tool prints after the value, `definition` the column's in SQL."""
    if cell is None:
        return "NULL"
    word, _, size = kind.partition("(")
    if word in BITS:
        return _integer(cell, BITS[word])
    if word in FORMS:
        return FORMS[word](cell, size)
    if word == "ENUM":
        return str(cell if isinstance(cell, int) else _members(definition).index(cell) + 1)
    if word == "SET":
        bits = cell if isinstance(cell, int) else _bits(cell, _members(definition))
        stored = bits.to_bytes(int(size.split()[0]), "little")  # and printed byte by byte
        return f"b'{''.join(f'{byte:08b}' for byte in stored)}'"
    if "COMPRESSED" in kind:
        raise NotPrintedError
    if word == "JSON" and cell.startswith('"'):
        cell = json.loads(cell)  # a string alone comes without its own quotes
    content = cell.encode() if isinstance(cell, str) else cell
    if definition in PACKED:
        content = PACKED[definition](cell) if isinstance(cell, str) else cell
    is_text = definition.startswith(("CHAR", "NATIONAL CHAR")) and "BYTE" not in definition
    if word == "STRING" and not is_text:
        content = content.rstrip(b"\0")  # the server leaves out the zeros that fill a BINARY(n)
    return f"'{quoted(content, escapes)}'"


def quoted(content: bytes, escapes: dict[int, str]) -> str:
    """Bytes as the tool prints them; those that are not UTF-8 as `Server.mysqlbinlog` returns them."""
    escaped = content.decode("latin-1").translate(escapes).encode("latin-1")
    return escaped.decode(errors="backslashreplace")


def _integer(number: int, bits: int) -> str:
    unsigned = number % (1 << bits)
    signed = unsigned - (1 << bits) if unsigned >> (bits - 1) else unsigned
    return f"{signed} ({unsigned})" if signed < 0 else str(signed)


def _members(definition: str) -> list[str]:
    return [word.replace("''", "'").replace("\\\\", "\\") for word in MEMBER.findall(definition)]


def _bits(words: str, members: list[str]) -> int:
    return sum(1 << members.index(word) for word in words.split(",")) if words else 0


def _number(cell: bytes) -> float:
    [number] = struct.unpack(">d", cell)
    return float(number)


def _float(cell: bytes, _size: str) -> str:
    return f"{_number(cell):g}"


def _double(cell: bytes, _size: str) -> str:
    return f"{_number(cell):.20g}"


def _decimal(cell: Decimal, _size: str) -> str:
    return f"{cell:f}"


def _bit(cell: int, size: str) -> str:
    return f"b'{int(cell):0{int(size.rstrip(')'))}b}'"


def _year(cell: int, _size: str) -> str:
    return str(cell or 1900)


def _date(cell: int, _size: str) -> str:
    day = date.fromordinal(cell)
    return f"'{day.year:04}:{day:%m:%d}'"


def _fraction(micros: int, size: str) -> str:
    fsp = int(size.rstrip(")") or 0)
    return f".{micros:06}"[: fsp + 1] if fsp else ""


def _time(cell: int, size: str) -> str:
    if not size and cell < 0:
        raise NotPrintedError  # of the old form the tool prints the digits of the bytes without their sign
    seconds, micros = divmod(abs(cell), 1_000_000)
    hours, seconds = divmod(seconds, 3600)
    clock = f"{hours:02}:{seconds // 60:02}:{seconds % 60:02}{_fraction(micros, size)}"
    return f"'{'-' if cell < 0 else ''}{clock}'"


def _datetime(cell: int, size: str) -> str:
    moment = EPOCH + timedelta(microseconds=cell)
    text = f"{moment.year:04}-{moment:%m-%d %H:%M:%S}{_fraction(moment.microsecond, size)}"
    return f"'{text}'" if size else text


def _timestamp(cell: int, size: str) -> str:
    seconds, micros = divmod(cell, 1_000_000)
    return f"{seconds}{_fraction(micros, size)}"


def _vector(cell: bytes, _size: str) -> str:
    numbers = struct.unpack(f"<{len(cell) // 4}f", cell)
    return f"[{','.join(f'{number:.5e}' for number in numbers)}]"


FORMS: dict[str, Callable[[Cell, str], str]] = {
    "FLOAT": _float,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "BIT": _bit,
    "YEAR": _year,
    "DATE": _date,
    "TIME": _time,
    "DATETIME": _datetime,
    "TIMESTAMP": _timestamp,
    "VECTOR": _vector,
}
