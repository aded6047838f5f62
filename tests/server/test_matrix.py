"""The matrix: every type and charset x row image x metadata x compression x server, cell for cell.

What a reader makes of the log must be what the server holds afterwards, and each row image what the
server's own tool prints of it. The settings are in `matrix.py`, one `Case` each; a server starts
once and plays them all. `pytest -s` shows the table of what was compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import listing
import matrix
import oracle
import printed
import pytest
from compare import assert_same_tables
from matrix import Matrix, Played
from replay import ENVELOPE, changes_of, replay
from servers import ALL_FLAVORS, Server

import binarrow
from binarrow import TypeOptions

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
    """What was compared."""

    cases: int = 0
    rows: int = 0
    selected: int = 0  # cells that were compared with SELECT's
    images: int = 0
    printed: int = 0  # cells that were compared with the listing's
    not_printed: int = 0


@pytest.fixture(scope="module")
def tallies() -> Iterator[dict[str, Tally]]:
    held: dict[str, Tally] = {}
    yield held
    print(
        f"\n{'server':15}{'cases':>7}{'rows':>8}{'cells as selected':>19}{'images':>9}{'as printed':>12}"
    )
    for flavor, tally in held.items():
        print(
            f"{flavor:15}{tally.cases:7}{tally.rows:8}{tally.selected:19}"
            f"{tally.images:9}{tally.printed:12}"
        )


@pytest.mark.parametrize("flavor", ALL_FLAVORS)
def test_matrix(flavor: str, tallies: dict[str, Tally]) -> None:
    tally = tallies.setdefault(flavor, Tally())
    with Server.start(flavor, matrix.options(flavor)) as server:
        player = Matrix(server)
        for number, case in enumerate(matrix.cases(flavor), 1):
            if not case.has_names:
                continue  # with the keyword `schemas`
            play = player.play(case, number)
            try:
                compare_with_select(server, play, tally)
                compare_with_listing(server, play, tally)
            except Exception as error:
                error.add_note(f"{flavor}: {case}")
                raise
            tally.cases += 1
    assert tally.cases == sum(case.has_names for case in matrix.cases(flavor))


def read(play: Played, **keywords: Any) -> binarrow.BinlogReader:
    paths = [str(path) for path in play.files]
    return binarrow.read_binlog(paths, envelope=ENVELOPE, **keywords)


def compare_with_select(server: Server, play: Played, tally: Tally) -> None:
    replayed = replay(read(play), defaults=play.defaults())
    selected = {name: oracle.select(server, name) for name in play.names()}
    compared = assert_same_tables(replayed, selected, {})
    tally.rows += compared.rows
    tally.selected += compared.cells


def compare_with_listing(server: Server, play: Played, tally: Tally) -> None:
    """Image by image, whatever the image holds."""
    text = "".join(server.mysqlbinlog(path, "-vv") for path in play.files)
    wanted = listing.images(text)
    given_up = listing.given_up(text)
    assert given_up <= {f"{play.database}.shapes"}  # MySQL's tool has no words for geometry
    escapes = printed.MARIADB_ESCAPES if server.is_mariadb else printed.MYSQL_ESCAPES
    definitions = {
        f"{play.database}.{table.name}": {c.name: c.definition for c in table.columns}
        for table in play.tables
    }
    counts: Counter[str] = Counter()
    for batch in read(play, types=STORED, split_key_updates=False):
        changes = changes_of(batch)
        if changes.table in given_up:
            continue
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
                    expected = printed.shown(
                        cell, kind, definitions[changes.table].get(name, ""), escapes
                    )
                except printed.NotPrintedError:
                    tally.not_printed += 1
                    continue
                assert value.strip() == expected.strip(), f"{place}, {name} ({kind})"
                tally.printed += 1
    assert counts == {
        table: len(images) for table, images in wanted.items() if table not in given_up
    }
    tally.images += counts.total()
