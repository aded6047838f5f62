"""Changes of a recorded server that `binarrow export` has written in each format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from typer.testing import CliRunner

from binarrow import read_binlog
from binarrow.cli import app
from binarrow.cli.writer import FileFormat
from support.stored.consumer import SMALL

TABLES = "shop.*"

POSITION = "position.json"
"""The file with the position at which the exported part of the log ends."""


def export(
    files: Sequence[Path], folder: Path, file_format: FileFormat, **places: str
) -> list[Path]:
    """Exports the log between two places. Returns the new files, in the order of tables and parts."""
    places = {f"--{name}": place for name, place in places.items()}
    flags = {"--tables": TABLES, "--to": str(folder), "--format": file_format.value, **places}
    arguments = [text for flag in flags.items() for text in flag]
    result = CliRunner().invoke(app, ["export", *map(str, files), *arguments])
    assert result.exit_code == 0, result.output
    return exported(folder)


def exported(folder: Path) -> list[Path]:
    """Returns the files of an export, in the order of tables and parts."""
    return sorted(path for path in folder.rglob("part-*") if path.is_file())


def middle(files: Sequence[Path]) -> str:
    """Returns the position after half of the batches of a log."""
    reader = read_binlog(files, tables=TABLES, **SMALL)
    ends = [batch.position.base for batch in reader]
    return ends[len(ends) // 2].to_json()
