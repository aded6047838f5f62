"""For tests of what only MariaDB does: a database of their own, and its log beside what SELECT and `mariadb-binlog` say.

@for_each_mariadb
def test_something(mariadb_case: Server) -> None:
    files = logged(mariadb_case, "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)")
    assert assert_replays(mariadb_case, files) == 1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import binarrow
from support.logged import read
from support.oracles import listing, oracle
from support.oracles.compare import assert_same_tables
from support.oracles.replay import ENVELOPE, replay, truncations_in
from support.servers.servers import Server

for_each_mariadb = pytest.mark.parametrize(
    "server", ["mariadb-10.5", "mariadb-10.11", "mariadb-11.8"], indirect=True
)

DATABASE = "mariadb_case"

COMPRESSED = ("SET GLOBAL log_bin_compress = ON", "SET GLOBAL log_bin_compress_min_len = 10")
PLAIN = ("SET GLOBAL log_bin_compress = OFF", "SET GLOBAL log_bin_compress_min_len = 256")


def since(server: Server, *version: int) -> bool:
    own = server.flavor.removeprefix("mariadb-").split(".")
    return tuple(map(int, own)) >= version


def names(files: Sequence[Path]) -> Counter[str]:
    """The number of events of each type."""
    return Counter(event.type_name for event in binarrow.inspect([str(path) for path in files]))


def assert_replays(server: Server, files: list[Path]) -> int:
    """The log gives the tables that the server has, and as many rows as `mariadb-binlog` prints."""
    reader = read(files, f"{DATABASE}.*", envelope=ENVELOPE)
    tables = [
        f"{DATABASE}.{name}"
        for (name,) in server.query(
            "SELECT table_name FROM information_schema.tables"
            f" WHERE table_schema = '{DATABASE}' AND table_type = 'BASE TABLE'"
        )
    ]
    selected = {table: oracle.select(server, table) for table in tables}
    compared = assert_same_tables(replay(reader, truncations_in(files)), selected, {})

    printed = "".join(server.mysqlbinlog(path, "-vv") for path in files)
    counts = read(files, f"{DATABASE}.*", uncommitted="emit")
    for _ in counts:
        pass
    own = {
        (table, kind): numbers[kind]
        for table, numbers in counts.stats()["tables"].items()
        for kind in ("inserts", "updates", "deletes")
        if numbers[kind]
    }
    unreadable = listing.given_up(printed)
    wanted = {key: n for key, n in listing.counts(printed).items() if key[0] not in unreadable}
    assert {key: n for key, n in own.items() if key[0] not in unreadable} == wanted
    return compared.rows
