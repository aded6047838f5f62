"""Whatever reads something that was stored checks its version: each reader is in a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from binarrow import stored_forms
from binarrow._native import STORED_VERSIONS
from binarrow.stored_forms import FORMS, StoredForm
from binarrow.syncing.errors import SyncError

REPOSITORY = Path(__file__).parents[2]
FORM = {form.name: form for form in FORMS}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", [], {}, 1 << 64])
def test_other_values_are_not_versions(form: StoredForm, version: object) -> None:
    with pytest.raises(SyncError, match="is not a format version"):
        form.check(version, "the thing", SyncError)


def test_other_json_is_not_the_form() -> None:
    for text in ("", "{", "[]", "1", "null", "[" * 100_000, b"\xff"):
        with pytest.raises(SyncError, match="the thing is damaged: it is not"):
            FORM["checkpoint"].parse(text, "the thing", SyncError)


READS = re.compile(r"json\.loads?\(|\.read_(?:text|bytes)\(|\b(?:open_file|read_properties)\(")
"""Code that reads JSON, files or properties of tables."""

PARTS = "part of something that has a version"
TASKS = "passed between the driver and tasks of one query, and not stored"
OTHERS = "written by a user or another program"

READERS = {
    "checkpoint.py": "checkpoint",
    "cli/at.py": OTHERS,
    "cli/config_file.py": OTHERS,
    "index.py": "index",
    "mask_salt.py": OTHERS,
    "native_hooks.py": OTHERS,
    "remote_files.py": OTHERS,
    "server/certificate.py": "certificate",
    "server/option_file.py": OTHERS,
    "spark/history_files/delta.py": OTHERS,
    "spark/history_files/iceberg.py": OTHERS,
    "spark/history_files/ranges.py": TASKS,
    "spark/history_files/task.py": TASKS,
    "spark/live/live_range.py": TASKS,
    "spark/live/live_splits.py": "range of a server's log",
    "spark/live/login.py": OTHERS,
    "spark/live/offset.py": "offset of a streaming query",
    "spark/live/state_file.py": "chunks of a load in Spark",
    "spark/metrics_listener.py": OTHERS,
    "spark/mirror/parquet.py": "Parquet mirror",
    "spark/option_parsers.py": OTHERS,
    "spark/options.py": OTHERS,
    "spark/syncing/documents.py": TASKS,
    "spark/syncing/parked.py": "parked tables of a query",
    "spark/syncing/properties.py": "properties of a table of a query",
    "spark/syncing/sync.py": OTHERS,
    "spark/syncing/tables.py": "properties of a table of a query",
    "stored_forms.py": PARTS,
    "syncing/catalog_state.py": PARTS,
    "syncing/delta_folders.py": OTHERS,
    "syncing/duckdb_file.py": "state of a sync in DuckDB",
    "syncing/lake_tables.py": PARTS,
    "syncing/local_state.py": PARTS,
    "syncing/parquet_folder.py": "state of a sync in Parquet files",
    "syncing/store_lock.py": "lock of a sync in an object store",
    "syncing/store_state.py": "state of a sync in Delta or Iceberg tables",
    "syncing/stored_state.py": PARTS,
    "syncing/structures.py": "history file",
}
"""The modules that read something: its form, or the reason why it needs no version."""

RUST_READS = re.compile(r"serde_json::from_|#\[derive\([^)]*Deserialize|PRAGMA application_id")
"""Code that reads JSON or a database."""

RUST_READERS = {
    "history/catalog_text.rs": "history snapshot",
    "history/encoding.rs": PARTS,
    "history/entry.rs": "history file",
    "history/stored_session.rs": "history file",
    "load/certificate.rs": PARTS,
    "net/visible.rs": OTHERS,
    "position/place.rs": "offset of a streaming query",
    "position/stored_load.rs": "position",
    "position/stored_position.rs": "position",
    "source/split/mod.rs": "split",
    "store/sqlite_sql.rs": "history file",
}


@pytest.mark.parametrize(
    ("folder", "pattern", "reads", "readers"),
    [
        ("python/binarrow", "*.py", READS, READERS),
        ("src", "*.rs", RUST_READS, RUST_READERS),
    ],
)
def test_each_reader_is_of_a_form(
    folder: str, pattern: str, reads: re.Pattern[str], readers: dict[str, str]
) -> None:
    """Whoever adds a reader adds it here, with the form that it reads, or the reason why it needs none."""
    root = REPOSITORY / folder
    code = {
        path.relative_to(root).as_posix(): path.read_text().partition("#[cfg(test)]")[0]
        for path in root.rglob(pattern)
        if "tests" not in path.parts and path.name != "tests.rs"
    }
    assert {path for path, text in code.items() if reads.search(text)} == {*readers}
    assert {*readers.values()} <= {*STORED_VERSIONS, *FORM, PARTS, TASKS, OTHERS}
    if folder != "src":
        for form in FORMS:
            constant = next(name for name, one in vars(stored_forms).items() if one is form)
            assert any(constant in text for path, text in code.items() if path in readers), constant


def test_the_documentation_has_all_forms() -> None:
    page = (REPOSITORY / "docs/operations.md").read_text()
    table = re.search(r"\| stored \|.*?\n\n", page, re.DOTALL)
    assert table is not None
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[0].split("\n")[2:-2]]
    versions = {**STORED_VERSIONS, **{form.name: form.version for form in FORMS}}
    assert len(rows) == len(versions)
    for stored, _, current in rows:
        name = max((name for name in versions if stored.startswith(name)), key=len)
        assert re.findall(r"\d+", current)[-1] == str(versions.pop(name)), name
