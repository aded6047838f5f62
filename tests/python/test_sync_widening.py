"""The changes of columns that `schema_changes="widen"` permits. `tests/sync/test_sync_widen.py` tries them on servers."""

from __future__ import annotations

from typing import Any

import pytest

from binarrow import Column, TableSchema
from binarrow.syncing.widening import holds_all, refusal

TYPES = (
    ["tinyint", "smallint", "mediumint", "int", "bigint"],
    [
        "tinyint unsigned",
        "smallint unsigned",
        "mediumint unsigned",
        "int unsigned",
        "bigint unsigned",
    ],
    ["tinyint unsigned", "smallint"],
    ["smallint unsigned", "mediumint"],
    ["mediumint unsigned", "int"],
    ["int unsigned", "bigint"],
    ["decimal(5,2)", "decimal(6,2)", "decimal(7,3)", "decimal(60,30)"],
    ["decimal(5,2) unsigned", "decimal(5,2)"],
    ["float", "double"],
    ["float unsigned", "float"],
    ["float unsigned", "double unsigned", "double"],
    ["char", "char(2)", "varchar(2)", "varchar(3)", "text", "mediumtext", "longtext"],
    ["tinytext", "text"],
    ["binary(2)", "varbinary(2)", "varbinary(3)", "blob", "mediumblob", "longblob"],
    ["tinyblob", "blob"],
    ["bit", "bit(2)", "bit(64)"],
    ["datetime", "datetime(1)", "datetime(6)"],
    ["timestamp", "timestamp(3)"],
    ["time(2)", "time(3)"],
    ["year(4)"],
    ["json"],
    ["uuid"],
    ["float(7,3)"],
    ["double(9,2)"],
)
"""Each type holds all values of those before it in its list, and of no others."""


def column(kind: str, **properties: Any) -> Column:
    given = {"nullable": True, "unsigned": "unsigned" in kind, **properties}
    return Column("c", kind, **given)


def test_all_pairs_of_types() -> None:
    """The lists say everything: a type that is in no list with another one does not hold its values."""
    wider = {
        (one, other)
        for listed in TYPES
        for place, one in enumerate(listed)
        for other in listed[place:]
    }
    names = sorted({name for listed in TYPES for name in listed})
    transitive = True
    while transitive:
        more = {(a, d) for a, b in wider for c, d in wider if b == c} - wider
        wider |= more
        transitive = bool(more)
    assert len(wider) > 2 * len(names)
    for one in names:
        for other in names:
            assert holds_all(column(one), column(other)) == ((one, other) in wider), (one, other)


def test_widths_of_integers_are_ignored() -> None:
    assert holds_all(column("int(11)"), column("int(4)"))
    assert holds_all(column("int(10) unsigned zerofill"), column("bigint(20)"))
    assert not holds_all(column("int(4) unsigned zerofill"), column("int(11)"))


@pytest.mark.parametrize("kind", ["enum", "set"])
def test_members(kind: str) -> None:
    def members(*names: str) -> Column:
        listed = ",".join(f"'{name}'" for name in names)
        return column(f"{kind}({listed})", members=names)

    assert holds_all(members("a", "b"), members("a", "b", "c"))
    assert not holds_all(members("a", "b"), members("a"))
    assert not holds_all(members("a", "b"), members("b", "a", "c"))
    assert not holds_all(members("a"), column("varchar(9)"))
    assert not holds_all(column("varchar(9)"), members("a"))
    other = "set" if kind == "enum" else "enum"
    assert not holds_all(members("a"), column(f"{other}('a')", members=("a",)))


def table(*columns: Column) -> TableSchema:
    return TableSchema("shop", "t", columns)


def test_columns() -> None:
    before = table(column("int"))
    added = Column("d", "int", nullable=False, unsigned=False)
    assert (
        refusal(before, table(column("int"), added))
        == "the new column d is NOT NULL and has no DEFAULT"
    )
    with_default = Column("d", "int", nullable=False, unsigned=False, default="5")
    assert refusal(before, table(with_default, column("bigint"))) is None
    assert refusal(before, table(with_default)) == "the column c is dropped or renamed"
    assert (
        refusal(before, table(Column("C", "int", nullable=True)))
        == "the column c is dropped or renamed"
    )
    assert refusal(before, before, {"c": "a", "a": "c"}) == "the column a is renamed to c"
    assert refusal(before, before, {"c": "c"}) is None
    assert refusal(before, table(column("int", nullable=False))) == "the column c becomes NOT NULL"
    assert refusal(table(column("int", nullable=False)), before) is None
    assert (
        refusal(before, table(column("int", generated="stored")))
        == "the column c is computed by other rules"
    )


def test_a_statement_that_changes_rows_too() -> None:
    """Without other columns, it is not about columns: an exchange of a partition, for example."""
    before = table(column("int"))
    assert refusal(before, before, changes_rows=True) is None
    assert (
        refusal(before, table(column("bigint")), changes_rows=True)
        == "the statement changes existing values"
    )
    more = table(column("int"), Column("d", "int", nullable=True))
    assert refusal(before, more, changes_rows=True) == "the statement changes existing values"


def test_character_sets() -> None:
    latin, utf8 = (column("varchar(9)", charset=one) for one in ("latin1", "utf8mb4"))
    assert refusal(table(latin), table(latin)) is None
    assert refusal(table(latin), table(utf8)) == "the column c gets the character set utf8mb4"
    binary = column("varbinary(9)")
    assert refusal(table(latin), table(binary)) == (
        "the column c gets the type VARBINARY(9), not VARCHAR(9)"
    )


def test_members_are_not_in_messages() -> None:
    before = table(column("enum('secret','b')", members=("secret", "b")))
    after = table(column("enum('b')", members=("b",)))
    assert refusal(before, after) == "the column c gets the type ENUM(...), not ENUM(...)"
