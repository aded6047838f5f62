"""Random JSON documents as SQL expressions: what JSON text can say, and what only functions can.

documents(random.Random(1), 10) -> ["_utf8mb4 0x7b7d", "JSON_ARRAY(CAST(1.5 AS DECIMAL(3,1)))", ...]
"""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 100
"""The server refuses deeper documents."""

LONGEST_KEY = 65_535

SOURCE_COLUMNS = (
    "i TINYINT",
    "b BIGINT UNSIGNED",
    "f FLOAT",
    "n DECIMAL(65,30)",
    "y YEAR",
    "d DATE",
    "t TIME(6)",
    "dt DATETIME(3)",
    "ts TIMESTAMP(6) NULL",
    "bits BIT(13)",
    "v VARCHAR(40)",
    "l VARCHAR(40) CHARACTER SET latin1",
    "fixed BINARY(5)",
    "vb VARBINARY(300)",
    "tb TINYBLOB",
    "bl BLOB",
    "mb MEDIUMBLOB",
    "lb LONGBLOB",
    "e ENUM('a', 'ü', 'x y')",
    "s SET('a', 'b', 'c')",
    "g GEOMETRY",
)
"""A table whose columns go into documents as opaque values."""


def source_row(rng: random.Random) -> str:
    """A row of values for `SOURCE_COLUMNS`; sql_mode is to be empty."""

    def blob() -> str:
        return _hex(rng.randbytes(rng.choice((0, 1, 2, 3, 56, 57, 58, 114, 255))))

    values = (
        rng.randint(-128, 127),
        rng.choice((0, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, rng.getrandbits(64))),
        repr(struct.unpack("<f", struct.pack("<f", rng.uniform(-1e6, 1e6)))[0]),
        _decimal(rng, 35, 30),
        rng.choice((0, 1901, 2155, 2024)),
        f"'{_date(rng)}'",
        f"'{_time(rng)}'",
        f"'{_date(rng)} {_clock(rng)}'",
        rng.choice(("NULL", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.999999'", "0")),
        rng.getrandbits(13),
        _text(_string(rng)[:40]),
        _text(rng.choice(("", "café", "plain"))),
        _hex(rng.randbytes(rng.randint(0, 5))),
        blob(),
        blob(),
        blob(),
        blob(),
        blob(),
        rng.choice(("'a'", "'ü'", "'x y'", "''", "NULL")),
        rng.choice(("'a,c'", "''", "'a,b,c'", "NULL")),
        rng.choice(
            ("ST_GeomFromText('POINT(1.5 -2)')", "ST_GeomFromText('LINESTRING(0 0,1 2)', 4326)")
        ),
    )
    return f"({', '.join(str(value) for value in values)})"


def documents(rng: random.Random, count: int) -> list[str]:
    """So many documents, each an SQL expression for a JSON column."""
    found = plain_documents(rng, count * 4 // 5)
    makers = (lambda rng: _typed(rng, rng.randint(0, 4)), _deep_typed)
    return found + [make(rng) for make in rng.choices(makers, (15, 1), k=count - len(found))]


def plain_documents(rng: random.Random, count: int) -> list[str]:
    """Documents that JSON text can say."""
    found = [_json("\0"), _json({"": {"": ""}}), _json([]), _json({}), _json(None)]
    found += [_json(every) for every in ("".join(map(chr, range(0x80))), chr(0x10FFFF))]
    found += [_json({chr(code) + '"': chr(code)}) for code in (*range(0x20), 0x22, 0x5C, 0x7F)]
    found += [_large(rng) for _ in range(12)]
    found += [_json({"k" * LONGEST_KEY: 1, "k" * (LONGEST_KEY - 1): [2]})]
    kinds: tuple[tuple[int, Callable[[random.Random], str]], ...] = (
        (40, lambda rng: _json(_value(rng, rng.randint(0, 6)))),
        (10, _numbers),
        (8, _wide),
        (5, _deep),
    )
    weights = [weight for weight, _ in kinds]
    chosen = rng.choices([make for _, make in kinds], weights, k=count - len(found))
    return found + [make(rng) for make in chosen]


# ------------------------------------------------------------------------- what JSON text can say


def _value(rng: random.Random, depth: int) -> Any:
    if depth > 0 and rng.random() < 0.6:
        size = rng.choice((0, 1, 2, 3, 5, 8))
        if rng.random() < 0.5:
            return [_value(rng, depth - 1) for _ in range(size)]
        return {_key(rng): _value(rng, depth - 1) for _ in range(size)}
    return rng.choice((_integer, _double, _string, _literal))(rng)


def _literal(rng: random.Random) -> bool | None:
    return rng.choice((None, True, False))


def _integer(rng: random.Random) -> int:
    edges = (0, 2**7, 2**15, 2**16, 2**31, 2**32, 2**53, 2**63)
    if rng.random() < 0.5:
        return min(
            max(rng.choice((-1, 1)) * rng.choice(edges) + rng.randint(-2, 2), -(2**63)), 2**64
        )
    return rng.randint(-(1 << rng.randint(1, 63)), 1 << rng.randint(1, 64))


def _double(rng: random.Random) -> float:
    """Any bits, numbers in the middle between two short forms, denormals, and plain ones."""
    way = rng.randrange(6)
    if way == 0:
        number: float = struct.unpack("<d", rng.randbytes(8))[0]
        return number if math.isfinite(number) else 0.0
    if way == 1:
        return rng.getrandbits(53) / 2 ** rng.randint(1, 30)
    if way == 2:
        return rng.choice((-1, 1)) * rng.getrandbits(rng.randint(1, 52)) * 5e-324
    if way == 3:
        return rng.choice((-1, 1)) * math.ldexp(1, rng.randint(-1074, 1023))
    if way == 4:
        return rng.randint(1, 10**17) * 10.0 ** rng.randint(-34, 20)
    return rng.choice((0.0, -0.0, 1e15, 1e16, 1e-15, 1e-14, 0.1, 1.7976931348623157e308))


def _string(rng: random.Random) -> str:
    alphabet = rng.choice(("ab", '"\\/\b\f\n\r\t\0\x01\x1f\x7f', "aé€😀\u2028", "x"))
    size = rng.choice((0, 1, 2, 7, 15, 16, 17, 63, 64, 127, 128, 200))
    return "".join(rng.choice(alphabet) for _ in range(size))


def _key(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return _string(rng)
    return rng.choice("abcdeü😀") * rng.randint(0, 3) + str(rng.randint(0, 9))


def _numbers(rng: random.Random) -> str:
    return _json([rng.choice((_double, _integer))(rng) for _ in range(30)])


def _wide(rng: random.Random) -> str:
    size = rng.choice((100, 255, 256, 257, 400))
    if rng.random() < 0.5:
        return _json({f"{_key(rng)}{number}": _integer(rng) for number in range(size)})
    return _json([_integer(rng) for _ in range(size)])


def _deep(rng: random.Random) -> str:
    value: Any = _value(rng, 0)
    for _ in range(rng.choice((50, 98, MAX_DEPTH, MAX_DEPTH))):
        value = [value] if rng.random() < 0.5 else {_key(rng): value}
    return _json(value)


def _large(rng: random.Random) -> str:
    """Containers of more than 64 KiB, with small ones in them; or just less than that."""
    value = {f"{_key(rng)}{number}": _value(rng, 2) for number in range(300)}
    pad = "p" * rng.randint(60_000, 70_000)
    return _json(rng.choice(({**value, "pad": pad}, [value, pad], {"a": [1, 100_000, pad, value]})))


# ---------------------------------------------------------------------- what only functions can say


def _typed(rng: random.Random, depth: int) -> str:
    if depth > 0:
        parts = [_typed(rng, depth - 1) for _ in range(rng.randint(0, 4))]
        if rng.random() < 0.5:
            return f"JSON_ARRAY({', '.join(parts)})"
        # The later of two equal keys would win.
        pairs = (f"{_text(_key(rng) + str(place))}, {part}" for place, part in enumerate(parts))
        return f"JSON_OBJECT({', '.join(pairs)})"
    return f"JSON_EXTRACT(JSON_ARRAY({_scalar(rng)}), '$[0]')"


def _scalar(rng: random.Random) -> str:
    return rng.choice(SCALARS)(rng)


def _exact(rng: random.Random) -> str:
    precision = rng.randint(1, 65)
    scale = rng.randint(max(0, precision - 35), min(30, precision))
    return f"CAST({_decimal(rng, precision - scale, scale)} AS DECIMAL({precision},{scale}))"


SCALARS: tuple[Callable[[random.Random], str], ...] = (
    _exact,
    lambda rng: (
        f"{rng.choice(('', '-'))}{rng.randint(0, 10 ** rng.randint(1, 30))}.{rng.randint(0, 10**9)}"
    ),
    lambda rng: f"CAST('{_date(rng)}' AS DATE)",
    lambda rng: f"CAST('{_time(rng)}' AS TIME({rng.randint(0, 6)}))",
    lambda rng: f"CAST('{_date(rng)} {_clock(rng)}' AS DATETIME({rng.randint(0, 6)}))",
    lambda rng: f"CAST({_hex(rng.randbytes(rng.choice((0, 1, 2, 3, 57, 58, 300))))} AS BINARY)",
    lambda rng: f"{_double(rng):.17e}",
    lambda rng: f"b'{rng.getrandbits(20):b}'",
    lambda rng: _text(_string(rng)),
)
"""Literals of each type."""


def _deep_typed(rng: random.Random) -> str:
    """An opaque value inside of the most containers."""
    depth = MAX_DEPTH
    shell = "[" * depth + "0" + "]" * depth
    return f"JSON_SET(CAST('{shell}' AS JSON), '${'[0]' * depth}', {_scalar(rng)})"


def _decimal(rng: random.Random, integer: int, fraction: int) -> str:
    digits = "".join(rng.choice("0000123456789") for _ in range(integer + fraction))
    digits = rng.choice((digits, "9" * len(digits), "0" * len(digits)))
    sign = rng.choice(("", "-"))
    return f"'{sign}{digits[:integer] or '0'}.{digits[integer:] or '0'}'"


def _date(rng: random.Random) -> str:
    if rng.random() < 0.3:
        edges = ("0000-00-00", "0000-01-01", "1000-01-01", "9999-12-31", "2015-00-21", "2015-05-00")
        return rng.choice(edges)
    return f"{rng.randint(1, 9999):04}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _clock(rng: random.Random) -> str:
    second = f"{rng.randint(0, 59):02}.{rng.choice((0, 1, 999_999, rng.randint(0, 999_999))):06}"
    return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{second}"


def _time(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(("838:59:59", "-838:59:59", "00:00:00", "-00:00:00.000001"))
    return f"{rng.choice(('', '-'))}{rng.randint(0, 837)}:{_clock(rng)[3:]}"


# -------------------------------------------------------------------------------------- SQL literals


def _json(value: Any) -> str:
    return f"_utf8mb4 {_hex(json.dumps(value, ensure_ascii=False).encode())}"


def _text(value: str) -> str:
    return f"_utf8mb4 {_hex(value.encode())}" if value else "''"


def _hex(data: bytes) -> str:
    return f"x'{data.hex()}'"
