"""Stored positions, from which a reader continues after its process has ended or was killed."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from binarrow._native import BinarrowError, ConfigError, LaterVersionError, Position
from binarrow.advice import message
from binarrow.atomic_file import replace_file, temporary_files
from binarrow.stored_forms import CHECKPOINT

FORMAT = "binarrow checkpoint"

LARGEST = 64 << 20
"""The maximum size of the file in bytes. GTID sets with many gaps are long, but never that long."""

STALE = 3600.0
"""Seconds after which a temporary file counts as left by a process that was killed."""


class CheckpointError(BinarrowError):
    """A checkpoint cannot be read or written. A stored position is unchanged."""


class Checkpoint(Protocol):
    """The interface of checkpoints for ``Server.stream``; :class:`FileCheckpoint` implements it.

    To store the position together with the rows, write a class with these methods, for example with
    the same transaction of a database::

        class TableCheckpoint:
            interval = 0.0  # save the position after each batch

            def load(self) -> Position | None:
                row = database.execute("SELECT position FROM progress").fetchone()
                return Position.from_json(row[0]) if row else None

            def save(self, position: Position) -> None:
                json = position.to_json()
                database.execute("INSERT OR REPLACE INTO progress VALUES (1, ?)", [json])
                database.commit()  # the position and the rows before it
    """

    @property
    def interval(self) -> float:
        """The minimum number of seconds between two writes."""

    def load(self) -> Position | None:
        """Returns the position that was saved last; None if there is none."""

    def save(self, position: Position) -> None:
        """Replaces the stored position, completely or not at all."""


class FileCheckpoint:
    """A position in a file. It remains after a crash of the process or of the machine.

        with server.stream("earliest", checkpoint=FileCheckpoint("orders.json")) as changes:
            for change in changes:
                store(change)

    A new position is written to a temporary file in the same folder, synced to the disk, and
    renamed. The file therefore always contains the old position or the new one. The file is JSON
    and contains no secrets; only its owner can read it. Each reader needs a file of its own.

    Args:
        path: The file. Its folder must exist and be writable.
        interval: The minimum number of seconds between two writes, because each write waits for the
            disk. Changes after the last write are read again after a crash. 0 writes the position
            after each batch.
    """

    def __init__(self, path: str | os.PathLike[str], *, interval: float = 1.0) -> None:
        if not interval >= 0:
            raise ConfigError("interval must be a number of seconds; 0 saves after each batch")
        # A symbolic link is kept: its target is replaced.
        self._path = Path(os.path.realpath(path))
        self._interval = float(interval)
        self._shown = os.fspath(path)
        self._tidied = False

    @property
    def path(self) -> Path:
        """The path of the file, with symbolic links resolved."""
        return self._path

    @property
    def interval(self) -> float:
        """The minimum number of seconds between two writes."""
        return self._interval

    def load(self) -> Position | None:
        """Returns the position in the file; None if there is no file.

        Raises:
            CheckpointError: The file cannot be read, or is not a checkpoint.
            LaterVersionError: A later version of binarrow wrote it.
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
        """Replaces the position in the file.

        Raises:
            CheckpointError: The file cannot be written. Its content is unchanged.
        """
        record = {
            "format": FORMAT,
            **CHECKPOINT.stamp,
            "written": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "position": json.loads(position.to_json()),
        }
        data = json.dumps(record, indent=1).encode() + b"\n"
        try:
            self._tidy()
            replace_file(self._path, data)
        except OSError as error:
            raise self._failed("be written", error) from error

    def __repr__(self) -> str:
        return f"FileCheckpoint({getattr(self, '_shown', '')!r})"

    def _position(self, data: bytes) -> Position:
        try:
            record: Any = json.loads(data)
        except (ValueError, RecursionError):
            raise self._damaged("it is incomplete, or another file") from None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise self._damaged("it is another file")
        shown = f"the checkpoint {self._path}"
        stored = CHECKPOINT.read(record, shown, CheckpointError)
        try:
            return Position.from_json(json.dumps(stored.get("position")))
        except LaterVersionError as error:
            raise LaterVersionError(f"{shown}: {error}") from None
        except BinarrowError as error:
            raise self._damaged(str(error)) from None

    def _opened(self) -> Any:
        # To open a named pipe without O_NONBLOCK, which Windows lacks, would wait for a writer.
        file = os.open(self._path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError("not a file")
        return os.fdopen(file, "rb")

    def _see_folder(self) -> None:
        if not self._path.parent.is_dir():
            raise CheckpointError(
                f"the checkpoint {self._path} has no folder: create {self._path.parent}"
            )

    def _tidy(self) -> None:
        """Removes temporary files of processes that were killed while they wrote."""
        if self._tidied:
            return
        self._tidied = True
        for each in temporary_files(self._path):
            with contextlib.suppress(OSError):
                if time.time() - each.stat().st_mtime > STALE:
                    each.unlink()

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            message(
                f"the checkpoint {self._path} cannot be used: {what}. Restore a copy, or the file"
                " that belongs there; or delete it to begin at ⟦start⟧"
            )
        )

    def _failed(self, what: str, error: OSError) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self._path} cannot {what}: {error.strerror or error}"
        )


__all__ = ["Checkpoint", "CheckpointError", "FileCheckpoint"]
