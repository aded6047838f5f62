"""The rows of a table that were valid at a moment, in a target with all versions of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from support.oracles.duckdb_tables import Rows, differences, read_source
from support.servers.servers import Server
from support.sync_source import Source

VALIDITY = ("_valid_from", "_valid_to", "_valid_from_version", "_valid_to_version")


@dataclass
class Moment:
    """The rows that SELECT returned, and the version of the last change before it."""

    version: int
    rows: dict[str, Rows]


def moment(source: Source, *tables: str) -> Moment:
    """Reads tables of a server that is not in use."""
    times = "interval" if source.kind == "duckdb" else "integer"
    rows = {table: read_source(source.server, table, times) for table in tables}
    return Moment(last_version(source.server), rows)


def last_version(server: Server) -> int:
    status = "SHOW MASTER STATUS" if server.is_mariadb else "SHOW BINARY LOG STATUS"
    [(file, offset, *_)] = server.query(status)
    return (int(file.rpartition(".")[2]) << 40 | int(offset)) - 1


def valid_rows(versions: Rows, version: int | None, columns: Iterable[str]) -> Rows:
    """The rows that were valid after a version, or that are current, with some of the columns."""
    wanted = {*columns}
    found: Rows = Counter()
    for row, count in versions.items():
        cells = dict(row)
        end = cells["_valid_to_version"]
        if version is None:
            is_valid = end == "NULL"
        else:
            is_begun = int(cells["_valid_from_version"]) <= version
            is_valid = is_begun and (end == "NULL" or int(end) > version)
        if is_valid:
            found[tuple((name, cell) for name, cell in row if name in wanted)] += count
    return found


def columns_of(rows: Rows) -> set[str]:
    return {name for row in rows for name, _ in row}


def check_moments(source: Source, moments: Iterable[Moment]) -> None:
    """Compares the versions of rows that were valid at some moments with SELECT at that time."""
    versions: dict[str, Rows] = {}
    for number, one in enumerate(moments):
        for table, wanted in one.rows.items():
            if table not in versions:
                versions[table] = source.read(table)
            columns = columns_of(wanted) or columns_of(versions[table]) - {*VALIDITY}
            found = valid_rows(versions[table], one.version, columns)
            assert found == wanted, (number, table, differences(found, wanted))


def check_current(source: Source, *tables: str) -> None:
    """Compares the current rows with SELECT."""
    times = "interval" if source.kind == "duckdb" else "integer"
    for table in tables:
        wanted, versions = read_source(source.server, table, times), source.read(table)
        columns = columns_of(wanted) or columns_of(versions) - {*VALIDITY}
        found = valid_rows(versions, None, columns)
        assert found == wanted, (table, differences(found, wanted))
