"""The output of `mysqlbinlog --print-table-metadata` for tables: an oracle for `binarrow inspect`."""

from __future__ import annotations

import re

COLUMNS = b"# Columns("
NEXT_COLUMN = b"#         "
KEY = b"# Primary Key("

MEMBERS = re.compile(
    rb"(.*? (?:ENUM|SET)(?: NOT NULL)?)\((?P<members>'.*')\)(?P<rest> CHARSET (?P<charset>\w+) .*)",
    re.S,
)
MEMBER = re.compile(rb"'((?:[^'\\]|\\.)*)'(?:, ?|\Z)", re.S)

ESCAPES = {"\0": "0", "\b": "b", "\t": "t", "\n": "n", "\r": "r", "'": "'", "\\": "\\"}
UNESCAPED = {escape.encode(): each.encode() for each, escape in ESCAPES.items()}

CODECS = {
    "armscii8": "ascii",
    "binary": "utf-8",
    "cp932": "cp932",
    "dec8": "latin-1",
    "eucjpms": "euc_jp",
    "euckr": "euc_kr",
    "geostd8": "ascii",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "hp8": "hp_roman8",
    "keybcs2": "ascii",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin1": "cp1252",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "swe7": "ascii",
    "tis620": "tis_620",
    "ucs2": "utf-16-be",
    "ujis": "euc_jp",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}


def table_metadata(listing: bytes) -> list[list[str]]:
    """The lines of each Table_map event, in the listing's order.

    The tool prints the members of ENUM and SET as they are in the log; here they are text, in
    the spelling of the tool.
    """
    tables: list[list[bytes]] = []
    for line in listing.split(b"\n"):
        if line.startswith(COLUMNS):
            tables.append([line])
        elif line.startswith((NEXT_COLUMN, KEY)) and tables:
            tables[-1].append(line)
    return [[_text(line) for line in lines] for lines in tables]


def folded(lines: list[str]) -> list[str]:
    """The lines with their white space folded."""
    return [" ".join(line.split()) for line in lines]


def _text(line: bytes) -> str:
    found = MEMBERS.fullmatch(line)
    if not found:
        return line.decode()
    codec = CODECS.get(found["charset"].decode(), found["charset"].decode())
    members = [
        re.sub(rb"\\(.)", lambda escape: UNESCAPED[escape[1]], member, flags=re.S).decode(codec)
        for member in MEMBER.findall(found["members"])
    ]
    listed = ", ".join(f"'{_escaped(member)}'" for member in members)
    return f"{found[1].decode()}({listed}){found['rest'].decode()}"


def _escaped(text: str) -> str:
    return "".join(f"\\{ESCAPES[each]}" if each in ESCAPES else each for each in text)
