"""A batch of a mirror of `binarrow.spark.sync`: what is read and applied, without a Spark session."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, StructField, StructType

from binarrow.spark.syncing import batch
from binarrow.spark.syncing.batch import BatchWriter
from binarrow.spark.syncing.documents import Alteration, Documents
from binarrow.spark.syncing.parked import ParkedTables, value_errors
from binarrow.spark.syncing.policies import Policies
from binarrow.spark.syncing.structures import Structure
from binarrow.spark.syncing.table import Table
from binarrow.syncing.errors import TableError

NAME = ("shop", "t")
ID = StructField("id", IntegerType())


@dataclass
class Written:
    """A batch of a mirror, and what it reads or applies."""

    has_other_key: bool = False
    was_dropped: bool = False
    steps: list[str] = field(default_factory=list)

    def write(self, version=-1, documents=None, **policies):
        """Returns the steps of a batch with changes up to version 5."""

        def add(step):
            return lambda *_, **__: self.steps.append(step)

        mirror = SimpleNamespace(name="t", format="delta", properties={}, evolve=lambda _: None)
        filled = SimpleNamespace(
            begin=lambda *_: (), read_again=add("replace"), add_rows=add("add")
        )
        tables = SimpleNamespace(
            is_first=False,
            has_other_key=lambda table: self.has_other_key,
            was_dropped=lambda table: self.was_dropped,
            accept_rows=add("accept"),
        )
        arguments = (Policies(**policies), ParkedTables("stop", None))
        changes = SimpleNamespace(check=lambda *_: None)
        writer = BatchWriter(tables, filled, *arguments, changes, loads=True)
        structure = Structure(StructType([ID]), ("id",), version)
        table = Table(NAME, structure, mirror)
        with pytest.MonkeyPatch.context() as patch:
            for name in ("table_of", "compare", "Changes"):
                patch.setattr(batch, name, MagicMock())
            patch.setattr(Table, "held", lambda _: StructType([ID]))
            patch.setattr(batch, "apply_changes", lambda *_, **__: add("apply"))
            writer._write_mirror(MagicMock(), table, documents or Documents((5, 0)), 1)
        return self.steps


def test_changes_before_another_key():
    """Changes from before ALTER TABLE are not applied by the new key."""
    assert Written(has_other_key=True).write(5) == ["replace", "accept"]
    assert Written().write(5) == ["apply", "accept"]
    for version in (-1, 4):
        with pytest.raises(TableError, match=r"its key was changed \(now id\)"):
            Written(has_other_key=True).write(version)
    with pytest.raises(TableError, match=r"With on_truncate='keep', it is not known"):
        Written(has_other_key=True).write(5, on_truncate="keep")


def test_rows_of_a_table_that_was_dropped():
    dropped = {"was_dropped": True}
    assert Written(**dropped).write(5) == ["replace", "accept"]
    assert Written(**dropped).write(5, on_truncate="keep") == ["apply", "accept"]
    emptied = Documents((5, 0), emptied=(5, 0))
    assert Written(**dropped).write(-1, emptied) == ["apply", "accept"]
    with pytest.raises(TableError, match="was created again"):
        Written(**dropped).write(-1)
    with pytest.raises(TableError, match="was emptied: continue with on_truncate"):
        Written(**dropped).write(5, on_truncate="fail")


def test_creation_of_a_table_that_was_dropped():
    """Its first CREATE TABLE empties it, unless a later statement does."""
    created = tuple(Alteration((version, -1), is_created=True) for version in (3, 4))
    documents = Documents((5, 0), altered=(Alteration((2, -1)), *created))
    assert documents.from_creation().emptied == (3, -1)
    emptied = replace(documents, emptied=(2, -1))
    assert emptied.from_creation() == emptied
    assert replace(documents, altered=()).from_creation().emptied is None


def test_kept_rows_stay_if_rows_are_read_again():
    """Deletes in the batch are applied, and later batches contain the later ones."""
    altered = Documents((5, 0), altered=(Alteration((5, 0), changes_rows=True),))
    assert Written().write(5, altered) == ["replace", "accept"]
    assert Written().write(5, altered, on_truncate="keep") == ["apply", "add", "accept"]
    with pytest.raises(TableError, match="changes values or replaces rows"):
        Written().write(4, altered, on_truncate="keep")


def test_values_of_a_table_that_is_loaded_again():
    with (
        pytest.raises(TableError, match=r"shop\.t cannot be loaded again: a value does not have"),
        value_errors(NAME),
    ):
        raise PySparkException("[CAST_OVERFLOW] in task 3")
    with pytest.raises(PySparkException, match="no space"), value_errors(NAME):
        raise PySparkException("no space")


@pytest.mark.parametrize("permits", [True, False])
def test_permitted_conversions(permits):
    """A history and versions of rows continue if the policy permits all conversions."""
    converted = Alteration((5, 0), changes_rows=True, converted_columns=("id",))
    documents = Documents((5, 0), altered=(converted,))
    changes = SimpleNamespace(check=lambda *_: [converted] if permits else [])
    arguments = (None, None, Policies("scd2"), ParkedTables("stop", None), changes)
    writer = BatchWriter(*arguments, loads=True)
    table = MagicMock()
    table.name = NAME
    if permits:
        assert writer.known(table, documents) is table.with_dropped_columns.return_value
        return
    with pytest.raises(TableError, match="changes values or replaces rows"):
        writer.known(table, documents)
