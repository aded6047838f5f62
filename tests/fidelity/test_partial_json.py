"""`binlog_row_value_options=PARTIAL_JSON`: updates logged as differences give what SELECT gives.

A random workload for every row image, with and without compressed transactions. For another one:

    BINARROW_SEED=7 BINARROW_TRANSACTIONS=1000 pytest tests/fidelity/test_partial_json.py -s
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import TypeOptions
from support.extent import rounds
from support.logged import logging
from support.oracles import listing, oracle
from support.oracles.compare import assert_same_tables
from support.oracles.json_diff import is_diff
from support.oracles.oracle import Selected
from support.oracles.replay import ENVELOPE, Changes, changes_of, replay
from support.servers.servers import Server
from support.workloads import documents

SEED = int(os.environ.get("BINARROW_SEED", "1"))
TRANSACTIONS = rounds("BINARROW_TRANSACTIONS", 30, 40)

IMAGES = ("FULL", "NOBLOB", "MINIMAL")

COLUMNS = "a JSON, note VARCHAR(30), b JSON, n INT, raw BLOB, c JSON NOT NULL"
PARTIAL_CELL = re.compile(r"###   @(\d+)=(?:@\1 |JSON_)")


@dataclass
class Play:
    """The log of a server, and its current rows."""

    server: Server
    image: str
    database: str
    files: list[Path]
    selected: dict[str, Selected] = field(repr=False)

    @property
    def whole_tables(self) -> list[str]:
        """The tables whose before images hold the documents: all, or those without a key."""
        tables = ["keyless"] if self.image == "MINIMAL" else ["keyed", "keyless"]
        return [f"{self.database}.{table}" for table in tables]

    def read(self, json: str = "text", **keywords: Any) -> binarrow.BinlogReader:
        settings = {"tables": f"{self.database}.*", "envelope": ENVELOPE, **keywords}
        settings["types"] = TypeOptions(json=json)
        return binarrow.read_binlog([str(path) for path in self.files], **settings)

    def listing(self) -> str:
        return "".join(self.server.mysqlbinlog(path, "-vv") for path in self.files)


@pytest.fixture(
    scope="module",
    params=[(image, packed) for image in IMAGES for packed in (False, True)],
    ids=lambda param: f"{param[0]}-{'compressed' if param[1] else 'plain'}",
)
def play(request: pytest.FixtureRequest, mysql: Server) -> Iterator[Play]:
    image, is_compressed = request.param
    database = f"partial_{image}_{is_compressed:d}".lower()
    session = mysql.connect()
    try:
        with logging(mysql) as files:
            session.execute(
                f"CREATE DATABASE {database} CHARACTER SET utf8mb4",
                f"USE {database}",
                f"SET binlog_row_image = {image}, binlog_row_value_options = PARTIAL_JSON",
                f"SET binlog_transaction_compression = {is_compressed:d}",
                f"CREATE TABLE keyed (id INT PRIMARY KEY, {COLUMNS})",
                f"CREATE TABLE keyless (id INT, {COLUMNS})",
            )
            rng = random.Random(f"{SEED} {image}")
            for number in range(TRANSACTIONS):
                session.execute("BEGIN", *transaction(rng, number))
                session.execute("ROLLBACK" if rng.random() < 0.05 else "COMMIT")
        tables = [f"{database}.keyed", f"{database}.keyless"]
        selected = {table: oracle.select(mysql, table) for table in tables}
        yield Play(mysql, image, database, files, selected)
    finally:
        session.execute(f"DROP DATABASE IF EXISTS {database}")
        session.close()


def transaction(rng: random.Random, number: int) -> list[str]:
    statements = []
    for table in ("keyed", "keyless"):
        rows = []
        for row_id in range(10 * number, 10 * number + rng.choice((1, 2, 4))):
            cells = [documents.new_row_text(rng), f"'{row_id}'", documents.new_row_text(rng), "0"]
            cells = [cell if rng.random() < 0.9 else "NULL" for cell in cells]
            rows.append(f"({row_id}, {', '.join(cells)}, 'raw', {documents.new_row_text(rng)})")
        statements.append(f"INSERT INTO {table} VALUES {', '.join(rows)}")
        for _ in range(rng.choice((1, 2, 3))):
            changed = rng.sample("abc", rng.choice((1, 1, 2, 3)))
            settings = [f"{column} = {documents.change(rng, column)}" for column in changed]
            settings += rng.choice(([], ["n = n + 1"], ["note = NULL"], ["raw = 'new'"]))
            if rng.random() < 0.1:
                settings.append("id = -1 - id")
            first = rng.randint(0, 10 * number)
            where = f"WHERE id BETWEEN {first} AND {first + rng.choice((0, 10, 40))}"
            statements.append(f"UPDATE {table} SET {', '.join(settings)} {where}")
        if rng.random() < 0.2:
            statements.append(f"DELETE FROM {table} WHERE id = {10 * rng.randint(0, number)}")
    return statements


def test_replay_gives_what_select_gives(play: Play) -> None:
    replayed = replay(play.read(tables=play.whole_tables))

    selected = {table: play.selected[table] for table in play.whole_tables}
    compared = assert_same_tables(replayed, selected, {})
    print(f"\n{play.database}, seed {SEED}: {compared}")
    assert compared.changes > 2 * TRANSACTIONS * len(selected)


def test_diffs_applied_give_what_select_gives(play: Play) -> None:
    replayed = replay(play.read(json="diff"))

    compared = assert_same_tables(replayed, play.selected, {})
    print(f"\n{play.database}, seed {SEED}, diffs: {compared}")
    assert compared.changes > 4 * TRANSACTIONS


def test_without_the_document_before_there_is_an_error(play: Play) -> None:
    if play.image != "MINIMAL":
        assert f"{play.database}.keyed" in play.whole_tables
        return
    with pytest.raises(binarrow.UnsupportedEventError, match="binlog_row_value_options") as caught:
        list(play.read(tables=f"{play.database}.keyed"))
    assert "binlog_row_image=FULL" in str(caught.value)
    assert "json='diff'" in str(caught.value)
    assert caught.value.event_type in {"Update_rows_partial", "Transaction_payload"}
    assert caught.value.offset
    without = {f"{play.database}.keyed": ["note", "n"]}  # the documents are not selected
    hidden = {f"{play.database}.keyed.{name}": "null" for name in "abc"}
    for old_value in (True, False):
        for keywords in ({"columns": without}, {"mask": hidden}):
            list(play.read(tables=f"{play.database}.keyed", old_value=old_value, **keywords))


def test_the_same_partial_cells_as_mysqlbinlog_shows(play: Play) -> None:
    found: Counter[str] = Counter()
    for batch in play.read(json="diff", uncommitted="emit", split_key_updates=False):
        changes = changes_of(batch)
        for change in changes.items:
            cells = zip(changes.names, change.row, strict=True)
            found.update(name for name, cell in cells if is_diff(cell))

    numbers = {"2": "a", "4": "b", "7": "c"}
    matches = map(PARTIAL_CELL.match, play.listing().splitlines())
    printed = Counter(numbers[match[1]] for match in matches if match)
    assert found == printed
    assert all(count > TRANSACTIONS for count in printed.values()), printed


def test_counts_agree_with_mysqlbinlog(play: Play) -> None:
    reader = play.read(json="diff", uncommitted="emit", split_key_updates=False)
    counts: Counter[tuple[str, str]] = Counter()
    kinds = {"insert": "inserts", "update_preimage": "updates", "delete": "deletes"}
    for batch in reader:
        for kind in batch.to_pyarrow().column("_change_type").to_pylist():
            if kind in kinds:
                counts[f"{batch.database}.{batch.table}", kinds[kind]] += 1

    printed = play.listing()
    assert counts == listing.counts(printed)
    stats = reader.stats()["tables"]
    assert {(table, kind): stats[table][kind] for table, kind in counts} == counts
    events = Counter(
        event.type_name for event in binarrow.inspect([str(path) for path in play.files])
    )
    assert events["Update_rows_partial"] == printed.count("\tUpdate_rows_partial: table id")
    assert events["Update_rows_partial"] > TRANSACTIONS


@pytest.mark.parametrize("json", ["text", "diff"])
def test_keys_change_as_in_other_updates(play: Play, json: str) -> None:
    if f"{play.database}.keyed" not in play.whole_tables:
        json = "diff"
    kinds: Counter[str] = Counter()
    for batch in play.read(json=json, tables=f"{play.database}.keyed"):
        changes = changes_of(batch)
        for first, second in zip(changes.items, changes.items[1:], strict=False):
            is_pair = first.version == second.version and first.ordinal + 1 == second.ordinal
            if is_pair and first.ordinal % 2 == 0:
                kinds[f"{first.kind} {second.kind}"] += 1
                if first.kind == "delete":
                    assert first.row[0] != second.row[0]
                    assert not any(map(is_diff, second.row))
                elif all(first.present) and all(second.present):
                    assert first.row[0] == second.row[0]
    pairs = {"update_preimage update_postimage"}
    if play.image == "FULL":  # other images are not split
        pairs.add("delete insert")
    assert set(kinds) == pairs, kinds


def test_threads_and_segments_change_nothing(play: Play) -> None:
    def changes(**keywords: Any) -> dict[str, list[Any]]:
        tables: dict[str, list[Any]] = {}
        for batch in play.read(tables=play.whole_tables, **keywords):
            found: Changes = changes_of(batch)
            tables.setdefault(found.table, []).extend(found.items)
        return tables

    assert changes(threads=4, segment_bytes=65_536) == changes(threads=1)
