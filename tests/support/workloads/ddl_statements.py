"""The statements of `ddl_corpus`: files of SQL with marks.

    -- # title                     what a file is about
    -- only: mysql                 the next statement is for these servers: the others refuse it
    -- fails                       the next statement is an error, and may be in the log all the same
    -- connection: gbk             what follows runs on a new connection, whose client speaks this character set

A statement ends where a line ends with `;`. Comments inside a statement go to the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("ddl_corpus")
START = FOLDER / "00_start.sql"

DDL = r"\s*(/\*M?!\d*)?\s*(CREATE|ALTER|DROP|RENAME|TRUNCATE|SET\s+STATEMENT)\b"
NOT_OF_TABLES = r"^\S+\s+(VIEW|TRIGGER|PROCEDURE|FUNCTION|EVENT|SEQUENCE|TEMPORARY)\b"


@dataclass(frozen=True)
class Statement:
    """A statement of the corpus, and its place."""

    place: str
    sql: str
    only: tuple[str, ...] = ()
    fails: bool = False
    connection: str | None = None  # of this character set, opened before the statement

    def is_for(self, flavor: str) -> bool:
        return not self.only or flavor.split("-", maxsplit=1)[0] in self.only

    @property
    def is_ddl(self) -> bool:
        """True if it is one of those that the final figure counts: of tables, their keys and databases."""
        text = re.sub(r"^\s*/\*[^!M].*?\*/", "", self.sql).upper()
        return bool(re.match(DDL, text)) and not re.search(NOT_OF_TABLES, text)


def read(path: Path) -> Iterator[Statement]:
    """The statements of a file."""
    only: tuple[str, ...] = ()
    fails = False
    connection: str | None = None
    lines: list[str] = []
    first = 0
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not lines and line.startswith("--"):
            mark, _, value = line[2:].strip().partition(":")
            if mark == "only":
                only = tuple(value.split())
            elif mark == "connection":
                connection = value.strip()
            elif mark == "fails":
                fails = True
            continue
        if not lines and not line.strip():
            continue
        first = first if lines else number
        lines.append(line)
        if line.endswith(";"):
            sql = "\n".join(lines).removesuffix(";")
            yield Statement(f"{path.name}:{first}", sql, only, fails, connection)
            only, fails, connection, lines = (), False, None, []
    assert not lines, f"{path.name} ends within a statement"


def corpus() -> list[Statement]:
    """All statements after those of the start."""
    files = sorted(path for path in FOLDER.glob("*.sql") if path != START)
    return [statement for path in files for statement in read(path)]
