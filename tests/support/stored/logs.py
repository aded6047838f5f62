"""The recorded logs that stored positions of files refer to, and their changes.

A log is a folder of `tests/fixtures`, or the `shop` of `examples`. It may be read in several ways.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pyarrow as pa

import binarrow
from support.fakes.object_server import serving

REPOSITORY = Path(__file__).parents[3]

ENVELOPE = ("change_type", "commit_version", "change_ordinal", "gtid")

Way = Literal["files", "folder", "compressed", "named", "http"]
"""The way in which the files of a log are read: `named` has other names of files on the disk."""

Rows = dict[str, list[dict[str, Any]]]
"""The changes of each table, in order."""


def files_of(log: str) -> list[Path]:
    """Returns the files of a log."""
    folder = REPOSITORY / ("examples" if log == "shop" else "tests/fixtures") / log
    return sorted(folder.glob("binlog.[0-9]*"))


@contextmanager
def opened(log: str, way: Way) -> Iterator[Any]:
    """Yields the argument of `read_binlog` with which a log is read in a way."""
    files = files_of(log)
    with TemporaryDirectory() as name:
        folder = Path(name)
        match way:
            case "files":
                yield [str(path) for path in files]
            case "folder":
                yield str(files[0].parent)
            case "compressed":
                for path, end in zip(files, (".gz", ".zst"), strict=False):
                    content = path.read_bytes()
                    packed = gzip.compress if end == ".gz" else _zstd
                    (folder / f"{path.name}{end}").write_bytes(packed(content))
                yield str(folder)
            case "named":
                copies = {path.name: folder / f"copy-{n}" for n, path in enumerate(files)}
                for path in files:
                    copies[path.name].write_bytes(path.read_bytes())
                yield {name: str(path) for name, path in copies.items()}
            case "http":
                with serving(files[0].parent) as served:
                    yield [f"{served.http}/{path.name}" for path in files]


def read(source: Any, **keywords: Any) -> binarrow.BinlogReader:
    """Starts to read a log."""
    return binarrow.read_binlog(source, envelope=ENVELOPE, statements="skip", **keywords)


def rows_of(reader: Any) -> Rows:
    """Returns all changes of a reader."""
    rows: Rows = {}
    with warnings.catch_warnings(), reader:
        warnings.simplefilter("ignore")  # about the end of a log
        for batch in reader:
            table = rows.setdefault(f"{batch.database}.{batch.table}", [])
            table += batch.to_pyarrow().to_pylist()
    return rows


def after(rows: Rows, delivered: dict[str, int]) -> Rows:
    """Returns the changes after the ones that were delivered."""
    rest = {table: changes[delivered.get(table, 0) :] for table, changes in rows.items()}
    return {table: changes for table, changes in rest.items() if changes}


def _zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return packed
