"""Exports of the first half of a log that each version has written: with those of the rest, they are one set of data.

`tests/fixtures/stored/README.md` describes them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from binarrow.cli.writer import FileFormat
from support.archives import unpack
from support.oracles.compare import assert_same_tables
from support.oracles.oracle import select
from support.oracles.replay import ENVELOPE, replay
from support.servers.servers import Server
from support.stored.exports import POSITION, export, exported
from support.stored.orders import TABLES
from support.stored.servers import STORED, RecordedServers

ARCHIVES = sorted(STORED.glob("*/exports/*.tar.xz"))

TEXT = [one for one in FileFormat if one not in (FileFormat.parquet, FileFormat.arrow)]


@dataclass
class Stored:
    """The exports of a version, and the server of the log."""

    folder: Path
    server: Server

    def files(self, file_format: FileFormat) -> list[Path]:
        """Returns the stored files, and then those that the current code exports."""
        log, start = self.server.binlog_files(), (self.folder / POSITION).read_text()
        before = exported(self.folder / file_format)
        after = export(log, self.folder / "rest" / file_format, file_format, start=start)
        assert before
        assert after
        return [*before, *after]


@pytest.fixture(
    params=ARCHIVES, ids=lambda path: f"{path.parts[-3]}-{path.name.removesuffix('.tar.xz')}"
)
def stored(
    request: pytest.FixtureRequest, tmp_path: Path, recorded_servers: RecordedServers
) -> Stored:
    archive: Path = request.param
    unpack(archive, tmp_path)
    streams = archive.parents[1] / "streams"
    return Stored(tmp_path, recorded_servers.of(streams, archive.name.removesuffix(".tar.xz")))


@dataclass
class Part:
    """The changes in a file, as a batch."""

    path: Path

    @property
    def database(self) -> str:
        return self.path.parent.name.split(".")[0]

    @property
    def table(self) -> str:
        return self.path.parent.name.split(".")[1]

    @property
    def rows(self) -> pa.Table:
        if self.path.suffix == ".parquet":
            return parquet.read_table(self.path)
        return pa.ipc.open_file(self.path).read_all()

    def to_pyarrow(self) -> pa.RecordBatch:
        """Returns the columns, and those of `ENVELOPE`: the log has complete rows."""
        rows = self.rows
        columns = [name for name in rows.column_names if not name.startswith("_")]
        complete = pa.array([b"\xff" * len(columns)] * rows.num_rows)
        rows = rows.append_column("_present", complete)
        rows = rows.select([*columns, *(f"_{name}" for name in ENVELOPE)])
        [batch] = rows.combine_chunks().to_batches()
        return batch


@pytest.mark.parametrize("file_format", [FileFormat.parquet, FileFormat.arrow])
def test_rows(stored: Stored, file_format: FileFormat) -> None:
    """The changes of all files give the rows of the server, and columns keep their types."""
    parts = [Part(path) for path in stored.files(file_format)]
    selected = {f"shop.{table}": select(stored.server, f"shop.{table}") for table in TABLES}
    assert_same_tables(replay(parts), selected, {})
    types: dict[tuple[str, str], pa.DataType] = {}
    for part in parts:
        for field in part.rows.schema:
            assert types.setdefault((part.table, field.name), field.type) == field.type


@pytest.mark.parametrize("file_format", TEXT)
def test_text(stored: Stored, file_format: FileFormat, tmp_path: Path) -> None:
    """The lines are those of an export of the complete log."""
    complete = export(stored.server.binlog_files(), tmp_path / "complete", file_format)
    assert lines_of(stored.files(file_format)) == lines_of(complete)


def lines_of(files: list[Path]) -> dict[str, list[str]]:
    """Returns the lines of each table, without those that name columns."""
    lines: dict[str, list[str]] = {}
    for path in files:
        content = path.read_text().splitlines()
        if path.suffix == ".csv":
            content = content[1:]
        lines.setdefault(path.parent.name, []).extend(map(comparable, content))
    return lines


def comparable(line: str) -> str:
    """Returns a line without the time of the export and the version, which Debezium's events have."""
    event = json.loads(line) if line.startswith('{"before"') else {}
    if "source" not in event:
        return line
    del event["ts_ms"], event["source"]["version"]
    return json.dumps(event)
