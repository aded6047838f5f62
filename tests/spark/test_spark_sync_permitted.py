"""The types that statements give to columns, and whether `schema_changes="widen"` permits them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from binarrow import Column, TableSchema
from binarrow.spark.syncing.documents import Alteration, NewType
from binarrow.spark.syncing.permitted_columns import PermittedColumns
from binarrow.spark.syncing.structures import Structure

WIDE, MIDDLE, NARROW = "varchar(20)", "varchar(10)", "varchar(5)"


def column(kind: str, **more: Any) -> Column:
    charset = "utf8mb4" if kind.startswith(("varchar", "enum")) else None
    return Column("Name", kind, **{"nullable": True, "charset": charset, **more})


def server(kind: str, version: int, *, at: str = "server", **more: Any) -> Structure:
    """Returns a structure as the server has it at a version of the log."""
    described = TableSchema("shop", "t", [column(kind, **more)])
    return Structure(None, (), version, at, described)  # type: ignore[arg-type]


def modify(version: int, kind: str | None, *, has_charset: bool = True, **more: Any) -> Alteration:
    """Returns ALTER TABLE ... MODIFY; without a type, the document of the stream has none."""
    types = () if kind is None else (NewType(named(column(kind, **more)), has_charset),)
    return Alteration(
        (version, -1), changes_rows=True, converted_columns=("name",), new_types=types
    )


def named(one: Column) -> Column:
    parts = ("type", "nullable", "charset", "members", "auto_increment")
    return Column("name", **{part: getattr(one, part) for part in parts})


class Log:
    """The statements of a table, which batches contain."""

    def __init__(self, kind: str, version: int = 10, **more: Any) -> None:
        self.columns = PermittedColumns.of_new(server(kind, version, **more))

    def batch(self, now: Structure, *statements: Alteration) -> str | None:
        """Checks a batch, as a run that is started again does."""
        columns = PermittedColumns.from_stored(self.columns.to_store())
        for statement in statements:
            why, columns = columns.after(statement, now)
            if why is not None:
                return why
        self.columns = columns.seen(now)
        return None


def test_a_statement_that_changes_no_type():
    log = Log(WIDE)
    now = server(WIDE, 30)
    assert log.batch(now, modify(15, WIDE)) is None
    assert log.batch(now, modify(15, WIDE)) is None  # the batch is repeated
    assert log.batch(now, modify(40, WIDE, nullable=True)) is None
    refused = log.batch(server(WIDE, 60, nullable=False), modify(50, WIDE, nullable=False))
    assert refused == "the column Name becomes NOT NULL"
    assert "changes existing values of the column name" in str(log.batch(now, modify(50, None)))


@pytest.mark.parametrize("now", [WIDE, "varchar(30)"])
def test_a_column_that_is_narrower_for_some_time(now):
    """Text may have been cut off, also if the statements are in two batches."""
    statements = modify(15, NARROW), modify(16, now)
    for parts in (statements,), ((statements[0],), (statements[1],)):
        log = Log(WIDE)
        reasons = [log.batch(server(now, 20), *part) for part in parts]
        assert "gets the type VARCHAR(5), not VARCHAR(20)" in str(reasons[0])


def test_a_column_that_becomes_wider_several_times():
    """The server executes statements before the batch that contains them is written."""
    log = Log(NARROW)
    assert log.batch(server(WIDE, 20)) is None
    first, second = modify(15, MIDDLE), modify(16, WIDE)
    assert log.batch(server(WIDE, 21), first) is None
    assert log.batch(server(WIDE, 22), first, second) is None
    assert log.batch(server(WIDE, 23), first, second) is None  # the batch is repeated
    assert "VARCHAR(10), not VARCHAR(20)" in str(log.batch(server(WIDE, 40), modify(30, MIDDLE)))


def test_equal_statements():
    """A type between two that are equal is found by the order of the statements."""
    log = Log(NARROW)
    wide, narrow, again = modify(15, WIDE), modify(16, NARROW), modify(17, WIDE)
    assert "VARCHAR(5), not VARCHAR(20)" in str(log.batch(server(WIDE, 20), wide, narrow, again))


def test_a_table_that_is_created_after_the_statement():
    """The target may have longer values from before the statement."""
    log = Log(NARROW, 20)
    refused = log.batch(server(NARROW, 30), modify(15, NARROW))
    assert "the types before are not known" in str(refused)
    assert log.batch(server(NARROW, 30), modify(25, NARROW)) is None
    unknown = Log(NARROW, -1)
    assert "are not known" in str(unknown.batch(server(NARROW, -1), modify(15, NARROW)))
    assert unknown.batch(server(NARROW, 40)) is None
    assert unknown.batch(server(NARROW, -1), modify(45, NARROW)) is None


def test_versions_that_are_not_known():
    """The statement may be older or newer than the columns: its type must fit to both."""
    log = Log(NARROW)
    assert log.batch(server(WIDE, -1)) is None
    assert "not VARCHAR(20)" in str(log.batch(server(WIDE, -1), modify(15, MIDDLE)))
    assert log.batch(server(WIDE, -1), modify(16, WIDE)) is None


def test_another_server():
    """Its versions are not comparable with those of the server before."""
    log = Log(WIDE)
    assert log.batch(server(WIDE, 5, at="replica"), modify(3, WIDE)) is None
    assert "VARCHAR(5)" in str(log.batch(server(WIDE, 9, at="replica"), modify(8, NARROW)))


def test_character_sets():
    """A statement without a character set gives the column that of its table."""
    log = Log(WIDE)
    unknown = modify(15, WIDE, has_charset=False)
    assert "gets the character set latin1" in str(
        log.batch(server(WIDE, 20, charset="latin1"), unknown)
    )
    # The table may have had another one in between.
    both = log.batch(server(WIDE, 20), unknown, modify(16, WIDE))
    assert both == "the character set of the column Name is not known in all statements"
    assert log.batch(server(WIDE, 20), unknown) is None
    assert "not known in all" in str(log.batch(server(WIDE, 20), modify(16, WIDE)))
    assert log.batch(server(WIDE, 31), modify(30, WIDE)) is None


def test_auto_increment():
    """0 becomes a number."""
    log = Log("int")
    refused = log.batch(
        server("int", 20, auto_increment=True), modify(15, "int", auto_increment=True)
    )
    assert refused == "the column Name becomes AUTO_INCREMENT"
    log = Log("int", auto_increment=True)
    now = server("bigint", 20, auto_increment=True)
    assert log.batch(now, modify(15, "bigint", auto_increment=True)) is None


def test_members():
    log = Log("enum('a','b')", members=["a", "b"])
    now = server("enum('a','b','c')", 20, members=["a", "b", "c"])
    fewer = modify(15, "enum('a')", members=["a"])
    assert "gets the type ENUM(...)" in str(log.batch(now, fewer))
    more = modify(16, "enum('a','b','c')", members=["a", "b", "c"], has_charset=False)
    assert log.batch(now, more) is None


def test_a_column_of_the_key():
    """MODIFY without NOT NULL leaves it NOT NULL."""
    now = server("bigint", 20, nullable=False)
    assert now.described is not None
    now = replace(now, key=("Name",))
    log = Log("int", nullable=False)
    statements = modify(15, "int"), modify(16, "bigint", nullable=False)
    assert log.batch(now, *statements) is None


def test_an_added_column():
    """The log does not contain the type that it had first."""
    log = Log("int")
    log.columns = PermittedColumns((), 10, "server", unknown=10)
    assert "changes existing values" in str(log.batch(server("int", 20), modify(15, "int")))
    assert log.batch(server("int", 20)) is None
    assert log.batch(server("int", 30), modify(25, "int")) is None


def test_a_property_of_an_earlier_version():
    stored = {"columns": [{"name": "Name", "type": "int", "nullable": True}], "server": "server"}
    log = Log("int")
    log.columns = PermittedColumns.from_stored({**stored, "widened": 7})
    assert "are not known" in str(log.batch(server("int", 20), modify(15, "int")))
    assert log.batch(server("int", 20)) is None
    assert log.batch(server("int", 30), modify(25, "int")) is None
