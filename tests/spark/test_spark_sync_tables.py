"""The tables of `binarrow.spark.sync`: what happens before a batch is written, without a Spark session."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from pyspark.sql.types import IntegerType, LongType, ShortType, StructField, StructType

from binarrow import Column, SchemaError, TableSchema
from binarrow.spark.schema import GENERATED, HAS_DEFAULT, NULLABLE
from binarrow.spark.syncing import tables as module
from binarrow.spark.syncing.column_changes import COLUMNS, ColumnChanges
from binarrow.spark.syncing.documents import Alteration, Batch, Documents, NewType
from binarrow.spark.syncing.filled_columns import FILL, FilledColumns
from binarrow.spark.syncing.parked import ParkedTables
from binarrow.spark.syncing.place import Place
from binarrow.spark.syncing.policies import Policies
from binarrow.spark.syncing.properties import encoded
from binarrow.spark.syncing.structures import Structure
from binarrow.spark.syncing.tables import KEY, QUERY, TABLE_DROPPED, Tables
from binarrow.syncing.errors import TableError

NAME = ("shop", "t")
ID = StructField("id", IntegerType())


class Target:
    """The tables of a target by their names in SQL."""

    def __init__(self):
        self.schemas = {}
        self.stored = {}

    def mirror(self, spark, name, form, properties):
        return SimpleNamespace(
            spark=spark,
            name=name,
            format=form,
            properties=properties,
            schema=lambda: self.schemas.get(name),
            create=lambda schema: self.schemas.update({name: schema}),
            set_property=self.stored.__setitem__,
            unset_property=self.stored.pop,
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
        given = Policies(**policies)
        own = Tables(
            Place("delta", None, "/lake"),
            structures,
            FilledColumns({}),
            given,
            ParkedTables("stop", None),
            ColumnChanges(given),
        )
        own.target = target
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


def test_statements_before_a_table_was_emptied():
    one, other = Alteration((5, -1), dropped_columns=("a",)), Alteration((8, -1))
    found = Documents((9, 0), emptied=(7, -1), altered=(one, other))
    assert found.alterations == [other]
    kept = found.without_statements()
    assert kept is not None
    assert kept.alterations == [one, other]
    later = found.after(5)
    assert later is not None
    assert later.altered == (other,)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (Alteration((5, -1), dropped_columns=("n",)), ("N",)),
        (Alteration((5, -1), renamed_columns=(("n", "m"), ("m", "n"))), ("N", "m")),
        (Alteration((5, -1), dropped_columns=("gone",)), ()),
        (Alteration((5, -1), changes_rows=True), ()),
    ],
)
def test_columns_that_get_the_names_of_others(statement, expected):
    """The next batch may contain the statement that adds a column with the name again."""
    without_default = {HAS_DEFAULT: "false", NULLABLE: "true"}
    own = [StructField(name, IntegerType(), metadata=without_default) for name in ("id", "N", "m")]
    mirror = SimpleNamespace(set_property=lambda key, value: None)
    documents = Documents((6, 0), altered=(statement,))
    for emptied in (None, (6, -1)):
        found = replace(documents, emptied=emptied)
        columns = FilledColumns({}).begin(mirror, NAME, own, own, found)
        assert columns == (expected if emptied is None else ())


def test_generated_columns_that_get_the_names_of_others():
    """MariaDB: the rows of the target have the values of the dropped column."""
    computed = {GENERATED: "true", HAS_DEFAULT: "false", NULLABLE: "true"}
    own = [ID, StructField("n", IntegerType(), metadata=computed)]
    mirror = SimpleNamespace(set_property=lambda key, value: None)
    dropped = Alteration((5, -1), dropped_columns=("n",))
    found = Documents((6, 0), altered=(dropped,))
    assert FilledColumns({}).begin(mirror, NAME, own, own, found) == ("n",)
    lacking = Documents((6, 0), ((frozenset(["id"]), (6, 0)),))
    assert FilledColumns({}).begin(mirror, NAME, own, own, lacking) == ()
    stopped = FilledColumns({})
    stopped.restore(NAME, {FILL: encoded(["n"])})
    assert stopped.begin(mirror, NAME, own, own, None) == ("n",)


class Altered:
    """A table whose columns change; its target has the columns of `held`, and some properties."""

    def __init__(self, *held):
        self.properties = {}
        self.held = StructType([*held])
        self.mirror = SimpleNamespace(
            set_property=self.properties.__setitem__, unset_property=self.properties.pop
        )

    def check(self, policy, *columns, statement=None, created=None, version=-1):
        """Returns the reason why a new run does not permit columns; None if it permits them."""
        own = [Column(**one) for one in columns]
        described = TableSchema(*NAME, own)
        structure = Structure(StructType(), ("id",), version, "server", described)
        changes = ColumnChanges(Policies(schema_changes=policy))
        if created:
            self.properties |= changes.properties(structure)
        changes.restore(NAME, self.properties)
        table = SimpleNamespace(
            name=NAME,
            structure=structure,
            is_dropped=False,
            mirror=self.mirror,
            held=lambda: self.held,
            own=[StructField(one["name"], TYPES[one["type"]]) for one in columns],
        )
        documents = Documents((9, 0), altered=() if statement is None else (statement,))
        try:
            changes.check(table, documents)
        except SchemaError as error:
            return str(error)
        return None


TYPES = {"int": IntegerType(), "bigint": LongType(), "smallint": ShortType()}
INT, BIGINT, SMALLINT, MORE = (
    {"name": name, "type": kind, "nullable": True}
    for name, kind in (("id", "int"), ("id", "bigint"), ("id", "smallint"), ("more", "int"))
)


def test_wider_columns():
    table = Altered()
    assert table.check("widen", INT, created=True, version=3) is None
    # Without the structure before it, the statement may change values. It may be in a later batch.
    wider, later = (
        Alteration((version, -1), changes_rows=True, converted_columns=("id",))
        for version in (5, 7)
    )
    assert "changes existing values" in str(table.check("widen", INT, MORE, statement=wider))
    wider = replace(wider, new_types=(NewType(Column(**BIGINT)),))
    assert table.check("widen", BIGINT, MORE, version=6) is None
    assert table.check("widen", BIGINT, MORE, statement=wider, version=6) is None
    assert table.check("widen", BIGINT, MORE, statement=wider) is None
    assert "changes existing values" in str(table.check("widen", BIGINT, MORE, statement=later))
    refused = table.check("widen", SMALLINT, MORE)
    assert "the column id gets the type SMALLINT, not BIGINT" in str(refused)
    assert "reload='shop.t'" in str(refused)
    assert "the column more is dropped" in str(table.check("widen", BIGINT))
    # A statement that leaves the same columns.
    for statement, why in (
        (Alteration((8, -1), dropped_columns=("more",)), "the column more is dropped"),
        (Alteration((8, -1), renamed_columns=(("a", "more"),)), "a is renamed to more"),
        (later, "the statement changes existing values"),
        (Alteration((5, -1), changes_rows=True), "the statement may remove or add rows"),
    ):
        assert why in str(table.check("widen", BIGINT, MORE, statement=statement))
    missing = Alteration((8, -1), dropped_columns=("other",))  # DROP COLUMN IF EXISTS
    assert table.check("widen", BIGINT, MORE, statement=missing) is None
    renamed = Alteration((8, -1), renamed_columns=(("more", "more"),))
    assert table.check("widen", BIGINT, MORE, statement=renamed) is None
    # "follow" permits all changes, and later runs compare with the columns after them.
    assert table.check("follow", SMALLINT) is None
    assert COLUMNS not in table.properties
    table.held = StructType([StructField("id", ShortType())])
    assert table.check("widen", SMALLINT) is None
    assert table.check("widen", INT) is None


def test_statements_beside_a_wider_column():
    """Only the columns whose types are wider may be converted."""
    for converted, expected in (("id", None), ("more", "changes existing values"), ("", "remove")):
        table = Altered()
        table.check("widen", INT, MORE, created=True, version=3)
        columns = tuple(converted.split())
        statement = Alteration(
            (5, -1),
            changes_rows=True,
            converted_columns=columns,
            new_types=(NewType(Column(**BIGINT)),),
        )
        found = table.check("widen", BIGINT, MORE, statement=statement, version=6)
        assert found is None if expected is None else expected in str(found)


def test_no_changes_of_columns():
    table = Altered(ID)
    assert "other types: more;" in str(table.check("fail", INT, MORE))  # of an earlier version
    assert table.check("fail", INT) is None
    assert "dropped or have other types: id" in str(table.check("fail", MORE))
    assert "dropped or have other types: id" in str(table.check("fail", BIGINT))


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


@pytest.mark.parametrize("stored", [("a", "B"), None])
def test_another_key(tables, monkeypatch, stored):
    """A mirror stores the key of its rows; one of an earlier version has the present key."""
    structures = Structures(StructField("a", IntegerType()), StructField("b", IntegerType()))
    [described] = structures.found.values()
    structures.found[NAME] = replace(described, key=("a",))
    own, table = tables(structures, mode="mirror")
    assert not own.has_other_key(table)
    properties = {QUERY: "query"} | ({KEY: encoded(stored)} if stored else {})
    monkeypatch.setattr(module, "read_properties", lambda *_: properties)
    own.created.clear()
    [table] = own.opened(None, {NAME}, "query")
    assert own.has_other_key(table) == bool(stored)
    structures.found[NAME] = replace(described, key=("b", "a"))
    [table] = own.opened(None, {NAME}, "query")
    assert own.has_other_key(table) == (stored is None)
    own.accept_rows(table)
    assert not own.has_other_key(table)


@pytest.mark.parametrize(("policy", "expected"), [("keep", True), ("drop", False)])
def test_a_table_that_is_created_again(tables, monkeypatch, policy, expected):
    structures = Structures(ID)
    own, _ = tables(structures, on_drop=policy)
    found, stored = structures.found.copy(), own.target.stored
    monkeypatch.setattr(Place, "drop", lambda *_: own.target.schemas.clear())
    structures.found.clear()
    assert not list(own.opened(None, {NAME}, "query"))
    assert (TABLE_DROPPED in stored) == expected
    monkeypatch.setattr(module, "read_properties", lambda *_: {QUERY: "query"} | stored)
    structures.found.update(found)
    [table] = own.opened(None, {NAME}, "query")
    assert own.was_dropped(table) == expected
    own.accept_rows(table)
    assert TABLE_DROPPED not in stored
    assert not own.was_dropped(table)
