"""Plays DDL on a server, and notes after each statement what the tables that it could have changed are then."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pymysql

from support.oracles.table_structures import Oracle, TableStructure
from support.servers.servers import Server, Session
from support.waiting import until
from support.workloads.ddl_random import DATABASES, RandomDdl
from support.workloads.ddl_statements import Statement

Name = tuple[str, str]

# All tables are compared after this number of statements; between, those that the statement names.
ALL_EVERY = 25

LOCK_WAIT_TIMEOUT = 1205


@dataclass(frozen=True)
class Step:
    """A statement, and what there was when it had run."""

    statement: Statement
    error: str | None
    position: tuple[str, int]
    tables: frozenset[Name]
    structures: dict[Name, TableStructure]
    script: str = ""
    """All tables in a baseline, after random statements."""

    @property
    def is_surprise(self) -> bool:
        """True if the server accepted a statement that it should refuse, or vice versa."""
        return (self.error is None) == self.statement.fails


@dataclass
class Player:
    """A server that DDL is played on."""

    server: Server
    oracle: Oracle = field(init=False)
    session: Session = field(init=False)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.server)
        self.session = self.server.connect()

    def play(self, statements: list[Statement]) -> None:
        """Runs statements, and notes what they make."""
        for number, statement in enumerate(statements, 1):
            if statement.connection:
                self.session.close()
                self.session = self.server.connect(charset=statement.connection)
            error = self.run(statement.sql)
            is_last = number == len(statements)
            self.note(statement, error, with_all=is_last or number % ALL_EVERY == 0)

    def play_random(self, seed: int, count: int) -> None:
        """Runs random statements until the server took `count` of them."""
        source = RandomDdl(Random(seed), self.server.is_mariadb)
        taken = 0
        while taken < count:
            tables = (
                {name: self.steps[-1].structures[name] for name in self.steps[-1].tables}
                if self.steps
                else {}
            )
            statement = Statement(f"seed {seed}, {taken}", source.statement(tables))
            error = self.run(statement.sql)
            if error is None:
                taken += 1
                self.note(statement, None, with_all=True, with_script=True)

    def begin_random(self) -> str:
        """Makes the databases that random statements are in, empty; gives all that there is as a script."""
        for database in DATABASES:
            self.session.execute(
                f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}"
            )
        return self.oracle.create_statements(DATABASES)

    def run(self, sql: str) -> str | None:
        """Runs a statement; returns the server's error."""
        errors: list[str] = []

        def has_ended() -> bool:
            try:
                self.session.execute(sql)
            except pymysql.err.Error as error:
                # Another thread of the server has the table open for a moment.
                if error.args[0] == LOCK_WAIT_TIMEOUT and "NOWAIT" in sql:
                    return False
                errors.append(str(error))
            return True

        until(has_ended)
        return errors[0] if errors else None

    def note(
        self,
        statement: Statement,
        error: str | None,
        *,
        with_all: bool,
        with_script: bool = False,
    ) -> None:
        tables = self.oracle.tables()
        if with_script:
            tables = {name for name in tables if name[0] in DATABASES}
        text = statement.sql.replace('""', '"').replace("``", "`")
        wanted = {
            name for name in tables if with_all or name[1] in text or name[1] in statement.sql
        }
        structures = {name: self.oracle.structure(*name) for name in wanted}
        script = self.oracle.create_statements(DATABASES) if with_script else ""
        self.steps.append(
            Step(statement, error, self.oracle.position(), frozenset(tables), structures, script)
        )
