"""Writers that keep a server busy, and the value of each row at each place of their log."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pymysql

import binarrow
from support.servers.servers import Server

TABLE = (
    "CREATE TABLE live.counter (id DECIMAL(9,0) NOT NULL PRIMARY KEY, v DECIMAL(9,0) NOT NULL)"
    " ENGINE=InnoDB"
)

SPIN = """
CREATE PROCEDURE live.spin(k INT)
  WHILE (SELECT COUNT(*) FROM live.quiet) = 0 DO
    UPDATE live.counter SET v = v + 1 WHERE id = k;
  END WHILE
"""
"""Increments a row in transactions of one statement until a process writes to `live.quiet`."""

ORDINARY = 3
"""The procedure increments rows 1 to 3, XA transactions increment row 4."""

VERSION_BITS = 40


@contextmanager
def writing(server: Server, *, xa: bool = True) -> Iterator[None]:
    """Three writers, and by default a fourth one with XA transactions, until the block ends."""
    server.execute(
        "DROP TABLE IF EXISTS live.counter, live.quiet",
        "DROP PROCEDURE IF EXISTS live.spin",
        TABLE,
        "CREATE TABLE live.quiet (id INT PRIMARY KEY)",
        "INSERT INTO live.counter VALUES (1, 0), (2, 0), (3, 0)",
        *(["INSERT INTO live.counter VALUES (4, 0)"] if xa else []),
        SPIN,
    )
    quiet = threading.Event()
    threads = [
        threading.Thread(target=spin, args=(server, k), daemon=True) for k in range(1, ORDINARY + 1)
    ]
    if xa:
        threads.append(threading.Thread(target=count_by_xa, args=(server, quiet), daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        quiet.set()
        server.execute("INSERT INTO live.quiet VALUES (1)")
        for thread in threads:
            thread.join()


def spin(server: Server, k: int) -> None:
    session = server.connect()
    with suppress(pymysql.err.OperationalError):
        session.execute(f"CALL live.spin({k})")
    session.close()


def count_by_xa(server: Server, quiet: threading.Event) -> None:
    session = server.connect()
    while not quiet.is_set():
        session.execute(
            "XA START 'a'",
            "UPDATE live.counter SET v = v + 1 WHERE id = 4",
            "XA END 'a'",
            "XA PREPARE 'a'",
            "XA COMMIT 'a'",
        )
    session.close()


Values = dict[int, int]


@dataclass(frozen=True)
class Read:
    """A position, and the results of SELECT before and after it was read."""

    before: Values
    position: binarrow.Position
    after: Values


def values(session: Any) -> Values:
    rows = session.query("SELECT id, v FROM live.counter")
    return {int(row[0]): int(row[1]) for row in rows}


@dataclass(frozen=True)
class Update:
    """The value that a transaction gave a row, and the start of the transaction."""

    row: int
    value: int
    file: int
    offset: int
    gtid: str | None


def logged(server: Server, first: int, **keywords: Any) -> Log:
    """All updates in the log from a file on, by the file's number."""
    files = [path for path in server.binlog_files() if int(path.suffix[1:]) >= first]
    reader = binarrow.read_binlog(
        [str(path) for path in files],
        tables="live.counter",
        operations=["update"],
        old_value=False,
        envelope=["commit_version", "gtid"],
        **keywords,
    )
    found = []
    for batch in reader:
        row, value, version, gtid = (column.to_pylist() for column in batch.to_pyarrow().columns)
        found += [
            Update(int(k), int(v), at >> VERSION_BITS, at & ((1 << VERSION_BITS) - 1), own)
            for k, v, at, own in zip(row, value, version, gtid, strict=True)
        ]
    return Log(found)


class Log:
    """Updates in the order of the log, and the number of them before a position."""

    def __init__(self, found: list[Update]) -> None:
        self.updates = found
        self._places = [(each.file, each.offset) for each in found]
        self._numbers = [number_of(each.gtid) for each in found if each.gtid is not None]
        self._rows: dict[int, tuple[list[int], list[int]]] = {}
        for index, each in enumerate(found):
            indexes, row_values = self._rows.setdefault(each.row, ([], []))
            indexes.append(index)
            row_values.append(each.value)

    def by_place(self, position: binarrow.Position) -> list[range] | None:
        """The updates before the file and offset; None if the position has none."""
        if not position.file:
            return None
        place = (int(position.file.rpartition(".")[2]), position.offset)
        return merged([range(bisect_left(self._places, place))])

    def by_gtids(self, position: binarrow.Position) -> list[range] | None:
        """The updates in the GTID set; None if there is none, or if the log has no GTIDs."""
        if not position.gtid_set or not self._numbers:
            return None
        numbers = self._numbers
        return merged(
            [
                range(bisect_left(numbers, first), bisect_right(numbers, last))
                for first, last in intervals(position.gtid_set)
            ]
        )

    def last_values(self, covered: list[range]) -> Values:
        """The last value of each row in parts of the log."""
        found = {}
        end = covered[-1].stop if covered else 0
        for row, (indexes, row_values) in self._rows.items():
            at = bisect_left(indexes, end) - 1
            while at >= 0 and not any(indexes[at] in part for part in covered):
                at -= 1
            found[row] = row_values[at] if at >= 0 else 0
        return found


def merged(parts: list[range]) -> list[range]:
    """Returns the ranges without empty ones, with adjacent ranges joined."""
    found: list[range] = []
    for part in sorted((part for part in parts if part), key=lambda part: part.start):
        if found and found[-1].stop == part.start:
            found[-1] = range(found[-1].start, part.stop)
        else:
            found.append(part)
    return found


def number_of(gtid: str) -> int:
    """The number of a GTID of MySQL or MariaDB."""
    return int(gtid.replace("-", ":").rpartition(":")[2])


def intervals(gtid_set: str) -> list[tuple[int, int]]:
    """The numbers in a set with one source, or those up to the last number of one domain."""
    if ":" not in gtid_set:
        return [(1, number_of(gtid_set))]
    found = []
    for one in gtid_set.partition(":")[2].split(":"):
        first, _, last = one.partition("-")
        found.append((int(first), int(last or first)))
    return found
