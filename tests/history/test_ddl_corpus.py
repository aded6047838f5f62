"""A history follows DDL as servers do: after each statement of `ddl_corpus` it has what information_schema says.

Names, order, types, charsets, collations, members, nullability, visibility, generated columns, comments, and all keys with
their names, order, columns and prefixes. What is taken out before two are compared says `table_structures`. With `-s` a table of
figures is printed.

Then random statements (`BINARROW_DDL=1000` plays so many, `BINARROW_SEED` others): columns, primary and unique keys must be the
same, or the table unknown; how many statements left other keys otherwise is printed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import binarrow
from support.extent import rounds
from support.oracles.table_structures import (
    ColumnStructure,
    KeyStructure,
    TableStructure,
    plain_collation,
    shown,
)
from support.servers.servers import Server
from support.workloads.ddl_play import Player, Step
from support.workloads.ddl_statements import START, corpus, read

SERVERS = ("mysql", "mariadb-11.8")
NO_WAIT = "--innodb-flush-method=nosync"

# Servers do not convert the members of an ENUM or SET: they read the old bytes in the new character set, and may lose them.
REFUSED = {"ALTER TABLE words CONVERT TO CHARACTER SET utf8mb4"}

TABLE = re.compile(r"^CREATE TABLE `((?:[^`]|``)+)` (\()", re.MULTILINE)

LEAST = 500  # statements of tables, keys and databases on each server


@dataclass
class Played:
    """Statements that ran on a server, and the history that followed them."""

    server: Server
    steps: list[Step]
    history: binarrow.SchemaHistory

    def tables(self) -> set[tuple[str, str]]:
        """The tables of the history at its cursor."""
        found = set()
        for database, script in self.history.snapshot().items():
            names = (name for name, _ in TABLE.findall(script))
            found |= {(database, name.replace("``", "`")) for name in names}
        return found

    def found(self, step: Step, name: tuple[str, str]) -> TableStructure | str:
        return found_in(self.history, name, step.structures[name])


def found_in(
    history: binarrow.SchemaHistory, name: tuple[str, str], wanted: TableStructure
) -> TableStructure | str:
    """A table at the cursor of the history, or the reason why it has none."""
    try:
        table = history.find(*name)
    except binarrow.SchemaError as error:
        return str(error)
    return as_shown(table, wanted)


def play(server: Server, path: Path) -> Played:
    player = Player(server)
    for statement in read(START):
        player.session.execute(statement.sql)
    script = player.oracle.create_statements()
    start = player.oracle.position()
    player.play([each for each in corpus() if each.is_for(server.flavor)])
    files = server.binlog_files()
    server.flush_binlog()
    history = binarrow.SchemaHistory.open(path / "history.db")
    kind = "mysql-9.7" if server.flavor == "mysql" else server.flavor
    history.baseline(script, position=f"{start[0]}:{start[1]}", server=kind)
    inputs = [str(file) for file in files if file.name >= start[0]]
    reader = binarrow.read_binlog(inputs, start=f"{start[0]}:{start[1]}", history=history)
    assert sum(change.num_rows for change in reader) >= 0
    return Played(server, player.steps, history)


def as_shown(table: binarrow.TableSchema, wanted: TableStructure) -> TableStructure:
    """In the words of the oracle. Servers do not show the two columns that WITH SYSTEM VERSIONING adds by itself."""
    told = {column.name for column in wanted.columns}
    hidden = {"row_start", "row_end"} - told if len(table.columns) == len(told) + 2 else set()
    columns = tuple(
        ColumnStructure(
            column.name,
            shown(column.type),
            column.nullable,
            plain_collation(column.collation),
            column.visible,
            column.generated.upper() if column.generated else None,
            shown(column.comment or ""),
        )
        for column in table.columns
        if column.name not in hidden
    )
    keys = tuple(
        KeyStructure(
            {"index": "KEY"}.get(key.kind, key.kind.upper()),
            key.name or "PRIMARY",
            tuple(
                (column, prefix)
                for column, prefix in zip(key.columns, key.prefixes, strict=True)
                if column not in hidden
            ),
        )
        for key in table.keys
    )
    return TableStructure(columns, keys, shown(table.comment or ""))


def difference(found: TableStructure, wanted: TableStructure) -> list[object]:
    """Returns the parts that only one of the two has."""
    wanted = without_expressions(wanted)
    return [
        *set(found.columns).symmetric_difference(wanted.columns),
        *set(found.keys).symmetric_difference(wanted.keys),
        ([each.name for each in found.keys], [each.name for each in wanted.keys]),
    ]


def without_expressions(table: TableStructure) -> TableStructure:
    """`Key.columns` leaves out what is an expression."""
    keys = (
        KeyStructure(key.kind, key.name, tuple(part for part in key.parts if part[0] is not None))
        for key in table.keys
    )
    return TableStructure(table.columns, tuple(keys), table.comment)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server.start(request.param, [NO_WAIT]) as started:
        yield started


@pytest.fixture(scope="module")
def played(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(server, tmp_path_factory.mktemp("history"))


def test_corpus(played: Played) -> None:
    surprises = [step for step in played.steps if step.is_surprise]
    assert not surprises, [(step.statement.place, step.error) for step in surprises]
    unknown = {
        change.statement: change for change in played.history.changes() if not change.followed
    }
    assert {statement.strip() for statement in unknown} == REFUSED

    figures = {"followed": 0, "refused": 0, "wrong": 0}
    wrong = []
    lost: set[tuple[str, str]] = set()
    for step in played.steps:
        played.history.rollback(f"{step.position[0]}:{step.position[1]}")
        before = len(wrong)
        is_refused = step.statement.sql in REFUSED and step.error is None
        for name, structure in step.structures.items():
            found = played.found(step, name)
            if isinstance(found, str):
                assert "cannot be followed" in found
                lost.add(name)
                is_known = is_refused or name in {("world", "words")}
                if not is_known:
                    wrong.append((step.statement, name, found))
            elif found != without_expressions(structure):
                wrong.append((step.statement, name, found, structure))
        if len(step.structures) == len(step.tables) and played.tables() != set(step.tables) - lost:
            wrong.append((step.statement, played.tables() ^ set(step.tables)))
        if step.statement.is_ddl and step.error is None:
            is_wrong = len(wrong) > before
            figures["wrong" if is_wrong else "refused" if is_refused else "followed"] += 1
    print(f"\n{played.server.flavor}: {sum(figures.values())} statements, {figures}")
    assert not wrong, wrong[:3]
    assert figures["followed"] >= LEAST
    assert figures["refused"] == len(REFUSED)


def test_script_of_the_end_is_the_history(played: Played) -> None:
    """The text that the history prints is a baseline of the same tables."""
    end = played.steps[-1].position
    played.history.rollback(f"{end[0]}:{end[1]}")
    scripts = played.history.snapshot()
    copy = binarrow.SchemaHistory.open("memory:")
    copy.baseline("".join(scripts.values()), position="binlog.000001:4")
    assert copy.snapshot() == scripts


def kinds_of_difference(found: TableStructure | str, wanted: TableStructure) -> set[str]:
    """The differences between two structures of a table."""
    if isinstance(found, str):
        return {"unknown"}
    wanted = without_expressions(wanted)
    same = {
        "columns": found.columns == wanted.columns,
        "comment": found.comment == wanted.comment,
        "primary key": of_kind(found, "PRIMARY") == of_kind(wanted, "PRIMARY"),
        "unique keys": of_kind(found, "UNIQUE") == of_kind(wanted, "UNIQUE"),
        "other keys": of_kind(found, "KEY") == of_kind(wanted, "KEY"),
    }
    return {kind for kind, is_same in same.items() if not is_same}


def of_kind(table: TableStructure, kind: str) -> list[KeyStructure]:
    return [key for key in table.keys if key.kind == kind]


def test_random(server: Server, tmp_path: Path) -> None:
    """Columns, primary and unique keys are the same after each statement, or the table is unknown; other keys mostly.

    Where a table is not as it should be, the history takes a baseline: each difference counts once.
    """
    steps, seed = rounds("BINARROW_DDL", 12, 25), os.environ.get("BINARROW_SEED", "1")
    player = Player(server)
    script = player.begin_random()
    position = player.oracle.position()
    player.play_random(int(seed), steps)
    server.flush_binlog()
    kind = "mysql-9.7" if server.flavor == "mysql" else server.flavor
    files = server.binlog_files()
    figures: Counter[str] = Counter()
    wrong = []
    with binarrow.SchemaHistory.open(tmp_path / "history.db") as history:
        place = f"{position[0]}:{position[1]}"
        history.baseline(script, position=place, server=kind)
        for step in player.steps:
            inputs = [str(file) for file in files if file.name >= position[0]]
            start, position = place, step.position
            place = f"{position[0]}:{position[1]}"
            for _ in binarrow.read_binlog(inputs, start=start, stop=place, history=history):
                pass
            differences = {}
            for name, structure in step.structures.items():
                found = found_in(history, name, structure)
                if kinds := kinds_of_difference(found, structure):
                    differences[name] = (sorted(kinds), found, without_expressions(structure))
            figures.update(kind for kinds, *_ in differences.values() for kind in kinds)
            wrong += [
                (step.statement.sql, name, *difference, script)
                for name, difference in differences.items()
                if set(difference[0]) - {"unknown", "other keys"}
            ]
            script = step.script
            if differences:
                history.baseline(script, position=place, server=kind)
    print(
        f"\n{server.flavor}, seed {seed}: {steps} random statements; differences: {dict(figures)}"
    )
    assert not wrong, wrong[0]
