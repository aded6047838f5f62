"""Tables with TIMESTAMP, TIME and DATETIME as before MySQL 5.6, which MySQL 5.6 and 5.7 keep as they are.

No statement makes such columns any more: a table of integers of the same sizes becomes one by the
type codes in its .frm file.
"""

from __future__ import annotations

from support.servers.servers import Server
from support.workloads import values
from support.workloads.table import Column, Table

NAME = "times_5_5"

# Type codes: of columns before the times, and for an integer what it is and what it becomes.
CODES = {"BIGINT UNSIGNED NOT NULL": 8, "CHAR(4)": 254}
TIMES = {"INT": (3, 7), "MEDIUMINT": (9, 11), "BIGINT": (8, 12)}  # TIMESTAMP, TIME, DATETIME

ENTRY_BYTES = 17  # of a column in a .frm file: the distance between type codes


def table() -> Table:
    """For `make_old`, as soon as it is made."""
    return Table(
        NAME,
        [
            Column("ts", "INT", values.timestamp(0)),
            Column("t", "MEDIUMINT", values.time(0)),
            Column("dt", "BIGINT", values.datetime_(0)),
        ],
        "PRIMARY KEY (id)) ENGINE=MyISAM",
    )


def make_old(
    server: Server, database: str, name: str, first: str = "BIGINT UNSIGNED NOT NULL"
) -> None:
    """Makes times of the INT, MEDIUMINT and BIGINT that follow the column `first` of an empty table."""
    session = server.connect()
    session.execute("FLUSH TABLES")
    path = server.datadir / database / f"{name}.frm"
    content = bytearray(path.read_bytes())
    codes = [CODES[first], *(was for was, _ in TIMES.values())]
    [start] = (
        start
        for start in range(len(content) - ENTRY_BYTES * (len(codes) - 1))
        if [content[start + ENTRY_BYTES * number] for number in range(len(codes))] == codes
    )
    for number, (_, becomes) in enumerate(TIMES.values(), 1):
        content[start + ENTRY_BYTES * number] = becomes
    path.write_bytes(content)
    session.execute("FLUSH TABLES")
    session.close()
