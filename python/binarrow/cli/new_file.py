"""Files that commands create, and standard output in their place."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from binarrow import ConfigError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STANDARD_OUTPUT = Path("-")


@contextmanager
def new_file(path: Path, option: str = "--to") -> Iterator[BinaryIO]:
    """Creates a file that only the owner can read; after an error there is none.

    ``-`` is standard output.

    Args:
        path: The path of the file.
        option: The option that contains the path, for messages.

    Raises:
        ConfigError: The file exists.
    """
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        output = StandardOutput()
        yield cast("BinaryIO", output)
        output.flush()
        return
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise ConfigError(f"{option} {path}: the file exists; choose another name") from None
    try:
        with path.open("wb") as file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


class StandardOutput(io.RawIOBase):
    """Standard output as a binary file that has a position, which the writers of Arrow ask for.

    Closing it leaves standard output open.
    """

    def __init__(self) -> None:
        self._size = 0

    def writable(self) -> bool:
        """Returns true."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes all bytes."""
        size = memoryview(data).nbytes
        sys.stdout.buffer.write(data)
        self._size += size
        return size

    def tell(self) -> int:
        """Returns the number of written bytes."""
        return self._size

    def flush(self) -> None:
        """Passes all written bytes to the system."""
        if not self.closed:
            sys.stdout.buffer.flush()


__all__ = ["STANDARD_OUTPUT", "StandardOutput", "new_file"]
