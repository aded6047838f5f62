"""Foreign keys after renames: a history has what SHOW CREATE TABLE prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import binarrow
from support import live
from support.oracles.table_structures import Oracle
from support.servers.servers import Server

SERVERS = ("mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.11")
NO_CHECKS = "SET foreign_key_checks = 0"
PARENT = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT, t VARCHAR(9), e ENUM('a', 'b'),"
    " u VARCHAR(9) CHARACTER SET utf8)"
)
OTHER = "CREATE TABLE r (id INT PRIMARY KEY)"
REFERS = "FOREIGN KEY (p) REFERENCES {} (id) ON DELETE CASCADE"
CHILD = f"CREATE TABLE c (id INT PRIMARY KEY, v INT, p INT, {REFERS.format('p')})"
TREE = f"CREATE TABLE s (id INT PRIMARY KEY, v INT, p INT, {REFERS.format('s')})"

CASES = (
    ["RENAME TABLE p TO p2"],
    ["RENAME TABLE p TO `häus``x`"],
    ["RENAME TABLE p TO q, r TO p"],
    ["RENAME TABLE p TO q, r TO p, q TO r"],
    ["RENAME TABLE p TO {1}.p2"],
    ["RENAME TABLE p TO {1}.p2", "RENAME TABLE {1}.p2 TO p3"],
    ["RENAME TABLE c TO {1}.c"],
    ["RENAME TABLE c TO {1}.c, p TO {1}.p"],
    ["RENAME TABLE p TO {1}.p, c TO {1}.c"],
    ["ALTER TABLE c ADD x INT, RENAME TO {1}.c2", "RENAME TABLE p TO p2"],
    ["RENAME TABLE c TO d", "RENAME TABLE p TO p2", "RENAME TABLE d TO {1}.c"],
    ["RENAME TABLE s TO s2"],
    ["RENAME TABLE s TO {1}.s2"],
    ["RENAME TABLE s TO q, r TO s, q TO r"],
    ["ALTER TABLE s ADD x INT, RENAME TO s2"],
    ["CREATE TABLE n LIKE p", "RENAME TABLE p TO o, n TO p"],
    [NO_CHECKS, "RENAME TABLE p TO p2, s TO {1}.s"],
    [NO_CHECKS, "ALTER TABLE p ADD x INT, RENAME TO {1}.p2"],
    # A parent that does not exist, and a table that gets its name.
    [NO_CHECKS, "DROP TABLE p", "RENAME TABLE c TO {1}.c"],
    [NO_CHECKS, "DROP TABLE p", "RENAME TABLE r TO p", "RENAME TABLE p TO p2"],
    [NO_CHECKS, "DROP TABLE p", "RENAME TABLE c TO p", "RENAME TABLE p TO p2"],
    [NO_CHECKS, "DROP TABLE p", "CREATE TABLE n (id INT) ENGINE=MyISAM", "RENAME TABLE n TO p"]
    + ["RENAME TABLE p TO p2"],
    # New foreign keys.
    [f"ALTER TABLE r ADD p INT, ADD {REFERS.format('{0}.p')}, RENAME TO {{1}}.r"],
    [
        "CREATE TABLE {1}.p LIKE p",
        f"ALTER TABLE r ADD p INT, ADD {REFERS.format('p')}, RENAME TO {{1}}.r",
    ],
)

COPIES = (
    ("MODIFY v BIGINT", ""),
    ("MODIFY v INT UNSIGNED", ""),
    ("MODIFY v INT(5)", ""),
    ("MODIFY v INT NOT NULL FIRST", ""),
    ("CHANGE v w INT DEFAULT 5", ""),
    ("CHANGE v w BIGINT", ""),
    ("MODIFY v INT AUTO_INCREMENT UNIQUE", ""),
    ("MODIFY t VARCHAR(200)", ""),
    ("MODIFY t VARCHAR(300)", ""),
    ("MODIFY t VARCHAR(5)", ""),
    ("MODIFY t TEXT", ""),
    ("MODIFY t VARCHAR(9) CHARACTER SET utf8mb4", ""),
    ("MODIFY e ENUM('a', 'b', 'c')", ""),
    ("MODIFY e ENUM('b', 'a')", ""),
    ("DROP u, CONVERT TO CHARACTER SET latin1", ""),
    ("DROP t, CONVERT TO CHARACTER SET utf8mb4", ""),
    ("CONVERT TO CHARACTER SET utf8mb4", ""),
    ("MODIFY u VARCHAR(9) CHARACTER SET utf8mb4", ""),
    ("MODIFY t VARCHAR(9) COLLATE latin1_bin", ""),
    ("DEFAULT CHARACTER SET utf8mb4", ""),
    ("ENGINE=InnoDB", ""),
    ("ADD x INT, DROP v, ADD KEY (t)", ""),
    ("ADD x INT AS (v + 1) STORED", ""),
    ("ADD x INT AS (v + 1) VIRTUAL", ""),
    ("ADD CHECK (v < 9)", ""),
    ("ADD x INT", ", ALGORITHM=COPY"),
    ("MODIFY v BIGINT", ", ALGORITHM=COPY"),
    ("ADD x INT", ", ALGORITHM INPLACE"),
    ("ADD x INT", ", ALGORITHM = DEFAULT"),
)
"""Clauses of an ALTER TABLE that also renames the table, and its option. Some servers copy the table."""

FOREIGN_KEY = re.compile(r"FOREIGN KEY \((.*?)\) REFERENCES (.*?) ?\(")


def statements() -> Iterator[list[str]]:
    yield from CASES
    for change, option in COPIES:
        yield [f"ALTER TABLE p {change}, RENAME TO p2{option}"]
        yield [f"ALTER TABLE p {change}, RENAME TO p2{option}", "RENAME TABLE p2 TO p"]
    yield ["ALTER TABLE s MODIFY v BIGINT, RENAME TO s2"]
    yield ["ALTER TABLE c MODIFY v BIGINT, RENAME TO {1}.c"]


def foreign_keys(script: str) -> list[str]:
    """`c (p) p`: the table, the columns, and the parent."""
    found, table = [], ""
    for line in script.splitlines():
        if match := re.match(r"CREATE TABLE (.*) \($", line):
            table = match[1]
        if match := FOREIGN_KEY.search(line):
            found.append(f"{table} ({match[1]}) {match[2]}".replace("`", ""))
    return sorted(found)


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("flavor", SERVERS)
def test_renames(flavor: str, lower: int, tmp_path: Path) -> None:
    """Each case is in two databases."""
    cases = list(statements())
    databases = [f"{letter}{number}" for number in range(len(cases)) for letter in "xy"]
    with (
        live.server(flavor, f"--lower-case-table-names={lower}") as server,
        live.reach(server) as connection,
        binarrow.SchemaHistory.open(tmp_path / "history.db") as history,
    ):
        start = history.baseline(connection)
        for number, case in enumerate(cases):
            play(server, number, case, is_upper=lower == 1)
        oracle = Oracle(server)
        shown = {name: foreign_keys(oracle.create_statements([name])) for name in databases}
        with connection.stream(start, stop="end", history=history) as stream:
            assert not list(stream)
        scripts = history.snapshot()
    found = {name: foreign_keys(scripts[name]) for name in databases}
    wrong = {name: (found[name], shown[name]) for name in databases if found[name] != shown[name]}
    assert not wrong, [(cases[int(name[1:])], *keys) for name, keys in wrong.items()]


def play(server: Server, number: int, case: list[str], *, is_upper: bool) -> None:
    databases = (f"x{number}", f"y{number}")
    with closing(server.connect()) as session:
        session.execute(*(f"CREATE DATABASE {name} CHARACTER SET latin1" for name in databases))
        session.execute(f"USE {databases[0]}", PARENT, OTHER, CHILD, TREE)
        for statement in case:
            text = statement.format(*databases)
            if is_upper:
                text = text.replace("RENAME TABLE p TO", "RENAME TABLE P TO")
            session.execute(text)
