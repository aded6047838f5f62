"""Asks live servers what every byte sequence of every charset means, and writes the tables that `src/charset` embeds.

    python tests/support/oracles/charset_tables.py             # MySQL and both MariaDBs, about two minutes

A sequence is a character where a column of the charset keeps it as it is; its code point is what
`CONVERT(column USING utf8mb4)` gives. The script stops where two servers disagree on a code point.

What it writes, all numbers little-endian:

* `src/charset/tables/NAME.bin` of an 8-bit charset: 256 times u16, the byte's code point, ffff for none.
* of a multi-byte one: a grid of u16, the lead bytes' rows over the trail bytes' columns (`GRIDS`); 0 where the two
  bytes are no character, ffff where they are one that Unicode lacks. `NAME-3.bin`: the same after a byte 8f.
* `gb18030-4.bin`: the four-byte sequences in Unicode's first plane, as runs: number of the sequence, code point.
* `tests/support/oracles/collations/*.tsv`: each collation's id, charset and name.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from support.servers.servers import FLAVORS, Server, Session

ROOT = Path(__file__).parents[3]
TABLES = ROOT / "src/charset/tables"
COLLATIONS = ROOT / "tests/support/oracles/collations"

EIGHT_BIT = [
    "armscii8",
    "cp1250",
    "cp1251",
    "cp1256",
    "cp1257",
    "cp850",
    "cp852",
    "cp866",
    "dec8",
    "geostd8",
    "greek",
    "hebrew",
    "hp8",
    "keybcs2",
    "koi8r",
    "koi8u",
    "latin1",
    "latin2",
    "latin5",
    "latin7",
    "macce",
    "macroman",
    "swe7",
    "tis620",
]

HIGH = range(0x80, 0x100)
KANA = range(
    0xA1, 0xE0
)  # one-byte characters of sjis and cp932, second bytes after 8e in the two EUCs

# The leads and the trails of the two-byte characters; the EUCs have the same square once more after 8f.
GRIDS = {
    "big5": ([range(0xA1, 0xFA)], range(0x40, 0xFF)),
    "cp932": ([range(0x81, 0xA0), range(0xE0, 0xFD)], range(0x40, 0xFD)),
    "eucjpms": ([range(0xA1, 0xFF)], range(0xA1, 0xFF)),
    "euckr": ([range(0x81, 0xFF)], range(0x41, 0xFF)),
    "gb18030": ([range(0x81, 0xFF)], range(0x40, 0xFF)),
    "gb2312": ([range(0xA1, 0xF8)], range(0xA1, 0xFF)),
    "gbk": ([range(0x81, 0xFF)], range(0x40, 0xFF)),
    "sjis": ([range(0x81, 0xA0), range(0xE0, 0xFD)], range(0x40, 0xFD)),
    "ujis": ([range(0xA1, 0xFF)], range(0xA1, 0xFF)),
}
EUC_JAPANESE = ("eucjpms", "ujis")
SHIFTED = ("cp932", "sjis")

NOT_A_CHARACTER = 0
NO_CODE_POINT = 0xFFFF

BATCH = 20_000

# What a server makes of the sequences that its columns keep: text, or None for a character without a code point.
Meanings = dict[bytes, str | None]


def short_sequences(charset: str) -> Iterator[bytes]:
    """Every sequence that may be a character: all bytes, all pairs of a high byte and any byte, and so on."""
    yield from (bytes([byte]) for byte in range(256))
    if charset in GRIDS:
        yield from map(bytes, product(HIGH, range(256)))
    if charset in EUC_JAPANESE:
        yield from map(bytes, product((0x8E, 0x8F), range(256), HIGH))


def four_byte_sequences() -> Iterator[bytes]:
    """Those of gb18030, in order."""
    first, second = range(0x81, 0xFF), range(0x30, 0x3A)
    yield from map(bytes, product(first, second, first, second))


def sequences(charset: str) -> Iterator[bytes]:
    yield from short_sequences(charset)
    if charset == "gb18030":
        yield from four_byte_sequences()


def measure(session: Session, charset: str, candidates: Iterator[bytes]) -> Meanings:
    """Keeps sequences in a column of the charset, and reads them."""
    session.execute(
        "DROP TABLE IF EXISTS measured",
        f"CREATE TABLE measured (sent VARBINARY(4), kept VARCHAR(4) CHARACTER SET {charset})",
    )
    while batch := [f"(x'{one.hex()}', x'{one.hex()}')" for one in islice(candidates, BATCH)]:
        session.execute(f"INSERT INTO measured VALUES {', '.join(batch)}")
    rows = session.query(
        "SELECT sent, CONVERT(kept USING utf8mb4) FROM measured WHERE sent = CAST(kept AS BINARY)"
    )
    return {sent: None if shown == "?" and sent != b"?" else shown for sent, shown in rows}


def measure_all(server: Server) -> dict[str, Meanings]:
    session = server.connect()
    try:
        session.execute("SET sql_mode = '', sql_log_bin = OFF", "CREATE DATABASE charset_tables")
        session.execute("USE charset_tables")
        has = {name for name, *_ in session.query("SHOW CHARACTER SET")}
        charsets = [name for name in (*EIGHT_BIT, *GRIDS) if name in has]
        return {name: measure(session, name, sequences(name)) for name in charsets}
    finally:
        session.close()


def merge(into: dict[str, Meanings], other: dict[str, Meanings]) -> None:
    """Adds the characters of another server; they must agree if both have one."""
    for charset, meanings in other.items():
        known = into.setdefault(charset, {})
        for sequence, meaning in meanings.items():
            assert known.setdefault(sequence, meaning) == meaning, (charset, sequence.hex())


def cell(meanings: Meanings, sequence: bytes) -> int:
    if sequence not in meanings:
        return NOT_A_CHARACTER
    meaning = meanings[sequence]
    return NO_CODE_POINT if meaning is None else ord(meaning)


def packed(cells: list[int]) -> bytes:
    return struct.pack(f"<{len(cells)}H", *cells)


def grid(charset: str, meanings: Meanings, prefix: bytes = b"") -> bytes:
    leads, trails = GRIDS[charset]
    return packed(
        [cell(meanings, prefix + bytes(pair)) for row in leads for pair in product(row, trails)]
    )


def runs(meanings: Meanings) -> bytes:
    """The four-byte sequences of gb18030 below U+10000. Those above it are one run, as must be."""
    found: list[int] = []
    expected: int | None = None
    for number, sequence in enumerate(four_byte_sequences()):
        meaning = meanings[sequence]
        point = None if meaning is None else ord(meaning)
        if point is not None and point >= 0x10000:
            assert point == number - 189_000 + 0x10000
        elif point is not None:
            assert number < 39_420
            if point != expected:
                found += [number, point]
            expected = point + 1
        else:
            assert number in range(39_420, 189_000) or number >= 189_000 + 0x100000
    return packed(found)


def check_ascii_and_kana(charset: str, meanings: Meanings) -> None:
    """Checks the characters that the decoder converts without a table."""
    if charset != "swe7":
        assert all(meanings[bytes([byte])] == chr(byte) for byte in range(0x80)), charset
    for byte in HIGH if charset in GRIDS else ():
        is_kana = charset in SHIFTED and byte in KANA
        assert meanings.get(bytes([byte])) == (chr(0xFF61 + byte - 0xA1) if is_kana else None)
    for byte in KANA if charset in EUC_JAPANESE else ():
        assert meanings[bytes([0x8E, byte])] == chr(0xFF61 + byte - 0xA1)


def write_tables(measured: dict[str, Meanings]) -> None:
    TABLES.mkdir(exist_ok=True)
    for charset, meanings in measured.items():
        check_ascii_and_kana(charset, meanings)
        file = TABLES / f"{charset}.bin"
        if charset in EIGHT_BIT:
            file.write_bytes(packed([cell(meanings, bytes([byte])) for byte in range(256)]))
            continue
        file.write_bytes(grid(charset, meanings))
        if charset in EUC_JAPANESE:
            (TABLES / f"{charset}-3.bin").write_bytes(grid(charset, meanings, b"\x8f"))
        if charset == "gb18030":
            (TABLES / f"{charset}-4.bin").write_bytes(runs(meanings))


def collations(server: Server) -> list[tuple[int, str, str]]:
    """Id, charset and name of each, in the ids' order."""
    source = "id, character_set_name, collation_name FROM information_schema.collations"
    if server.is_mariadb:  # where a collation has one name for several charsets
        source = (
            "id, character_set_name, full_collation_name"
            " FROM information_schema.collation_character_set_applicability"
        )
    return [
        (int(i), charset, name) for i, charset, name in server.query(f"SELECT {source} ORDER BY id")
    ]


def recorded(flavor: str) -> list[tuple[int, str, str]]:
    """Returns the list that this script recorded."""
    lines = (COLLATIONS / f"{flavor}.tsv").read_text().splitlines()
    return [(int(i), charset, name) for i, charset, name in (line.split("\t") for line in lines)]


def main() -> None:
    measured: dict[str, Meanings] = {}
    COLLATIONS.mkdir(exist_ok=True)
    for flavor in FLAVORS:
        with Server.start(flavor) as server:
            merge(measured, measure_all(server))
            lines = ("\t".join(map(str, row)) + "\n" for row in collations(server))
            (COLLATIONS / f"{flavor}.tsv").write_text("".join(lines))
            print(f"{flavor}: {sum(map(len, measured.values()))} characters so far")
    write_tables(measured)


if __name__ == "__main__":
    main()
