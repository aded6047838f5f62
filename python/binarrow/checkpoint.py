"""Positions that last: where a reader goes on after its process has ended, however it ended."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from binarrow._native import BinarrowError, ConfigError, Position

FORMAT = "binarrow checkpoint"
VERSION = 1

LARGEST = 64 << 20
"""Bytes that are read at most: GTID sets are long where they have many gaps, but not that long."""

STALE = 3600.0
"""Seconds after which a temporary file is that of a process that was killed."""


class CheckpointError(BinarrowError):
    """A checkpoint cannot be read or written. One that is there stays as it was."""


class Checkpoint(Protocol):
    """What ``Server.stream`` asks of a checkpoint; :class:`FileCheckpoint` is one."""

    @property
    def interval(self) -> float:
        """Seconds between two writes, at least."""

    def load(self) -> Position | None:
        """The position that was saved last; None where none was."""

    def save(self, position: Position) -> None:
        """Keeps a position in place of the one before: whole, or not at all."""


class FileCheckpoint:
    """A position in a file, which survives a crash of the process and of the machine.

        with server.stream("earliest", checkpoint=FileCheckpoint("orders.json")) as changes:
            for change in changes:
                store(change)

    A new position is written to a temporary file beside it, synced to the disk, and given the
    file's name: whoever reads the file finds the old position or the new one, whole. The file is
    JSON and holds no secrets; only its owner may read it. Each reader needs a file of its own.

    Args:
        path: The file. Its folder must exist, and be writable.
        interval: Seconds between two writes, at least: each waits for the disk. What was read since
            the last one is read again after a crash. 0 writes at each batch.
    """

    def __init__(self, path: str | os.PathLike[str], *, interval: float = 1.0) -> None:
        if not interval >= 0:
            raise ConfigError("interval: a number of seconds is needed, 0 for each batch")
        # A link stays one: what it leads to is replaced.
        self._path = Path(os.path.realpath(path))
        self._interval = float(interval)
        self._shown = os.fspath(path)
        self._tidied = False

    @property
    def path(self) -> Path:
        """The file, links followed."""
        return self._path

    @property
    def interval(self) -> float:
        """Seconds between two writes, at least."""
        return self._interval

    def load(self) -> Position | None:
        """The position in the file; None where there is no file.

        Raises:
            CheckpointError: The file cannot be read, or holds something else.
        """
        try:
            with self._opened() as file:
                data = file.read(LARGEST + 1)
        except FileNotFoundError:
            self._see_folder()
            return None
        except OSError as error:
            raise self._failed("be read", error) from error
        if not data.strip(b"\0 \t\r\n"):
            raise self._damaged("it is empty")
        if len(data) > LARGEST:
            raise self._damaged("it is too large")
        return self._position(data)

    def save(self, position: Position) -> None:
        """Puts a position into the file, in place of the one before.

        Raises:
            CheckpointError: It cannot be written. What the file held before, it still holds.
        """
        record = {
            "format": FORMAT,
            "version": VERSION,
            "written": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "position": json.loads(position.to_json()),
        }
        data = json.dumps(record, indent=1).encode() + b"\n"
        try:
            self._tidy()
            self._replace(data)
        except OSError as error:
            raise self._failed("be written", error) from error

    def __repr__(self) -> str:
        return f"FileCheckpoint({getattr(self, '_shown', '')!r})"

    def _position(self, data: bytes) -> Position:
        try:
            record: Any = json.loads(data)
        except (ValueError, RecursionError):
            raise self._damaged("it is torn, or another file") from None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise self._damaged("it is another file")
        if record.get("version") != VERSION:
            raise CheckpointError(
                f"the checkpoint {self._path} is of version {record.get('version')!r}, and this"
                f" binarrow knows {VERSION}: use the binarrow that wrote it, or a later one"
            )
        try:
            return Position.from_json(json.dumps(record.get("position")))
        except BinarrowError as error:
            raise self._damaged(str(error)) from None

    def _opened(self) -> Any:
        # A pipe in its place would wait for a writer.
        file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError("not a file")
        return os.fdopen(file, "rb")

    def _see_folder(self) -> None:
        if not self._path.parent.is_dir():
            raise CheckpointError(
                f"the checkpoint {self._path} has no folder: make {self._path.parent}"
            )

    def _replace(self, data: bytes) -> None:
        import tempfile

        file, name = tempfile.mkstemp(".tmp", self._prefix, self._path.parent)
        temporary = Path(name)
        try:
            try:
                written = 0
                while written < len(data):
                    written += os.write(file, data[written:])
                os.fsync(file)
            finally:
                os.close(file)
            temporary.replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        # The name, too, is on the disk only when its folder is.
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @property
    def _prefix(self) -> str:
        return f".{self._path.name[:50]}."

    def _tidy(self) -> None:
        """Removes what processes left that were killed while they wrote."""
        if self._tidied:
            return
        self._tidied = True
        for each in self._temporary_files():
            with contextlib.suppress(OSError):
                if time.time() - each.stat().st_mtime > STALE:
                    each.unlink()

    def _temporary_files(self) -> Iterator[Path]:
        for each in self._path.parent.iterdir():
            if each.name.startswith(self._prefix) and each.name.endswith(".tmp"):
                yield each

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self._path} is not one that can be gone on from: {what}. Put back a"
            " copy, or the file that belongs there; or delete it to begin at start="
        )

    def _failed(self, what: str, error: OSError) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self._path} cannot {what}: {error.strerror or error}"
        )


__all__ = ["Checkpoint", "CheckpointError", "FileCheckpoint"]
