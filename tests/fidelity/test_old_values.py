"""Old values and keys: the rows with and without them, in both layouts.

For the random workload, what is wanted is worked out here from the plain reading of the same log: a pair of rows for
each update.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from binarrow import TypeOptions
from support.logged import database, logged, read, rows
from support.oracles.cells import column_cells
from support.oracles.replay import ENVELOPE, Change, changes_of
from support.servers.servers import Server
from support.workloads import workload

SEED = int(os.environ.get("BINARROW_SEED", "1"))
TRANSACTIONS = 120

# Cells that are equal where their bytes are, and only there.
STORED = TypeOptions(json="bytes", zero_dates="text", geometry="mysql", enum="ordinal")

T = "CREATE TABLE t (a VARCHAR(9), b INT, note VARCHAR(20), PRIMARY KEY (a, b))"
KEYLESS = "CREATE TABLE keyless (a INT, note VARCHAR(20))"


@pytest.fixture
def small(server: Server) -> Server:
    """A server with a database `small` for one test."""
    with database(server, "small", T, KEYLESS):
        yield server


CHANGES = (
    "INSERT INTO t VALUES ('go', 1, 'x')",
    "UPDATE t SET note = 'y'",
    "UPDATE t SET a = 'GO'",  # the same key to the server
    "UPDATE t SET b = 2, note = NULL",
    "DELETE FROM t",
)


def test_without_old_values(small: Server) -> None:
    files = logged(small, *CHANGES)

    assert rows(files, "small.t", old_value=False) == [
        ("insert", "go", 1, "x"),
        ("update_postimage", "go", 1, "y"),
        ("delete", "go", 1, None),
        ("insert", "GO", 1, "y"),
        ("delete", "GO", 1, None),
        ("insert", "GO", 2, None),
        ("delete", "GO", 2, None),
    ]
    assert rows(files, "small.t", old_value=False, split_key_updates=False) == [
        ("insert", "go", 1, "x"),
        ("update_postimage", "go", 1, "y"),
        ("delete", "go", 1, None),
        ("update_postimage", "GO", 1, "y"),
        ("delete", "GO", 1, None),
        ("update_postimage", "GO", 2, None),
        ("delete", "GO", 2, None),
    ]


def test_a_table_without_a_key_keeps_whole_rows(small: Server) -> None:
    files = logged(
        small,
        "INSERT INTO keyless VALUES (1, 'x'), (1, 'x')",
        "UPDATE keyless SET note = 'y' LIMIT 1",
        "DELETE FROM keyless WHERE note = 'x'",
    )

    changed = [("insert", 1, "x"), ("insert", 1, "x"), ("delete", 1, "x"), ("insert", 1, "y")]
    assert rows(files, "small.keyless", old_value=False) == [*changed, ("delete", 1, "x")]
    assert rows(files, "small.keyless") == [*changed, ("delete", 1, "x")]
    assert rows(files, "small.keyless", split_key_updates=False)[2:4] == [
        ("update_preimage", 1, "x"),
        ("update_postimage", 1, "y"),
    ]


# ------------------------------------------------------------------------------------- nested


def nested(files: Sequence[Path], tables: str, **keywords: Any) -> list[tuple[Any, ...]]:
    """Each change as its letter, its order in the log, and both of its rows."""
    found = []
    for batch in read(files, tables, layout="nested", **keywords):
        for row in batch.to_pyarrow().to_pylist():
            sides = (
                row["before"] and tuple(row["before"].values()),
                row["after"] and tuple(row["after"].values()),
            )
            found.append((row["_op"], row["_change_ordinal"] % 2, *sides))
    return found


def test_nested(small: Server) -> None:
    files = logged(small, *CHANGES)

    assert nested(files, "small.t") == [
        ("c", 0, None, ("go", 1, "x")),
        ("u", 0, ("go", 1, "x"), ("go", 1, "y")),
        ("d", 0, ("go", 1, "y"), None),
        ("c", 1, None, ("GO", 1, "y")),
        ("d", 0, ("GO", 1, "y"), None),
        ("c", 1, None, ("GO", 2, None)),
        ("d", 0, ("GO", 2, None), None),
    ]
    assert nested(files, "small.t", split_key_updates=False)[2:4] == [
        ("u", 0, ("go", 1, "y"), ("GO", 1, "y")),
        ("u", 0, ("GO", 1, "y"), ("GO", 2, None)),
    ]
    assert nested(files, "small.t", old_value=False) == [
        ("c", 0, None, ("go", 1, "x")),
        ("u", 0, None, ("go", 1, "y")),
        ("d", 0, ("go", 1, None), None),
        ("c", 1, None, ("GO", 1, "y")),
        ("d", 0, ("GO", 1, None), None),
        ("c", 1, None, ("GO", 2, None)),
        ("d", 0, ("GO", 2, None), None),
    ]
    assert nested(files, "small.t", old_value=False, split_key_updates=False)[2:4] == [
        ("d", 0, ("go", 1, None), None),
        ("u", 1, None, ("GO", 1, "y")),
    ]


def test_the_schema_of_nested_batches(small: Server) -> None:
    files = logged(small, *CHANGES)
    envelope = ["commit_version", "change_type", "present", "server_id"]
    settings = {"layout": "nested", "envelope": envelope, "envelope_prefix": "$"}

    schema = binarrow.infer_schema(str(files[0]), "small.t", **settings)
    assert schema.names == [
        *("$op", "before", "after", "$commit_version"),
        *("$present_before", "$present_after", "$server_id"),
    ]
    flat = binarrow.infer_schema(str(files[0]), "small.t", envelope=[])
    for side in ("before", "after"):
        struct = schema.field(side).type
        columns = [struct.field(place) for place in range(struct.num_fields)]
        assert pa.schema(columns).equals(flat.remove_metadata(), check_metadata=True)
    [batch] = [change.to_pyarrow() for change in read(files, "small.t", **settings)]
    assert batch.schema.equals(schema, check_metadata=True)


def test_nested_rows_are_brought_under_one_schema(small: Server) -> None:
    files = logged(
        small,
        "INSERT INTO keyless VALUES (1, 'x')",
        "ALTER TABLE keyless DROP COLUMN note, ADD COLUMN more INT FIRST, MODIFY a BIGINT",
        "INSERT INTO keyless VALUES (7, 2)",
        "DELETE FROM keyless WHERE a = 1",
    )
    sides = pa.struct({"a": pa.int64(), "note": pa.string()})
    target = pa.schema({"_op": pa.string(), "after": sides, "before": sides})

    reader = read(files, "small.*", layout="nested", envelope=[])
    changes = reader.table("small.keyless", schema=target, on_schema_change="conform")
    with pytest.warns(binarrow.BinarrowWarning, match="more") as warnings:
        table = changes.read_all()
    assert len(warnings) == 1
    assert table.schema.equals(target)
    assert table.to_pylist() == [
        {"_op": "c", "after": {"a": 1, "note": "x"}, "before": None},
        {"_op": "c", "after": {"a": 2, "note": None}, "before": None},
        {"_op": "d", "after": None, "before": {"a": 1, "note": None}},
    ]

    reader = read(files, "small.*", layout="nested").table("small.keyless")
    with pytest.raises(binarrow.SchemaError, match=r"before\.note is missing.*after\.more is new"):
        reader.read_all()


# ------------------------------------------------------------------------------ random changes


@pytest.fixture(
    scope="module",
    params=[("mysql", False), ("mysql", True), ("mariadb-11.8", False)],
    ids=["mysql", "mysql-partial-json", "mariadb-11.8"],
)
def files(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """The log of a server that has played the workload."""
    flavor, partial_json = request.param
    images = ("FULL",) if partial_json else ("FULL", "MINIMAL", "NOBLOB")
    with Server.start(flavor) as server:
        workload.run(
            server, SEED, TRANSACTIONS, row_images=images, partial_json=partial_json, extras=True
        )
        server.flush_binlog()
        yield [str(path) for path in server.binlog_files()[:-1]]


@dataclass(frozen=True)
class Side:
    """A row, and which of its columns are logged."""

    cells: tuple[Any, ...]
    present: tuple[bool, ...]


@dataclass(frozen=True)
class Event:
    """A row of a nested batch; `ordinal` without the last bit."""

    op: str
    place: tuple[int, int]
    before: Side | None
    after: Side | None


@dataclass
class Plain:
    """The changes of a table, each with both of its rows."""

    key: list[int]
    changes: list[tuple[tuple[int, int], Side | None, Side | None]]


def plain(files: list[str]) -> dict[str, list[Plain]]:
    """By table and batch, from the reading with old values where nothing is split."""
    tables: dict[str, list[Plain]] = defaultdict(list)
    settings = {"types": STORED, "envelope": ENVELOPE, "batch_rows": 1 << 20, "threads": 1}
    for batch in binarrow.read_binlog(files, split_key_updates=False, **settings):
        found = changes_of(batch)
        key = [found.names.index(name) for name in found.key] or [*range(len(found.names))]
        changes = []
        before = None
        for change in found.items:
            if change.kind == "update_preimage":
                before = change
                continue
            old = before if change.kind == "update_postimage" else None
            old = change if change.kind == "delete" else old
            new = None if change.kind == "delete" else change
            changes.append(((change.version, change.ordinal & ~1), side(old), side(new)))
            before = None
        tables[found.table].append(Plain(key, changes))
    return tables


def side(change: Change | None) -> Side | None:
    return change and Side(change.row, tuple(change.present))


def only(held: Side, key: list[int]) -> Side:
    """The key of a row alone."""
    places = range(len(held.cells))
    cells = tuple(held.cells[place] if place in key else None for place in places)
    return Side(cells, tuple(held.present[place] and place in key for place in places))


def filled(held: Side, old: Side, key: list[int]) -> Side:
    """A row with what it leaves out of its key taken from the row before."""
    cells, present = list(held.cells), list(held.present)
    for place in key:
        if not present[place]:
            cells[place], present[place] = old.cells[place], old.present[place]
    return Side(tuple(cells), tuple(present))


def wanted(table: Plain, old_value: bool, split: bool) -> Iterator[Event]:
    """The rule of old values and keys, in the nested layout."""
    for (version, ordinal), before, after in table.changes:
        first, second = (version, ordinal), (version, ordinal + 1)
        if before is None:
            yield Event("c", first, None, after)
            continue
        if after is None:
            yield Event("d", first, before if old_value else only(before, table.key), None)
            continue
        key_changed = any(
            before.present[place]
            and after.present[place]
            and before.cells[place] != after.cells[place]
            for place in table.key
        )
        is_full = all(before.present) and all(after.present)
        if old_value:
            if key_changed and is_full and split:
                yield Event("d", first, before, None)
                yield Event("c", second, None, after)
            else:
                yield Event("u", first, before, after)
            continue
        new = filled(after, before, table.key)
        if key_changed:
            yield Event("d", first, only(before, table.key), None)
        op = "c" if key_changed and is_full and split else "u"
        yield Event(op, second if key_changed else first, None, new)


def flattened(events: Iterator[Event], old_value: bool) -> Iterator[tuple[Any, ...]]:
    """Like the previous function, in the flat layout."""
    for event in events:
        version, ordinal = event.place
        if event.op == "c":
            yield "insert", event.place, event.after
        elif event.op == "d":
            yield "delete", event.place, event.before
        else:
            if old_value:
                yield "update_preimage", event.place, event.before
            yield "update_postimage", (version, ordinal | 1), event.after


def events_of(batch: binarrow.ChangeBatch) -> list[Event]:
    """The rows of a nested batch, cells bit for bit."""
    data = batch.to_pyarrow()
    data.validate(full=True)
    sides = []
    for name in ("before", "after"):
        array = data.column(name)
        fields = [array.type.field(place) for place in range(array.type.num_fields)]
        columns = [column_cells(array.field(place), one) for place, one in enumerate(fields)]
        there = array.is_valid().to_pylist()
        present = data.column(f"_present_{name}").to_pylist()
        assert [bits is not None for bits in present] == there
        cells = zip(*columns, strict=True)
        sides.append(
            [
                Side(row, tuple(bits[i // 8] >> (i % 8) & 1 == 1 for i in range(len(fields))))
                if bits is not None
                else None
                for row, bits in zip(cells, present, strict=True)
            ]
        )
    places = zip(
        data.column("_commit_version").to_pylist(),
        data.column("_change_ordinal").to_pylist(),
        strict=True,
    )
    return [Event(*row) for row in zip(data.column("_op").to_pylist(), places, *sides, strict=True)]


@pytest.mark.parametrize("split", [True, False], ids=["split", "whole"])
@pytest.mark.parametrize("old_value", [True, False], ids=["old", "new"])
def test_random_changes(files: list[str], old_value: bool, split: bool) -> None:
    tables = plain(files)
    settings = {
        "types": STORED,
        "envelope": ENVELOPE,
        "old_value": old_value,
        "split_key_updates": split,
    }
    flat: dict[str, list[Any]] = defaultdict(list)
    for batch in binarrow.read_binlog(files, **settings):
        found = changes_of(batch)
        flat[found.table] += [(c.kind, (c.version, c.ordinal), side(c)) for c in found.items]
    events: dict[str, list[Event]] = defaultdict(list)
    for batch in binarrow.read_binlog(files, layout="nested", **settings):
        events[f"{batch.database}.{batch.table}"] += events_of(batch)

    assert len(tables) > 10
    assert flat.keys() == events.keys() == tables.keys()
    kinds: Counter[str] = Counter()
    for table, batches in tables.items():
        expected = [event for plain in batches for event in wanted(plain, old_value, split)]
        assert events[table] == expected, table
        assert flat[table] == [*flattened(iter(expected), old_value)], table
        kinds.update(kind for kind, _, _ in flat[table])
        places = [place for _, place, _ in flat[table]]
        assert places == sorted(set(places)), table
    assert min(kinds.values()) > 20, kinds
    assert len(kinds) == (4 if old_value else 3), kinds


def test_columns_that_images_leave_out_count_as_memory(small: Server) -> None:
    """They take no byte of the log, but their room in every batch."""
    columns = ", ".join(f"c{number} BIGINT" for number in range(200))
    small.execute(f"CREATE TABLE wide (id INT PRIMARY KEY, {columns})")
    values = ", ".join(f"({number})" for number in range(2000))
    small.execute(f"INSERT INTO wide (id) VALUES {values}")
    files = logged(small, "SET SESSION binlog_row_image = MINIMAL", "UPDATE wide SET c1 = 5")
    small.execute("SET SESSION binlog_row_image = FULL")
    for layout, given in (("flat", 4000), ("nested", 2000)):
        limits: dict[str, Any] = {"batch_bytes": 1 << 20, "layout": layout}
        batches = [change.to_pyarrow() for change in read(files, "small.wide", **limits)]
        assert sum(batch.num_rows for batch in batches) == given
        assert max(batch.nbytes for batch in batches) < 3 << 20
