"""The tables of `binarrow.spark.sync`: what happens before a batch is written, without a Spark session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from binarrow.spark.syncing import tables as module
from binarrow.spark.syncing.documents import Batch, Documents
from binarrow.spark.syncing.filled_columns import FilledColumns
from binarrow.spark.syncing.parked import ParkedTables
from binarrow.spark.syncing.place import Place
from binarrow.spark.syncing.policies import Policies
from binarrow.spark.syncing.structures import Structure
from binarrow.spark.syncing.tables import Tables
from binarrow.syncing.errors import TableError

NAME = ("shop", "t")
ID = StructField("id", IntegerType())


class Target:
    """The tables of a target by their names in SQL."""

    def __init__(self):
        self.schemas = {}

    def mirror(self, spark, name, form, properties):
        return SimpleNamespace(
            spark=spark,
            name=name,
            format=form,
            properties=properties,
            schema=lambda: self.schemas.get(name),
            create=lambda schema: self.schemas.update({name: schema}),
            set_property=lambda key, value: None,
        )


class Structures:
    def __init__(self, *fields):
        self.found = {NAME: Structure(StructType([*fields]), ("id",))}

    def selected(self):
        return list(self.found)

    def of(self, names):
        return {name: one for name, one in self.found.items() if name in names}


@pytest.fixture
def tables(monkeypatch):
    target = Target()
    monkeypatch.setattr(module, "TableMirror", target.mirror)

    def started(structures, **policies):
        own = Tables(
            Place("delta", None, "/lake"),
            structures,
            FilledColumns({}),
            Policies(**policies),
            ParkedTables("stop", None),
        )
        [table] = own.opened(None, set(), "query")
        own.is_first = False
        return own, table

    return started


@pytest.mark.parametrize("mode", ["history", "scd2"])
def test_a_drop_in_the_run_that_created_the_table(tables, mode):
    structures = Structures(ID)
    own, table = tables(structures, mode=mode)
    assert not table.is_dropped
    structures.found.clear()
    [dropped] = own.opened(None, {NAME}, "query")
    assert dropped.is_dropped
    assert [field.name for field in dropped.own] == ["id"]
    assert mode == "history" or dropped.structure.key == ("id",)


def test_a_mirror_keeps_a_dropped_table(tables):
    structures = Structures(ID)
    own, _ = tables(structures)
    structures.found.clear()
    assert not list(own.opened(None, {NAME}, "query"))


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_columns_with_the_names_of_validity(tables, mode):
    _, table = tables(Structures(ID, StructField("_valid_to_version", LongType())), mode=mode)
    assert table.held().names == ["id", "_valid_to_version"]
    assert [field.name for field in table.own] == ["id", "_valid_to_version"]


def test_versions_need_other_names(tables):
    with pytest.raises(TableError, match="_valid_to, which is the name of a column that"):
        tables(Structures(ID, StructField("_Valid_To", LongType())), mode="scd2")


def test_a_dropped_database():
    batch = Batch({NAME: Documents((5, 0)), ("shop", ""): Documents((7, 0), emptied=(7, 0))})
    assert batch.tables == {NAME}
    assert batch.dropped == {"shop"}
    found = batch.of(NAME, -1)
    assert found is not None
    assert (found.last, found.emptied) == ((7, 0), (7, 0))
    assert batch.of(("shop", "other"), 7) is None
    assert batch.of(("shop", "other"), 6) == Documents((7, 0), (7, 0))


@pytest.mark.parametrize(
    ("hosts", "is_visible", "file", "expected"),
    [
        (1, True, "binlog.000002", (2 << 40) + 99),
        (1, False, "binlog.000002", -1),
        (1, None, "binlog.000002", -1),
        (2, True, "binlog.000002", -1),
        (1, True, "", -1),
    ],
)
def test_the_version_that_select_sees(hosts, is_visible, file, expected):
    position = SimpleNamespace(
        visible_to_select=is_visible, file=file, file_number=2, version_shift=0, offset=100
    )
    live = SimpleNamespace(target=SimpleNamespace(endpoints=("host",) * hosts))
    found = module.Structures(SimpleNamespace(read={}), live)._version_before_select(
        SimpleNamespace(position=lambda: position)
    )
    assert found == expected
