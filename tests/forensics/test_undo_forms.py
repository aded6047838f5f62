"""SQL that is written directly from rows events is the SQL that is written from decoded rows."""

from __future__ import annotations

import gzip
import importlib
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow._native import UndoWriter

FIXTURES = sorted(
    path for path in Path(__file__).parents[1].joinpath("fixtures").iterdir() if path.is_dir()
)


def script(files: Sequence[str], *, from_rows: bool, redo: bool, **keywords: Any) -> bytes:
    """The script, with the counts of its changes; or the error."""
    writer = UndoWriter(
        redo=redo,
        gtids=[],
        threads=[],
        foreign_key_checks=False,
        dry_run=False,
        offsets=[],
        memory=1 << 20,
    )
    form = UndoWriter.keywords(filtered=False) if from_rows else writer.sql_keywords()
    try:
        with binarrow.read_binlog(files, threads=1, **form, **keywords) as reader:
            for change in reader:
                assert (len(change.schema) == 0) is not from_rows
                writer.add(change)
    except binarrow.BinarrowError as error:
        message = str(error).partition(" (in ")[0]
        return f"{type(error).__name__}: {message}".encode()
    writer.finish([])
    pieces = iter(writer.next_piece, None)
    return b"".join([*pieces, repr(writer.counts()).encode()])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("redo", [False, True], ids=["undo", "redo"])
def test_recorded_logs(redo: bool, shop: Any) -> None:
    written = 0
    logs = [sorted(folder.glob("binlog.0*")) for folder in FIXTURES]
    for files in [*([file] for log in logs for file in log), shop.files]:
        names = [str(file) for file in files]
        keywords = {"redo": redo, "column_names": "positional"}
        expected = script(names, from_rows=True, **keywords)
        assert script(names, from_rows=False, **keywords) == expected, names
        written += expected.count(b"START TRANSACTION")
    assert written > 1000


def test_a_part_of_a_transaction(shop: Any) -> None:
    """A position inside a transaction: the changes before it are left out."""
    files = [str(file) for file in shop.files]
    inside: list[binarrow.Position] = []
    with binarrow.read_binlog(files, batch_rows=1, layout="nested") as reader:
        for number, change in enumerate(reader):
            if number % 17 == 0 and change.position.ahead:
                inside.append(change.position)
            if len(inside) == 3:
                break
    assert len(inside) == 3
    for place in inside:
        keywords = {"redo": False, "start": place}
        expected = script(files, from_rows=True, **keywords)
        assert script(files, from_rows=False, **keywords) == expected, place


@pytest.mark.parametrize("memory", [0, 1 << 20], ids=["file", "memory"])
def test_a_script_is_written_to_every_kind_of_file(
    memory: int, shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("binarrow.undo.script"), "MEMORY", memory)
    files = [str(file) for file in shop.files]

    def undo() -> binarrow.UndoScript:
        keywords = {"unlogged_changes": "ignore", "schema_changes": "ignore"}
        return binarrow.undo(files, tables="shop.*", **keywords)

    expected = b"".join(undo())
    assert len(expected) > 500_000
    path = tmp_path / "undo.sql"
    # The system cannot copy to a file that is open for appending.
    for mode in ("wb", "ab"):
        path.write_bytes(b"-- first\n")
        with path.open(mode) as file:
            undo().write_to(file)
        assert path.read_bytes() == (b"" if mode == "wb" else b"-- first\n") + expected
    buffer = io.BytesIO()
    undo().write_to(buffer)
    assert buffer.getvalue() == expected
    # `fileno` of a gzip file is that of the file with the compressed bytes.
    with gzip.open(path, "wb") as packed:
        undo().write_to(packed)
    with gzip.open(path) as packed:
        assert packed.read() == expected
    short = Short()
    undo().write_to(short)
    assert not short.closed
    assert short.content == expected
    command = [sys.executable, "-c", PIPED, str(memory), *files]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == expected
    script = binarrow.undo(files, tables="shop.*", dry_run=True, schema_changes="ignore")
    script.write_to(buffer)
    assert buffer.getvalue() == expected


class Short(io.RawIOBase):
    """An unbuffered file that writes a part of what it is given."""

    def __init__(self) -> None:
        self.content = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data[:40_000])
        self.content += part
        return len(part)


PIPED = """
import importlib, sys
module = importlib.import_module("binarrow.undo.script")
module.MEMORY = int(sys.argv[1])
keywords = {"unlogged_changes": "ignore", "schema_changes": "ignore"}
script = module.undo(sys.argv[2:], tables="shop.*", **keywords)
script.write_to(sys.stdout.buffer)
"""
