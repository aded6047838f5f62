"""`inspect --hexdump` beside `mysqlbinlog --hexdump`, over the recorded files of each server."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import binarrow
from support.servers.servers import Server

RECORDED = Path(__file__).parent.parent / "fixtures"

HEADER_ROW = re.compile(r"# +([0-9a-f]+) +\|?((?:[0-9a-f]{2}[ |]+){18}[0-9a-f]{2}) *\|?\Z")
ROW = re.compile(r"# +([0-9a-f]+) +((?:[0-9a-f]{2} +)+)\|.*\|?\Z")
CHECKSUM_LEN = 4
HEADER_LEN = 19


def dumps(listing: str) -> Iterator[list[str]]:
    """The rows of each event in a listing."""
    rows: list[str] = []
    for line in listing.splitlines():
        if line.startswith("# Position"):
            rows = []
        elif HEADER_ROW.match(line) or ROW.match(line):
            rows.append(line)
        elif rows and line not in {"#", HEADINGS}:
            yield rows
            rows = []


HEADINGS = "#           |Timestamp   |Type |Master ID   |Size        |Master Pos  |Flags"


def place_and_bytes(rows: list[str]) -> tuple[int, bytes]:
    parts = [match for row in rows if (match := HEADER_ROW.match(row) or ROW.match(row))]
    data = b"".join(bytes.fromhex(part[2].replace("|", " ")) for part in parts)
    return int(parts[0][1], 16), data


def without_signs(rows: list[str]) -> list[str]:
    """The rows without the column of signs, of which the tool shows fewer than we do."""
    return [re.sub(r" \|.*\|\Z", "", row) for row in rows]


@pytest.mark.parametrize(
    "name", sorted(folder.name for folder in RECORDED.glob("mysql-*") if folder.is_dir())
)
def test_as_mysqlbinlog_shows_it(mysql: Server, name: str) -> None:
    for path in sorted((RECORDED / name).glob("binlog.*")):
        listing = mysql.mysqlbinlog(path, "-vv", "--hexdump", "--base64-output=decode-rows")
        theirs = list(dumps(listing))
        ours = list(binarrow.inspect(str(path), data=True))
        assert len(ours) == len(theirs) >= 8
        for event, rows in zip(ours, theirs, strict=True):
            assert event.data is not None
            place, data = place_and_bytes(rows)
            if event.compressed:
                # The tool gives the events of a payload a checksum that they do not have.
                assert data[13:-CHECKSUM_LEN] == event.data[13:]
                assert data[:9] == event.data[:9]
            else:
                assert (place, data) == (event.offset, event.data)
                assert without_signs(rows) == without_signs(event.hexdump().splitlines()[1:])


@pytest.mark.parametrize(
    "name", sorted(folder.name for folder in RECORDED.glob("mariadb*") if folder.is_dir())
)
def test_as_mariadb_binlog_shows_it(mariadb_11_8: Server, name: str) -> None:
    for path in sorted((RECORDED / name).glob("binlog.*")):
        listing = mariadb_11_8.mysqlbinlog(path, "--hexdump", "--base64-output=decode-rows")
        theirs = [place_and_bytes(rows)[1] for rows in dumps(listing)]
        ours = list(binarrow.inspect(str(path), data=True))
        for event, data in zip(ours, theirs, strict=True):
            assert event.data is not None
            if "_compressed" in event.type_name and event.type_name != "Query_compressed":
                # The tool shows what these inflate to.
                assert event.data[:4] == data[:4]
                body = event.data[HEADER_LEN:-CHECKSUM_LEN]
                packed = body.index(b"\x78\x9c")  # where a deflate stream begins
                rows = zlib.decompress(body[packed:])
                assert len(rows) > 10
                assert data[:-CHECKSUM_LEN].endswith(rows)
            else:
                assert event.data == data
