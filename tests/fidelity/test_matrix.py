"""The matrix: every type and charset x row image x metadata x compression x server, cell for cell.

What a reader makes of the log must be what the server holds afterwards, and each row image what the
server's own tool prints of it. What the log does not contain comes from SHOW CREATE TABLE. The settings
are in `matrix.py`, one `Case` each; a server starts once and plays them all. `pytest -s` shows the
table of what was compared, `BINARROW_SEED=7` takes other values.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import binarrow
from binarrow import TypeOptions
from support.oracles import listing, oracle, printed
from support.oracles.compare import as_shown_by_5_7, assert_same_tables
from support.oracles.replay import ENVELOPE, changes_of, replay
from support.servers.servers import ALL_FLAVORS, Server
from support.workloads import matrix, matrix_tables
from support.workloads.matrix import Matrix, Played

SEED = int(os.environ.get("BINARROW_SEED", "1"))
SHOWN = 1500  # of what a case found, in characters

# As stored: text in its own charset, geometry with its SRID in front.
STORED = TypeOptions(invalid_text="binary", geometry="mysql")

PRINTED_AS = {
    "insert": ("inserts", "SET"),
    "update_preimage": ("updates", "WHERE"),
    "update_postimage": ("updates", "SET"),
    "delete": ("deletes", "WHERE"),
}


@dataclass
class Tally:
    """The numbers of comparisons."""

    cases: int = 0
    not_equal: int = 0
    rows: int = 0
    selected: int = 0  # cells that were compared with SELECT's
    images: int = 0
    printed: int = 0  # cells that were compared with the listing's
    not_printed: int = 0


@pytest.fixture(scope="module")
def tallies() -> Iterator[dict[str, Tally]]:
    held: dict[str, Tally] = {}
    yield held
    heads = ("cases", "equal", "not equal", "rows", "cells as SELECT", "images")
    heads = (*heads, "cells as printed", "not printed")
    print(f"\n{f'seed {SEED}':15}{''.join(f'{head:>{len(head) + 3}}' for head in heads)}")
    for flavor, tally in held.items():
        figures = (tally.cases, tally.cases - tally.not_equal, tally.not_equal, tally.rows)
        figures = (*figures, tally.selected, tally.images, tally.printed, tally.not_printed)
        shown = (f"{n:{len(head) + 3}}" for head, n in zip(heads, figures, strict=True))
        print(f"{flavor:15}{''.join(shown)}")


@pytest.mark.parametrize("flavor", ALL_FLAVORS)
def test_matrix(flavor: str, tallies: dict[str, Tally]) -> None:
    tally = tallies.setdefault(flavor, Tally())
    failures: list[str] = []
    levels: set[str | None] = set()  # of metadata without names, that have been seen
    with Server.start(flavor, matrix.options(flavor)) as server:
        player = Matrix(server, SEED)
        for number, case in enumerate(matrix.cases(flavor), 1):
            play = player.play(case, number)
            tally.cases += 1
            try:
                compare_with_select(server, play, tally)
                compare_with_listing(server, play, tally)
                if number == 1:
                    assert not any(matrix_tables.missing(player.session, play.database))
                if not case.has_names and case.metadata not in levels:
                    levels.add(case.metadata)
                    without_structures(server, play)
            except (AssertionError, binarrow.BinarrowError) as error:
                failures.append(f"{case}: {error}"[:SHOWN])
            player.session.execute(f"DROP DATABASE {play.database}")
    tally.not_equal = len(failures)
    assert not failures, "\n".join([f"{flavor}, seed {SEED}", *failures])
    assert tally.cases == len(matrix.cases(flavor))


def read(play: Played, **keywords: Any) -> binarrow.BinlogReader:
    paths = [str(path) for path in play.files]
    return binarrow.read_binlog(paths, envelope=ENVELOPE, **keywords)


def compare_with_select(server: Server, play: Played, tally: Tally) -> None:
    replayed = replay(read(play, schemas=play.given), defaults=play.defaults())
    if server.flavor == "mysql-5.7":
        as_shown_by_5_7(replayed[f"{play.database}.documents"])
    written_out = play.given is not None  # the log says of MariaDB's UUIDs that they are bytes
    selected = {name: oracle.select(server, name, written_out=written_out) for name in play.names()}
    compared = assert_same_tables(replayed, selected, play.left_out(server.flavor))
    tally.rows += compared.rows
    tally.selected += compared.cells


def compare_with_listing(server: Server, play: Played, tally: Tally, **keywords: Any) -> None:
    """Image by image, whatever the image holds."""
    keywords = keywords or {"schemas": play.given}
    text = "".join(server.mysqlbinlog(path, "-vv") for path in play.files)
    wanted = listing.images(text)
    given_up = listing.given_up(text)
    assert given_up <= {f"{play.database}.shapes"}  # MySQL's tool has no words for geometry
    escapes = printed.MARIADB_ESCAPES if server.is_mariadb else printed.MYSQL_ESCAPES
    counts: Counter[str] = Counter()
    for batch in read(play, types=STORED, split_key_updates=False, **keywords):
        changes = changes_of(batch)
        if changes.table in given_up:
            continue
        definitions = play.definitions[changes.table]
        for change in changes.items:
            image = wanted[changes.table][counts[changes.table]]
            counts[changes.table] += 1
            place = f"{changes.table}, image {counts[changes.table]}"
            assert (image.kind, image.part) == PRINTED_AS[change.kind], place
            there = [number for number, is_there in enumerate(change.present, 1) if is_there]
            assert there == [*image.cells], place
            for number in there:
                name, cell = changes.names[number - 1], change.row[number - 1]
                value, kind = image.cells[number]
                try:
                    expected = printed.shown(cell, kind, definitions[number - 1], escapes)
                except printed.NotPrintedError:
                    tally.not_printed += 1
                    continue
                assert value.strip() == expected.strip(), f"{place}, {name} ({kind})"
                tally.printed += 1
    assert counts == {
        table: len(images) for table, images in wanted.items() if table not in given_up
    }
    tally.images += counts.total()


def without_structures(server: Server, play: Played) -> None:
    """Without the tables' structures: an error that says what to do, or columns by place."""
    for table in play.names():
        with pytest.raises(binarrow.SchemaError, match="schemas=") as caught:
            list(read(play, tables=table))
        assert table in str(caught.value)
        assert "positional" in str(caught.value)
    if play.case.metadata == "MINIMAL":
        compare_with_listing(server, play, Tally(), column_names="positional")
        return
    for table in play.names():  # each has an integer whose sign is not logged
        with pytest.raises(
            binarrow.SchemaError, match=r"column @\d+: .* sign of the column"
        ) as caught:
            list(read(play, tables=table, column_names="positional"))
        assert "schemas=" in str(caught.value)
