"""The matrix: every type and charset, under every setting that changes how a row is logged.

A `Case` is one combination of settings, `play` makes a database with one row of tables for it. Every
kind of statement that logs rows comes once to every table, with values from `values.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from support.logged import logging
from support.servers.servers import Server
from support.workloads import matrix_tables, old_times
from support.workloads.matrix_tables import is_generated
from support.workloads.table import Table, quote


@dataclass(frozen=True)
class Case:
    """Settings under which rows are logged. `metadata` is None where the server has no choice."""

    image: str
    metadata: str | None
    compressed: bool = False
    checksum: str = "CRC32"

    @property
    def has_names(self) -> bool:
        return self.metadata == "FULL"

    def __str__(self) -> str:
        parts = [self.image, f"metadata {self.metadata}", f"checksum {self.checksum}"]
        return ", ".join([*parts, "compressed" if self.compressed else "plain"])


def cases(flavor: str) -> list[Case]:
    """All combinations that a server has."""
    images = ("FULL", "MINIMAL", "NOBLOB")
    if flavor.startswith("mysql-5"):
        return [
            Case(image, None, checksum=sum_) for image, sum_ in product(images, ("CRC32", "NONE"))
        ]
    if flavor == "mysql":
        return [Case(*parts) for parts in product(images, ("MINIMAL", "FULL"), (False, True))]
    if flavor == "mariadb-11.8":
        images = (*images, "FULL_NODUP")
    levels = ("NO_LOG", "MINIMAL", "FULL")
    return [Case(*parts) for parts in product(images, levels, (False, True))]


def options(flavor: str) -> list[str]:
    """The options with which a server must be started for its tables."""
    return ["--innodb-file-format=Barracuda"] if flavor == "mysql-5.6" else []


@dataclass(frozen=True)
class Played:
    """A case that a server has played."""

    database: str
    case: Case
    tables: list[Table]
    files: list[Path]
    schemas: dict[str, str]  # what SHOW CREATE TABLE says
    definitions: dict[str, list[str]]  # of all columns in order, "" for those that the server adds

    @property
    def given(self) -> dict[str, str] | None:
        """The keywords with which a reader can read the tables."""
        return None if self.case.has_names else self.schemas

    def names(self) -> list[str]:
        return [f"{self.database}.{table.name}" for table in self.tables]

    def defaults(self) -> dict[str, dict[str, None]]:
        """The cells of a new row that a MINIMAL image leaves out: all defaults here are NULL."""
        return {
            f"{self.database}.{table.name}": {
                c.name: None for c in table.columns if "NOT NULL" not in c.definition
            }
            for table in self.tables
        }

    def left_out(self, flavor: str) -> dict[str, list[str]]:
        """The columns that no image holds, except those that the server knows anyway."""
        missing = {}
        if self.case.image != "FULL" or flavor == "mariadb-11.8":
            for table in self.tables:
                computed = [c.name for c in table.columns if is_generated(c)]
                missing[f"{self.database}.{table.name}"] = computed
        if self.case.image == "NOBLOB":  # of a row that MariaDB moves to a table's history
            for name in ("versioned", "periods"):
                missing[f"{self.database}.{name}"] = ["t"]
        return missing


class Matrix:
    """The cases of one server: the same statements under each."""

    def __init__(self, server: Server, seed: int = 1) -> None:
        self.server = server
        self.session = server.connect()
        modes = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
        self.session.execute(f"SET SESSION time_zone = '+00:00', sql_mode = '{modes}'")
        self.tables = list(self._tables())
        rng = random.Random(seed)
        self.statements = {table.name: list(statements(rng, table)) for table in self.tables}

    def play(self, case: Case, number: int) -> Played:
        """Makes the tables and logs changes of their rows."""
        database = f"matrix_{number}"
        self.session.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4", f"USE {database}")
        for table in self.tables:
            self.create(database, table)
        self.set(case)
        with logging(self.server) as files:
            for table in self.tables:
                self.session.execute(*self.statements[table.name])
        named = {f"{database}.{table.name}": table for table in self.tables}
        schemas = {name: self.shown(table) for name, table in named.items()}
        definitions = {name: self.definitions(table) for name, table in named.items()}
        return Played(database, case, self.tables, files, schemas, definitions)

    def _tables(self) -> Iterator[Table]:
        for table in matrix_tables.tables(self.server, self.session):
            if table.tail.endswith("KEY (id))"):
                table.tail += " ROW_FORMAT=DYNAMIC"
            yield table

    def create(self, database: str, table: Table) -> None:
        statement = table.create()
        if self.server.is_old:
            statement = statement.replace("CHARACTER SET utf8mb3", "CHARACTER SET utf8")
        if table.name == matrix_tables.HIDDEN_KEY:
            setting = "SET SESSION sql_generate_invisible_primary_key"
            self.session.execute(f"{setting} = ON", statement, f"{setting} = OFF")
            return
        self.session.execute(statement)
        if table.name == old_times.NAME:
            old_times.make_old(self.server, database, table.name)

    def shown(self, table: Table) -> str:
        """The output of SHOW CREATE TABLE, with the characters for which it contains only a '?'."""
        [(_, shown)] = self.session.query(f"SHOW CREATE TABLE {table.sql_name}")
        return str(shown).replace(matrix_tables.SHOWN_BEYOND, matrix_tables.BEYOND)

    def definitions(self, table: Table) -> list[str]:
        definitions = [column.definition for column in table.columns]
        if table.next_id is not None:
            definitions.insert(0, "BIGINT UNSIGNED NOT NULL")
        if table.name == matrix_tables.HIDDEN_KEY:
            definitions.insert(0, "")
        if "SYSTEM VERSIONING" in table.tail and "PERIOD" not in table.tail:
            definitions += ["", ""]
        return definitions

    def set(self, case: Case) -> None:
        self.session.execute(f"SET SESSION binlog_row_image = {case.image}")
        settings = {"binlog_checksum": case.checksum}
        if case.metadata is not None:
            settings["binlog_row_metadata"] = case.metadata
        on = "ON" if case.compressed else "OFF"
        if self.server.is_mariadb:
            settings |= {"log_bin_compress": on, "log_bin_compress_min_len": "10"}
        self.session.execute(*(f"SET GLOBAL {name} = {value}" for name, value in settings.items()))
        if self.server.flavor == "mysql":
            self.session.execute(f"SET SESSION binlog_transaction_compression = {on}")


def statements(rng: random.Random, table: Table) -> Iterator[str]:
    """Every kind of statement that changes rows: 16 rows come, 3 go, one takes another key."""
    yield table.insert(rng, 12)
    yield table.insert(rng)
    if not any("NOT NULL" in column.definition for column in table.columns):
        yield f"INSERT INTO {table.sql_name} (id) VALUES ({table.new_id()})"
    yield table.update(rng, "WHERE id = 1")
    yield table.update(rng, "WHERE id BETWEEN 2 AND 4")
    yield all_columns(rng, table, "WHERE id IN (5, 6)")
    yield f"UPDATE {table.sql_name} SET id = {table.new_id()} WHERE id = 7"
    yield replace(rng, table, [8, table.new_id()])
    yield table.delete(rng, "WHERE id = 3")
    yield table.delete(rng, "WHERE id BETWEEN 1 AND 2")


def all_columns(rng: random.Random, table: Table, where: str) -> str:
    settings = ", ".join(f"{quote(column.name)} = {column.draw(rng)}" for column in table.drawn)
    return f"UPDATE {table.sql_name} SET {settings} {where}"


def replace(rng: random.Random, table: Table, ids: Sequence[int]) -> str:
    """Puts rows in, over those that are there."""
    names = ", ".join(["id", *(quote(column.name) for column in table.drawn)])
    rows = ", ".join(
        f"({', '.join([str(one), *(column.draw(rng) for column in table.drawn)])})" for one in ids
    )
    return f"REPLACE INTO {table.sql_name} ({names}) VALUES {rows}"
