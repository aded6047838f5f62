"""The functions that the extension module calls, because it imports nothing from this package.

They import modules when they are called, so that `import binarrow` remains fast.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from binarrow._native import set_hooks

if TYPE_CHECKING:
    from binarrow.history import SchemaHistory


def find_files(
    uri: str, options: Mapping[str, Any] | None
) -> tuple[str, list[tuple[str, int | None]]]:
    """Finds the files of a URI."""
    from binarrow import remote_files

    return remote_files.find(uri, options)


def open_file(uri: str, options: Mapping[str, Any] | None) -> tuple[IO[bytes], int | None]:
    """Opens the file at a URI."""
    from binarrow import remote_files

    return remote_files.open_file(uri, options)


def open_history(place: str | os.PathLike[str]) -> SchemaHistory:
    """Opens the history at a URL or path."""
    from binarrow.history import SchemaHistory

    return SchemaHistory.open(place)


def html_of(value: object) -> str:
    """Represents an object of the extension module in a notebook."""
    from binarrow import notebook

    return notebook.html_of(value)


def install() -> None:
    """Passes the functions to the extension module. Called when the package is imported."""
    set_hooks(
        find_files=find_files, open_file=open_file, open_history=open_history, html_of=html_of
    )


__all__ = ["install"]
