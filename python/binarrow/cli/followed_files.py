"""Binlog files that a server or a copy still writes, read up to the last complete transaction."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import binarrow
from binarrow.cli.growing_file import GrowingFile

INTERVAL = 0.2
"""Seconds between two checks for new transactions."""

STALLED = 10.0
"""Seconds without growth after which a file is an error if the next one exists: it has no end."""


class FollowedFiles:
    """The changes of files, as of a stream; at the end of the newest file, it waits for more."""

    def __init__(
        self,
        files: Sequence[str],
        start: str | datetime | None,
        keywords: Mapping[str, Any],
    ) -> None:
        """Opens the files.

        Args:
            files: The paths, in log order. The files after the last one are found by their numbers.
            start: A place in the log, ``"latest"``, or None for the begin of the first file.
            keywords: Those of `read_binlog`.
        """
        self._keywords = keywords
        self._reader: Any = None
        self._start: Any = start
        self._old = [Path(file) for file in files[:-1]]
        """Complete files that are read before the one that grows."""
        self._file = GrowingFile(Path(files[-1]))
        self._grown = time.monotonic()
        self._position: binarrow.Position | None = None
        if start == "latest":
            self._file.grow_to_end()
            self._old = []
            self._start = f"{self._file.path.name}:{max(self._file.end, 4)}"

    @property
    def position(self) -> binarrow.Position | str | None:
        """The position after the last returned change; the start before the first one."""
        return self._position or (self._start if isinstance(self._start, str) else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._reader is not None:
            self._reader.close()
        self._file.close()

    def poll(self, timeout: float) -> Any:
        """Returns the next batch or item; None if there is none within a time in seconds.

        Raises:
            InputError: A file was replaced, truncated or removed.
        """
        end = time.monotonic() + timeout
        while True:
            if self._reader is not None:
                try:
                    change = self._reader.poll(max(end - time.monotonic(), 0))
                except StopIteration:
                    self._position = self._reader.position
                    self._reader.close()
                    self._reader = None
                    continue
                if change is not None:
                    self._position = self._reader.position
                return change
            if not self._open():
                left = end - time.monotonic()
                if left <= 0:
                    return None
                time.sleep(min(INTERVAL, left))

    def _open(self) -> bool:
        """Opens a reader for new transactions. Returns false if there are none."""
        size = self._file.size
        is_complete = self._file.grow()
        if self._file.size > size:
            self._grown = time.monotonic()
        if is_complete:
            stop = f"{self._file.path.name}:{self._file.end}"
            paths = [str(path) for path in (*self._old, self._file.path)]
            self._reader = binarrow.read_binlog(
                paths, start=self._position or self._start, stop=stop, **self._keywords
            )
            self._old = []
            return True
        following = _after(self._file.path)
        if following is None or not following.exists():
            return False
        if not self._file.is_closed:
            if time.monotonic() - self._grown > STALLED:
                raise binarrow.InputError(
                    f"{self._file.path} ends at offset {self._file.end} without a Rotate or Stop"
                    f" event, and {following.name} exists: the server crashed, or the copy is not"
                    f" complete. To continue in the next file: --start {following.name}:4"
                )
            return False
        if self._file.has_more:
            raise binarrow.InputError(f"{self._file.path} has bytes after its last event")
        self._old = [self._file.path]
        self._file.close()
        self._file = GrowingFile(following)
        return False


def _after(path: Path) -> Path | None:
    """Returns the path of the next file of a log; None if the name has no number."""
    found = re.fullmatch(r"(.*\.)(\d+)", path.name)
    if found is None:
        return None
    return path.with_name(f"{found[1]}{int(found[2]) + 1:0{len(found[2])}}")


__all__ = ["FollowedFiles"]
