"""The oracle is the server: replaying its log from empty gives what SELECT gives, bit for bit.

Every server plays the random workload once, under row metadata FULL. For another run by hand:

    BINARROW_SEED=7 BINARROW_TRANSACTIONS=2000 pytest tests/fidelity/test_differential.py -s
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import TypeOptions
from support.extent import rounds
from support.oracles import listing, oracle
from support.oracles.compare import Compared, assert_same_tables
from support.oracles.oracle import Selected
from support.oracles.replay import ENVELOPE, Change, Changes, changes_of, replay, truncations_in
from support.servers.servers import FLAVORS, Server
from support.workloads import workload

SEED = int(os.environ.get("BINARROW_SEED", "1"))
TRANSACTIONS = rounds("BINARROW_TRANSACTIONS", 150, 300)

# A table with a column for each charset.
CHARSETS = f"{workload.DATABASE}.charsets"

SEGMENTS = (65_536, 64 << 20)
CONFIGURATIONS = [
    {"threads": threads, "segment_bytes": size} for threads in (1, 4) for size in SEGMENTS
]


@dataclass
class Play:
    """A server that has played the workload, and what it holds now."""

    server: Server
    tables: list[str]
    files: list[Path]
    truncations: list[tuple[int, str]]
    text_bytes: Selected
    selected: dict[str, Selected] = field(repr=False)

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        """Columns that the images of updates lack (MariaDB 11.8)."""
        return workload.GENERATED if self.server.flavor == "mariadb-11.8" else {}

    def read(self, **keywords: Any) -> binarrow.BinlogReader:
        settings = {"envelope": ENVELOPE, **keywords}
        return binarrow.read_binlog([str(path) for path in self.files], **settings)

    def listing(self) -> str:
        """The output of the server's own tool for all files."""
        return "".join(self.server.mysqlbinlog(path, "-vv") for path in self.files)


@pytest.fixture(scope="module", params=(*FLAVORS, "mariadb-10.5"))
def play(request: pytest.FixtureRequest) -> Iterator[Play]:
    with Server.start(request.param) as server:
        tables = workload.run(server, SEED, TRANSACTIONS, compressed_share=0.3, extras=True)
        server.flush_binlog()
        files = server.binlog_files()[:-1]
        selected = {table: oracle.select(server, table) for table in tables}
        text_bytes = oracle.select(server, CHARSETS, text_as_bytes=True)
        yield Play(server, tables, files, truncations_in(files), text_bytes, selected)


def report(play: Play, what: str, compared: Compared) -> None:
    print(f"\n{play.server.flavor}, seed {SEED}, {what}: {compared}")


# ------------------------------------------------------------------------- against the server


@pytest.mark.parametrize("types", ["native", "spark"])
def test_replay_gives_what_select_gives(play: Play, types: str) -> None:
    replayed = replay(play.read(types=types), play.truncations)

    compared = assert_same_tables(replayed, play.selected, play.left_out)
    report(play, types, compared)
    assert compared.rows > 1000
    leftover = {table for table, state in replayed.items() if state.content(state.names)}
    # nothing of tables that never came to be
    assert leftover - set(workload.NOT_COMPARED) <= set(play.selected)


def test_text_can_be_read_as_bytes(play: Play) -> None:
    reader = play.read(tables=CHARSETS, types=TypeOptions(invalid_text="binary"))
    replayed = replay(reader, play.truncations)

    compared = assert_same_tables(replayed, {CHARSETS: play.text_bytes}, {})
    report(play, "bytes", compared)
    assert compared.rows > 0


# ------------------------------------------------------------- the same rows, however they are read


@pytest.mark.parametrize("types", ["native", "spark"])
def test_threads_and_segments_change_nothing(play: Play, types: str) -> None:
    first, *others = (changes_by_table(play.read(types=types, **c)) for c in CONFIGURATIONS)

    assert sum(len(changes) for changes in first.values()) > 1000
    for configuration, other in zip(CONFIGURATIONS[1:], others, strict=True):
        assert other.keys() == first.keys(), configuration
        for table, changes in first.items():
            assert other[table] == changes, f"{table} with {configuration}"


def test_the_profiles_hold_the_same_values(play: Play) -> None:
    native = changes_by_table(play.read(types="native"))
    spark = changes_by_table(play.read(types="spark"))

    assert native.keys() == spark.keys()
    for table, changes in native.items():
        assert spark[table] == changes, table


def test_a_choice_of_tables_changes_nothing(play: Play) -> None:
    everything = changes_by_table(play.read())
    for chosen in (["workload.ints"], ["workload.wide", "workload.xa_left"], ["workload.t*"]):
        few = changes_by_table(play.read(tables=chosen))
        names = {
            table
            for table in everything
            if table in chosen or (chosen == ["workload.t*"] and table.startswith("workload.t"))
        }
        assert few.keys() == names
        for table in names:
            assert few[table] == everything[table], f"{table} of {chosen}"


def test_file_objects_give_what_paths_give(play: Play) -> None:
    files = [path.open("rb") for path in play.files]
    try:
        reader = binarrow.read_binlog(files, envelope=ENVELOPE, segment_bytes=65_536)
        from_objects = changes_by_table(reader)
    finally:
        for file in files:
            file.close()

    from_paths = changes_by_table(play.read())
    assert from_objects.keys() == from_paths.keys()
    for table, changes in from_paths.items():
        assert from_objects[table] == changes, table


def test_any_position_continues_with_the_rest(play: Play) -> None:
    """All rows that were not returned before, and nothing else."""

    def places(batch: binarrow.ChangeBatch) -> set[tuple[str, int, int]]:
        data = batch.to_pyarrow()
        versions, ordinals = (
            data.column(name).to_pylist() for name in ("_commit_version", "_change_ordinal")
        )
        table = f"{batch.database}.{batch.table}"
        return {(table, *place) for place in zip(versions, ordinals, strict=True)}

    batches = [(batch.position, places(batch)) for batch in play.read(segment_bytes=65_536)]
    everything: set[tuple[str, int, int]] = set().union(*(found for _, found in batches))
    for index in range(0, len(batches), max(1, len(batches) // 12)):
        position = binarrow.Position.from_json(batches[index][0].to_json())
        found = set().union(*map(places, play.read(start=position)))
        seen = set().union(*(found for _, found in batches[: index + 1]))
        assert found == everything - seen


def changes_by_table(batches: binarrow.BinlogReader) -> dict[str, list[tuple[Any, Change]]]:
    """Each table's changes in the order in which they came, each with its columns' names."""
    tables: dict[str, list[tuple[Any, Change]]] = {}
    for batch in batches:
        changes: Changes = changes_of(batch)
        held = tables.setdefault(changes.table, [])
        held.extend((changes.names, change) for change in changes.items)
    return tables


# ------------------------------------------------------------------------ against mysqlbinlog


def test_counts_agree_with_mysqlbinlog(play: Play) -> None:
    reader = play.read(uncommitted="emit", split_key_updates=False)
    counts: Counter[tuple[str, str]] = Counter()
    kinds = {"insert": "inserts", "update_preimage": "updates", "delete": "deletes"}
    for batch in reader:
        for kind in batch.to_pyarrow().column("_change_type").to_pylist():
            if kind in kinds:
                counts[f"{batch.database}.{batch.table}", kinds[kind]] += 1

    printed = play.listing()
    skipped = listing.given_up(printed)
    for table in skipped:  # mysqlbinlog has no words for geometry
        assert any(c.data_type == "geometry" for c in play.selected[table].columns), table
    wanted = {key: n for key, n in listing.counts(printed).items() if key[0] not in skipped}
    assert len(wanted) > 50
    assert {key: n for key, n in counts.items() if key[0] not in skipped} == wanted
    stats = reader.stats()["tables"]
    for (table, kind), count in wanted.items():
        assert stats[counted(table)][kind] == count, (table, kind)


def counted(table: str) -> str:
    """The key of a table in `stats()["tables"]`: in backticks if its name contains a dot or a backtick."""
    database, _, name = table.partition(".")
    if not set(name) & {".", "`"}:
        return table
    return ".".join("`{}`".format(part.replace("`", "``")) for part in (database, name))


def test_integers_agree_with_mysqlbinlog_row_by_row(play: Play) -> None:
    table = f"{workload.DATABASE}.ints"
    reader = play.read(tables=table, uncommitted="emit", split_key_updates=False)
    names: tuple[str, ...] = ()
    images: list[tuple[str, tuple[int | None, ...]]] = []
    printed_as = {
        "insert": "inserts SET",
        "update_preimage": "updates WHERE",
        "update_postimage": "updates SET",
        "delete": "deletes WHERE",
    }
    for batch in reader:
        changes = changes_of(batch)
        names = changes.names
        images.extend((printed_as[change.kind], change.row) for change in changes.items)

    unsigned = [name == "id" or name == "required" or name.endswith("unsigned") for name in names]
    printed = listing.integer_images(play.listing(), table, unsigned)
    assert len(printed) > 20
    assert images == printed
