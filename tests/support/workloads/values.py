"""Random values of every column type, as SQL expressions.

Each function here takes what is particular to a column type and gives a `Value`: a function that
draws one SQL expression from a random generator. Boundary values come up far more often than
chance would have it. All values fit their columns in strict mode.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

Value = Callable[[random.Random], str]

ASCII = "".join(map(chr, range(0x20, 0x7F))) + "\t\n\0"
LATIN1 = ASCII + "éèüßñÆØåÿ¡¿½€‰Œž"  # MySQL's latin1 is Windows-1252
BMP = LATIN1 + "αβγДЖЯשלוםمرحبا中文字漢字かなカナ한국어\u200d\ufeff\uffff\u2028"
UNICODE = BMP + "🎉🦊👨‍👩‍👧🇩🇪𝔘𠜎\U0010ffff"

# Characters of many scripts, to see what a charset can store.
SAMPLE = (
    "AZaz09~\\`|$é¡ÿßŁőşğıåøłžŐ€™…ĄęāģĪųΑβγδώЖдщъЯѓїשלםمرحبپچ١ไทยกขაბგԱաԲ—“”№░╬█§¶"
    "中文字漢語体國中あいカナガ｡ｱﾝ한국어가힣，。、「」〜～￥¥‾∥−㈱①Ⅳ纊琦堯槇龘𠜎🎉"
)

# The text column types' charsets, with characters that they can store.
CHARSETS = {"ascii": ASCII, "latin1": LATIN1, "utf8mb3": BMP, "utf8mb4": UNICODE}


def one_of(*expressions: str) -> Value:
    return lambda rng: rng.choice(expressions)


def integer(bits: int, *, unsigned: bool = False) -> Value:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    edges = [low, low + 1, 0, 1, high - 1, high, 2 ** (bits - 1) - 1]
    if unsigned:
        edges += [2 ** (bits - 1), 2 ** (bits - 1) + 1]
        edges += [edge for edge in (3_916_586_877,) if edge <= high]
    else:
        edges += [-1]

    def draw(rng: random.Random) -> str:
        return str(rng.choice(edges) if rng.random() < 0.5 else rng.randint(low, high))

    return draw


def decimal(precision: int, scale: int, *, unsigned: bool = False) -> Value:
    def draw(rng: random.Random) -> str:
        digits = "".join(rng.choices("0123456789", k=precision))
        kind = rng.random()
        if kind < 0.15:
            digits = "9" * precision
        elif kind < 0.3:
            digits = "0" * precision
        elif kind < 0.45:
            digits = digits[: rng.randint(0, precision)].rjust(precision, "0")
        elif kind < 0.55:
            digits = "1".rjust(precision, "0")
        sign = "-" if not unsigned and rng.random() < 0.5 else ""
        whole, fraction = digits[: precision - scale], digits[precision - scale :]
        return f"{sign}{whole or '0'}.{fraction}" if fraction else f"{sign}{whole}"

    return draw


def floating(form: str) -> Value:
    """`form` is that of `struct`: f or d."""
    size, edges = {
        "f": (4, ("1e-45", "1.1754943508222875e-38", "3.4028234663852886e38", "0.1", "16777216")),
        "d": (8, ("5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "0.1", "1e15")),
    }[form]

    def draw(rng: random.Random) -> str:
        if rng.random() < 0.4:
            number = float(rng.choice((*edges, "0", "1", "123.456")))
            number *= rng.choice((1, -1))
        else:
            while True:
                [number] = struct.unpack(form, rng.randbytes(size))
                if abs(number) < float("inf"):
                    break
        text = repr(struct.unpack(form, struct.pack(form, number))[0])
        return text if "e" in text else f"{text}e0"

    return draw


def bit(size: int) -> Value:
    edges = (0, 1, 1 << (size - 1), (1 << size) - 1)

    def draw(rng: random.Random) -> str:
        return str(rng.choice(edges) if rng.random() < 0.5 else rng.getrandbits(size))

    return draw


def year() -> Value:
    def draw(rng: random.Random) -> str:
        return str(rng.choice((0, 1901, 2155, 1970, 2000, rng.randint(1901, 2155))))

    return draw


def date() -> Value:
    def draw(rng: random.Random) -> str:
        edge = rng.choice(("0001-01-01", "9999-12-31", "1969-12-31", "1970-01-01", "2000-02-29"))
        point = _moment(rng, 1, 9999)
        return f"'{edge}'" if rng.random() < 0.4 else f"'{point.year:04}-{point:%m-%d}'"

    return draw


def time(fsp: int) -> Value:
    def draw(rng: random.Random) -> str:
        if rng.random() < 0.3:
            clock, fraction = (
                rng.choice(("838:59:59", "00:00:00", "00:00:01", "100:00:00")),
                "0" * fsp,
            )
        else:
            hour = rng.choice((rng.randint(0, 23), rng.randint(0, 837)))
            clock = f"{hour:02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
            fraction = _fraction(rng, fsp)
        sign = rng.choice(("", "-"))
        return f"'{sign}{clock}.{fraction}'" if fsp else f"'{sign}{clock}'"

    return draw


def datetime_(fsp: int) -> Value:
    return _date_and_time(fsp, 1, 9999, ("0001-01-01 00:00:00", "9999-12-31 23:59:59"))


def timestamp(fsp: int) -> Value:
    """In UTC, up to the year that every server can store."""
    return _date_and_time(fsp, 1970, 2037, ("1970-01-01 00:00:01", "2038-01-19 03:14:07"))


def text(charset: str, limit: int) -> Value:
    """At most `limit` characters, seldom more than a few hundred."""
    characters = CHARSETS[charset]

    def draw(rng: random.Random) -> str:
        size = rng.choice((0, 1, limit if limit <= 300 else 300, rng.randint(0, min(limit, 60))))
        if limit > 5000 and rng.random() < 0.02:
            size = min(limit, rng.choice((5000, 16_000)))
        word = "".join(rng.choices(characters, k=size))
        if word and rng.random() < 0.1:
            word = word[:-1] + " "
        return utf8(word)

    return draw


def text_of(characters: str, limit: int) -> Value:
    """At most `limit` of the given characters."""

    def draw(rng: random.Random) -> str:
        return utf8("".join(rng.choices(characters, k=rng.randint(0, limit))))

    return draw


def binary(limit: int) -> Value:
    def draw(rng: random.Random) -> str:
        size = rng.choice((0, 1, min(limit, 300), rng.randint(0, min(limit, 60))))
        if limit > 65_535 and rng.random() < 0.02:
            size = rng.choice((65_535, 65_536, 70_000))
        content = rng.randbytes(size)
        ending = rng.choice((b"", b"\0", b"\0\0\0", b" ", b"\xff"))
        return f"X'{(content[: max(0, size - len(ending))] + ending)[:size].hex()}'"

    return draw


def member(count: int) -> Value:
    """One of an ENUM's members, by number."""

    def draw(rng: random.Random) -> str:
        return str(rng.choice((1, count, min(count, 256), rng.randint(1, count))))

    return draw


def members(count: int) -> Value:
    """Any of a SET's members, by their bits."""
    return bit(count)


def vector(limit: int, *, largest: float = 3.4e38) -> Value:
    def draw(rng: random.Random) -> str:
        edges = (0.0, -1.5, 1e-45, largest, rng.uniform(-9, 9))
        numbers = [rng.choice(edges) for _ in range(limit)]
        return f"X'{struct.pack(f'<{limit}f', *numbers).hex()}'"

    return draw


# ------------------------------------------------------------------------------------- geometry


def geometry(kind: str, *, srids: Sequence[int]) -> Value:
    """`kind` is the column type; GEOMETRY draws any."""

    def draw(rng: random.Random) -> str:
        wanted = kind
        if wanted == "GEOMETRY":
            wanted = rng.choice([*_SHAPES, "GEOMETRYCOLLECTION"])
        srid = rng.choice(srids)
        return f"ST_GeomFromText('{_well_known_text(rng, wanted)}', {srid})"

    return draw


def _point(rng: random.Random) -> str:
    # both within a latitude's range, whatever the axis order
    return f"{rng.uniform(-89, 89)!r} {rng.choice((0, 1, -89.5, rng.uniform(-89, 89)))!r}"


def _line(rng: random.Random) -> str:
    return "(" + ",".join(_point(rng) for _ in range(rng.randint(2, 5))) + ")"


def _ring(rng: random.Random) -> str:
    x, y, size = rng.uniform(-80, 80), rng.uniform(-80, 80), rng.uniform(0.5, 5)
    corners = ((0, 0), (size, 0), (size, size), (0, size), (0, 0))
    return "(" + ",".join(f"{x + dx!r} {y + dy!r}" for dx, dy in corners) + ")"


_SHAPES: dict[str, Callable[[random.Random], str]] = {
    "POINT": lambda rng: f"({_point(rng)})",
    "LINESTRING": _line,
    "POLYGON": lambda rng: f"({_ring(rng)})",
    "MULTIPOINT": _line,
    "MULTILINESTRING": lambda rng: f"({_line(rng)},{_line(rng)})",
    "MULTIPOLYGON": lambda rng: f"(({_ring(rng)}),({_ring(rng)}))",
}


def _well_known_text(rng: random.Random, kind: str) -> str:
    if kind != "GEOMETRYCOLLECTION":
        return kind + _SHAPES[kind](rng)
    parts = [_well_known_text(rng, rng.choice([*_SHAPES])) for _ in range(rng.randint(1, 3))]
    return f"GEOMETRYCOLLECTION({','.join(parts)})"


# ----------------------------------------------------------------------------------------- JSON


def json_text(*, depth: int) -> Value:
    """A document as text, which MySQL turns into its binary form and MariaDB keeps."""

    def draw(rng: random.Random) -> str:
        if rng.random() < 0.02:
            return utf8(_large_document(rng))
        return utf8(
            json.dumps(_document(rng, rng.randint(0, depth)), ensure_ascii=rng.random() < 0.3)
        )

    return draw


def json_typed() -> Value:
    """A document with values that JSON text cannot say, made by MySQL's own functions."""

    def draw(rng: random.Random) -> str:
        scalars = [rng.choice(_TYPED)(rng) for _ in range(rng.randint(1, 6))]
        form = rng.randrange(3)
        if form == 0:
            return f"JSON_EXTRACT(JSON_ARRAY({scalars[0]}), '$[0]')"
        if form == 1:
            return f"JSON_ARRAY({', '.join(scalars)})"
        pairs = ", ".join(f"'k{number}', {scalar}" for number, scalar in enumerate(scalars))
        return f"JSON_OBJECT({pairs})"

    return draw


_TYPED: tuple[Value, ...] = (
    lambda rng: f"CAST({decimal(65, 30)(rng)} AS DECIMAL(65,30))",
    lambda rng: f"CAST({decimal(12, 2)(rng)} AS DECIMAL(12,2))",
    lambda rng: f"CAST({decimal(20, 0)(rng)} AS DECIMAL(20,0))",
    lambda rng: f"CAST({date()(rng)} AS DATE)",
    lambda rng: f"CAST({time(6)(rng)} AS TIME(6))",
    lambda rng: f"CAST({time(0)(rng)} AS TIME)",
    lambda rng: f"CAST({datetime_(6)(rng)} AS DATETIME(6))",
    lambda rng: f"CAST({datetime_(3)(rng)} AS DATETIME(3))",
    lambda rng: f"CAST({integer(64, unsigned=True)(rng)} AS UNSIGNED)",
    lambda rng: f"CAST({integer(64)(rng)} AS SIGNED)",
    lambda rng: f"CAST({integer(16)(rng)} AS SIGNED)",
    lambda rng: f"CAST({binary(200)(rng)} AS BINARY)",
    lambda rng: f"CAST({2020 + rng.randrange(9)} AS YEAR)",
    lambda rng: f"b'{rng.getrandbits(12):b}'",
    lambda rng: floating("d")(rng),
    lambda rng: "TRUE",
    lambda rng: "NULL",
    lambda rng: text("utf8mb4", 300)(rng),
    lambda rng: f"ST_GeomFromText('POINT({_point(rng)})')",
)

_AWKWARD_STRINGS = (
    "",
    "plain",
    '"quoted" \\ back / slash',
    "\0\b\f\n\r\t\x1f\x7f\x80",
    "</script>\u2028\u2029",
    "🎉👨‍👩‍👧\U0010ffff",
    "x" * 127,
    "y" * 128,
    "é" * 64,
    "z" * 16_383,
    "z" * 16_384,
)
_AWKWARD_NUMBERS = (
    *(0, 1, -1, 32_767, 32_768, -32_768, -32_769, 65_535, 65_536, 2**31 - 1, 2**31, -(2**31)),
    *(2**32, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1),
    *(
        0.0,
        -0.0,
        1.0,
        0.1,
        -1.5,
        1e15,
        1e16,
        1e17,
        1e20,
        1e21,
        1e22,
        1e-4,
        1e-5,
        1e-7,
        123456.789e3,
    ),
    *(5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 100.0, 3.141592653589793),
)


def _document(rng: random.Random, depth: int) -> Any:
    if depth == 0:
        kind = rng.randrange(6)
        if kind == 0:
            return rng.choice((True, False, None))
        if kind == 1:
            return rng.choice(_AWKWARD_STRINGS[:9] if rng.random() < 0.95 else _AWKWARD_STRINGS)
        if kind == 2:
            return "".join(rng.choices(UNICODE, k=rng.randint(0, 20)))
        if kind == 3:
            return rng.randint(-(2**63), 2**64 - 1) >> rng.randrange(64)
        if kind == 4:
            return float(floating("d")(rng))
        return rng.choice(_AWKWARD_NUMBERS)
    size = rng.choice((0, 1, 1, 2, 3, 5))
    if rng.random() < 0.5:
        return [_document(rng, depth - 1) for _ in range(size)]
    return {_key(rng): _document(rng, depth - 1) for _ in range(size)}


def _key(rng: random.Random) -> str:
    return rng.choice(
        ("", "a", "b", "aa", "long key", "ключ", "🔑", 'q"\\', str(rng.randrange(99)))
    )


def _large_document(rng: random.Random) -> str:
    """More than 64 KiB, so that MySQL stores it with wide offsets."""
    rows = [_document(rng, 2) for _ in range(200)]
    return json.dumps({"rows": rows, "pad": "p" * rng.choice((65_000, 70_000)), "end": 1})


# -------------------------------------------------------------------------------------- helpers


def utf8(word: str) -> str:
    return f"_utf8mb4 X'{word.encode().hex()}'"


def _moment(rng: random.Random, first_year: int, last_year: int) -> datetime:
    first = datetime(first_year, 1, 2)
    days = (datetime(last_year, 12, 30) - first).days
    return first + timedelta(days=rng.randrange(days), seconds=rng.randrange(86_400))


def _fraction(rng: random.Random, fsp: int) -> str:
    return rng.choice(("0" * fsp, "9" * fsp, "".join(rng.choices("0123456789", k=fsp))))


def _date_and_time(fsp: int, first: int, last: int, edges: tuple[str, str]) -> Value:
    def draw(rng: random.Random) -> str:
        if rng.random() < 0.3:
            moment = rng.choice((*edges, "2000-02-29 12:00:00", "2016-12-31 23:59:59"))
        else:
            point = _moment(rng, first, last)
            moment = f"{point.year:04}-{point:%m-%d %H:%M:%S}"
        return f"'{moment}.{_fraction(rng, fsp)}'" if fsp else f"'{moment}'"

    return draw
