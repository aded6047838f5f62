"""MySQL's log says of each table of a statement that a foreign key refers to it, if one refers to any table that the statement
uses.

A history that describes the tables shows that none refers to it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import BinarrowWarning, SchemaHistory, UnloggedChange, UnmatchedPatternWarning
from support.live import COLUMNS
from support.logged import database
from support.servers.servers import Server

KEY = "DECIMAL(9,0)"  # a type that can be read without structures
P = f"CREATE TABLE p (id {KEY} PRIMARY KEY)"
C = (
    f"CREATE TABLE c (id {KEY} PRIMARY KEY, p {KEY}, FOREIGN KEY (p) REFERENCES p (id)"
    " ON DELETE CASCADE)"
)


pytestmark = pytest.mark.filterwarnings("ignore::binarrow.UnmatchedPatternWarning")


@dataclass(frozen=True)
class Played:
    """A log with changes of a table that no foreign key refers to."""

    files: list[Path]
    schemas: dict[str, str]
    folder: Path

    def history(self, script: str) -> SchemaHistory:
        """A history that begins with a script before the log."""
        number = len(list(self.folder.glob("*.db")))
        history = SchemaHistory.open(f"sqlite:///{self.folder}/{number}.db")
        history.baseline(script, f"{self.files[0].name}:4")
        return history


@pytest.fixture(scope="module")
def played(mysql_5_7: Server, tmp_path_factory: pytest.TempPathFactory) -> Played:
    server = mysql_5_7
    with database(server, "flagged"):
        server.execute("USE flagged", P, C)
        server.execute("INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (10, 1), (20, 2)")
        server.flush_binlog()
        server.execute(
            "DELETE c FROM c JOIN p ON c.p = p.id WHERE p.id = 1",
            "UPDATE c SET p = 1 WHERE p IN (SELECT id FROM p)",
        )
        file = server.flush_binlog()
        schemas = {
            f"flagged.{name}": server.query(f"SHOW CREATE TABLE flagged.{name}")[0][1]
            for name in ("p", "c")
        }
    return Played([file], schemas, tmp_path_factory.mktemp("flagged"))


def found(played: Played, **keywords: Any) -> list[tuple[str | None, tuple[str, ...]]]:
    """The items of the log. Without them, there must be a warning if and only if there are some."""
    keywords = {"tables": "flagged.*", **COLUMNS, **keywords}
    include = {"include": "unlogged_change"}
    with binarrow.read_binlog(played.files, **keywords, **include) as log:
        items = [one for one in log if isinstance(one, UnloggedChange)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BinarrowWarning)
        warnings.simplefilter("ignore", UnmatchedPatternWarning)
        with binarrow.read_binlog(played.files, **keywords) as log:
            assert sum(batch.num_rows for batch in log) > 0
            counts = log.stats()["unlogged_changes"]
    assert counts == ({"flagged.c": len(items)} if items else {})
    assert len(caught) == bool(items)
    return [(one.operation, one.changed_tables) for one in items]


UNKNOWN = [("delete", ()), ("update", ())]


def test_without_a_history(played: Played) -> None:
    """`schemas` may lack tables with foreign keys."""
    assert found(played) == UNKNOWN
    assert found(played, schemas=played.schemas) == UNKNOWN
    assert found(played, schemas={"flagged.c": played.schemas["flagged.c"]}) == UNKNOWN


def test_a_history_with_all_tables(played: Played) -> None:
    script = f"CREATE DATABASE flagged; USE flagged; {P}; {C}; "
    names = {"column_names": "log"}
    with played.history(script) as history:
        assert found(played, history=history, **names) == []
        # It lacks a table that is read.
        tables = ["flagged.c", "flagged.other"]
        other = ("flagged.other",)
        expected = [("delete", other), ("update", other)]
        assert found(played, history=history, tables=tables, **names) == expected


def test_a_history_that_lacks_a_table_between(played: Played) -> None:
    """`far` refers to a table that may refer to `c`."""
    far = (
        "CREATE TABLE far (m INT, FOREIGN KEY (m) REFERENCES other.m (id)"
        " ON DELETE {} ON UPDATE {})"
    )
    script = f"CREATE DATABASE flagged; USE flagged; {P}; {C}; "
    for actions, changed in (
        (("CASCADE", "RESTRICT"), ("flagged.far",)),
        (("RESTRICT", "SET NULL"), ("flagged.far",)),
        (("RESTRICT", "RESTRICT"), None),
    ):
        with played.history(script + far.format(*actions)) as history:
            expected = [] if changed is None else [("delete", changed), ("update", changed)]
            assert found(played, history=history, column_names="log") == expected
