"""A copy of a history that is in use: `sync` stores it in its target."""

from __future__ import annotations

from pathlib import Path

import pytest

import binarrow


def test_copies_of_a_history_in_use(tmp_path: Path) -> None:
    """Each copy has all statements so far. A copy by another SQLite library would delete the log of the first library."""
    with binarrow.SchemaHistory.open(tmp_path / "tables.db") as history:
        history.baseline("CREATE DATABASE shop; CREATE TABLE shop.t (id INT)", "binlog.000001:4")
        for number in range(5):
            history.apply(
                f"binlog.000001:{100 + number}", "shop", f"ALTER TABLE t ADD c{number} INT"
            )
            copy = tmp_path / f"copy{number}.db"
            history.__binarrow_history__().copy_to(copy)
            with binarrow.SchemaHistory.open(copy) as copied:
                found = copied.find("shop", "t")
                assert found is not None
                assert found.columns[-1].name == f"c{number}"


def test_only_files_are_copied(tmp_path: Path) -> None:
    """A copy does not replace a file."""
    existing = tmp_path / "copy.db"
    existing.write_text("text")
    with binarrow.SchemaHistory.open(tmp_path / "tables.db") as history:
        history.baseline("CREATE DATABASE shop", "binlog.000001:4")
        with pytest.raises(binarrow.BinarrowError):
            history.__binarrow_history__().copy_to(existing)
    assert existing.read_text() == "text"
