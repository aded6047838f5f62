"""Folders of exported tables: each name belongs to one table."""

from __future__ import annotations

import itertools
import random

import pytest

from binarrow import ConfigError
from binarrow.cli.folder_name import folder_name, table_of


def test_every_pair_of_names_has_its_own_folder():
    letters = "a.%/2Ee \x01\x7f\x85ü"
    names = ["".join(each) for n in (1, 2) for each in itertools.product(letters, repeat=n)]
    names += ["..", "x%2Fy", "%", "%%", "表" * 40, "-rf", "part-00000", ".export-x"]
    rng = random.Random(8)
    tables = {(rng.choice(names), rng.choice(names)) for _ in range(20_000)}
    tables |= {("a", "b.c"), ("a.b", "c"), ("a", "x/y"), ("a", "x%2Fy")}
    folders = {folder_name(*table): table for table in tables}
    assert len(folders) == len(tables)
    for folder, table in folders.items():
        assert table_of(folder) == table
        assert "/" not in folder
        assert folder not in (".", "..")
        assert folder.replace(" ", "").isprintable()


def test_usual_names_are_as_they_are():
    assert folder_name("shop", "order_items") == "shop.order_items"
    assert folder_name("größe", "a b$-") == "größe.a b$-"


@pytest.mark.parametrize("table", [("", ""), ("d" * 200, "t" * 55), ("表" * 64, "名" * 64)])
def test_a_folder_that_cannot_be_is_an_error(table):
    with pytest.raises(ConfigError, match="cannot be exported"):
        folder_name(*table)


def test_the_longest_folder():
    assert len(folder_name("d" * 127, "t" * 127)) == 255
