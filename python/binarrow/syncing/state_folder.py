"""The folder of the state of a lake: position files, journals, and structures of tables."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    import pyarrow as pa


class StateFolder(Protocol):
    """Files that only a sync writes. The name of a file may begin with the name of a subfolder.

    All methods raise OSError if the files cannot be read or written.
    """

    shown: str
    """The place of the lake, for messages."""

    @property
    def structures_file(self) -> Path:
        """The local file for the structures of tables while a sync runs."""

    def lock(self) -> AbstractContextManager[object]:
        """Returns the lock that refuses other writers."""

    def check(self) -> None:
        """Checks that no other sync has taken the lock, before a table is changed.

        Raises:
            TargetBusyError: Another one has taken it.
        """

    def position(self, check: Callable[[bytes], object]) -> bytes | None:
        """Returns the last position file; None if there is none.

        Calls `check` with its content before anything is written. From then on, a commit of a sync
        that has called this method earlier fails.
        """

    def commit(self, sequence: int, position: bytes) -> None:
        """Writes a position file atomically.

        Raises:
            TargetBusyError: Another sync has written one since the last call of `position`.
        """

    def peek(self) -> bytes | None:
        """Returns the last position file, for readers; None if there is none."""

    def position_name(self, sequence: int) -> str:
        """Returns the name of the position file of a commit."""

    def new_name(self, kind: str, sequence: int) -> str:
        """Returns the name of a file or folder that no other sync writes."""

    def has(self, name: str) -> bool:
        """True if there is a file, or a folder that is complete and was not removed."""

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Writes or replaces a file atomically."""

    def begin_folder(self, name: str) -> None:
        """Creates an empty folder."""

    def write_rows(self, name: str, rows: pa.Table) -> None:
        """Writes a file of a folder that is not complete."""

    def read_rows(self, name: str) -> pa.Table:
        """Returns the rows of a file."""

    def end_folder(self, name: str) -> None:
        """Waits until the files of a folder are stored. From then on, the folder is complete."""

    def remove_folder(self, name: str) -> None:
        """Removes a folder in one step, and then deletes its files."""

    def remove_others(self, current: Container[str], sequence: int) -> None:
        """Removes the files and folders of commits up to `sequence`, except `current`."""

    def reason(self, error: Exception) -> str:
        """Returns an error in one line: what happened, and what to do."""

    def is_transient(self, error: Exception) -> bool:
        """True if the same operation may succeed later."""


__all__ = ["StateFolder"]
